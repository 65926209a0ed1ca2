"""Copies of a program that are damaged on purpose, and should score worse for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import chain, islice, zip_longest

from lae_controller.change.identifiers import words
from lae_controller.change.syntax import check_syntax
from lae_controller.errors import ChildError
from lae_controller.mutators.literals import spell
from lae_controller.mutators.names import Role
from lae_controller.mutators.scalar import Scalar
from lae_controller.mutators.sources import PYTHON, open_sources
from lae_controller.mutators.view import open_scalars
from lae_controller.probing import hollow, prose
from lae_controller.probing.hollow import Target
from lae_controller.program import Files

_RATE_WORDS = frozenset("lr eta rate".split())
_WHOLE = (Role.SIZE, Role.COUNT)
_ORDER = (Role.RATE, *_WHOLE, Role.FRACTION, Role.PLAIN)
_HUGE = 1000

MOST = 8
"""So many copies are made at most: what eight of them do not show, more would not."""


class Kind(str, Enum):
    """What a probe does to the program."""

    COPY = "copy"
    RAISING = "raising"
    SHUFFLED = "shuffled"
    CONSTANT = "constant"
    HOLLOW = "hollow"


@dataclass(frozen=True, slots=True)
class Damage:
    """One copy of the program.

    Attributes:
        what: what was done where, in a few words; no two copies of a program share them.
        files: the whole program.
    """

    kind: Kind
    what: str
    files: Files


@dataclass(frozen=True, slots=True)
class _Draft:
    """A damage before it is known to parse.

    Attributes:
        text: of the file at ``path``; None if the damage cannot be done there.
    """

    kind: Kind
    what: str
    path: str
    text: str | None


def damaged(files: Files, idle: Iterable[str], protected: tuple[str, ...]) -> list[Damage]:
    """Return damaged copies that parse, the most telling first, their kinds in turn.

    Only what a child may change is damaged: inside the evolve blocks, and no protected setting.

    Args:
        files: the program's own texts.
        idle: ``path::Class.method`` of functions that the baseline never entered: damage there
            shows nothing.
    """
    still = tuple(idle)
    found = hollow.targets(open_sources(files, (), ()), frozenset(still))
    scalars = open_scalars(open_sources(files, protected, still), protected)
    constants = _by_importance(filter(_is_fit, scalars))
    texts = [path for path in sorted(files) if prose.is_prose(path)]
    first = (
        map(_shuffled, filter(_predicts, found)),
        (_disordered(path, files) for path in texts),
        (_least(scalar, files) for scalar in constants),
        (_emptied(it) if _acts(it) else _zeroed(it) for it in found),
    )
    then = (
        (_zeroed(it) if _acts(it) else _emptied(it) for it in found),
        (_huge(scalar, files) for scalar in constants if isinstance(scalar.value, float)),
        (_cut(path, files) for path in texts),
    )
    return list(islice(_whole(files, chain(_in_turn(first), _in_turn(then))), MOST))


def raising(files: Files, idle: Iterable[str]) -> Damage | None:
    """Return the copy that raises an exception; None if the program has no Python to do it."""
    sources = tuple(it for it in open_sources(files, (), ()) if it.path.endswith(PYTHON))
    drafts = [_raising(target) for target in hollow.targets(sources, frozenset(idle))[:1]]
    drafts += [
        _Draft(Kind.RAISING, f"{it.path} raises", it.path, hollow.raising_module(it))
        for it in sources
        if not it.closed
    ]
    return next(_whole(files, drafts), None)


def _predicts(target: Target) -> bool:
    return target.predicts


def _acts(target: Target) -> bool:
    """Say whether a function is known by what it does, not by what it returns."""
    return not target.values or (target.mutates and not target.predicts)


def _shuffled(target: Target) -> _Draft:
    what = f"{target.label} in reverse order"
    return _Draft(Kind.SHUFFLED, what, target.source.path, hollow.reversed_rows(target))


def _emptied(target: Target) -> _Draft:
    what = f"{target.label} emptied"
    return _Draft(Kind.HOLLOW, what, target.source.path, hollow.emptied(target))


def _zeroed(target: Target) -> _Draft:
    what = f"{target.label} times 0"
    return _Draft(Kind.HOLLOW, what, target.source.path, hollow.zeroed(target))


def _disordered(path: str, files: Files) -> _Draft:
    what = f"{path} with its words in reverse order"
    return _Draft(Kind.SHUFFLED, what, path, prose.reversed_words(path, files[path]))


def _cut(path: str, files: Files) -> _Draft:
    what = f"{path} cut to its first words"
    return _Draft(Kind.HOLLOW, what, path, prose.cut_short(path, files[path]))


def _raising(target: Target) -> _Draft:
    what = f"{target.label} raises"
    return _Draft(Kind.RAISING, what, target.source.path, hollow.raising(target))


def _is_fit(scalar: Scalar) -> bool:
    return bool(scalar.number) and scalar.role in _ORDER


def _by_importance(scalars: Iterable[Scalar]) -> list[Scalar]:
    """Order by what a network or an optimiser can least do without: rates and sizes in turn."""
    ranked = sorted(scalars, key=lambda it: (not _is_rate(it), -it.weight))
    rates = [it for it in ranked if it.role is Role.RATE]
    sizes = [it for it in ranked if it.role in _WHOLE]
    rest = [it for it in ranked if it.role not in (Role.RATE, *_WHOLE)]
    pairs = chain.from_iterable(zip_longest(rates, sizes))
    return [*(it for it in pairs if it is not None), *rest]


def _is_rate(scalar: Scalar) -> bool:
    return not _RATE_WORDS.isdisjoint(words(scalar.name))


def _least(scalar: Scalar, files: Files) -> _Draft:
    """Bring a size or a count down to 1, anything else to 0."""
    if isinstance(scalar.value, float):
        return _retyped(scalar, 0.0, files)
    return _retyped(scalar, int(scalar.role in _WHOLE), files)


def _huge(scalar: Scalar, files: Files) -> _Draft:
    return _retyped(scalar, float(scalar.number or 0.0) * _HUGE, files)


def _retyped(scalar: Scalar, value: float, files: Files) -> _Draft:
    text = files[scalar.path]
    new = spell(value, scalar.text)
    name = scalar.name if scalar.path.endswith(PYTHON) else ".".join(scalar.key)
    line = text.count("\n", 0, scalar.start) + 1
    what = f"{scalar.path}:{line} {name or 'number'} {scalar.text} -> {new}"
    after = text[: scalar.start] + new + text[scalar.end :]
    return _Draft(Kind.CONSTANT, what, scalar.path, after)


def _in_turn(kinds: Iterable[Iterable[_Draft]]) -> Iterator[_Draft]:
    """Yield the first of each kind, the second of each kind, and so on."""
    for some in zip_longest(*(filter(_can_be_done, drafts) for drafts in kinds)):
        yield from (draft for draft in some if draft is not None)


def _can_be_done(draft: _Draft) -> bool:
    return draft.text is not None


def _whole(files: Files, drafts: Iterable[_Draft]) -> Iterator[Damage]:
    """Yield the copies that parse, and differ from the program and from each other."""
    seen: set[tuple[str, str]] = set(files.items())
    for draft in drafts:
        if draft.text is None or (draft.path, draft.text) in seen:
            continue
        seen.add((draft.path, draft.text))
        after = {**files, draft.path: draft.text}
        try:
            check_syntax(files, after)
        except ChildError:
            continue
        yield Damage(draft.kind, draft.what, after)
