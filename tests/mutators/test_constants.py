from __future__ import annotations

import re

import pytest
from mutator_tasks import draws, make_task, texts

from lae_controller.change.yaml11 import load, scalars
from lae_controller.mutators import constants
from lae_controller.mutators.names import Role
from lae_controller.mutators.view import view_of
from lae_controller.program import Intervention

YAML = """\
seed: 3
optim: {lr: 1.0e-4, momentum: 0.0}   # slow
net:
  hidden: &w 32
  skip: *w
  drop:
    p: 0.25
  names: ['a', "b"]
  bias: yes
  norm: true
eval:
  batch_size: 100
"""


def names(text: str, path: str = "m.py") -> dict[str, list[object]]:
    """Return the values of a file's literals by name, without those that hardly ever change."""
    found: dict[str, list[object]] = {}
    for scalar in view_of(make_task({path: text})).scalars:
        if scalar.role is not Role.FRAGILE and scalar.weight > 0.1:
            found.setdefault(scalar.name, []).append(scalar.value)
    return found


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("lr = 0.1\n", "lr", 0.1),
        ("class A:\n    lr: float = 0.1\n", "lr", 0.1),
        ("CFG = {'opt': {'lr': 0.1}}\n", "lr", 0.1),
        ("opt = make(net, lr=0.1)\n", "lr", 0.1),
        ("def f(x, lr=0.1):\n    return x\n", "lr", 0.1),
        ("def f(x, *, lr=0.1):\n    return x\n", "lr", 0.1),
        ("self.lr, b = -0.1, 1\n", "lr", -0.1),
        ("cfg['lr'] = 0.1\n", "lr", 0.1),
        ("lr = cfg.get('rate', 0.1)\n", "rate", 0.1),
        ("lr = getattr(cfg, 'rate', 0.1)\n", "rate", 0.1),
        ("p.add_argument('-l', '--max-lr', type=float, default=0.1)\n", "max_lr", 0.1),
        ("@click.option('--rate', default=0.1)\ndef f(rate):\n    pass\n", "rate", 0.1),
        ("net = nn.Dropout(0.1)\n", "dropout", 0.1),
        ("net = nn.Dropout(p=0.1)\n", "Dropout", 0.1),
        ("w = rng.normal(0, 0.1, (3, 4))\n", "std", 0.1),
        ("opt = optim.SGD(net.parameters(), 0.1)\n", "lr", 0.1),
        ("def f(rate):\n    return rate\n\n\ny = f(0.1)\n", "rate", 0.1),
        ("class A:\n    def __init__(self, std):\n        pass\n\n\na = A(0.1)\n", "std", 0.1),
        ("lr: float = field(default=0.1)\n", "lr", 0.1),
        ("net = nn.Dropout(0.1).to(device)\n", "dropout", 0.1),
        ("flag = True\n", "flag", True),
        ("act = 'relu'\n", "act", "relu"),
    ],
)
def test_literals_go_by_the_name_they_are_bound_to(text: str, name: str, value: object) -> None:
    assert value in names(text)[name]


@pytest.mark.parametrize(
    "text",
    [
        "epochs = 4\n",
        "rng = np.random.default_rng(7)\n",
        "torch.manual_seed(7)\n",
        "x = y[3]\n",
        "x = f'{3.5} {0.1:.2f}'\n",
        "accuracy = hits * 100.0\n",
        "def evaluate(x, lr=0.1):\n    return x * 0.5\n",
        "assert x < 0.5\n",
        "x = y.sum(1)\n",
        "x = np.zeros((3, 4))\n",
        "x = 1 - y\n",
        "name = r'relu'\n",
    ],
)
def test_what_is_left_alone(text: str) -> None:
    assert names(text) == {}


def test_yaml_scalars_by_key_path() -> None:
    found = {".".join(s.key): s.value for s in view_of(make_task({"c.yaml": YAML})).scalars}
    assert found == {
        "optim.lr": 1e-4,
        "optim.momentum": 0.0,
        "net.hidden": 32,
        "net.drop.p": 0.25,
        "net.names.0": "a",
        "net.names.1": "b",
        "net.bias": "yes",
        "net.norm": True,
    }


def test_a_key_that_holds_a_protected_one_stays() -> None:
    task = make_task({"c.yaml": "a:\n  lr:\n    - 0.1\n    - 0.2\nb: 3.5\n"}, protected=("a.lr",))
    assert [scalar.name for scalar in view_of(task).scalars] == ["b"]


def test_scaled_rate_is_one_number_and_stays_one() -> None:
    for edit, files in draws(constants.rates, make_task({"c.yaml": YAML}), times=80):
        before, after = (scalars(load(text)[0]) for text in (YAML, files["c.yaml"]))
        differing = [key for key in before if before[key] != after[key]]
        assert len(differing) == 1
        assert after[differing[0]].kind == "number"
        assert "# slow" in files["c.yaml"]
        assert re.fullmatch(r"(optim\.lr|net\.drop\.p) \S+ -> \S+ in c\.yaml", edit.summary)


def test_kind_comes_from_the_key_above_if_need_be() -> None:
    kinds = {
        edit.summary.split()[0]: edit.intervention
        for edit, _ in draws(constants.rates, make_task({"c.yaml": YAML}), 3)
    }
    assert kinds == {
        "optim.lr": Intervention.OPTIMISER,
        "net.drop.p": Intervention.REGULARISATION,
    }


def test_sizes_and_depths() -> None:
    found = texts(constants.sizes, "HIDDEN = 16\ndepth = 2\nlr = 0.1\n")
    assert "HIDDEN = 32\ndepth = 2\nlr = 0.1\n" in found
    assert "HIDDEN = 16\ndepth = 3\nlr = 0.1\n" in found
    assert all(text.endswith("lr = 0.1\n") for text in found)


def test_numbers_without_a_telling_name() -> None:
    found = texts(constants.numbers, "things = 5\nthreshold = -0.25\n")
    assert "things = 6\nthreshold = -0.25\n" in found
    assert any(re.fullmatch(r"things = 5\nthreshold = -0\.\d+\n", text) for text in found)


def test_zero_is_switched_on() -> None:
    text = "dropout = 0.0\ntotal = 0.0\n"
    assert texts(constants.switches, text) == {
        f"dropout = {value}\ntotal = 0.0\n" for value in (0.05, 0.1, 0.2)
    }


def test_flags_flip_in_their_own_spelling() -> None:
    assert texts(constants.flags, "use_bias = True\nkeepdims = False\n") == {
        "use_bias = False\nkeepdims = False\n"
    }
    assert texts(constants.flags, "bias: true\n", "c.yaml") == {"bias: false\n"}
    assert texts(constants.flags, '{"bias": false}\n', "c.json") == {'{"bias": true}\n'}


def test_several_numbers_move_in_one_edit() -> None:
    text = "lr = 0.1\nwidth = 64\nmomentum = 0.9\n"
    for edit, files in draws(constants.compositions, make_task({"m.py": text})):
        lines = zip(text.splitlines(), files["m.py"].splitlines(), strict=True)
        moved = sum(old != new for old, new in lines)
        assert moved in (2, 3)
        assert edit.summary.count("->") == moved
    assert draws(constants.compositions, make_task({"m.py": "lr = 0.1\n"})) == []


def test_offsets_hold_behind_wide_characters_and_crlf() -> None:
    text = "s = 'größe €'; lr = 0.1\r\n"
    found = texts(constants.rates, text)
    assert found
    assert all(re.fullmatch(r"s = 'größe €'; lr = [\d.e+-]+\r\n", text) for text in found)
