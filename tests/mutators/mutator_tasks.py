"""Small tasks for the tests of the Mutators."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from lae_controller.mutators.edits import Edit, Site, splice
from lae_controller.mutators.view import View, view_of
from lae_controller.program import Artifacts, Direction, Files, Intervention
from lae_controller.task import Credit, Inspiration, Task, Tried


def make_task(
    files: Files,
    *,
    editable: tuple[str, ...] = ("**",),
    protected: tuple[str, ...] = (),
    inspirations: Sequence[tuple[Files, float]] = (),
    tried: Sequence[str] = (),
    credits: dict[str, Credit] | None = None,
    parent_metric: float | None = 0.5,
    direction: Direction = Direction.MAXIMIZE,
) -> Task:
    """Return a task; ``tried`` holds the digests of earlier children, all of them failures."""
    return Task(
        child_id="g3-i1-a0",
        parent_id="g0-i1-a0",
        gen=3,
        island=1,
        attempt=0,
        seed=5,
        metric_name="accuracy",
        direction=direction,
        editable=editable,
        protected=protected,
        files=files,
        parent_metric=parent_metric,
        parent_artifacts=Artifacts(),
        inspirations=tuple(
            Inspiration(f"g1-i1-a{number}", metric, "top", "", other)
            for number, (other, metric) in enumerate(inspirations)
        ),
        tried=tuple(
            Tried(f"g2-i1-a{number}", "", Intervention.OTHER, "not kept", 0.1, digest)
            for number, digest in enumerate(tried)
        ),
        credits=credits or {},
    )


def draws(
    sites: Callable[[View], list[Site]], task: Task, times: int = 40
) -> list[tuple[Edit, dict[str, str]]]:
    """Return edits of every site of one operator, each with the files it leads to."""
    found = [
        site.draw(random.Random(number)) for site in sites(view_of(task)) for number in range(times)
    ]
    return [(edit, splice(task.files, edit.splices)) for edit in found if edit is not None]


def texts(sites: Callable[[View], list[Site]], text: str, path: str = "model.py") -> set[str]:
    """Return every text that one operator makes of a file that stands alone."""
    return {files[path] for _, files in draws(sites, make_task({path: text}))}
