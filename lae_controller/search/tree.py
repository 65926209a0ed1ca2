"""The nodes of a flat PUCT search, kept so that the best score is found without visiting all."""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from lae_controller.search.elites import RankKey

Group = tuple[int, float | None]
"""(visits, rating): among nodes that share both, the exploration term is the same."""

_NONE: tuple[float, RankKey, str] = (math.inf, (math.inf, (0, 0, 0)), "")
"""Worse than any node."""


@dataclass(slots=True)
class Node:
    """A program that may be expanded.

    Attributes:
        rating: how promising its proposer found it; None if it did not say.
        visits: how many children of it have been told.
    """

    child_id: str
    key: RankKey
    rating: float | None
    visits: int = 0


class Tree:
    """All nodes, by rank and by what their exploration term depends on.

    score = rank + c_puct * P * sqrt(total visits) / (1 + visits)

    ``rank`` is a node's place among all nodes by the metric, 0 for the worst and 1 for the best;
    P = (1 / N) * (rating / mean rating) ** prior_exponent, where N counts the nodes and a node
    without a rating has the mean of the rated. All nodes compete at once, at whatever depth.
    Source: Aygun et al. 2025, An AI system to help scientists write expert-level empirical
    software (arXiv 2509.06503), with a prior in place of its flat 1 / N.

    Args:
        c_puct: weight of exploration, 0 to 10.
        prior_exponent: how far the ratings aim it, 0 (not at all) to 4.
    """

    def __init__(self, c_puct: float, prior_exponent: float) -> None:
        self._c_puct = c_puct
        self._exponent = prior_exponent
        self._nodes: dict[str, Node] = {}
        self._order: list[RankKey] = []
        self._groups: dict[Group, list[tuple[RankKey, str]]] = {}
        self._levels: dict[float | None, list[int]] = {}
        self._visits = 0
        self._rated = 0
        self._sum = 0.0

    def __contains__(self, child_id: str) -> bool:
        return child_id in self._nodes

    def add(self, child_id: str, key: RankKey, rating: float | None) -> None:
        """Take in a new node."""
        node = Node(child_id, key, rating if self._exponent > 0 else None)
        if node.rating is not None:
            self._rated += 1
            self._sum += node.rating
        self._nodes[child_id] = node
        insort(self._order, key)
        self._into_group(node)

    def revise(self, child_id: str, key: RankKey) -> None:
        """Give a node another place among the others."""
        node = self._nodes[child_id]
        self._out_of_group(node)
        del self._order[bisect_left(self._order, node.key)]
        node.key = key
        self._into_group(node)
        insort(self._order, key)

    def withdraw(self, child_id: str) -> None:
        """Take a node out: it is expanded no more; its visits stay counted in the total."""
        node = self._nodes.pop(child_id)
        if node.rating is not None:
            self._rated -= 1
            self._sum -= node.rating
        self._out_of_group(node)
        del self._order[bisect_left(self._order, node.key)]

    def visit(self, child_id: str) -> None:
        """Count a told child for the node it was made from, whatever became of it."""
        self._visits += 1
        node = self._nodes.get(child_id)
        if node is None:
            return
        self._out_of_group(node)
        node.visits += 1
        self._into_group(node)

    def _into_group(self, node: Node) -> None:
        group = self._groups.setdefault((node.visits, node.rating), [])
        if not group:
            insort(self._levels.setdefault(node.rating, []), node.visits)
        insort(group, (node.key, node.child_id))

    def _out_of_group(self, node: Node) -> None:
        group = self._groups[node.visits, node.rating]
        del group[bisect_left(group, (node.key, node.child_id))]
        if group:
            return
        del self._groups[node.visits, node.rating]
        levels = self._levels[node.rating]
        del levels[bisect_left(levels, node.visits)]
        if not levels:
            del self._levels[node.rating]

    def best(self, in_flight: Mapping[str, int]) -> str:
        """Return the node with the highest score, ties by rank.

        Args:
            in_flight: node -> children of it under way; each counts as a visit already.

        Raises:
            ValueError: if there is no node.
        """
        if not self._nodes:
            raise ValueError("no program was placed yet; expected the baseline to be told first")
        total = self._visits + sum(in_flight.values())
        weight = self._c_puct * math.sqrt(total) / len(self._nodes)
        step = 1 / max(1, len(self._order) - 1)

        def score(key: RankKey, explore: float) -> float:
            return bisect_left(self._order, key) * step - explore

        best = min(
            (
                (score(node.key, self._explore(weight, node, count)), node.key, node.child_id)
                for node, count in self._under_expansion(in_flight)
            ),
            default=_NONE,
        )
        for rating, levels in self._levels.items():
            most = weight * self._prior(rating)
            above = _NONE[1]
            for visits in levels:
                explore = most / (1 + visits)
                if -explore > best[0]:
                    break  # not even the best by rank would do, and more visits explore less
                first = self._first((visits, rating), in_flight)
                if first is not None and first[0] < above:  # else it is worse in both
                    above = first[0]
                    best = min(best, (score(above, explore), *first))
        return best[2]

    def _under_expansion(self, in_flight: Mapping[str, int]) -> Iterator[tuple[Node, int]]:
        for child_id, count in in_flight.items():
            node = self._nodes.get(child_id)
            if node is not None:
                yield node, count

    def _explore(self, weight: float, node: Node, count: int) -> float:
        return weight * self._prior(node.rating) / (1 + node.visits + count)

    def _first(self, group: Group, in_flight: Mapping[str, int]) -> tuple[RankKey, str] | None:
        """Return the best node of a group that is not under expansion; None if all are."""
        return next((node for node in self._groups[group] if node[1] not in in_flight), None)

    def _prior(self, rating: float | None) -> float:
        if rating is None or not self._rated:
            return 1.0
        return math.pow(rating * self._rated / self._sum, self._exponent)
