"""Training commands as people write them in a README, a Makefile or a shell script."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

_LAUNCHER = re.compile(
    r"(?:[A-Za-z_]\w*=\S*\s+)*(?:python[\d.]*|torchrun|accelerate|deepspeed|uv|poetry|pdm|pixi|"
    r"rye|pipenv|hatch)\s"
)
_SEVERAL = frozenset({"torchrun", "accelerate", "deepspeed", "torch.distributed.launch"})
_DISTRIBUTED_MODULES = ("torch.distributed", "accelerate.", "deepspeed.")
_END = frozenset({"&&", "||", "|", ";", "&", ">", ">>", "<", "2>", "&>", "then", "do"})
_UNFINISHED = re.compile(
    r"<[^>]*>|\.\.\.|…|path/to|\$|YOUR|\[[a-z _-]+\]|^\[[^\]]*$|^[^\[]*\]$|^\{\w+\}$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Launch:
    """One start of a Python program.

    Attributes:
        script: a path as written; empty if a module is run.
        module: the dotted name after ``-m``; empty if a script is run.
        arguments: the words after it, unquoted.
        env: assignments before the command.
        launcher: what starts several processes, such as ``torchrun``; empty if nothing does.
        line: line number in the text it was found in.
    """

    script: str
    module: str
    arguments: tuple[str, ...]
    env: tuple[tuple[str, str], ...]
    launcher: str
    line: int

    @property
    def asks_help(self) -> bool:
        """Whether it only prints its options."""
        return "--help" in self.arguments or "-h" in self.arguments

    @property
    def unfinished(self) -> str:
        """The first word that a reader has to fill in; empty if there is none."""
        return next((word for word in self.arguments if _UNFINISHED.search(word)), "")


def launches(text: str) -> Iterator[Launch]:
    """Yield the Python programs that the lines of a text start, in order."""
    for number, line in _lines(text):
        if line.lstrip().startswith("#"):
            continue
        spans = re.findall(r"`([^`]+)`", line) if "`" in line else [line]
        for span in spans:
            for part in re.split(r"&&|;|\|\|", _bare(span)):
                if _LAUNCHER.match(found := _bare(part)):
                    launch = _launch(found, number)
                    if launch is not None:
                        yield launch


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield numbered lines with those that end in a backslash joined."""
    held, start = "", 0
    for number, line in enumerate(text.splitlines(), start=1):
        start = start if held else number
        if line.rstrip().endswith("\\"):
            held += line.rstrip()[:-1] + " "
        else:
            yield start, held + line
            held = ""


def _bare(line: str) -> str:
    """Take prompts, bullets, keys, Make prefixes and trailing remarks off a line."""
    line = re.sub(r"^\s*(?:cmd|command|run)\s*:\s*[\"']?", "", line)
    python = r"^[\s@-]*(\$\(\w+\)|\$\{?PYTHON\}?|\{\{\s*python\s*\}\})\s"
    line = re.sub(python, "python ", line)
    line = re.sub(r"^[\s$>!%@*\-]+(?=\S)", "", line)
    return re.sub(r"\s#\s.*$", "", line).strip()


def _launch(line: str, number: int) -> Launch | None:
    words = _words(line)
    env: list[tuple[str, str]] = []
    while words and re.fullmatch(r"[A-Za-z_]\w*=.*", words[0]):
        name, value = words.pop(0).split("=", 1)
        env.append((name, value))
    launcher = next((word for word in words[:4] if word in _SEVERAL), "")
    for index, word in enumerate(words):
        arguments = tuple(words[index + 1 :])
        if word == "-m" and arguments:
            if arguments[0].startswith(_DISTRIBUTED_MODULES):
                launcher = arguments[0]
                continue
            return Launch("", arguments[0], arguments[1:], tuple(env), launcher, number)
        if word.endswith(".py"):
            return Launch(word, "", arguments, tuple(env), launcher, number)
        if word == "-c":
            return None
    return None


def _words(line: str) -> list[str]:
    try:
        words = shlex.split(line)
    except ValueError:
        words = line.split()
    end = next((i for i, word in enumerate(words) if word in _END or word.startswith(">")), None)
    return [word for word in words[:end] if word != "$@"]


def recipe_lines(text: str, target: str) -> str:
    """Return the recipe of the Make or just targets whose names match ``target``."""
    kept: list[str] = []
    inside = False
    for line in text.splitlines():
        if line[:1] in ("\t", " ") and line.strip():
            kept.append(line if inside else "")
        elif line.strip():
            inside = re.match(rf"({target})[^:=]*:(?!=)", line) is not None
            kept.append("")
        else:
            kept.append("")
    return "\n".join(kept)
