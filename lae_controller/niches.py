"""Where a told child lies: its complexity and its diversity, computed from its own files."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from lae_controller.evaluators.baseline import BASELINE_ID
from lae_controller.program import Cell, Files, rng_for
from lae_controller.search import Search
from lae_controller.search.diversity import choose_references, concatenate, mean_distance

PARAMS_ASSUMED = "reports no parameters; placed by its parent's number"


def lines_of_code(files: Files) -> int:
    """Return how many lines of the program's own files are not blank; at least 1."""
    return max(1, sum(1 for text in files.values() for line in text.splitlines() if line.strip()))


def complexity(
    files: Files, params: int | None, parent_params: int | None, baseline_params: int | None
) -> tuple[float, str, bool]:
    """Return (complexity, unit, whether the parent's number had to stand in).

    The unit is fixed by the baseline, so that one map never mixes two.
    """
    if baseline_params is None:
        return float(lines_of_code(files)), "loc", False
    if params is not None:
        return float(params), "params", False
    return float(parent_params or baseline_params), "params", True


def diversity(
    child_id: str,
    files: Files,
    island: int,
    search: Search,
    read: Callable[[str], Files],
    settings: tuple[int, int],
) -> float:
    """Return the mean normalised edit distance to a sample of the island's elites.

    Args:
        read: gives the files of a frozen program.
        settings: (seed, diversity_reference_size).
    """
    seed, size = settings
    elites = [elite.child_id for _, elite in search.elites(island)]
    if len(elites) < 2:
        references = [BASELINE_ID]
    else:
        references = choose_references(elites, size, rng_for(seed, child_id, "diversity"))
    code = concatenate(files)
    return mean_distance(code, [concatenate(read(reference)) for reference in references])


_SIZES = ("small", "middle-sized", "large")
_KINDS = ("much like the others", "rather unlike the others", "very unlike the others")
_SHOWN = 4


def empty_regions(cells: Iterable[Cell | None], num_bins: int) -> tuple[str, ...]:
    """Return in words which ninths of a map hold no elite, at most four of them.

    Args:
        cells: that are held.
        num_bins: bins per axis.
    """
    held = {(c[0] * 3 // num_bins, c[1] * 3 // num_bins) for c in cells if c is not None}
    empty = [(size, kind) for kind in range(3) for size in range(3) if (size, kind) not in held]
    return tuple(f"{_SIZES[size]} programs, {_KINDS[kind]}" for size, kind in empty[:_SHOWN])
