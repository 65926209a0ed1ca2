"""The live dashboard's views: the report's sections as they grow, what runs now, one program.

moment.py     what runs at this moment, seen from the files of a run
program.py    one program: what became of it, its log, its change against parent and baseline
texts.py      both as HTML, through the templates in ``page/``

The numbers are those of ``views/report`` and ``views/live``; nothing is computed twice.
"""
