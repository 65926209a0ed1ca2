from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from serve_helpers import (
    PROGRAM,
    SESSION,
    Answer,
    a_program,
    an_evaluation,
    call,
    config_wire,
    running_service,
)

pytest.importorskip("starlette")

from lae_controller.service.app import make_app

PARENT = f"/v1alpha/{SESSION}"
LIST = f"{PARENT}/alphaEvolveExperiments"


class Server:
    """A server without its socket."""

    def __init__(self, folder: Path, service: Any) -> None:
        self.folder = folder
        self.app = make_app(service, "127.0.0.1", None)

    def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return call(self.app, method, path, body, named)

    def create(self, **run: Any) -> str:
        """Create an experiment; return its path."""
        answer = self("POST", LIST, {"config": config_wire(**run)})
        assert answer.status == 200, answer.raw
        return f"/v1alpha/{answer.json['name']}"

    def started(self, score: float | None = None, **run: Any) -> str:
        """Create, seed and start; without a score the seed is the one program to acquire."""
        path = self.create(**run)
        assert self("POST", f"{path}/alphaEvolvePrograms", a_program(score)).status == 200
        answer = self("POST", f"{path}:start", {"name": path.removeprefix("/v1alpha/")})
        self.done(answer.json["name"])
        return path

    def done(self, operation: str) -> Any:
        """Wait until an operation is done, and return it."""
        for _ in range(10_000):
            answer = self("GET", f"/v1alpha/{operation}")
            if answer.json["done"]:
                return answer.json
        raise AssertionError(f"{operation} is not done")

    def files(self) -> dict[str, bytes]:
        """Return what experiments there are, and what their callers did so far."""
        return {str(p): p.read_bytes() for p in self.folder.rglob("experiments/*/journal.jsonl")}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("served")
    with running_service(folder) as service:
        yield Server(folder, service)


def submission(name: str, token: str, evaluation: Any) -> dict[str, Any]:
    one = {"program": name, "lockToken": token, "evaluation": evaluation}
    return {"evaluationSubmissions": [one]}


# -- what works ----------------------------------------------------------------------------------


def test_an_experiment_is_created_with_its_defaults_filled_in(server: Server) -> None:
    answer = server("POST", LIST, {"config": config_wire()})
    assert answer.json["state"] == "CREATED"
    assert answer.json["config"]["runSettings"]["idleTimeout"] == "7200s"
    assert answer.json["config"]["generationSettings"]["models"] == [
        {"name": "offline", "weight": 1.0}
    ]
    path = f"/v1alpha/{answer.json['name']}"
    assert server("GET", path).json == answer.json
    assert answer.json["name"] in [
        it["name"] for it in server("GET", LIST).json["alphaEvolveExperiments"]
    ]


def test_a_seed_is_acquired_and_scored_in_both_spellings(server: Server) -> None:
    path = server.started()
    name = path.removeprefix("/v1alpha/")
    body = {"parent": name, "desired_programs_count": 3}
    (held,) = server("POST", f"{path}:acquirePrograms", body).json["programs"]
    assert held["state"] == "EVALUATING"
    assert held["content"]["files"][0] == {
        "path": "initial_program.py",
        "content": PROGRAM,
        "programLanguage": "python",
    }
    assert server("POST", f"{path}:acquirePrograms", {}).status == 204
    one = {"program": held["name"], "lock_token": held["lockToken"]}
    sent = {
        "parent": name,
        "evaluation_submissions": [{**one, "evaluation": an_evaluation({"m": 2})}],
    }
    answer = server("POST", f"{path}:submitProgramsEvaluations", sent)
    assert (answer.status, answer.json) == (200, {})
    shown = server("GET", f"/v1alpha/{held['name']}").json
    assert shown["state"] == "COMPLETED"
    assert shown["evaluation"] == an_evaluation({"m": 2.0})
    assert "lockToken" not in shown
    server("POST", f"{path}:stop", {})


def test_an_operation_ends_with_the_experiment(server: Server) -> None:
    path = server.create()
    server("POST", f"{path}/alphaEvolvePrograms", a_program(None))
    operation = server("POST", f"{path}:start", {"initialProgram": {"name": "ignored"}}).json
    assert operation["done"] is False
    assert operation["metadata"]["@type"].endswith("AlphaEvolveStartExperimentMetadata")
    shown = server.done(operation["name"])
    assert shown["response"]["name"] == path.removeprefix("/v1alpha/")
    assert "error" not in shown
    assert server("POST", f"{path}:stop", {}).json["state"] == "PAUSED"
    assert server("POST", f"{path}:acquirePrograms", {}).status == 204


