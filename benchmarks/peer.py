"""lae beside OpenEvolve 0.4.1 on the same work: the program of ``rastrigin.py``, a fake model.

    python -m venv V && V/bin/pip install openevolve==0.4.1
    python benchmarks/peer.py --openevolve V/bin/openevolve-run quality busy growth

quality   best f after 500 evaluations in 8 slots, with the same one-number changes (lower is
          better; the start is 270). lae: its search in process, as in ``selection.py``.
busy      what share of 8 slots works, of all the time between the first run and the last, when a
          training run sleeps (``--sleep`` seconds) and there is no model, one that answers at once,
          or one that takes ``--latency`` seconds. *Asleep* counts the sleep alone. *Running* counts
          the command of a slot from its start to its end, by the warden's clock: for lae also the
          making of the sandbox and the start of Python; for the peer, which starts neither, it is
          the same as asleep.
growth    children per second, early and late in a run whose evaluations take no time; memory;
          disk and files for each child, without the copies of the harness that each of lae's
          programs holds; and seconds to take the run up again.
cost      processor seconds of a child of lae, of all its processes together, by the difference of a
          long and a short run; needs the right to make a cgroup (version 1, ``cpuacct``).

Without ``--openevolve`` the rows of lae alone are measured. Both tools run with their defaults but
for what is said here; every run of lae is sandboxed, the peer evaluates in its own processes.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fake_model import serve
from rastrigin import START
from selection import Setting, search

HERE = Path(__file__).resolve().parent
SLOTS = 8

TRAIN = """\
import math, os, sys, time
import program
began = time.time()
time.sleep(float(sys.argv[2]))
xs = [getattr(program, f"x{i}") for i in range(10)]
f = sum(x * x + 10 - 10 * math.cos(2 * math.pi * x) for x in xs)
print(f"ran {began!r} {time.time()!r}")
print(f"f: {f!r}")
"""
CONFIG = """\
metric: f
metric_direction: minimize
run_cmd: "{{python}} train.py {{budget}} {sleep}"
editable_files: [program.py]
gate: epochs
budget: 1
total_budget: {total}
reserve: 0
concurrency: {slots}
confirm: {{baseline_runs: 2}}
mutator: {{backend: {backend}}}
"""

EVALUATOR = """\
import os, sys, time
sys.path.insert(0, os.environ["BENCHMARKS"])
from rastrigin import parse, rastrigin


def evaluate(path):
    began = time.time()
    time.sleep(float(os.environ["SLEEP"]))
    f = rastrigin(parse(open(path).read()).numbers)
    with open(os.environ["LOG"], "a") as stream:
        stream.write(f"ran {began!r} {time.time()!r} f {f!r}\\n")
    return {"combined_score": -f}
"""
PEER_CONFIG = """\
checkpoint_interval: {interval}
diff_based_evolution: true
random_seed: {seed}
llm:
  api_base: http://127.0.0.1:{port}/v1
  api_key: none
  max_tokens: 600
  models: [{{name: fake, weight: 1.0}}]
