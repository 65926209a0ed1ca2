"""One child before it is evaluated: its directory, its task, its Mutator process, its change."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from lae_controller.change.chance import adds_chance
from lae_controller.change.diff import apply_change
from lae_controller.change.evolve_blocks import outside_changed
from lae_controller.change.forbidden import check_calls
from lae_controller.change.normal_form import digest as digest_of
from lae_controller.change.protected import check_protected
from lae_controller.change.source import read_source, write_source
from lae_controller.change.suspicion import suspicious_change
from lae_controller.change.syntax import check_syntax
from lae_controller.codec import encode
from lae_controller.config import MutatorSettings, Settings
from lae_controller.errors import (
    ChildError,
    ConfigError,
    DiffError,
    DuplicateError,
    LedgerError,
    PrerequisiteError,
)
from lae_controller.evaluators import Interrupted
from lae_controller.evaluators.baseline import Prepared
from lae_controller.evaluators.briefing import project_brief
from lae_controller.files import make_folder, remove_tree, write_atomic, write_note
from lae_controller.mutate import read_outcome
from lae_controller.mutator_pool import MutatorPool
from lae_controller.mutators.inert import equal_on_each_seed, lines_of, without_effect
from lae_controller.niches import empty_regions
from lae_controller.program import Artifacts, Evaluation, Files, Reason, parse_child_id
from lae_controller.quantities import number_text
from lae_controller.results import read as read_result
from lae_controller.sandbox.calls import never_entered
from lae_controller.sandbox.launch import Lifelines, lock_beside, wait_for_warden
from lae_controller.sandbox.programs import build, check_bounds, read_program
from lae_controller.sandbox.snapshot import Entry
from lae_controller.state import Asked, RunState
from lae_controller.task import Failure, Inspiration, Mutation, MutatorFailure, Task
from lae_controller.told import known_runs
from lae_controller.trash import Trash

_CACHED_PROGRAMS = 256
_MUTATOR_TRIES = 3
_TAIL = 800  # characters of a log
_OUTCOMES = (0, 1, 3)  # exit statuses of a Mutator process that said how it ended
_CHANGE = "change.diff"
_DATA_SUFFIXES = frozenset(
    ".txt .csv .tsv .npy .npz .bin .json .jsonl .pkl .pt .parquet .h5 .idx .gz .zip".split()
)


@dataclass(frozen=True, slots=True)
class Frozen:
    """A child's code as it will be run.

    Attributes:
        digest: its normal form; two children of equal digest are the same program.
        suspect: what calls for a look before it is placed; empty if nothing does.
        chance: a source of chance that the change brings in; empty if it brings in none.
        repaired: whether a block fitted only but for its indentation or trailing blanks.
    """

    digest: str
    suspect: str
    chance: str
    repaired: bool


class Children:
    """Builds children of one run. Safe to use from several threads, one child each."""

    def __init__(self, settings: Settings, prepared: Prepared, lifelines: Lifelines) -> None:
        self._settings = settings
        self._prepared = prepared
        self._lifelines = lifelines
        self._mutators = MutatorPool(settings.lae_dir, settings.mutator, lifelines)
        self._lae = settings.lae_dir
        self._files: OrderedDict[str, Files] = OrderedDict()

    def directory(self, child_id: str) -> Path:
        """Return the program directory of a child."""
        return self._lae / "programs" / child_id

    def folder(self, child_id: str) -> Path:
        """Return where a child's task and proposal lie."""
        return self._lae / "tasks" / child_id

    def files(self, child_id: str) -> Files:
        """Return the editable and added files of a frozen program."""
        known = self._files.get(child_id)
        if known is None and not self.directory(child_id).is_dir():
            raise LedgerError(
                f"{self.directory(child_id)}: this program's directory is gone, but it is in the "
                "archive; expected it there. Put it back from a copy, or move "
                f"{self._lae} away to begin anew"
            )
        if known is None:
            known = read_program(
                self.directory(child_id), self._prepared.snapshot, self._prepared.baseline.editable
            )
            self._files[child_id] = known
            if len(self._files) > _CACHED_PROGRAMS:
                self._files.popitem(last=False)
        return known

    # -- ask ---------------------------------------------------------------------------------

    def build_baseline(self, child_id: str) -> None:
        """Make the baseline's program directory on one island, unless it is there."""
        if not self.directory(child_id).is_dir():
            build(self._prepared.snapshot, self._lae / "base", self.directory(child_id))

    def build(self, asked: Asked, state: RunState, failures: tuple[Failure, ...] = ()) -> Task:
        """Make a child's directory (the parent's code, not yet changed) and write its task.

        Args:
            failures: proposals for this child that came to nothing.
        """
        task = replace(self._task(asked, state), failures=failures)
        edits = self._settings.mutator.backend == "agent"
        if not failures or not edits:  # an agent goes on from its own edits
            directory = self.directory(asked.child_id)
            build(self._prepared.snapshot, self._lae / "base", directory, task.files)
        folder = self.folder(asked.child_id)
        wait_for_warden(folder)
        remove_tree(folder)
        make_folder(folder)
        mutator = encode(self.mutator_of(asked))
        write_note(folder / "task.json", {"mutator": mutator, "task": encode(task)})
        return task

    def _task(self, asked: Asked, state: RunState) -> Task:
        if asked.parent_id is None:
            raise ValueError(f"{asked.child_id} has no parent; the baseline is not mutated")
        settings = self._settings
        gen, island, _ = parse_child_id(asked.child_id)
        parent = read_result(self._lae, asked.parent_id)
        files = self.files(asked.parent_id)
        inspirations = [
            self._inspiration(child, role, state)
            for role, ids in (("top", asked.top), ("diverse", asked.diverse))
            for child in ids
        ]
        return Task(
            child_id=asked.child_id,
            parent_id=asked.parent_id,
            gen=gen,
            island=island,
            attempt=asked.attempt,
            seed=settings.evolution.seed,
            metric_name=settings.metric,
            direction=settings.direction,
            editable=self._may_change(files),
            protected=settings.protected,
            files=files,
            parent_metric=state.told[asked.parent_id].metric,
            parent_artifacts=parent.evaluation.artifacts if parent else Artifacts(),
            inspirations=tuple(inspirations),
            tried=state.tried(asked.parent_id),
            credits=state.credits(),
            idle=self._idle,
            kinds=state.kinds(),
            empty_regions=self._empty_regions(island, state),
            run_cmd=settings.run_cmd if settings.scoring.trains else "",
            budget=self._budget_in_words(),
            context=project_brief(settings, self._lae / "base"),
            promise=settings.evolution.prior_exponent > 0,
            directory=str(self.directory(asked.child_id)),
            project=str(settings.root),
            isolation=settings.isolation,
            inert=state.inert.among(files),
        )

    def _empty_regions(self, island: int, state: RunState) -> tuple[str, ...]:
        """Return where the island's map is empty, while coverage stalls."""
        if state.search.mode() != "explore":
            return ()
        cells = (cell for cell, _ in state.search.elites(island))
        return empty_regions(cells, self._settings.evolution.num_bins)

    def _budget_in_words(self) -> str:
        settings = self._settings
        if not settings.scoring.trains:
            return ""
        return f"{number_text(settings.budget)} {settings.budget_unit}"

    @cached_property
    def _idle(self) -> tuple[str, ...]:
        """The functions of the baseline that its smoke run never entered."""
        baseline = self._prepared.baseline
        files = {path: read_source(self._lae / "base" / path) for path in baseline.editable}
        return never_entered(files, baseline.entered)

    def _may_change(self, files: Files) -> tuple[str, ...]:
        """Return the editable files and those that an ancestor added: they are its own."""
        editable = self._prepared.baseline.editable
        return (*editable, *(path for path in files if path not in editable))

    def _inspiration(self, child_id: str, role: str, state: RunState) -> Inspiration:
        told = state.told[child_id]
        if told.metric is None:
            raise ValueError(f"{child_id} was chosen as an inspiration but has no metric")
        files = self.files(child_id)
        return Inspiration(child_id, told.metric, role, told.summary, files)

    # -- mutate ------------------------------------------------------------------------------

    def mutate(self, child_id: str) -> Mutation | MutatorFailure:
        """Run the Mutator process of a child and return its proposal; blocks.

        A process that was killed from outside is started again; one that fails by itself is not.

        Raises:
            Interrupted: if everything is being ended.
            PrerequisiteError: if its warden failed again and again: the machine, not the child.
        """
        folder = self.folder(child_id)
        said = ""
        for attempt in range(_MUTATOR_TRIES):
            try:
                status, log = self._mutators.run(folder, attempt)
            except PrerequisiteError:
                if self._lifelines.cut_all:
                    raise Interrupted(child_id) from None
                if attempt == _MUTATOR_TRIES - 1:
                    raise
                continue
            outcome = read_outcome(folder)
            if outcome is not None and status in _OUTCOMES:
                return outcome
            said = _tail(log) or f"exit status {status}"
            if status >= 0:
                break
            said = f"killed by signal {-status}; {said}"
        return MutatorFailure(Reason.MUTATOR_ERROR, said, unaccounted=True)

    def close(self) -> None:
        """Wait for the Mutator processes, whose lifelines were cut."""
        self._mutators.close()

    def mutator_of(self, asked: Asked) -> MutatorSettings:  # noqa: ARG002 - of every child alike
        """Return the settings of the Mutator that is asked for a child, its model among them."""
        return self._settings.mutator

    def forget(self, child_id: str, trash: Trash) -> None:
        """Throw away what was only needed until a child was told."""
        folder = self.folder(child_id)
        trash.throw(folder)
        lock_beside(folder).unlink(missing_ok=True)

    def written_change(self, asked: Asked) -> str:
        """Return the change that a host's Mutator wrote as ``change.diff``; empty if it edited.

        The file may lie in the child's directory, where it is no part of the program, or beside
        TASK.md; it is moved there.
        """
        beside = self.folder(asked.child_id) / _CHANGE
        inside = self.directory(asked.child_id) / _CHANGE
        harness = {entry.path for entry in self._prepared.snapshot.entries}
        if inside.is_file() and not inside.is_symlink() and _CHANGE not in harness:
            inside.replace(beside)
        return beside.read_text("utf-8", "replace") if beside.is_file() else ""

    # -- tell --------------------------------------------------------------------------------

    def changed_in_vain(
        self, asked: Asked, evaluation: Evaluation, state: RunState
    ) -> tuple[str, ...]:
        """Return what a child changed, if its run showed exactly what its parent did.

        Nothing if that cannot be seen, as the parent's program or result is gone.
        """
        if asked.parent_id not in state.told:
            return ()
        runs = known_runs(asked.parent_id, state.told, state.repeats)
        if not equal_on_each_seed(evaluation, runs):  # nearly always, and spares the reading
            return ()
        parent = read_result(self._lae, asked.parent_id)
        if parent is None or not without_effect(evaluation, parent.evaluation):
            return ()
        if not self.directory(asked.parent_id).is_dir():
            return ()
        return lines_of(self.files(asked.parent_id), self.files(asked.child_id))

    # -- freeze ------------------------------------------------------------------------------

    def freeze(self, asked: Asked, change: str, known: Mapping[str, str]) -> Frozen:
        """Put a change into the child's directory and check all that can be checked unrun.

        Args:
            change: SEARCH/REPLACE text; if empty, what was edited in the directory counts.
            known: digest -> id of everything ever tried.

        Raises:
            ChildError: with the first thing that is wrong; ``Frozen`` is then never made.
        """
        if asked.parent_id is None:
            raise ValueError(f"{asked.child_id} has no parent; the baseline is not mutated")
        directory = self.directory(asked.child_id)
        before = self.files(asked.parent_id)
        editable = self._prepared.baseline.editable
        repaired = False
        if change.strip():
            diff = self._lae / "results" / f"{asked.child_id}.diff"
            write_atomic(diff, change, durable=False)  # with the result, which follows
            applied = apply_change(before, change, editable=self._may_change(before))
            repaired = applied.repaired
            self._refuse_harness(applied.added)
            for path in (*applied.changed, *applied.added):
                make_folder((directory / path).parent)
                write_source(directory / path, applied.files[path])
        check_bounds(directory, self._prepared.snapshot, self._lae / "base", editable)
        after = read_program(directory, self._prepared.snapshot, editable)
        self._check_change(before, after)
        digest = digest_of(after)
        self._check_new(before, digest, known)
        settings = self._settings
        data = [entry.path for entry in self._prepared.snapshot.entries if _is_data(entry)]
        data += settings.scoring.withheld
        suspect = suspicious_change(
            before,
            after,
            settings.metric if settings.scoring.trains else None,
            settings.metric_pattern,
            data,
        )
        return Frozen(digest, suspect or "", adds_chance(before, after), repaired)

    def _refuse_harness(self, added: tuple[str, ...]) -> None:
        there = {entry.path for entry in self._prepared.snapshot.entries}
        for path in added:
            heads = ["/".join(path.split("/")[: n + 1]) for n in range(path.count("/") + 1)]
            taken = next((head for head in heads if head in there), None)
            if taken is not None:
                raise DiffError(
                    f"{path}: {taken} belongs to the harness or the data; expected a new path "
                    "or an editable file",
                    Reason.OUT_OF_BOUNDS,
                )

    def _check_change(self, before: Files, after: Files) -> None:
        if before == after:
            raise ChildError(Reason.NO_CHANGE, "the code is the parent's, byte for byte")
        for path, text in after.items():
            try:
                sentence = outside_changed(path, before.get(path, text), text)
            except ConfigError as error:  # markers that make no block
                raise ChildError(Reason.SYNTAX, str(error)) from None
            if sentence is not None:
                raise ChildError(Reason.OUT_OF_BOUNDS, sentence)
        check_syntax(before, after)
        check_protected(before, after, self._settings.protected)
        check_calls(before, after, self._settings.forbidden_calls)

    def _check_new(self, before: Files, digest: str, known: Mapping[str, str]) -> None:
        if digest == digest_of(before):
            raise ChildError(Reason.NO_CHANGE, "only formatting or comments differ from the parent")
        twin = known.get(digest)
        if twin is not None:
            raise DuplicateError(twin, digest)


def _is_data(entry: Entry) -> bool:
    """Say whether an entry of the snapshot is data that a program could read."""
    if entry.kind == "link":
        return not entry.is_environment
    return Path(entry.path).suffix in _DATA_SUFFIXES


def _tail(log: Path) -> str:
    try:
        return log.read_text("utf-8", "replace").strip()[-_TAIL:]
    except OSError:
        return ""
