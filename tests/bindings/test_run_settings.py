from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lae_controller.bindings.configs import file_settings, read_config, used_configs
from lae_controller.bindings.options import declared_settings
from lae_controller.bindings.project import scan
from lae_controller.bindings.settings import Setting, Way, plain_name

Build = Callable[[dict[str, str]], Path]


def declared(root: Path, *files: str) -> tuple[Setting, ...]:
    return declared_settings(scan(root), files or ("train.py",))


def named(settings: tuple[Setting, ...], name: str) -> tuple[str | None, object, Way]:
    """Return key, default and way of the first setting with that name."""
    found = next(s for s in settings if s.name == name)
    return found.key, found.default, found.way


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("--max-steps", "max_steps"),
        ("--trainer.max_epochs", "max_epochs"),
        ("nEpochs", "n_epochs"),
        ("MAX_ITERS", "max_iters"),
        ("manualSeed", "manual_seed"),
    ],
)
def test_names_are_made_alike(written: str, plain: str) -> None:
    assert plain_name(written) == plain


@pytest.mark.parametrize(
    ("default", "number"),
    [(10, 10), ("7", 7), (2.5, 2.5), (3.0, 3), (-1, None), (0, None), (None, None), (True, None)],
)
def test_a_default_counts_as_a_number_when_it_is_a_limit(default: object, number: object) -> None:
    assert Setting("epochs", Way.OPTION, "--epochs", default, "a:1").number == number


@pytest.mark.parametrize(
    ("code", "key", "default"),
    [
        ("p.add_argument('--epochs', '-e', type=int, default=12)", "--epochs", 12),
        ("N = 9\np.add_argument('--epochs', default=N)", "--epochs", 9),
        ("p.add_argument('-e', '--epochs', default=compute())", "--epochs", None),
        ("flags.DEFINE_integer('epochs', 6, 'passes')", "--epochs", 6),
        ("@click.option('--epochs/-e', default=4)\ndef main(epochs): ...", "--epochs", 4),
        ("import fire\ndef go(epochs=3): ...\nfire.Fire(go)", "--epochs", 3),
        ("import fire\ndef go(epochs): ...\nfire.Fire({'go': go})", "--epochs", None),
        ("import typer\ndef go(epochs: int = 3): ...\ntyper.run(go)", "--epochs", 3),
        ("import tyro\nclass A:\n  epochs: int = 2\ntyro.cli(A)", "--epochs", 2),
        (
            "import tyro\nclass T:\n  epochs: int = 2\nclass A:\n  train: T\ntyro.cli(A)",
            "--train.epochs",
            2,
        ),
        (
            "import simple_parsing\nclass A:\n  epochs: int = field(default=8)\n"
            "simple_parsing.parse(A)",
            "--epochs",
            8,
        ),
    ],
)
def test_finds_the_options_of_every_kind_of_parser(
    build: Build, code: str, key: str | None, default: object
) -> None:
    found = named(declared(build({"train.py": code + "\n"})), "epochs")
    assert found == (key, default, Way.OPTION)


def test_typer_spells_names_with_dashes(build: Build) -> None:
    code = (
        "import typer\napp = typer.Typer()\n@app.command()\ndef go(max_steps=typer.Option(50)): ..."
    )
    assert named(declared(build({"train.py": code})), "max_steps") == (
        "--max-steps",
        50,
        Way.OPTION,
    )


def test_knows_what_frameworks_bring_along(build: Build) -> None:
    root = build(
        {
            "train.py": "from transformers import HfArgumentParser\n"
            "HfArgumentParser((Mine, TrainingArguments))\n",
            "lit.py": "LightningCLI(Net, Data)\n",
        }
    )
    hf, lightning = declared(root, "train.py"), declared(root, "lit.py")
    assert named(hf, "num_train_epochs") == ("--num_train_epochs", 3, Way.OPTION)
    assert named(lightning, "max_epochs") == ("--trainer.max_epochs", None, Way.OPTION)


def test_flags_without_a_value_are_no_settings(build: Build) -> None:
    root = build({"train.py": "p.add_argument('--epochs', action='store_true')\n"})
    assert not [s for s in declared(root) if s.way is Way.OPTION]


