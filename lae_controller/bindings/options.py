"""Settings that the code itself declares: command-line options, environment, constants.

One finder for each way in which training scripts declare them; all read syntax trees only.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from lae_controller.bindings.project import Project, Site, dotted_name, line_of, literal
from lae_controller.bindings.settings import Setting, Way, plain_name

_FLAG_ACTIONS = frozenset({"store_true", "store_false", "help", "version", "count"})
_CLASS_PARSERS = frozenset({"cli", "HfArgumentParser", "parse", "add_arguments", "wrap"})
_PARSER_MODULES = ("tyro", "transformers", "simple_parsing", "pyrallis", "draccus")


def declared_settings(project: Project, files: tuple[str, ...]) -> tuple[Setting, ...]:
    """Return what the code of a program lets be set, then the constants it holds.

    Args:
        files: the entrypoint and what it imports, nearest first.
    """
    found: list[Setting] = []
    for path in files:
        found.extend(_parser_options(project, path))
        found.extend(_function_options(project, path))
        found.extend(_class_options(project, path, files))
        found.extend(_environment(project, path))
    for path in files:
        found.extend(_written_numbers(project, path))
    return tuple(found)


def module_constants(project: Project, path: str) -> dict[str, tuple[object, int]]:
    """Return the module-level names that are bound to a literal, with value and line."""
    found: dict[str, tuple[object, int]] = {}
    for node, around in project.sites(path):
        if not around:
            for name, value in _assigned(node):
                if literal(value) is not ...:
                    found[name] = (literal(value), line_of(node))
    return found


def _assigned(node: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    """Yield the plain names and attributes that a statement binds, and to what."""
    if isinstance(node, ast.Assign | ast.AnnAssign):
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if isinstance(target, ast.Name):
                yield target.id, node.value
            elif isinstance(target, ast.Attribute):
                yield target.attr, node.value


def _keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((word.value for word in call.keywords if word.arg == name), None)


def option(flags: Iterable[str], default: object, where: str) -> Setting | None:
    """Make the setting of a command-line option; its longest spelling is the one used."""
    spelled = tuple(flag for flag in flags if flag.startswith("-"))
    long = max((flag for flag in spelled if flag.startswith("--")), key=len, default=None)
    if long is None:
        return None
    value = None if default is ... else default
    return Setting(plain_name(long), Way.OPTION, long, value, where, spelled)


def _parser_options(project: Project, path: str) -> Iterator[Setting]:
    """Find argparse and click options, absl flags and what LightningCLI brings along."""
    constants = module_constants(project, path)
    for node, _ in project.sites(path):
        if isinstance(node, ast.Call):
            name = dotted_name(node.func).rsplit(".", 1)[-1]
            where = f"{path}:{node.lineno}"
            if name == "LightningCLI":
                for flag in ("--trainer.max_epochs", "--trainer.max_steps", "--seed_everything"):
                    yield Setting(plain_name(flag), Way.OPTION, flag, None, where, (flag,))
            found = _parser_option(name, node, constants, where)
            if found is not None:
                yield found


def _parser_option(
    name: str, call: ast.Call, constants: dict[str, tuple[object, int]], where: str
) -> Setting | None:
    words = [text for arg in call.args if isinstance(text := literal(arg), str)]
    default = _value(_keyword(call, "default"), constants)
    if name == "add_argument" and literal(_keyword(call, "action")) not in _FLAG_ACTIONS:
        return option(words, default, where)
    if name == "option" and literal(_keyword(call, "is_flag")) is not True:
        return option((part for word in words for part in word.split("/")), default, where)
    if name in ("DEFINE_integer", "DEFINE_float") and words and len(call.args) > 1:
        return option([f"--{words[0]}"], _value(call.args[1], constants), where)
    return None


def _value(node: ast.expr | None, constants: dict[str, tuple[object, int]]) -> object:
    if isinstance(node, ast.Name):
        return constants.get(node.id, (None, 0))[0]
    return literal(node)


def _function_options(project: Project, path: str) -> Iterator[Setting]:
    """Find the parameters of functions that fire or typer turn into options."""
    sites = project.sites(path)
    exposed = {name for site in sites for name in _exposed_functions(site)}
    typer = "typer" in project.text(path)
    for node, _ in sites:
        if isinstance(node, ast.FunctionDef):
            command = typer and any(map(_is_command, node.decorator_list))
            if command or node.name in exposed:
                yield from _parameters(node, path, dashes=typer)


def _exposed_functions(site: Site) -> Iterator[str]:
    node = site.node
    if isinstance(node, ast.Call) and dotted_name(node.func) in ("fire.Fire", "Fire", "typer.run"):
        for arg in node.args:
            values = arg.values if isinstance(arg, ast.Dict) else [arg]
            yield from (value.id for value in values if isinstance(value, ast.Name))


def _is_command(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return dotted_name(called).endswith(".command")


def _parameters(node: ast.FunctionDef, path: str, dashes: bool) -> Iterator[Setting]:
    for name, written, line in _defaults(node):
        # typer.Option(10, help=...) holds the default as its first argument
        value = written.args[0] if isinstance(written, ast.Call) and written.args else written
        flag = name.replace("_", "-") if dashes else name
        found = option([f"--{flag}"], literal(value), f"{path}:{line}")
        if found is not None and name not in ("self", "ctx"):
            yield found


def _defaults(
    node: ast.FunctionDef | ast.AsyncFunctionDef,
) -> Iterator[tuple[str, ast.expr | None, int]]:
    """Yield the parameters of a function with their defaults, None if there is none."""
    first = [*node.args.posonlyargs, *node.args.args]
    missing: list[ast.expr | None] = [None] * (len(first) - len(node.args.defaults))
    values = [*missing, *node.args.defaults, *node.args.kw_defaults]
    for argument, value in zip([*first, *node.args.kwonlyargs], values, strict=True):
        yield argument.arg, value, argument.lineno


def _class_options(project: Project, path: str, files: tuple[str, ...]) -> Iterator[Setting]:
    """Find the fields of dataclasses that tyro, HfArgumentParser and their like read."""
    if not any(module in project.text(path) for module in _PARSER_MODULES):
        return
    wanted = {name for node, _ in project.sites(path) for name in _parsed_classes(node)}
    if "TrainingArguments" in wanted:
        yield from _hf_options(path)
    for other in files:
        for node, _ in project.sites(other):
            if isinstance(node, ast.ClassDef) and node.name in wanted:
                yield from _fields(project, (other, node), files, "")


def _parsed_classes(node: ast.AST) -> Iterator[str]:
    """Yield the class names in a call such as ``tyro.cli(Args)``."""
    if not isinstance(node, ast.Call):
        return
    if dotted_name(node.func).rsplit(".", 1)[-1] in _CLASS_PARSERS:
        for part in (*node.args, *(word.value for word in node.keywords)):
            for inner in ast.walk(part):
                if isinstance(inner, ast.Name) and inner.id[:1].isupper():
                    yield inner.id


def _fields(
    project: Project, owner: tuple[str, ast.ClassDef], files: tuple[str, ...], prefix: str
) -> Iterator[Setting]:
    """Yield one option per field; a field that is itself a dataclass gives ``--field.name``."""
    for node in owner[1].body:
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
            continue
        name, inner = f"{prefix}{node.target.id}", _class_of(project, node.annotation, files)
        if inner is not None:
            if prefix.count(".") < 3:
                yield from _fields(project, inner, files, f"{name}.")
            continue
        value = node.value
        if isinstance(value, ast.Call):
            value = _keyword(value, "default")  # field(default=10)
        found = option([f"--{name}"], literal(value), f"{owner[0]}:{node.lineno}")
        if found is not None:
            yield found


def _class_of(
    project: Project, annotation: ast.expr, files: tuple[str, ...]
) -> tuple[str, ast.ClassDef] | None:
    if not isinstance(annotation, ast.Name) or not annotation.id[:1].isupper():
        return None
    for path in files:
        for node, _ in project.sites(path):
            if isinstance(node, ast.ClassDef) and node.name == annotation.id:
                return path, node
    return None


def _hf_options(path: str) -> Iterator[Setting]:
    """Yield what transformers' TrainingArguments brings along, with its documented defaults."""
    where = f"{path}: TrainingArguments"
    for flag, default in (("--num_train_epochs", 3), ("--max_steps", -1), ("--seed", 42)):
        yield Setting(plain_name(flag), Way.OPTION, flag, default, where, (flag,))


