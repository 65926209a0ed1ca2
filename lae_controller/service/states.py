"""The states of experiments and programs, and the only ways from one to another."""

from __future__ import annotations

from enum import Enum

from lae_controller.service.api_errors import ApiError, refused


class ExperimentState(str, Enum):
    """Where an experiment stands."""

    CREATED = "CREATED"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"


class ProgramState(str, Enum):
    """Where a program stands."""

    INITIALIZED = "INITIALIZED"
    GENERATING = "GENERATING"
    EVALUATING = "EVALUATING"
    COMPLETED = "COMPLETED"


class Action(str, Enum):
    """What moves an experiment."""

    START = "START"
    STOP = "STOP"
    RESUME = "RESUME"
    IDLE = "IDLE"
    COMPLETE = "COMPLETE"
    FAIL = "FAIL"
    DELETE = "DELETE"


_S = ExperimentState
_MOVES: dict[Action, tuple[frozenset[ExperimentState], ExperimentState | None]] = {
    Action.START: (frozenset({_S.CREATED}), _S.RUNNING),
    Action.STOP: (frozenset({_S.RUNNING}), _S.PAUSED),
    Action.RESUME: (frozenset({_S.PAUSED, _S.COMPLETED}), _S.RUNNING),
    Action.IDLE: (frozenset({_S.RUNNING}), _S.PAUSED),
    Action.COMPLETE: (frozenset({_S.RUNNING}), _S.COMPLETED),
    Action.FAIL: (frozenset({_S.RUNNING}), _S.FAILED),
    Action.DELETE: (frozenset({_S.CREATED, _S.COMPLETED, _S.FAILED}), None),
}
_PROGRAM_ORDER = list(ProgramState)


def target(action: Action, state: ExperimentState) -> ExperimentState:
    """Return where an action leads; a deletion leads nowhere and gives the state itself.

    Raises:
        ApiError: FAILED_PRECONDITION if the action is not allowed in this state.
    """
    allowed, to = _MOVES[action]
    if state not in allowed:
        raise not_allowed(action, state)
    return state if to is None else to


def not_allowed(action: Action, state: ExperimentState) -> ApiError:
    """Return the error for an action that this state does not allow."""
    states = " or ".join(s.value for s in ExperimentState if s in _MOVES[action][0])
    return refused(
        f"an experiment in state {state.value} cannot take {action.value}; expected state {states}"
    )


def advanced(state: ProgramState, to: ProgramState) -> ProgramState:
    """Return ``to``, to which a program goes from ``state``: forwards only.

    Raises:
        ValueError: if that is no way forward.
    """
    if _PROGRAM_ORDER.index(to) <= _PROGRAM_ORDER.index(state):
        raise ValueError(f"a program goes from {state.value} to {to.value}")
    return to
