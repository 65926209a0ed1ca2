"""Settings that lie in files: YAML, JSON, TOML, Hydra's folders, Python files of overrides."""

from __future__ import annotations

import ast
import json
import posixpath
import re
import shlex
from collections.abc import Iterable, Iterator

from lae_controller.bindings.options import module_constants
from lae_controller.bindings.project import Project, dotted_name, literal, strings
from lae_controller.bindings.settings import Setting, Way, plain_name
from lae_controller.errors import ConfigError
from lae_controller.yaml_text import load_yaml

_MAX_BYTES = 16_000
"""Bytes of one setting file; larger ones hold lists of classes or results, and read slowly."""
_MAX_TOTAL = 24_000
_ENDINGS = (".yaml", ".yml", ".json", ".toml")
_NOT_SETTINGS = re.compile(
    r"(pyproject|package(-lock)?|tsconfig|environment|conda|docker-compose|mkdocs|"
    r"requirements|vocab|tokenizer|labels?|classes|metrics|results?|dataset_infos?)[\w.-]*$"
)
_USUAL = re.compile(r"(config|params|hparams|settings|train\w*|default)\.(ya?ml|json|toml)$")


def file_settings(project: Project, files: tuple[str, ...], command: str) -> tuple[Setting, ...]:
    """Return what setting files let be set.

    Args:
        files: the entrypoint and what it imports, nearest first.
        command: the training command; it may name setting files and Hydra groups.
    """
    if not files:
        return ()
    found = [*_executed_overrides(project, files[0], command)]
    hydra = [setting for path in files for setting in _hydra(project, path, command)]
    return (*found, *(hydra or _plain_files(project, files, command)))


def split_command(command: str) -> list[str]:
    """Split a command into words; one with unbalanced quotes is split at blanks."""
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


def read_config(project: Project, path: str) -> dict[str, object]:
    """Return the content of a setting file as a mapping; empty if it does not parse."""
    text = project.text(path)
    if len(text) > _MAX_BYTES:
        return {}
    try:
        if path.endswith(".toml"):
            return _toml(text)
        value = json.loads(text) if path.endswith(".json") else load_yaml(text, path)
    except (ConfigError, ValueError, TypeError, AttributeError, RecursionError, OverflowError):
        return {}
    return {str(key): item for key, item in value.items()} if isinstance(value, dict) else {}


def _toml(text: str) -> dict[str, object]:
    """Read tables of one-line scalars, all that is needed; Python 3.10 brings no reader."""
    found: dict[str, object] = {}
    table = ""
    for line in text.splitlines():
        header = re.fullmatch(r"\s*\[([^\[\]]+)\]\s*(#.*)?", line)
        pair = re.fullmatch(
            r"""\s*([\w.-]+|"[^"]+")\s*=\s*("[^"]*"|'[^']*'|[-+\w.]+)\s*(#.*)?""", line
        )
        if header:
            table = header.group(1).strip().replace('"', "") + "."
        elif pair:
            found[table + pair.group(1).strip('"')] = _toml_scalar(pair.group(2))
    return found


def _toml_scalar(text: str) -> object:
    if text[0] in "\"'":
        return text[1:-1]
    if text in ("true", "false"):
        return text == "true"
    try:
        return int(text.replace("_", ""))
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text


