"""What a candidate may try instead of being better, in every scoring mode: it never becomes best.

Each goes the whole way: asked for, frozen, evaluated in its sandbox, told. All predict no better
than the starting point, so whatever is placed above it was not earned.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path

import pytest

from lae_controller import build, config, load
from lae_controller.api import Loop
from lae_controller.hosted import evaluate as evaluating
from lae_controller.results import Result
from lae_controller.sandbox.launch import Lifelines
from lae_controller.sandbox.tiers import probe_tiers
from lae_controller.sandbox.view import Tier

HONEST = "def predict(rows):\n    return [0.0 for row in rows]\n"
RIGHT = "float(x % 3 == 0)"
LABELS = f"LABELS = [(float(x), {RIGHT}) for x in range(320)]\n"
SCORE = f"""\
import json, os, statistics, sys
{LABELS}
rows = [{{"x": x}} for x, _ in LABELS]
labels = [y for _, y in LABELS]
import MODULE as model
guesses = model.predict(rows)
right = [float(float(g) == y) for g, y in zip(guesses, labels)]
score = round(statistics.mean(right), 6)
"""
HEAD = (
    "metric: accuracy\nmetric_direction: maximize\neditable_files: [model.py]\ntotal_budget: 400\n"
)
RUN = "gate: epochs\nbudget: 2\nsmoke_budget: 2\n"
MODES: dict[str, tuple[str, dict[str, str]]] = {
    "command": (
        RUN + 'run_cmd: "{python} train.py {budget}"\n',
        {"train.py": SCORE.replace("MODULE", "model") + "print('accuracy:', score)\n"},
    ),
    "metric_file": (
        RUN + 'run_cmd: "{python} train.py {budget}"\nmetric_file: result.json\n',
        {
            "train.py": SCORE.replace("MODULE", "model")
            + "json.dump({'accuracy': score}, open('result.json', 'w'))\n"
        },
    ),
    "dataset_metric": (
        "scoring: {mode: dataset_metric, dataset: t.csv, target: y, fit_share: 0}\n",
        {"t.csv": "x,y\n" + "".join(f"{x},{float(x % 3 == 0)}\n" for x in range(320))},
    ),
    "test_gate": (
        "scoring: {mode: test_gate, tests: [tests]}\n",
        {
            "tests/test_model.py": "import pytest\nfrom model import predict\n\n\n"
            "@pytest.mark.parametrize('x', range(48))\ndef test_one(x):\n"
            f"    assert predict([{{'x': float(x)}}])[0] == {RIGHT}\n"
        },
    ),
    "custom_script": (
        "scoring: {mode: custom_script, script: score.py}\n",
        {
            "score.py": '"""Scores."""\n'
            + SCORE.replace("MODULE", "candidate")
            + "with open(os.environ['LAE_RESULT'], 'w') as stream:\n"
            "    result = {'valid': True, 'metrics': {'score': score}, 'error': ''}\n"
            "    json.dump(result, stream)\n"
        },
    ),
    "llm_judge": (
        "scoring: {mode: llm_judge, rubric: rubric.md, judge: {backend: command, command: "
        '"{python} judge.py {prompt_file}"}}\n',
        {
            "rubric.md": "It computes.\n",
            "judge.py": "import re, sys\nsaid = open(sys.argv[1]).read()\n"
            "mark = re.search(r'GRADE-(\\w+): <number>', said)[1]\n"
            "text = said.split(f'<text-{mark}>')[-1]\n"
            "print(text, '\\n', f'GRADE-{mark}:', 3 if '% 3' in text else 2)\n",
        },
    ),
}
FORGED = json.dumps(
    {
        "valid": True,
        "metrics": {"score": 1.0},
        "error": "",
        "accuracy": 1.0,
        "cases": {},
        "broken": [],
    }
)
WRITES = f"""\
import os
places = [os.getcwd(), os.environ.get('TMPDIR', '/tmp')]
names = ['result.json', 'lae-predictions.json', 'lae-seal.json', os.environ.get('LAE_RESULT', 'r')]
for place in places:
    for name in names + os.listdir(place):
        if '.json' in name or '.xml' in name:
            try:
                open(os.path.join(place, name), 'w').write({FORGED!r})
            except OSError:
                pass
"""
DUMP = f"""\
import sys, types
fake = types.ModuleType('json')
fake.dump = lambda value, stream, **_: stream.write({FORGED!r})
fake.dumps = lambda value, **_: {FORGED!r}
fake.load = lambda stream: {{}}
sys.modules['json'] = fake
for module in list(sys.modules.values()):
    if getattr(module, 'json', None) is not None:
        module.json = fake
"""
PATCH = """\
import builtins, statistics
class One(float):
    def __new__(cls, value=0.0):
        return float.__new__(cls, 1.0)
statistics.mean = lambda values: 1.0
builtins.round = lambda value, digits=0: 1.0
builtins.float = One
"""
PEEK = """\
import gc, inspect
def known():
    for frame in inspect.stack():
        for values in (frame.frame.f_locals, frame.frame.f_globals):
            if 'labels' in values:
                return {x: y for x, y in values['LABELS']}
    for thing in gc.get_objects():
        if isinstance(thing, dict) and {'x', 'y'} <= set(map(str, thing)):
            return {thing['x']: thing['y']}
    return {}
def predict(rows):
    answers = known()
    return [answers.get(row['x'], 0.0) for row in rows]
"""
LIAR = """\
class Liar(float):
    def __eq__(self, other):
        return True
    def __float__(self):
        return LiarToo(0.0)
    def __reduce__(self):
        return (float, (1.0,))
    def tolist(self):
        return 1.0
    __hash__ = None
