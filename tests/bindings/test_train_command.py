from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lae_controller.bindings.command import Command, find_command
from lae_controller.bindings.project import scan
from lae_controller.bindings.shell import launches, recipe_lines

Build = Callable[[dict[str, str]], Path]

TRAIN = "def fit():\n    loss.backward()\n\nif __name__ == '__main__':\n    fit()\n"


def fence(*lines: str) -> str:
    return "# A project\n\n```sh\n" + "\n".join(lines) + "\n```\n"


def command(root: Path, has_gpu: bool = False, has_uv: bool = False) -> Command:
    return find_command(scan(root), has_gpu, has_uv)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("python train.py --lr 0.1", "{python} train.py --lr 0.1"),
        ("$ python3 ./train.py", "{python} train.py"),
        ("python3.11 -u train.py", "{python} train.py"),
        ("uv run train.py", "{python} train.py"),
        ("uv run python train.py", "{python} train.py"),
        ("poetry run python train.py", "{python} train.py"),
        ("torchrun --nproc_per_node=8 train.py --bs 4", "{python} train.py --bs 4"),
        ("python -m torch.distributed.launch train.py", "{python} train.py"),
        ("python train.py > log.txt 2>&1", "{python} train.py"),
        ("python train.py  # takes an hour", "{python} train.py"),
        ("pip install x && python train.py", "{python} train.py"),
        ("python train.py 'model.dims=[8, 16]'", "{python} train.py 'model.dims=[8, 16]'"),
        ("python train.py \\\n    --lr 3", "{python} train.py --lr 3"),
        ("python train.py -h", "{python} train.py"),
    ],
)
def test_reads_the_command_of_the_readme(build: Build, line: str, expected: str) -> None:
    assert command(build({"README.md": fence(line), "train.py": TRAIN})).text == expected


def test_a_command_in_a_line_of_prose_counts(build: Build) -> None:
    root = build({"README.md": "Run `python train.py --fast` and wait.\n", "train.py": TRAIN})
    assert command(root).text == "{python} train.py --fast"


def test_says_where_and_is_certain(build: Build) -> None:
    found = command(build({"README.md": fence("python train.py"), "train.py": TRAIN}))
    assert found.reason.startswith("README.md:4")
    assert found.certain
    assert found.entrypoint == "train.py"


def test_several_processes_are_left_out_and_said(build: Build) -> None:
    found = command(build({"README.md": fence("torchrun train.py"), "train.py": TRAIN}))
    assert "torchrun left out" in found.reason
    assert not found.certain


@pytest.mark.parametrize("word", ["<path>", "/path/to/data", "$DATA", "[folder", "YOUR_KEY"])
def test_what_a_reader_must_fill_in_is_said(build: Build, word: str) -> None:
    found = command(build({"README.md": fence(f"python train.py --x '{word}'"), "train.py": TRAIN}))
    assert "has to be filled in" in found.reason
    assert not found.certain


def test_training_goes_before_other_work(build: Build) -> None:
    lines = [
        "python prepare_data.py",
        "python eval.py",
        "python main.py --resume",
        "python main.py",
    ]
    files = dict.fromkeys(("prepare_data.py", "eval.py", "main.py"), TRAIN)
    found = command(build({"README.md": fence(*lines), **files}))
    assert found.text == "{python} main.py"
    assert found.alternatives == ("{python} main.py --resume",)
    assert "needs `python prepare_data.py` first" in found.reason


@pytest.mark.parametrize(("has_gpu", "expected"), [(False, "--device=cpu"), (True, "")])
def test_the_cpu_variant_is_for_machines_without_accelerator(
    build: Build, has_gpu: bool, expected: str
) -> None:
    readme = fence("python train.py", "python train.py --device=cpu --size 4")
    text = command(build({"README.md": readme, "train.py": TRAIN}), has_gpu).text
    assert ("--device=cpu" in text) == bool(expected)


def test_a_script_elsewhere_is_found_by_its_name(build: Build) -> None:
    found = command(build({"README.md": fence("python train.py"), "src/train.py": TRAIN}))
    assert found.text == "{python} src/train.py"
    assert "written there as train.py" in found.reason
    assert not found.certain


