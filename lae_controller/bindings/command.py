"""The training command: what the project's own texts start, else its most likely script."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from lae_controller.bindings.configs import read_config, scalars
from lae_controller.bindings.project import Project
from lae_controller.bindings.shell import Launch, launches, recipe_lines

_TARGETS = r"train[\w-]*|fit|run"
_OTHER_WORK = re.compile(
    r"(?:^|[_-])(?:prepare|download|preprocess|eval|test|infer|predict|sampl|generat|demo|plot|"
    r"visual|export|convert|bench|setup|serve|app$|token|data|collect|analy|report|detect|submit|"
    r"deploy|bulk|utils?$)"
)
_TOKENS = re.compile(r"(?:^|_)(?:tok|tokenizer|vocab|bpe|spm)(?:_|$)")
_SETUP_WORK = re.compile(r"prepare|download|preprocess|get_data|make_data|create_data")
_OTHER_FLAGS = re.compile(
    r"--?(resume|eval|evaluate|eval[-_]only|sample[-_]only|test|predict|checkpoint|multirun|"
    r"finetune|help|h)(=.*)?$|(\w+\.)?(ckpt|checkpoint|debug|hparams_search)\w*=|"
    r"(.*/)?(eval|finetune)\w*(\.\w+)?$"
)
_CPU = re.compile(r"(device|accelerator|trainer)[= ]cpu\b|--cpu\b|no[-_](cuda|gpu|accel)")
_GPU = re.compile(r"cuda|gpu|\bmps\b|\btpu|\bddp|--amp|fp16|bf16|nproc|nnodes", re.IGNORECASE)
_TRAINS = re.compile(r"\.backward\(|\.fit\(|optimizer|\bTrainer\b|\bepochs?\b")
_DEVICE_VARIABLES = frozenset({"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"})


@dataclass(frozen=True, slots=True)
class Command:
    """A proposed training command.

    Attributes:
        text: with ``{python}`` for the interpreter; empty if none was found.
        entrypoint: the script it runs, relative to the root; None if unknown.
        env: variables to be set for it.
        reason: where it was found.
        certain: whether a text of the project says just this.
        alternatives: the next best ones.
    """

    text: str
    entrypoint: str | None
    env: tuple[tuple[str, str], ...]
    reason: str
    certain: bool
    alternatives: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Candidate:
    launch: Launch
    entrypoint: str
    origin: str
    weight: float
    said: bool


def find_command(project: Project, has_gpu: bool, has_uv: bool) -> Command:
    """Propose the training command of a project.

    Args:
        has_gpu: whether this machine can train on an accelerator; without one, a CPU variant
            in the README is preferred.
        has_uv: whether ``uv`` is on the PATH.
    """
    written = [*_written(project, has_gpu)]
    found = [c for c in written if _name_weight(project, c.entrypoint) > 0]
    found = found or _likely_scripts(project)
    if not found:
        return Command("", None, (), _nothing_found(project), certain=False)
    found.sort(key=lambda candidate: -candidate.weight)
    best = found[0]
    texts = [_render(project, candidate, has_uv) for candidate in found]
    others = tuple(dict.fromkeys(text for text in texts if text != texts[0]))
    caveats = [*_caveats(best), *_before(written, best)]
    certain = best.said and not _caveats(best) if best.launch.line else len(found) == 1
    return Command(
        text=texts[0],
        entrypoint=best.entrypoint,
        env=tuple(pair for pair in best.launch.env if pair[0] not in _DEVICE_VARIABLES),
        reason="; ".join([best.origin, _interpreter(project, has_uv), *caveats]),
        certain=certain,
        alternatives=others[:3],
    )


def given_command(project: Project, text: str) -> Command:
    """Return the command that a person gave, with the script that it runs if that can be told."""
    plain = text.replace("{python}", "python")
    scripts = (_entrypoint(project, launch) for launch in launches(plain))
    entrypoint = next((script for script in scripts if script is not None), None)
    return Command(text, entrypoint, (), "given by you", certain=True)


def _nothing_found(project: Project) -> str:
    if project.scripts:
        return "none of the Python files looks like a training script"
    if any(file.ending == ".ipynb" for file in project.files):
        return "only notebooks here; `jupyter nbconvert --to script` makes a script of one"
    return "no Python file here"


def _written(project: Project, has_gpu: bool) -> Iterator[_Candidate]:
    """Yield the commands in the project's own texts, weighed."""
    order = 0
    for name, text, bonus in _texts(project):
        for found in launches(text):
            launch = replace(found, arguments=()) if found.asks_help else found
            entrypoint = _entrypoint(project, launch)
            if entrypoint is not None:
                weight = bonus + _weigh(project, launch, entrypoint, has_gpu) - 0.5 * min(order, 20)
                origin = f"{name}:{launch.line}"
                weight -= 45.0 if found.asks_help else 0.0
                same = entrypoint == launch.script.removeprefix("./") or bool(launch.module)
                said = same and not found.asks_help
                yield _Candidate(launch, entrypoint, origin, weight, said)
                order += 1


