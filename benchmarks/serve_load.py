"""How quickly the server hands programs out and takes evaluations in, and whether it loses any.

    python benchmarks/serve_load.py one 10000        # 30 workers on one experiment
    python benchmarks/serve_load.py many 20          # 30 experiments with 30 workers each

Of a large experiment all but the last 300 programs are written to its ledgers beforehand. The
Mutator is replaced by one that counts, since a real one takes far longer than all that is measured
here; everything else is the server as it is, in a process of its own, on loopback.
"""

from __future__ import annotations

import http.client
import json
import multiprocessing
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from lae_controller.config import Settings
from lae_controller.evaluators.baseline import Prepared
from lae_controller.ledger import Ledger
from lae_controller.program import Intervention
from lae_controller.service.book import SEED_ID, ServedProgram, evaluated_event, ready_event
from lae_controller.service.engine import Engine
from lae_controller.service.evaluations import Scored
from lae_controller.service.serve_config import ServeSettings
from lae_controller.service.served import ServedChildren
from lae_controller.service.states import ProgramState
from lae_controller.state import Asked, ask_event
from lae_controller.task import Mutation

WORKERS = 30
LIVE = 300
SESSION = "projects/1/locations/global/collections/c/engines/e/sessions/s"
BODY = "\n".join(f"def f{n}(x):\n    return x * {n} + RATE" for n in range(60))
PROGRAM = f"# EVOLVE-BLOCK-START\nRATE = 0\n# EVOLVE-BLOCK-END\n{BODY}\n"


class Counting(ServedChildren):
    """Children that each get the next number."""

    number = 0
    lock = threading.Lock()

    def mutate(self, child_id: str) -> Mutation:
        """Propose the next number."""
        with self.lock:
            Counting.number += 1
            number = Counting.number
        text = self.files(self._parent(child_id))["initial_program.py"]
        line = next(line for line in text.splitlines() if line.startswith("RATE"))
        change = f"<<<<<<< SEARCH\n{line}\n=======\nRATE = {number}\n>>>>>>> REPLACE\n"
        return Mutation(change, f"number {number}", Intervention.OTHER, "-")

    def _parent(self, child_id: str) -> str:
        task = json.loads((self.folder(child_id) / "task.json").read_text())["task"]
        return str(task["parent_id"])


class CountingEngine(Engine):
    """A search whose Mutator counts."""

    def _children(self, settings: Settings, prepared: Prepared) -> ServedChildren:
        return Counting(self._experiment, self._catalogue, settings, prepared, self._lifelines)


def server(folder: str, port: Any) -> None:
    """Serve until the process is ended."""
    from lae_controller.service.app import make_app
    from lae_controller.service.dashboard import Dashboard
    from lae_controller.service.server import _bind
    from lae_controller.service.service import Service
    from lae_controller.service.uvicorn_server import run_app

    listening = _bind("127.0.0.1", 0)
    service = Service(ServeSettings(Path(folder)), print, engine=CountingEngine)
    port.value = listening.getsockname()[1]
    dashboard = Dashboard(service.board)
    run_app(make_app(service, "127.0.0.1", None, dashboard), listening, dashboard.end)
    service.close()


