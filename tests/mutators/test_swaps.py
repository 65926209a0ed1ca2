from __future__ import annotations

from functools import partial

import pytest
from mutator_tasks import draws, make_task, texts

from lae_controller.mutators.families import FAMILIES
from lae_controller.mutators.swaps import family_sites
from lae_controller.program import Intervention


def swapped(operator: str, text: str) -> set[str]:
    return texts(partial(family_sites, operator=operator), text)


def test_members_exist_in_the_module_under_any_alias() -> None:
    text = "import torch.nn as tnn\nact = tnn.GELU()\n"
    found = swapped("swap-activation", text)
    assert "import torch.nn as tnn\nact = tnn.SiLU()\n" in found
    members = next(family for family in FAMILIES if family.modules == ("torch.nn",)).members
    assert {line.split("tnn.")[-1] for line in found} <= {f"{name}()\n" for name in members}


def test_an_unknown_module_is_left_alone() -> None:
    assert swapped("swap-activation", "import mine as nn\nact = nn.ReLU()\n") == set()
    assert swapped("swap-activation", "from torch import nn\nact = nn.Weird()\n") == set()


def test_arguments_that_mean_nothing_to_the_new_name_go() -> None:
    found = swapped(
        "swap-activation",
        "import torch.nn.functional as F\ny = F.leaky_relu(x, negative_slope=0.2, inplace=True)\n",
    )
    assert "import torch.nn.functional as F\ny = F.tanh(x)\n" in found
    assert "import torch.nn.functional as F\ny = F.relu(x, inplace=True)\n" in found


def test_a_first_argument_goes_too() -> None:
    text = "from torch import nn\ny = nn.ELU(alpha=0.5, inplace=True)\n"
    found = swapped("swap-activation", text)
    assert "from torch import nn\ny = nn.ReLU(inplace=True)\n" in found
    assert "from torch import nn\ny = nn.Tanh()\n" in found


def test_a_name_imported_alone_is_imported_anew() -> None:
    text = "from torch.nn import Linear, ReLU\nact = ReLU()\n"
    assert "from torch.nn import Linear, ReLU, Tanh\nact = Tanh()\n" in swapped(
        "swap-activation", text
    )


def test_no_import_no_swap_outside_the_block() -> None:
    text = (
        "from torch.nn import ReLU, GELU\n# EVOLVE-BLOCK-START\nact = ReLU()\n# EVOLVE-BLOCK-END\n"
    )
    assert swapped("swap-activation", text) == {text.replace("= ReLU", "= GELU")}


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("SGD(p, lr=0.1, momentum=0.9)", "AdamW(p, lr=0.002)"),
        ("SGD(p, cfg.lr, nesterov=True)", "Adam(p, 0.02 * cfg.lr)"),
        ("SGD(p, lr=a + b)", "Adam(p, lr=0.02 * (a + b))"),
        ("Adam(p, lr=1e-3, betas=(0.9, 0.99))", "SGD(p, lr=0.05)"),
        ("Adam(p, lr=1e-3, betas=(0.9, 0.99))", "NAdam(p, lr=1e-3, betas=(0.9, 0.99))"),
    ],
)
def test_another_optimiser_gets_a_rate_of_its_own_scale(call: str, expected: str) -> None:
    text = f"import torch\nopt = torch.optim.{call}\n"
    assert f"import torch\nopt = torch.optim.{expected}\n" in swapped("swap-optimiser", text)


def test_norms_take_the_same_width() -> None:
    text = "from torch import nn\nn = nn.BatchNorm1d(8, momentum=0.2)\n"
    assert swapped("swap-norm", text) == {
        "from torch import nn\nn = nn.LayerNorm(8)\n",
        "from torch import nn\nn = nn.Identity(8, momentum=0.2)\n",
    }


def test_a_horizon_keeps_its_meaning() -> None:
    text = (
        "from torch.optim.lr_scheduler import CosineAnnealingLR as C\n"
        "import torch.optim.lr_scheduler as S\n"
        "a = C(opt, 9)\nb = S.CosineAnnealingLR(opt, T_max=9, eta_min=0.1)\n"
    )
    found = swapped("swap-schedule", text)
    assert (
        text.replace(
            "S.CosineAnnealingLR(opt, T_max=9, eta_min=0.1)", "S.PolynomialLR(opt, total_iters=9)"
        )
        in found
    )
    assert all("a = C(opt, 9)\n" in child for child in found)


def test_inits_swap_and_say_their_kind() -> None:
    text = "from torch.nn import init\ninit.xavier_uniform_(w, gain=2.0)\n"
    operator = partial(family_sites, operator="swap-init")
    assert "from torch.nn import init\ninit.kaiming_normal_(w)\n" in texts(operator, text)
    edits = [edit for edit, _ in draws(operator, make_task({"m.py": text}), 3)]
    assert {edit.intervention for edit in edits} == {Intervention.INIT}


def test_every_family_can_swap_every_member() -> None:
    for family in FAMILIES:
        assert len(family.members) > 1
        assert not family.lr or family.lr.keys() == family.members.keys()
        assert not family.alias or family.alias.keys() == family.members.keys()