evaluator: {{timeout: 60, parallel_evaluations: {slots}, cascade_evaluation: false}}
"""

HARNESS = ("train.py", "loop.run.yaml")
CPUACCT = Path("/sys/fs/cgroup/cpuacct")
Spans = list[tuple[float, float]]


@dataclass(frozen=True)
class Ran:
    """One run of a tool.

    Attributes:
        folder: where it ran.
        seconds: wall-clock of the whole command.
        rss: bytes of its largest process.
        spans: begin and end of each evaluation, by their ends.
        running: seconds in which commands ran, over all slots; 0 if they are the spans.
    """

    folder: Path
    seconds: float
    rss: int
    spans: Spans
    running: float = 0.0

    @property
    def slot_seconds(self) -> float:
        """Seconds of all slots from the first begin to the last end."""
        return SLOTS * (max(e for _, e in self.spans) - min(b for b, _ in self.spans))

    @property
    def busy(self) -> tuple[float, float]:
        """Share of the slots that was asleep, and in which a command ran."""
        asleep = sum(e - b for b, e in self.spans) / self.slot_seconds
        return asleep, self.running / self.slot_seconds if self.running else asleep

    def rate(self, first: int, last: int) -> float:
        """Return children per second between the ``first`` and the ``last`` evaluation."""
        return (last - first) / (self.spans[last - 1][1] - self.spans[first - 1][1])

    def disk(self, below: str) -> tuple[float, float]:
        """Return bytes on disk, and files, for each evaluation; folders count as bytes."""
        found = [path for path in (self.folder / below).rglob("*") if path.name not in HARNESS]
        size = sum(512 * path.lstat().st_blocks for path in found)
        files = sum(path.is_file() for path in found)
        return size / len(self.spans), files / len(self.spans)


def command(words: Sequence[str], env: Mapping[str, str], cwd: Path) -> tuple[float, int]:
    """Run a command; returns (seconds, bytes of its largest process).

    Raises:
        SystemExit: if it failed, with what it said.
    """
    began = time.perf_counter()
    log = cwd.with_name(f"{cwd.name}.log")  # beside the project, or it would belong to it
    with log.open("wb") as stream:
        process = subprocess.Popen(
            words, cwd=cwd, env={**os.environ, **env}, stdout=stream, stderr=stream
        )
        _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-8:])
        raise SystemExit(f"{' '.join(words)}: exit {os.waitstatus_to_exitcode(status)}\n{tail}")
    return time.perf_counter() - began, usage.ru_maxrss * 1024


def ours(total: int, sleep: float, latency: float | None) -> Ran:
    """Run lae on the toy project; without a latency the offline Mutator proposes."""
    folder = Path(tempfile.mkdtemp(prefix="lae-peer-"))
    (folder / "program.py").write_text(START.text)
    (folder / "train.py").write_text(TRAIN)
    backend = "offline" if latency is None else "anthropic"
    text = CONFIG.format(sleep=sleep, total=total, slots=SLOTS, backend=backend)
    (folder / "loop.run.yaml").write_text(text)
    env = {"PYTHONPATH": str(HERE.parent)}
    server = None if latency is None else serve(latency)
    if server is not None:
        url = f"http://127.0.0.1:{server.server_address[1]}"
        env |= {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "fake"}
    seconds, rss = command(_lae(folder), env, folder)
    if server is not None:
        server.shutdown()
    return Ran(folder, seconds, rss, *_spans_of_ours(folder))


def _lae(folder: Path) -> list[str]:
    return [sys.executable, "-m", "lae_controller", "run", str(folder), "--yes"]


def _spans_of_ours(folder: Path) -> tuple[Spans, float]:
    spans, running = [], 0.0
    for path in (folder / "sandbox/lae/results").glob("*.json"):
        if not path.name.startswith("g0-"):
            artifacts = json.loads(path.read_bytes())["artifacts"]
            spans += re.findall(r"^ran (\S+) (\S+)$", artifacts["log_tail"], re.MULTILINE)
            running += artifacts["seconds"]
    ordered = sorted(((float(b), float(e)) for b, e in spans), key=lambda span: span[1])
    return ordered, running


def peer(openevolve: Path, total: int, sleep: float, latency: float, seed: int = 1) -> Ran:
    """Run the peer on the same program with the same model."""
    folder = Path(tempfile.mkdtemp(prefix="openevolve-peer-"))
    (folder / "program.py").write_text(START.text)
    (folder / "evaluator.py").write_text(EVALUATOR)
    server = serve(latency, seed)
    port = server.server_address[1]
    text = PEER_CONFIG.format(interval=total, seed=seed, port=port, slots=SLOTS)
    (folder / "config.yaml").write_text(text)
    env = {"LOG": str(folder / "log"), "SLEEP": str(sleep), "BENCHMARKS": str(HERE)}
    seconds, rss = command(_openevolve(openevolve, total), env, folder)
    server.shutdown()
    found = re.findall(r"^ran (\S+) (\S+)", (folder / "log").read_text(), re.MULTILINE)
    spans = sorted(((float(b), float(e)) for b, e in found), key=lambda span: span[1])
    return Ran(folder, seconds, rss, spans[1:])  # the first is the start, not a child


def _openevolve(openevolve: Path, total: int, *more: str) -> list[str]:
    words = [str(openevolve), "program.py", "evaluator.py", "-c", "config.yaml", "-o", "out"]
    return [*words, "-i", str(total), *more]


def quality(openevolve: Path | None, seeds: int) -> None:
    """Compare the best f after 500 evaluations."""
    setting = Setting("separable", 500, SLOTS, "async")
    for rule in ("default", "puct"):
        _show(f"lae, {rule}", [search(rule, setting, seed).best for seed in range(seeds)])
    if openevolve is not None:
        runs = [peer(openevolve, setting.evaluations, 0.0, 0.0, seed) for seed in range(seeds)]
        logs = [(run.folder / "log").read_text() for run in runs]
        _show("OpenEvolve", [min(map(float, re.findall(r" f (\S+)", log))) for log in logs])


def _show(name: str, best: Sequence[float]) -> None:
    error = statistics.stdev(best) / len(best) ** 0.5 if len(best) > 1 else float("nan")
    mean = statistics.mean(best)
    print(
        f"quality  {name:<14} best f {mean:6.1f} ± {error:.1f} over {len(best)} seeds", flush=True
    )


def busy(openevolve: Path | None, total: int, sleep: float, slow: float) -> None:
    """Compare how well slots are used while a model is waited for."""
    for latency in (None, 0.0, slow):
        model = f"runs {sleep:g} s, " + ("no model" if latency is None else f"model {latency:g} s")
        _show_busy("lae", model, ours(total, sleep, latency))
        if openevolve is not None and latency is not None:
            _show_busy("OpenEvolve", model, peer(openevolve, total, sleep, latency))


def _show_busy(name: str, model: str, run: Ran) -> None:
    asleep, running = run.busy
    print(
        f"busy     {name:<11} {model:<24} asleep {asleep:6.1%}, running {running:6.1%} of 8 slots",
        flush=True,
    )


def cost(total: int) -> None:
    """Show what a child takes of a processor, with and without a model."""
    for latency in (None, 0.0):
        short, long = (_processor(count, latency) for count in (total // 4, total))
        each = (long - short) / (total - total // 4)
        model = "no model" if latency is None else "a model"
        print(f"cost     lae, {model:<9} {each * 1e3:.0f} ms of a processor for each child")


def _processor(total: int, latency: float | None) -> float:
    """Return the processor seconds of a run with all that it starts, detached or not."""
    group = CPUACCT / f"lae-peer-{os.getpid()}"
    group.mkdir()
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        (group / "cgroup.procs").write_text(str(os.getpid()))
        run = ours(total, 0.0, latency)
        os.write(writing, str(len(run.spans)).encode())
        os._exit(0)
    os.waitpid(pid, 0)
    if not os.read(reading, 16):
        raise SystemExit("the run failed")
    used = int((group / "cpuacct.usage").read_text()) / 1e9
    group.rmdir()
    return used


def growth(openevolve: Path | None, total: int) -> None:
    """Compare how a run's own work grows with its length."""
    run = ours(total, 0.0, None)
    again, _ = command(_lae(run.folder), {"PYTHONPATH": str(HERE.parent)}, run.folder)
    _grown("lae", run, run.disk("sandbox/lae"), again)
    if openevolve is None:
        return
    run = peer(openevolve, total, 0.0, 0.0)
    (checkpoint,) = (run.folder / "out/checkpoints").glob(f"checkpoint_{total}")
    env = {"LOG": str(run.folder / "log"), "SLEEP": "0", "BENCHMARKS": str(HERE)}
    words = _openevolve(openevolve, 0, "--checkpoint", str(checkpoint))
    again, _ = command(words, env, run.folder)
    _grown("OpenEvolve", run, run.disk("out/checkpoints"), again)


