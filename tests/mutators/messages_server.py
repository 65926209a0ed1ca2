"""A server of the Messages API that says what a test has written down for it."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

USAGE = {
    "input_tokens": 1000,
    "cache_creation_input_tokens": 200,
    "cache_read_input_tokens": 300,
    "output_tokens": 1,
}
Step = Callable[["_Handler"], None]


@dataclass
class Request:
    body: dict[str, Any]
    headers: dict[str, str]

    @property
    def turns(self) -> list[tuple[str, str]]:
        return [(turn["role"], flat(turn["content"])) for turn in self.body["messages"]]


def flat(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


@dataclass
class MessagesServer:
    """Takes one step for each request; use it with ``with``."""

    steps: list[Step]
    requests: list[Request] = field(default_factory=list)

    def __enter__(self) -> MessagesServer:
        self._lock, self.over = threading.Lock(), threading.Event()
        script = self

        class Handler(_Handler):
            server_script = script

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.005,))
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.over.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    def next(self, request: Request) -> Step:
        with self._lock:
            self.requests.append(request)
            number = len(self.requests) - 1
            return self.steps[number] if number < len(self.steps) else status(418, "x", "no step")


class _Handler(BaseHTTPRequestHandler):
    server_script: MessagesServer
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        step = self.server_script.next(Request(json.loads(raw), headers))
        self.close_connection = True
        step(self)

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def head(self, code: int, kind: str, headers: dict[str, str] | None = None) -> None:
        self.send_response(code)
        for name, value in {"content-type": kind, **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("connection", "close")
        self.end_headers()

    def events(self, *events: dict[str, Any]) -> None:
        for event in events:
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        self.wfile.flush()


def _begin(handler: _Handler, text: str, thinking: str = "") -> None:
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": handler.server_script.requests[-1].body["model"],
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": USAGE,
    }
    handler.events({"type": "message_start", "message": message})
    blocks = [("thinking", thinking)] if thinking else []
    blocks += [("text", text)] if text else []
    for index, (kind, words) in enumerate(blocks):
        block = {"type": kind, kind: ""}
        handler.events({"type": "content_block_start", "index": index, "content_block": block})
        for part in (words[: len(words) // 2], words[len(words) // 2 :]):
            delta = {"type": f"{kind}_delta", kind: part}
            handler.events({"type": "content_block_delta", "index": index, "delta": delta})
        handler.events({"type": "content_block_stop", "index": index})


def reply(
    text: str,
    stop: str | None = "end_turn",
    *,
    output_tokens: int = 50,
    thinking: str = "",
    stop_details: dict[str, str] | None = None,
) -> Step:
    """Answer in full."""

    def step(handler: _Handler) -> None:
        handler.head(200, "text/event-stream")
        _begin(handler, text, thinking)
        delta = {"stop_reason": stop, "stop_sequence": None, "stop_details": stop_details}
        usage = {"output_tokens": output_tokens}
        handler.events({"type": "message_delta", "delta": delta, "usage": usage})
        handler.events({"type": "message_stop"})

    return step


def status(code: int, kind: str, message: str, **headers: str) -> Step:
    """Answer with an error instead of a stream; ``retry_after`` becomes ``retry-after``."""

    def step(handler: _Handler) -> None:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        handler.head(code, "application/json", named)
        error = {"type": kind, "message": message}
        handler.wfile.write(json.dumps({"type": "error", "error": error}).encode())

    return step


def broken(text: str, kind: str, message: str = "broken") -> Step:
    """Begin a reply, then send an error in the stream."""

    def step(handler: _Handler) -> None:
        handler.head(200, "text/event-stream")
        _begin(handler, text)
        handler.events({"type": "error", "error": {"type": kind, "message": message}})

    return step


def dropped(text: str) -> Step:
    """Begin a reply of a given length and hang up in the middle of it."""

    def step(handler: _Handler) -> None:
        handler.head(200, "text/event-stream", {"content-length": "100000"})
        _begin(handler, text)

    return step


def ended(text: str) -> Step:
    """Begin a reply and end the stream as if that were all."""

    def step(handler: _Handler) -> None:
        handler.head(200, "text/event-stream")
        _begin(handler, text)

    return step


def raw(body: str, kind: str = "text/event-stream") -> Step:
    """Answer with these bytes."""

    def step(handler: _Handler) -> None:
        handler.head(200, kind)
        handler.wfile.write(body.encode())

    return step


def hang(text: str = "") -> Step:
    """Begin a reply, if there is text, and say nothing more until the test is over."""

    def step(handler: _Handler) -> None:
        if text:
            handler.head(200, "text/event-stream")
            _begin(handler, text)
        handler.server_script.over.wait(20)

    return step


def trickle(word: str) -> Step:
    """Begin a reply and send one word after another until the test is over."""

    def step(handler: _Handler) -> None:
        handler.head(200, "text/event-stream")
        _begin(handler, word)
        delta = {"type": "text_delta", "text": word}
        with contextlib.suppress(OSError):  # the other side hangs up
            while not handler.server_script.over.wait(0.02):
                handler.events({"type": "content_block_delta", "index": 0, "delta": delta})

    return step


def always(step: Step, times: int = 50) -> Sequence[Step]:
    return [step] * times
