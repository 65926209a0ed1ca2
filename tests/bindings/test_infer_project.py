from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from lae_controller.bindings import Proposal, Suggestion, infer
from lae_controller.config import parse
from lae_controller.yaml_text import load_yaml

Build = Callable[[dict[str, str]], Path]

CLASSIFIER = {
    "README.md": """
        # Digits
        Get the data with `python fetch_data.py`, then

            python train.py --epochs 15 --seed 1
        """,
    "fetch_data.py": "import urllib\n",
    "train.py": """
        import argparse
        from net import Net

        parser = argparse.ArgumentParser()
        parser.add_argument("--epochs", type=int, default=5)
        parser.add_argument("--seed", type=int, default=0)
        parser.add_argument("--data", default="data/digits.npz")
        args = parser.parse_args()

        def validate():
            return 1.0

        for epoch in range(args.epochs):
            print(f"epoch {epoch} train loss {0.5:.3f}")
        print(f"val accuracy: {validate():.4f}")
        """,
    "net.py": "class Net(nn.Module):\n    width = 8\n",
    "data/digits.npz": "1",
}

TRANSFORMER = {
    "README.md": """
        ```
        python data/tales/prepare.py
        python train.py config/tales.py
        python train.py config/tales.py --device=cpu --max_iters=900 --decay_iters=900
        torchrun --nproc_per_node=8 train.py config/huge.py
        ```
        """,
    "data/tales/prepare.py": "",
    "data/tales/train.bin": "1",
    "config/tales.py": "max_iters = 3000\nwidth = 4\n",
    "config/huge.py": "max_iters = 300000\n",
    "apply.py": "import sys\nfor word in sys.argv[1:]:\n    globals()[word] = 0\n",
    "train.py": """
        from model import Tower
        max_iters = 500000
        decay_iters = 500000
        device = "cuda"
        exec(open("apply.py").read())
        print(f"step {0}: train loss {1.0:.4f}, val loss {2.0:.4f}")
        """,
    "model.py": "class Tower(nn.Module): ...\n",
}

HYDRA = {
    "src/train.py": """
        import hydra

        @hydra.main(config_path="../conf", config_name="main")
        def main(cfg):
            hydra.utils.instantiate(cfg.model)
            log.info(f"Test F1: {0.5}")

        if __name__ == "__main__":
            main()
        """,
    "src/nets/dense.py": "class Dense(nn.Module): ...\n",
    "conf/main.yaml": "defaults:\n  - model: dense\ntrain:\n  epochs: 20\nseed: 1\n",
    "conf/model/dense.yaml": "_target_: nets.dense.Dense\nwidth: 16\n",
}

ONE_FILE = {
    "fit.py": """
        import pandas as pd
        EPOCHS = 8
        table = pd.read_csv("wine.csv")
        left, right = train_test_split(table, random_state=0)
        for epoch in range(EPOCHS):
            pass
        print("RMSE: %s" % 0.1)
        """,
    "wine.csv": "a,b\n",
}


def values(proposal: Proposal) -> dict[str, object]:
    return {one.key: one.value for one in proposal.suggestions if one.value is not None}


def seen(proposal: Proposal, key: str) -> Suggestion:
    found = proposal.find(key)
    assert found is not None
    return found


def test_a_project_with_a_readme_and_options(build: Build) -> None:
    found = values(infer(build(CLASSIFIER), has_uv=False))
    assert found == {
        "metric": "val accuracy",
        "metric_direction": "maximize",
        "run_cmd": "{python} train.py --epochs {budget} --seed {seed}",
        "gate": "epochs",
        "budget": 15,
        "total_budget": 40,
        "entrypoint": "train.py",
        "data_paths": ("data",),
    }


