"""How many replies of a model are usable: a small greedy loop with the controller's own prompt.

    python benchmarks/replies.py --url http://127.0.0.1:8377 --count 60
    python benchmarks/replies.py --url … --project DIR --files program.py --metric val_accuracy \
        --run "{python} harness.py program.py" --context "what the program is for"

By default the project is examples/digits, of which the model alone is changed. Each proposal is one
call of ``/v1/messages`` for one stated idea, without a second try. A program that scores higher
than its parent is the parent of the next proposal. Counted are the replies that apply as they are,
after a repair, and not at all (by reason); the programs that were seen before and are not run
again; those that ran to the end; and the seconds of one proposal.

``--record FILE`` writes every reply, the parent's files and what came of it, one JSON line each.
Exits 1 if fewer than ``--usable`` of the replies (0 to 1) could be used.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY))

from lae_controller.change.diff import apply_change  # noqa: E402
from lae_controller.change.normal_form import digest  # noqa: E402
from lae_controller.config import MutatorSettings  # noqa: E402
from lae_controller.errors import ChildError  # noqa: E402
from lae_controller.mutators.credit import Credits  # noqa: E402
from lae_controller.outputs.artifacts import read_artifacts, trim_traceback  # noqa: E402
from lae_controller.outputs.metric import find_metric  # noqa: E402
from lae_controller.program import Artifacts, Direction, child_id  # noqa: E402
from lae_controller.prompts import Prompt, build_prompt  # noqa: E402
from lae_controller.replies import Reply, read_reply  # noqa: E402
from lae_controller.task import Inspiration, Task, Tried  # noqa: E402

TOKEN_LIMIT = 12_000
RUN_LIMIT = 60.0  # seconds of one training run
DIGITS = "Digits of 8 by 8 pixels are told apart; train.py calls Net.step for every mini-batch."


@dataclass(frozen=True)
class Trained:
    """What one training run came to; the metric is None if it failed."""

    metric: float | None
    artifacts: Artifacts
    fault: str = ""


@dataclass
class Course:
    """Where the greedy loop stands.

    Attributes:
        tried: children of the present parent.
        known: digests of every program so far.
        kinds: how each kind of change has done.
    """

    files: Mapping[str, str]
    metric: float
    artifacts: Artifacts
    tried: list[Tried] = field(default_factory=list)
    elites: list[Inspiration] = field(default_factory=list)
    known: set[str] = field(default_factory=set)
    kinds: Credits = field(default_factory=Credits)


@dataclass
class Count:
    """What is counted over all proposals."""

    replies: Counter[str] = field(default_factory=Counter)
    repaired: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    tokens: Counter[str] = field(default_factory=Counter)


def train(options: argparse.Namespace, files: Mapping[str, str]) -> Trained:
    """Run the project's command with these files in a copy of it."""
    with tempfile.TemporaryDirectory(prefix="replies-") as place:
        work = Path(place) / "project"
        shutil.copytree(options.project, work, ignore=shutil.ignore_patterns("sandbox"))
        for path, text in files.items():
            (work / path).write_text(text, encoding="utf-8")
        command = [part.format(python=sys.executable) for part in shlex.split(options.run)]
        env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": "ignore"}
        try:
            ended = subprocess.run(
                command,
                cwd=work,
                env=env,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=RUN_LIMIT,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Trained(None, Artifacts(), "timeout")
    artifacts = read_artifacts(ended.stdout, options.metric)
    if ended.returncode:
        return Trained(None, artifacts, trim_traceback(ended.stdout, 400).splitlines()[-1])
    found = find_metric(ended.stdout, options.metric)
    return Trained(found.value, artifacts, found.detail if found.value is None else "")


def task_for(options: argparse.Namespace, course: Course, number: int) -> Task:
    """Return the task of one proposal, as the controller would write it."""
    return Task(
        child_id=child_id(number + 1, 0, 0),
        parent_id=child_id(0, 0, 0),
        gen=number + 1,
        island=0,
        attempt=0,
        seed=options.seed,
        metric_name=options.metric,
        direction=Direction.MAXIMIZE,
        editable=tuple(options.files),
        protected=(),
        files=course.files,
        parent_metric=course.metric,
        parent_artifacts=course.artifacts,
        inspirations=tuple(course.elites[-options.inspirations :] if options.inspirations else ()),
        tried=tuple(course.tried),
        credits={},
        kinds=course.kinds.as_mapping(),
        run_cmd=options.run.format(python="python"),
        budget="8 epochs or steps",
        context=options.context,
    )


def ask(options: argparse.Namespace, prompt: Prompt, number: int) -> dict[str, Any]:
    """Return the answer of the Messages API, as JSON."""
    body = {
        "model": options.model,
        "max_tokens": options.max_tokens,
        "temperature": options.temperature,
        "seed": options.seed * 1000 + number,
        "system": prompt.system,
        "messages": [{"role": turn.role, "content": turn.text} for turn in prompt.turns],
    }
    headers = {"content-type": "application/json", "anthropic-version": "2023-06-01"}
    request = urllib.request.Request(
        f"{options.url}/v1/messages",
        json.dumps(body).encode(),
        {**headers, "x-api-key": os.environ.get("ANTHROPIC_API_KEY", "none")},
    )
    with urllib.request.urlopen(request, timeout=300) as answer:
        said: dict[str, Any] = json.load(answer)
    return said


def propose(options: argparse.Namespace, course: Course, number: int, count: Count) -> None:
    """Ask for one change, judge it, and go on from it if it is better."""
    task = task_for(options, course, number)
    prompt = build_prompt(task, MutatorSettings(reply=options.reply), token_limit=TOKEN_LIMIT)
    began = time.monotonic()
    said = ask(options, prompt, number)
    count.seconds.append(time.monotonic() - began)
    count.tokens["prompt"] += said["usage"]["input_tokens"]
    count.tokens["reply"] += said["usage"]["output_tokens"]
    text = "".join(part.get("text", "") for part in said["content"])
    asked = prompt.turns[-1].text.splitlines()[-1]
    row = {"number": number, "asked": asked, "reply": text, "files": task.files}
    if said["stop_reason"] == "max_tokens":
        count.replies["cut off"] += 1
        course.kinds.tell("other", False, True)
        record(options, row, outcome="cut off")
        return
    try:
        reply = read_reply(text, task.files, task.editable, options.reply)
    except ChildError as error:
        count.replies["refused"] += 1
        course.kinds.tell("other", False, True)
        count.refused[f"{error.reason.value}: {error.detail.splitlines()[0][:90]}"] += 1
        record(options, row, outcome=error.reason.value, detail=error.detail)
        return
    count.replies["repaired" if reply.repaired else "exact"] += 1
    count.repaired.update(reply.repaired)
    outcome = judge(options, course, task, reply, count)
    better, broken = outcome.startswith("better"), outcome.startswith("failed")
    course.kinds.tell(reply.intervention.value, better, broken)
    record(options, row, outcome=outcome, repaired=reply.repaired, change=reply.change)


def judge(
    options: argparse.Namespace, course: Course, task: Task, reply: Reply, count: Count
) -> str:
    """Run the program that a reply comes to, unless it was seen before; return how it ended."""
    after = apply_change(task.files, reply.change, editable=task.editable).files
    form = digest(after)
    if form in course.known:
        count.replies["seen before"] += 1
        return "seen before"
    course.known.add(form)
    trained = train(options, after)
    name = task.child_id
    if trained.metric is None:
        count.replies["failed"] += 1
        count.faults[trained.fault[:90]] += 1
        course.tried.append(Tried(name, reply.summary, reply.intervention, "exit", None, form))
        return f"failed: {trained.fault}"
    count.replies["ran"] += 1
    metric = trained.metric
    if metric > course.metric:
        course.files, course.metric, course.artifacts = after, metric, trained.artifacts
        course.tried = []
        outcome = f"better: {metric}"
    else:
        course.tried.append(
            Tried(name, reply.summary, reply.intervention, "not kept", metric, form)
        )
        outcome = f"not better: {metric}"
    course.elites.append(Inspiration(name, metric, "top", reply.summary, after))
    course.elites.sort(key=lambda elite: elite.metric)
    return outcome


def record(options: argparse.Namespace, row: dict[str, Any], **more: Any) -> None:
    """Write one line about one proposal and show how it ended."""
    idea = row["asked"].partition(": ")[2]
    print(f"{row['number']:3} {idea[:70]}  {more['outcome'][:60]}", flush=True)
    if options.record:
        with options.record.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps({**row, **more}) + "\n")


