from __future__ import annotations

from mutator_tasks import texts

from lae_controller.mutators import statements

STEP = """\
class Net:
    def step(self, x, g):
        x = self.norm(x)
        x = self.act(x)  # after the norm
        y = x * 2
        self.w -= 0.1 * g
        print(y)
        return y
"""


def exchanged(text: str, first: str, second: str) -> str:
    return text.replace(first, "HERE").replace(second, first).replace("HERE", second)


def test_duplicates_updates_only() -> None:
    lines = STEP.splitlines(keepends=True)
    bare = lines[3].replace("  # after the norm", "")
    assert texts(statements.duplicates, STEP) == {
        "".join([*lines[:3], lines[2], *lines[3:]]),
        "".join([*lines[:4], bare, *lines[4:]]),
        "".join([*lines[:6], lines[5], *lines[6:]]),
    }


def test_drops_updates_only() -> None:
    lines = STEP.splitlines(keepends=True)
    assert texts(statements.drops, STEP) == {
        "".join(lines[:at] + lines[at + 1 :]) for at in (2, 3, 5)
    }


def test_never_empties_a_body() -> None:
    assert texts(statements.drops, "for g in gs:\n    w -= g\n") == set()


def test_drops_the_last_line_of_a_file_without_a_newline() -> None:
    text = "def f(w, g):\r\n    w = w * 2\r\n    w += g"
    assert "def f(w, g):\r\n    w = w * 2" in texts(statements.drops, text)


def test_several_lines_are_one_statement() -> None:
    text = "def f(w, g):\n    w = g(\n        w,\n    )\n    return w\n"
    assert texts(statements.drops, text) == {"def f(w, g):\n    return w\n"}


def test_shared_lines_are_left_alone() -> None:
    text = "def f(w):\n    w = w + 1; w = w * 2\n    return w\n"
    assert texts(statements.drops, text) == set()


def test_neighbours_that_depend_on_each_other_change_places() -> None:
    norm, act, twice = "x = self.norm(x)", "x = self.act(x)", "y = x * 2"
    assert texts(statements.moves, STEP) == {
        exchanged(STEP, norm, act),
        exchanged(STEP, act, twice),
    }


def test_no_name_is_read_before_it_is_bound() -> None:
    text = "def f(x):\n    h = x @ w\n    h = h + b\n    return h\n"
    assert texts(statements.moves, text) == set()


def test_reporting_and_measuring_is_left_alone() -> None:
    text = (
        "def run(x):\n    total = total + 1\n    loss = loss * 2\n    log.write(x)\n"
        "    loss.backward()\n    return x\n\n\n"
        "def evaluate(x):\n    x = x * 2\n    return x\n"
    )
    for operator in (statements.drops, statements.duplicates, statements.moves):
        assert texts(operator, text) == set()


def test_calls_on_objects_and_of_modules_are_updates() -> None:
    text = "import init\n\n\ndef f(opt, w):\n    init.fill_(w)\n    opt.step()\n    return w\n"
    assert texts(statements.drops, text) == {
        text.replace("    init.fill_(w)\n", ""),
        text.replace("    opt.step()\n", ""),
    }
