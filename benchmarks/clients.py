"""Trials of the skill in the real coding agents: ``python benchmarks/clients.py [FOLDER]``.

Installs Claude Code, Codex, Gemini CLI and OpenCode with npm into FOLDER (``.clients``, if left
out; about 1.3 GB, nothing if they are there) and runs the tests that are marked ``node`` with them.
Every client talks to a scripted model on the loopback: no key, no account, no cost. Exits 1 if a
trial fails.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Pinned: what the trials were written against, and what npm takes without a pin depends on node.
CLIENTS = {
    "claude": "@anthropic-ai/claude-code@2.1.332",
    "codex": "@openai/codex@0.171.0",
    "gemini": "@google/gemini-cli@0.61.0",
    "opencode": "opencode-ai@1.18.33",
}


def main() -> int:
    """Install what is missing, run the trials; returns their exit status."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / ".clients").resolve()
    commands = folder / "node_modules" / ".bin"
    missing = [package for name, package in CLIENTS.items() if not (commands / name).exists()]
    if missing:
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["npm", "install", "--prefix", str(folder), *missing], check=True)
    # OpenCode wants ripgrep and would download it; Codex brings one along.
    tools = folder.glob("node_modules/@openai/*/vendor/*/codex-path")
    path = os.pathsep.join([os.environ["PATH"], *map(str, tools)])
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-n0", "-m", "node", "-rs", "--durations=20"],
        cwd=ROOT,
        env={**os.environ, "LAE_NODE_PREFIX": str(folder), "PATH": path},
        check=False,
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