def test_a_project_that_overrides_its_globals(build: Build) -> None:
    proposal = infer(build(TRANSFORMER), has_gpu=False, has_uv=False)
    found = values(proposal)
    assert found["run_cmd"] == (
        "{python} train.py config/tales.py --device=cpu --max_iters={budget} --decay_iters=900"
    )
    assert found["budget"] == 900
    assert found["metric"] == "val loss"
    assert found["data_paths"] == ("data",)
    assert "decay_iters" in seen(proposal, "budget").reason
    assert "needs `python data/tales/prepare.py` first" in seen(proposal, "run_cmd").reason
    assert seen(proposal, "editable_files").alternatives[0] == "model.py"


def test_the_same_project_on_an_accelerator(build: Build) -> None:
    found = values(infer(build(TRANSFORMER), has_gpu=True, has_uv=False))
    assert found["run_cmd"] == "{python} train.py config/tales.py"
    assert (found["budget"], found["budget_key"]) == (3000, "--max_iters")


def test_a_project_composed_by_hydra(build: Build) -> None:
    proposal = infer(build(HYDRA), has_uv=False)
    found = values(proposal)
    assert found["run_cmd"] == "{python} src/train.py"
    assert (found["budget_key"], found["budget"]) == ("train.epochs=", 20)
    assert found["seed_key"] == "seed="
    assert (found["metric"], found["metric_direction"]) == ("Test F1", "maximize")
    assert seen(proposal, "editable_files").alternatives[:2] == (
        "src/nets/dense.py",
        "conf/model/dense.yaml",
    )


def test_a_project_of_one_file_with_constants(build: Build) -> None:
    proposal = infer(build(ONE_FILE), has_uv=False)
    found = values(proposal)
    assert found["gate"] == "time"
    assert "budget" in proposal.missing()
    assert "EPOCHS" in str(found["protected"])
    assert found["data_paths"] == ("wine.csv",)
    assert (found["metric"], found["metric_direction"]) == ("RMSE", "minimize")
    assert "EVOLVE-BLOCK-START" in seen(proposal, "editable_files").reason


@pytest.mark.parametrize("files", [CLASSIFIER, TRANSFORMER, HYDRA, ONE_FILE])
def test_files_to_evolve_are_never_defaulted(build: Build, files: dict[str, str]) -> None:
    proposal = infer(build(files))
    assert proposal.value("editable_files") is None
    assert seen(proposal, "editable_files").alternatives
    assert "editable_files" in proposal.missing()


@pytest.mark.parametrize("files", [CLASSIFIER, TRANSFORMER, HYDRA, ONE_FILE])
def test_with_the_files_named_the_text_is_a_valid_configuration(
    build: Build, files: dict[str, str]
) -> None:
    root = build(files)
    proposal = infer(root)
    pick = seen(proposal, "editable_files").alternatives[0]
    proposal = proposal.with_suggestion(Suggestion("editable_files", (pick,), "picked"))
    if proposal.value("budget") is None:
        proposal = proposal.with_suggestion(Suggestion("budget", 60, "measured"))
    settings = parse(proposal.to_yaml(), root / "loop.run.yaml")
    assert settings.run_cmd == proposal.value("run_cmd")
    assert load_yaml(proposal.to_yaml(), "text") == proposal.settings()


def test_every_suggestion_has_a_reason_and_no_key_comes_twice(build: Build) -> None:
    for files in (CLASSIFIER, TRANSFORMER, HYDRA, ONE_FILE):
        made = infer(build(files)).suggestions
        assert all(one.reason for one in made)
        assert len({one.key for one in made}) == len(made)


def test_variables_before_the_command_are_set_for_it(build: Build) -> None:
    files = {**CLASSIFIER, "README.md": "```\nEPOCHS_X=1 python train.py\n```\n"}
    proposal = infer(build(files))
    assert proposal.value("env.EPOCHS_X") == "1"
    assert proposal.value("run_cmd") == "{python} train.py"


def test_an_empty_directory_has_nothing_to_offer(tmp_path: Path) -> None:
    proposal = infer(tmp_path)
    assert set(proposal.missing()) == {
        *("metric", "metric_direction", "run_cmd", "editable_files", "budget"),
    }
    assert load_yaml(proposal.to_yaml(), "text") == proposal.settings()


