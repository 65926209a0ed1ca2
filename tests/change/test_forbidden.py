from __future__ import annotations

import pytest

from lae_controller.change.forbidden import check_calls
from lae_controller.errors import ChildError
from lae_controller.program import Reason

PARENT = {"m.py": "x = eval('1')\n"}
NAMES = ("eval", "exec", "setattr", "os.system")


@pytest.mark.parametrize(
    "text", ["x = eval('1')\ny = eval('2')\n", "exec('1')\n", "import os\nos.system('ls')\n"]
)
def test_an_added_call_is_refused_by_name(text: str) -> None:
    with pytest.raises(ChildError, match=r"m\.py:\d+: calls (eval|exec|os\.system)") as caught:
        check_calls(PARENT, {"m.py": text}, NAMES)
    assert caught.value.reason is Reason.PROTECTED


@pytest.mark.parametrize("text", ["y = 2\nx = eval('1')\n", "model.eval()\n", "evaluate()\n"])
def test_what_was_there_or_only_looks_alike_passes(text: str) -> None:
    check_calls(PARENT, {"m.py": text}, NAMES)


def test_without_the_setting_nothing_is_refused() -> None:
    check_calls(PARENT, {"m.py": "exec('1')\n"}, ())
