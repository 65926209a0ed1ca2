"""The probes of ``lae check``: a byte-identical copy must tie, damaged copies must score worse.

They run in the sandbox in which children run, before any child, and their cost is part of what the
baseline cost. What they gave is kept in ``base.json``, so that no probe is run twice.
"""
