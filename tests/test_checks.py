"""``lae check`` on small real projects: the good ones pass, the others are told what to change."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lae_controller import build, checks, config, session
from lae_controller.config import Settings
from lae_controller.errors import RefusedError
from lae_controller.probing import probe
from lae_controller.probing.findings import Check
from lae_controller.probing.probe import probed_refusals
from lae_controller.probing.trials import load_trials
from lae_controller.program import Files


def silent(_line: str) -> None:
    return None


def checked(project: Path, *, force: bool = False) -> dict[str, Check]:
    """Return the lines of a check by name; of several with one name, the first."""
    found = checks.run_checks(config.load(project), force=force, say=silent)
    return {check.name: check for check in reversed(found)}


def refused(project: Path) -> str:
    """Return the sentence with which the check exits 5; there must be only one."""
    found = checks.run_checks(config.load(project), force=False, say=silent)
    assert sum(check.verdict == "refused" for check in found) == 1, found
    with pytest.raises(RefusedError) as error:
        checks.refuse(found)
    return str(error.value)


def change(project: Path, name: str, before: str, after: str) -> None:
    text = (project / name).read_text()
    assert before in text
    (project / name).write_text(text.replace(before, after))


def scored(project: Path, body: str, metric: str = "val_acc", direction: str = "maximize") -> None:
    """Let the harness be a few lines that print a metric, after a loss for each epoch."""
    head = (
        "import sys\nfor n in range(int(sys.argv[2])):\n    print(f'epoch {n}: loss {9 / (n + 1)}')"
    )
    (project / "train.py").write_text(head + "\n" + body)
    change(project, "loop.run.yaml", "val_loss", metric)
    change(project, "loop.run.yaml", "minimize", direction)


def charge(project: Path) -> float:
    settings = config.load(project)
    return build.view(settings, silent).prepared.baseline.charge


def probed(project: Path) -> list[Check]:
    """Return what a run would be told that follows on the check."""
    settings = config.load(project)
    return probed_refusals(settings, build.view(settings, silent).prepared)


@pytest.fixture
def counted(project: Path) -> Path:
    """The project with a count of its runs; outside any isolation, to be able to count."""
    count = project.parent / "count"
    with (project / "loop.run.yaml").open("a") as stream:
        stream.write(f"isolation: none\nenv: {{COUNT_FILE: {count}}}\n")
    return project


def count(project: Path) -> int:
    return len((project.parent / "count").read_text().splitlines())


def test_a_good_project_passes_and_its_probes_are_run_and_charged_once(counted: Path) -> None:
    found = checked(counted)
    assert "has the baseline's val_loss to the last digit" in found["a/a"].text
    assert (found["errors"].verdict, found["headroom"].verdict) == ("ok", "ok")
    assert found["damage"].verdict == "ok"
    assert "WIDTH 8 -> 1: val_loss 1.88438 against 1.775 (smoke)" in found["damage"].text
    trials = load_trials(config.load(counted))
    ran, cost = count(counted), charge(counted)
    assert ran == 3 + len(trials) - 1  # the copy that raises does not come to its end
    assert cost == 2.25 + 1.25 + 0.25 * (len(trials) - 2)
    assert not (counted / "sandbox/lae/probes").exists()
    assert checked(counted) == found
    assert (count(counted), charge(counted)) == (ran, cost)

    # A run finds it all done, and pays for it; no probe is made once it has begun.
    change(counted, "loop.run.yaml", "total_budget: 10", "total_budget: 5")
    session.run_search(config.load(counted), silent)
    assert build.view(config.load(counted), silent).state.spent == cost
    kept = json.loads((counted / "sandbox/lae/base.json").read_text())
    kept["probes"] = kept["probes"][:2]
    (counted / "sandbox/lae/base.json").write_text(json.dumps(kept))
    assert "the run has begun" in checked(counted)["damage"].text
    assert count(counted) == ran


def test_interrupted_it_goes_on_where_it_was_and_with_room_only(counted: Path) -> None:
    def interrupt(line: str) -> None:
        if line.startswith("probe: a byte-identical copy, full"):
            raise KeyboardInterrupt

    change(counted, "loop.run.yaml", "total_budget: 10", "total_budget: 4")
    assert "leaves no room" in checked(counted)["a/a"].text
    assert (count(counted), charge(counted)) == (3, 2.25)
    change(counted, "loop.run.yaml", "total_budget: 4", "total_budget: 5")
    with pytest.raises(KeyboardInterrupt):
        checks.run_checks(config.load(counted), force=False, say=interrupt)
    assert (count(counted), charge(counted)) == (5, 3.5)
    assert probed(counted) == []
    assert "leaves no room" in checked(counted)["damage"].text
    assert (count(counted), charge(counted)) == (5, 3.75)


def test_no_probe_is_graded_past_the_limit(counted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def nothing_left(_settings: Settings, spent: float, stage: str, files: Files) -> bool:
        asked.append(f"{spent:g} {stage} {sorted(files)}")
        return False

    monkeypatch.setattr(probe, "affords_stage", nothing_left)
    assert "max_cost_usd leaves no room" in checked(counted)["a/a"].text
    assert (count(counted), charge(counted)) == (3, 2.25)
    assert set(asked) == {"0 smoke ['model.py']"}


def test_a_metric_that_hangs_on_nothing_that_may_change_is_flat_unless_forced(
    project: Path,
) -> None:
    change(project, "train.py", "error = model.bend", "error = 0.5\nunused = model.bend")
    sentence = refused(project)
    assert sentence.startswith("damage: the scoring cannot tell good from bad: 7 damaged copies")
    assert "Let editable_files hold what the metric depends on" in sentence
    assert [check.name for check in probed(project)] == ["damage"]
    assert checked(project, force=True)["damage"].verdict == "note"
    assert checked(project)["damage"].verdict == "note"
    change(project, "loop.run.yaml", "total_budget: 10", f"total_budget: {int(charge(project))}")
    session.run_search(config.load(project), silent)
    board = (project / "sandbox/lae/leaderboard.md").read_text()
    assert "A refusal of `lae check` was overruled with --force: damage." in board


def test_a_constant_that_is_printed_is_flat(project: Path) -> None:
    change(project, "model.py", "WIDTH = 8\nDECAY = 0.25\n", "")
    scored(project, "import model\nprint('val_acc: 0.5')\n")
    assert "cannot tell good from bad" in refused(project)


def test_at_the_ceiling_there_is_no_headroom(project: Path) -> None:
    scored(project, "import model\nprint('val_acc:', float(model.WIDTH == 8))\n")
    assert refused(project).startswith("headroom: val_acc 1 is 0 from 1")


def test_a_run_does_not_begin_after_a_refusal(project: Path) -> None:
    (project / "train.py").write_text("import model\nprint('val_loss: 1.5')\n")
    checks.run_checks(config.load(project), force=False, say=[].append)
    with pytest.raises(RefusedError):
        session.run_search(config.load(project), [].append)
    assert not (project / "sandbox/lae/history.tsv").exists()


def test_an_exception_without_its_place_is_refused(project: Path) -> None:
    body = "".join(f"    {line}\n" for line in (project / "train.py").read_text().splitlines())
    tail = "except RuntimeError as error:\n    sys.exit(f'failed: {error}')\n"
    (project / "train.py").write_text(f"import sys\ntry:\n{body}{tail}")
    assert refused(project).startswith("errors: a copy that raises is reported without file and")


NOISE = """\
import os
import model
with open(os.environ["RUNS"], "a+") as stream:
    stream.write("x")
    stream.seek(0)
    run = len(stream.read())
