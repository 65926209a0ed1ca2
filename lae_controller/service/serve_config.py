"""``serve.yaml``: what the server is told, typed; every key has a default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lae_controller.config import FILE_NAME as RUN_FILE
from lae_controller.config import MutatorSettings, find_config, read_text
from lae_controller.errors import ConfigError
from lae_controller.quantities import parse_duration
from lae_controller.service.catalogue import Catalogue
from lae_controller.validation import validate, validate_part
from lae_controller.yaml_text import load_yaml

FILE_NAME = "serve.yaml"


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """Everything a server is told; see ``schemas/serve.schema.json`` for what each key means.

    Attributes:
        folder: the directory of the file; ``sandbox_root`` and ``token_file`` are relative to it.
        lease: seconds for which an acquired program is held; longer than an evaluation may take,
            so that its penalty still comes in time.
        mutator_processes: at a time, over all experiments; None for one a core, or 32 where they
            wait for a model.
        watch: runs that the dashboard shows beside the experiments: what every command takes,
            relative to ``folder``.
    """

    folder: Path
    host: str = "127.0.0.1"
    port: int = 8080
    sandbox_root: str = "./sandbox"
    token_file: str | None = None
    lease: float = 2_400.0
    mutator_processes: int | None = None
    watch: tuple[str, ...] = ()
    models: Mapping[str, str] = field(default_factory=dict)
    mutator: MutatorSettings = field(default_factory=MutatorSettings)

    @property
    def root(self) -> Path:
        """The directory that holds everything the server writes."""
        return (self.folder / self.sandbox_root).resolve()

    @property
    def catalogue(self) -> Catalogue:
        """The model names that experiments may ask for."""
        return Catalogue(self.mutator, self.models)


def load_serve(path: Path) -> ServeSettings:
    """Read ``serve.yaml``.

    Args:
        path: the file, or a directory; one without the file means all defaults. What any other
            command takes (a loop.run.yaml, its directory, the ``lae/`` of a run) is watched: then
            the settings are those of the project's ``serve.yaml``, if it has one.

    Raises:
        ConfigError: if it cannot be read or a key is not what the schema allows.
    """
    run = _run_at(path)
    if run is not None:
        found = load_serve_file(run.parent)
        watched = [(found.folder / it).resolve() for it in found.watch]
        there = run in watched or run.parent in watched
        return found if there else replace(found, watch=(str(run), *found.watch))
    return load_serve_file(path)


def _run_at(path: Path) -> Path | None:
    """Return the loop.run.yaml that a path means; None if it means none."""
    if path.is_file() and path.name != RUN_FILE:
        return None
    try:
        return find_config(path)
    except ConfigError:
        return None


def load_serve_file(path: Path) -> ServeSettings:
    """Read a ``serve.yaml`` or that of a directory, as ``load_serve``, watching nothing more."""
    if path.is_dir() and not (path / FILE_NAME).exists():
        return ServeSettings(path.resolve())
    file = path / FILE_NAME if path.is_dir() else path
    if not file.is_file():
        raise ConfigError(f"{file}: there is no such file; expected a {FILE_NAME} or a directory")
    return parse_serve(read_text(file), file)


def parse_serve(text: str, path: Path) -> ServeSettings:
    """Turn the text of a ``serve.yaml`` into settings.

    Raises:
        ConfigError: naming the file, the key, what was found and what was expected.
    """
    values: Any = load_yaml(text, path.name)
    if values is None:
        values = {}
    if not isinstance(values, dict):
        raise ConfigError(f"{path.name}: the file holds no mapping; expected `key: value` lines")
    validate(values, "serve", path.name)
    if "lease" in values:
        values["lease"] = _seconds(values["lease"])
    values["watch"] = tuple(values.get("watch", ()))
    if "mutator" in values:
        validate_part(values["mutator"], "run", "mutator", path.name)
        values["mutator"] = MutatorSettings(**values["mutator"])
    return ServeSettings(folder=path.resolve().parent, **values)


def _seconds(value: float | str) -> float:
    return parse_duration(value) if isinstance(value, str) else float(value)