def test_a_dataclass_that_contains_itself_ends(build: Build) -> None:
    code = "import tyro\nclass A:\n  inner: A\n  epochs: int = 1\ntyro.cli(A)\n"
    assert named(declared(build({"train.py": code})), "epochs")[1] == 1


@pytest.mark.parametrize(
    ("code", "default"),
    [
        ("n = int(os.environ.get('EPOCHS', 5))", 5),
        ("n = int(os.getenv('EPOCHS', '5'))", "5"),
        ("n = int(os.environ['EPOCHS'])", None),
    ],
)
def test_finds_variables_of_the_environment(build: Build, code: str, default: object) -> None:
    found = named(declared(build({"train.py": code + "\n"})), "epochs")
    assert found == ("env:EPOCHS", default, Way.ENVIRONMENT)


def test_setting_a_variable_is_not_reading_it(build: Build) -> None:
    root = build({"train.py": "os.environ['SEED'] = '1'\n"})
    assert not [s for s in declared(root) if s.way is Way.ENVIRONMENT]


@pytest.mark.parametrize(
    ("code", "name", "value"),
    [
        ("EPOCHS = 11", "epochs", 11),
        ("class C:\n    epochs: int = 11", "epochs", 11),
        ("def f():\n    self.epochs = 11", "epochs", 11),
        ("model.fit(x, y, epochs=11)", "epochs", 11),
        ("hyper = {'opt': {'epochs': 11}}", "epochs", 11),
        ("def train(epochs=11): ...", "epochs", 11),
        ("for epoch in range(11): ...", "num_epochs", 11),
        ("for epoch in tqdm(range(1, 11)): ...", "num_epochs", 11),
        ("for epoch in range(start, start + 11): ...", "num_epochs", 11),
    ],
)
def test_numbers_written_in_the_code_have_no_key(
    build: Build, code: str, name: str, value: object
) -> None:
    assert named(declared(build({"train.py": code + "\n"})), name) == (None, value, Way.CONSTANT)


CONFIGURATOR = "import sys\nfor a in sys.argv[1:]:\n    globals()[a] = 1\n"


def test_an_executed_file_turns_globals_into_options(build: Build) -> None:
    root = build(
        {
            "train.py": "max_iters = 600\nname = 'x'\nexec(open('configurator.py').read())\n",
            "configurator.py": CONFIGURATOR,
            "config/small.py": "max_iters = 40\n",
        }
    )
    plain = file_settings(scan(root), ("train.py",), "{python} train.py")
    small = file_settings(scan(root), ("train.py",), "{python} train.py config/small.py")
    assert named(plain, "max_iters") == ("--max_iters", 600, Way.OPTION)
    assert named(small, "max_iters") == ("--max_iters", 40, Way.OPTION)
    assert next(s.where for s in small if s.name == "max_iters") == "config/small.py:1"


def test_other_executed_files_do_not(build: Build) -> None:
    root = build({"train.py": "n = 1\nexec(open('other.py').read())\n", "other.py": "n = 2\n"})
    assert file_settings(scan(root), ("train.py",), "") == ()


HYDRA = {
    "src/train.py": """
        @hydra.main(version_base=None, config_path="../conf", config_name="config")
        def main(cfg): ...
        """,
    "conf/config.yaml": """
        defaults:
          - _self_
          - trainer: long
          - optional local: mine
          - experiment: null
        seed: null
        """,
    "conf/trainer/base.yaml": "max_epochs: 100\nclip: 1.0\n",
    "conf/trainer/long.yaml": "defaults:\n  - base\nmax_epochs: 30\n",
    "conf/trainer/short.yaml": "max_epochs: 2\n",
    "conf/experiment/all.yaml": "# @package _global_\ntrainer:\n  max_epochs: 7\n",
}


