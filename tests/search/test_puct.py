from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import replace

import pytest
from search.search_cases import SETTINGS, history, told

from lae_controller.program import Direction, Placement, Record, Status
from lae_controller.search.puct import Puct, too_few_expansions
from lae_controller.search.tree import Tree


def tree_of(
    metrics: dict[str, float],
    c_puct: float = 1.0,
    exponent: float = 0.0,
    ratings: dict[str, float] | None = None,
) -> Tree:
    tree = Tree(c_puct, exponent)
    for number, (name, metric) in enumerate(metrics.items()):
        tree.add(name, (-metric, (number, 0, 0)), (ratings or {}).get(name))
    return tree


def score(
    rank: float, visits: int, total: int, nodes: int, c_puct: float = 1.0, prior: float = 1.0
) -> float:
    return rank + c_puct * prior / nodes * math.sqrt(total) / (1 + visits)


class Slow:
    """The formula over every node, every time."""

    def __init__(self, c_puct: float, exponent: float) -> None:
        self.c_puct, self.exponent = c_puct, exponent
        self.metric: dict[str, float] = {}
        self.rating: dict[str, float] = {}
        self.visits: Counter[str] = Counter()

    def best(self, flying: Counter[str]) -> str:
        ranked = sorted(self.metric, key=lambda n: (-self.metric[n], list(self.metric).index(n)))
        mean = sum(self.rating.values()) / len(self.rating) if self.rating else 1.0
        total = sum(self.visits.values()) + sum(flying.values())
        scores = {}
        for place, name in enumerate(ranked):
            rank = 1 - place / (len(ranked) - 1) if len(ranked) > 1 else 1.0
            prior = (self.rating.get(name, mean) / mean) ** self.exponent
            seen = self.visits[name] + flying[name]
            scores[name] = score(rank, seen, total, len(ranked), self.c_puct, prior)
        return max(ranked, key=lambda name: scores[name])


@pytest.mark.parametrize("exponent", [0.0, 1.0, 4.0])
@pytest.mark.parametrize("c_puct", [0.0, 0.5, 3.0, 10.0])
def test_the_chosen_node_has_the_highest_score(c_puct: float, exponent: float) -> None:
    rng = random.Random(f"{c_puct} {exponent}")
    tree, slow = Tree(c_puct, exponent), Slow(c_puct, exponent)
    names: list[str] = []
    for number in range(120):
        name, metric = f"n{number}", round(rng.gauss(0, 1), 1)
        rating = rng.choice([None, float(rng.randint(1, 10))])
        tree.add(name, (-metric, (number, 0, 0)), rating)
        names.append(name)
        slow.metric[name] = metric
        if rating is not None:
            slow.rating[name] = rating
        flying = Counter(rng.choices(names, k=rng.randrange(4)))
        chosen = tree.best(flying)
        assert chosen == slow.best(flying)
        tree.visit(chosen)
        slow.visits[chosen] += 1


def test_by_hand_a_much_visited_best_gives_way_to_the_second() -> None:
    tree = tree_of({"a": 3.0, "b": 2.0, "c": 1.0, "d": 0.0}, c_puct=2.0)
    for _ in range(9):
        tree.visit("a")
    # total 9, N 4: a = 1 + 2/4*3/10 = 1.15; b = 2/3 + 2/4*3 = 2.17; c = 1/3 + 1.5 = 1.83
    assert tree.best({}) == "b"
    assert score(2 / 3, 0, 9, 4, 2.0) == pytest.approx(13 / 6)


def test_a_small_weight_never_overturns_a_clear_ranking() -> None:
    tree = tree_of({"a": 3.0, "b": 2.0, "c": 1.0}, c_puct=0.1)
    for _ in range(10):
        tree.visit("a")
    assert tree.best({}) == "a"


def test_a_lone_node_is_chosen() -> None:
    assert tree_of({"a": 1.0}).best({}) == "a"


def test_equal_scores_go_to_the_better_and_then_to_the_earlier() -> None:
    assert tree_of({"a": 1.0, "b": 1.0}, c_puct=0.0).best({}) == "a"
    assert tree_of({"a": 1.0, "b": 2.0}, c_puct=0.0).best({}) == "b"


def test_children_under_way_count_as_visits() -> None:
    tree = tree_of({"a": 3.0, "b": 2.9}, c_puct=5.0)
    assert tree.best({}) == "a"
    assert tree.best({"a": 1}) == "b"
    assert tree.best({"a": 2, "b": 3}) == "a"
    assert tree.best({}) == "a"


