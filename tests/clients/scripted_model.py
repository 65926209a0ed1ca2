"""A model that says what a test has written down, behind the four wire formats of coding agents.

One server answers Messages, Responses, Chat Completions and Gemini requests on the loopback. Which
step comes next is read off the conversation itself (how often the model has spoken in it), so
retries and side requests shift nothing. Which script it is, is decided by the conversation's first
words of a person: a sub-agent's conversation begins with its own task.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

_USAGE = {"input_tokens": 1000, "output_tokens": 50}


@dataclass(frozen=True)
class Say:
    """What the model says at one step: a text, or calls of tools as (name, input)."""

    text: str = ""
    calls: tuple[tuple[str, Mapping[str, Any]], ...] = ()


def call(tool: str, /, **given: Any) -> Say:
    return Say(calls=((tool, given),))


# A step may depend on what was seen so far: the person's words, then each tool's result and each
# notice of the client. A function at the end of a script speaks for the rest of the conversation.
Step = Say | Callable[[list[str]], Say]
Script = Sequence[Step]


@dataclass
class Model:
    """A running server.

    Attributes:
        scripts: text that a conversation's first words contain -> its script; tried in order.
        refuse: an HTTP status that every request is answered with; 0 for none.
        requests: (path, body) of each request, in the order of arrival.
        headers: of each request, as text.
    """

    scripts: Mapping[str, Script]
    url: str = ""
    refuse: int = 0
    requests: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    headers: list[str] = field(default_factory=list)

    def text(self, index: int) -> str:
        """Return one request's body as text."""
        return json.dumps(self.requests[index][1], ensure_ascii=False)

    def texts(self) -> list[str]:
        """Return all requests' bodies as text."""
        return [self.text(index) for index in range(len(self.requests))]

    def say(self, turns: Sequence[tuple[str, str]]) -> Say:
        """Choose the step for a conversation, given as (role, text) with results as ``tool``."""
        spoken = sum(role == "model" for role, _ in turns)
        asked = " ".join(text for role, text in turns if role == "person")
        for words, script in self.scripts.items():
            if words in asked:
                step = script[min(spoken, len(script) - 1)]
                if spoken >= len(script) and isinstance(step, Say):
                    return Say("The script has ended.")
                seen = [asked, *(text for role, text in turns if role in ("tool", "notice"))]
                return step if isinstance(step, Say) else _take(step, seen)
        return Say("Nothing was written down for this.")


def _take(step: Callable[[list[str]], Say], seen: list[str]) -> Say:
    """Take a step; one that does not fit what was seen is the end, and says so."""
    try:
        return step(seen)
    except (ValueError, LookupError, AttributeError) as error:
        return Say(f"The script cannot go on: {error!r} after {seen[-1][-2000:]}")


# -- the conversation, in each format ------------------------------------------------------------


def _text(content: Any) -> str:
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)


def _messages(body: dict[str, Any]) -> Iterator[tuple[str, str]]:
    first = True
    for message in body["messages"]:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if message["role"] == "assistant":
            yield "model", ""
            continue
        for block in blocks:
            if block["type"] == "tool_result":
                yield "tool", _result(block.get("content", ""))
            elif message["role"] == "user":
                yield "person" if first else "notice", block.get("text", "")
        first = first and message["role"] != "user"


def _result(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(block.get("text", "")) for block in content)


def _responses(body: dict[str, Any]) -> Iterator[tuple[str, str]]:
    speaking = False
    for item in body["input"]:
        kind = item.get("type", "message")
        mine = kind == "function_call" or item.get("role") == "assistant"
        if mine and not speaking:
            yield "model", ""
        speaking = mine
        if kind == "function_call_output":
            yield "tool", _text(item["output"])
        elif item.get("role") == "user":
            yield "person", _text(item["content"])


def _chat(body: dict[str, Any]) -> Iterator[tuple[str, str]]:
    roles = {"assistant": "model", "user": "person", "tool": "tool"}
    for message in body["messages"]:
        if message["role"] in roles:
            yield roles[message["role"]], _text(message.get("content") or "")


def _gemini(body: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for content in body["contents"]:
        for part in content["parts"]:
            if "functionResponse" in part:
                yield "tool", _text(part["functionResponse"]["response"])
            elif content.get("role") == "model":
                if "text" in part or "functionCall" in part:
                    yield "model", ""
                    break
            else:
                yield "person", part.get("text", "")


# -- the answer, in each format ------------------------------------------------------------------

Event = tuple[str, dict[str, Any]]


def _as_message(say: Say, body: dict[str, Any], number: int) -> Iterator[Event]:
    message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "content": []}
    start = {**message, "model": body["model"], "stop_reason": None, "usage": _USAGE}
    yield "message_start", {"message": {**start, "stop_sequence": None}}
    blocks = [{"type": "text", "text": say.text}] if say.text else []
    for index, (name, given) in enumerate(say.calls):
        used = {"type": "tool_use", "id": f"toolu_{number}_{index}", "name": name}
        blocks.append({**used, "input": json.dumps(given)})
    for index, block in enumerate(blocks):
        if block["type"] == "text":
            empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            empty = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": block["input"]}
        yield "content_block_start", {"index": index, "content_block": empty}
        yield "content_block_delta", {"index": index, "delta": delta}
        yield "content_block_stop", {"index": index}
    stop = {"stop_reason": "tool_use" if say.calls else "end_turn", "stop_sequence": None}
    yield "message_delta", {"delta": stop, "usage": _USAGE}
    yield "message_stop", {}


