"""A frame as rich draws it. Nothing is told by colour alone, and every line fits the width."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from lae_controller.views.live.frame import Frame, Latest, Picture, SlotLine, Spend
from lae_controller.views.text import ascii_map, clock, seconds_text, short

MOST_SLOTS = 8
"""So many slots are shown; of more it is said how many there are."""

_MAP_WIDTH = 66
"""The map stands beside the slots from this width on."""

_TALL = 28
"""From so many lines on there is room for what only explains."""

_LABEL = 9
_LEFT, _RIGHT = 70, 24

_LONG_S = 5.0
"""What is expected to be shorter than this is over before it is read."""


def draw(frame: Frame, width: int, height: int) -> RenderableType:
    """Return a frame for a terminal of so many columns and lines."""
    picture = frame.picture
    parts: list[RenderableType] = [_title(frame, width)]
    if picture is None:
        parts += [_line("baseline", f"being measured, for {clock(frame.elapsed)}", width)]
        return Group(*parts)
    parts += _best(picture, width)
    if frame.spend is not None:
        parts += _spend(frame.spend, width)
    parts += [_line("children", picture.children, width), Text("")]
    slots = _slots(frame, width)
    drawing = _map(picture, tall=height >= _TALL) if width >= _MAP_WIDTH and height >= 22 else []
    taken = len(parts) + max(len(slots), len(drawing)) + 2  # a heading, and the cursor's line
    parts += _beside(slots, drawing, width)
    parts += _latest(picture.latest[: max(0, height - taken)], width)
    return Group(*parts)


def _cut(text: str, width: int, style: str = "") -> Text:
    line = Text(text, style=style, no_wrap=True)
    line.truncate(width, overflow="ellipsis")
    return line


def _line(label: str, text: str, width: int, style: str = "") -> Text:
    line = Text(f"{label:<{_LABEL}}", style="dim", no_wrap=True)
    line.append(text, style=f"{style} not dim".strip())
    line.truncate(width, overflow="ellipsis")
    return line


def _title(frame: Frame, width: int) -> Text:
    progress = f"{frame.picture.progress}, " if frame.picture else ""
    right = f"{progress}{clock(frame.elapsed)}"
    line = Text(frame.title, style="bold", no_wrap=True)
    line.truncate(max(0, width - len(right) - 2), overflow="ellipsis")
    line.append(" " * max(2, width - len(line) - len(right)))
    line.append(right, style="not bold")
    line.truncate(width, overflow="ellipsis")
    return line


def _best(picture: Picture, width: int) -> list[Text]:
    if picture.best is None:
        return [_line("best", "none yet", width)]
    against = f"  {picture.gain} against the baseline" if picture.gain else ""
    return [
        _line("best", picture.best + against, width, "bold"),
        _line("", picture.change, width),
    ]


def _spend(spend: Spend, width: int) -> list[Text]:
    left = "" if spend.left is None else f", about {seconds_text(spend.left)} left"
    text = f"{spend.text}{left}"
    room = min(20, width - _LABEL - len(text) - 1)
    bar = ""
    if room >= 5:
        full = round(spend.share * room)
        bar = "━" * full + "╌" * (room - full) + " "
    lines = [_line("spent", bar + text, width)]
    return lines + ([_line("model", spend.model, width)] if spend.model else [])


def _slots(frame: Frame, width: int) -> list[Text]:
    """Return what each slot runs and for how long, one line each."""
    room = width - _RIGHT - 2 if width >= _MAP_WIDTH else width
    shown = frame.slots[:MOST_SLOTS]
    lines = [_cut(f"slots  {len(frame.slots)} of {frame.capacity} in use", room, "dim")]
    lines += [_cut(_slot(number, slot), room) for number, slot in enumerate(shown, start=1)]
    idle = max(0, min(MOST_SLOTS, frame.capacity) - len(shown))
    lines += [_cut(f"{len(shown) + n + 1:<3}free", room, "dim") for n in range(idle)]
    rest = max(frame.capacity, len(frame.slots)) - MOST_SLOTS
    if rest > 0:
        lines.append(_cut(f"   … and {rest} more", room, "dim"))
    if frame.proposing or frame.ready:
        waiting = f"{frame.proposing} being proposed, {frame.ready} waiting for a slot"
        lines.append(_cut(waiting, room, "dim"))
    return lines


def _slot(number: int, slot: SlotLine) -> str:
    long = slot.expected is not None and slot.expected >= _LONG_S
    expected = f" of about {clock(slot.expected or 0.0)}" if long else ""
    return f"{number:<3}{slot.child_id:<12} {slot.stage:<8} {clock(slot.seconds):>5}{expected}"


def _map(picture: Picture, *, tall: bool) -> list[Text]:
    held, cells = picture.coverage
    if not picture.cells:
        return [Text(f"archive  {held} of {cells}", style="dim")]
    rows = ascii_map(picture.cells, picture.bins)[:-1]
    lines = [Text(f"map  {held} of {cells} cells", style="dim", no_wrap=True)]
    for row in rows:
        line = Text(row[6:], no_wrap=True)
        line.highlight_words(["*"], "bold")
        line.highlight_words(["."], "dim")
        lines.append(line)
    if tall:
        counts = " ".join(str(count) for count in picture.islands)
        explained = ("→ complexity ↑ diversity", "1 poor, 9 good, * best", f"islands {counts}")
        lines += [_cut(text, _RIGHT, "dim") for text in explained]
    return lines


def _beside(left: list[Text], right: list[Text], width: int) -> list[RenderableType]:
    if not right:
        return list(left)
    grid = Table.grid(padding=0)
    grid.add_column(width=min(width - _RIGHT, _LEFT), no_wrap=True)
    grid.add_column(width=_RIGHT, no_wrap=True)
    for row in range(max(len(left), len(right))):
        grid.add_row(
            left[row] if row < len(left) else Text(""),
            right[row] if row < len(right) else Text(""),
        )
    return [grid]


def _latest(shown: tuple[Latest, ...], width: int) -> list[RenderableType]:
    if not shown:
        return []
    lines: list[RenderableType] = [_cut("latest", width, "dim")]
    for child in shown:
        kind = "" if child.kind == "other" else f"{child.kind}: "
        text = f"{child.child_id:<12} {short(child.metric):>9} {child.outcome:<13} "
        line = Text(text, no_wrap=True, style="bold" if child.outcome == "kept" else "")
        line.append(f"{kind}{child.summary}", style="not bold")
        line.truncate(width, overflow="ellipsis")
        lines.append(line)
    return lines
