"""Mode ``dataset_metric``: the candidate predicts a column of a table that it never holds.

The table stays outside of every program. A run gets the rows of its units without the target, and
(if the candidate fits anything) other rows with it; it leaves predictions, and this process, not
the run's, compares them with the answers. Whatever a candidate writes is a prediction.
"""

from __future__ import annotations

import math
from functools import cached_property
from pathlib import Path

from lae_controller.errors import ChildError, ConfigError
from lae_controller.evaluators import Measurement, Stage
from lae_controller.evaluators.baseline import BASELINE_ID
from lae_controller.evaluators.measures import (
    accuracy,
    checked_predictions,
    normalised,
    value_of,
)
from lae_controller.evaluators.runs import Bench, Finished, Order
from lae_controller.evaluators.scored import (
    Score,
    driver_command,
    entry_file,
    environment,
    leave_job,
    measurement,
    read_answer,
    taken_name,
)
from lae_controller.evaluators.shards import Shards, kind_of
from lae_controller.evaluators.table import Split, Table, read_table, split_table
from lae_controller.files import copy_file, make_folder, read_json, sha256_of, write_json
from lae_controller.machine.slots import Slot
from lae_controller.program import Reason

NUMERIC = ("mae", "rmse", "r2")


class DatasetEvaluator:
    """Scores predictions; see the module's text and ``Evaluator``."""

    def __init__(self, bench: Bench) -> None:
        settings = bench.settings
        self._settings = settings
        self._scoring = settings.scoring
        self._bench = bench
        self._shards = Shards(settings.scoring.shards)
        self._entry = entry_file(settings, bench.isolation.editable)
        self._folder = settings.lae_dir / "scoring"

    def measure(
        self, program: Path, digest: str, folder: Path, stage: Stage, slot: Slot
    ) -> Measurement:
        """Have the candidate predict the units of ``stage``, and score what it says."""
        units = [self._split.units[index] for index in self._shards.of(stage.name)]
        taken = taken_name(program, self._bench.isolation)
        if taken:
            return Measurement(None, Reason.OUT_OF_BOUNDS, taken)
        env = environment(self._bench, slot, stage.seed)
        order = Order(
            program=program,
            place=folder / stage.name,
            key={
                "digest": digest,
                "seed": stage.seed,
                "dataset": sha256_of(self._dataset),
                "shards": list(self._shards.of(stage.name)),
                "env": dict(self._settings.env),
            },
            command=driver_command(self._settings, "predict.py", env),
            limit=stage.limit,
            slot=slot,
            arrange=lambda place: leave_job(place, self._job(units)),
        )
        done = self._bench.run(order)
        return measurement(
            self._bench, done, lambda: self._score(done, units, stage, slot), self._entry
        )

    def _job(self, units: list[Table]) -> dict[str, object]:
        fit = self._split.fit
        return {
            "entry": self._entry,
            "fit": {"rows": list(fit.rows), "targets": list(fit.targets)},
            "shards": [list(unit.rows) for unit in units],
        }

    # -- the table ---------------------------------------------------------------------------

    @cached_property
    def _dataset(self) -> Path:
        """The table as it was when the run began; later edits of the user's change nothing."""
        source = self._settings.root / (self._scoring.dataset or "")
        kept = self._folder / f"dataset{source.suffix.lower()}"
        if not kept.is_file():
            if not source.is_file():
                raise ConfigError(
                    f"{self._settings.path.name}: scoring.dataset is {self._scoring.dataset!r}, "
                    "but the project has no such file; expected a CSV, TSV or Parquet file"
                )
            make_folder(self._folder)
            aside = kept.with_name(f".{kept.name}.new")
            copy_file(source, aside)
            aside.replace(kept)
        return kept

    @cached_property
    def _split(self) -> Split:
        table = read_table(self._dataset, self._scoring.target or "")
        if self._settings.metric in NUMERIC and not isinstance(table.targets[0], float):
            raise ConfigError(
                f"{self._settings.path.name}: metric is {self._settings.metric}, but the column "
                f"{self._scoring.target} holds text; expected numbers, or metric: accuracy"
            )
        counts = self._scoring.shards
        seed = self._settings.evolution.seed
        split = split_table(table, counts.total, self._scoring.fit_share, seed)
        shape = {"rows": len(table.rows), "fit": len(split.fit.rows)}
        write_json(self._folder / "split.json", {**shape, "unit": len(split.units[0].rows)})
        return split

    # -- the score ---------------------------------------------------------------------------

    def _score(self, done: Finished, units: list[Table], stage: Stage, slot: Slot) -> Score:
        answer = read_answer(done.order.place / "tmp" / "lae-predictions.json")
        predictions = checked_predictions(answer, [len(unit.rows) for unit in units])
        pairs = list(zip(units, predictions, strict=True))
        right = _mean([accuracy(unit.targets, predicted) for unit, predicted in pairs])
        if self._settings.metric == "seconds":
            return self._timed(done, right, stage, slot)
        metric = self._settings.metric
        values = [value_of(metric, unit.targets, predicted) for unit, predicted in pairs]
        index = self._shards.of(stage.name)
        parts = {f"shard {n}": value for n, value in zip(index, values, strict=True)}
        return self._ranked(_mean(values), right, parts, done, stage, slot)

    def _timed(self, done: Finished, right: float, stage: Stage, slot: Slot) -> Score:
        """Score by the clock outside of the run, if the answers are as right as the baseline's."""
        seconds = done.ended.seconds
        reference = self._reference(done, stage, slot, seconds, right)
        if right < reference["right"] - 1e-12:
            raise ChildError(
                Reason.NO_METRIC,
                f"{right:.2%} of the answers are right; the starting point's are "
                f"{reference['right']:.2%}. The time that wrong answers take is no metric",
            )
        return self._ranked(seconds, right, {}, done, stage, slot)

    def _ranked(
        self,
        raw: float,
        right: float,
        parts: dict[str, float],
        done: Finished,
        stage: Stage,
        slot: Slot,
    ) -> Score:
        metric, normaliser = self._settings.metric, self._scoring.normaliser
        baseline = raw
        if normaliser == "relative_to_baseline":
            baseline = self._reference(done, stage, slot, raw, right)["raw"]
        value = normalised(raw, normaliser, metric, baseline)
        text = f"{metric} {raw:.6g}"
        if normaliser != "identity":
            text += f", {normaliser} {value:.6g}"
        return Score(value, parts=parts, text=text)

    def _reference(
        self, done: Finished, stage: Stage, slot: Slot, raw: float, right: float
    ) -> dict[str, float]:
        """Return what the baseline reached in this stage; measured now if it is not known yet."""
        note = self._folder / f"reference-{kind_of(stage.name)}.json"
        known: dict[str, float] | None = read_json(note)
        if known is None and done.order.program.name == BASELINE_ID:
            known = {"raw": raw, "right": right}
            write_json(note, known)
        if known is None:
            programs, runs = self._settings.lae_dir / "programs", self._settings.lae_dir / "runs"
            self.measure(programs / BASELINE_ID, "", runs / BASELINE_ID, stage, slot)
            known = read_json(note) or {"raw": raw, "right": right}
        return known


def _mean(values: list[float]) -> float:
    return math.fsum(values) / len(values)