def main() -> int:
    """Ask for ``--count`` proposals and print the figures."""
    options = parse()
    files = {path: (options.project / path).read_text("utf-8") for path in options.files}
    trained = train(options, files)
    if trained.metric is None:
        print(f"the project itself does not run: {trained.fault}", file=sys.stderr)
        return 1
    course = Course(files, trained.metric, trained.artifacts, known={digest(files)})
    count = Count()
    for number in range(options.count):
        propose(options, course, number, count)
    usable = count.replies["exact"] + count.replies["repaired"]
    print(f"\nusable {usable} of {options.count}: {dict(count.replies)}")
    print(f"repaired: {dict(count.repaired)}")
    print(f"refused: {json.dumps(count.refused, indent=1)}")
    print(f"failed: {json.dumps(count.faults, indent=1)}")
    print(f"{options.metric}: {trained.metric:g} at first, {course.metric:g} at best")
    mean = sum(count.seconds) / len(count.seconds)
    print(
        f"{mean:.1f} s a proposal, longest {max(count.seconds):.1f} s; {dict(count.tokens)} tokens"
    )
    return 0 if usable >= options.usable * options.count else 1


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--url", required=True)
    parser.add_argument("--model", default="local")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--project", type=Path, default=REPOSITORY / "examples" / "digits")
    parser.add_argument("--files", nargs="+", default=["model.py"])
    parser.add_argument("--metric", default="val_acc")
    parser.add_argument("--run", default="{python} train.py --epochs 8")
    parser.add_argument("--context", default=DIGITS)
    parser.add_argument("--reply", choices=["diff", "files"], default="diff")
    parser.add_argument("--inspirations", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--temperature", type=float, default=0.7)
    parser.add_argument("--max-tokens", type=int, default=600)
    parser.add_argument("--usable", type=float, default=0.0)
    parser.add_argument("--record", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