def _grown(name: str, run: Ran, disk: tuple[float, float], again: float) -> None:
    count = len(run.spans)
    early, late = run.rate(1, min(100, count)), run.rate(max(1, count - 100), count)
    print(
        f"growth   {name:<11} {count} children: {early:.1f} a second at first, {late:.1f} at last; "
        f"{run.rss / 1e6:.0f} MB; {disk[0] / 1e3:.1f} kB and {disk[1]:.1f} files each; "
        f"{again:.1f} s to take it up",
        flush=True,
    )


def main() -> None:
    """Run what is asked for and print one line a row."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", help="quality, busy, growth, cost; all if left out")
    parser.add_argument("--openevolve", type=Path, help="the peer's openevolve-run")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--children", type=int, default=200, help="of a run of busy")
    parser.add_argument("--sleep", type=float, default=0.5, help="seconds of a run of busy")
    parser.add_argument("--latency", type=float, default=2.0, help="seconds of a slow model")
    parser.add_argument("--length", type=int, default=400, help="children of a run of growth")
    options = parser.parse_args()
    for part in options.parts or ("quality", "busy", "growth", "cost"):
        if part == "quality":
            quality(options.openevolve, options.seeds)
        elif part == "busy":
            busy(options.openevolve, options.children, options.sleep, options.latency)
        elif part == "growth":
            growth(options.openevolve, options.length)
        elif part == "cost":
            cost(options.children)
        else:
            raise SystemExit(f"{part} is none of quality, busy, growth, cost")


if __name__ == "__main__":
    main()
