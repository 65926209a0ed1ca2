from __future__ import annotations

import pytest

from lae_controller.bindings.budget import Placed, find_budget, find_seed, unit_of
from lae_controller.bindings.settings import Setting, Way, plain_name


def option(flag: str, default: object = None) -> Setting:
    return Setting(plain_name(flag), Way.OPTION, flag, default, "train.py:1", (flag,))


def constant(name: str, value: object) -> Setting:
    return Setting(plain_name(name), Way.CONSTANT, None, value, "train.py:9")


def values(placed: Placed) -> dict[str, object]:
    return {one.key: one.value for one in placed.suggestions}


def reason(placed: Placed, key: str) -> str:
    return next(one.reason for one in placed.suggestions if one.key == key)


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("epochs", "epochs"),
        ("num_train_epochs", "epochs"),
        ("n_epoch", "epochs"),
        ("max_steps", "steps"),
        ("max_iters", "steps"),
        ("n_iter", "steps"),
        ("total_timesteps", "steps"),
        ("time_limit", "seconds"),
        ("max_train_seconds", "seconds"),
        ("warmup_steps", None),
        ("eval_iters", None),
        ("save_every", None),
        ("lr_decay_iters", None),
        ("start_epoch", None),
        ("batch_size", None),
        ("steps_per_epoch", None),
    ],
)
def test_tells_the_length_of_a_run_from_other_settings(name: str, unit: str | None) -> None:
    assert unit_of(option(f"--{name}", 5)) == unit


@pytest.mark.parametrize("name", ["epoch", "step", "iteration"])
def test_a_counter_in_the_code_is_no_setting(name: str) -> None:
    assert unit_of(constant(name, 1)) is None


def test_an_option_becomes_the_key() -> None:
    placed = find_budget((option("--epochs", 12),), "{python} train.py")
    assert values(placed) == {"gate": "epochs", "budget": 12, "budget_key": "--epochs"}
    assert placed.command == "{python} train.py"
    assert all(one.certain for one in placed.suggestions)


@pytest.mark.parametrize(
    ("setting", "command", "placed"),
    [
        (option("--epochs"), "t.py --epochs 30 --lr 1", "t.py --epochs {budget} --lr 1"),
        (option("--epochs"), "t.py --epochs=30", "t.py --epochs={budget}"),
        (
            Setting("epochs", Way.OPTION, "--epochs", 1, "", ("-e", "--epochs")),
            "t.py -e 30",
            "t.py -e {budget}",
        ),
        (
            Setting("epochs", Way.OVERRIDE, "train.epochs=", 1, ""),
            "t.py train.epochs=30 other.train.epochs=4",
            "t.py train.epochs={budget} other.train.epochs=4",
        ),
        (
            Setting("epochs", Way.OVERRIDE, "train.epochs=", 1, ""),
            "t.py +train.epochs=30",
            "t.py +train.epochs={budget}",
        ),
    ],
)
def test_a_number_in_the_command_gives_way_to_the_placeholder(
    setting: Setting, command: str, placed: str
) -> None:
    found = find_budget((setting,), command)
    assert found.command == placed
    assert values(found) == {"gate": "epochs", "budget": 30}


def test_a_variable_before_the_command_becomes_the_key() -> None:
    setting = Setting("epochs", Way.ENVIRONMENT, "env:EPOCHS", 3, "train.py:2")
    found = find_budget((setting,), "t.py", (("EPOCHS", "8"), ("OTHER", "1")))
    assert values(found) == {"gate": "epochs", "budget": 8, "budget_key": "env:EPOCHS"}
    assert found.env == (("OTHER", "1"),)


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ((option("--time-limit", 60), option("--epochs", 3)), "--epochs"),
        ((option("--max-steps", 500), option("--epochs", 3)), "--epochs"),
        ((option("--max-steps", 500), option("--epochs", None)), "--max-steps"),
        ((option("--max-steps", -1), option("--epochs", 3)), "--epochs"),
        ((constant("EPOCHS", 3), option("--max-steps", 9)), "--max-steps"),
        (
            (Setting("epochs", Way.CONFIG, "c.yaml:epochs", 3, ""), option("--epochs", 4)),
            "--epochs",
        ),
        (
            (
                Setting("epochs", Way.CONFIG, "c.yaml:prepare.epochs", 3, ""),
                Setting("epochs", Way.CONFIG, "c.yaml:train.epochs", 3, ""),
            ),
            "c.yaml:train.epochs",
        ),
    ],
)
def test_chooses_between_several(settings: tuple[Setting, ...], key: str) -> None:
    assert values(find_budget(settings, "t.py"))["budget_key"] == key


