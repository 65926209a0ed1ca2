"""The dashboard's memory: what was last seen of each run, made anew no more often than it pays.

Looking happens in threads of its own, so that API calls never wait behind it, and only while
somebody looks on.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TypeVar

from lae_controller.errors import LaeError
from lae_controller.parts import Core
from lae_controller.service.api_errors import ApiError, Code, not_found
from lae_controller.service.watched import Watched
from lae_controller.views.dashboard import moment
from lae_controller.views.dashboard.program import opened
from lae_controller.views.dashboard.texts import (
    Listed,
    now_html,
    program_html,
    runs_html,
    waiting_html,
)
from lae_controller.views.live.frame import Picture
from lae_controller.views.report.history import History, read_history
from lae_controller.views.report.make import sections

T = TypeVar("T")
Sources = Callable[[], Mapping[str, Watched]]

FRESH_S = 0.5
"""What was seen less than this ago is shown again."""

_REST = 8.0
"""Making the sections anew takes at most one part in nine of a processor."""


_KEPT = 8
"""So many runs are remembered beside the latest; others are read again when somebody looks."""


@dataclass(frozen=True, slots=True)
class Look:
    """What is seen at one moment.

    Attributes:
        version: of the sections; another whenever these were made anew.
        now: what runs, as HTML; empty while there is nothing to show.
    """

    version: str
    now: str
    can_stop: bool


@dataclass(frozen=True, slots=True)
class _Made:
    """The sections as they were last made.

    Attributes:
        core, history: what they were made from; None while there is nothing to show.
    """

    raw: bytes
    core: Core | None = None
    history: History | None = None
    picture: Picture | None = None


@dataclass
class _Entry:
    """What is remembered of one run; used by one thread at a time.

    Attributes:
        due: when the sections may be made anew, on the monotonic clock.
        under_way: the look that is being taken.
    """

    stamp: Hashable = None
    due: float = 0.0
    count: int = 0
    made: _Made | None = None
    seen: Look | None = None
    seen_at: float = 0.0
    under_way: Future[Look] | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)


class Board:
    """Looks at runs for everybody who has the dashboard open.

    Args:
        sources: gives what can be looked at now, by key.
    """

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._entries: dict[str, _Entry] = {}
        self._lock = threading.Lock()
        self._threads = ThreadPoolExecutor(max_workers=2, thread_name_prefix="lae-board")
        self._began = f"{time.time_ns():x}"

    def close(self) -> None:
        """Take no further look."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    def watched(self, key: str) -> Watched:
        """Return what a key names.

        Raises:
            ApiError: NOT_FOUND.
        """
        found = self._sources().get(key)
        if found is None:
            raise not_found(f"dashboard/{key[:100]}", "run")
        return found

    def runs(self) -> Future[str]:
        """Return the list of all runs, as HTML."""
        return self._submit(self._runs)

    def look(self, key: str) -> Future[Look]:
        """Return what is seen of a run; the same look for all who ask at a time.

        Raises:
            ApiError: NOT_FOUND.
        """
        watched = self.watched(key)
        with self._lock:
            entry = self._entries.setdefault(key, _Entry())
            if entry.under_way is not None and not entry.under_way.done():
                return entry.under_way
            if entry.seen is not None and time.monotonic() - entry.seen_at < FRESH_S:
                done: Future[Look] = Future()
                done.set_result(entry.seen)
                return done
            entry.under_way = self._submit(self._look, watched, entry)
            return entry.under_way

    def view(self, key: str) -> Future[bytes]:
        """Return the sections of a run as JSON: ``version``, ``html``, ``data``.

        Raises:
            ApiError: NOT_FOUND.
        """
        return self._submit(self._view, self.watched(key))

    def program(self, key: str, child_id: str) -> Future[str]:
        """Return one program of a run, as HTML.

        Raises:
            ApiError: NOT_FOUND if there is no such run. The future: if there is no such program.
        """
        return self._submit(self._program, self.watched(key), child_id)

    def _submit(self, work: Callable[..., T], *args: object) -> Future[T]:
        try:
            return self._threads.submit(work, *args)
        except RuntimeError:
            raise ApiError(Code.SERVICE_UNAVAILABLE, "the server is being stopped") from None

    # -- in a thread of the board ------------------------------------------------------------------

    def _entry(self, watched: Watched) -> _Entry:
        with self._lock:
            return self._entries.setdefault(watched.key, _Entry())

    def _runs(self) -> str:
        listed = []
        for watched in self._sources().values():
            made = self._entry(watched).made
            stands = watched.standing(None if made is None else made.history)
            listed.append(
                Listed(
                    watched.key,
                    watched.kind,
                    watched.name,
                    watched.where,
                    stands.word,
                    stands.sentence,
                )
            )
        return runs_html(listed)

    def _look(self, watched: Watched, entry: _Entry) -> Look:
        with entry.lock:
            made = self._made(watched, entry)
            now = ""
            if made.core is not None:
                frame = watched.frame(made.core, made.picture)
                now = now_html(frame, by_clients=watched.by_clients)
            look = Look(f"{self._began}-{entry.count}", now, watched.can_stop)
            entry.seen, entry.seen_at = look, time.monotonic()
            return look

    def _view(self, watched: Watched) -> bytes:
        entry = self._entry(watched)
        with entry.lock:
            made = self._made(watched, entry)
            version = json.dumps(f"{self._began}-{entry.count}").encode()
            return b'{"version":' + version + b"," + made.raw

    def _program(self, watched: Watched, child_id: str) -> str:
        entry = self._entry(watched)
        with entry.lock:
            made = self._made(watched, entry)
            found = None
            if made.core is not None and made.history is not None:
                found = opened(made.core, made.history, child_id)
                if found is not None:
                    return program_html(found, made.core.settings)
        raise ApiError(Code.NOT_FOUND, f"{child_id[:100]!r} is no program that was told here")

    def _made(self, watched: Watched, entry: _Entry) -> _Made:
        """Return the sections, made anew if there is news and the last time is long enough ago."""
        if entry.made is not None and time.monotonic() < entry.due:
            return entry.made
        began = time.thread_time()
        stamp = watched.stamp()
        if entry.made is not None and stamp == entry.stamp:
            return entry.made
        made = _make(watched)
        entry.made, entry.stamp = made, stamp
        entry.count += 1
        self._forget(entry)
        took = time.thread_time() - began
        entry.due = time.monotonic() + max(FRESH_S, _REST * took)
        return made

    def _forget(self, latest: _Entry) -> None:
        """Keep what was made of the few runs that were looked at last."""
        with self._lock:
            gone = self._entries.keys() - self._sources().keys()
            for key in gone:
                del self._entries[key]
            others = [it for it in self._entries.values() if it.made and it is not latest]
            for entry in sorted(others, key=lambda it: it.seen_at)[: -_KEPT or None]:
                entry.made = None


def _make(watched: Watched) -> _Made:
    """Read a run and make its sections; what goes wrong is what is shown."""
    now = f"{datetime.now(timezone.utc):%Y-%m-%d %H:%M:%S} UTC"
    try:
        core = watched.core()
        history = read_history(core)
        seen = moment.picture(core)
        if seen is None:
            return _Made(_waiting(watched, "The baseline is being told; children come after it."))
        shown = sections(core, history, now, watched.standing(history), watched.name, live=True)
    except LaeError as error:
        return _Made(_waiting(watched, str(error)))
    return _Made(_raw(shown.title, shown.html, shown.data), core, history, seen)


def _waiting(watched: Watched, sentence: str) -> bytes:
    said = f"{watched.standing(None).sentence} {sentence}"
    return _raw(watched.name, waiting_html(watched.name, said), None)


def _raw(title: str, html: str, data: object) -> bytes:
    """Return the JSON of a view, but for its beginning, which holds the version."""
    value = {"title": title, "html": html, "data": data}
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text[1:].encode()
