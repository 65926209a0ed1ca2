"""Runs tests with pytest and writes down how each ended, under guard. Stand-alone.

    python run_pytest.py        with lae-job.json in TMPDIR

Writes to the job's result file: ``cases``, test id -> [outcome, text of the failure], and
``broken``, what could not be collected. See ``lae_guard`` for what makes it count.
"""

from __future__ import annotations

import json
import os
import sys

import lae_candidate
import lae_guard
import pytest

_TEXT = 2000
_RANK = ("passed", "skipped", "failed")


class Outcomes:
    """Collects reports as pytest makes them."""

    def __init__(self) -> None:
        self.cases: dict[str, list[str]] = {}
        self.broken: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the worst of set-up, call and tear-down."""
        if report.outcome not in _RANK:
            return  # a plugin's own word, such as for a case that is run again
        before = self.cases.get(report.nodeid, ["passed", ""])
        if _RANK.index(report.outcome) > _RANK.index(before[0]):
            before = [report.outcome, report.longreprtext[-_TEXT:]]
        self.cases[report.nodeid] = before

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Keep why a file could not be read."""
        if report.failed:
            self.broken.append(f"{report.nodeid}: {report.longreprtext[-_TEXT:]}")


def main() -> None:
    """Do the job."""
    scratch = os.environ["TMPDIR"]
    with open(os.path.join(scratch, "lae-job.json"), encoding="utf-8") as stream:
        job = json.load(stream)
    result = os.path.join(scratch, job["result"])
    sys.path[0] = os.getcwd()
    lae_guard.guard(result, lae_candidate.own_files(job["own"]), sealed=False)
    for name in ("lae_guard", "lae_candidate"):
        del sys.modules[name]
    outcomes = Outcomes()
    pytest.main(job["arguments"], plugins=[outcomes])
    with open(result, "w", encoding="utf-8") as stream:
        json.dump({"cases": outcomes.cases, "broken": outcomes.broken[:5]}, stream)
    sys.audit("lae.finish")


if __name__ == "__main__":
    main()
