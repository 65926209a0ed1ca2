"""The normal form of a program: what is left when formatting is taken away.

Two programs with the same digest are duplicates, and the second is not run. Per file, by
path:

- Python: the syntax tree, so comments, blank lines, quotes, parentheses and the spelling of
  numbers (``0.05``, ``0.050``, ``5e-2``) do not count. Docstrings do not either, unless some
  file of the program reads them (``__doc__``, ``getdoc``); then their words count.
- YAML: the nodes with order, tags and anchors; comments, quotes that change nothing, flow or
  block style and the spelling of decimal numbers do not count. A number that YAML 1.1 and 1.2
  read differently counts as it is written.
- everything else, and what does not parse: its lines without outer and empty space.

The digest of Python depends on the version that makes it, in that a newer one may know more
kinds of node.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import PurePosixPath

from lae_controller.change import yaml11
from lae_controller.change.nodes import KEPT, walk
from lae_controller.change.source import BOM, is_python, split_lines
from lae_controller.change.syntax import YAML_SUFFIXES, parse_python
from lae_controller.program import Files

_READS_DOCSTRINGS = re.compile(r"__doc__|\bgetdoc\b")
_DECIMAL = re.compile(r"[-+]?(?:0|[1-9][0-9]*)(?:\.[0-9]+(?:[eE][-+][0-9]+)?)?")
_DIGEST_LENGTH = 32  # hex digits: 128 bits


def digest(files: Files) -> str:
    """Return the digest of a program's normal form: 32 lower-case hex digits.

    Paths belong to it; their order in ``files`` does not.
    """
    docstrings = any(is_python(path) and _READS_DOCSTRINGS.search(files[path]) for path in files)
    total = hashlib.sha256()
    for path in sorted(files):
        form = _form(path, files[path], docstrings)
        # Lengths keep the end of one file apart from the start of the next.
        total.update(f"{len(path)}:{path}{len(form)}:{form}".encode("utf-8", "surrogatepass"))
    return total.hexdigest()[:_DIGEST_LENGTH]


def _form(path: str, text: str, docstrings: bool) -> str:
    form = None
    if is_python(path):
        form = _python(text, docstrings)
    elif PurePosixPath(path).suffix.lower() in YAML_SUFFIXES:
        form = _yaml(text)
    return _stripped(text) if form is None else form


def _stripped(text: str) -> str:
    lines = (line.strip() for line in split_lines(text.removeprefix(BOM)))
    return "\n".join(line for line in lines if line)


@lru_cache(maxsize=KEPT)
def _python(text: str, docstrings: bool) -> str | None:
    try:
        tree = parse_python(text)
        for node in walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                node.body = list(_body(node.body, docstrings))
            elif isinstance(node, ast.Constant):
                node.kind = None  # u"text" is "text"
        return ast.dump(tree, annotate_fields=False)
    except (SyntaxError, ValueError, RecursionError):
        return None  # ValueError: an integer too long to be written in decimal


def _body(statements: list[ast.stmt], docstrings: bool) -> Iterator[ast.stmt]:
    """Yield the statements, a docstring at their head dropped or with its blanks folded."""
    first, *rest = statements or [ast.Pass()]
    match first:
        case ast.Expr(value=ast.Constant(value=str(words))):
            if docstrings:
                yield ast.Expr(ast.Constant(" ".join(words.split())))
        case _:
            yield first
    yield from rest


def _yaml(text: str) -> str | None:
    try:
        return repr([_canonical(root) for root in yaml11.load(text)])
    except (yaml11.BadYamlError, RecursionError):
        return None


def _canonical(node: yaml11.Node) -> tuple[object, ...]:
    if isinstance(node, yaml11.Alias):
        return ("*", node.anchor)
    head = (node.tag, node.anchor)
    if isinstance(node, yaml11.Scalar):
        return (*head, *_value(node))
    if isinstance(node, yaml11.Sequence):
        return (*head, "[", *map(_canonical, node.items))
    return (*head, "{", *((_canonical(key), _canonical(value)) for key, value in node.pairs))


def _value(scalar: yaml11.Scalar) -> tuple[str, str]:
    if scalar.plain and scalar.tag is None and _DECIMAL.fullmatch(scalar.text):
        spelt = scalar.text.removeprefix("+")
        return ("number", repr(float(spelt)) if "." in spelt else spelt)
    # Quotes do not count around words that no reader takes for anything but text.
    bare = yaml11.Scalar(scalar.text, True, None, None, 0)
    word = bare.kind == "text" and scalar.text[:1].isalpha()
    return ("plain" if scalar.plain or word else "quoted", scalar.text)
