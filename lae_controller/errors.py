"""The error tree.

    LaeError                     what a user can be told in one line, with an exit code
    ├── ConfigError          2   a setting or a command line is wrong
    ├── PrerequisiteError    3   something is missing on this machine, with the cure
    ├── LedgerError          4   a ledger is damaged; nothing was overwritten
    ├── RefusedError         5   a check refused to go on
    ├── LockedError          6   another controller holds this sandbox
    └── ChildError               one child failed: carries a Reason and never leaves the loop
        ├── DiffError            its change does not apply
        └── DuplicateError       its program was tried before

Every message says where, what was found, what was expected and what to do. A child's
failure is a row in the history, so ChildError is turned into an Evaluation at once.
"""

from __future__ import annotations

from lae_controller.program import Reason


class LaeError(Exception):
    """A failure that its reader can mend; shown without a traceback."""

    exit_code = 2


class ConfigError(LaeError):
    """A setting, a flag or an input file is not what was expected."""


class PrerequisiteError(LaeError):
    """Something is missing on this machine; the message holds the command that cures it."""

    exit_code = 3


class LedgerError(LaeError):
    """A ledger file does not parse; the message names file and line."""

    exit_code = 4


class RefusedError(LaeError):
    """A check found that the run could not give a trustworthy result."""

    exit_code = 5


class LockedError(LaeError):
    """Another controller works in this sandbox; the message names its pid and host."""

    exit_code = 6


class ChildError(LaeError):
    """One child cannot go on.

    Attributes:
        reason: the code that is written to the history.
        detail: what was found where; goes back to the Mutator.
    """

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(f"{reason.value}: {detail}")
        self.reason = reason
        self.detail = detail


class DiffError(ChildError):
    """A SEARCH/REPLACE change that cannot be applied as it stands; nothing was written."""

    def __init__(self, detail: str, reason: Reason = Reason.BAD_DIFF) -> None:
        super().__init__(reason, detail)


class DuplicateError(ChildError):
    """A program that was tried before; carries the digest, so that it is remembered."""

    def __init__(self, twin: str, digest: str) -> None:
        super().__init__(Reason.DUPLICATE, f"the same program as {twin}")
        self.digest = digest
