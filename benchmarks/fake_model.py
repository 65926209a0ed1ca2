"""A model that costs nothing: it answers a prompt with a change to one number of the program in it.

Speaks just enough of two APIs: OpenAI's chat completions and Anthropic's streamed Messages. The
program is found by its lines ``x0 = …``; a reply is a SEARCH/REPLACE block, as both peers ask for.

    python benchmarks/fake_model.py --port 8099 --latency 2
"""

from __future__ import annotations

import argparse
import json
import random
import re
import threading
import time
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

from rastrigin import mutate, parse

_FENCE = re.compile(r"```\w*\n(.*?)```", re.DOTALL)


def answer(prompts: Sequence[str], path: str, rng: random.Random) -> str:
    """Return the reply to the first prompt that holds a program."""
    replies = (reply_to(prompt, path, rng) for prompt in prompts)
    return next((reply for reply in replies if reply), "There is no program in this prompt.")


def reply_to(prompt: str, path: str, rng: random.Random) -> str:
    """Return a change to the first whole program of a prompt, the current one if it is marked.

    Empty if it holds none.

    Args:
        prompt: what the model is asked.
        path: a line that goes before the block; empty for none.
        rng: what the change is drawn from.
    """
    _, mark, rest = prompt.partition("# Current Program\n")
    for fenced in _FENCE.findall(rest if mark else prompt):
        try:
            parent = parse(fenced)
        except ValueError:
            continue
        child = mutate(parent, False, rng)
        changed = [
            pair for pair in zip(parent.lines, child.lines, strict=True) if len(set(pair)) > 1
        ]
        if not changed:
            return reply_to(prompt, path, rng)
        old, new = changed[0]
        block = f"<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n"
        return f"SUMMARY: {old} becomes {new}\nKIND: other\n{path}{block}"
    return ""


class Handler(BaseHTTPRequestHandler):
    """One request: wait, then answer in the API that was asked."""

    protocol_version = "HTTP/1.1"
    latency: ClassVar[float] = 0.0
    seed: ClassVar[int] = 0
    served: ClassVar[list[int]] = [0]
    lock: ClassVar[threading.Lock] = threading.Lock()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        """Answer a prompt."""
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with self.lock:
            number = self.served.pop()
            self.served.append(number + 1)
        time.sleep(self.latency)
        rng = random.Random(f"{self.seed}:{number}")
        # Latest first: where an answer is sent back, the program stands in an earlier turn.
        prompts = [_text(turn["content"]) for turn in reversed(body["messages"])]
        if self.path.endswith("/chat/completions"):
            self._send("application/json", json.dumps(_completion(answer(prompts, "", rng))))
        elif self.path.partition("?")[0].endswith("/messages"):
            events = _events(answer(prompts, "program.py\n", rng))
            self._send("text/event-stream", "".join(events))
        else:
            self.send_error(404)

    def _send(self, kind: str, text: str) -> None:
        raw = text.encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)


def _text(content: str | list[dict[str, Any]]) -> str:
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)


def _completion(text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    return {
        "id": "fake",
        "object": "chat.completion",
        "created": 0,
        "model": "fake",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050},
    }


def _events(text: str) -> Iterator[str]:
    """Yield the events of a streamed message."""
    message: dict[str, Any] = {
        "id": "msg_fake", "type": "message", "role": "assistant", "model": "fake", "content": [],
        "stop_reason": None, "stop_sequence": None,
        "usage": {"input_tokens": 1000, "output_tokens": 1},
    }  # fmt: skip
    delta = {"stop_reason": "end_turn", "stop_sequence": None}
    for event in (
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 50}},
        {"type": "message_stop"},
    ):
        yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"


def serve(latency: float, seed: int = 0, port: int = 0) -> ThreadingHTTPServer:
    """Start a server in threads of this process; its port is ``server_address[1]``."""
    handler = type("Fake", (Handler,), {"latency": latency, "seed": seed, "served": [0]})
    server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=8099)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before each answer")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    server = serve(options.latency, options.seed, options.port)
    print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
