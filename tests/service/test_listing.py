from __future__ import annotations

import pytest

from lae_controller.service.api_errors import ApiError
from lae_controller.service.book import ServedProgram
from lae_controller.service.evaluations import Scored
from lae_controller.service.listing import (
    SortKey,
    page_of,
    parse_order,
    parse_paging,
    parse_state_filter,
    program_place,
)
from lae_controller.service.states import ProgramState


def program(name: str, created: float, **scores: float) -> ServedProgram:
    evaluation = Scored(scores) if scores else None
    return ServedProgram(name, ProgramState.COMPLETED, created, evaluation=evaluation)


@pytest.mark.parametrize(
    "text",
    [
        "COMPLETED",
        'state="COMPLETED"',
        "state_filter = 'COMPLETED'",
        "stateFilter = 'COMPLETED'",
        " state=COMPLETED ",
    ],
)
def test_a_filter_has_many_forms(text: str) -> None:
    assert parse_state_filter(text, "filter") == {ProgramState.COMPLETED}


def test_states_may_be_joined_and_none_means_all() -> None:
    both = parse_state_filter("state_filter = 'INITIALIZED' OR state_filter = 'EVALUATING'", "f")
    assert both == {ProgramState.INITIALIZED, ProgramState.EVALUATING}
    assert parse_state_filter("", "f") is None
    assert parse_state_filter("PROGRAM_STATE_UNSPECIFIED", "f") is None


@pytest.mark.parametrize("text", ["DONE", "state=", "score > 1", "OR", "completed"])
def test_another_filter_is_refused(text: str) -> None:
    with pytest.raises(ApiError, match="expected one of INITIALIZED"):
        parse_state_filter(text, "stateFilter")


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("", ()),
        ("a", (SortKey("a", False),)),
        ("a desc, b", (SortKey("a", True), SortKey("b", False))),
        ("a ASC,b  DESC", (SortKey("a", False), SortKey("b", True))),
        ("my metric desc", (SortKey("my metric", True),)),
        ("desc", (SortKey("desc", False),)),
        ('"a.b" desc', (SortKey("a.b", True),)),
    ],
)
def test_an_order_names_metrics(text: str, keys: tuple[SortKey, ...]) -> None:
    assert parse_order(text) == keys


@pytest.mark.parametrize("text", ["a,", ",", "a,,b"])
def test_an_empty_criterion_is_refused(text: str) -> None:
    with pytest.raises(ApiError, match="accuracy desc, latency"):
        parse_order(text)


PROGRAMS = [
    program("p1", 1.0, a=1.0, b=5.0),
    program("p2", 2.0, a=2.0, b=5.0),
    program("p3", 3.0, a=2.0, b=1.0),
    program("p4", 4.0),
    program("p5", 5.0, a=1.0, b=5.0),
]


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("a desc, b", "p3 p2 p5 p1 p4"),
        ("a", "p5 p1 p3 p2 p4"),
        ("b desc", "p5 p2 p1 p3 p4"),
        ("", "p5 p4 p3 p2 p1"),
        ("createTime", "p1 p2 p3 p4 p5"),
        ("nobody desc", "p5 p4 p3 p2 p1"),
    ],
)
def test_programs_come_in_order_ties_newest_first_and_unscored_last(
    order: str, expected: str
) -> None:
    keys = parse_order(order)
    paging = parse_paging("", "", ("q",), 2 * len(keys) + 2)
    page = page_of(PROGRAMS, program_place(keys), paging)
    assert " ".join(it.id for it in page.items) == expected
    assert page.token == ""


def test_pages_neither_repeat_nor_skip_while_programs_come_in() -> None:
    keys, query = parse_order("a desc"), ("list", "a desc")
    place, programs = program_place(keys), list(PROGRAMS)
    seen: list[str] = []
    token = ""
    for added in range(10):
        page = page_of(programs, place, parse_paging("2", token, query, 4))
        seen += [it.id for it in page.items]
        programs.append(program(f"new{added}", 100.0 + added, a=99.0))
        token = page.token
        if not token:
            break
    assert seen == ["p3", "p2", "p5", "p1", "p4"]


@pytest.mark.parametrize("token", ["x", "!!!", "bm90aGluZw", "WyJhIixbMSwyXV0", "W10", "é"])
def test_a_token_of_nobody_is_refused(token: str) -> None:
    with pytest.raises(ApiError, match="pageToken is not one that this list gave"):
        parse_paging("2", token, ("q",), 2)


def test_a_token_of_another_list_is_refused() -> None:
    page = page_of(PROGRAMS, program_place(()), parse_paging("1", "", ("one",), 2))
    assert parse_paging("1", page.token, ("one",), 2).after is not None
    with pytest.raises(ApiError, match="with the same filter and order"):
        parse_paging("1", page.token, ("other",), 2)


@pytest.mark.parametrize("size", ["-1", "many", "1.5", "9" * 12])
def test_a_page_size_is_a_number(size: str) -> None:
    with pytest.raises(ApiError, match="pageSize"):
        parse_paging(size, "", ("q",), 2)


def test_a_page_size_is_bounded_without_an_error() -> None:
    assert parse_paging("100000", "", ("q",), 2).size == 1_000
    assert parse_paging("0", "", ("q",), 2).size == parse_paging("", "", ("q",), 2).size == 50