def scalars(values: dict[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    """Yield every scalar of nested mappings under its dotted key; lists are passed over."""
    for key, value in values.items():
        if isinstance(value, dict) and prefix.count(".") < 8:
            yield from scalars({str(k): v for k, v in value.items()}, f"{prefix}{key}.")
        elif not isinstance(value, dict | list):
            yield f"{prefix}{key}", value


def _executed_overrides(project: Project, entrypoint: str, command: str) -> Iterator[Setting]:
    """Find module-level names that an executed file overrides from the command line.

    Such a script runs ``exec(open("configurator.py").read())``; the executed file reads
    ``--name=value`` from ``sys.argv``, and Python files named there override too.
    """
    texts = [
        project.text(path)
        for node, _ in project.sites(entrypoint)
        if isinstance(node, ast.Call) and dotted_name(node.func) == "exec"
        for part in ast.walk(node)
        if isinstance(written := literal(part), str) and (path := project.resolve(written))
    ]
    if not any("sys.argv" in text and "globals()" in text for text in texts):
        return
    values = {
        n: (v, f"{entrypoint}:{at}") for n, (v, at) in module_constants(project, entrypoint).items()
    }
    for word in split_command(command):
        if word.endswith(".py") and word != entrypoint and word in project:
            for name, (value, line) in module_constants(project, word).items():
                values[name] = (value, f"{word}:{line}")
    for name, (value, where) in values.items():
        flag = f"--{name}"
        yield Setting(plain_name(name), Way.OPTION, flag, value, where, (flag,))


def _hydra(project: Project, path: str, command: str) -> Iterator[Setting]:
    """Find the keys that ``@hydra.main`` composes, in the folders of the chosen groups."""
    for node, _ in project.sites(path):
        if not isinstance(node, ast.FunctionDef):
            continue
        for decorator in node.decorator_list:
            if isinstance(decorator, ast.Call) and dotted_name(decorator.func) == "hydra.main":
                words = {word.arg: literal(word.value) for word in decorator.keywords}
                folder, name = words.get("config_path"), words.get("config_name")
                if isinstance(name, str):
                    base = folder if isinstance(folder, str) else "."
                    where = posixpath.normpath(posixpath.join(posixpath.dirname(path), base))
                    yield from _composed(project, where, name, command)


def _composed(project: Project, folder: str, name: str, command: str) -> Iterator[Setting]:
    chosen = dict(
        word.lstrip("+").split("=", 1)
        for word in split_command(command)
        if re.match(r"\+?\w[\w/]*=", word)
    )
    values: dict[str, tuple[object, str]] = {}
    _compose(project, folder, name, "", chosen, values, 0)
    for dotted, (value, where) in values.items():
        yield Setting(plain_name(dotted), Way.OVERRIDE, f"{dotted}=", value, where)


def _compose(
    project: Project,
    folder: str,
    name: str,
    package: str,
    chosen: dict[str, str],
    values: dict[str, tuple[object, str]],
    depth: int,
) -> None:
    """Read one config and those in its defaults list, later ones over earlier ones."""
    path = posixpath.normpath(posixpath.join(folder, name.removesuffix(".yaml") + ".yaml"))
    config = read_config(project, path)
    if re.search(r"#\s*@package\s+_global_", project.text(path)[:500]):
        package = ""
    defaults = config.pop("defaults", [])
    own = {f"{package}{key}": (value, f"{path}:{key}") for key, value in scalars(config)}
    items = defaults if isinstance(defaults, list) else []
    if "_self_" in items:
        values.update(own)
    for item in items if depth < 5 else []:
        if isinstance(item, str) and item != "_self_":
            _compose(project, posixpath.dirname(path), item, package, chosen, values, depth + 1)
        elif isinstance(item, dict) and len(item) == 1:
            group, wanted = next(iter(item.items()))
            group = str(group).split()[-1].lstrip("/").split("@")[0]
            wanted = chosen.get(group, wanted)
            if isinstance(wanted, str):
                inner = f"{package}{group.replace('/', '.')}."
                place = posixpath.join(posixpath.dirname(path), group)
                _compose(project, place, wanted, inner, chosen, values, depth + 1)
    if "_self_" not in items:
        values.update(own)


def _plain_files(project: Project, files: tuple[str, ...], command: str) -> Iterator[Setting]:
    """Find the keys of the setting files that the program reads."""
    merged = any("OmegaConf.from_cli" in project.text(path) for path in files)
    for path in used_configs(project, files, command):
        for dotted, value in scalars(read_config(project, path)):
            where, name = f"{path}:{dotted}", plain_name(dotted)
            if merged:
                yield Setting(name, Way.OVERRIDE, f"{dotted}=", value, where)
            else:  # the controller sets values in YAML and JSON text; not in TOML
                key = None if path.endswith(".toml") else where
                yield Setting(name, Way.CONFIG, key, value, where)


def _first(project: Project, paths: Iterable[str]) -> Iterator[str]:
    """Yield the first setting files, as many as can be read in good time."""
    total = 0
    for path in paths:
        size = len(project.text(path))
        if size <= _MAX_BYTES and total + size <= _MAX_TOTAL:
            total += size
            yield path


def used_configs(project: Project, files: tuple[str, ...], command: str) -> tuple[str, ...]:
    """Return the setting files that the command or the code names; else the usual one.

    The usual one is ``config.yaml`` and its like at the root, if there is just one and the code
    reads such files at all.
    """
    named = [word.split("=", 1)[-1] for word in split_command(command)]
    named += [text for path in files for text in strings(project, path)]
    found: dict[str, None] = {}
    for written in named:
        if written.endswith(_ENDINGS) and not _NOT_SETTINGS.match(posixpath.basename(written)):
            path = project.resolve(written)
            if path is not None and path in project.configs:
                found[path] = None
    if found:
        return tuple(_first(project, found))
    usual = [path for path in project.configs if _USUAL.match(path)]
    reads = any(re.search(r"\b(yaml|json|toml\w*|omegaconf)\b", project.text(p)) for p in files)
    return tuple(usual) if len(usual) == 1 and reads else ()
