"""What the search of a served experiment stands on: settings, snapshot and baseline of its seed.

The same as ``lae check`` prepares for a training project, but here the seed comes over the wire
and its score from a client.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from lae_controller.change.normal_form import digest as digest_of
from lae_controller.change.source import encode_source
from lae_controller.config import FurtherMetric, Gate, Settings
from lae_controller.errors import PrerequisiteError
from lae_controller.evaluators.baseline import Baseline, Prepared
from lae_controller.evolution import EvolutionSettings
from lae_controller.files import make_folder, remove_tree, write_atomic
from lae_controller.program import Artifacts, Direction
from lae_controller.quantities import TotalBudget
from lae_controller.sandbox.snapshot import Entry, Snapshot
from lae_controller.service.book import SEED_ID, Book
from lae_controller.service.catalogue import Catalogue
from lae_controller.service.content import Content
from lae_controller.service.evaluations import Scored

_FOLDERS = ("programs", "results", "runs", "tasks")


def settings_for(book: Book, folder: Path, catalogue: Catalogue) -> Settings:
    """Return the settings of an experiment's search.

    Args:
        folder: of the experiment; ``lae/`` lies in it.

    Raises:
        PrerequisiteError: if the seed program has no score yet.
    """
    content, scored = _seed(book)
    defaults = EvolutionSettings()
    metric, *further = scored.scores
    return Settings(
        path=folder / "journal.jsonl",
        root=folder,
        metric=metric,
        direction=Direction.MAXIMIZE,
        run_cmd="",
        editable_files=content.evolved,
        gate=Gate.EPOCHS,
        budget=1.0,
        total_budget=TotalBudget(book.config.max_programs, None),
        reserve=0,  # no claim is made: what a score is worth is the client's to know
        metrics=tuple(FurtherMetric(name, Direction.MAXIMIZE) for name in further),
        sandbox_root=".",
        concurrency=book.config.concurrency,
        mutator=catalogue.mutator,
        evolution=EvolutionSettings(
            migration_interval=book.config.reset_interval or defaults.migration_interval,
            pareto_probability=book.config.pareto if further else 0.0,
            seed=int(hashlib.sha256(book.created.id.encode()).hexdigest()[:8], 16),
        ),
    )


def _seed(book: Book) -> tuple[Content, Scored]:
    seed = book.programs.get(SEED_ID)
    if book.seed is None or seed is None or seed.evaluation is None:
        raise PrerequisiteError(f"{book.name}: the seed program has no score yet; expected one")
    return book.seed, seed.evaluation


def prepared_of(book: Book) -> Prepared:
    """Return what the search is told of the seed; nothing is written.

    Raises:
        PrerequisiteError: if the seed program has no score yet.
    """
    content, scored = _seed(book)
    entries = tuple(
        Entry(path, "copy", "", len(raw), hashlib.sha256(raw).hexdigest())
        for path, raw in sorted(_files(content).items())
    )
    return Prepared(Snapshot(entries, ()), _baseline(content, scored))


def _files(content: Content) -> dict[str, bytes]:
    return {file.path: encode_source(file.path, file.content) for file in content.files}


def prepare(book: Book, lae_dir: Path) -> Prepared:
    """Write the seed to ``base/``, unless it is there, and return what the search is told of it."""
    content, _ = _seed(book)
    for name in _FOLDERS:
        make_folder(lae_dir / name)
    write_atomic(lae_dir / ".gitignore", "*\n")
    _write_base(lae_dir / "base", _files(content))
    return prepared_of(book)


def _write_base(base: Path, data: dict[str, bytes]) -> None:
    """Bring ``base/`` to what the journal says; a crash may have left it half written."""
    if all((base / path).is_file() and (base / path).read_bytes() == data[path] for path in data):
        return
    remove_tree(base)
    for path, raw in data.items():
        make_folder((base / path).parent)
        write_atomic(base / path, raw)


def _baseline(content: Content, scored: Scored) -> Baseline:
    evolved = content.evolved
    files = {file.path: file.content for file in content.files if file.path in evolved}
    metric, *further = scored.scores
    return Baseline(
        editable=tuple(sorted(evolved)),
        digest=digest_of(files),
        smoke_budget=1.0,
        smoke_metric=None,
        metrics=(scored.scores[metric],),
        params=None,
        limit=0.0,
        full_seconds=0.0,
        smoke_seconds=0.0,
        smoke_lines=0,
        metric_lines=0,
        smoke_steps=None,
        full_steps=None,
        tier="",
        fingerprint="",
        efficiency=0.0,
        entered=(),
        budget_effect=None,
        outputs=(),
        charge=1.0,
        seconds=0.0,
        notes=(),
        artifacts=Artifacts(log_tail="\n".join(scored.remarks())),
        further={name: scored.scores[name] for name in further},
    )
