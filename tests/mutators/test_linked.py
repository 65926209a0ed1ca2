from __future__ import annotations

from mutator_tasks import texts

from lae_controller.mutators import linked

TORCH = """\
class Net:
    def __init__(self):
        self.a = nn.Linear(30, 64)
        self.n = nn.LayerNorm(64)
        self.b = nn.Linear(64, 10, bias=False)
"""


def test_a_width_between_layers_changes_everywhere() -> None:
    assert texts(linked.linked_sizes, TORCH) == {
        TORCH.replace("64", size) for size in ("16", "32", "128", "256")
    }


def test_shapes_of_arrays_count_too() -> None:
    text = "w = rng.normal(0, 1, (9, 12))\nb = np.zeros(12)\nv = rng.normal(size=(12, 4))\n"
    assert text.replace("12", "16") in texts(linked.linked_sizes, text)


def test_what_only_enters_or_only_leaves_stays() -> None:
    assert texts(linked.linked_sizes, "a = nn.Linear(30, 64)\nb = nn.Linear(30, 64)\n") == set()
