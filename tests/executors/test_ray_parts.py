"""The parts of the executor for clusters that need no cluster, and no Ray."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from executor_bench import made_bench
from tiny_project import make_project

from lae_controller import build, config
from lae_controller.errors import ConfigError, PrerequisiteError, RefusedError
from lae_controller.executors import ray_cluster, ray_node, ray_recipe
from lae_controller.executors.packed import (
    Packed,
    digest_of,
    files_below,
    pack,
    unpack,
    unpack_once,
    write_pieces,
)
from lae_controller.executors.ray_cluster import Node, Share, share_of
from lae_controller.executors.ray_mirror import Mirror, Packs, Silent

CPU = Node("a", "10.0.0.1", cpus=8.0, gpus=0.0, memory=16e9, accelerator="")
A100 = Node("b", "10.0.0.2", cpus=32.0, gpus=4.0, memory=256e9, accelerator="A100")
T4 = Node("c", "10.0.0.3", cpus=8.0, gpus=1.0, memory=32e9, accelerator="T4")


def settings_of(text: str, folder: Path = Path("/project")) -> config.Settings:
    gate = "gate: time\nbudget: 60\n" if "TIME" in text else "gate: epochs\nbudget: 4\n"
    base = "metric: acc\nmetric_direction: maximize\neditable_files: [model.py]\ntotal_budget: 40\n"
    run = "run_cmd: python train.py --epochs {budget}\n"
    text = base + run + gate + text.replace("TIME", "")
    return config.parse(text, folder / "loop.run.yaml")


# -- what one child takes --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "there", "wanted"),
    [
        ("", [CPU], Share(4.0, 0.0, 0)),
        ("", [replace(CPU, cpus=2.0), CPU], Share(2.0, 0.0, 0)),
        ("", [CPU, A100], Share(1.0, 1.0, 0)),
        ("executor: {num_gpus: 0.5, num_cpus: 2}", [A100], Share(2.0, 0.5, 0)),
        ("memory_limit: 2GiB", [CPU], Share(4.0, 0.0, 2 << 30)),
        ("executor: {accelerator: T4}", [A100, T4], Share(1.0, 1.0, 0, "T4")),
        ("TIME", [CPU, A100], Share(1.0, 1.0, 0, "A100")),
        ("TIMEexecutor: {mixed: true}", [A100, T4], Share(1.0, 1.0, 0)),
        ("TIMEexecutor: {accelerator: T4}", [A100, T4], Share(1.0, 1.0, 0, "T4")),
    ],
)
def test_the_share_of_a_child(text: str, there: list[Node], wanted: Share) -> None:
    assert share_of(settings_of(text), there) == wanted


def test_equal_times_on_unlike_accelerators_are_refused() -> None:
    with pytest.raises(RefusedError, match=r"unlike accelerators \(A100, T4\).*executor.mixed"):
        share_of(settings_of("TIME"), [A100, T4])
    assert share_of(settings_of(""), [A100, T4]).accelerator == ""


@pytest.mark.parametrize(
    ("share", "node", "times"),
    [
        (Share(4.0, 0.0, 0), CPU, 2),
        (Share(1.0, 1.0, 0), CPU, 0),
        (Share(1.0, 1.0, 0), A100, 4),
        (Share(1.0, 0.25, 0), A100, 16),
        (Share(1.0, 0.0, 10 << 30), CPU, 1),
        (Share(1.0, 1.0, 0, "T4"), A100, 0),
        (Share(0.1, 0.0, 0), replace(CPU, cpus=0.3), 3),
    ],
)
def test_how_many_children_a_node_holds(share: Share, node: Node, times: int) -> None:
    assert share.times_in(node) == times


def test_a_type_of_accelerator_is_asked_for_as_a_resource() -> None:
    options = Share(1.0, 0.5, 1 << 30, "A100").options()
    assert options.pop("resources") == {"accelerator_type:A100": 0.001}
    assert options == {"num_cpus": 1.0, "num_gpus": 0.5, "memory": 1 << 30}


def test_a_judge_is_not_sent_to_a_cluster(tmp_path: Path) -> None:
    text = (
        "metric: grade\nmetric_direction: maximize\neditable_files: [a.md]\ntotal_budget: 40\n"
        "scoring: {mode: llm_judge, rubric: rubric.md}\nexecutor: {kind: ray}\n"
    )
    with pytest.raises(ConfigError, match="a judge runs nothing that could be sent"):
        config.parse(text, tmp_path / "loop.run.yaml")


# -- without Ray -----------------------------------------------------------------------------------


def test_without_ray_the_install_line_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = make_project(tmp_path / "project", "executor: {kind: ray}\n")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(PrerequisiteError, match=r"pip install 'lae-controller\[ray\]'") as raised:
        build.machine(config.load(project))
    assert raised.value.exit_code == 3


def test_nothing_else_imports_ray(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    script = (
        "import sys, lae_controller.cli\nfrom pathlib import Path\n"
        "from lae_controller import build, config\n"
        f"build.machine(config.load(Path({str(project)!r})))\nassert 'ray' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_an_address_where_nothing_listens_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Engine:
        @staticmethod
        def is_initialized() -> bool:
            return False

        @staticmethod
        def init(**_: object) -> None:
            raise AssertionError("it would wait for minutes")

    monkeypatch.setattr(ray_cluster, "engine", lambda: Engine)
    settings = config.load(make_project(tmp_path / "p", "executor: {address: '127.0.0.1:1'}\n"))
    with pytest.raises(PrerequisiteError, match="no cluster answers.*ray start --head"):
        ray_cluster.connect(settings)


# -- packs -----------------------------------------------------------------------------------------


def test_a_file_whose_pieces_break_off_is_not_taken_for_whole(tmp_path: Path) -> None:
    def pieces() -> Iterator[bytes]:
        yield b"half"
        raise TimeoutError

    target = tmp_path / "outputs" / "weights.bin"
    with pytest.raises(TimeoutError):
        write_pieces(target, 0o640, pieces())
    assert list(target.parent.iterdir()) == []
    write_pieces(target, 0o640, [b"half", b"half"])
    assert (target.read_bytes(), target.stat().st_mode & 0o777) == (b"halfhalf", 0o640)


def test_a_pack_gives_the_same_files_back(tmp_path: Path) -> None:
    source, target = tmp_path / "a", tmp_path / "b"
    (source / "deep").mkdir(parents=True)
    (source / "run.sh").write_bytes(b"#!/bin/sh\n\x00")
    (source / "run.sh").chmod(0o755)
    (source / "deep" / "empty").touch()
    (source / "link").symlink_to("run.sh")
    packed = pack(source, files_below(source))
    assert [each.path for each in packed] == ["deep/empty", "run.sh"]
    unpack(packed, target)
    assert (target / "run.sh").read_bytes() == b"#!/bin/sh\n\x00"
    assert (target / "run.sh").stat().st_mode & 0o777 == 0o755
    assert pack(target, files_below(target)) == packed
    (target / "run.sh").chmod(0o644)
    assert digest_of(pack(target, files_below(target))) != digest_of(packed)


@pytest.mark.parametrize("path", ["/etc/passwd", "../out", "a/../../out"])
def test_a_path_that_leads_out_is_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(PrerequisiteError, match="names a path outside"):
        unpack((Packed(path, 0o644, b""),), tmp_path / "in")
    assert files_below(tmp_path) == []


def test_a_pack_is_written_once_whoever_comes_first(tmp_path: Path) -> None:
    packed = (Packed("a", 0o644, b"1"),)
    packs = Packs(tmp_path)
    packs.add("digest", packed)
    before = packs.path("digest").stat().st_ino
    packs.add("digest", packed)
    unpack_once(packed, packs.path("digest"))  # another process that had not seen it yet
    assert packs.path("digest").stat().st_ino == before
    assert files_below(tmp_path) == ["packs/digest/a"]


def test_only_what_differs_from_the_harness_travels(tmp_path: Path) -> None:
    bench = made_bench(tmp_path / "p", "concurrency: 1\n", {"big.py": b"#" * 100_000, "b.py": ""})
    job = bench.job("g1-i0-a0", "def run(seed):\n    return 7.0\n")
    (job.program / "added.py").write_text("x = 1\n")
    (job.program / "b.py").unlink()
    recipe = _recipe(bench.settings, bench.snapshot)
    own, gone = ray_node.own_files(job.program, recipe)
    assert [each.path for each in own] == ["added.py", "model.py"]
    assert gone == ("b.py",)


# -- data ------------------------------------------------------------------------------------------


def test_data_is_the_same_if_names_and_sizes_are(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name / "deep").mkdir(parents=True)
        (tmp_path / name / "deep" / "x.bin").write_bytes(b"12")
    first, second = (ray_recipe.signature(tmp_path / name) for name in ("a", "b"))
    assert first == second
    (tmp_path / "b" / "deep" / "x.bin").write_bytes(b"123")
    assert ray_recipe.signature(tmp_path / "b") != first
    assert ray_recipe.signature(tmp_path / "gone") == ""


def test_a_project_without_a_place_of_its_own_gets_one(tmp_path: Path) -> None:
    bench = made_bench(tmp_path / "p", "env: {CODE: 'ROOT/lib'}\n")
    settings = replace(
        bench.settings,
        root=tmp_path / "elsewhere",
        run_cmd=f"python {tmp_path}/elsewhere/train.py",
        env={"CODE": f"{tmp_path}/elsewhere/lib"},
    )
    mirror = Mirror(tmp_path / "home", "key", "node")
    packs = mirror.packs
    recipe = _recipe(settings, bench.snapshot)
    base = pack(bench.settings.lae_dir / "base", bench.snapshot.copies())
    packs.add(recipe.base, base)
    mirror.lay_out(recipe, {})
    mirror.beat()
    here = mirror.recipe(1.0)
    assert here.settings.root == mirror.folder / "project"
    assert here.settings.run_cmd == f"python {mirror.folder}/project/train.py"
    assert here.settings.env == {"CODE": f"{mirror.folder}/project/lib"}
    assert here.settings.lae_dir == (mirror.folder / "lae").resolve()
    assert (here.settings.lae_dir / "base" / "train.py").is_file()


def _recipe(settings: config.Settings, snapshot: object) -> ray_recipe.Recipe:
    return ray_recipe.Recipe(
        key="key",
        settings=settings,
        snapshot=snapshot,  # type: ignore[arg-type]
        editable=("model.py",),
        evaluators=build.evaluator_for,
        threads={},
        base="base",
        scoring="",
        withheld="",
        data=(),
        code="",
        lae_dir=settings.lae_dir,
        silence=3.0,
    )


# -- signs of life ---------------------------------------------------------------------------------


def laid_out(tmp_path: Path) -> Mirror:
    mirror = Mirror(tmp_path, "key", "node")
    for name in ("started", "ended"):
        (mirror.folder / name).mkdir(parents=True)
    mirror.beat()
    return mirror


def test_work_ends_when_the_controller_is_not_heard_any_more(tmp_path: Path) -> None:
    mirror, ended = laid_out(tmp_path), threading.Event()
    with mirror.watched("token", 1.0, ended.set):
        for _ in range(10):  # twice as long as the silence that is borne
            mirror.beat()
            assert not ended.wait(0.2)
        assert mirror.beat() == ["token"]
        assert ended.wait(30)
    assert mirror.beat() == []


def test_work_ends_when_it_is_not_wanted_any_more(tmp_path: Path) -> None:
    mirror, ended, other = laid_out(tmp_path), threading.Event(), threading.Event()
    with (
        mirror.watched("a~0", 1e9, ended.set),
        mirror.watched("a~1", 1e9, other.set),
    ):
        mirror.end("a~0")
        assert ended.wait(30)
        assert not other.is_set()


def test_nothing_begins_where_the_controller_was_never_heard(tmp_path: Path) -> None:
    mirror = Mirror(tmp_path, "key", "node")
    with pytest.raises(Silent):
        mirror.recipe(0.1)
    mirror.refuse("another version is installed there")
    with pytest.raises(PrerequisiteError, match="another version is installed there"):
        mirror.recipe(0.1)


def test_old_mirrors_are_swept_and_live_ones_are_not(tmp_path: Path) -> None:
    live, dead = laid_out(tmp_path), Mirror(tmp_path, "old", "node")
    (dead.folder / "lae").mkdir(parents=True)
    Mirror(tmp_path, "mine", "node").sweep()
    assert live.folder.is_dir()
    assert not dead.folder.exists()
