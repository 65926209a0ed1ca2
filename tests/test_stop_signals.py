"""Ctrl-C and its kin: none is lost."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from lae_controller.stop_signals import stop_signals

IN_A_DESTRUCTOR = """
import os, signal, sys
from lae_controller.stop_signals import stop_signals

class Dying:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        sum(range(10_000))

with stop_signals() as stopping:
    Dying()
    print("swallowed", flush=True)
    try:
        stopping.check()
    except KeyboardInterrupt:
        print("remembered", flush=True)
"""


def test_a_signal_that_a_destructor_swallows_is_remembered() -> None:
    run = [sys.executable, "-c", IN_A_DESTRUCTOR]
    done = subprocess.run(run, capture_output=True, text=True, timeout=30, check=False)
    assert done.stdout.split() == ["swallowed", "remembered"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_each_signal_interrupts(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt), stop_signals():
        signal.raise_signal(number)
    assert signal.getsignal(number) is before


def test_without_a_signal_nothing_happens() -> None:
    with stop_signals() as stopping:
        stopping.check()