def test_nothing_of_the_project_is_run_or_written(build: Build) -> None:
    root = build({"train.py": "open('ran', 'w')\nraise SystemExit\n", "setup.py": "open('ran2')\n"})
    before = sorted(p.name for p in root.rglob("*"))
    infer(root)
    assert sorted(p.name for p in root.rglob("*")) == before


def odd_project(root: Path) -> None:
    (root / "train.py").write_bytes(b"\xff\xfe\x00broken(\n")
    (root / "README.md").write_bytes(b"```\npython train.py 'x\n\xff```\n`")
    (root / "Makefile").write_text("train:\n\t@$(PY) train.py\n\\\n")
    (root / "pyproject.toml").write_text("[[[\n= 3\n[project.scripts]\ntrain = 5\n")
    (root / "config.yaml").write_text("a: [\n")
    (root / "config.json").write_text("{")
    (root / "deep.py").write_text("x = " + "(" * 400 + ")" * 400 + "\n")
    (root / "sum.py").write_text("x = " + "+".join(["1"] * 4000) + "\n")
    (root / "loop").symlink_to(".", target_is_directory=True)
    (root / "gone.py").symlink_to("nowhere.py")
    (root / "self.py").symlink_to("self.py")
    (root / "name\udcff.py").write_bytes(b"")
    (root / "dir.py").mkdir()
    os.mkfifo(root / "pipe.py")


def test_odd_files_never_stop_it(tmp_path: Path) -> None:
    odd_project(tmp_path)
    for name in ("deep.py", "sum.py"):
        (tmp_path / "main.py").write_text(f"import {name[:-3]}\nprint(f'val loss {{x}}')\n")
        proposal = infer(tmp_path)
        assert load_yaml(proposal.to_yaml(), "text") == proposal.settings()


@pytest.mark.parametrize(
    "code",
    [
        "print('%(a)s %' % x)",
        "print('{} {0} {'.format(x))",
        "print('{a[b].c!r:>{w}}'.format(a=x))",
        "add_argument()",
        "add_argument(*names, **words)",
        "@hydra.main()\ndef main(c): ...",
        "@hydra.main(config_path=None, config_name='../../x')\ndef main(c): ...",
        "import tyro\ntyro.cli(lambda: 0)",
        "fire.Fire()",
        "os.environ[name]\nos.getenv()",
        "json.dump()\njson.dump(x)\nwandb.log()",
        "exec()\nexec(open('').read())\nexec(open('train.py').read())",
        "from . import *\nfrom .... import x\nimport train",
        "x: int\ndef f(a, /, b=1, *, c, d=2): ...",
        "AverageMeter()\nAverageMeter(1)",
        "print(*xs, sep='')",
        "print(f'{x!r:{w}.{p}} loss {y:{z}}')",
        "{**a, 'epochs': 3}",
    ],
)
def test_odd_code_never_stops_it(build: Build, code: str) -> None:
    proposal = infer(build({"train.py": code + "\n"}))
    assert proposal.value("entrypoint") in (None, "train.py")


def test_everything_is_inferred_for_the_command_that_a_person_gave(build: Build) -> None:
    script = """
        import argparse
        parser = argparse.ArgumentParser()
        parser.add_argument("--epochs", type=int, default=5)
        parser.add_argument("--seed", type=int, default=0)
        options = parser.parse_args()
        loss.backward()
        print("{name}_acc:", 1.0)
        """
    root = build(
        {
            "README.md": "```sh\npython train.py\n```\n",
            "train.py": script.format(name="other"),
            "examples/digits.py": script.format(name="digits"),
        }
    )
    proposal = infer(root, run_cmd="{python} examples/digits.py")
    assert proposal.value("run_cmd") == "{python} examples/digits.py"
    assert proposal.value("entrypoint") == "examples/digits.py"
    assert proposal.value("metric") == "digits_acc"
    assert (proposal.value("budget_key"), proposal.value("seed_key")) == ("--epochs", "--seed")
