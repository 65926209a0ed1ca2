from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from lae_controller.bindings import Proposal, Suggestion, known_keys, with_settings
from lae_controller.bindings.proposal import REQUIRED, read_value
from lae_controller.errors import ConfigError
from lae_controller.skill_files import load_schema

KNOWN = {
    "metric": ("string",),
    "run_cmd": ("string",),
    "budget": ("number",),
    "total_budget": ("integer", "string"),
    "editable_files": ("array",),
    "network": ("boolean",),
    "evolution": ("object",),
    "evolution.seed": ("integer",),
    "mutator.backend": ("string",),
    "env.*": ("string",),
}


def proposal(**values: object) -> Proposal:
    made = (Suggestion(key.replace("__", "."), v, f"why {key}") for key, v in values.items())
    return Proposal(Path(), tuple(made))


def load(text: str, version: tuple[int, int]) -> Any:
    reader = YAML(typ="safe", pure=True)
    reader.version = version
    return reader.load(text)


def test_missing_are_the_required_keys_without_a_value() -> None:
    assert proposal().missing() == REQUIRED
    assert proposal(metric="loss", budget=None).missing() == (
        *("metric_direction", "run_cmd", "editable_files", "gate", "budget", "total_budget"),
    )


def test_a_suggestion_takes_the_place_of_another() -> None:
    new = proposal(metric="a", gate="time").with_suggestion(Suggestion("metric", "b", "better"))
    assert new.value("metric") == "b"
    assert len(new.suggestions) == 2
    assert new.value("gate") == "time"


def test_the_text_has_the_keys_in_order_with_reasons_above() -> None:
    made = proposal(total_budget=40, metric="loss", evolution__seed=3, entrypoint="t.py")
    lines = [line for line in made.to_yaml().splitlines() if not line.startswith(("# bu", "# ga"))]
    assert lines == [
        "# a guess: why metric",
        "metric: loss",
        "# metric_direction: to be filled in: not found",
        "# run_cmd: to be filled in: not found",
        "# editable_files: to be filled in: not found",
        "# a guess: why total_budget",
        "total_budget: 40",
        "# a guess: why entrypoint",
        "entrypoint: t.py",
        "evolution:",
        "  # a guess: why evolution__seed",
        "  seed: 3",
    ]


def test_a_certain_value_is_no_guess() -> None:
    made = Proposal(Path(), (Suggestion("metric", "loss", "printed", certain=True),))
    assert made.to_yaml().startswith("# printed\nmetric: loss\n")


def test_candidates_are_shown_where_a_value_is_missing() -> None:
    one = Suggestion("editable_files", None, "likely z.py", ("z.py", "a.py", "b: c.py"))
    assert 'likely z.py (also: a.py, "b: c.py")' in Proposal(Path(), (one,)).to_yaml()


def test_reasons_never_break_the_text() -> None:
    reason = "a\nb: [\x00 \u2028 " + "word " * 60
    text = Proposal(Path(), (Suggestion("metric", "x", reason),)).to_yaml()
    assert load(text, (1, 2)) == {"metric": "x"}
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize(
    "value",
    [
        *("yes", "No", "on", "y", "null", "~", "true", "1e-3", "012", "0x1f", "1:30", "2024-01-02"),
        *(".5", "+1", "-", "--epochs", "a: b", "a #b", "#a", "[a", "{python} x", "*a", "&a", "!a"),
        *(
            "%a",
            "@a",
            "`a",
            "a\tb",
            " a",
            "a ",
            "",
            "'",
            '"',
            "a\\b",
            "café",
            "\u2028",
            "\x07",
            "😀",
        ),
        *("train.py", "./a/b.py", "val loss", "=", "<<", "env:X", "é: \x85", ".inf", ".NaN", "? a"),
        *(0, 7, -3, True, False, 0.5, 1e-5, 1.5e-7, 2e22, -0.25, 1e16, 123456789.125),
    ],
)
@pytest.mark.parametrize("version", [(1, 1), (1, 2)])
def test_every_value_reads_back_in_both_versions_of_yaml(
    value: object, version: tuple[int, int]
) -> None:
    back = load(proposal(metric=value, protected=(value, "x")).to_yaml(), version)
    assert back["metric"] == value
    assert type(back["metric"]) is type(value)
    assert back["protected"] == [value, "x"]


