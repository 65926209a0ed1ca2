"""The report of a run: one self-contained HTML page, made from the ledgers alone.

history.py        the journal, read once more: every child, and who was best when, at what cost
lineage.py        how the best program came about, and its change at each step
tallies.py        interventions and failures, counted
costs.py          seconds, tokens and money, per child and per accepted gain
charts.py maps.py what plotly draws, as plain data
page.py           all of it together, through ``page.html.j2``
"""
