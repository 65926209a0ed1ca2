"""Mode ``custom_script``: a script of the user scores the candidate (``docs/scoring.md``).

The script runs alone, as ``__main__``, in a directory that holds itself and the candidate and
stands first on ``sys.path``. It imports the candidate as ``candidate``, reads which shards it is to
score from ``LAE_SHARDS`` and writes its result to ``LAE_RESULT``.

Script and candidate share an interpreter, so a guard stands between them and the result; what it
keeps and what it cannot is written in ``drivers/lae_guard.py``. Beyond that, a candidate that
cannot be imported has no metric whatever the script says of it, and a score that is not a number
from 0 to 1 is none.
"""

from __future__ import annotations

import hashlib
import math
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from lae_controller.errors import ChildError, ConfigError
from lae_controller.evaluators import Measurement, Stage
from lae_controller.evaluators.runs import Bench, Order
from lae_controller.evaluators.scored import (
    Score,
    driver_command,
    entry_file,
    environment,
    leave_job,
    measurement,
    own_files,
    read_answer,
    read_plain,
    taken_name,
)
from lae_controller.evaluators.shards import Shards
from lae_controller.files import copy_file, make_folder, read_json, write_atomic, write_json
from lae_controller.machine.slots import Slot
from lae_controller.program import Reason

_ERROR = 2000


UNIMPORTABLE = "the candidate cannot be imported"


class ScriptEvaluator:
    """Runs the scoring script beside the candidate; see the module's text and ``Evaluator``."""

    def __init__(self, bench: Bench) -> None:
        settings, isolation = bench.settings, bench.isolation
        self._settings = settings
        self._script = settings.scoring.script or ""
        self._entry = entry_file(settings, isolation.editable)
        if self._script not in {entry.path for entry in isolation.entries}:
            raise ConfigError(
                f"{settings.path.name}: scoring.script is {self._script!r}, but the project has "
                "no such file; expected a Python script relative to the project root"
            )
        self._whole = isolation
        alone = {self._script, *isolation.editable}
        entries = tuple(e for e in isolation.entries if e.path in alone or e.is_environment)
        narrow = replace(isolation, entries=entries, withheld=(*isolation.withheld, settings.root))
        self._bench = bench.within(narrow)
        self._shards = Shards(settings.scoring.shards)

    def measure(
        self, program: Path, digest: str, folder: Path, stage: Stage, slot: Slot
    ) -> Measurement:
        """Have the script score the candidate on the units of ``stage``."""
        taken = taken_name(program, self._whole, self._entry)
        if taken:
            return Measurement(None, Reason.OUT_OF_BOUNDS, taken)
        own = own_files(program, self._whole)
        shards = ",".join(map(str, self._shards.of(stage.name)))
        env = environment(self._bench, slot, stage.seed)
        env |= {"LAE_SHARDS": shards, "SCIENCE_AGENT_SHARDS": shards}
        order = Order(
            program=program,
            place=folder / stage.name,
            key={
                "digest": digest,
                "seed": stage.seed,
                "script": hashlib.sha256((program / self._script).read_bytes()).hexdigest(),
                "shards": shards,
                "env": dict(self._settings.env),
            },
            command=driver_command(self._settings, "run_script.py", env),
            limit=stage.limit,
            slot=slot,
            fill=lambda source, work: self._fill(source, work, own),
            arrange=lambda place: leave_guarded_job(
                place, {"script": self._script, "entry": self._entry, "own": list(own)}
            ),
        )
        done = self._bench.run(order)
        names = [further.name for further in self._settings.metrics]
        return measurement(
            self._bench,
            done,
            lambda: read_score(sealed_answer(done.order.place), names),
            self._entry,
        )

    def _fill(self, program: Path, work: Path, own: tuple[str, ...]) -> None:
        """Make the scratch directory: the script and the candidate, and nothing else."""
        for path in (self._script, *own):
            make_folder((work / path).parent)
            copy_file(program / path, work / path)


def leave_guarded_job(place: Path, job: Mapping[str, object]) -> None:
    """Put a job into the scratch folder of a run, with names and a number nobody can guess."""
    nonce = secrets.token_hex(16)
    result = f"lae-result-{secrets.token_hex(8)}.json"
    write_json(place / "secret.json", {"nonce": nonce, "result": result})
    write_atomic(place / "tmp" / "lae-nonce", nonce)
    leave_job(place, {**job, "result": result})


def sealed_answer(place: Path) -> object:
    """Return the result that the guard of a run has sealed.

    Raises:
        ChildError: NO_METRIC if there is none: the run did not come to its end, or what it wrote
            was changed afterwards; EXIT if the candidate could not be imported.
    """
    secret = read_json(place / "secret.json") or {"nonce": "", "result": "-"}
    try:
        seal = read_answer(place / "tmp" / "lae-seal.json")
    except ChildError:
        seal = None  # nothing was written there, or not by the guard alone
    if not isinstance(seal, dict) or seal.get("nonce") != secret["nonce"]:
        raise ChildError(
            Reason.NO_METRIC, "it ended before the scoring was over; expected a result"
        )
    if seal.get("failed"):
        raise ChildError(Reason.EXIT, f"{UNIMPORTABLE}: {seal['failed']}"[:_ERROR])
    result = place / "tmp" / secret["result"]
    if hashlib.sha256(read_plain(result)).hexdigest() != seal.get("digest"):
        raise ChildError(Reason.NO_METRIC, "the result was changed after the scoring had ended")
    return read_answer(result)


def read_score(result: object, names: Sequence[str]) -> Score:
    """Return the score that a script wrote.

    Args:
        result: what its JSON holds.
        names: of the further metrics that are asked for.

    Raises:
        ChildError: if it is not what the contract says.
    """
    if not isinstance(result, dict):
        raise ChildError(Reason.NO_METRIC, f"the result is {str(result)[:80]}; expected an object")
    error = str(result.get("error") or "")[:_ERROR]
    if result.get("valid") is not True:
        raise ChildError(Reason.NO_METRIC, f"the script calls the candidate invalid: {error}")
    metrics = result.get("metrics")
    score = metrics.get("score") if isinstance(metrics, dict) else None
    if isinstance(score, bool) or not isinstance(score, int | float):
        raise ChildError(
            Reason.NO_METRIC, f"metrics.score is {score!r}; expected a number from 0 to 1. {error}"
        )
    if isinstance(score, float) and not math.isfinite(score):
        raise ChildError(Reason.NON_FINITE, f"metrics.score is {score}; {error}")
    if not 0.0 <= score <= 1.0:
        found = f"metrics.score is {str(score)[:30]}; expected 0 (worst) to 1 (best). {error}"
        raise ChildError(Reason.NO_METRIC, found)
    others = {
        str(name)[:40]: value
        for name, value in (metrics or {}).items()
        if name != "score" and isinstance(value, float) and math.isfinite(value)
    }
    further = {name: others[name] for name in names if name in others}
    parts = {name: value for name, value in others.items() if name not in further}
    return Score(float(score), parts=dict(list(parts.items())[:32]), metrics=further, text=error)
