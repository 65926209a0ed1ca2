"""Mode ``test_gate``: the share of groups of test cases in which every case passes.

Without ``run_cmd`` pytest is run: the cases of the stage alone, under guard, with cases of known
outcome among them, so that a candidate which makes everything pass, or writes the report itself,
is seen. With ``run_cmd`` any command is run that writes JUnit XML to ``{junit}``; the whole suite
then runs, and the cases of the stage are read. A candidate may share the process of its tests: see
``drivers/lae_guard.py`` for what that leaves open.

Tests and their configuration are restored from the original in every copy that is run.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from lae_controller.codec import decode, encode
from lae_controller.errors import ChildError, PrerequisiteError, RefusedError
from lae_controller.evaluators import Measurement, Stage, pytest_run
from lae_controller.evaluators.baseline import BASELINE_ID
from lae_controller.evaluators.frozen import frozen_globs, restore
from lae_controller.evaluators.junit import Outcomes, read_junit
from lae_controller.evaluators.pytest_run import Canaries
from lae_controller.evaluators.runs import Bench, Finished, Order
from lae_controller.evaluators.scored import (
    DRIVERS,
    Score,
    driver_command,
    environment,
    measurement,
    own_files,
    read_plain,
    taken_name,
)
from lae_controller.evaluators.script import leave_guarded_job, sealed_answer
from lae_controller.evaluators.shards import Shards
from lae_controller.files import make_folder, read_json, write_json
from lae_controller.machine.slots import Slot
from lae_controller.program import Reason
from lae_controller.sandbox.command import TrainingCommand, training_command

_SHOWN = 5
_SEPARATOR = "\x1f"


class TestGateEvaluator:
    """Runs tests; see the module's text and ``Evaluator``."""

    __test__ = False  # not a class of tests, whatever its name says to pytest

    def __init__(self, bench: Bench) -> None:
        settings = bench.settings
        self._settings = settings
        self._bench = bench.within(replace(bench.isolation, entrypoint=None))
        self._shards = Shards(settings.scoring.shards)
        self._base = settings.lae_dir / "base"
        self._note = settings.lae_dir / "scoring" / "cases.json"

    def measure(
        self, program: Path, digest: str, folder: Path, stage: Stage, slot: Slot
    ) -> Measurement:
        """Run the cases of ``stage`` and return the share of its groups that pass."""
        taken = taken_name(program, self._bench.isolation)
        if taken:
            return Measurement(None, Reason.OUT_OF_BOUNDS, taken)
        groups = self._groups(stage, slot)
        wanted = {index: groups[index] for index in self._shards.of(stage.name)}
        cases = [case for group in wanted.values() for case in group]
        done = self._run(program, digest, folder / stage.name, stage, slot, cases)
        if self._settings.run_cmd:
            done = _excused(done)
        return measurement(
            self._bench,
            done,
            lambda: _score(self._outcomes(done), wanted),
            entry=None,
            with_log=bool(self._settings.run_cmd),  # pytest's own words hold the known cases
        )

    # -- the cases ---------------------------------------------------------------------------

    def _groups(self, stage: Stage, slot: Slot) -> list[list[str]]:
        """Return the cases of every group, as they were dealt out when the run began.

        Raises:
            RefusedError: if there are fewer than two cases for each group, or the tests of the
                baseline cannot be run.
        """
        known: list[list[str]] | None = read_json(self._note)
        if known is not None:
            return known
        total = self._settings.scoring.shards.total
        cases = self._survey(stage, slot)
        if total > len(cases) // 2:
            raise RefusedError(
                f"scoring: {len(cases)} test cases make at most {len(cases) // 2} groups of two; "
                f"rollout, gate and test together are {total}. Write more cases (each group passes "
                "or fails as a whole, so one case a group would be a coin), or keep fewer shards"
            )
        make_folder(self._note.parent)
        groups = deal(cases, total, self._settings.evolution.seed)
        write_json(self._note, groups)
        return groups

    def _survey(self, stage: Stage, slot: Slot) -> list[str]:
        """Run the whole suite on the baseline; return the cases that it does not skip."""
        lae = self._settings.lae_dir
        program, place = lae / "programs" / BASELINE_ID, lae / "runs" / BASELINE_ID / "cases"
        done = self._run(program, "", place, stage, slot, None)
        if b"No module named 'pytest'" in done.raw:
            python = done.order.command.argv[0]
            raise PrerequisiteError(
                f"pytest is missing in {python}, which the tests are run with. `{python} -m pip "
                "install pytest` brings it"
            )
        try:
            outcomes = _all(self._outcomes(done))
        except ChildError as error:
            tail = done.raw.decode("utf-8", "replace")[-1500:]
            raise RefusedError(
                f"scoring: the tests could not be run on the starting point: {error.detail}\n{tail}"
            ) from None
        return [name for name, (how, _) in outcomes.items() if how != "skipped"]

    # -- a run -------------------------------------------------------------------------------

    def _run(
        self,
        program: Path,
        digest: str,
        place: Path,
        stage: Stage,
        slot: Slot,
        cases: Sequence[str] | None,
    ) -> Finished:
        """Run tests; ``cases`` is None for all of them."""
        settings = self._settings
        env = environment(self._bench, slot, stage.seed)
        own = own_files(program, self._bench.isolation)
        secret = secrets.token_hex(8)
        key = {
            "digest": digest,
            "seed": stage.seed,
            "run_cmd": settings.run_cmd,
            "cases": None if cases is None else list(cases),
            "env": dict(settings.env),
        }
        if settings.run_cmd:
            command = self._junit_command(stage, env, own, secret)
        else:
            command = driver_command(settings, "run_pytest.py", env)

        def arrange(place: Path) -> None:
            globs = frozen_globs(settings)
            restore(place / "work", self._base, self._bench.isolation.entries, globs)
            if settings.run_cmd:
                write_json(place / "secret.json", {"junit": secret})
            else:
                self._leave_pytest(place, cases, own)

        return self._bench.run(
            Order(
                program,
                place,
                key,
                command,
                stage.limit,
                slot,
                arrange=arrange,
                harness=self._base,
            )
        )

    def _leave_pytest(self, place: Path, cases: Sequence[str] | None, own: tuple[str, ...]) -> None:
        canaries = None
        if cases is not None:  # with all cases, what to collect is the project's own business
            canaries = Canaries.draw()
            pytest_run.leave(canaries, place / "work")
            write_json(place / "canaries.json", encode(canaries))
        chosen = self._settings.scoring.tests if cases is None else cases
        words = pytest_run.arguments(chosen, canaries)
        leave_guarded_job(place, {"arguments": words, "own": list(own)})

    def _junit_command(
        self, stage: Stage, env: Mapping[str, str], own: tuple[str, ...], secret: str
    ) -> TrainingCommand:
        """Return the user's command with the place of the XML, and the watch over it."""
        name = _junit_name(secret)
        line = self._settings.run_cmd.replace("{junit}", f'"$TMPDIR/{name}"')
        line = f'export LAE_WATCH_ROOT="$PWD"; {line}'
        settings = replace(self._settings, run_cmd=line)
        command = training_command(settings, stage.budget, stage.seed, env)
        watch = {
            "LAE_WATCH_JUNIT": name,
            "LAE_WATCH_OWN": _SEPARATOR.join(own),
            "PYTHONPATH": ":".join(
                filter(None, [str(DRIVERS / "watch"), command.env.get("PYTHONPATH", "")])
            ),
        }
        return replace(command, env={**command.env, **watch})

    def _outcomes(self, done: Finished) -> tuple[Outcomes, str]:
        """Return how each case ended, and what could not be collected.

        Raises:
            ChildError: if the report is missing or not to be believed.
        """
        place = done.order.place
        if self._settings.run_cmd:
            secret = read_json(place / "secret.json") or {"junit": ""}
            outcomes = read_junit(read_plain(place / "tmp" / _junit_name(secret["junit"])))
            if done.ended.status and all(how != "failed" for how, _ in outcomes.values()):
                raise ChildError(
                    Reason.EXIT,
                    f"the test command ended with status {done.ended.status}, but its report shows "
                    "no failure; expected both to agree",
                )
            return outcomes, ""
        outcomes, broken = pytest_run.read_outcomes(sealed_answer(place))
        drawn = read_json(place / "canaries.json")
        if drawn is not None and outcomes:
            decode(Canaries, drawn).check(outcomes)
        return outcomes, broken