@pytest.mark.parametrize(
    ("words", "epochs"), [("", 30), ("trainer=short", 2), ("+experiment=all", 7)]
)
def test_composes_the_groups_that_hydra_would(build: Build, words: str, epochs: int) -> None:
    root = build(HYDRA)
    found = file_settings(scan(root), ("src/train.py",), f"{{python}} src/train.py {words}")
    assert named(found, "max_epochs") == ("trainer.max_epochs=", epochs, Way.OVERRIDE)
    assert named(found, "seed") == ("seed=", None, Way.OVERRIDE)


def test_hydra_inherits_within_a_group(build: Build) -> None:
    found = file_settings(scan(build(HYDRA)), ("src/train.py",), "")
    assert named(found, "clip") == ("trainer.clip=", 1.0, Way.OVERRIDE)


def test_a_defaults_list_that_names_itself_ends(build: Build) -> None:
    root = build({**HYDRA, "conf/config.yaml": "defaults:\n  - config\nepochs: 3\n"})
    found = file_settings(scan(root), ("src/train.py",), "")
    assert named(found, "epochs") == ("epochs=", 3, Way.OVERRIDE)


@pytest.mark.parametrize(
    ("path", "text", "key"),
    [
        ("cfg/a.yaml", "train:\n  epochs: 5\n", "cfg/a.yaml:train.epochs"),
        ("cfg/a.json", '{"train": {"epochs": 5}}', "cfg/a.json:train.epochs"),
        ("cfg/a.toml", "[train]\nepochs = 5\n", None),
    ],
)
def test_setting_files_that_the_code_names(
    build: Build, path: str, text: str, key: str | None
) -> None:
    root = build({"train.py": f"cfg = load('{path}')\n", path: text, "other.yaml": "epochs: 9\n"})
    found = file_settings(scan(root), ("train.py",), "")
    assert named(found, "epochs") == (key, 5, Way.CONFIG)


def test_setting_files_that_the_command_names(build: Build) -> None:
    root = build({"train.py": "", "a.yaml": "epochs: 5\n"})
    found = file_settings(scan(root), ("train.py",), "{python} train.py --config=a.yaml")
    assert named(found, "epochs")[0] == "a.yaml:epochs"


def test_the_usual_setting_file_if_the_code_reads_any(build: Build) -> None:
    files = {"config.yaml": "epochs: 5\n", "notes.yaml": ""}
    assert used_configs(scan(build({**files, "train.py": "import yaml\n"})), ("train.py",), "") == (
        "config.yaml",
    )
    assert used_configs(scan(build({**files, "train.py": "x = 1\n"})), ("train.py",), "") == ()


def test_files_of_labels_and_packages_are_no_settings(build: Build) -> None:
    root = build({"train.py": "a('package.json', 'labels.json')\n", "package.json": "{}"})
    assert used_configs(scan(root), ("train.py",), "") == ()


def test_omegaconf_takes_overrides_from_the_command_line(build: Build) -> None:
    code = "c = OmegaConf.merge(OmegaConf.load('c.yaml'), OmegaConf.from_cli())\n"
    root = build({"train.py": code, "c.yaml": "opt:\n  steps: 80\n"})
    found = file_settings(scan(root), ("train.py",), "")
    assert named(found, "steps") == ("opt.steps=", 80, Way.OVERRIDE)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.yaml", "a: [1\n"),
        ("a.yaml", "a: 1\na: 2\n"),
        ("a.yaml", "- 1\n"),
        ("a.yaml", "a: !!python/object:os.system x\n"),
        ("a.json", "{"),
        ("a.json", "[" * 3000),
        ("a.yaml", "a: 1\n" + "# filler\n" * 4000),
        ("a.toml", "= = ["),
    ],
)
def test_a_setting_file_that_cannot_be_read_holds_nothing(
    build: Build, path: str, text: str
) -> None:
    assert read_config(scan(build({path: text})), path) == {}


def test_reads_toml(build: Build) -> None:
    text = '[a.b]\nc = "x" # y\nd = 1_000\ne = 2.5\nf = true\n"g" = \'z\'\n[[list]]\n'
    assert read_config(scan(build({"a.toml": text})), "a.toml") == {
        "a.b.c": "x",
        "a.b.d": 1000,
        "a.b.e": 2.5,
        "a.b.f": True,
        "a.b.g": "z",
    }
