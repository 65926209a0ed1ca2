"""The public Python API: a loop as an object, for scripts and notebooks.

import lae_controller
loop = lae_controller.load("loop.run.yaml")
print(loop.run())                      # everything, with its own Mutators

for task in loop.ask(2).tasks:         # or step by step, with yours
edit(task.directory)
loop.evaluate(task.child_id)
loop.tell(task.child_id)
print(loop.best())
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lae_controller import build, checks, config, session
from lae_controller.begin import override
from lae_controller.hosted import ask as asking
from lae_controller.hosted import evaluate as evaluating
from lae_controller.hosted import tell as telling
from lae_controller.hosted.ask import Asking
from lae_controller.hosted.tell import Telling
from lae_controller.probing.findings import Check
from lae_controller.program import Intervention
from lae_controller.remarks import Say, silent
from lae_controller.results import Result
from lae_controller.task import Mutation
from lae_controller.views import inspect


class Loop:
    """One run, begun or not. Every method may be called from another process, too.

    Args:
        settings: as ``config.load`` gives them.
        say: takes remarks and status lines; they go nowhere if left out.
    """

    def __init__(self, settings: config.Settings, say: Say = silent) -> None:
        self.settings = settings
        self._say = say

    def check(self, *, force: bool = False) -> list[Check]:
        """Measure the baseline and find out all that can be known before money is spent.

        Args:
            force: go on in spite of a refusal; the leaderboard says so.
        """
        return checks.run_checks(self.settings, force=force, say=self._say)

    def run(self, total_budget: str | int | None = None) -> str:
        """Start or resume the run and see it to its end; returns the synthesis as text.

        Args:
            total_budget: full runs, or a duration such as ``90m``; the file's if left out.

        Raises:
            LockedError: if another controller works on it.
        """
        text = None if total_budget is None else str(total_budget)
        _, synthesis = session.run_search(override(self.settings, text, None), self._say)
        return synthesis

    def ask(self, count: int | None = None) -> Asking:
        """Reserve up to ``count`` tasks under a lease: one for each slot if left out.

        Raises:
            LockedError: if a controller runs there.
            ConfigError: if the baseline was not measured yet (``check`` does).
        """
        return asking.ask(self.settings, count, self._say)

    def evaluate(
        self,
        child_id: str,
        *,
        summary: str = "",
        intervention: Intervention = Intervention.OTHER,
        wait: float | None = None,
        token: str | None = None,
        again: bool = False,
    ) -> Result | None:
        """Train an edited child in the sandbox; what the numbers are is decided there.

        Args:
            summary: one line on what was changed.
            wait: seconds; None waits until it has ended.
            token: the lease's; refused if the task was given to another meanwhile.
            again: evaluate a child once more that failed and was mended.

        Returns:
            The result; None if it still runs.
        """
        said = Mutation("", summary, intervention, "host")
        return evaluating.evaluate(self.settings, child_id, said, wait, token, again=again)

    def tell(self, child_id: str, token: str | None = None, wait: float | None = None) -> Telling:
        """Place an evaluated child; further runs are made first if its gain may be chance.

        Args:
            wait: seconds to wait for further runs; None waits until they have ended.

        Raises:
            ConfigError: if there is no result to tell.
        """
        return telling.tell(self.settings, child_id, token, wait, self._say)

    def status(self) -> dict[str, Any]:
        """Return progress, best so far and spend, as ``lae status --json`` prints them."""
        before = inspect.before_children(self.settings)
        return before or inspect.status(build.view(self.settings, self._say))

    def best(self, top: int = 1) -> list[dict[str, Any]]:
        """Return the best programs, as ``lae best --json`` prints them."""
        return inspect.best(build.view(self.settings, self._say), top)


def load(path: str | Path = ".", say: Say = silent) -> Loop:
    """Return the loop that a ``loop.run.yaml``, its directory or a run's ``lae/`` means.

    Raises:
        ConfigError: if there is none, or it does not hold what it should.
    """
    return Loop(config.load(Path(path)), say)
