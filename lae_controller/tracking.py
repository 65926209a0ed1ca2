"""The ``trackers`` section of ``loop.run.yaml``: where a run is mirrored to, if anywhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class MlflowSettings:
    """An MLflow store.

    Attributes:
        uri: of the store; None for one below the run's own directory.
        experiment: None for the name of the project's folder.
    """

    uri: str | None = None
    experiment: str | None = None


@dataclass(frozen=True, slots=True)
class TensorboardSettings:
    """Event files for TensorBoard.

    Attributes:
        folder: relative to the project; None for one below the run's own directory.
    """

    folder: str | None = None


@dataclass(frozen=True, slots=True)
class WandbSettings:
    """Offline runs of W&B, which ``wandb sync`` sends when a person says so.

    Attributes:
        folder: relative to the project; None for one below the run's own directory.
        project: None for the name of the project's folder.
    """

    folder: str | None = None
    project: str | None = None


@dataclass(frozen=True, slots=True)
class TrackerSettings:
    """The section; a tracker that is None is off."""

    mlflow: MlflowSettings | None = None
    tensorboard: TensorboardSettings | None = None
    wandb: WandbSettings | None = None

    @property
    def chosen(self) -> tuple[str, ...]:
        """The names of those that are on."""
        return tuple(name for name in _KINDS if getattr(self, name) is not None)

    def of(self, name: str) -> Any:
        """Return the settings of one tracker; its defaults if it is off."""
        wanted = getattr(self, name)
        return _KINDS[name]() if wanted is None else wanted


_KINDS: dict[str, Any] = {
    "mlflow": MlflowSettings,
    "tensorboard": TensorboardSettings,
    "wandb": WandbSettings,
}


def tracker_settings(**values: Any) -> TrackerSettings:
    """Return the section as typed settings, given its keys as the schema allows them."""
    return TrackerSettings(
        **{
            name: _KINDS[name](**(wanted if isinstance(wanted, dict) else {}))
            for name, wanted in values.items()
            if wanted is not False
        }
    )