def _texts(project: Project) -> Iterator[tuple[str, str, float]]:
    """Yield the texts in which commands are looked for: name, text, trust."""
    at_root = [file.path for file in project.files if "/" not in file.path]
    for name in at_root:
        low = name.lower()
        if low.startswith("readme"):
            yield name, project.text(name), 20.0
        elif low == "dvc.yaml":
            yield name, project.text(name), 15.0
        elif low in ("makefile", "justfile"):
            yield name, recipe_lines(project.text(name), _TARGETS), 15.0
        elif low.endswith(".md") and not low.startswith(("change", "contrib", "code_of")):
            yield name, project.text(name), 8.0
    yield "pyproject.toml", _pyproject_commands(project), 10.0
    for file in project.files:
        if file.ending == ".sh" and re.search(r"train|run", PurePosixPath(file.path).name):
            yield file.path, project.text(file.path), 5.0


def _pyproject_commands(project: Project) -> str:
    """Return the commands of task tables and script entries as lines of shell."""
    lines = []
    for key, value in scalars(read_config(project, "pyproject.toml")):
        table, _, name = key.rpartition(".")
        if not re.match(_TARGETS, name) or not isinstance(value, str):
            continue
        if table in ("project.scripts", "tool.poetry.scripts"):
            lines.append(f"python -m {value.split(':')[0]}")
        elif table.endswith((".tasks", ".scripts")):
            lines.append(value)
    return "\n".join(lines)


def _entrypoint(project: Project, launch: Launch) -> str | None:
    if launch.script:
        return project.resolve(launch.script)
    path = launch.module.replace(".", "/")
    names = (f"{path}.py", f"{path}/__main__.py", f"src/{path}.py", f"src/{path}/__main__.py")
    return next((name for name in names if name in project), None)


def _weigh(project: Project, launch: Launch, entrypoint: str, has_gpu: bool) -> float:
    weight = _name_weight(project, entrypoint)
    words = " ".join(launch.arguments)
    weight -= 25 * sum(1 for word in launch.arguments if _OTHER_FLAGS.match(word))
    weight -= 4 * entrypoint.count("/")
    weight -= 30 if launch.unfinished else 0
    weight -= min(len(launch.arguments), 15)
    if launch.launcher:
        weight -= 20 if has_gpu else 40
    if _CPU.search(words):
        weight += -10 if has_gpu else 30
    elif not has_gpu and _GPU.search(words):
        weight -= 20
    return weight


def _name_weight(project: Project, path: str) -> float:
    """Say how much the name of a script sounds like training; below zero: other work."""
    stem = PurePosixPath(path).stem.lower()
    if stem == "__main__":
        stem = PurePosixPath(path).parent.name.lower()
    if _TOKENS.search(stem):
        return -80.0
    if "train" in stem:
        return 65.0 if stem == "train" else 58.0
    if _OTHER_WORK.search(stem):
        return -80.0
    for word, weight in (("finetune", 45), ("fit", 42), ("learn", 40), ("main", 38), ("run", 35)):
        if word in re.split(r"[_-]", stem):
            return float(weight)
    return 25.0 if _TRAINS.search(project.text(path)) else -40.0


def _likely_scripts(project: Project) -> list[_Candidate]:
    """Return the scripts that look like training, when no text of the project names one."""
    found = []
    for path in project.scripts:
        text = project.text(path)
        guarded = "__main__" in text
        named = PurePosixPath(path).stem.lower() == "train"
        if not guarded and not named and not (path.count("/") == 0 and _TRAINS.search(text)):
            continue
        weight = _name_weight(project, path) - 6 * path.count("/") + (3 if guarded else 0)
        if weight > 0:
            launch = Launch(path, "", (), (), "", 0)
            origin = f"{path} looks like the training script, no text of the project says so"
            found.append(_Candidate(launch, path, origin, weight, said=False))
    return found


def _render(project: Project, candidate: _Candidate, has_uv: bool) -> str:
    launch = candidate.launch
    start = "uv run" if _uses_uv(project, has_uv) else "{python}"
    flat = not candidate.entrypoint.startswith("src/")
    if launch.module and flat:
        start += f" -m {launch.module}"
    else:
        start += f" {shlex.quote(candidate.entrypoint)}"
    return " ".join([start, *(shlex.quote(word) for word in launch.arguments)])


def _uses_uv(project: Project, has_uv: bool) -> bool:
    return has_uv and project.environment is None and "uv.lock" in project


def _interpreter(project: Project, has_uv: bool) -> str:
    if project.environment is not None:
        return f"interpreter from {project.environment}/"
    if _uses_uv(project, has_uv):
        return "uv.lock and no .venv: `uv sync` first, as runs have no network"
    if "uv.lock" in project:
        return "uv.lock, but neither .venv nor uv here: the current interpreter"
    return "no .venv: the current interpreter"


def _caveats(candidate: _Candidate) -> list[str]:
    launch = candidate.launch
    found = []
    if launch.unfinished:
        found.append(f"{launch.unfinished} has to be filled in")
    if launch.launcher:
        found.append(f"{launch.launcher} left out: a program is one process on one device")
    if launch.line and launch.script.removeprefix("./") not in ("", candidate.entrypoint):
        found.append(f"written there as {launch.script}")
    return found


def _before(written: list[_Candidate], best: _Candidate) -> list[str]:
    """Name the data preparation that the same text runs before the training command."""
    same = best.origin.split(":")[0]
    steps = [
        candidate.launch.script
        for candidate in written
        if candidate.origin.split(":")[0] == same
        and candidate.launch.line < best.launch.line
        and _SETUP_WORK.search(candidate.launch.script)
    ]
    return [f"needs `python {steps[-1]}` first"] if steps else []
