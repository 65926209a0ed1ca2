"""What is told about one child beside its parent's code, section by section.

Each function returns the versions of a section, longest first; none where there is nothing to say.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lae_controller.change.changed_lines import changed_lines
from lae_controller.change.evolve_blocks import blocks_only
from lae_controller.program import Artifacts, Files
from lae_controller.prompts.ideas import overused, underused
from lae_controller.prompts.role import without_secrets
from lae_controller.task import Inspiration, Task, Tried

Versions = tuple[str, ...]

_CURVE_POINTS = 8
_CLASSES = 10
_INERT = 8
_TRIED = 10
_TAIL_LINES = (30, 12)
_DIFF_LINES = 14  # of one inspiration; a longer one is told by its summary
_TROUBLE = ("error", "warning", "traceback", "nan", "killed")


def of(task: Task) -> dict[str, Versions]:
    """Return every section by its name, in the order in which they are told."""
    found = {
        "metric": metric(task),
        "last run": last_run(task),
        "log": log_tail(task),
        "idle functions": idle(task),
        "idle lines": inert(task),
        "inspirations": inspirations(task),
        "insights": insights(task),
        "empty regions": regions(task),
        "kinds of change": kinds(task),
        "earlier changes": tried(task),
    }
    return {name: tuple(dict.fromkeys(versions)) for name, versions in found.items()}


def metric(task: Task) -> Versions:
    """Return the parent's metric."""
    if task.parent_metric is None:
        return ()
    return (f"{task.metric_name}: {number(task.parent_metric)}",)


def number(value: float) -> str:
    """Write a metric as people do: up to six significant digits."""
    return f"{value:.6g}"


def last_run(task: Task) -> Versions:
    """Return what the parent's own run left: class scores, curve, remarks."""
    artifacts = task.parent_artifacts
    lines = list(_measured(artifacts))
    return ("\n".join(lines),) if lines else ()


def _measured(artifacts: Artifacts) -> Iterator[str]:
    if artifacts.per_class:
        worst = sorted(artifacts.per_class.items(), key=lambda item: item[1])[:_CLASSES]
        listed = ", ".join(f"{name} {number(score)}" for name, score in worst)
        yield f"By class, lowest first: {listed}"
    if artifacts.curve:
        listed = ", ".join(f"{step:g}: {number(value)}" for step, value in _thinned(artifacts))
        yield f"Its curve, by step: {listed}"
    if artifacts.warnings:
        yield f"Remarks on its run: {'; '.join(artifacts.warnings)}"


def _thinned(artifacts: Artifacts) -> list[tuple[float, float]]:
    """Return points of the curve at even distances, the first and the last among them."""
    last = len(artifacts.curve) - 1
    count = min(_CURVE_POINTS, last + 1)
    picked = {round(at * last / max(count - 1, 1)) for at in range(count)}
    return [artifacts.curve[at] for at in sorted(picked)]


def log_tail(task: Task) -> Versions:
    """Return the end of the parent's log, where it says more than curve and scores do."""
    artifacts = task.parent_artifacts
    log = without_secrets(artifacts.log_tail).strip()
    known = bool(artifacts.curve or artifacts.per_class)
    if not log or (known and not any(word in log.lower() for word in _TROUBLE)):
        return ()
    lines = log.splitlines()
    return tuple("The end of its log:\n" + "\n".join(lines[-most:]) for most in _TAIL_LINES)


def idle(task: Task) -> Versions:
    """Return the functions that never ran."""
    shown = [name for name in task.idle if name.partition("::")[0] in task.files]
    if not shown:
        return ()
    listed = ", ".join(shown[:20])
    return (f"Never called, so changing them changes nothing: {listed}",)


def inert(task: Task) -> Versions:
    """Return lines that were changed in vain."""
    latest = task.inert[: -_INERT - 1 : -1]
    return _listed("Changed before, and nothing at all came of it, so leave these lines:", latest)


def inspirations(task: Task) -> Versions:
    """Return other programs as what is different about them; never whole, they get copied."""
    told = [_told(other, task) for other in task.inspirations]
    told = [text for text in told if text]
    if not told:
        return ()
    head = "Other programs of this search, by what differs from the one above:\n"
    return tuple(head + "\n".join(told[:most]) for most in (len(told), 2) if told[:most])


def _told(other: Inspiration, task: Task) -> str:
    lines = difference(task.files, other.files)
    if not lines:
        return ""
    summary = f" ({_as_written(other.summary)})" if other.summary else ""
    head = f"{task.metric_name} {number(other.metric)}{summary}"
    if len(lines) > _DIFF_LINES:
        return f"- {head}: {len(lines)} lines differ"
    return "\n".join([f"- {head}:", *(f"  {line}" for line in lines)])


def difference(before: Files, after: Files) -> list[str]:
    """Return the lines that differ, marked with ``-`` and ``+``, without any around them."""
    found: list[str] = []
    for path in sorted(before.keys() | after.keys()):
        old, new = before.get(path, ""), after.get(path, "")
        changed = changed_lines(blocks_only(old), blocks_only(new))
        if changed and len(before.keys() | after.keys()) > 1:
            found.append(path)
        found += changed
    return found


def tried(task: Task) -> Versions:
    """Return what was made of this parent before and how it ended, latest last."""
    lines = [_ended(child, task) for child in task.tried if child.summary]
    lines = list(dict.fromkeys(lines))[-_TRIED:]
    if not lines:
        return ()
    head = "Already tried from this program, so do something else:\n"
    return tuple(head + "\n".join(lines[-most:]) for most in (_TRIED, 4))


def _ended(child: Tried, task: Task) -> str:
    metric = f", {task.metric_name} {number(child.metric)}" if child.metric is not None else ""
    return f"- {_as_written(child.summary)}: {child.outcome}{metric}"


def _as_written(summary: str) -> str:
    """Give a line from the ledger its commas back: code in it is copied as it is shown."""
    return summary.replace(";", ",")


def kinds(task: Task) -> Versions:
    """Return which kinds of change are worn and which are rare."""
    often = ", ".join(kind.value for kind in overused(task.kinds))
    seldom = ", ".join(kind.value for kind in underused(task.kinds))
    lines = []
    if often:
        lines.append(f"Kinds of change tried often and seldom kept: {often}.")
    if seldom:
        lines.append(f"Kinds of change hardly tried so far: {seldom}.")
    return ("\n".join(lines),) if lines else ()


def regions(task: Task) -> Versions:
    """Return where the map is empty."""
    return _listed("No program was found yet that is:", task.empty_regions)


def insights(task: Task) -> Versions:
    """Return the evaluator's remarks."""
    return _listed("Remarks of the evaluator on earlier programs:", task.insights)


def _listed(head: str, items: Sequence[str]) -> Versions:
    if not items:
        return ()
    lines = [f"- {' '.join(without_secrets(item).split())}" for item in items]
    return tuple("\n".join([head, *lines[:most]]) for most in (len(lines), 3))