def test_lists_take_every_spelling(server: Server) -> None:
    path = server.create()
    server("POST", f"{path}/alphaEvolvePrograms", a_program(0.5))
    for query in (
        "stateFilter=COMPLETED&orderBy=steep%20desc&pageSize=1",
        "state_filter=COMPLETED&order_by=steep+desc&page_size=1&alt=json",
        'filter=state="COMPLETED"&pageSize=100&$.xgafv=1',
        "",
    ):
        found = server("GET", f"{path}/alphaEvolvePrograms?{query}").json
        assert [it["state"] for it in found["alphaEvolvePrograms"]] == ["COMPLETED"]
        assert "nextPageToken" not in found
    assert server("GET", f"{path}/alphaEvolvePrograms?stateFilter=EVALUATING").json == {
        "alphaEvolvePrograms": []
    }


def test_experiments_come_in_pages_of_all_sessions(server: Server) -> None:
    for _ in range(3):
        server.create()
    everywhere = "/v1alpha/projects/-/locations/-/collections/-/engines/-/sessions/-"
    seen: list[str] = []
    token = ""
    while True:
        page = server(
            "GET", f"{everywhere}/alphaEvolveExperiments?pageSize=2&pageToken={token}"
        ).json
        seen += [it["name"] for it in page["alphaEvolveExperiments"]]
        token = page.get("nextPageToken", "")
        if not token:
            break
    assert len(seen) == len(set(seen)) >= 3


def test_deleted_is_gone_from_the_disk_too(server: Server) -> None:
    path = server.create()
    nick = path.rpartition("/")[2]
    assert any(nick in str(name) for name in server.folder.rglob("*"))
    assert server("DELETE", path).json == {}
    assert server("GET", path).status == 404
    assert server("DELETE", path).status == 404
    assert not any(nick in str(name) for name in server.folder.rglob("*"))


def test_google_s_clients_find_their_session_and_token(server: Server) -> None:
    server.create()
    engine = PARENT.rpartition("/sessions/")[0]
    sessions = server("GET", f"{engine}/sessions?pageSize=100").json["sessions"]
    assert str(SESSION) in [it["name"] for it in sessions]
    made = server("POST", f"{engine}/sessions", {"display_name": "x"}).json["name"]
    assert server("GET", f"/v1alpha/{made}").json["name"] == made
    assert server("GET", f"/v1alpha/{made}/alphaEvolveExperiments").json == {
        "alphaEvolveExperiments": []
    }
    assist = f"{engine}/assistants/default_assistant:streamAssist"
    (reply,) = server("POST", assist, {"query": {"text": "x"}}).json
    assert reply["sessionInfo"]["session"].startswith(engine.removeprefix("/v1alpha/"))
    assert server("POST", "/token", b"grant_type=x").json["token_type"] == "Bearer"
    collection = engine.rpartition("/engines/")[0]
    assert server("GET", f"{collection}/engines").json["engines"][0]["displayName"] == "eng"


# -- what is refused, and changes nothing ---------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({}, "config is missing"),
        ({"config": {**config_wire(), "notes": "x"}}, "config.notes is not a field"),
        ({"config": config_wire(maxPrograms=1)}, "expected more than 1"),
        ({"config": config_wire(maxPrograms="two")}, 'maxPrograms is "two"'),
        ([], "the body is a list; expected an object"),
        (b"{", "the body cannot be read"),
        (b'{"config": {"title": "a", "title": "b"}}', "'title' is given twice"),
    ],
)
def test_a_bad_experiment_is_not_created(server: Server, body: Any, said: str) -> None:
    before = server.files()
    answer = server("POST", LIST, body)
    assert (answer.status, answer.error["status"]) == (400, "INVALID_ARGUMENT")
    assert answer.error["code"] == 400
    assert said in answer.error["message"]
    assert server.files() == before


def test_another_location_is_a_failed_precondition(server: Server) -> None:
    path = LIST.replace("/global/", "/asia-east1/")
    answer = server("POST", path, {"config": config_wire()})
    assert (answer.status, answer.error["status"]) == (400, "FAILED_PRECONDITION")
    assert "'asia-east1'" in answer.error["message"]


