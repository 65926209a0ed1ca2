"""What the command line asks of a server: experiments, programs, the best results."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lae_controller.errors import ConfigError
from lae_controller.service.client import ApiClient

EVERYWHERE = "projects/-/locations/-/collections/-/engines/-/sessions/-"
"""All sessions of a server of ours; Google's servers want a real one."""

Wire = dict[str, Any]


def experiments(client: ApiClient, parent: str) -> list[Wire]:
    """Return the experiments of a session, the newest first."""
    return list(client.listed(f"{parent}/alphaEvolveExperiments", "alphaEvolveExperiments"))


def resolve(client: ApiClient, nick: str, parent: str) -> str:
    """Return the resource name that a nickname means.

    A nickname is the last segment of the name or the beginning of it, or the title.

    Raises:
        ConfigError: if it fits no experiment, or several.
    """
    if "/" in nick:
        return nick
    there = experiments(client, parent)
    for fits in (_is_id, _is_title, _begins):
        found = [wire["name"] for wire in there if fits(wire, nick)]
        if len(found) == 1:
            return str(found[0])
        if found:
            raise ConfigError(
                f"{nick} means several experiments: {', '.join(map(nick_of, found))}. Give the "
                "name of one"
            )
    known = ", ".join(nick_of(wire["name"]) for wire in there[:10]) or "none"
    raise ConfigError(f"{nick}: no experiment of that name; expected one of: {known}")


def _is_id(wire: Wire, nick: str) -> bool:
    return nick_of(wire["name"]) == nick


def _is_title(wire: Wire, nick: str) -> bool:
    return bool(wire.get("config", {}).get("title") == nick)


def _begins(wire: Wire, nick: str) -> bool:
    return nick_of(wire["name"]).startswith(nick)


def nick_of(name: str) -> str:
    """Return the last segment of a resource name."""
    return name.rpartition("/")[2]


def programs(
    client: ApiClient, experiment: str, state: str, order_by: str, most: int | None = None
) -> list[Wire]:
    """Return the programs of an experiment; ``state`` and ``order_by`` may be empty."""
    query = {"pageSize": str(min(most or 100, 100))}
    if state:
        query["stateFilter"] = state.upper()
    if order_by:
        query["orderBy"] = order_by
    name = f"{experiment}/alphaEvolvePrograms"
    return list(client.listed(name, "alphaEvolvePrograms", query, most))


def best(client: ApiClient, experiment: str, top: int, metric: str | None) -> list[Wire]:
    """Return the best programs by a metric; the seed program's first one if none is named.

    Raises:
        ConfigError: if nothing is scored yet.
    """
    metric = metric or _first_metric(client, experiment)
    return programs(client, experiment, "COMPLETED", f"{metric} desc", top)


def _first_metric(client: ApiClient, experiment: str) -> str:
    wire = client.call("GET", experiment)
    seed = wire.get("initialAlphaEvolveProgram")
    listed = scores(client.call("GET", seed)) if seed else {}
    if not listed:
        raise ConfigError(
            f"{nick_of(experiment)}: the seed program has no score yet; name --metric"
        )
    return next(iter(listed))


def scores(program: Wire) -> dict[str, float]:
    """Return the scores of a program: metric -> value; empty if it has none."""
    listed = program.get("evaluation", {}).get("scores", {}).get("scores", [])
    return {item["metric"]: item["score"] for item in listed}


def experiment_lines(wires: Iterable[Wire]) -> str:
    """Show experiments, one a line."""
    rows: list[tuple[str, ...]] = [("nick", "state", "programs", "created", "title")]
    for wire in wires:
        stats, config = wire.get("stats", {}), wire.get("config", {})
        done = stats.get("evaluatedCandidatesCount", 0)
        wanted = config.get("runSettings", {}).get("maxPrograms", "?")
        rows.append(
            (
                nick_of(wire["name"]),
                wire.get("state", "?"),
                f"{done}/{wanted}",
                wire.get("createTime", "")[:19],
                config.get("title", ""),
            )
        )
    return _table(rows)


def program_lines(wires: Iterable[Wire]) -> str:
    """Show programs, one a line."""
    rows: list[tuple[str, ...]] = [("id", "state", "scores", "parent", "description")]
    for wire in wires:
        listed = ", ".join(f"{name} {value:g}" for name, value in scores(wire).items())
        parents = " ".join(nick_of(name) for name in wire.get("parentPrograms", []))
        about = wire.get("content", {}).get("description", "")
        rows.append((nick_of(wire["name"]), wire.get("state", "?"), listed, parents, about[:60]))
    return _table(rows)


def _table(rows: list[tuple[str, ...]]) -> str:
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines = ("  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)