def test_what_the_command_passes_goes_before_all() -> None:
    settings = (option("--epochs", 3), option("--max-steps", 9))
    assert find_budget(settings, "t.py --max-steps 70").command == "t.py --max-steps {budget}"


def test_a_default_without_limit_is_a_guess() -> None:
    found = find_budget((option("--max-steps", -1),), "t.py")
    budget = found.suggestions[1]
    assert (budget.value, budget.certain) == (1000, False)
    assert "-1 by default" in budget.reason


def test_a_default_of_another_file_fills_an_option_without_one() -> None:
    config = Setting("epochs", Way.CONFIG, "c.yaml:epochs", 25, "c.yaml:epochs")
    assert values(find_budget((option("--epochs", None), config), "t.py"))["budget"] == 25


@pytest.mark.parametrize(("default", "budget"), [(600_000, 6000), (12_345, 100), (10_000, 10_000)])
def test_a_huge_budget_is_cut_down(default: object, budget: int) -> None:
    found = find_budget((option("--max-iters", default),), "t.py").suggestions[1]
    assert found.value == budget
    assert found.certain == (default == budget)
    assert found.alternatives == (() if default == budget else (default,))


def test_settings_tuned_to_the_budget_are_named() -> None:
    settings = (
        option("--max-iters", 2000),
        option("--lr-decay-iters", 2000),
        option("--warmup-steps", 100),
        option("--weight-decay", 0.1),
        option("--batch-size", 2000),
    )
    said = reason(find_budget(settings, "t.py"), "budget")
    assert "lr_decay_iters, warmup_steps" in said
    assert "weight_decay" not in said
    assert "batch_size" not in said


def test_a_time_is_the_gate_when_nothing_is_counted() -> None:
    found = find_budget((option("--time-limit", 120),), "t.py")
    assert values(found) == {"gate": "time", "budget": 120, "budget_key": "--time-limit"}


def test_a_constant_cannot_be_set_and_that_is_said() -> None:
    found = find_budget((constant("EPOCHS", 10),), "t.py")
    assert values(found) == {"gate": "time", "budget": None}
    assert "epochs = 10 is written in train.py:9" in reason(found, "gate")
    assert found.name == "epochs"


def test_a_time_in_the_code_is_the_budget() -> None:
    found = find_budget((constant("TIME_BUDGET", 300),), "t.py")
    assert values(found) == {"gate": "time", "budget": 300}


def test_nothing_found_leaves_the_budget_open() -> None:
    found = find_budget((), "t.py")
    assert values(found) == {"gate": "time", "budget": None}
    assert found.name == ""


@pytest.mark.parametrize("flag", ["--seed", "--random-seed", "--manualSeed", "--seed_everything"])
def test_finds_the_seed(flag: str) -> None:
    assert values(find_seed((option(flag, 1),), "t.py")) == {"seed_key": flag}


def test_a_seed_in_the_command_becomes_a_placeholder() -> None:
    found = find_seed((option("--seed", 1),), "t.py --seed 5")
    assert (found.command, found.suggestions) == ("t.py --seed {seed}", ())


@pytest.mark.parametrize(
    ("settings", "said"),
    [((constant("SEED", 7),), "seed = 7 is written in train.py:9"), ((), "no seed setting")],
)
def test_says_why_there_is_no_seed_key(settings: tuple[Setting, ...], said: str) -> None:
    found = find_seed(settings, "t.py")
    assert values(found) == {"seed_key": None}
    assert said in reason(found, "seed_key")
