"""One session of a controller: the lock, the signals, the views, and an orderly end."""

from __future__ import annotations

import os
from collections.abc import Callable

from lae_controller import build
from lae_controller.budget import Stop
from lae_controller.config import Settings
from lae_controller.errors import ConfigError, RefusedError
from lae_controller.evaluators import Interrupted
from lae_controller.evaluators.baseline import Prepared, is_forced, load_prepared
from lae_controller.files import write_atomic, write_json
from lae_controller.leases import wait_for_hosts
from lae_controller.ledger import Ledger
from lae_controller.lock import ControllerLock, is_held
from lae_controller.loop import Controller
from lae_controller.mutators import load_mutator
from lae_controller.mutators.cost_limit import check_cost_limit
from lae_controller.mutators.environment import check_key
from lae_controller.parts import UnderWay
from lae_controller.probing.probe import probed_refusals
from lae_controller.program import Placement
from lae_controller.purse import check_grading_limit
from lae_controller.remarks import Say
from lae_controller.resume import archive_rows, load_state
from lae_controller.sandbox.launch import Lifelines
from lae_controller.state import RunState
from lae_controller.stop_signals import StopSignals, stop_signals
from lae_controller.trackers import check_trackers
from lae_controller.trackers.near_end import Mirrors
from lae_controller.views.leaderboard import leaderboard, status_line, synthesis
from lae_controller.views.live import PlainLines, Screen
from lae_controller.views.summary import summarise

NO_EFFECT = (
    "the injected budget has no effect: the smoke run and the full run gave the same metric and "
    "the same curve. Expected the program to train for as long as it is told: mend budget_key or "
    "put {budget} into run_cmd. `lae check --force` goes on in spite of it"
)


def run_search(settings: Settings, say: Say, screen: Screen | None = None) -> tuple[Stop, str]:
    """Start or resume a run and see it to its end; returns why it ended and the synthesis.

    Args:
        settings: of the run.
        say: takes remarks for people.
        screen: shows how it goes on; None for a status line each generation.

    Raises:
        LockedError: if another controller works on this sandbox.
        PrerequisiteError: if the Mutator's service has no key, or a tracker is not installed.
        KeyboardInterrupt: after everything that ran was ended and the state is saved.
        LaeError: whatever else its reader can mend.
    """
    screen = screen or PlainLines(say)
    with ControllerLock(settings.lae_dir), stop_signals() as stopping:
        check_key(settings.mutator, os.environ)
        check_cost_limit(settings.mutator)
        check_grading_limit(settings)
        load_mutator(settings.mutator)  # a command that is missing is named before anything runs
        check_trackers(settings.trackers.chosen)
        wait_for_hosts(settings.lae_dir, say)
        lifelines = Lifelines()
        begin_session(settings)
        try:
            prepared = build.prepared_run(settings, lifelines, say)
            refuse_ineffective(settings, prepared)
            views = observer(settings, prepared, screen.status)
            with Mirrors(settings, say) as mirrors:
                tick = _ticking(stopping, screen, mirrors)
                parts = build.parts(settings, prepared, lifelines, views, say, tick)
                screen.watch(parts)
                controller = Controller(parts)
                mirrors.start()
                try:
                    stop = controller.run()
                finally:
                    controller.close()
        except Interrupted:
            raise KeyboardInterrupt from None
        finally:
            lifelines.end_all()
        summary = summarise(settings, prepared.baseline, controller.state)
        return stop, synthesis(summary, prepared.baseline, settings)


def _ticking(stopping: StopSignals, screen: Screen, mirrors: Mirrors) -> Callable[[UnderWay], None]:
    """Return what the loop calls several times a second."""

    def tick(under_way: UnderWay) -> None:
        stopping.check()
        screen.tick(under_way)
        mirrors.tick()

    return tick


def begin_session(settings: Settings) -> None:
    """Forget a request to stop that was meant for an earlier session; note this one's budget."""
    (settings.lae_dir / "stop").unlink(missing_ok=True)
    total = settings.total_budget
    value = total.runs if total.runs is not None else f"{total.seconds:g}s"
    write_json(settings.lae_dir / "session.json", {"total_budget": value})


def ask_to_stop(settings: Settings) -> None:
    """Leave a note for a running controller to finish what runs and stop.

    Raises:
        ConfigError: if none is running.
    """
    if not is_held(settings.lae_dir):
        raise ConfigError(f"{settings.lae_dir}: no controller is running there; nothing to stop")
    write_atomic(settings.lae_dir / "stop", "asked\n")


def accept(settings: Settings, child_id: str, say: Say) -> Placement:
    """Place a child that was held back as suspect.

    Raises:
        ConfigError: if no such child is held back.
        LockedError: if a controller works on this sandbox.
    """
    with ControllerLock(settings.lae_dir):
        prepared = load_prepared(settings)
        if prepared is None:
            raise ConfigError(f"{settings.lae_dir}: no run there yet; `lae run` begins one")
        ledger = Ledger(settings.lae_dir, say)
        search = build.search_for(settings)
        state = load_state(settings, ledger, search, prepared.baseline, mend=True)
        placement, event = state.accept(child_id)
        ledger.append([event])
        ledger.write_archive(archive_rows(search, settings.evolution.num_islands))
        observer(settings, prepared, say)(state)
        return placement


def refuse_ineffective(settings: Settings, prepared: Prepared) -> None:
    """Refuse a project that ``check`` refused, or that ignores the budget, unless accepted.

    Raises:
        RefusedError: if so.
    """
    if is_forced(settings):
        return
    if prepared.baseline.budget_effect is False:
        raise RefusedError(NO_EFFECT)
    for refused in probed_refusals(settings, prepared):
        raise RefusedError(f"{refused.name}: {refused.text}")


def observer(settings: Settings, prepared: Prepared, say: Say) -> Callable[[RunState], None]:
    """Return what brings the leaderboard up to date and says the status line."""
    baseline = prepared.baseline

    def observe(state: RunState) -> None:
        summary = summarise(settings, baseline, state)
        text = leaderboard(summary, baseline, settings)
        write_atomic(settings.lae_dir / "leaderboard.md", text, durable=False)
        say(status_line(summary))

    return observe
