"""Tests of components and keep_one_per_group."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regrade.core import InputError
from regrade.stats import components, keep_one_per_group

graphs = st.integers(1, 15).flatmap(
    lambda n: st.tuples(st.just(n), st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=20))
)


def test_by_hand():
    first, second = np.array([0, 1, 4]), np.array([2, 3, 2])
    assert components(first, second, 6).tolist() == [0, 1, 0, 1, 0, 2]
    none = np.zeros(0, dtype=np.int64)
    assert components(none, none, 3).tolist() == [0, 1, 2]
    assert components(none, none, 0).tolist() == []


@given(graphs)
def test_components_match_a_graph_traversal(graph):
    size, edges = graph
    first, second = (np.array([edge[side] for edge in edges], dtype=np.int64) for side in (0, 1))
    numbers = list(range(size))
    for _ in range(size):
        for i, j in edges:
            numbers[i] = numbers[j] = min(numbers[i], numbers[j])
    names = {number: place for place, number in enumerate(dict.fromkeys(numbers))}
    assert components(first, second, size).tolist() == [names[number] for number in numbers]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), max_size=15))
def test_keep_one_per_group_takes_highest_preference_then_first(rows):
    groups, preference = (np.array([row[side] for row in rows], dtype=np.int64) for side in (0, 1))
    kept = keep_one_per_group(groups, preference)
    for group in set(groups.tolist()):
        members = [i for i in range(len(rows)) if groups[i] == group]
        best = min(members, key=lambda i: (-preference[i], i))
        assert [i for i in members if kept[i]] == [best]


def test_components_rejects_invalid_edges():
    with pytest.raises(InputError, match="two nodes from 0 to 2"):
        components(np.array([0]), np.array([3]), 3)
    with pytest.raises(InputError, match="two nodes from 0 to 2"):
        components(np.array([0, 1]), np.array([1]), 3)
