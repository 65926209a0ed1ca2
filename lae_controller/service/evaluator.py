"""One session of ``lae`` as an evaluator: the lock, the baseline, the slots, an orderly end."""

from __future__ import annotations

import random
import time

from lae_controller import build
from lae_controller.config import Settings
from lae_controller.evaluators import Interrupted
from lae_controller.files import remove_tree
from lae_controller.lock import ControllerLock
from lae_controller.remarks import Say
from lae_controller.sandbox.launch import Lifelines
from lae_controller.service.client import ApiClient
from lae_controller.service.worker import Equipment, Worker
from lae_controller.session import refuse_ineffective
from lae_controller.stop_signals import stop_signals


def work_on(client: ApiClient, experiment: str, settings: Settings, say: Say, limit: float) -> int:
    """Measure the project's baseline, unless that was done, then evaluate programs until the end.

    Raises:
        LockedError: if a controller works on this sandbox.
        KeyboardInterrupt: after everything that ran was ended; leases of its programs run out.
        LaeError: whatever else its reader can mend.
    """
    lifelines = Lifelines()
    with ControllerLock(settings.lae_dir), stop_signals():
        try:
            prepared = build.prepared_run(settings, lifelines, say)
            refuse_ineffective(settings, prepared)
            site = build.site_for(settings)
            executor = site.executor(lifelines, prepared.snapshot, prepared.baseline.editable)
            rng = random.Random(f"{experiment}:{time.time_ns()}")
            equipment = Equipment(settings, prepared, executor, limit)
            try:
                return Worker(client, experiment, equipment, say, rng).run()
            finally:
                executor.close()
        except Interrupted:
            raise KeyboardInterrupt from None
        finally:
            lifelines.end_all()
            remove_tree(settings.lae_dir / "cloud")
