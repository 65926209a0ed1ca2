"""Resource names: ``projects/…/sessions/{s}``, and the experiments, programs and operations below.

A name from a request is only ever compared with names that exist; no path is made of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lae_controller.service.api_errors import ApiError, Code

_SEGMENT = r"[A-Za-z0-9._~:@-]{1,128}"
_SESSION = "/".join(
    f"{collection}/(?P<{key}>{_SEGMENT})"
    for collection, key in (
        ("projects", "project"),
        ("locations", "location"),
        ("collections", "collection"),
        ("engines", "engine"),
        ("sessions", "session"),
    )
)
_SESSION_NAME = re.compile(_SESSION)
_EXPERIMENT_NAME = re.compile(rf"{_SESSION}/alphaEvolveExperiments/(?P<experiment>{_SEGMENT})")
_PROGRAM_NAME = re.compile(rf"{_EXPERIMENT_NAME.pattern}/alphaEvolvePrograms/(?P<id>{_SEGMENT})")
_OPERATION_NAME = re.compile(rf"{_EXPERIMENT_NAME.pattern}/operations/(?P<id>{_SEGMENT})")

ANY = "-"
"""In place of a segment of a session's name: all of them, when listing."""


@dataclass(frozen=True, slots=True)
class Session:
    """What holds experiments."""

    project: str
    location: str
    collection: str
    engine: str
    session: str

    def __str__(self) -> str:
        """Return the resource name."""
        return (
            f"projects/{self.project}/locations/{self.location}/collections/{self.collection}"
            f"/engines/{self.engine}/sessions/{self.session}"
        )

    def covers(self, other: Session) -> bool:
        """Say whether ``other`` is meant, where ``-`` stands for any segment."""
        pairs = (
            (self.project, other.project),
            (self.location, other.location),
            (self.collection, other.collection),
            (self.engine, other.engine),
            (self.session, other.session),
        )
        return all(wanted in (ANY, there) for wanted, there in pairs)


@dataclass(frozen=True, slots=True)
class Child:
    """An experiment, or a program or an operation of one.

    Attributes:
        id: of the program or operation; empty for the experiment itself.
    """

    session: Session
    experiment: str
    id: str = ""


def parse_session(name: str) -> Session:
    """Return the session that a name means.

    Raises:
        ApiError: if it is not the name of a session.
    """
    found = _matched(_SESSION_NAME, name, "projects/*/locations/*/collections/*/engines/*/sessions")
    return _session(found)


def parse_experiment(name: str) -> Child:
    """Return the experiment that a name means.

    Raises:
        ApiError: if it is not the name of an experiment.
    """
    found = _matched(_EXPERIMENT_NAME, name, "…/sessions/*/alphaEvolveExperiments")
    return Child(_session(found), found["experiment"])


def parse_program(name: str) -> Child:
    """Return the program that a name means.

    Raises:
        ApiError: if it is not the name of a program.
    """
    found = _matched(_PROGRAM_NAME, name, "…/alphaEvolveExperiments/*/alphaEvolvePrograms")
    return Child(_session(found), found["experiment"], found["id"])


def parse_operation(name: str) -> Child:
    """Return the operation that a name means.

    Raises:
        ApiError: if it is not the name of an operation.
    """
    found = _matched(_OPERATION_NAME, name, "…/alphaEvolveExperiments/*/operations")
    return Child(_session(found), found["experiment"], found["id"])


def experiment_name(session: Session, experiment: str) -> str:
    """Return the name of an experiment."""
    return f"{session}/alphaEvolveExperiments/{experiment}"


def _matched(pattern: re.Pattern[str], name: str, form: str) -> dict[str, str]:
    found = pattern.fullmatch(name)
    if found is None:
        raise ApiError(
            Code.INVALID_ARGUMENT,
            f"{name[:300]!r} is not a resource name; expected the form {form}/*, where each * is "
            "made of letters, digits and . _ ~ : @ -",
        )
    return found.groupdict()


def _session(found: dict[str, str]) -> Session:
    return Session(
        found["project"],
        found["location"],
        found["collection"],
        found["engine"],
        found["session"],
    )
