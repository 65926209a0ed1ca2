from __future__ import annotations

import pytest

from lae_controller.change.intervention import classify
from lae_controller.program import Intervention


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("learning_rate", Intervention.OPTIMISER),
        ("momentum", Intervention.OPTIMISER),
        ("weight_decay", Intervention.REGULARISATION),
        ("dropout", Intervention.REGULARISATION),
        ("lr_decay", Intervention.SCHEDULE),
        ("warmup_steps", Intervention.SCHEDULE),
        ("init_std", Intervention.INIT),
        ("batch_size", Intervention.DATA),
        ("batch_norm", Intervention.ARCHITECTURE),
        ("augment", Intervention.DATA),
        ("input_scale", Intervention.DATA),
        ("HIDDEN", Intervention.ARCHITECTURE),
        ("activation", Intervention.ARCHITECTURE),
        ("Net.__init__", Intervention.ARCHITECTURE),
        ("things", Intervention.OTHER),
    ],
)
def test_by_name(name: str, kind: Intervention) -> None:
    assert classify(name, "scale-number") is kind


def test_some_operators_are_of_one_kind() -> None:
    assert classify("whatever", "swap-optimiser") is Intervention.OPTIMISER
    assert classify("lr", "swap-init") is Intervention.INIT