luck = (0.0, 0.01, -0.004, 0.006, -0.002, 0.008, 0.003)[INDEX]
print("val_acc:", 0.6 + luck - abs(model.WIDTH - 8) / 20)
"""


def noisy(project: Path, index: str) -> None:
    """Let the metric hang on how many runs there were: chance that is the same in every test."""
    scored(project, NOISE.replace("INDEX", index))
    with (project / "loop.run.yaml").open("a") as stream:
        stream.write(f"isolation: none\nenv: {{RUNS: {project.parent / 'runs'}}}\n")
    change(project, "loop.run.yaml", "total_budget: 10", "total_budget: 20")


def test_unseeded_noise_is_allowed_for(project: Path) -> None:
    noisy(project, "run % 7")
    found = checked(project)
    assert (found["a/a"].verdict, "within the noise" in found["a/a"].text) == ("ok", True)
    assert found["damage"].verdict == "ok"
    assert "WIDTH 8 -> 1" in found["damage"].text


def test_noise_that_only_the_copy_shows_is_refused(project: Path) -> None:
    noisy(project, "run > 4")
    sentence = refused(project)
    assert sentence.startswith("a/a: a byte-identical copy gives val_acc 0.61 against 0.6, though")
    assert "damage" not in checked(project)


def test_what_is_refused_already_is_not_probed(project: Path) -> None:
    (project / "train.py").write_text("print('val_loss: 0.5')\n")
    found = checked(project)
    assert found["budget"].verdict == "refused"
    assert "a/a" not in found
    assert charge(project) == 2.25


def test_a_program_that_only_models_can_edit_is_refused_for_the_offline_mutator_alone(
    project: Path,
) -> None:
    (project / "weights.txt").write_text("0.5\n")
    scored(project, "print('val_acc:', float(open('weights.txt').read()))\n")
    change(project, "loop.run.yaml", "model.py", "weights.txt")
    assert "none of weights.txt is one of these: name such a file" in refused(project)
    with (project / "loop.run.yaml").open("a") as stream:
        stream.write("mutator: {backend: agent, command: 'true', max_cost_usd: 2.5}\n")
    found = checked(project)
    assert "mutator" not in found
    assert found["estimate"].text.endswith("up to $2.5 (mutator.max_cost_usd)")
