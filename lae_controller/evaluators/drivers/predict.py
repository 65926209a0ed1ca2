"""Lets the candidate fit and predict; what it says is scored elsewhere. Stand-alone, no packages.

    python predict.py           with lae-job.json in TMPDIR

Writes ``lae-predictions.json`` there: one list of predictions a shard. The answers are not here.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from typing import Any

import lae_candidate


def main() -> None:
    """Do the job."""
    scratch = os.environ["TMPDIR"]
    with open(os.path.join(scratch, "lae-job.json"), encoding="utf-8") as stream:
        job = json.load(stream)
    sys.path[0] = os.getcwd()
    sys.meta_path.insert(0, lae_candidate.Finder(job["entry"]))
    candidate = importlib.import_module(lae_candidate.NAME)
    more: tuple[Any, ...] = ()
    if "fit" in vars(candidate):
        more = (candidate.fit(job["fit"]["rows"], job["fit"]["targets"]),)
    predictions = [list(candidate.predict(rows, *more)) for rows in job["shards"]]
    with open(os.path.join(scratch, "lae-predictions.json"), "w", encoding="utf-8") as stream:
        json.dump(predictions, stream, default=plain)


def plain(value: Any) -> Any:
    """Turn an array or a scalar of numpy's into plain data."""
    return value.tolist()


if __name__ == "__main__":
    main()
