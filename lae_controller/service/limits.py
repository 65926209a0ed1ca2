"""Limits and defaults of the API; sizes in characters and bytes, times in seconds.

Source: the field tables of the AlphaEvolve Cloud API, except where a line says otherwise.
"""

from __future__ import annotations

TITLE = 256
PROBLEM = 5_000
PATH = 256
PROGRAM_DESCRIPTION = 1_000
FILE_DESCRIPTION = 500

MAX_PROGRAMS_DEFAULT, MAX_PROGRAMS_LEAST, MAX_PROGRAMS_MOST = 100, 2, 100_000
CONCURRENCY_DEFAULT, CONCURRENCY_MOST = 1, 30
DURATION_DEFAULT, DURATION_MOST = 86_400.0, 7 * 86_400.0
IDLE_TIMEOUT = {"global": 2 * 3600.0, "us": 5 * 3600.0, "eu": 5 * 3600.0}
"""Location -> default and maximum of ``idleTimeout``; other locations are not served."""

MODELS = 2
TEMPERATURE_MOST = 2.0
ACTIVE_EXPERIMENTS = 30
"""Experiments that may run at a time, for each project and location."""

PENALTY = -100_000.0
"""The score of a program whose evaluation did not come to an end."""

EVALUATION_SECONDS = 1_800.0
"""After so long an evaluator gives up and submits the penalty."""

FAILURES = frozenset({PENALTY, -1e12})
"""Scores that say that nothing was measured; the second is what Google's own clients send."""

PYTHON_ENTRY = "initial_program.py"

# What follows is ours: bounds that the document leaves open.

FILES = 1_000
SCORES = 100
INSIGHTS = 100
INSIGHTS_SHOWN = 10
"""Insights of one program that reach the next prompts; more are not recommended either."""

INSIGHT_SHOWN = 1_000
"""Characters of one insight that reach the next prompts."""

HAND_OUTS = 3
"""How often a program is handed out before its silence counts as the penalty."""

BODY_BYTES = 16 << 20
HEADER_BYTES = 16 << 10
PAGE_DEFAULT, PAGE_MOST = 50, 1_000
PAGE_BYTES = 8 << 20
"""A page of programs ends early when their sources are larger than this."""
