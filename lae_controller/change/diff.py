"""SEARCH/REPLACE: apply a change to a program's files, or write one down.

The format is parsed in ``diff_parse`` and places are found in ``diff_match``; here blocks meet
files. Blocks are applied one after the other in memory, each matched against the text that
the ones before it left, and all of them apply or none does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from rapidfuzz import process

from lae_controller.change.diff_match import (
    Edit,
    Lines,
    find,
    is_numbered,
    nearest,
    occurrences,
    opcodes,
    splice,
    without_numbers,
)
from lae_controller.change.diff_parse import Block, looks_like_marker, not_understood, parse
from lae_controller.errors import DiffError
from lae_controller.program import Files, Reason

_LONGEST_NAME = 255  # bytes of one path component on common file systems
_FOREIGN_ROOT = re.compile(r"[/~]|[A-Za-z]:")
_MOST_SEPARATORS = 40  # of a block, each one more way to read it
_NEAR = 2  # unchanged lines between two edits that go into one block


@dataclass(frozen=True, slots=True)
class Applied:
    """A program after its change.

    Attributes:
        files: all files, changed or not.
        changed: paths of earlier files whose text differs now, in order.
        added: paths of new files, in order.
        repaired: whether a block fitted only by the tolerance (see ``diff_match``).
    """

    files: dict[str, str]
    changed: tuple[str, ...]
    added: tuple[str, ...]
    repaired: bool


def apply_change(files: Files, change: str, *, editable: Sequence[str]) -> Applied:
    """Apply a reply with SEARCH/REPLACE blocks; ``files`` itself stays as it is.

    Args:
        files: texts by path.
        change: the reply, prose around the blocks included.
        editable: paths and globs (``*`` within a directory, ``**`` across, a trailing ``/``
            for all below) of the files in ``files`` that may be changed. Paths that are not
            in ``files`` are new files and need not match.

    Raises:
        DiffError: ``bad_diff``, ``no_change`` or ``out_of_bounds``; the detail is written
            for the model that made the change.
    """
    current = dict(files)
    repaired = False
    for block in parse(change, files):
        path = _target(block, files, editable)
        repaired |= _apply(block, path, current, files)
    changed = tuple(sorted(path for path in files if current[path] != files[path]))
    added = tuple(sorted(current.keys() - files.keys()))
    if not changed and not added:
        detail = "the change leaves every file as it was; make REPLACE differ from SEARCH"
        raise DiffError(detail, Reason.NO_CHANGE)
    return Applied(current, changed, added, repaired)


def is_editable(path: str, editable: Sequence[str]) -> bool:
    """Return whether ``path`` is one of the paths or matches one of the globs."""
    parts = tuple(path.split("/"))
    return any(path == pattern or _matches(parts, _steps(pattern)) for pattern in editable)


def _steps(glob: str) -> tuple[str, ...]:
    steps = tuple(glob.removeprefix("./").split("/"))
    return steps if steps[-1] else (*steps[:-1], "**")


def _matches(parts: tuple[str, ...], steps: tuple[str, ...]) -> bool:
    if not steps:
        return not parts
    if steps[0] == "**":
        return any(_matches(parts[skip:], steps[1:]) for skip in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], steps[0]) and _matches(parts[1:], steps[1:])


def _target(block: Block, files: Files, editable: Sequence[str]) -> str:
    """Return the path that a block is meant for."""
    if block.path is None:
        mine = [path for path in sorted(files) if is_editable(path, editable)]
        if len(mine) == 1:
            return mine[0]
        raise DiffError(
            f"block {block.number} has no path line, and there are {len(mine)} editable files "
            f"({', '.join(mine)}); write the path on the line above the block"
        )
    path = _inside(block, files)
    if path in files and not is_editable(path, editable):
        raise _out_of_bounds(block, f"is not among the editable files ({', '.join(editable)})")
    return path


def _inside(block: Block, files: Files) -> str:
    """Return the path that a block names, relative and free of ``.``.

    Raises:
        DiffError: if it could lie outside the program or cannot be a file there.
    """
    named = block.path or ""
    path = str(PurePosixPath(named))
    if _FOREIGN_ROOT.match(named):
        raise _out_of_bounds(block, "is absolute; expected a path relative to the project")
    if "\\" in named or not named.isprintable():
        raise _out_of_bounds(block, "holds a character that no path may; write it with '/'")
    if ".." in named.split("/"):
        raise _out_of_bounds(block, "holds '..'; expected a path below the project")
    if path == "." or named.endswith("/"):
        raise _out_of_bounds(block, "is a directory; expected a file")
    if any(len(part.encode()) > _LONGEST_NAME for part in path.split("/")):
        raise _out_of_bounds(block, f"has a part of more than {_LONGEST_NAME} bytes")
    if path not in files:
        _refuse_collision(block, path, files)
    return path


def _refuse_collision(block: Block, path: str, files: Files) -> None:
    above = [str(parent) for parent in PurePosixPath(path).parents]
    for other in files:
        if other in above or other.startswith(f"{path}/"):
            raise _out_of_bounds(block, f"cannot be a file beside {other}")


def _out_of_bounds(block: Block, what: str) -> DiffError:
    return DiffError(f"block {block.number}: {block.path!r} {what}", Reason.OUT_OF_BOUNDS)


def _apply(block: Block, path: str, current: dict[str, str], files: Files) -> bool:
    """Make one block's edit in ``current``; return whether it had to be repaired.

    ``files`` is what the model was shown, from which a refusal quotes.
    """
    text = current.get(path, "")
    lines = Lines.of(text)
    if len(block.separators) > _MOST_SEPARATORS:
        raise DiffError(
            f"{_where(block, path)}: {len(block.separators)} lines could be the ======= separator; "
            "write one, between SEARCH and REPLACE"
        )
    *_, (search, replace) = _splits(block)
    if not lines.texts and not any(line.strip() for line in search):
        return _create(block, path, replace, current)
    if path in current and any(old == new for old, new in _splits(block)):
        return False
    if not lines.texts:
        raise _missing(block, path, current)
    edit = _place(block, path, lines, Lines.of(files.get(path, text)).texts)
    current[path] = splice(lines, edit)
    return edit.repaired


def _splits(block: Block) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Yield every way to part the block into SEARCH and REPLACE, longest SEARCH first."""
    for at in reversed(block.separators):
        yield block.body[:at], block.body[at + 1 :]


