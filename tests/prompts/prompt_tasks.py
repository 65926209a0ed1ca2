"""Tasks for the tests of the prompts."""

from __future__ import annotations

from dataclasses import replace

from lae_controller.program import Artifacts, Direction, Files, Intervention, Reason
from lae_controller.task import Credit, Failure, Inspiration, Task, Tried

NET = """\
import math

# EVOLVE-BLOCK-START
RATE = 0.5
WIDTH = 8


class Net:
    def step(self, batch, epoch):
        return RATE * math.tanh(batch)
# EVOLVE-BLOCK-END


def main():
    print(Net().step(1.0, 0))
"""
CONFIG = "rate: 0.5\nbatch_size: 32\n"


def plain_task(files: Files | None = None, child_id: str = "g2-i0-a0") -> Task:
    """Return a task that says nothing but the program and its metric."""
    return Task(
        child_id=child_id,
        parent_id="g1-i0-a0",
        gen=2,
        island=0,
        attempt=0,
        seed=7,
        metric_name="accuracy",
        direction=Direction.MAXIMIZE,
        editable=("net.py",),
        protected=(),
        files=files or {"net.py": "RATE = 0.5\nWIDTH = 8\n"},
        parent_metric=0.8125,
        parent_artifacts=Artifacts(),
        inspirations=(),
        tried=(),
        credits={},
    )


def full_task() -> Task:
    """Return a task that says everything there is to say."""
    files = {"conf/net.yaml": CONFIG, "net.py": NET}
    faster = {**files, "net.py": NET.replace("RATE = 0.5", "RATE = 0.9")}
    other = {
        **files,
        "net.py": NET.replace("WIDTH = 8\n", "".join(f"W{n} = {n}\n" for n in range(30))),
    }
    return replace(
        plain_task(files),
        direction=Direction.MINIMIZE,
        metric_name="val_loss",
        editable=("net.py", "conf/*.yaml"),
        protected=("seed", "epochs"),
        run_cmd="WANDB_API_KEY=hush python train.py --epochs 8",
        budget="8 epochs or steps",
        context="Tells digits apart.",
        parent_artifacts=Artifacts(
            curve=tuple((float(step), 2.0 / step) for step in range(1, 21)),
            per_class={"cat": 0.5, "dog": 0.25},
            log_tail='File "net.py", line 9, in step\nRuntimeWarning: overflow\nHF_TOKEN=hush',
            warnings=("non-finite number in the output",),
        ),
        inspirations=(
            Inspiration("g1-i0-a1", 0.7, "top", "a faster rate", faster),
            Inspiration("g1-i0-a2", 0.9, "diverse", "thirty widths", other),
            Inspiration("g0-i0-a0", 1.0, "diverse", "", files),
        ),
        tried=(
            Tried("g2-i1-a0", "WIDTH 8 -> 16", Intervention.ARCHITECTURE, "not kept", 0.9, None),
            Tried("g2-i1-a1", "relu", Intervention.ARCHITECTURE, "exit", None, None),
        ),
        idle=("net.py::Net.unused", "gone.py::f"),
        kinds={"optimiser": Credit(9.0, 0.5), "init": Credit(3.0, 3.0)},
        empty_regions=("smaller than 100 parameters",),
        insights=("slow: most of the time goes into tanh",),
        promise=True,
        inert=("net.py: DEPTH = 2", "net.py: DEPTH = 3"),
    )


FAILURES = (
    Failure("Lower the rate.", Reason.BAD_DIFF, "no SEARCH/REPLACE block found in the reply"),
    Failure("", Reason.MUTATOR_ERROR, "the model's reply is empty; expected a change"),
    Failure("<<<<<<< SEARCH\n…", Reason.EXIT, 'File "net.py", line 9\nNameError: RAT'),
)
