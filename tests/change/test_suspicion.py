from __future__ import annotations

import pytest

from lae_controller.change.suspicion import suspicious_change

PARENT = """\
import numpy as np

train = load("data/train.txt")
held = load("data/val.txt")


def report(net):
    score = evaluate(net, held)
    print(f"val_loss={score:.4f}")
"""
DATA = ["data/train.txt", "data/val.txt", "digits.npz", "data"]


def look(new: str, pattern: str | None = None) -> str | None:
    return suspicious_change({"m.py": PARENT}, {"m.py": new}, "val_loss", pattern, DATA)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("    print(f", "    print('val_loss=0.0001')\n    print(f", "looks like the metric"),
        ("{score:.4f}", "{score * 0.5:.4f}", "looks like the metric"),
        ('load("data/train.txt")', 'load("data/train.txt") + load("data/val.txt")', "data/val.txt"),
        ("import numpy as np", "import numpy as np\nX = np.load('digits.npz')", "digits.npz"),
    ],
)
def test_what_is_held_back(old: str, new: str, said: str) -> None:
    found = look(PARENT.replace(old, new))
    assert found is not None
    assert said in found


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("import numpy as np", "import numpy as np\nRATE = 0.3"),
        ("score = evaluate(net, held)", "score = evaluate(net, held)  # val_loss below"),
        ("def report(net):\n", "def more(x):\n    return x\n\n\ndef report(net):\n"),
        ("import numpy as np", "import numpy as np\nval_loss = 0"),
        ('print(f"val_loss', "print(f'val_loss"),
    ],
)
def test_what_passes(old: str, new: str) -> None:
    text = PARENT.replace(old, new)
    if "print(f'val_loss" in text:
        text = text.replace('{score:.4f}")', "{score:.4f}')")
    assert text != PARENT
    assert look(text) is None


REACHING = [
    "import sys\nanswers = sys._getframe(1).f_locals",
    "from inspect import currentframe as here",
    "import inspect as i\ni.stack()",
    "import gc\nx = gc.get_objects()",
    "import sys\nsys.modules['json'] = None",
    "import statistics\nstatistics.mean = lambda _: 1.0",
    "import math as m\nm.sqrt = abs",
    "import time\nsetattr(time, 'time', lambda: 0.0)",
    "import json\njson.__dict__['dumps'] = repr",
    "import builtins",
    "__builtins__['float'] = int",
    "import os\nos._exit(0)",
    "import os\nos.fork()",
    "import atexit\natexit.register(print)",
    "class Same:\n    def __eq__(self, other):\n        return True",
    "class Trick:\n    def __reduce__(self):\n        return print, ()",
    "import ctypes",
    "try:\n    pass\nexcept ValueError as e:\n    e.__traceback__.tb_frame",
]


@pytest.mark.parametrize("code", REACHING)
def test_what_reaches_into_the_interpreter_is_held_back(code: str) -> None:
    found = look(PARENT + "\n" + code + "\n")
    assert found is not None
    assert "newly reaches into the interpreter" in found
    known = suspicious_change(
        {"m.py": PARENT + "\n" + code + "\n"},
        {"m.py": PARENT + "\nRATE = 3\n" + code + "\n"},
        "val_loss",
        None,
        DATA,
    )
    assert known is None  # the parent does it already


@pytest.mark.parametrize(
    "code",
    [
        "import gc\ngc.collect()",
        "import inspect\ninspect.signature(load)",
        "import torch\ntorch.backends.cudnn.benchmark = True",
        "import os\nos.environ['X'] = '1'\nos.cpu_count()",
        "x = np.stack([1, 2])",
        "class Net:\n    def __init__(self):\n        self.mean = 0",
        "import sys\nsys.setrecursionlimit(10)\nsys.stdout.flush()",
    ],
)
def test_what_a_model_may_need_is_not(code: str) -> None:
    assert look(PARENT + "\n" + code + "\n") is None


def test_the_user_s_own_pattern_counts() -> None:
    new = PARENT + "\nprint('final = 1')\n"
    assert look(new) is None
    assert look(new, pattern=r"final = (\S+)") is not None


def test_a_new_file_is_looked_at_too() -> None:
    after = {"m.py": PARENT, "extra.py": "print('val_loss:', 0)\n"}
    found = suspicious_change({"m.py": PARENT}, after, "val_loss", None, DATA)
    assert found is not None
    assert "extra.py:1" in found


def test_other_files_are_read_line_by_line() -> None:
    found = suspicious_change({}, {"a.sh": "echo val_loss: 0.1\n"}, "val_loss", None, DATA)
    assert found is not None
    assert suspicious_change({}, {"a.yaml": "lr: 0.1\n"}, "val_loss", None, DATA) is None


@pytest.mark.parametrize(
    ("old", "new", "held"), [("RATE = 0.1", "RATE = 0.3", False), (", RATE)", ", 0.001)", True)]
)
def test_within_a_match_only_what_writes_the_metric_is_held_back(
    old: str, new: str, held: bool
) -> None:
    text = "match mode:\n case 1:\n  RATE = 0.1\n case _:\n  print('val_loss', RATE)\n"
    after = text.replace(old, new)
    found = suspicious_change({"m.py": text}, {"m.py": after}, "val_loss", None, ())
    assert after != text
    assert (found is not None) is held
