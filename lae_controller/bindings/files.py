"""Which files may evolve, which are the harness, what is data, what must stay as it is."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from lae_controller.bindings.budget import EPOCHS, SEED
from lae_controller.bindings.configs import split_command
from lae_controller.bindings.project import BIG_FILE, Project, ProjectFile, dotted_name, strings
from lae_controller.bindings.proposal import Suggestion
from lae_controller.bindings.settings import Setting, Way
from lae_controller.change.protected import pattern_of as protected_by

_MODEL_NAME = re.compile(r"(model|net|arch|layer|block|attention|encoder|decoder|head|backbone)")
_RECIPE_NAME = re.compile(r"(optim|sched|loss|augment|transform|recipe)")
_SIDE_SETTINGS = re.compile(r"callback|logg|path|extras|debug|hydra|trainer|data")
_EVALUATES = re.compile(
    r"_*(?:(?:evaluate|validate|validation|eval|val|valid|test)(?:_(?:epoch|step|model|loop|one_epoch|"
    r"set|loss|metrics|bpb))?|evaluate_\w+|estimate_loss|compute_metrics|eval_metrics)"
)
_SPLITS = re.compile(r"train_test_split|random_split|split_(data|validation|train)|KFold")
_MODEL_BASES = ("Module", "Model", "Layer", "Net", "Estimator", "Classifier", "Regressor")
_DATA_BASES = ("Dataset", "DataModule", "DataLoader", "BaseDataLoader")
_SPLIT_NAME = re.compile(
    r"(val|valid|validation|test|eval|dev|holdout|train)_?(fraction|frac|split|size|ratio|pct|"
    r"percent|portion)|(n|num)_(splits|folds)|split_seed|eval_(iters|batches|tokens|size)"
)
_FIXED_LINES = (
    r"manual_seed(?:_all)?\(",
    r"\brandom\.seed\(",
    r"seed_everything\(",
    r"train_test_split\(",
    r"random_split\(",
)
_DATA_FOLDER = re.compile(r"(data|datas?ets?|inputs?|corpus|corpora|raw|images|audio)$")
_OUTPUT_FOLDER = re.compile(
    r"(out|outputs?|plots?|dvclive|checkpoints?|ckpts?|runs?|logs?|results?|saved|save|weights|assets|figures?|"
    r"img|docs?|tests?|static|media)\b"
)
_DATA = frozenset(
    """.npz .npy .bin .csv .tsv .parquet .arrow .feather .h5 .hdf5 .mat .tfrecord .tfrecords .lmdb
    .mdb .jsonl .sqlite .db .wav .flac .mp3 .gz .zip .tar .tgz .ubyte .idx .zst .xz""".split()
)
_CHECKPOINTS = frozenset(".pt .pth .ckpt .pkl .pickle .safetensors .h5 .keras .joblib".split())
_SAVES = re.compile(r"save|checkpoint|ckpt|dump|out_", re.IGNORECASE)
_IMAGES = frozenset(".png .jpg .jpeg .bmp .tif .tiff .webp .gif".split())
_WHEN_NAMED = frozenset(".txt .json .pt .pth .pkl .pickle .safetensors .vec .model .ckpt".split())
_RECORDS = re.compile(r"(results?|metrics?|history|logs?|requirements\w*|package|config)\b")
_CODE = frozenset(".py .ipynb .c .cc .cpp .cu .h .sh .js .ts .html .md .rst .pdf .so .svg".split())
_MOST = 8
_MODEL = 60
"""The weight of a file that defines the model."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A file of the program: how well it lends itself to evolution, and what it is."""

    path: str
    weight: int
    part: str
    harness: str


def find_editable(
    project: Project,
    files: tuple[str, ...],
    settings: tuple[Setting, ...],
    command: str,
    metric_file: str,
) -> Suggestion:
    """List the files that a person may want to evolve; never a default.

    Args:
        files: the entrypoint and what it imports, nearest first.
        metric_file: the file that prints the metric; empty if unknown.
    """
    found = [_judge(project, path, path == files[0], metric_file) for path in files]
    for path in _setting_files(project, files, settings, command):
        if not _SIDE_SETTINGS.search(path):
            weight = 45 if _MODEL_NAME.search(path.lower()) else 40
            found.append(_Candidate(path, weight, "settings", ""))
    free = sorted((c for c in found if not c.harness and c.weight > 0), key=lambda c: -c.weight)
    harness = [c for c in found if c.harness]
    both: list[_Candidate] = []
    if not any(c.weight >= _MODEL for c in free):
        both = [c for c in harness if c.weight >= _MODEL] or (harness[:1] if not free else [])
    picks = [*both, *free]
    useful = [c for c in picks if c.weight > 10]
    picks = (useful if len(useful) > 1 else picks)[:_MOST]
    reason = _reason(picks, harness, both)
    return Suggestion("editable_files", None, reason, tuple(c.path for c in picks))


