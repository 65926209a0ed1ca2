"""One run of pytest: which cases, and cases of known outcome among them."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lae_controller.errors import ChildError
from lae_controller.evaluators.junit import Outcomes
from lae_controller.program import Reason

_COUNT = 8
_OPTIONS = (
    *("-q", "--tb=short", "--rootdir=.", "-p", "no:cacheprovider"),
    *("--continue-on-collection-errors", "--maxfail=0"),
)


@dataclass(frozen=True, slots=True)
class Canaries:
    """Cases of which it is known, but not to the candidate, whether they pass: half of them do.

    Attributes:
        name: of their file, which no candidate could have made.
        passing: numbers of those that pass.
    """

    name: str
    passing: tuple[int, ...]

    @staticmethod
    def draw() -> Canaries:
        """Return new ones; not from a seeded stream, since nobody shall know them."""
        passing = secrets.SystemRandom().sample(range(_COUNT), _COUNT // 2)
        return Canaries(f"test_lae_{secrets.token_hex(8)}.py", tuple(sorted(passing)))

    def text(self) -> str:
        """Return the test file."""
        return (
            f"import pytest\n\n\n@pytest.mark.parametrize('n', range({_COUNT}))\n"
            f"def test_known(n):\n    assert n in {self.passing!r}\n"
        )

    def check(self, outcomes: Outcomes) -> None:
        """Check that these cases ended as they must.

        Raises:
            ChildError: HARNESS_CHANGED if not: then no outcome can be believed.
        """
        for number in range(_COUNT):
            right = "passed" if number in self.passing else "failed"
            found = outcomes.get(f"{self.name}::test_known[{number}]", ("missing", ""))[0]
            if found != right:
                raise ChildError(
                    Reason.HARNESS_CHANGED,
                    f"a case that was added and must have {right} is {found}: what the tests "
                    "report cannot be believed. Did the candidate change pytest, or does the "
                    "project's configuration give test functions another name?",
                )


def arguments(cases: Sequence[str], canaries: Canaries | None) -> list[str]:
    """Return the arguments of pytest.

    Args:
        cases: ids, files or directories; none for what the project configures.
    """
    return [*_OPTIONS, *cases, *([canaries.name] if canaries is not None else [])]


def leave(canaries: Canaries, work: Path) -> None:
    """Put the file of the known cases into a copy."""
    (work / canaries.name).write_text(canaries.text(), encoding="utf-8")


def read_outcomes(answer: Any) -> tuple[Outcomes, str]:
    """Return how each case ended, and what could not be collected.

    Args:
        answer: what the driver wrote.

    Raises:
        ChildError: NO_METRIC if it is something else.
    """
    try:
        cases, broken = answer["cases"], answer["broken"]
        outcomes = {str(name): (str(how), str(text)) for name, (how, text) in cases.items()}
        return outcomes, "\n".join(map(str, broken))
    except (TypeError, ValueError, KeyError, AttributeError):
        why = "the report of the tests is not what the driver writes"
        raise ChildError(Reason.NO_METRIC, why) from None
