from __future__ import annotations

import pytest

from lae_controller.change.protected import check_protected, protected_lines
from lae_controller.errors import ChildError, ConfigError
from lae_controller.program import Reason

CODE = """\
SEED = 1
EPOCHS = 3
train = dict(epochs=4)
if EPOCHS == 3:
    pass
limits = {"epochs": 9}
epochs_done = 0
def run(epochs: int = 5): ...
"""


def test_a_name_means_lines_that_give_it_a_value() -> None:
    assert [n for n, _ in protected_lines(CODE, ["epochs"])] == [3, 6, 8]
    assert [n for n, _ in protected_lines(CODE, ["EPOCHS"])] == [2]
    assert [n for n, _ in protected_lines("train:\n  epochs: 3\n", ["train.epochs"])] == [2]
    assert len(protected_lines("if (epochs := 3): pass\n", ["epochs"])) == 1
    assert protected_lines("if epochs == 3: pass\n", ["epochs"]) == []


def test_anything_else_is_a_pattern() -> None:
    assert [n for n, _ in protected_lines(CODE, [r"^limits\b"])] == [6]
    with pytest.raises(ConfigError, match="neither a key nor a regular expression"):
        protected_lines(CODE, ["(unclosed"])


@pytest.mark.parametrize(
    ("old", "new"),
    [("EPOCHS = 3", "EPOCHS = 30"), ("EPOCHS = 3\n", ""), ("SEED = 1", "SEED = 1\nEPOCHS = 9")],
)
def test_changing_removing_or_adding_is_refused(old: str, new: str) -> None:
    with pytest.raises(ChildError) as caught:
        check_protected({"a.py": CODE}, {"a.py": CODE.replace(old, new)}, ("EPOCHS",))
    assert caught.value.reason is Reason.PROTECTED
    assert "a.py" in caught.value.detail


def test_moving_it_down_the_file_is_fine() -> None:
    check_protected({"a.py": CODE}, {"a.py": "# more\n" + CODE}, ("EPOCHS", "SEED"))


def test_a_new_file_may_not_bring_one() -> None:
    with pytest.raises(ChildError, match=r"b\.py:1"):
        check_protected({"a.py": CODE}, {"a.py": CODE, "b.py": "SEED = 7\n"}, ("SEED",))


def test_without_entries_everything_may_change() -> None:
    check_protected({"a.py": CODE}, {"a.py": ""}, ())