def deal(cases: Sequence[str], groups: int, seed: int) -> list[list[str]]:
    """Deal test cases out to groups whose sizes differ by one at most."""
    order = sorted(cases)
    random.Random(f"{seed}:tests:groups").shuffle(order)
    return [sorted(order[index::groups]) for index in range(groups)]


def _junit_name(secret: str) -> str:
    return f"lae-junit-{secret}.xml"


def _excused(done: Finished) -> Finished:
    """Take an exit status above 0 for what it is with test commands: some test failed."""
    status = done.ended.status
    by_itself = status is not None and 0 < status < 128  # above, a shell reports a signal
    if done.failure is None or done.failure[0] is not Reason.EXIT or not by_itself:
        return done
    return replace(done, failure=None)


def _all(found: tuple[Outcomes, str]) -> Outcomes:
    outcomes, broken = found
    if broken or not outcomes:
        raise ChildError(Reason.NO_METRIC, broken or "no test case was found")
    return outcomes


def _score(found: tuple[Outcomes, str], wanted: Mapping[int, Sequence[str]]) -> Score:
    """Return the share of groups whose cases all passed; a case that did not run has not."""
    outcomes, broken = found
    cases = [case for group in wanted.values() for case in group]
    if not any(case in outcomes for case in cases):
        raise ChildError(Reason.NO_METRIC, f"no test case could be run: {broken}"[:2000])
    passed = {case for case in cases if outcomes.get(case, ("", ""))[0] == "passed"}
    parts = {
        f"group {index}": sum(case in passed for case in group) / len(group)
        for index, group in wanted.items()
    }
    whole = sum(part == 1.0 for part in parts.values())
    failed = [case for case in cases if case not in passed]
    lines = [f"{whole} of {len(parts)} groups pass; {len(failed)} of {len(cases)} cases fail"]
    for case in failed[:_SHOWN]:
        how, text = outcomes.get(case, ("did not run", broken))
        lines.append(f"{case}: {how}\n{text[-500:]}")
    return Score(whole / len(parts), parts=parts, text="\n".join(lines))