@pytest.mark.parametrize(
    ("change", "status", "said"),
    [
        (lambda s: {**s, "evaluationSubmissions": []}, "INVALID_ARGUMENT", "holds 0 evaluations"),
        (
            lambda s: {"evaluationSubmissions": s["evaluationSubmissions"] * 2},
            "INVALID_ARGUMENT",
            "holds 2 evaluations; expected exactly one",
        ),
        (lambda s: _with(s, program=None), "INVALID_ARGUMENT", "program is missing"),
        (lambda s: _with(s, lockToken=None), "INVALID_ARGUMENT", "lockToken is missing"),
        (lambda s: _with(s, evaluation=None), "INVALID_ARGUMENT", "evaluation is missing"),
        (lambda s: _with(s, lockToken="x"), "FAILED_PRECONDITION", "another lock token than 'x'"),
        (lambda s: _with(s, lockToken="\u00e9"), "FAILED_PRECONDITION", "another lock token"),
        (lambda s: _with(s, program="nobody"), "INVALID_ARGUMENT", "not a resource name"),
        (
            lambda s: _with(s, program=s["evaluationSubmissions"][0]["program"][:-1] + "7"),
            "NOT_FOUND",
            "no such program",
        ),
        (
            lambda s: _with(
                s, program=s["evaluationSubmissions"][0]["program"].replace("/eng/", "/e2/")
            ),
            "INVALID_ARGUMENT",
            "expected a program of",
        ),
        (lambda s: _with(s, evaluation=an_evaluation({})), "INVALID_ARGUMENT", "is empty"),
        (
            lambda s: _with(
                s, evaluation={"scores": {"scores": [{"metric": "m", "score": "NaN"}]}}
            ),
            "INVALID_ARGUMENT",
            "score is nan",
        ),
        (lambda s: {**s, "parent": "projects/other"}, "INVALID_ARGUMENT", "as in the path"),
        (lambda s: json.dumps(s).replace("2.0", "NaN").encode(), "INVALID_ARGUMENT", "NaN"),
        (lambda s: _with(s, worker="me"), "INVALID_ARGUMENT", "worker is not a field"),
    ],
)
def test_a_bad_submission_changes_nothing(
    server: Server, change: Any, status: str, said: str
) -> None:
    path = server.started()
    (held,) = server("POST", f"{path}:acquirePrograms", {}).json["programs"]
    before = server.files()
    good = submission(held["name"], held["lockToken"], an_evaluation({"m": 2.0}))
    answer = server("POST", f"{path}:submitProgramsEvaluations", change(good))
    assert answer.error["status"] == status
    assert said in answer.error["message"]
    assert server.files() == before
    server("POST", f"{path}:stop", {})
    assert server("POST", f"{path}:submitProgramsEvaluations", good).status == 200


def _with(body: dict[str, Any], **changes: Any) -> dict[str, Any]:
    (one,) = body["evaluationSubmissions"]
    return {"evaluationSubmissions": [{**one, **changes}]}


@pytest.mark.parametrize(
    ("method", "end", "body", "status", "said"),
    [
        ("POST", ":start", {}, "FAILED_PRECONDITION", "has no seed program"),
        ("POST", ":resume", {}, "FAILED_PRECONDITION", "state CREATED cannot take RESUME"),
        ("POST", ":stop", {}, "FAILED_PRECONDITION", "state CREATED cannot take STOP"),
        ("POST", ":start", {"name": "projects/x"}, "INVALID_ARGUMENT", "as in the path"),
        ("POST", ":acquirePrograms", {"desiredProgramsCount": -1}, "INVALID_ARGUMENT", "at least"),
        ("POST", ":acquirePrograms", {"count": 1}, "INVALID_ARGUMENT", "count is not a field"),
        ("POST", "/alphaEvolvePrograms", {}, "INVALID_ARGUMENT", "at least one source file"),
        ("GET", "/alphaEvolvePrograms?color=red", None, "INVALID_ARGUMENT", "not a query param"),
        ("GET", "/alphaEvolvePrograms?stateFilter=DONE", None, "INVALID_ARGUMENT", "expected one"),
        ("GET", "/alphaEvolvePrograms?pageToken=x", None, "INVALID_ARGUMENT", "pageToken"),
        ("GET", "/alphaEvolvePrograms?pageSize=x", None, "INVALID_ARGUMENT", "pageSize"),
        ("GET", "/alphaEvolvePrograms?orderBy=a&order_by=b", None, "INVALID_ARGUMENT", "twice"),
        ("GET", "?alt=media", None, "INVALID_ARGUMENT", "json, the only form"),
        ("GET", "/alphaEvolvePrograms/g1-i0-a0", None, "NOT_FOUND", "no such program"),
        ("GET", "/operations/start-1", None, "NOT_FOUND", "no such operation"),
        ("GET", "/alphaEvolvePrograms/..%2f..", None, "INVALID_ARGUMENT", "not a resource name"),
    ],
)
def test_what_a_fresh_experiment_does_not_take(
    server: Server, method: str, end: str, body: Any, status: str, said: str
) -> None:
    path = server.create()
    before = server.files()
    answer = server(method, f"{path}{end}", body)
    assert answer.error["status"] == status
    assert said in answer.error["message"]
    assert server.files() == before


