"""The report of a run: one self-contained HTML page, made from the ledgers alone.

history.py    the journal, read once more: every child, and who was best when, at what cost
facts.py      what is said in words; lineage.py: how the best program came about, step by step
tallies.py    interventions and failures, counted; costs.py: seconds, tokens and money
listing.py    every child as columns, for the table
figures.py    what every chart has in common: progress.py, maps.py and spreads.py draw with it
make.py       all of it together, through the templates in ``page/``
"""
