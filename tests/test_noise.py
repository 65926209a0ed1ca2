from __future__ import annotations

from pathlib import Path

from lae_controller import build, config, session


def test_a_child_without_effect_does_not_seem_to_gain(project: Path) -> None:
    """The metric depends on the seed alone, and the first seed is the luckiest."""
    script = "import sys\nimport model\nseed = int(sys.argv[-1])\nprint('val_loss:', seed - 41.5 + "
    (project / "train.py").write_text(script + "1 / float(sys.argv[2]))\n")
    text = (project / "loop.run.yaml").read_text()
    (project / "loop.run.yaml").write_text(
        text.replace("--epochs {budget}", "--epochs {budget} {seed}")
    )
    session.run_search(config.load(project), print)
    view = build.view(config.load(project), print)
    assert view.prepared.baseline.metrics == (0.75, 1.75)
    best = view.state.search.global_best()
    assert best is not None
    assert best.child_id == "g0-i0-a0"
    assert view.state.children > 0
