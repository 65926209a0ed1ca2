"""Literals of a Python file, each with the name it is bound to."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from lae_controller.mutators.names import is_frozen, is_measure_name
from lae_controller.mutators.scalar import Scalar
from lae_controller.mutators.scopes import call_name, is_measuring, signatures
from lae_controller.mutators.sources import Source

# Names of positional arguments of well-known calls; an empty name is one to leave alone.
_POSITIONAL: dict[str, tuple[str, ...]] = {
    "Dropout": ("dropout",),
    "Dropout1d": ("dropout",),
    "Dropout2d": ("dropout",),
    "dropout": ("", "dropout"),
    "normal": ("loc", "std"),
    "normal_": ("", "loc", "std"),
    "trunc_normal_": ("", "loc", "std"),
    "LeakyReLU": ("slope",),
    "leaky_relu": ("", "slope"),
    "ELU": ("alpha",),
    "SGD": ("", "lr", "momentum"),
    "Adam": ("", "lr", "betas"),
    "AdamW": ("", "lr", "betas"),
    "NAdam": ("", "lr", "betas"),
    "RAdam": ("", "lr", "betas"),
    "RMSprop": ("", "lr"),
    "sgd": ("lr", "momentum"),
    "adam": ("lr",),
    "adamw": ("lr",),
    "StepLR": ("", "step_size", "gamma"),
    "ExponentialLR": ("", "gamma"),
    "CosineAnnealingLR": ("", ""),
    "clip_grad_norm_": ("", "clip"),
    "clip": ("", "clip", "clip"),
    "full": ("", "scale"),
}
# Calls whose arguments are seeds, machine or text.
_LEAVE = frozenset(
    "seed default_rng manual_seed manual_seed_all RandomState Random PRNGKey key Generator"
    " sleep exit print open range enumerate round isclose allclose format split"
    " train_test_split permutation".split()
)
_LOOKUPS = frozenset("get pop setdefault getattr getenv".split())
_OPTIONS = frozenset("add_argument add_option option".split())
_WRAPPERS = frozenset("int float field Field array asarray tensor".split())
_EXPRESSION = 0.3
_WHOLE = 0.2  # an int in an expression is mostly structure: `1 - p`, `x ** 2`
_SHAPE = "shape"  # names the ints among positional arguments of unknown calls: role fragile


@dataclass(frozen=True, slots=True)
class _Context:
    """What is known where the walk stands.

    Attributes:
        name: identifier that the value at hand is bound to.
        weight: likelihood that a literal here is a setting.
        shaped: among positional arguments of an unknown call, where ints are shapes and axes.
    """

    scope: tuple[str, ...]
    name: str
    weight: float
    shaped: bool = False


def python_scalars(source: Source) -> list[Scalar]:
    """Return the numbers, flags and strings of the file that a child may change; in order."""
    walker = _Walker(source)
    walker.body(source.tree.body, _Context((), "", 1.0))
    return walker.found


class _Walker:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._signatures = signatures(source.tree) | _POSITIONAL
        self._count: Counter[tuple[str, ...]] = Counter()
        self.found: list[Scalar] = []

    def body(self, statements: Sequence[ast.stmt], context: _Context) -> None:
        for statement in statements:
            self._statement(statement, context)

    def _statement(self, node: ast.stmt, context: _Context) -> None:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._function(node, context)
            case ast.ClassDef():
                inner = replace(context, scope=(*context.scope, node.name))
                self.body(node.body, inner)
            case ast.Assign():
                self._assign(node.targets[0], node.value, context)
            case ast.AnnAssign(value=ast.expr() as value):
                self._assign(node.target, value, context)
            case ast.AugAssign():
                weight = _EXPRESSION * (1.0 if _is_float(node.value) else _WHOLE)
                name = target_name(node.target)
                self._expr(node.value, replace(context, name=name, weight=weight))
            case ast.Return(value=ast.expr() as value):
                self._expr(value, replace(context, weight=context.weight * 0.5))
            case ast.Expr(value=ast.Constant()) | ast.Assert() | ast.Raise() | ast.Delete():
                pass
            case _:
                self._compound(node, context)

    def _compound(self, node: ast.stmt, context: _Context) -> None:
        loose = replace(context, name="", weight=context.weight * 0.5)
        for child in ast.iter_child_nodes(node):
            match child:
                case ast.stmt():
                    self._statement(child, context)
                case ast.ExceptHandler() | ast.match_case():
                    self.body(child.body, context)
                case ast.withitem():
                    self._expr(child.context_expr, loose)
                case ast.expr():
                    self._expr(child, loose)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, context: _Context) -> None:
        if is_measuring(node.name):
            return
        for decorator in node.decorator_list:
            self._expr(decorator, context)
        inner = _Context((*context.scope, node.name), node.name, 0.7)
        positional = node.args.posonlyargs + node.args.args
        first = len(positional) - len(node.args.defaults)
        pairs = list(zip(positional[first:], node.args.defaults, strict=True))
        pairs += [
            (arg, default)
            for arg, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
            if default is not None
        ]
        for arg, default in pairs:
            self._expr(default, replace(inner, name=arg.arg, weight=1.0))
        self.body(node.body, inner)

    def _assign(self, target: ast.expr, value: ast.expr, context: _Context) -> None:
        pair = (target, value)
        match pair:
            case (ast.Tuple(elts=names), ast.Tuple(elts=values)) if len(names) == len(values):
                for name, part in zip(names, values, strict=True):
                    self._assign(name, part, context)
            case _:
                self._expr(value, replace(context, name=target_name(target)))

    def _expr(self, node: ast.expr, context: _Context) -> None:
        match node:
            case ast.Constant():
                self._add(node, node.value, context)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=(int() | float()) as value)):
                self._add(node, -value, context)
            case ast.Call():
                self._call(node, context)
            case ast.Dict():
                for key, item in zip(node.keys, node.values, strict=True):
                    self._expr(item, replace(context, name=constant_text(key) or context.name))
            case ast.Tuple() | ast.List() | ast.Set():
                for item in node.elts:
                    self._expr(item, context)
            case ast.Subscript() | ast.Attribute() | ast.Starred():
                self._expr(node.value, context)
            case ast.JoinedStr() | ast.Name():
                pass
            case _:
                self._operation(node, context)

    def _operation(self, node: ast.expr, context: _Context) -> None:
        name = "" if isinstance(node, ast.Compare) else context.name
        inner = replace(context, name=name, weight=context.weight * _EXPRESSION)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                if isinstance(child, ast.Constant) and not _is_float(child):
                    self._expr(child, replace(inner, weight=inner.weight * _WHOLE, name=""))
                else:
                    self._expr(child, inner)
            elif isinstance(child, ast.comprehension):
                self._expr(child.iter, inner)

    def _call(self, node: ast.Call, context: _Context) -> None:
        called = call_name(node)
        if called in _LEAVE or is_frozen(called):
            return
        if called in _LOOKUPS | _OPTIONS:
            self._lookup(node, called, context)
            return
        self._expr(node.func, context)
        names = self._signatures.get(called, ())
        loose = replace(context, name=called, weight=context.weight * _EXPRESSION, shaped=True)
        for number, argument in enumerate(node.args):
            inner = context if called in _WRAPPERS else loose
            if number < len(names):
                inner = replace(context, name=names[number], shaped=False)
            self._expr(argument, inner)
        for keyword in node.keywords:
            own = {None: context.name, "default": context.name, "p": called}.get(keyword.arg)
            self._expr(keyword.value, replace(context, name=own or keyword.arg or "", shaped=False))

    def _lookup(self, node: ast.Call, called: str, context: _Context) -> None:
        """Name the default in ``get("lr", 0.1)`` or ``add_argument("--lr", default=0.1)``."""
        names = [text for argument in node.args if (text := constant_text(argument))]
        if not names:
            return
        if called in _OPTIONS:
            name = max(names, key=len).lstrip("-").replace("-", "_")
            defaults = [keyword.value for keyword in node.keywords if keyword.arg == "default"]
        else:
            name = names[0]
            defaults = [argument for argument in node.args if constant_text(argument) != name]
        for default in defaults:
            self._expr(default, replace(context, name=name, weight=1.0, shaped=False))

    def _add(self, node: ast.expr, value: object, context: _Context) -> None:
        if not isinstance(value, (bool, int, float, str)) or value == "":
            return
        place = (*context.scope, context.name)
        self._count[place] += 1
        start, end = self._source.span(node)
        name = context.name
        if is_frozen(name) or is_measure_name(name):
            return
        if context.shaped and isinstance(value, int) and not isinstance(value, bool):
            name = _SHAPE
        text = self._source.text[start:end]
        if isinstance(value, str) and text[1:-1] != value:
            return  # concatenated, prefixed, triple-quoted or with escapes: no plain word
        key = (*place, str(self._count[place]))
        self.found.append(
            Scalar(self._source.path, start, end, text, value, name, key, context.weight)
        )


def target_name(target: ast.expr) -> str:
    """Return the identifier that an assignment binds: ``lr`` of ``self.lr`` or ``cfg["lr"]``."""
    match target:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(slice=ast.Constant(value=str() as name)):
            return name
        case ast.Subscript(value=value) | ast.Starred(value=value):
            return target_name(value)
        case _:
            return ""


def _is_float(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, float)


def constant_text(node: ast.expr | None) -> str | None:
    """Return the text of a string literal; None for anything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return None
