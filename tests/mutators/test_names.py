from __future__ import annotations

import pytest

from lae_controller.mutators.names import Role, is_frozen, is_measure_name, role_of


@pytest.mark.parametrize(
    "name",
    "SEED num_epochs max_iters n_steps budget device port num_workers test_size val_fraction"
    " train_size n_train eval_interval max_seconds version log_every".split(),
)
def test_budget_seed_split_and_machine_are_frozen(name: str) -> None:
    assert is_frozen(name)
    assert role_of(name, 3) is Role.FROZEN


@pytest.mark.parametrize(
    "name", "lr warmup_steps step_size lr_decay_iters dropout training_noise hidden".split()
)
def test_hyperparameters_are_not_frozen(name: str) -> None:
    assert not is_frozen(name)


@pytest.mark.parametrize(
    ("name", "value", "role"),
    [
        ("LR", 0.1, Role.RATE),
        ("weight_decay", 0.5, Role.RATE),
        ("lr_decay", 0.9, Role.FRACTION),
        ("momentum", 0.9, Role.FRACTION),
        ("beta2", 0.999, Role.FRACTION),
        ("beta", 2.0, Role.PLAIN),
        ("hidden_dim", 64, Role.SIZE),
        ("hidden", 8, Role.SIZE),
        ("num_heads", 2, Role.SIZE),
        ("n_layer", 6, Role.COUNT),
        ("dim", 1, Role.FRAGILE),
        ("num_classes", 10, Role.FRAGILE),
        ("axis", -1, Role.FRAGILE),
        ("things", 3, Role.PLAIN),
    ],
)
def test_roles(name: str, value: float, role: Role) -> None:
    assert role_of(name, value) is role


def test_a_weight_of_a_loss_is_no_measure() -> None:
    assert is_measure_name("val_loss")
    assert not is_measure_name("aux_loss_weight")