def _create(block: Block, path: str, content: Sequence[str], current: dict[str, str]) -> bool:
    """Fill a file that is new or empty; return whether line numbers were taken off."""
    _refuse_markers(block, content, ())
    bare = without_numbers((), content)
    lines = content if bare is None else bare[1]
    current[path] = current.get(path, "") + "".join(f"{line}\n" for line in lines)
    return bare is not None


def _missing(block: Block, path: str, current: Mapping[str, str]) -> DiffError:
    if path in current:
        return DiffError(f"{_where(block, path)}: the file is empty; leave SEARCH empty to fill it")
    close = process.extractOne(path, sorted(current), score_cutoff=60)
    hint = f"did you mean {close[0]}? " if close else ""
    return DiffError(
        f"{_where(block, path)}: no such file; {hint}"
        f"The files are {', '.join(sorted(current))}. To create one leave SEARCH empty"
    )


def _where(block: Block, path: str) -> str:
    return f"block {block.number} ({path})"


def _place(block: Block, path: str, lines: Lines, shown: tuple[str, ...]) -> Edit:
    """Return the one edit that the block makes.

    Of several ways to part a block the longest SEARCH that matches exactly once wins.
    """
    for search, replace in _splits(block):
        found = find(search, replace, lines)
        if len(found) == 1 and not _cut_short(block, found[0], lines):
            _refuse_markers(block, found[0].shifted, lines.texts)
            _refuse_numbers(block, path, found[0], lines)
            return found[0]
    raise _unplaced(block, path, lines, shown)


def _cut_short(block: Block, edit: Edit, lines: Lines) -> bool:
    """Return whether SEARCH ends where the file itself goes on with the separator.

    Then the separator was part of what the model meant to find, and what it found is too
    little: a slip further down in SEARCH has made the longer ways fail.
    """
    end = edit.start + len(edit.search)
    if len(block.separators) == 1 or end >= len(lines.texts):
        return False
    return lines.texts[end].strip() == block.body[len(edit.search)].strip()


def _refuse_markers(block: Block, replace: Sequence[str], texts: Sequence[str]) -> None:
    """Refuse a misspelt marker that would end up in the file, unless it stands there already."""
    for line in replace:
        if looks_like_marker(line) and line not in texts:
            at = block.body.index(line) if line in block.body else 0
            raise not_understood(line, block.line + 1 + at)


def _refuse_numbers(block: Block, path: str, edit: Edit, lines: Lines) -> None:
    place = lines.texts[edit.start : edit.start + len(edit.search)]
    if without_numbers((), edit.shifted) and not any(is_numbered(line) for line in place):
        raise DiffError(
            f"{_where(block, path)}: REPLACE carries line numbers ({edit.shifted[0]!r}); "
            "write the bare lines"
        )


