"""The parent's code as it is shown: whole files, or only what may change in them."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from lae_controller.change.evolve_blocks import Block, find_blocks
from lae_controller.change.source import BOM, split_lines
from lae_controller.program import Files

_LANGUAGES = {".py": "python", ".yml": "yaml", ".js": "javascript", ".rs": "rust", ".sh": "bash"}
_SIGNATURE = re.compile(
    r"\s*(?:import|from|def|async def|class|fn|func|function|struct|#include|use|const|let)\b.*"
)
_MOST_SIGNATURES = 24
_NEAR = 2  # lines on either side of a block, where no signature tells what is around it


def show_files(files: Files, *, titled: bool, whole: bool) -> dict[str, str]:
    """Return each file as a titled fence, by path.

    Args:
        titled: whether a line with its path stands above each.
        whole: show files with evolve blocks whole, not only what lies inside the blocks.
    """
    return {path: _shown(path, files[path], titled, whole) for path in sorted(files)}


def _shown(path: str, text: str, titled: bool, whole: bool) -> str:
    blocks = () if whole else find_blocks(path, text)
    lines = split_lines(text.removeprefix(BOM))
    title = f"{path}\n" if titled else ""
    if not blocks:
        return title + fenced("".join(lines), path)
    bodies = [fenced("".join(lines[block.start : block.end - 1]), path) for block in blocks]
    around = _around(lines, blocks)
    return title + "\n".join([*bodies, *around])


def _around(lines: list[str], blocks: tuple[Block, ...]) -> list[str]:
    """Return one sentence on what stands outside the blocks, if anything does."""
    inside = {at for block in blocks for at in range(block.start - 1, block.end)}
    outside = [(at, line.strip()) for at, line in enumerate(lines) if at not in inside]
    named = [text for _, text in outside if _SIGNATURE.fullmatch(text)]
    if not named:
        named = [text for at, text in outside if text and _is_near(at, blocks)]
    if not named:
        return []
    more = " …" if len(named) > _MOST_SIGNATURES else ""
    listed = "; ".join(f"`{text}`" for text in named[:_MOST_SIGNATURES])
    return [f"Around it, not to be changed: {listed}{more}"]


def _is_near(at: int, blocks: tuple[Block, ...]) -> bool:
    return any(
        block.start - 1 - _NEAR <= at < block.start - 1 or block.end <= at < block.end + _NEAR
        for block in blocks
    )


def fenced(text: str, path: str = "") -> str:
    """Return ``text`` in a Markdown fence that it cannot close itself."""
    ticks = max((len(run) for run in re.findall(r"`{3,}", text)), default=2) + 1
    suffix = PurePosixPath(path).suffix.lower()
    language = _LANGUAGES.get(suffix, suffix.removeprefix("."))
    end = "" if text.endswith("\n") or not text else "\n"
    return f"{'`' * ticks}{language}\n{text}{end}{'`' * ticks}"
