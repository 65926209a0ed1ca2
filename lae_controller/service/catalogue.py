"""The model names that experiments may ask for: the Mutator's own, and aliases that were mapped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from lae_controller.config import MutatorSettings
from lae_controller.service.api_errors import ApiError, Code

_EVERYWHERE = ("global", "us", "eu")
_SERVED = {"gemini-3.1-pro-preview": ("global",)}
"""Where Google serves a model that it does not serve everywhere; an alias keeps to it, so that an
experiment that is accepted here is accepted there."""

_THINKING = {"MINIMAL": "off", "LOW": "low", "MEDIUM": "medium", "HIGH": "high"}


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """One model of an experiment's mixture.

    Attributes:
        weight: share of the calls, relative to the others'; above 0.
        thinking: a level of the API; empty for the model's default.
        temperature: None if not given.
    """

    name: str
    weight: float = 1.0
    thinking: str = ""
    temperature: float | None = None


@dataclass(frozen=True, slots=True)
class Catalogue:
    """What the server's configuration says of models.

    Attributes:
        mutator: who proposes changes.
        aliases: name of the API -> model of the Mutator's backend.
    """

    mutator: MutatorSettings
    aliases: Mapping[str, str]

    @property
    def own(self) -> str:
        """The name of the Mutator's model as it is configured, or of its backend."""
        return self.mutator.model or self.mutator.backend

    def check(self, name: str, location: str) -> None:
        """Check that a model may be asked for in a location.

        Raises:
            ApiError: INVALID_ARGUMENT if it is not known, or not served there.
        """
        if name != self.own and name not in self.aliases:
            names = ", ".join(sorted({self.own, *self.aliases}))
            raise ApiError(
                Code.INVALID_ARGUMENT,
                f"model {name!r} is not supported here; this server knows: {names}. Its "
                "configuration can map further names (models:)",
                "config.generationSettings.models",
            )
        if location not in _SERVED.get(name, _EVERYWHERE):
            raise ApiError(
                Code.INVALID_ARGUMENT,
                f"model {name!r} is not served from location {location!r}; it is from: "
                f"{', '.join(_SERVED[name])}",
                "config.generationSettings.models",
            )

    def settings(self, choice: ModelChoice) -> MutatorSettings:
        """Return the Mutator's settings with a model of an experiment put in."""
        model = self.aliases.get(choice.name, self.own)
        mutator = self.mutator if model == self.own else replace(self.mutator, model=model)
        thinking = _THINKING.get(choice.thinking)
        return mutator if thinking is None else replace(mutator, thinking=thinking)
