"""What code under test may try on the process that scores it; each is a process of its own."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lae_controller.evaluators.scored import DRIVERS, TAMPERED

SCRIPT = '''\
"""Scores."""
import json, os, sys
def whole():
    import candidate
    return float(candidate.answer())
try:
    score = whole()
except Exception as error:
    score = SCORE_OF_BROKEN
with open(os.environ["LAE_RESULT"], "w") as stream:
    json.dump({"valid": True, "metrics": {"score": score}, "error": ""}, stream)
assert os.environ["LAE_RESULT"] == os.environ["SCIENCE_AGENT_RESULT"]
assert __name__ == "__main__"
'''
GOOD = "def answer():\n    return 0.5\n"
FORGED = '{"valid": true, "metrics": {"score": 1.0}, "error": ""}'


def run(
    tmp_path: Path, candidate: str, broken: str = "0.0", entry: str = "mine.py"
) -> tuple[int, str, str, dict[str, str]]:
    """Return the status, what was said, the result and the seal."""
    work, scratch = tmp_path / "work", tmp_path / "scratch"
    work.mkdir(exist_ok=True)
    scratch.mkdir()
    (work / "score.py").write_text(SCRIPT.replace("SCORE_OF_BROKEN", broken))
    (work / entry).write_text(candidate)
    (scratch / "lae-nonce").write_text("a-number")
    job = {"script": "score.py", "entry": entry, "own": [entry], "result": "r.json"}
    (scratch / "lae-job.json").write_text(json.dumps(job))
    done = subprocess.run(
        [sys.executable, "-S", DRIVERS / "run_script.py"],
        cwd=work,
        env={"TMPDIR": str(scratch), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    result = scratch / "r.json"
    seal = (scratch / "lae-seal.json").read_text()
    return (
        done.returncode,
        done.stderr,
        result.read_text() if result.exists() else "",
        json.loads(seal) if seal else {},
    )


def test_a_script_that_comes_to_its_end_is_sealed(tmp_path: Path) -> None:
    status, _, result, seal = run(tmp_path, GOOD)
    assert (status, json.loads(result)["metrics"]) == (0, {"score": 0.5})
    assert seal == {
        "nonce": "a-number",
        "digest": hashlib.sha256(result.encode()).hexdigest(),
        "failed": "",
    }
    assert not (tmp_path / "scratch" / "lae-nonce").exists()


def test_a_package_can_be_the_candidate(tmp_path: Path) -> None:
    (tmp_path / "work" / "pack").mkdir(parents=True)
    (tmp_path / "work" / "pack" / "core.py").write_text(GOOD)
    lines = "from .core import answer\n"
    status, stderr, result, _ = run(tmp_path, lines, entry="pack/__init__.py")
    assert (status, json.loads(result)["metrics"]) == (0, {"score": 0.5}), stderr


@pytest.mark.parametrize(
    ("candidate", "said"),
    [
        (
            f"import os\nopen(os.environ['LAE_RESULT'], 'w').write({FORGED!r})\n{GOOD}",
            "the candidate reached for the result file (open)",
        ),
        (f"import os\nos.system('echo > $LAE_RESULT')\n{GOOD}", "result file (os.system)"),
        ("import json\njson.dump = lambda value, stream: stream.write('1')\n" + GOOD, "json.dump"),
        (
            "import sys, types\nsys.modules['json'] = types.ModuleType('json')\n" + GOOD,
            "the module json was replaced",
        ),
        (
            "import json\njson.__dict__['dump'] = lambda value, stream: stream.write('1')\n" + GOOD,
            "json.dump was replaced",
        ),
        (
            "import json\ndef fake(obj, fp): fp.write('1')\n"
            "json.dump.__code__ = fake.__code__\n" + GOOD,
            "json.dump was replaced",
        ),
        ("import time\ntime.perf_counter = lambda: 0.0\n" + GOOD, "time.perf_counter was set"),
        ("import builtins\nbuiltins.float = lambda _: 1.0\n" + GOOD, "builtins.float was set"),
        ("import sys\nsys.audit('lae.finish')\n" + GOOD, "the candidate asked for the seal"),
    ],
)
def test_a_candidate_that_reaches_for_its_score_is_ended(
    tmp_path: Path, candidate: str, said: str
) -> None:
    status, stderr, _, seal = run(tmp_path, candidate)
    assert (status, seal) == (TAMPERED, {})
    assert f"lae-guard: {said}" in stderr or said in stderr


@pytest.mark.parametrize(
    "candidate",
    [
        "import os\nos._exit(0)\n",
        "import os\nos.execv('/bin/true', ['true'])\n",
        "import sys\nsys.stdout.close()\nraise SystemExit('done')\n",
    ],
)
def test_without_an_end_there_is_no_seal(tmp_path: Path, candidate: str) -> None:
    assert run(tmp_path, candidate)[3] == {}


def test_what_happens_after_the_end_does_not_happen(tmp_path: Path) -> None:
    late = (
        "import atexit, os\npath = os.environ['LAE_RESULT']\n"
        f"atexit.register(lambda: open(path, 'w').write({FORGED!r}))\n{GOOD}"
    )
    _, _, result, seal = run(tmp_path, late)
    assert json.loads(result)["metrics"] == {"score": 0.5}
    assert seal["digest"] == hashlib.sha256(result.encode()).hexdigest()


def test_an_import_that_failed_is_noted_whatever_the_script_makes_of_it(tmp_path: Path) -> None:
    _, _, result, seal = run(tmp_path, "LIMIT = 3\nraise ValueError('not ready')\n", broken="1.0")
    assert json.loads(result)["metrics"] == {"score": 1.0}
    assert 'mine.py", line 2' in seal["failed"]
    assert "ValueError: not ready" in seal["failed"]


def test_what_is_no_tampering_goes_on(tmp_path: Path) -> None:
    busy = (
        "import json, os, random, subprocess, sys, time\n"
        "random.seed(3)\nos.environ['X'] = '1'\ntime.tzset()\njson.extra = 1\n"
        "subprocess.run(['true'], env=dict(os.environ), check=True)\n"
        "open('notes.txt', 'w').write('x')\nclass Mine(json.JSONEncoder):\n    pass\n" + GOOD
    )
    status, stderr, _, seal = run(tmp_path, busy)
    assert (status, seal["nonce"]) == (0, "a-number"), stderr
