from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from lae_controller.bindings import Proposal, Question, Suggestion, ask_missing, click_ask
from lae_controller.bindings.ask import ADVANCED
from lae_controller.config import EvolutionSettings
from lae_controller.errors import ConfigError

Build = Callable[[dict[str, str]], Path]

SURE: dict[str, object] = {
    "metric": "val loss",
    "metric_direction": "minimize",
    "run_cmd": "{python} train.py",
    "gate": "epochs",
    "budget": 10,
    "budget_key": "--epochs",
    "total_budget": 40,
}


def proposal(root: Path, guessed: tuple[str, ...] = (), **changes: str | None) -> Proposal:
    values: dict[str, object] = {**SURE, **changes}
    made = [Suggestion(k, v, "seen", certain=k not in guessed) for k, v in values.items()]
    files = Suggestion("editable_files", None, "you say", ("net.py", "conf.yaml"))
    return Proposal(root, (*made, files))


class Person:
    """Answers from a list, by key; an empty answer where nothing is said; notes what was asked."""

    def __init__(self, **answers: list[str]) -> None:
        self.answers = {key: list(texts) for key, texts in answers.items()}
        self.asked: list[Question] = []

    def __call__(self, question: Question) -> str:
        self.asked.append(question)
        waiting = self.answers.get(question.key.replace(".", "__"), [])
        return waiting.pop(0) if waiting else ""

    @property
    def keys(self) -> list[str]:
        return [question.key for question in self.asked]


@pytest.fixture
def root(build: Build) -> Path:
    return build({"net.py": "", "conf.yaml": "", "deep/a.py": "", "n.ipynb": ""})


def test_only_files_and_one_yes_or_no_when_all_else_is_sure(root: Path) -> None:
    person = Person(editable_files=["net.py"])
    done = ask_missing(proposal(root), person)
    assert person.keys == ["editable_files", "evolution"]
    assert done.value("editable_files") == ("net.py",)
    assert done.missing() == ()
    assert not [one.key for one in done.suggestions if one.key.startswith("evolution")]


@pytest.mark.parametrize(
    "key", ["run_cmd", "metric", "metric_direction", "gate", "budget", "total_budget"]
)
def test_a_guess_is_asked_with_itself_as_the_answer_to_nothing(root: Path, key: str) -> None:
    person = Person(editable_files=["net.py"])
    done = ask_missing(proposal(root, guessed=(key,)), person)
    assert set(person.keys) == {key, "editable_files", "evolution"}
    assert done.value(key) == SURE[key]
    found = done.find(key)
    assert found is not None
    assert found.certain
    assert next(q.default for q in person.asked if q.key == key) == str(SURE[key])


def test_files_that_were_given_are_not_asked_for(root: Path) -> None:
    given = Suggestion("editable_files", ("net.py",), "given by you", certain=True)
    person = Person()
    ask_missing(proposal(root).with_suggestion(given), person)
    assert person.keys == ["evolution"]


def test_there_is_no_default_for_the_files(root: Path) -> None:
    person = Person(editable_files=["", "", "net.py"])
    done = ask_missing(proposal(root), person)
    assert person.keys.count("editable_files") == 3
    assert person.asked[0].default is None
    assert "is empty" in person.asked[1].problem
    assert done.value("editable_files") == ("net.py",)


@pytest.mark.parametrize(
    ("answer", "files"),
    [
        ("1", ("net.py",)),
        ("2, 1", ("conf.yaml", "net.py")),
        ("net.py,net.py", ("net.py",)),
        ("deep/*.py", ("deep/*.py",)),
        ("**/*.py, conf.yaml", ("**/*.py", "conf.yaml")),
        ("./net.py", ("net.py",)),
    ],
)
def test_files_may_be_numbers_paths_and_globs(
    root: Path, answer: str, files: tuple[str, ...]
) -> None:
    done = ask_missing(proposal(root), Person(editable_files=[answer]))
    assert done.value("editable_files") == files


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ("gone.py", "no file in the project matches 'gone.py'"),
        ("deep", "no file in the project matches"),
        ("9", "no file in the project matches '9'"),
        ("/etc/passwd", "lies outside"),
        ("../x.py", "lies outside"),
        ("n.ipynb", "nbconvert"),
        ("**x/[", "no file in the project matches"),
    ],
)
def test_files_that_cannot_be_are_asked_for_again(root: Path, answer: str, problem: str) -> None:
    person = Person(editable_files=[answer, "net.py"])
    assert ask_missing(proposal(root), person).value("editable_files") == ("net.py",)
    assert problem in person.asked[1].problem


@pytest.mark.parametrize(
    ("key", "answer", "problem"),
    [
        ("metric_direction", "up", "expected maximize or minimize"),
        ("gate", "steps", "expected epochs or time"),
        ("budget", "many", "expected integer or number"),
        ("budget", "0", "expected a number above 0"),
        ("total_budget", "-3", "expected a number above 0"),
        ("total_budget", "soon", "not a duration"),
    ],
)
def test_answers_of_the_wrong_kind_are_asked_again(
    root: Path, key: str, answer: str, problem: str
) -> None:
    person = Person(editable_files=["net.py"], **{key: [answer]})
    done = ask_missing(proposal(root, guessed=(key,)), person)
    assert problem in [q.problem for q in person.asked if q.key == key][1]
    assert done.value(key) == SURE[key]


