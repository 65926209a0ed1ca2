"""Projects that are scored without a training command; small, and in the tier `none` mostly."""

from __future__ import annotations

import dataclasses
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from lae_controller import build, config
from lae_controller.evaluators import Evaluator, Measurement, Stage
from lae_controller.evaluators.baseline import BASELINE_ID
from lae_controller.machine.slots import Slot
from lae_controller.sandbox import programs
from lae_controller.sandbox.launch import Lifelines
from lae_controller.sandbox.snapshot import survey, take

SLOT = Slot("cpu 0")


class Scored:
    """A project with its snapshot, and programs made of it."""

    def __init__(
        self, root: Path, settings: str, files: Mapping[str, str], isolation: str = "none"
    ) -> None:
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        head = f"total_budget: 9\nisolation: {isolation}\n"
        (root / "loop.run.yaml").write_text(head + settings)
        self.settings = config.load(root)
        self.lae = self.settings.lae_dir
        withheld = self.settings.scoring.withheld
        self.snapshot = survey(root, leave_out=withheld, skip=[self.lae])
        self.lae.mkdir(parents=True)
        take(root, self.snapshot, self.lae / "base")
        programs.build(self.snapshot, self.lae / "base", self.program(BASELINE_ID))
        self.editable = tuple(programs.editable_paths(self.snapshot, self.settings.editable_files))

    def program(self, name: str) -> Path:
        return self.lae / "programs" / name

    def evaluator(self, **changes: object) -> Evaluator:
        settings = dataclasses.replace(self.settings, **changes)  # type: ignore[arg-type]
        return build.evaluator_for(settings, Lifelines(), {}, self.snapshot, self.editable)

    def measure(
        self,
        files: Mapping[str, str] | None = None,
        stage: str = "full",
        limit: float = 20.0,
        evaluator: Evaluator | None = None,
    ) -> Measurement:
        """Measure the baseline, or a child with ``files`` changed or added."""
        name = (
            BASELINE_ID
            if files is None
            else f"g1-i0-a{len(list((self.lae / 'programs').iterdir()))}"
        )
        program = self.program(name)
        if files is not None:
            shutil.copytree(self.program(BASELINE_ID), program)
            for path, text in files.items():
                (program / path).parent.mkdir(parents=True, exist_ok=True)
                (program / path).write_text(text)
        asked = Stage(stage, 8.0, 42, limit)
        evaluator = evaluator or self.evaluator()
        return evaluator.measure(program, name, self.lae / "runs" / name, asked, SLOT)


PYTHON = sys.executable
