"""Lists: order by metrics, a filter by state, and pages that do not shift while programs come in.

A page token holds the place of the last item that was given, not a number of items: what is added
before it changes nothing about the next page.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

from lae_controller.service import limits
from lae_controller.service.api_errors import ApiError, Code, invalid
from lae_controller.service.book import ServedProgram
from lae_controller.service.messages import PROGRAM_STATES
from lae_controller.service.states import ProgramState

T = TypeVar("T")
Place = tuple[float | str, ...]

_STATE_TERM = re.compile(
    r"""(?:state_filter|stateFilter|state)\s*=\s*(?P<quote>['"]?)(?P<state>\w+)(?P=quote)"""
)
_CREATED = frozenset({"createTime", "create_time"})


def parse_state_filter(text: str, name: str) -> frozenset[ProgramState] | None:
    """Return the states that a filter lets through; None for all.

    Read are a bare state (``COMPLETED``) and expressions such as ``state="COMPLETED"`` or
    ``state_filter = 'INITIALIZED' OR state_filter = 'EVALUATING'``.

    Args:
        name: of the query parameter, for the error.

    Raises:
        ApiError: if it is neither.
    """
    states = set()
    for term in re.split(r"\s+OR\s+", text.strip()) if text.strip() else []:
        found = _STATE_TERM.fullmatch(term)
        word = found["state"] if found else term.strip("'\"")
        if word not in PROGRAM_STATES:
            expected = "one of " + ", ".join(PROGRAM_STATES[1:])
            raise invalid(name, f"is {text[:100]!r}", expected)
        states.add(word)
    states.discard(PROGRAM_STATES[0])
    return frozenset(map(ProgramState, states)) or None


@dataclass(frozen=True, slots=True)
class SortKey:
    """One criterion of an order.

    Attributes:
        metric: name of a metric; ``createTime`` for the time of creation.
    """

    metric: str
    descending: bool


def parse_order(text: str) -> tuple[SortKey, ...]:
    """Return the criteria of ``accuracy desc, latency``.

    Raises:
        ApiError: if one of them is empty, or ends in a word that is no direction.
    """
    return tuple(_sort_key(term, text) for term in text.split(",")) if text.strip() else ()


def _sort_key(term: str, whole: str) -> SortKey:
    words = term.strip().rsplit(None, 1)
    if not words:
        raise invalid("orderBy", f"is {whole[:100]!r}", "a form such as: accuracy desc, latency")
    direction = words[-1].lower()
    if len(words) == 2 and direction in ("asc", "desc"):
        return SortKey(words[0].strip("\"'`"), direction == "desc")
    return SortKey(term.strip().strip("\"'`"), False)


def program_place(keys: Sequence[SortKey]) -> Callable[[ServedProgram], Place]:
    """Return the place of a program in an order; smaller comes first.

    Programs without a metric come after all others. Ties end by time of creation, newest first.
    """

    def place(program: ServedProgram) -> Place:
        parts: list[float | str] = []
        for key in keys:
            value = _value(program, key.metric)
            parts.append(0.0 if value is not None else 1.0)
            parts.append((-value if key.descending else value) if value is not None else 0.0)
        return (*parts, -program.created, program.id)

    return place


def _value(program: ServedProgram, metric: str) -> float | None:
    scores = program.evaluation.scores if program.evaluation is not None else {}
    if metric in scores:
        return scores[metric]
    return program.created if metric in _CREATED else None


@dataclass(frozen=True)  # no slots: the digest is made once, when it is needed
class Paging:
    """Which page is asked for.

    Attributes:
        size: items at most.
        after: the place of the last item of the page before; None for the first page.
        query: what the list is of and how it is ordered; a token of another is refused.
    """

    size: int
    after: Place | None
    query: tuple[str, ...]

    @cached_property
    def digest(self) -> str:
        """A short digest of the query, for tokens."""
        return _digest(self.query)

    def token(self, last: Place) -> str:
        """Return the token of the page that begins after ``last``."""
        raw = json.dumps([self.digest, list(last)], separators=(",", ":")).encode()
        return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def parse_paging(size: str, token: str, query: tuple[str, ...], width: int) -> Paging:
    """Return the page that a request asks for.

    Args:
        size: as it was given; empty or 0 for the default.
        width: of a place in this order.

    Raises:
        ApiError: if the size is no number of at least 0, or the token is not of this list.
    """
    if size and not re.fullmatch(r"\d{1,9}", size):
        raise invalid("pageSize", f"is {size[:40]!r}", "an integer of at least 0")
    wanted = min(int(size or 0) or limits.PAGE_DEFAULT, limits.PAGE_MOST)
    return Paging(wanted, _place(token, query, width) if token else None, query)


def _place(token: str, query: tuple[str, ...], width: int) -> Place:
    try:
        raw = base64.urlsafe_b64decode(token.encode() + b"=" * (-len(token) % 4))
        digest, parts = json.loads(raw)
        place = tuple(parts)
        *numbers, last = place
        fits = len(place) == width and isinstance(last, str)
        plain = all(isinstance(n, int | float) and not isinstance(n, bool) for n in numbers)
    except (ValueError, TypeError, binascii.Error, RecursionError):
        fits, plain, digest, place = False, False, "", ()
    if not fits or not plain or digest != _digest(query):
        raise ApiError(
            Code.INVALID_ARGUMENT,
            "pageToken is not one that this list gave; expected the nextPageToken of the page "
            "before, with the same filter and order",
            "pageToken",
        )
    return place


def _digest(query: tuple[str, ...]) -> str:
    return hashlib.sha256("\0".join(query).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """One page.

    Attributes:
        token: of the next page; empty on the last.
    """

    items: tuple[T, ...]
    token: str


def page_of(items: Iterable[T], place: Callable[[T], Place], paging: Paging) -> Page[T]:
    """Return a page of the items, in the order of their places."""
    after = paging.after
    placed = [(place(item), at, item) for at, item in enumerate(items)]
    rest = sorted(entry for entry in placed if after is None or entry[0] > after)
    chosen = rest[: paging.size]
    token = paging.token(chosen[-1][0]) if len(rest) > len(chosen) and chosen else ""
    return Page(tuple(item for _, _, item in chosen), token)
