"""The offline Mutator: a search operator that needs no model and no network."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from lae_controller.change.changed_lines import changed_lines
from lae_controller.change.diff import make_change
from lae_controller.change.evolve_blocks import outside_changed
from lae_controller.change.normal_form import digest
from lae_controller.change.protected import check_protected
from lae_controller.change.syntax import check_syntax
from lae_controller.config import MutatorSettings
from lae_controller.errors import ChildError
from lae_controller.mutators.edits import Edit, Site, splice
from lae_controller.mutators.operators import OPERATORS, Operator, weight
from lae_controller.mutators.view import view_of
from lae_controller.program import Files, Intervention, one_line
from lae_controller.task import Mutation, Task, inert_line

DRAWS = 60
"""Edits drawn before the Mutator gives up."""

_WAKING = 0.05
"""Share of children that may change functions which the baseline never entered, and share of those
that may change lines which were changed in vain."""

_NOTHING = Mutation("", "nothing left to try", Intervention.OTHER, "-")
_FAINT = 0.02  # an operator with no better place than this is still drawn at times
_DAMPING, _LEAST = 0.85, 0.3  # for each failed child of a kind, and where it ends


def make(_settings: MutatorSettings) -> OfflineMutator:
    """Return the Mutator; no setting concerns it."""
    return OfflineMutator()


class OfflineMutator:
    """Draws one small textual edit that parses and has not been tried from this parent.

    Operators that paid off lately are drawn more often (``task.credits``); kinds of
    intervention that failed from this parent are drawn less often (``task.tried``).
    """

    def mutate(self, task: Task, rng: random.Random) -> Mutation:
        """Return one change, or an empty one if 60 draws gave nothing new."""
        if rng.random() < _WAKING or not task.idle:
            task = replace(task, idle=())
        if task.inert and rng.random() >= _WAKING:
            found = self._drawn(task, rng)
            if found is not _NOTHING:
                return found
        return self._drawn(replace(task, inert=()), rng)

    def _drawn(self, task: Task, rng: random.Random) -> Mutation:
        chooser, judge = _Chooser(task), _Judge(task)
        for _ in range(DRAWS):
            choice = chooser.draw(rng)
            if choice is None:
                break
            operator, site = choice
            edit = site.draw(rng)
            change = None if edit is None else judge.accepted(edit)
            if edit is not None and change is not None:
                return Mutation(change, one_line(edit.summary), edit.intervention, operator.name)
        return _NOTHING


class _Chooser:
    """Draws an operator and a place for it."""

    def __init__(self, task: Task) -> None:
        self._view = view_of(task)
        self._weights = {op: weight(op, task.credits) for op in OPERATORS}
        self._sites: dict[Operator, list[Site]] = {}
        failed = Counter(tried.intervention for tried in task.tried if tried.outcome != "kept")
        self._chances = {kind: max(_DAMPING ** failed[kind], _LEAST) for kind in Intervention}

    def draw(self, rng: random.Random) -> tuple[Operator, Site] | None:
        """Return one operator and site; None if no operator finds any in this program."""
        while self._weights:
            operator = rng.choices(list(self._weights), list(self._weights.values()))[0]
            sites = self._find(operator)
            if not sites:
                del self._weights[operator]
                continue
            weights = [site.weight for site in sites]
            site = rng.choices(sites, weights)[0]
            likely = min(max(*weights, _FAINT), 1.0)
            if rng.random() < likely * self._chances[site.intervention]:
                return operator, site
        return None

    def _find(self, operator: Operator) -> list[Site]:
        if operator not in self._sites:
            self._sites[operator] = [s for s in operator.sites(self._view) if s.weight > 0]
        return self._sites[operator]


class _Judge:
    """Decides whether an edit may become a child of the task's parent."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._known = {digest(task.files)}
        self._known.update(digest(inspiration.files) for inspiration in task.inspirations)
        self._known.update(tried.digest for tried in task.tried if tried.digest is not None)
        self._inert = frozenset(task.inert)

    def accepted(self, edit: Edit) -> str | None:
        """Return the edit as a SEARCH/REPLACE change; None if it may not be made."""
        before = self._task.files
        after = splice(before, edit.splices)
        if not self._is_allowed(before, after) or digest(after) in self._known:
            return None
        try:
            return make_change(before, after) or None
        except ValueError:  # no text of blocks says just this
            return None

    def _is_allowed(self, before: Files, after: Files) -> bool:
        changed = [path for path in sorted(before) if before[path] != after[path]]
        if any(outside_changed(path, before[path], after[path]) is not None for path in changed):
            return False
        if self._inert and self._is_in_vain(before, after, changed):
            return False
        try:
            check_protected(before, after, self._task.protected)
            check_syntax(before, after)
        except ChildError:
            return False
        return True

    def _is_in_vain(self, before: Files, after: Files, paths: Iterable[str]) -> bool:
        """Say whether all lines that an edit changes or removes were changed in vain before."""
        gone = {
            inert_line(path, line[1:])
            for path in paths
            for line in changed_lines(before[path], after[path])
            if line.startswith("-")
        }
        return bool(gone) and gone <= self._inert