class LiarToo(float):
    def __eq__(self, other):
        return True
def predict(rows):
    return [Liar(0.0) for row in rows]
"""
OVERWRITE = """\
import os, sys
targets = ['train.py', 'score.py', 'tests/test_model.py', 'judge.py', sys.argv[0]]
targets += [getattr(m, '__file__', None) for m in (sys.modules['__main__'],)]
for target in filter(None, targets):
    try:
        text = open(target).read()
        open(target, 'w').write("print('accuracy: 1.0')\\nimport os\\nos._exit(0)\\n" + text)
    except OSError:
        pass
"""
LATE = "import atexit\natexit.register(lambda: print('accuracy: 1.0', flush=True))\n"
TRICKS: dict[str, str] = {
    "raises": "raise ValueError('not today')\n" + HONEST,
    "not a number": HONEST.replace("0.0", "float('nan')"),
    "hangs": "while True:\n    pass\n" + HONEST,
    # More than the head and the tail that are kept of an output, 4 MiB each.
    "prints megabytes": "for _ in range(12):\n    print('x' * 1000000)\n" + HONEST,
    "writes the result": WRITES + "os._exit(0)\n" + HONEST,
    "replaces json": DUMP + HONEST,
    "interrupts": "raise KeyboardInterrupt\n" + HONEST,
    "exits": "raise SystemExit(0)\n" + HONEST,
    "forks": "import os\nos.fork()\n" + HONEST,
    "patches arithmetic": PATCH + HONEST,
    "a later line": LATE + HONEST,
    "another line and out": "import os\nprint('accuracy: 1.0', flush=True)\nos._exit(0)\n" + HONEST,
    "overwrites": OVERWRITE + HONEST,
    "peeks": PEEK,
    "lies": LIAR,
}


@pytest.fixture(scope="module")
def begun() -> dict[str, tuple[Loop, Path]]:
    """Return the searches by their mode, each begun once, and a copy of each as it was begun."""
    return {}


Begun = dict[str, tuple[Loop, Path]]


@pytest.fixture
def search(mode: str, begun: Begun, tmp_path_factory: pytest.TempPathFactory) -> tuple[Loop, Path]:
    if mode not in begun:
        root = tmp_path_factory.mktemp(mode) / "project"
        search, fresh = _begin(mode, root), root.with_name("fresh")
        shutil.copytree(root, fresh, symlinks=True)
        begun[mode] = search, fresh
    return begun[mode]


@pytest.fixture
def loop(search: tuple[Loop, Path]) -> Loop:
    """Return the search of a mode, in which nothing was ever earned."""
    return search[0]


def _begin(mode: str, root: Path) -> Loop:
    """Return a search with its baseline measured, in bubblewrap where that works."""
    tier = "bwrap" if probe_tiers().works(Tier("bwrap")) else "auto"
    settings, files = MODES[mode]
    for name, text in {**files, "model.py": HONEST}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    head = HEAD.replace("accuracy", "score") if mode == "custom_script" else HEAD
    (root / "loop.run.yaml").write_text(
        f"{head}isolation: {tier}\nconcurrency: 1\nconfirm: {{baseline_runs: 1}}\n{settings}"
    )
    found = config.load(root)
    build.prepared_run(found, Lifelines(), [].append)
    return load(root)


ELSEWHERE = {
    "metric_file": ("writes the result", "replaces json", "patches arithmetic", "overwrites"),
    "llm_judge": ("raises", "writes the result", "replaces json", "a later line"),
}
"""Where little of a candidate is run, or its metric comes from elsewhere: what differs there."""


PAIRS = [(mode, trick) for mode in MODES for trick in ELSEWHERE.get(mode, TRICKS)]


@pytest.mark.parametrize(("mode", "trick"), PAIRS)
def test_a_trick_never_becomes_the_best(loop: Loop, trick: str) -> None:
    (task,) = loop.ask(1).tasks
    (task.directory / "model.py").write_text(f"NAME = {trick!r}\n{TRICKS[trick]}")
    _limit(loop, 1.0 if trick == "hangs" else 60.0)
    result = evaluating.evaluate_here(loop.settings, task.child_id)
    assert result is not None
    told = loop.tell(task.child_id)
    assert told.best is not None
    assert told.best[0].startswith("g0-"), evaluation_of(result)


@pytest.mark.parametrize("mode", MODES)
def test_what_is_earned_does(search: tuple[Loop, Path], tmp_path: Path) -> None:
    """The tricks would prove nothing where nothing can win."""
    loop = load(shutil.copytree(search[1], tmp_path / "project", symlinks=True))
    (task,) = loop.ask(1).tasks
    better = HONEST.replace("0.0 for", "float(row['x'] % 3 == 0) for")
    (task.directory / "model.py").write_text(better)
    result = evaluating.evaluate_here(loop.settings, task.child_id)
    assert result is not None
    told = loop.tell(task.child_id)
    assert told.best is not None
    assert told.best[0] == task.child_id, evaluation_of(result)


def evaluation_of(result: Result) -> str:
    found = result.evaluation
    return f"{found.status} {found.smoke_metric} {found.metric} {found.reason} {found.detail}"


def _limit(loop: Loop, seconds: float) -> None:
    """Let a run take so long: what the baseline's own time allows is a minute at least."""
    path = loop.settings.lae_dir / "base.json"
    value = json.loads(path.read_text())
    value["baseline"]["limit"] = seconds
    path.write_text(json.dumps(value))
    loop.settings = dataclasses.replace(loop.settings, stop_grace=0.5)
