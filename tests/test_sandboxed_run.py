"""What a run keeps children from, end to end and in the tier that this machine gives."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tiny_project import make_project

from lae_controller import build, config, session
from lae_controller.children import Children
from lae_controller.codec import decode
from lae_controller.concurrency import Concurrency
from lae_controller.errors import RefusedError
from lae_controller.evaluators.cascade import evaluate
from lae_controller.executors.local import LocalExecutor
from lae_controller.ledger import Ledger
from lae_controller.loop import Controller
from lae_controller.machine.slots import Slot
from lae_controller.parts import Parts
from lae_controller.program import Intervention, Reason, Record
from lae_controller.resume import load_state
from lae_controller.sandbox.launch import Lifelines
from lae_controller.sandbox.tiers import probe_tiers
from lae_controller.sandbox.view import Tier
from lae_controller.task import Mutation

HERE = Path(__file__).resolve().parents[1]


class Scripted(Children):
    """Children whose Mutator is a list of changes instead of a process."""

    changes: tuple[str, ...] = ()

    def mutate(self, child_id: str) -> Mutation:
        slot = int(child_id.rsplit("a", 1)[1])
        change = self.changes[slot] if slot < len(self.changes) else ""
        return Mutation(change, "scripted", Intervention.OTHER, "-")


def block(search: str, replace_with: str, path: str = "model.py") -> str:
    return f"{path}\n<<<<<<< SEARCH\n{search}\n=======\n{replace_with}\n>>>>>>> REPLACE\n"


def one_generation(project: Path, *changes: str, isolation: str = "auto") -> list[Record]:
    """Evaluate these changes of the baseline as one generation; returns their records."""
    if isolation != "auto" and not probe_tiers().works(Tier(isolation)):
        pytest.skip(f"{isolation} does not work on this machine")
    settings = replace(config.load(project), concurrency=len(changes), isolation=isolation)
    lifelines = Lifelines()
    prepared = build.prepared_run(settings, lifelines, print)
    evaluator = build.evaluator_for(
        settings, lifelines, {}, prepared.snapshot, prepared.baseline.editable
    )
    executor = LocalExecutor(
        lambda job, slot: evaluate(job, slot, evaluator),
        [Slot(f"cpu {n}") for n in range(len(changes))],
        lifelines,
    )
    ledger = Ledger(settings.lae_dir, print)
    state = load_state(settings, ledger, build.search_for(settings), prepared.baseline, mend=True)
    children = Scripted(settings, prepared, lifelines)
    children.changes = changes
    parts = Parts(settings, prepared, state, ledger, children, executor, lambda _: None, print)
    controller = Controller(parts)
    controller._concurrency = Concurrency(parts)
    try:
        controller._concurrency.note_configured()
        controller.steps.begin(variants=0)
        controller._ask_more()
        controller._carry_out(list(state.asked.values()))
    finally:
        controller.close()
    return [
        decode(Record, event["record"])
        for event in map(json.loads, ledger.journal.read_text().splitlines())
        if event["event"] == "told" and not event["record"]["child_id"].startswith("g0-")
    ]


RATE = "RATE = 0.5"


@pytest.mark.parametrize("isolation", ["bwrap", "landlock", "none"])
def test_a_good_child_is_placed_with_its_tier_and_fingerprint(
    project: Path, isolation: str
) -> None:
    (good,) = one_generation(project, block(RATE, "RATE = 0.1"), isolation=isolation)
    assert (good.metric, good.reason, good.tier) == (1.315, None, isolation)
    assert good.fingerprint
    assert good.fingerprint != ""


ATTACKS = {
    "the project": "open({root!r} + '/train.py', 'a').write('# x')",
    "the baseline": "open({root!r} + '/sandbox/lae/base/train.py', 'a').write('# x')",
    "the ledgers": "open({root!r} + '/sandbox/lae/history.tsv', 'a').write('x')",
    "the home": "open(os.path.expanduser('~/lae-was-here'), 'w').write('x')",
}


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
@pytest.mark.parametrize("isolation", ["bwrap", "landlock"])
def test_writing_outside_changes_nothing(project: Path, attack: str, isolation: str) -> None:
    code = attack.format(root=str(project))
    change = block(RATE, f"RATE = 0.1\nimport os\ntry:\n    {code}\nexcept OSError:\n    pass")
    before = (project / "train.py").read_bytes()
    one_generation(project, change, isolation=isolation)
    assert (project / "train.py").read_bytes() == before
    assert (project / "sandbox/lae/base/train.py").read_bytes() == before
    assert "x\n" not in (project / "sandbox/lae/history.tsv").read_text()
    assert not (Path.home() / "lae-was-here").exists()


@pytest.mark.parametrize("isolation", ["bwrap", "landlock", "none"])
def test_a_run_that_rewrites_its_harness_is_not_placed(project: Path, isolation: str) -> None:
    code = "open('train.py', 'a').write('# x')"
    (record,) = one_generation(project, block(RATE, f"RATE = 0.1\n{code}"), isolation=isolation)
    assert record.metric is None
    assert record.reason in (Reason.HARNESS_CHANGED, Reason.EXIT)


def test_keys_and_tokens_do_not_reach_a_child(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sesame")
    code = "import os\nRATE = 0.1 if 'SOME_API_KEY' not in os.environ else 9.0"
    (record,) = one_generation(project, block(RATE, code))
    assert record.metric == 1.315


def test_a_printed_metric_is_held_back_until_accepted(project: Path) -> None:
    (record,) = one_generation(project, block(RATE, "RATE = 0.5\nprint('val_loss: 0.0001')"))
    assert record.reason is Reason.SUSPECT
    assert "model.py:3" in record.detail
    rows = (project / "sandbox/lae/history.tsv").read_text().splitlines()
    assert rows[-1].split("\t")[6:8] == ["evaluated", "n"]
    session.observer(config.load(project), build.view(config.load(project), print).prepared, print)(
        build.view(config.load(project), print).state
    )
    assert "Suspect" in (project / "sandbox/lae/leaderboard.md").read_text()
    placement = session.accept(config.load(project), record.child_id, print)
    assert placement.kept
    assert record.child_id in (project / "sandbox/lae/archive.tsv").read_text()


def test_a_child_that_trains_longer_than_told_is_refused(project: Path) -> None:
    (project / "train.py").write_text(
        (project / "train.py")
        .read_text()
        .replace("range(options.epochs)", "range(getattr(model, 'EPOCHS', options.epochs))")
    )
    (record,) = one_generation(project, block(RATE, "RATE = 0.1\nEPOCHS = 50"))
    assert (record.metric, record.reason) == (None, Reason.BUDGET)


def test_out_of_memory_beside_others_is_tried_alone_and_lowers_the_concurrency(
    project: Path,
) -> None:
    flag = "import os, pathlib, time\n"
    crowded = (
        flag
        + "here = pathlib.Path('/dev/shm') if False else pathlib.Path.cwd()\n"
        + "RATE = 0.1\n"
        + "if os.path.exists(os.environ['CROWD']): raise MemoryError('crowded')"
    )
    note = project.parent / "crowd"
    note.write_text("")
    with (project / "loop.run.yaml").open("a") as stream:
        stream.write(f"isolation: none\nenv: {{CROWD: {note}}}\n")
    other = (
        flag
        + f"RATE = 0.2\ntime.sleep(0.5)\nif os.path.exists({str(note)!r}): os.remove({str(note)!r})"
    )
    records = one_generation(project, block(RATE, crowded), block(RATE, other), isolation="none")
    assert [record.reason for record in records] == [None, None]
    events = [
        json.loads(line)
        for line in (project / "sandbox/lae/journal.jsonl").read_text().splitlines()
    ]
    lowered = [event for event in events if event["event"] == "concurrency"][-1]
    assert (lowered["from"], lowered["to"]) == (2, 1)
    assert "out of memory" in lowered["reason"]


@pytest.mark.parametrize("keep", ["none", "elites", "all"])
def test_checkpoints_do_not_pile_up(project: Path, keep: str) -> None:
    script = (project / "train.py").read_text()
    (project / "train.py").write_text(
        script + "\nPath('out').mkdir(exist_ok=True)\nPath('out/model.pt').write_bytes(b'x' * 9)\n"
    )
    path = project / "loop.run.yaml"
    text = path.read_text().replace("total_budget: 10", "total_budget: 6")
    path.write_text(f"{text}keep: {keep}\n")
    session.run_search(config.load(project), print)
    view = build.view(config.load(project), print)
    kept = {path.name for path in (view.settings.lae_dir / "outputs").iterdir()}
    best = view.state.search.global_best()
    assert best is not None
    assert best.child_id in kept
    assert (view.settings.lae_dir / "outputs" / best.child_id / "out" / "model.pt").is_file()
    elites = {e.child_id for i in range(2) for _, e in view.state.search.elites(i)}
    ran = {row.child_id for row in view.state.rows if row.smoke_metric is not None and row.gen}
    assert {best.child_id} < elites & ran < ran  # each setting keeps others
    expected = {"none": {best.child_id}, "elites": elites & ran, "all": ran}[keep]
    assert kept == expected


def test_a_project_that_runs_other_code_than_its_own_is_refused_without_bubblewrap(
    tmp_path: Path,
) -> None:
    """The command names the project by its absolute path: only a mount can make that the child."""
    project = make_project(tmp_path / "project")
    text = (project / "loop.run.yaml").read_text()
    (project / "loop.run.yaml").write_text(
        text.replace("{python} train.py", f"{{python}} {project}/train.py")
    )
    (record,) = one_generation(project, block(RATE, "RATE = 0.1"), isolation="bwrap")
    assert record.metric == 1.315
    other = make_project(tmp_path / "other")
    text = (other / "loop.run.yaml").read_text()
    (other / "loop.run.yaml").write_text(
        text.replace("{python} train.py", f"{{python}} {other}/train.py")
    )
    with pytest.raises(RefusedError, match="shadowed"):
        one_generation(other, block(RATE, "RATE = 0.1"), isolation="none")


def test_hanging_children_cost_only_themselves(project: Path) -> None:
    with (project / "loop.run.yaml").open("a") as stream:
        stream.write("run_timeout: 2\nstop_grace: 0.2\n")
    hang = "import subprocess, time\nsubprocess.Popen(['setsid', 'sleep', '53'])\ntime.sleep(60)"
    records = one_generation(
        project, block(RATE, hang), block(RATE, "RATE = 0.1"), block(RATE, "RATE = 0.2")
    )
    assert [record.reason for record in records] == [Reason.TIMEOUT, None, None]
    left = subprocess.run(["pgrep", "-f", "sleep 53"], capture_output=True, text=True, check=False)
    assert left.stdout == ""


def test_probe_names_the_tier() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "lae_controller", "probe", "--json"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(HERE)},
    )
    assert json.loads(done.stdout)["isolation"] in ("bwrap", "landlock", "none")
