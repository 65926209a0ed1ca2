"""``serve.yaml``: what the server is told, typed; every key has a default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lae_controller.config import MutatorSettings, read_text
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
    """

    folder: Path
    host: str = "127.0.0.1"
    port: int = 8080
    sandbox_root: str = "./sandbox"
    token_file: str | None = None
    lease: float = 2_400.0
    mutator_processes: int | None = None
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
        path: the file, or a directory; one without the file means all defaults.

    Raises:
        ConfigError: if it cannot be read or a key is not what the schema allows.
    """
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
    if "mutator" in values:
        validate_part(values["mutator"], "run", "mutator", path.name)
        values["mutator"] = MutatorSettings(**values["mutator"])
    return ServeSettings(folder=path.resolve().parent, **values)


def _seconds(value: float | str) -> float:
    return parse_duration(value) if isinstance(value, str) else float(value)