def test_commands_of_scripts_that_are_not_there_do_not_count(build: Build) -> None:
    found = command(build({"README.md": fence("python gone.py"), "fit.py": TRAIN}))
    assert found.entrypoint == "fit.py"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Makefile", "help:\n\t@echo hi\ntrain: deps\n\t@$(PYTHON) learn.py --depth 2\n"),
        ("justfile", "train:\n    {{python}} learn.py --depth 2\n"),
        ("dvc.yaml", "stages:\n  train:\n    cmd: python learn.py --depth 2\n"),
        ("train.sh", "#!/bin/sh\npython learn.py --depth 2\n"),
        ("pyproject.toml", '[tool.poe.tasks]\ntrain = "python learn.py --depth 2"\n'),
    ],
)
def test_reads_other_texts_of_a_project(build: Build, name: str, text: str) -> None:
    found = command(build({name: text, "learn.py": TRAIN, "other.py": TRAIN}))
    assert found.text == "{python} learn.py --depth 2"
    assert found.reason.startswith(name)


@pytest.mark.parametrize(
    ("layout", "expected"),
    [("net/train.py", "{python} -m net.train"), ("src/net/train.py", "{python} src/net/train.py")],
)
def test_reads_the_scripts_of_pyproject(build: Build, layout: str, expected: str) -> None:
    pyproject = '[project.scripts]\ntrain = "net.train:main"\n'
    assert command(build({"pyproject.toml": pyproject, layout: TRAIN})).text == expected


@pytest.mark.parametrize("name", ["train.py", "main.py", "run.py", "fit.py"])
def test_without_any_text_the_names_speak(build: Build, name: str) -> None:
    found = command(build({name: TRAIN, "utils.py": "", "prepare.py": TRAIN, "plot.py": TRAIN}))
    assert found.text == f"{{python}} {name}"
    assert "looks like the training script" in found.reason
    assert found.certain


def test_the_better_name_wins_and_the_others_are_offered(build: Build) -> None:
    found = command(build({"train.py": TRAIN, "main.py": TRAIN}))
    assert found.text == "{python} train.py"
    assert found.alternatives == ("{python} main.py",)
    assert not found.certain


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({}, "no Python file"),
        ({"a.ipynb": "{}"}, "only notebooks"),
        ({"plot.py": ""}, "none of the Python files"),
    ],
)
def test_says_why_nothing_was_found(build: Build, files: dict[str, str], reason: str) -> None:
    found = command(build(files))
    assert (found.text, found.entrypoint) == ("", None)
    assert reason in found.reason


def test_uv_runs_a_locked_project_without_environment(build: Build) -> None:
    root = build({"train.py": TRAIN, "uv.lock": ""})
    assert command(root, has_uv=True).text == "uv run train.py"
    assert command(root, has_uv=False).text == "{python} train.py"
    (root / ".venv" / "bin").mkdir(parents=True)
    (root / ".venv" / "bin" / "python").touch()
    found = command(root, has_uv=True)
    assert found.text == "{python} train.py"
    assert ".venv" in found.reason


def test_variables_before_the_command_become_env(build: Build) -> None:
    line = "CUDA_VISIBLE_DEVICES=0 OMP_NUM_THREADS=2 python train.py"
    found = command(build({"README.md": fence(line), "train.py": TRAIN}))
    assert found.env == (("OMP_NUM_THREADS", "2"),)
    assert found.text == "{python} train.py"


def test_a_tokenizer_is_not_the_model(build: Build) -> None:
    readme = fence("python -m jobs.tok_train", "python -m jobs.base_train")
    root = build({"README.md": readme, "jobs/tok_train.py": TRAIN, "jobs/base_train.py": TRAIN})
    assert command(root).text == "{python} -m jobs.base_train"


@pytest.mark.parametrize(
    "text", ["python", "python -c 'x'", "# python train.py", "say 'python t.py"]
)
def test_lines_that_start_no_program(text: str) -> None:
    assert list(launches(text)) == []


def test_unbalanced_quotes_do_not_stop_the_reading() -> None:
    assert [found.script for found in launches("python train.py it's")] == ["train.py"]


def test_recipes_keep_their_line_numbers() -> None:
    text = "a:\n\tpython x.py\ntrain:\n\tpython y.py\nVAR := train\n"
    assert recipe_lines(text, "train").split("\n") == ["", "", "", "\tpython y.py", ""]
