"""The OpenAPI 3.1 description, made from the table of messages that requests are read with."""

from __future__ import annotations

from typing import Any

from lae_controller import __version__
from lae_controller.service.fields import Field, Kind
from lae_controller.service.messages import MESSAGES, PROGRAM_STATES

_TYPES: dict[Kind, dict[str, Any]] = {
    Kind.STRING: {"type": "string"},
    Kind.BOOL: {"type": "boolean"},
    Kind.INT32: {"type": "integer", "format": "int32"},
    Kind.INT64: {"type": "string", "format": "int64"},
    Kind.FLOAT: {"type": "number"},
    Kind.ANY: {"type": "object"},
}
_SESSION = (
    "/v1alpha/projects/{project}/locations/{location}/collections/{collection}"
    "/engines/{engine}/sessions/{session}"
)
_EXPERIMENT = f"{_SESSION}/alphaEvolveExperiments/{{experiment}}"
_SEGMENT = {"type": "string", "pattern": "^[A-Za-z0-9._~:@-]{1,128}$"}
_LOCATION = {"type": "string", "enum": ["global", "us", "eu"]}
_PAGE = {
    "pageSize": {"type": "integer", "minimum": 0, "maximum": 999999999},
    "pageToken": {"type": "string"},
}
_LIST = {
    **_PAGE,
    "orderBy": {"type": "string", "description": "such as: accuracy desc, latency"},
    "stateFilter": {"type": "string", "enum": list(PROGRAM_STATES)},
}


def description(server: str) -> dict[str, Any]:
    """Return the whole document.

    Args:
        server: the address under which it was asked for.
    """
    return {
        "openapi": "3.1.0",
        "info": {"title": "AlphaEvolve API, self-hosted by lae", "version": __version__},
        "servers": [{"url": server}],
        "paths": _paths(),
        "components": {
            "schemas": {
                **{name: _schema(fields) for name, fields in MESSAGES.items()},
                **{f"{name}{_SENT}": _sent(fields) for name, fields in MESSAGES.items()},
                "Error": _ERROR,
                "Html": _object(html="string"),
                "Said": _object(said="string"),
                "View": _object(version="string", title="string", html="string", data=_ANY),
            },
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


_SENT = "Sent"
"""Behind the name of a message: as a request may hold it, without what the server alone sets."""

_ERROR: dict[str, Any] = {
    "type": "object",
    "required": ["error"],
    "additionalProperties": False,
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message", "status", "details"],
            "additionalProperties": False,
            "properties": {
                "code": {"type": "integer"},
                "message": {"type": "string"},
                "status": {"type": "string"},
                "details": {"type": "array", "items": {"type": "object"}},
            },
        }
    },
}


def _paths() -> dict[str, Any]:
    programs = f"{_EXPERIMENT}/alphaEvolvePrograms"
    verbs = {
        "start": ("StartRequest", "Operation"),
        "resume": ("ResumeRequest", "Operation"),
        "stop": ("StopRequest", "Experiment"),
        "acquirePrograms": ("AcquireRequest", "AcquireResponse"),
        "submitProgramsEvaluations": ("SubmitRequest", "Empty"),
    }
    paths = {
        f"{_SESSION}/alphaEvolveExperiments": {
            "post": _method("createExperiment", "Experiment", "Experiment"),
            "get": _method("listExperiments", None, "ListExperimentsResponse", _PAGE),
        },
        _EXPERIMENT: {
            "get": _method("getExperiment", None, "Experiment"),
            "delete": _method("deleteExperiment", None, "Empty"),
        },
        programs: {
            "post": _method("createProgram", "Program", "Program"),
            "get": _method("listPrograms", None, "ListProgramsResponse", _LIST),
        },
        f"{programs}/{{program}}": {"get": _method("getProgram", None, "Program")},
        f"{_EXPERIMENT}/operations/{{operation}}": {
            "get": _method("getOperation", None, "Operation")
        },
        **{
            f"{_EXPERIMENT}:{verb}": {"post": _method(verb, request, reply)}
            for verb, (request, reply) in verbs.items()
        },
    }
    paths[f"{_EXPERIMENT}:acquirePrograms"]["post"]["responses"]["204"] = {
        "description": "nothing to hand out at present: wait, and ask again"
    }
    paths.update(_dashboard_paths())
    return {path: {"parameters": _segments(path), **methods} for path, methods in paths.items()}


def _dashboard_paths() -> dict[str, Any]:
    """Return the dashboard's data; its events, which never end, are described in words alone."""
    one = "/dashboard/data/runs/{run}"
    stop = _method("stopRun", None, "Said")
    stop["parameters"] = [
        {
            "name": "x-lae-dashboard",
            "in": "header",
            "required": True,
            "description": "anything; a page of another site cannot send it",
            "schema": {"type": "string", "pattern": "^[0-9a-z]{1,20}$"},
        }
    ]
    return {
        "/dashboard/data/runs": {"get": _method("listRuns", None, "Html")},
        one: {"get": _method("viewRun", None, "View")},
        f"{one}/programs/{{child}}": {"get": _method("openProgram", None, "Html")},
        f"{one}:stop": {"post": stop},
    }


def _segments(path: str) -> list[dict[str, Any]]:
    names = [part.partition("}")[0] for part in path.split("{")[1:]]
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": _LOCATION if name == "location" else _SEGMENT,
        }
        for name in names
    ]


def _method(
    name: str, request: str | None, reply: str, asked: dict[str, Any] | None = None
) -> dict[str, Any]:
    method: dict[str, Any] = {
        "operationId": name,
        "parameters": [
            {"name": key, "in": "query", "required": False, "schema": schema}
            for key, schema in (asked or {}).items()
        ],
        "responses": {
            "200": {"description": "done", "content": _json(reply)},
            "default": {"description": "refused; nothing was changed", "content": _json("Error")},
        },
    }
    if request is not None:
        method["requestBody"] = {"required": True, "content": _json(request + _SENT)}
    return method


def _json(message: str) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{message}"}}}


_ANY: dict[str, Any] = {}


def _object(**properties: str | dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an object that has exactly these properties; a word is their type."""
    typed = {
        name: {"type": kind} if isinstance(kind, str) else kind for name, kind in properties.items()
    }
    return {
        "type": "object",
        "required": list(typed),
        "additionalProperties": False,
        "properties": typed,
    }


def _schema(fields: tuple[Field, ...]) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {field.name: _property(field, "") for field in fields},
    }


def _sent(fields: tuple[Field, ...]) -> dict[str, Any]:
    """Return the schema of a message in a request, in the usual spelling."""
    wanted = [field for field in fields if not field.output]
    schema = _schema(())
    schema["properties"] = {field.name: _property(field, _SENT) for field in wanted}
    required = [field.name for field in wanted if field.required]
    return {**schema, "required": required} if required else schema


def _property(field: Field, suffix: str) -> dict[str, Any]:
    if field.kind is Kind.MESSAGE:
        schema: dict[str, Any] = {"$ref": f"#/components/schemas/{field.message}{suffix}"}
    else:
        schema = dict(_TYPES[field.kind])
    if field.choices:
        schema["enum"] = list(field.choices)
    if field.form == "date-time":
        schema["format"] = "date-time"
    if field.repeated:
        schema = {"type": "array", "items": schema}
    return {**schema, "description": field.about}