def _as_response(say: Say, body: dict[str, Any], number: int) -> Iterator[Event]:
    items: list[dict[str, Any]] = []
    if say.text:
        content = [{"type": "output_text", "text": say.text, "annotations": []}]
        message = {"type": "message", "id": f"msg_{number}", "role": "assistant"}
        items.append({**message, "status": "completed", "content": content})
    for index, (name, given) in enumerate(say.calls):
        call = {"type": "function_call", "id": f"fc_{number}_{index}", "name": name}
        called = {**call, "call_id": f"call_{number}_{index}", "arguments": json.dumps(given)}
        items.append({**called, "status": "completed"})
    response = {"id": f"resp_{number}", "object": "response", "model": body["model"]}
    yield "response.created", {"response": {**response, "status": "in_progress", "output": []}}
    for index, item in enumerate(items):
        yield "response.output_item.done", {"output_index": index, "item": item}
    done = {**response, "status": "completed", "output": items}
    yield "response.completed", {"response": {**done, "usage": {**_USAGE, "total_tokens": 1050}}}


def _as_chat(say: Say, body: dict[str, Any], number: int) -> Iterator[Event]:
    calls = [
        {"index": index, "id": f"call_{number}_{index}", "type": "function"}
        | {"function": {"name": name, "arguments": json.dumps(given)}}
        for index, (name, given) in enumerate(say.calls)
    ]
    chunk = {"id": f"chat_{number}", "object": "chat.completion.chunk", "model": body["model"]}
    delta = {"role": "assistant", "content": say.text} | ({"tool_calls": calls} if calls else {})
    yield "", {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    reason = "tool_calls" if calls else "stop"
    usage = {"prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050}
    last = {"index": 0, "delta": {}, "finish_reason": reason}
    yield "", {**chunk, "choices": [last], "usage": usage}


def _as_gemini(say: Say, _body: dict[str, Any], _number: int) -> Iterator[Event]:
    parts = [{"text": say.text}] if say.text else []
    calls = [{"functionCall": {"name": name, "args": given}} for name, given in say.calls]
    content = {"role": "model", "parts": [*parts, *calls]}
    candidate = {"content": content, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": 1000, "candidatesTokenCount": 50}
    yield "", {"candidates": [candidate], "usageMetadata": usage}


# -- the server ----------------------------------------------------------------------------------

Reader = Callable[[dict[str, Any]], Iterator[tuple[str, str]]]
Writer = Callable[[Say, dict[str, Any], int], Iterator[Event]]
FORMATS: Mapping[str, tuple[Reader, Writer]] = {
    "/messages": (_messages, _as_message),
    "/responses": (_responses, _as_response),
    "/chat/completions": (_chat, _as_chat),
    ":streamGenerateContent": (_gemini, _as_gemini),
    ":generateContent": (_gemini, _as_gemini),
}


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    model: Model


class _Handler(BaseHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        model = cast(_Server, self.server).model
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or "{}")
        path = self.path.partition("?")[0]
        model.requests.append((path, body))
        model.headers.append(str(self.headers))
        if model.refuse:
            self._refuse(model.refuse)
            return
        for ending, (read, write) in FORMATS.items():
            if path.endswith(ending):
                say = model.say(list(read(body)))
                self._answer(list(write(say, body, len(model.requests))), body, ending)
                return
        self.send_error(404)

    def _refuse(self, status: int) -> None:
        error = {"message": "refused", "code": status, "type": "invalid_request"}
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps({"type": "error", "error": error}).encode())

    def _answer(self, events: list[Event], body: dict[str, Any], ending: str) -> None:
        streamed = body.get("stream") or ending == ":streamGenerateContent"
        self.send_response(200)
        kind = "text/event-stream" if streamed else "application/json"
        self.send_header("content-type", kind)
        self.end_headers()
        if not streamed:
            self.wfile.write(json.dumps(events[-1][1]).encode())
            return
        for name, value in events:
            typed = {"type": name, **value} if name else value
            head = f"event: {name}\n" if name else ""
            self.wfile.write(f"{head}data: {json.dumps(typed)}\n\n".encode())


@contextmanager
def scripted_model(scripts: Mapping[str, Script], *, refuse: int = 0) -> Iterator[Model]:
    """Serve scripts on a free port of the loopback until the block is left."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.model = Model(scripts, f"http://127.0.0.1:{server.server_address[1]}", refuse)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.model
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
