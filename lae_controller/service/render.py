"""Experiments, programs and operations as they are written on the wire."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lae_controller.service.book import SEED_ID, Book, Operation, ServedProgram
from lae_controller.service.content import SourceFile
from lae_controller.service.durations import time_text
from lae_controller.service.states import Action

_TYPES = "type.googleapis.com/google.cloud.discoveryengine.v1alpha."
_INTERNAL = 13  # google.rpc.Code


def experiment_to_wire(book: Book) -> dict[str, Any]:
    """Return the ``Experiment`` message."""
    usage = book.usage
    prompt = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    wire: dict[str, Any] = {
        "name": book.name,
        "config": book.config.to_wire(),
        "state": book.state.value,
        "createTime": time_text(book.created.at),
        "stats": {
            "candidatesCount": book.generated,
            "evaluatedCandidatesCount": book.evaluated,
            "inputTokenCount": str(prompt),
            "outputTokenCount": str(usage.output_tokens),
        },
    }
    if book.seed is not None:
        wire["initialAlphaEvolveProgram"] = program_name(book, SEED_ID)
    return wire


def program_name(book: Book, child: str) -> str:
    """Return the resource name of a program."""
    return f"{book.name}/alphaEvolvePrograms/{child}"


def program_to_wire(
    book: Book, program: ServedProgram, files: Sequence[SourceFile], token: str = ""
) -> dict[str, Any]:
    """Return the ``Program`` message.

    Args:
        files: its sources; empty while it is being made.
        token: the proof of having acquired it, for whoever just did.
    """
    wire: dict[str, Any] = {
        "name": program_name(book, program.id),
        "state": program.state.value,
        "createTime": time_text(program.created),
    }
    if program.parents:
        wire["parentPrograms"] = [program_name(book, parent) for parent in program.parents]
    if files:
        language = book.config.language
        content: dict[str, Any] = {"files": [file.to_wire(language) for file in files]}
        if program.description:
            content["description"] = program.description
        wire["content"] = content
    if program.evaluation is not None:
        wire["evaluation"] = program.evaluation.to_wire()
    if token:
        wire["lockToken"] = token
    return wire


def operation_to_wire(book: Book, operation: Operation) -> dict[str, Any]:
    """Return the ``Operation`` message: done once the search has begun, or could not."""
    kind = "Start" if operation.action is Action.START else "Resume"
    wire: dict[str, Any] = {
        "name": f"{book.name}/operations/{operation.id}",
        "metadata": {
            "@type": f"{_TYPES}AlphaEvolve{kind}ExperimentMetadata",
            "createTime": time_text(operation.created),
        },
        "done": operation.done,
    }
    if operation.done and operation.error:
        wire["error"] = {"code": _INTERNAL, "message": operation.error}
    elif operation.done:
        wire["response"] = {"@type": f"{_TYPES}AlphaEvolveExperiment", **experiment_to_wire(book)}
    return wire
