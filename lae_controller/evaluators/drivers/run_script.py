"""Runs a scoring script with the candidate beside it, under guard. Stand-alone, no packages.

    python run_script.py        with lae-job.json in TMPDIR

The script is run as ``__main__`` with the working directory first on ``sys.path``; it imports the
candidate as ``candidate``. See ``lae_guard`` for what makes its result count.
"""

from __future__ import annotations

import json
import os
import sys
import types

import lae_candidate
import lae_guard


def main() -> None:
    """Do the job."""
    scratch = os.environ["TMPDIR"]
    with open(os.path.join(scratch, "lae-job.json"), encoding="utf-8") as stream:
        job = json.load(stream)
    result = os.path.join(scratch, job["result"])
    for name in lae_guard.VARIABLES:
        os.environ[name] = result
    sys.path[0] = os.getcwd()
    sys.meta_path.insert(0, lae_candidate.Finder(job["entry"]))
    script = os.path.join(os.getcwd(), job["script"])
    sys.argv[:] = [script]
    lae_guard.guard(result, lae_candidate.own_files(job["own"]), sealed=True)
    for name in ("lae_guard", "lae_candidate"):
        del sys.modules[name]
    run(script)
    sys.audit("lae.finish")


def run(script: str) -> None:
    """Run a file as the main module; ``sys.exit(0)`` is an end like any other."""
    with open(script, "rb") as stream:
        code = compile(stream.read(), script, "exec", dont_inherit=True)
    module = types.ModuleType("__main__")
    module.__file__ = script
    sys.modules["__main__"] = module
    try:
        exec(code, vars(module))
    except SystemExit as ending:
        if ending.code not in (None, 0):
            raise


if __name__ == "__main__":
    main()
