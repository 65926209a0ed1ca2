from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest

from lae_controller import config
from lae_controller.errors import ConfigError
from lae_controller.sandbox.command import (
    Injection,
    apply_edits,
    check_keys,
    entrypoint,
    injection,
    interpreter,
    is_secret,
    scrubbed_environment,
    training_command,
)


@pytest.fixture
def settings(project: Path) -> config.Settings:
    return config.load(project)


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("--train.epochs", Injection(arguments=("--train.epochs=7",))),
        ("train.epochs=", Injection(arguments=("train.epochs=7",))),
        ("env:EPOCHS", Injection(env=(("EPOCHS", "7"),))),
        ("conf/a.yaml:train.epochs", Injection(edits=(("conf/a.yaml", "train.epochs", "7"),))),
    ],
)
def test_the_four_places_of_a_budget(key: str, expected: Injection) -> None:
    assert injection(key, "7") == expected


def test_another_place_is_refused() -> None:
    with pytest.raises(ConfigError, match="does not say where the value goes"):
        injection("epochs", "7")


def test_placeholders_are_filled_in(settings: config.Settings) -> None:
    text = "{python} train.py --epochs {budget} --seed {seed} --tag {other}"
    command = training_command(dataclasses.replace(settings, run_cmd=text), 4.0, 42, {})
    assert command.argv[2].endswith("train.py --epochs 4 --seed 42 --tag {other}")
    assert command.argv[:2] == ("/bin/sh", "-c")


def test_appended_keys_come_last_and_win(settings: config.Settings) -> None:
    changed = dataclasses.replace(settings, run_cmd="python t.py --n 1", budget_key="--n")
    assert training_command(changed, 12.0, 0, {}).argv[2] == "exec python t.py --n 1 --n=12"


def test_a_fractional_budget_stays_one(settings: config.Settings) -> None:
    changed = dataclasses.replace(settings, run_cmd="t {budget}")
    assert training_command(changed, 0.5, 0, {}).argv[2] == "exec t 0.5"


def test_python_means_the_project_s_own(settings: config.Settings) -> None:
    assert interpreter(settings.root) == Path(sys.executable)
    own = settings.root / ".venv" / "bin" / "python"
    own.parent.mkdir(parents=True)
    own.symlink_to(sys.executable)
    assert interpreter(settings.root) == own
    env = training_command(settings, 1.0, 0, {}).env
    assert env["PATH"].startswith(str(own.parent))


def test_a_plain_command_replaces_the_shell(settings: config.Settings) -> None:
    for text, direct in (("sleep 1", True), ("cd x && sleep 1", False), ("A=$B sleep 1", False)):
        argv = training_command(dataclasses.replace(settings, run_cmd=text), 1.0, 0, {}).argv
        assert argv[2].startswith("exec ") is direct
        assert subprocess.run(["/bin/sh", "-n", "-c", argv[2]], check=False).returncode == 0


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("ANTHROPIC_API_KEY", True),
        ("HF_TOKEN", True),
        ("AWS_SECRET_ACCESS_KEY", True),
        ("GITHUB_TOKEN", True),
        ("DB_PASSWORD", True),
        ("TOKENIZERS_PARALLELISM", False),
        ("KEYBOARD", False),
        ("PATH", False),
        ("CUDA_VISIBLE_DEVICES", False),
    ],
)
def test_keys_and_tokens_do_not_reach_training(name: str, secret: bool) -> None:
    assert is_secret(name) is secret
    env = scrubbed_environment({name: "x"}, Path("/usr/bin/python3"))
    assert (name in env) is not secret


def test_plain_variables_before_the_command_go_into_its_environment(
    settings: config.Settings,
) -> None:
    text = "PYTHONPATH=src:lib MODE=fast python train.py A=1"
    command = training_command(dataclasses.replace(settings, run_cmd=text), 1.0, 0, {})
    assert command.argv[2] == "exec python train.py A=1"
    assert (command.env["PYTHONPATH"], command.env["MODE"]) == ("src:lib", "fast")


def test_training_runs_unbuffered_with_plain_numbers(settings: config.Settings) -> None:
    changed = dataclasses.replace(settings, env={"MODE": "fast", "LC_ALL": "C"})
    env = training_command(changed, 1.0, 0, {"TMPDIR": "/t"}).env
    assert env["PYTHONUNBUFFERED"] == "1"
    assert (env["MODE"], env["LC_ALL"], env["TMPDIR"]) == ("fast", "C", "/t")


def test_a_budget_in_a_file_is_set_in_the_copy(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("epochs: 3  # e\nlr: 1\n")
    apply_edits(tmp_path, (("c.yaml", "epochs", "9"),))
    assert (tmp_path / "c.yaml").read_text() == "epochs: 9  # e\nlr: 1\n"
    with pytest.raises(ConfigError, match="no such file"):
        apply_edits(tmp_path, (("d.yaml", "epochs", "9"),))


def test_keys_are_checked_against_the_project(settings: config.Settings) -> None:
    (settings.root / "c.yaml").write_text("epochs: 3\n")
    good = dataclasses.replace(settings, budget_key="c.yaml:epochs")
    bad = dataclasses.replace(settings, budget_key="c.yaml:steps", seed_key="x.yaml:seed")
    assert check_keys(good, settings.root) == []
    first, second = check_keys(bad, settings.root)
    assert "there is no key 'steps'" in first
    assert "no such file" in second


@pytest.mark.parametrize(
    ("run_cmd", "script"),
    [
        ("python train.py --x 1", "train.py"),
        ("{python} -m pkg.train --x", "pkg/train.py"),
        ("bash run.sh", "run.sh"),
        ("make train", None),
    ],
)
def test_the_entry_point_is_read_off_the_command(
    settings: config.Settings, run_cmd: str, script: str | None
) -> None:
    assert entrypoint(dataclasses.replace(settings, run_cmd=run_cmd)) == script
