from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lae_controller.bindings import files as files_of
from lae_controller.bindings.configs import file_settings
from lae_controller.bindings.options import declared_settings
from lae_controller.bindings.project import BIG_FILE, Project, scan
from lae_controller.bindings.proposal import Suggestion
from lae_controller.bindings.settings import Setting
from lae_controller.change.protected import protected_lines

Build = Callable[[dict[str, str]], Path]

MODEL = "class Net(nn.Module):\n    width = 4\n"
TRAIN = "import net\nprint(f'val loss: {v}')\n"


Parts = tuple[Project, tuple[str, ...], tuple[Setting, ...], str]


def parts(root: Path, command: str = "{python} train.py") -> Parts:
    project = scan(root)
    files = project.reachable("train.py")
    read = file_settings(project, files, command)
    return project, files, (*declared_settings(project, files), *read), command


def editable(root: Path, command: str = "{python} train.py") -> Suggestion:
    return files_of.find_editable(*parts(root, command), "train.py")


def data(root: Path, command: str = "{python} train.py") -> object:
    found = files_of.find_data(*parts(root, command))
    return found.value if found is not None else ()


def protected(root: Path, *names: str, budget: str = "") -> tuple[str, ...]:
    project, _, settings, _ = parts(root)
    found = files_of.find_protected(project, settings, names, budget)
    value = found.value if found is not None else ()
    assert isinstance(value, tuple)
    return value


def test_the_model_comes_first_and_nothing_is_chosen(build: Build) -> None:
    root = build({"train.py": "import helper\n" + TRAIN, "net.py": MODEL, "helper.py": "x = 1\n"})
    found = editable(root)
    assert found.value is None
    assert not found.certain
    assert found.alternatives[0] == "net.py"
    assert "train.py" not in found.alternatives
    assert "harness, not to be picked: train.py (prints the metric)" in found.reason


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("def evaluate(): ...", "evaluates"),
        ("def estimate_loss(): ...", "evaluates"),
        ("a, b = train_test_split(x)", "splits the data"),
        ("def split_train(): ...", "splits the data"),
        ("def load(split): ...", "splits the data"),
    ],
)
def test_what_judges_or_splits_is_harness(build: Build, code: str, why: str) -> None:
    found = editable(
        build({"train.py": TRAIN + "import judge\n", "judge.py": code, "net.py": MODEL})
    )
    assert "judge.py" not in found.alternatives
    assert f"judge.py ({why})" in found.reason


def test_a_model_with_a_self_test_is_no_harness(build: Build) -> None:
    root = build({"train.py": TRAIN, "net.py": MODEL + "def test():\n    Net()\n"})
    assert editable(root).alternatives == ("net.py",)


def test_one_file_for_everything_gets_the_advice_to_mark_blocks(build: Build) -> None:
    found = editable(build({"train.py": MODEL + TRAIN}))
    assert found.alternatives == ("train.py",)
    assert "EVOLVE-BLOCK-START" in found.reason


def test_setting_files_can_be_picked(build: Build) -> None:
    root = build(
        {
            "train.py": TRAIN + "load('cfg/model.yaml')\n",
            "net.py": MODEL,
            "cfg/model.yaml": "width: 3\n",
            "small.py": "width = 2\n",
        }
    )
    found = editable(root, "{python} train.py small.py")
    assert found.alternatives == ("net.py", "cfg/model.yaml", "small.py")


def test_no_program_no_candidates(build: Build) -> None:
    project = scan(build({"README.md": ""}))
    assert files_of.find_editable(project, (), (), "", "").alternatives == ()