def _setting_files(
    project: Project, files: tuple[str, ...], settings: tuple[Setting, ...], command: str
) -> tuple[str, ...]:
    """Return the setting files that a run reads, Python files of overrides among them."""
    found = {s.where.split(":")[0]: None for s in settings if s.way in (Way.OVERRIDE, Way.CONFIG)}
    words = [word for word in split_command(command) if word.endswith(".py")]
    found.update({word: None for word in words if word in project and word not in files})
    return tuple(path for path in found if path not in files)


def _reason(picks: list[_Candidate], harness: list[_Candidate], both: list[_Candidate]) -> str:
    parts = ["never defaulted, you say what may change"]
    if picks:
        parts.append("likely: " + ", ".join(f"{c.path} ({c.part})" for c in picks[:4]))
    rest = [c for c in harness if c not in both]
    if rest:
        parts.append(
            "harness, not to be picked: " + ", ".join(f"{c.path} ({c.harness})" for c in rest[:4])
        )
    if both:
        one = both[0]
        parts.append(
            f"{one.path} is both program and harness ({one.harness}): put EVOLVE-BLOCK-START "
            "and EVOLVE-BLOCK-END comments around what may change"
        )
    return "; ".join(parts)


def _judge(project: Project, path: str, entry: bool, metric_file: str) -> _Candidate:
    bases, defined, called = _names(project, path)
    stem = PurePosixPath(path).stem.lower()
    why = []
    if path == metric_file:
        why.append("prints the metric")
    if any(_EVALUATES.fullmatch(name.lower()) for name in defined if entry or name != "test"):
        why.append("evaluates")
    if any(_SPLITS.search(name) for name in (*called, *defined)) or _takes_split(project, path):
        why.append("splits the data")
    harness = " and ".join(why)
    if any(base.endswith(_MODEL_BASES) for base in bases):
        near = 5 if _MODEL_NAME.search(stem) else 0
        return _Candidate(path, _MODEL + near, "defines the model", harness)
    if any(base.endswith(_DATA_BASES) for base in bases):
        return _Candidate(path, 15, "data pipeline", harness)
    if stem == "__init__" and not defined:
        return _Candidate(path, 0, "imports only", harness)
    if _MODEL_NAME.search(stem) and defined:
        return _Candidate(path, 55, "named like a model", harness)
    if _RECIPE_NAME.search(stem) and defined:
        return _Candidate(path, 50, "training recipe", harness)
    return _Candidate(path, 30 if entry else 10, "training script" if entry else "helper", harness)


def _takes_split(project: Project, path: str) -> bool:
    """Whether a function is asked for a part of the data, as in ``load(split="val")``."""
    return any(
        isinstance(node, ast.FunctionDef) and any(arg.arg == "split" for arg in node.args.args)
        for node, _ in project.sites(path)
    )


def _names(project: Project, path: str) -> tuple[list[str], list[str], list[str]]:
    """Return the base classes, the defined functions and the called names of a file."""
    bases: list[str] = []
    defined: list[str] = []
    called: list[str] = []
    for node, _ in project.sites(path):
        if isinstance(node, ast.ClassDef):
            bases += [dotted_name(base).rsplit(".", 1)[-1] for base in node.bases]
            defined.append(node.name)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            defined.append(node.name)
        elif isinstance(node, ast.Call):
            called.append(dotted_name(node.func).rsplit(".", 1)[-1])
    return bases, defined, called


def find_protected(
    project: Project, settings: tuple[Setting, ...], editable: Iterable[str], budget: str
) -> Suggestion | None:
    """List seed, budget and split settings inside files that may be picked as editable.

    Args:
        budget: the name of the setting for the length of a run; empty if none was found.
    """
    wanted = tuple(editable)
    found: dict[str, str] = {}
    for setting in settings:
        path, _, place = setting.where.partition(":")
        patterns = (SEED, EPOCHS, _SPLIT_NAME)
        fixed = setting.name == budget or any(p.fullmatch(setting.name) for p in patterns)
        if path in wanted and fixed and setting.name != "epoch" and not place.startswith(" "):
            found.setdefault(_spelled(project, path, place, setting.name), setting.where)
    for path in wanted:
        for pattern in _FIXED_LINES:
            match = re.search(pattern, project.text(path))
            if match is not None:
                line = project.text(path).count("\n", 0, match.start()) + 1
                found.setdefault(pattern, f"{path}:{line}")
    if not found:
        return None
    reason = f"seed, budget and split settings: {', '.join(list(found.values())[:4])}"
    return Suggestion("protected", tuple(found), reason, certain=True)


