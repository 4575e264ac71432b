"""Tests of cluster."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import AgglomerativeClustering

from regrade.core import InputError
from regrade.stats import cluster, components, representatives

POINTS = st.lists(st.integers(0, 1000), min_size=2, max_size=12, unique=True).map(np.array)

THRESHOLDS = st.integers(0, 1000).map(lambda threshold: threshold + 0.377)  # no mean of whole distances
graphs = st.integers(1, 15).flatmap(
    lambda n: st.tuples(st.just(n), st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=20))
)


def distances(points):
    return np.abs(points[:, None] - points).astype(float)


def test_clusters_by_hand():
    """0 and 1 join at 1, 10 and 13 at 3; the two clusters are 11 apart on average."""
    points = np.array([0.0, 10.0, 1.0, 13.0])
    assert cluster(distances(points), threshold=1).members.tolist() in ([0, 1, 0, 2], [2, 1, 2, 0])
    assert sorted(cluster(distances(points), threshold=3).members[[0, 1]]) == [0, 1]
    assert cluster(distances(points), threshold=10.99).members.max() == 1
    assert cluster(distances(points), threshold=11).members.tolist() == [0, 0, 0, 0]
    order = points[cluster(distances(points), threshold=3).order].tolist()
    assert order in ([0, 1, 10, 13], [13, 10, 1, 0])


@given(POINTS)
def test_leaf_order_sorts_points_on_a_line(points):
    order = points[cluster(distances(points), threshold=1).order]
    assert sorted(order) == sorted(points)
    assert np.abs(np.diff(order)).sum() == pytest.approx(np.ptp(points))


@given(POINTS, THRESHOLDS)
def test_clusters_match_scikit_learn(points, threshold):
    clusters = cluster(distances(points), threshold=threshold)
    reference = AgglomerativeClustering(
        n_clusters=None, metric="precomputed", linkage="average", distance_threshold=threshold
    ).fit_predict(distances(points))
    same, same_in_reference = (np.equal.outer(members, members) for members in (clusters.members, reference))
    if (
        len(np.unique(np.round(distances(points)[np.triu_indices(len(points), 1)], 9)))
        == len(points) * (len(points) - 1) // 2
    ):
        assert (same == same_in_reference).all()  # without ties there is one tree only


@given(POINTS, THRESHOLDS)
def test_clusters_are_contiguous_and_numbered_along_the_order(points, threshold):
    clusters = cluster(distances(points), threshold=threshold)
    along = clusters.members[clusters.order]
    assert along[0] == 0
    assert set(np.diff(along)) <= {0, 1}
    again = cluster(distances(points), threshold=threshold)
    assert (again.order == clusters.order).all() and (again.members == clusters.members).all()


def test_single_item_is_one_cluster():
    clusters = cluster(np.zeros((1, 1)), threshold=1)
    assert (clusters.order.tolist(), clusters.members.tolist()) == ([0], [0])


def test_cluster_rejects_invalid_distances():
    with pytest.raises(InputError, match="finite distances"):
        cluster(np.array([[0, np.nan], [np.nan, 0]]), threshold=1)
    with pytest.raises(InputError, match="got shape"):
        cluster(np.zeros((2, 3)), threshold=1)


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


def test_representatives_by_hand():
    # 3 is the best and stands for its neighbor 2; 1 is alike 2 only, so it is kept and stands for 0; 4 equals 3
    groups = np.array([0, 1, 2, 3, 3])
    first, second = np.array([0, 1, 2]), np.array([1, 2, 3])
    assert representatives(groups, first, second, np.array([1, 2, 3, 9, 5])).tolist() == [1, 1, 3, 3, 3]


@given(graphs, st.data())
def test_representatives_are_not_alike_and_stand_for_their_neighbors(graph, data):
    size, edges = graph
    groups, preference = (
        np.array(data.draw(st.lists(st.integers(0, 5), min_size=size, max_size=size)), dtype=np.int64) for _ in range(2)
    )
    first, second = (np.array([edge[side] for edge in edges], dtype=np.int64) for side in (0, 1))
    kept = representatives(groups, first, second, preference)
    alike = {(groups[i], groups[j]) for edge in edges for i, j in (edge, edge[::-1])} | {(g, g) for g in groups}
    for i in range(size):
        assert kept[kept[i]] == kept[i] and (groups[i], groups[kept[i]]) in alike
        assert (-preference[kept[i]], kept[i]) <= (-preference[i], i)
        assert all((groups[i], groups[j]) not in alike for j in range(size) if i != j == kept[j] and kept[i] == i)
    # the documented rule, one group at a time
    order = sorted(range(size), key=lambda i: (-preference[i], i))
    expected: dict = {}
    for i in order:
        if groups[i] not in expected:
            earlier = [j for j in order if expected.get(groups[j]) == j and (groups[i], groups[j]) in alike]
            expected[groups[i]] = earlier[0] if earlier else i
    assert kept.tolist() == [expected[group] for group in groups]


def test_components_rejects_invalid_edges():
    with pytest.raises(InputError, match="two nodes from 0 to 2"):
        components(np.array([0]), np.array([3]), 3)
    with pytest.raises(InputError, match="two nodes from 0 to 2"):
        components(np.array([0, 1]), np.array([1]), 3)