@pytest.mark.parametrize(
    ("path", "code", "line"),
    [
        ("net.py", "EPOCHS = 10\n", "EPOCHS = 10"),
        ("net.py", "SEED = 3\n", "SEED = 3"),
        ("net.py", "val_fraction = 0.1\n", "val_fraction = 0.1"),
        (
            "net.py",
            "add_argument('--max-steps', default=9)\n",
            "add_argument('--max-steps', default=9)",
        ),
        ("net.py", "hyper = {'epochs': 5}\n", "hyper = {'epochs': 5}"),
        ("net.py", "def fit(n_epochs: int = 5): ...\n", "def fit(n_epochs: int = 5): ..."),
        ("net.py", "for epoch in range(7): ...\n", "for epoch in range(7): ..."),
        ("net.py", "torch.manual_seed(1)\n", "torch.manual_seed(1)"),
        ("net.py", "a, b = random_split(d)\n", "a, b = random_split(d)"),
        ("c.yaml", "opt:\n  seed: 4\n", "seed: 4"),
    ],
)
def test_what_is_fixed_inside_editable_files_is_found_by_its_entry(
    build: Build, path: str, code: str, line: str
) -> None:
    root = build({"train.py": TRAIN + "load('c.yaml')\n", "net.py": "", path: code + "width: 1\n"})
    entries = protected(root, path, budget="max_steps")
    assert [text for _, text in protected_lines((root / path).read_text(), entries)] == [line]


def test_nothing_is_protected_outside_editable_files(build: Build) -> None:
    assert protected(build({"train.py": TRAIN + "SEED = 1\n", "net.py": MODEL}), "net.py") == ()


def test_a_yaml_key_is_named_whole(build: Build) -> None:
    root = build({"train.py": "load('c.yaml')\n", "c.yaml": "train:\n  epochs: 4\n"})
    assert protected(root, "c.yaml") == ("train.epochs",)


@pytest.mark.parametrize(
    ("paths", "linked"),
    [
        (["data/train.npz", "data/deep/b.npy", "data/readme.txt"], ("data",)),
        (["x.csv"], ("x.csv",)),
        (["datasets/a/1.png", "datasets/a/2.png"], ("datasets",)),
        (["sound/a.wav", "sound/b.wav", "sound/c.wav", "sound/d.wav"], ("sound",)),
        (["sound/a.wav"], ("sound/a.wav",)),
        (["assets/a.png"], ()),
        (["checkpoints/a.npz"], ()),
        (["results.csv"], ()),
        (["notes.txt"], ()),
        (["weights.pt"], ()),
    ],
)
def test_finds_data_by_name_and_ending(
    build: Build, paths: list[str], linked: tuple[str, ...]
) -> None:
    assert data(build({"train.py": TRAIN, **dict.fromkeys(paths, "1")})) == linked


@pytest.mark.parametrize("name", ["names.txt", "weights.pt", "vocab.json"])
def test_what_the_code_names_is_data(build: Build, name: str) -> None:
    assert data(build({"train.py": f"open('{name}')\n", name: "1"})) == (name,)


def test_what_an_earlier_run_saved_is_no_data(build: Build) -> None:
    code = "parser.add_argument('--save', default='model.pt')\nload('embeddings.pt')\n"
    root = build({"train.py": code, "model.pt": "1", "embeddings.pt": "1"})
    assert data(root) == ("embeddings.pt",)


def test_what_the_command_names_is_data(build: Build) -> None:
    root = build({"train.py": "", "names.txt": "1"})
    assert data(root, "{python} train.py -i names.txt") == ("names.txt",)


def test_big_files_are_data_whatever_they_are(build: Build) -> None:
    root = build({"train.py": TRAIN})
    with (root / "blob").open("wb") as stream:
        stream.truncate(BIG_FILE + 1)
    assert data(root) == ("blob",)


def test_a_folder_with_code_of_the_program_is_never_linked(build: Build) -> None:
    root = build({"train.py": "import data.load\n", "data/load.py": "", "data/a.npz": "1"})
    assert data(root) == ("data/a.npz",)


def test_a_folder_with_settings_of_the_program_is_never_linked(build: Build) -> None:
    root = build({"train.py": "load('data/c.yaml')\n", "data/c.yaml": "a: 1\n", "data/a.npz": "1"})
    assert data(root) == ("data/a.npz",)


def test_a_linked_data_folder_stays_a_link(build: Build, tmp_path: Path) -> None:
    root = build({"train.py": TRAIN})
    (tmp_path / "elsewhere").mkdir()
    (root / "data").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    (root / "other").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    assert data(root) == ("data",)