def _spelled(project: Project, path: str, place: str, name: str) -> str:
    """Return the entry of ``protected`` that finds the line in which a setting stands.

    That is the name as its file spells it (``EPOCHS``, ``train.seed``) where the line gives it
    a value, else a pattern such as ``['"]--max-steps['"]``.
    """
    if not place.isdigit():
        return place
    lines = project.text(path).splitlines()
    line = lines[int(place) - 1] if 0 < int(place) <= len(lines) else ""
    loose = name.replace("_", "[-_]?")
    match = re.search(rf"(?<![\w-])(?:--)?{loose}(?!\w)", line, re.IGNORECASE)
    if match is None:
        loop = re.search(r"for \w+ in ", line)
        return loop.group() if loop else name
    spelled = match.group()
    if protected_by(spelled).search(line):
        return spelled
    return f"['\"]{spelled}['\"]"


def find_data(
    project: Project, files: tuple[str, ...], settings: tuple[Setting, ...], command: str
) -> Suggestion | None:
    """Propose what is linked read-only: data by name, ending or size, and what the code names.

    A folder that holds code of the program is never linked as a whole: a linked module would
    hide the child's own.
    """
    files = (*files, *_setting_files(project, files, settings, command))
    named = set(split_command(command)) | {t for path in files for t in strings(project, path)}
    base_names = {PurePosixPath(text).name for text in named if text}
    data = [
        file
        for file in project.files
        if _is_data(file, base_names, files) and not _is_written(project, file, files)
    ]
    crowded = Counter(str(PurePosixPath(file.path).parent) for file in data)
    found: dict[str, int] = {}
    for file in data:
        place = _place(file, files, crowded)
        found[place] = found.get(place, 0) + file.size
    for link in project.linked_folders:
        if _DATA_FOLDER.match(PurePosixPath(link).name.lower()) or link in named:
            found[link] = 0
    if not found:
        return None
    sizes = [
        f"{path} ({size / 1e6:.1f} MB)" if size else f"{path} (a link)"
        for path, size in found.items()
    ]
    more = f" and {len(found) - 4} more" if len(found) > 4 else ""
    reason = f"data, linked instead of copied: {', '.join(sizes[:4])}{more}"
    return Suggestion("data_paths", tuple(sorted(found)), reason, certain=True)


def _is_data(file: ProjectFile, base_names: set[str], files: tuple[str, ...]) -> bool:
    *folders, name = PurePosixPath(file.path.lower()).parts
    if file.path in files or file.ending in _CODE or _RECORDS.match(name):
        return False
    in_data = any(
        _DATA_FOLDER.match(folder) and not _holds_code("/".join(folders[: depth + 1]), files)
        for depth, folder in enumerate(folders)
    )
    if not in_data and any(_OUTPUT_FOLDER.match(folder) for folder in folders):
        return False
    if file.ending in _DATA or file.size > BIG_FILE:
        return True
    if PurePosixPath(file.path).name in base_names and file.ending in _WHEN_NAMED:
        return True
    return in_data and file.ending in (_IMAGES | _WHEN_NAMED) and not name.startswith("readme")


def _is_written(project: Project, file: ProjectFile, files: tuple[str, ...]) -> bool:
    """Say whether a checkpoint is what an earlier run saved: linked read-only it could not be.

    That is so if the code names it where it speaks of saving.
    """
    if file.ending not in _CHECKPOINTS or any(map(_DATA_FOLDER.match, file.path.split("/")[:-1])):
        return False
    name = PurePosixPath(file.path).name
    lines = [line for path in files for line in project.text(path).splitlines() if name in line]
    return any(_SAVES.search(line) for line in lines)


def _holds_code(folder: str, files: tuple[str, ...]) -> bool:
    return any(path.lower().startswith(f"{folder.lower()}/") for path in files)


def _place(file: ProjectFile, files: tuple[str, ...], crowded: Counter[str]) -> str:
    """Return what is linked for a data file: the outermost folder of data, or the file."""
    folders = list(PurePosixPath(file.path).parents)[-2::-1]
    for folder in folders:
        if _DATA_FOLDER.match(folder.name.lower()) and not _holds_code(str(folder), files):
            return str(folder)
    for folder in folders:
        if crowded[str(folder)] > 3 and not _holds_code(str(folder), files):
            return str(folder)
    return file.path