def test_non_finite_numbers_read_back() -> None:
    text = proposal(metric=math.inf, gate=-math.inf, budget=math.nan).to_yaml()
    back = load(text, (1, 2))
    assert (back["metric"], back["gate"]) == (math.inf, -math.inf)
    assert math.isnan(back["budget"])


def test_an_empty_list_stays_a_list() -> None:
    assert load(proposal(protected=()).to_yaml(), (1, 2)) == {"protected": []}


def test_settings_are_what_the_text_loads() -> None:
    made = proposal(
        metric="loss", editable_files=("a.py",), evolution__seed=1, evolution__num_top=2, env__A="1"
    )
    assert made.settings() == load(made.to_yaml(), (1, 2))
    assert made.settings()["evolution"] == {"seed": 1, "num_top": 2}


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("budget", "10", 10),
        ("budget", "1e-3", 0.001),
        ("total_budget", "90m", "90m"),
        ("total_budget", "40", 40),
        ("evolution.seed", "3", 3),
        ("mutator.backend", "offline", "offline"),
        ("metric", "1.0", "1.0"),
        ("run_cmd", "{python} t.py: x", "{python} t.py: x"),
        ("editable_files", "[a.py, 'b,c.py']", ("a.py", "b,c.py")),
        ("editable_files", "a.py, b.py", ("a.py", "b.py")),
        ("editable_files", "a.py", ("a.py",)),
        ("network", "true", True),
        ("env.WIDTH", "012", "012"),
    ],
)
def test_settings_given_as_text(key: str, text: str, value: object) -> None:
    found = with_settings(proposal(), {key: text}, KNOWN).find(key)
    assert found is not None
    assert (found.value, found.certain) == (value, True)
    assert type(found.value) is type(value)


@pytest.mark.parametrize(
    ("key", "text", "message"),
    [
        (
            "evolution.sed",
            "3",
            r"evolution\.sed: not a key .* nearest known key is evolution\.seed",
        ),
        ("environ.X", "3", "not a key"),
        ("budget", "ten", "budget is 'ten'; expected number"),
        ("budget", "true", "expected number"),
        ("budget", "[1", "expected number"),
        ("evolution.seed", "1.5", "expected integer"),
        ("network", "yes", "expected boolean"),
        ("total_budget", "[1]", "expected integer or string"),
        ("evolution", "{seed: 1}", r"expected one of its keys, evolution\.NAME=VALUE"),
    ],
)
def test_settings_that_are_refused(key: str, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        with_settings(proposal(), {key: text}, KNOWN)


def test_a_number_may_be_an_integer_where_numbers_are_wanted() -> None:
    assert read_value("budget", "3", ("number",)) == 3


def test_known_keys_come_from_the_schema() -> None:
    known = known_keys(load_schema("run"))
    assert known["budget"] == ("number",)
    assert known["evolution.seed"] == ("integer",)
    assert known["env.*"] == ("string",)
    assert known["metric_direction"] == ("string",)
    assert set(REQUIRED) <= set(known)


def test_without_a_training_command_nothing_of_one_is_asked_for_or_written() -> None:
    found = Proposal(
        Path("/p"),
        (
            Suggestion("metric", "mae", "given"),
            Suggestion("gate", "time", "guessed"),
            Suggestion("seed_key", "--seed", "inferred"),
        ),
    )
    assert "run_cmd" in found.missing()
    known = {"scoring.mode": ("string",), "run_cmd": ("string",)}
    changed = with_settings(found, {"scoring.mode": "custom_script"}, known)
    assert changed.missing() == ("metric_direction", "editable_files", "total_budget")
    assert changed.settings() == {"metric": "mae", "scoring": {"mode": "custom_script"}}
    tests = with_settings(found, {"scoring.mode": "test_gate", "run_cmd": "t {junit}"}, known)
    assert tests.value("run_cmd") == "t {junit}"
