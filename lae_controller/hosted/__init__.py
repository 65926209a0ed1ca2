"""``ask``, ``evaluate``, ``tell``: the loop in three steps, for a host with Mutators of its own.

``ask`` and ``tell`` hold the controller lock for a moment; ``evaluate`` holds a slot. Whatever
they do is in the ledgers and on disk before they return, so every call may come from another
process, and any of them may be killed.
"""
