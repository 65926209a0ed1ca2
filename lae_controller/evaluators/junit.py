"""JUnit XML as test runners write it."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree

from lae_controller.errors import ChildError
from lae_controller.program import Reason

Outcomes = dict[str, tuple[str, str]]
"""Test id -> (``passed``, ``skipped`` or ``failed``; text of the failure)."""

_FAILED = frozenset(["failure", "error"])


def read_junit(raw: bytes) -> Outcomes:
    """Return how each test case ended, by ``classname::name``; a repeated id gets ``#2``.

    Raises:
        ChildError: NO_METRIC if it is not well-formed, or holds a document type, which could make
            it grow without bound.
    """
    if b"<!DOCTYPE" in raw or b"<!ENTITY" in raw:
        raise ChildError(Reason.NO_METRIC, "the JUnit XML holds a document type; expected none")
    try:
        root = ElementTree.fromstring(raw)
    except ElementTree.ParseError as error:
        raise ChildError(Reason.NO_METRIC, f"the JUnit XML is not well-formed: {error}") from None
    found: Outcomes = {}
    for name, outcome in _cases(root):
        again = 2
        unique = name
        while unique in found:
            unique, again = f"{name}#{again}", again + 1
        found[unique] = outcome
    return found


def _cases(root: ElementTree.Element) -> Iterator[tuple[str, tuple[str, str]]]:
    for case in root.iter("testcase"):
        name = "::".join(filter(None, (case.get("classname"), case.get("name"))))
        bad = next((child for child in case if child.tag in _FAILED), None)
        if bad is not None:
            text = " ".join(filter(None, (bad.get("message"), bad.text)))
            yield name, ("failed", text.strip())
        elif case.find("skipped") is not None or case.get("status") == "notrun":
            yield name, ("skipped", "")
        else:
            yield name, ("passed", "")