def test_numbers_and_times_are_read(root: Path) -> None:
    person = Person(editable_files=["1"], budget=["2.5"], total_budget=["8h"])
    done = ask_missing(proposal(root, guessed=("budget", "total_budget")), person)
    assert (done.value("budget"), done.value("total_budget")) == (2.5, "8h")


def test_five_bad_answers_are_enough(root: Path) -> None:
    person = Person(editable_files=["no"] * 9)
    with pytest.raises(ConfigError, match=r"--set editable_files=VALUE"):
        ask_missing(proposal(root), person)
    assert len(person.asked) == 5


def test_another_metric_takes_back_how_the_first_was_found(root: Path) -> None:
    made = proposal(root, guessed=("metric",), metric_pattern="x (.)", metric_file="m.json")
    person = Person(editable_files=["1"], metric=["accuracy"])
    done = ask_missing(made, person)
    assert done.value("metric") == "accuracy"
    assert done.value("metric_pattern") is None
    assert done.value("metric_file") is None
    assert next(q.default for q in person.asked if q.key == "metric_direction") == "maximize"
    assert done.value("metric_direction") == "maximize"


def test_the_same_metric_keeps_how_it_is_found(root: Path) -> None:
    made = proposal(root, guessed=("metric",), metric_pattern="x (.)")
    done = ask_missing(made, Person(editable_files=["1"]))
    assert done.value("metric_pattern") == "x (.)"


def test_another_command_takes_back_the_entrypoint(root: Path) -> None:
    made = proposal(root, guessed=("run_cmd",), entrypoint="train.py")
    done = ask_missing(made, Person(editable_files=["1"], run_cmd=["{python} other.py"]))
    assert done.value("entrypoint") is None


@pytest.mark.parametrize(
    ("changes", "asked"),
    [
        ({"budget_key": None}, True),
        ({"budget_key": None, "run_cmd": "t.py --n {budget}"}, False),
        ({"budget_key": None, "gate": "time"}, False),
        ({}, False),
    ],
)
def test_a_counted_budget_needs_a_place(
    root: Path, changes: dict[str, str | None], asked: bool
) -> None:
    person = Person(editable_files=["1"], budget_key=["env:N"])
    done = ask_missing(proposal(root, (), **changes), person)
    assert ("budget_key" in person.keys) == asked
    assert (done.value("budget_key") == "env:N") == asked


def test_a_no_asks_for_each_setting_with_its_default(root: Path) -> None:
    person = Person(editable_files=["1"], evolution=["no"], evolution__num_bins=["6"])
    done = ask_missing(proposal(root), person)
    assert person.keys[2:] == [f"evolution.{name}" for name in ADVANCED]
    assert done.value("evolution.num_bins") == 6
    defaults = EvolutionSettings()
    assert done.value("evolution.seed") == defaults.seed
    assert done.value("evolution.num_islands") == defaults.num_islands


@pytest.mark.parametrize("answer", ["y", "Yes", "YES"])
def test_yes_may_be_short(root: Path, answer: str) -> None:
    person = Person(editable_files=["1"], evolution=[answer])
    ask_missing(proposal(root), person)
    assert person.keys[-1] == "evolution"


def test_neither_yes_nor_no_is_asked_again(root: Path) -> None:
    person = Person(editable_files=["1"], evolution=["maybe", "n"])
    ask_missing(proposal(root), person)
    assert "neither yes nor no" in person.asked[2].problem


@pytest.mark.parametrize(("name", "least"), [("num_islands", 1), ("seed", 0), ("num_top", 0)])
def test_advanced_settings_have_a_least_value(root: Path, name: str, least: int) -> None:
    key = f"evolution__{name}"
    person = Person(editable_files=["1"], evolution=["no"], **{key: ["-1", "x", str(least)]})
    done = ask_missing(proposal(root), person)
    assert done.value(f"evolution.{name}") == least


def test_a_setting_that_was_given_is_not_asked_for(root: Path) -> None:
    made = proposal(root).with_suggestion(Suggestion("evolution.seed", 5, "given", certain=True))
    person = Person(editable_files=["1"], evolution=["no"])
    assert ask_missing(made, person).value("evolution.seed") == 5
    assert "evolution.seed" not in person.keys


def test_the_terminal_shows_choices_and_reads_a_line() -> None:
    question = Question("metric", "Metric", "loss", ("loss", "acc"), "printed in t.py:3")

    @click.command()
    def once() -> None:
        click.echo(f"<{click_ask(question)}>")

    result = CliRunner().invoke(once, input="acc\n")
    assert "<acc>" in result.output
    assert "printed in t.py:3" in result.output
    assert "2. acc" in result.output
    assert "<loss>" in CliRunner().invoke(once, input="\n").output


def test_the_terminal_shows_what_was_wrong() -> None:
    question = Question("gate", "Unit", None, problem="gate is 'x'")

    @click.command()
    def once() -> None:
        click.echo(f"<{click_ask(question)}>")

    assert "gate is 'x'" in CliRunner().invoke(once, input="time\n").output