def test_a_promising_node_is_explored_first() -> None:
    metrics = {"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0}
    ratings = {"b": 2.0, "c": 9.0}
    for exponent, expected in [(0.0, "b"), (2.0, "c")]:
        tree = tree_of(metrics, 2.0, exponent, ratings)
        for _ in range(16):
            tree.visit("a")
        assert tree.best({}) == expected


def test_an_unrated_node_has_the_mean_of_the_rated() -> None:
    metrics = {"a": 4.0, "b": 3.0, "c": 2.9, "d": 1.0}
    # Among b (unrated) and c: with c rated at the mean both have the same prior, so b leads.
    for rating, expected in [(5.0, "b"), (9.0, "c")]:
        tree = tree_of(metrics, 8.0, 2.0, {"a": 5.0, "d": 5.0, "c": rating})
        for _ in range(50):
            tree.visit("a")
        assert tree.best({"d": 40}) == expected


def test_without_any_rating_the_exponent_changes_nothing() -> None:
    for exponent in (0.0, 4.0):
        tree = tree_of({"a": 2.0, "b": 1.0}, 5.0, exponent)
        tree.visit("a")
        assert tree.best({}) == "b"


def search_of(*records: Record, limit: int = 10, c_puct: float = 1.0) -> Puct:
    settings = replace(SETTINGS, pop_per_island=limit, c_puct=c_puct)
    search = Puct(settings, Direction.MINIMIZE)
    for record in (told("g0-i0-a0", 5.0), *records):
        search.tell(record)
    return search


def test_every_evaluated_child_may_be_expanded_and_none_has_a_cell() -> None:
    search = search_of(told("g1-i0-a0", 9.0), limit=1)
    assert search.tell(told("g1-i0-a1", 4.0)) == Placement(kept=True, cell=None)
    assert search.tell(told("g1-i0-a2", 8.0)) == Placement(kept=False, cell=None)
    assert [elite.child_id for _, elite in search.elites(0)] == ["g1-i0-a1"]
    flying, parents = [], set()
    for slot in range(400):
        parents.add(search.ask(f"g2-i0-a{slot}", 0, flying).parent_id)
        flying.append(search.ask(f"g2-i0-a{slot}", 0, flying).parent_id)
    assert parents == {"g0-i0-a0", "g1-i0-a0", "g1-i0-a1", "g1-i0-a2"}


def test_a_failed_child_counts_as_a_visit() -> None:
    search = search_of(told("g1-i0-a0", 4.9), c_puct=5.0)
    assert search.ask("g2-i0-a0", 0).parent_id == "g1-i0-a0"
    for slot in range(3):
        crash = told(f"g2-i0-a{slot}", None, parent="g1-i0-a0", status=Status.CRASH)
        search.tell(crash)
    assert search.ask("g3-i0-a0", 0).parent_id == "g0-i0-a0"


def test_there_is_one_island_and_no_migration() -> None:
    search = search_of(told("g1-i0-a0", 4.0))
    assert {search.island_of_ordinal(number) for number in range(9)} == {0}
    assert not any(search.migrates_after(gen) for gen in range(20))
    assert search.migrate() == ()


def test_from_the_tables_alone_all_nodes_and_visits_come_back() -> None:
    records = [record for record in history(3, 150) if record.reason is None]
    live = Puct(replace(SETTINGS, pop_per_island=5), Direction.MAXIMIZE)
    for record in records:
        live.tell(record)
    again = Puct(replace(SETTINGS, pop_per_island=5), Direction.MAXIMIZE)
    archived = {elite.child_id for _, elite in live.elites(0)}
    rows = [r if r.child_id in archived else replace(r, measures=None) for r in records]
    again.restore([live.elites(0)], [], None, rows)
    flying: list[str] = []
    for slot in range(60):
        chosen = live.ask(f"g90-i0-a{slot}", 0, flying)
        assert again.ask(f"g90-i0-a{slot}", 0, flying) == chosen
        flying.append(chosen.parent_id)


@pytest.mark.parametrize(
    ("expansions", "workers", "refused"), [(8, 2, False), (7, 2, True), (31, 8, True)]
)
def test_too_few_expansions_make_a_flat_tree(expansions: int, workers: int, refused: bool) -> None:
    sentence = too_few_expansions(expansions, workers)
    assert (sentence is not None) == refused
    assert sentence is None or f"expected at least 4 x {workers} = {4 * workers}" in sentence