def _environment(project: Project, path: str) -> Iterator[Setting]:
    """Find ``os.environ.get("EPOCHS", 10)``, ``os.getenv`` and ``os.environ["EPOCHS"]``."""
    for node, _ in project.sites(path):
        name: object = ...
        default: object = ...
        if isinstance(node, ast.Call) and node.args:
            if dotted_name(node.func).endswith(("environ.get", "getenv")):
                name = literal(node.args[0])
                default = literal(node.args[1]) if len(node.args) > 1 else ...
        elif isinstance(node, ast.Subscript) and dotted_name(node.value).endswith("environ"):
            name = literal(node.slice) if isinstance(node.ctx, ast.Load) else ...
        if isinstance(name, str):
            value = None if default is ... else default
            where = f"{path}:{line_of(node)}"
            yield Setting(plain_name(name), Way.ENVIRONMENT, f"env:{name}", value, where)


def _written_numbers(project: Project, path: str) -> Iterator[Setting]:
    """Find numbers with a name in the code, which nothing outside it can set."""
    for node, _ in project.sites(path):
        for name, value, line in _named(node):
            number = literal(value)
            if isinstance(number, int | float) and not isinstance(number, bool):
                yield Setting(plain_name(name), Way.CONSTANT, None, number, f"{path}:{line}")


def _named(node: ast.AST) -> Iterator[tuple[str, ast.expr | None, int]]:
    line = line_of(node)
    if isinstance(node, ast.Assign | ast.AnnAssign):
        yield from ((name, value, line) for name, value in _assigned(node))
    elif isinstance(node, ast.Call) and not dotted_name(node.func).endswith("add_argument"):
        yield from ((word.arg, word.value, line) for word in node.keywords if word.arg)
    elif isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(name := literal(key), str):
                yield name, value, value.lineno
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield from _defaults(node)
    elif isinstance(node, ast.For):
        yield from _loop(node)


def _loop(node: ast.For) -> Iterator[tuple[str, ast.expr | None, int]]:
    """Read ``for epoch in range(10)`` as ``num_epochs = 10``."""
    target, over = node.target, node.iter
    if isinstance(over, ast.Call) and dotted_name(over.func) in ("tqdm", "tqdm.tqdm"):
        over = over.args[0] if over.args else over
    ranged = isinstance(over, ast.Call) and dotted_name(over.func) in ("range", "trange")
    if isinstance(target, ast.Name) and isinstance(over, ast.Call) and ranged and over.args:
        end = over.args[1] if len(over.args) > 1 else over.args[0]
        if isinstance(end, ast.BinOp) and literal(end.right) != 1:
            end = end.right  # range(start, start + 200)
        if target.id in ("epoch", "step", "iteration"):
            yield f"num_{target.id}s", end, node.lineno