@pytest.mark.parametrize(
    "path",
    [
        f"{LIST}/nobody",
        f"{LIST}/nobody:start",
        f"{LIST}/../../../../x",
        f"{LIST}/.nobody/alphaEvolvePrograms",
        "/v1alpha/projects/1/other",
        "/v1/projects/1",
    ],
)
def test_what_is_not_there_is_not_found(server: Server, path: str) -> None:
    method = "POST" if path.endswith(":start") else "GET"
    answer = server(method, path, {} if method == "POST" else None)
    assert (answer.status, answer.error["status"]) == (404, "NOT_FOUND")


def test_an_experiment_is_found_in_its_own_session_only(server: Server) -> None:
    path = server.create()
    assert server("GET", path.replace("/sessions/s1/", "/sessions/s2/")).status == 404


def test_another_method_is_refused_with_those_that_are_allowed(server: Server) -> None:
    answer = server("QUERY", LIST, {})
    assert (answer.status, answer.headers["allow"]) == (405, "GET, POST")


def test_a_body_over_the_limit_is_refused(server: Server) -> None:
    long = b'{"config": "' + b"x" * (16 << 20) + b'"}'
    for headers in ({}, {"content_length": str(len(long))}, {"content_length": "many"}):
        answer = server("POST", LIST, long, **headers)
        assert answer.error["status"] == "INVALID_ARGUMENT"
        assert "the body is too long" in answer.error["message"]


def test_headers_over_the_limit_are_refused(server: Server) -> None:
    assert server("GET", LIST, x_much="x" * 20_000).status == 431


def test_random_bodies_neither_break_nor_change_anything(server: Server) -> None:
    import random

    path = server.started()
    (held,) = server("POST", f"{path}:acquirePrograms", {}).json["programs"]
    good = [
        (LIST, {"config": config_wire()}),
        (f"{path}/alphaEvolvePrograms", a_program()),
        (f"{path}:start", {}),
        (f"{path}:resume", {}),
        (
            f"{path}:submitProgramsEvaluations",
            submission(held["name"], "t" * 24, an_evaluation({"m": 1.0})),
        ),
    ]
    before = server.files()
    rng = random.Random(7)
    for _ in range(1_000):
        where, body = rng.choice(good)
        answer = server("POST", where, _mangled(rng, body))
        assert 400 <= answer.status < 500, answer.raw
        assert answer.error["message"]
    assert server.files() == before
    server("POST", f"{path}:stop", {})


def _mangled(rng: Any, body: Any) -> bytes:
    """Return a body with one thing wrong: its bytes, a type, or a name."""
    kind = rng.randrange(4)
    if kind == 0:
        raw = bytearray(json.dumps(body).encode() or b"{}")
        for _ in range(rng.randint(1, 4)):
            raw[rng.randrange(len(raw))] = rng.choice(b'\x00\xff{}[]",:')
        return b"{" + bytes(raw)
    if kind == 1:
        return rng.choice([b"null", b"[]", b"1", b'"x"', b"NaN", b"{}}", b"\xf0\x28", b"true"])
    wrong = rng.choice([[], 7, True, {"deep": [{}]}, "\u2028", 1e308])
    name = rng.choice(["confg", "x" * 300, "", "\ud7ff", "__class__"])
    return json.dumps({**body, name: wrong}).encode()


def test_the_description_covers_every_method(server: Server) -> None:
    document = server("GET", "/openapi.json").json
    methods = sum(
        len([key for key in item if key != "parameters"])
        for path, item in document["paths"].items()
        if path.startswith("/v1alpha/")
    )
    assert methods == 13  # the twelve of v1alpha, and :stop
    refs = json.dumps(document).split('"$ref": "#/components/schemas/')[1:]
    assert {ref.partition('"')[0] for ref in refs} <= set(document["components"]["schemas"])