class Caller:
    """One connection that stays open, and how long its calls took."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self.seconds: dict[str, list[float]] = {}

    def __call__(self, method: str, name: str, body: Any = None) -> dict[str, Any]:
        """Send one request and return the reply."""
        began = time.perf_counter()
        raw = None if body is None else json.dumps(body)
        self._connection.request(
            method, f"/v1alpha/{name}", raw, {"Content-Type": "application/json"}
        )
        reply = self._connection.getresponse()
        text = reply.read()
        verb = name.rpartition(":")[2] if ":" in name else method
        self.seconds.setdefault(f"{verb} {reply.status}", []).append(time.perf_counter() - began)
        if reply.status >= 400:
            raise RuntimeError(text.decode())
        return json.loads(text) if text else {}


def begun(call: Caller, programs: int, concurrency: int) -> str:
    """Create, seed and start an experiment; return its name."""
    config = {
        "title": "load",
        "problemDescription": "x",
        "programLanguage": "python",
        "runSettings": {"maxPrograms": programs, "concurrency": concurrency},
    }
    name = call("POST", f"{SESSION}/alphaEvolveExperiments", {"config": config})["name"]
    files = [{"path": "initial_program.py", "content": PROGRAM}]
    scores = {"scores": [{"metric": "m", "score": 0.0}]}
    call(
        "POST",
        f"{name}/alphaEvolvePrograms",
        {"content": {"files": files}, "evaluation": {"scores": scores}},
    )
    call("POST", f"{name}:start", {"name": name})
    return str(name)


def crew(port: int, names: list[str], pause: float, out: Any) -> None:
    """Work on each experiment with one thread an entry; send back what was done, and how fast."""
    callers = [Caller(port) for _ in names]
    done: list[list[str]] = [[] for _ in names]

    def work(at: int) -> None:
        call, name = callers[at], names[at]
        while True:
            held = call("POST", f"{name}:acquirePrograms", {"desiredProgramsCount": 1}).get(
                "programs", []
            )
            if not held:
                if call("GET", name)["state"] == "COMPLETED":
                    return
                time.sleep(0.25)
            for one in held:
                time.sleep(pause)
                scores = {
                    "scores": {"scores": [{"metric": "m", "score": hash(one["name"]) % 997 / 10.0}]}
                }
                sent = {"program": one["name"], "lockToken": one["lockToken"], "evaluation": scores}
                call("POST", f"{name}:submitProgramsEvaluations", {"evaluationSubmissions": [sent]})
                done[at].append(one["name"])

    threads = [threading.Thread(target=work, args=(at,)) for at in range(len(names))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds: dict[str, list[float]] = {}
    for caller in callers:
        for verb, listed in caller.seconds.items():
            seconds.setdefault(verb, []).extend(listed)
    out.put(([name for listed in done for name in listed], seconds))


def start(folder: str) -> tuple[multiprocessing.Process, int]:
    """Start a server; return it and its port."""
    port = multiprocessing.Value("i", 0)
    process = multiprocessing.Process(target=server, args=(folder, port), daemon=True)
    process.start()
    while not port.value:
        time.sleep(0.05)
    return process, port.value


def prefilled(folder: str, name: str, count: int, concurrency: int) -> None:
    """Write programs to the ledgers of an experiment as if they had been scored long ago."""
    root = Path(folder, "sandbox", "experiments", name.rpartition("/")[2])
    mine, search = Ledger(root, print), Ledger(root / "lae", print)
    first = next(event for event in search.read_journal(mend=False) or [] if "record" in event)
    told: list[dict[str, Any]] = []
    served: list[dict[str, Any]] = []
    for number in range(count):
        child = f"g{1 + number // concurrency}-i{number % 4}-a{number % concurrency}"
        asked = Asked(child, 0, concurrency, SEED_ID, "made up")
        record = {**first["record"], "child_id": child, "parent_id": SEED_ID, "metric": -1.0}
        record.update(gen=1 + number // concurrency, island=number % 4, digest=f"{number:032x}")
        told += [ask_event(asked, ""), {**first, "record": record, "kept": False}]
        program = ServedProgram(child, ProgramState.EVALUATING, time.time() - 1e6, (SEED_ID,))
        served += [ready_event(program), evaluated_event(child, Scored({"m": -1.0}), time.time())]
    search.append(told)
    mine.append(served)


def with_history(folder: str, programs: int, concurrency: int) -> tuple[int, str]:
    """Start a server with one experiment that is nearly done; return its port and the name."""
    process, port = start(folder)
    call = Caller(port)
    name = begun(call, programs, concurrency)
    while not any(Path(folder).rglob("lae/history.tsv")):
        time.sleep(0.05)
    call("POST", f"{name}:stop", {})
    time.sleep(1)
    process.kill()
    process.join()
    prefilled(folder, name, (programs - LIVE) // concurrency * concurrency, concurrency)
    _, port = start(folder)
    Caller(port)("POST", f"{name}:resume", {})
    return port, name


def measure(experiments: int, programs: int, concurrency: int, pause: float) -> None:
    """Run the load and print what came of it."""
    with tempfile.TemporaryDirectory(dir=".") as folder:
        if experiments == 1 and programs > LIVE:
            port, name = with_history(folder, programs, concurrency)
            names = [name]
        else:
            _, port = start(folder)
            names = [begun(Caller(port), programs, concurrency) for _ in range(experiments)]
        began = time.perf_counter()
        out: Any = multiprocessing.Queue()
        entries = [name for name in names for _ in range(WORKERS)]
        share = -(-len(entries) // 3)
        for at in range(0, len(entries), share):
            args = (port, entries[at : at + share], pause, out)
            multiprocessing.Process(target=crew, args=args, daemon=True).start()
        replies = [out.get() for _ in range(0, len(entries), share)]
        report(Caller(port), names, programs, replies, time.perf_counter() - began)


def report(call: Caller, names: list[str], programs: int, replies: list[Any], took: float) -> None:
    """Print latencies, and what was lost or done twice."""
    done = Counter(name for listed, _ in replies for name in listed)
    states = Counter(call("GET", name)["state"] for name in names)
    counted = sum(call("GET", name)["stats"]["evaluatedCandidatesCount"] for name in names)
    twice = sum(count > 1 for count in done.values())
    print(f"{len(names)} experiments of {programs} programs in {took:.1f} s: {dict(states)}")
    print(f"evaluated {len(done)}, counted {counted - len(names)}, scored twice {twice}")
    seconds: dict[str, list[float]] = {}
    for _, found in replies:
        for verb, listed in found.items():
            seconds.setdefault(verb, []).extend(listed)
    for verb, listed in sorted(seconds.items()):
        ordered = sorted(1e3 * value for value in listed)
        at = [ordered[int(share * (len(ordered) - 1))] for share in (0.5, 0.95, 0.99, 1.0)]
        print(
            f"{verb:<34} {len(listed):>7} calls   p50 {at[0]:6.1f}  p95 {at[1]:6.1f}  "
            f"p99 {at[2]:6.1f}  max {at[3]:6.1f} ms"
        )


if __name__ == "__main__":
    kind, size = sys.argv[1], int(sys.argv[2])
    think = float(sys.argv[3]) if len(sys.argv) > 3 else 0.0
    if kind == "one":
        measure(1, size, 30, think)
    else:
        measure(30, size, 10, think)
