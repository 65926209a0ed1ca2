"""A training project small enough to be run hundreds of times in a suite."""

from __future__ import annotations

from pathlib import Path

MODEL = """\
# What may change: the metric is a smooth function of these numbers.
RATE = 0.5
WIDTH = 8
DECAY = 0.25


def bend(x):
    return x * x
"""

TRAIN = """\
import argparse
import hashlib
import os
from pathlib import Path

import model

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=4)
parser.add_argument("--seed", type=int, default=0)
options = parser.parse_args()

error = model.bend(model.RATE - 0.1) + abs(model.WIDTH - 64) / 64 + abs(model.DECAY - 0.01)
loss = 10.0
for epoch in range(options.epochs):
    loss = error + 1.0 / (epoch + 2)
    print(f"epoch {epoch + 1}: loss {loss:.6f}")
print(f"params: {int(model.WIDTH) * 10}")
print(f"val_loss: {loss!r}", flush=True)
if "COUNT_FILE" in os.environ:
    code = hashlib.sha256(Path("model.py").read_bytes()).hexdigest()[:12]
    with open(os.environ["COUNT_FILE"], "a") as stream:
        stream.write(f"{code} {options.epochs} {options.seed}\\n")
    os._exit(0)  # at once: a run that is counted must also have ended
"""

CONFIG = """\
metric: val_loss
metric_direction: minimize
run_cmd: "{python} train.py --epochs {budget}"
editable_files: [model.py]
gate: epochs
budget: 4
total_budget: 10
concurrency: 2
evolution:
  schedule: generational
  num_islands: 2
  migration_interval: 2
confirm:
  baseline_runs: 2
"""


def make_project(root: Path, extra: str = "") -> Path:
    """Write the project below ``root``; ``extra`` is appended to its loop.run.yaml."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "model.py").write_text(MODEL)
    (root / "train.py").write_text(TRAIN)
    (root / "loop.run.yaml").write_text(CONFIG + extra)
    return root
