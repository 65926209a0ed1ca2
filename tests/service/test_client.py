from __future__ import annotations

import http.server
import json
import random
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from lae_controller.errors import ConfigError, PrerequisiteError
from lae_controller.service.backoff import Backoff
from lae_controller.service.client import ApiClient, RemoteError
from lae_controller.service.credentials import token_for
from lae_controller.service.verbs import resolve

BUSY = json.dumps(
    {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "slow down", "details": []}}
)


class Scripted(http.server.ThreadingHTTPServer):
    """A server that gives prepared replies in turn and remembers what it was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.replies: list[tuple[int, str]] = []
        self.asked: list[tuple[str, str, str | None, Any]] = []


class Handler(http.server.BaseHTTPRequestHandler):
    server: Scripted

    def _reply(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = json.loads(raw) if raw else None
        self.server.asked.append((self.command, self.path, self.headers.get("Authorization"), body))
        status, text = self.server.replies.pop(0)
        if status == 0:
            self.close_connection = True  # hangs up without a word
            return
        self.send_response(status)
        if text == "{":
            self.send_header("Content-Length", "100")  # and the connection breaks before it is sent
        self.end_headers()
        self.wfile.write(text.encode())

    do_GET = do_POST = do_DELETE = _reply  # noqa: N815 - names of the base class

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Scripted]:
    scripted = Scripted()
    thread = threading.Thread(target=scripted.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield scripted
    finally:
        scripted.shutdown()
        thread.join()
        scripted.server_close()


def client_of(server: Scripted, pauses: list[float], token: str | None = None) -> ApiClient:
    url = f"http://127.0.0.1:{server.server_address[1]}"
    backoff = Backoff(first=1.0, most=4.0, tries=4)
    return ApiClient(url, lambda: token, random.Random(3), backoff, pauses.append)


def test_a_busy_server_and_a_broken_connection_are_asked_again(server: Scripted) -> None:
    server.replies = [(429, BUSY), (200, "{"), (0, ""), (200, '{"a": 1}')]
    pauses: list[float] = []
    client = client_of(server, pauses, token="secret")
    assert client.call("POST", "p/x:acquirePrograms", {"n": 1}) == {"a": 1}
    assert len(pauses) == 3
    assert all(0 <= pause <= cap for pause, cap in zip(pauses, (1, 2, 4), strict=True))
    expected = ("POST", "/v1alpha/p/x:acquirePrograms", "Bearer secret", {"n": 1})
    assert server.asked == [expected] * 4


def test_after_some_tries_the_reason_is_told(server: Scripted) -> None:
    server.replies = [(429, BUSY)] * 4
    with pytest.raises(RemoteError, match="429 RESOURCE_EXHAUSTED: slow down"):
        client_of(server, []).call("GET", "p")


@pytest.mark.parametrize(
    ("status", "text", "said"),
    [
        (400, BUSY.replace("429", "400"), "400 RESOURCE_EXHAUSTED: slow down"),
        (404, "<html>no</html>", "404 UNKNOWN: <html>no</html>"),
        (500, "", "500 UNKNOWN: no details"),
    ],
)
def test_another_refusal_is_told_at_once(
    server: Scripted, status: int, text: str, said: str
) -> None:
    server.replies = [(status, text)]
    with pytest.raises(RemoteError, match=said):
        client_of(server, []).call("GET", "p")


def test_a_reply_that_is_no_object_is_an_error(server: Scripted) -> None:
    server.replies = [(200, "[1]"), (200, "<html>")]
    for shown in (r"\[1\]", "<html>"):
        with pytest.raises(RemoteError, match=f"the reply is no JSON object: b'{shown}'"):
            client_of(server, []).call("GET", "p")


def test_an_empty_queue_is_an_empty_object(server: Scripted) -> None:
    server.replies = [(204, "")]
    assert client_of(server, []).call("POST", "p", {}) == {}


def test_lists_are_followed_page_by_page_up_to_a_number(server: Scripted) -> None:
    server.replies = [
        (200, '{"k": [1, 2], "nextPageToken": "t&"}'),
        (200, '{"k": [3, 4], "nextPageToken": "u"}'),
    ]
    assert list(client_of(server, []).listed("p", "k", {"orderBy": "a desc"}, 3)) == [1, 2, 3]
    assert [path for _, path, _, _ in server.asked] == [
        "/v1alpha/p?orderBy=a+desc",
        "/v1alpha/p?orderBy=a+desc&pageToken=t%26",
    ]


@pytest.mark.parametrize("address", ["127.0.0.1:8080", "ftp://x", "http://", ""])
def test_an_address_must_be_one(address: str) -> None:
    with pytest.raises(ConfigError, match="expected an address such as"):
        ApiClient(address, lambda: None, random.Random(1))


def test_a_nickname_is_an_id_a_title_or_a_beginning(server: Scripted) -> None:
    wires = [
        {"name": "s/alphaEvolveExperiments/pack-1", "config": {"title": "Pack"}},
        {"name": "s/alphaEvolveExperiments/pack-12", "config": {"title": "Sort"}},
    ]
    reply = (200, json.dumps({"alphaEvolveExperiments": wires}))
    server.replies = [reply] * 6
    client = client_of(server, [])
    assert resolve(client, "pack-1", "s").endswith("/pack-1")
    assert resolve(client, "Sort", "s").endswith("/pack-12")
    assert resolve(client, "pack-12", "s").endswith("/pack-12")
    with pytest.raises(ConfigError, match="pack means several experiments: pack-1, pack-12"):
        resolve(client, "pack", "s")
    with pytest.raises(ConfigError, match="expected one of: pack-1, pack-12"):
        resolve(client, "sort", "s")
    assert resolve(client, "any/full/name", "s") == "any/full/name"


def test_tokens_come_from_a_file_or_the_environment(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "token").write_text("from file\n")
    monkeypatch.setenv("LAE_SERVE_TOKEN", "from env")
    assert token_for("http://127.0.0.1:1", tmp_path / "token")() == "from file"
    assert token_for("http://127.0.0.1:1", None)() == "from env"
    monkeypatch.delenv("LAE_SERVE_TOKEN")
    assert token_for("https://notgoogleapis.com", None)() is None


def test_google_s_servers_need_google_s_credentials(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none.json"))
    with pytest.raises(PrerequisiteError, match="gcloud auth application-default|lae-controller"):
        token_for("https://us-discoveryengine.googleapis.com", None)