def _unplaced(block: Block, path: str, lines: Lines, shown: tuple[str, ...]) -> DiffError:
    where = _where(block, path)
    ways = list(_splits(block))
    search, replace = ways[len(ways) // 2]
    near = nearest(search, shown)
    hint = f"; the nearest lines are\n{near}" if near else "; no line of the file is like it"
    if len(ways) > 1:
        numbers = ", ".join(str(block.line + 1 + at) for at in block.separators)
        return DiffError(
            f"{where}: lines {numbers} of the reply could all be the ======= separator, and none "
            f"of them gives a SEARCH that surely matches one place{hint}\n"
            "Choose lines without a row of equals signs"
        )
    if not search:
        return DiffError(
            f"{where}: SEARCH is empty, but the file holds {len(lines.texts)} lines; "
            "copy the lines to replace, with one beside the place to insert at"
        )
    found = find(search, replace, lines)
    if found:
        return _ambiguous(where, found, "" if shown == lines.texts else " after the blocks above")
    return _partial(where, search, lines.texts) or DiffError(
        f"{where}: SEARCH matches nothing{hint}\nCopy whole lines exactly as they are"
    )


def _ambiguous(where: str, found: Sequence[Edit], when: str) -> DiffError:
    *most, last = [str(edit.start + 1) for edit in found]
    loosely = " but for its indentation or trailing blanks" if found[0].repaired else ""
    return DiffError(
        f"{where}: SEARCH matches {len(found)} places{loosely}, at lines {', '.join(most)} and "
        f"{last}{when}; add neighbouring lines until it matches one"
    )


def _partial(where: str, search: Sequence[str], texts: Sequence[str]) -> DiffError | None:
    """Return the error for a SEARCH that lies inside longer lines, if it does."""
    whole, needle = "\n".join(texts), "\n".join(search).strip()
    at = whole.find(needle) if needle else -1
    stripped = [line.strip() for line in search]
    if at < 0 or occurrences(stripped, [text.strip() for text in texts]):
        return None
    line = whole.count("\n", 0, at)
    return DiffError(
        f"{where}: whole lines needed: SEARCH is only a part of line {line + 1}, which reads\n"
        f"{texts[line]}\nCopy the whole line"
    )


def make_change(before: Files, after: Files) -> str:
    """Return the SEARCH/REPLACE text that turns ``before`` into ``after``; "" if they are equal.

    Each SEARCH is the edited lines and as many around them as it takes to match once. Line
    ends, byte order mark and final newline follow the rules for applying: a file keeps its
    own ends and mark, its final newline too, and a new file ends in a newline. A difference
    in these alone is left out; all else comes back exactly.

    Raises:
        ValueError: if a file is gone, or lines that read like markers are in the way.
    """
    gone = sorted(before.keys() - after.keys())
    if gone:
        raise ValueError(f"{gone[0]} is deleted, which SEARCH/REPLACE cannot express; keep it")
    blocks: list[str] = []
    for path in sorted(after):
        blocks += _written(path, before.get(path), after[path])
    return "\n".join(blocks)


def _written(path: str, before: str | None, after: str) -> Iterator[str]:
    """Yield the blocks for one file."""
    new = Lines.of(after)
    if before is None or (after and not before):
        first = (new.bom + new.texts[0],) if new.texts else ()
        content = first + new.texts[1:]
        yield _checked(path, before, (), content, "".join(f"{line}\n" for line in content))
        return
    old, goal = Lines.of(before), list(new.texts)
    if old.ends and not old.ends[-1] and new.ends and new.ends[-1]:
        goal.append("")  # the newline that ``after`` gained is an empty last line to ``before``
    shift = 0
    text = before
    for start, stop, low, high in _hunks(old.texts, goal):
        block, text = _grown(path, text, start + shift, stop + shift, goal[low:high])
        shift += (high - low) - (stop - start)
        yield block


def _hunks(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int, int, int]]:
    """Return the ranges of ``old`` and ``new`` that differ, near ones joined."""
    hunks: list[tuple[int, int, int, int]] = []
    for tag, i1, i2, j1, j2 in opcodes(old, new):
        if tag == "equal":
            continue
        if hunks and i1 - hunks[-1][1] <= _NEAR:
            start, _, low, _ = hunks.pop()
            hunks.append((start, i2, low, j2))
        else:
            hunks.append((i1, i2, j1, j2))
    return hunks


def _grown(path: str, text: str, start: int, stop: int, new: Sequence[str]) -> tuple[str, str]:
    """Return the block for one edit with the least context it needs, and the text after it."""
    lines = Lines.of(text)
    margin = 0 if start < stop else 1
    while True:
        low, high = max(start - margin, 0), min(stop + margin, len(lines.texts))
        search = lines.texts[low:high]
        replace = (*lines.texts[low:start], *new, *lines.texts[stop:high])
        whole = high - low == len(lines.texts)
        if whole or len(occurrences(search, lines.texts)) == 1:
            goal = splice(lines, Edit(low, search, replace, replace, False))
            try:
                return _checked(path, text, search, replace, goal), goal
            except ValueError:
                if whole:
                    raise
        margin = max(margin + 1, margin * 3 // 2)


def _checked(
    path: str, before: str | None, search: Sequence[str], replace: Sequence[str], goal: str
) -> str:
    """Return the text of one block that really turns ``before`` into ``goal``.

    Raises:
        ValueError: if it does not, read back as any reply is.
    """
    body = ["<<<<<<< SEARCH", *search, "=======", *replace, ">>>>>>> REPLACE"]
    for title in (path, f"`{path}`"):
        block = "".join(f"{line}\n" for line in (title, *body))
        current = {} if before is None else {path: before}
        try:
            parsed = parse(block, ())
            if len(parsed) == 1 and parsed[0].path == path:
                repaired = _apply(parsed[0], path, current, current)
                if current[path] == goal and not repaired:
                    return block
        except DiffError as exc:
            raise ValueError(f"{path}: {exc.detail}") from exc
    raise ValueError(f"{path}: the edit cannot be told from the markers around it")
