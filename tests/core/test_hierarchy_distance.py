import json
from collections import Counter

import numpy as np
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regrade.classes import imagenet_1k
from regrade.core import UNRELATED, ClassSpace, Hierarchy, Paths, Steps, UndefinedError, hierarchy_distances

COMBINE = {
    Steps.MAX: max,
    Steps.MIN: min,
    Steps.SUM: lambda x, y: x + y,
    Steps.SUM_MINUS_ONE: lambda x, y: x + y - 1,
}


@st.composite
def class_spaces(draw):
    """A random hierarchy of up to nine concepts, every one of them a class."""
    size = draw(st.integers(1, 9))
    parents = {
        str(i): tuple(str(p) for p in draw(st.lists(st.sampled_from(range(i)), unique=True, max_size=3)))
        for i in range(1, size)
    }
    return ClassSpace("random", tuple(str(i) for i in range(size)), hierarchy=Hierarchy(parents, {}))


def slow_distance(space, x, y, steps, paths):
    """Reference: the minimum over all common concepts of every pair of paths."""
    if x == y:
        return 0
    count = None if paths is Paths.ALL else 1
    result = [
        COMBINE[steps](len(up_x) - 1 - up_x.index(meeting), len(up_y) - 1 - up_y.index(meeting))
        for up_x in space.hierarchy.paths(x)[:count]
        for up_y in space.hierarchy.paths(y)[:count]
        for meeting in set(up_x) & set(up_y)
    ]
    return min(result, default=UNRELATED)


@pytest.mark.parametrize("paths", Paths)
@pytest.mark.parametrize("steps", Steps)
@given(space=class_spaces())
def test_distances_equal_a_brute_force_search(space, steps, paths):
    slow = [[slow_distance(space, x, y, steps, paths) for y in space.ids] for x in space.ids]
    assert hierarchy_distances(space, steps=steps, paths=paths).tolist() == slow


@pytest.mark.parametrize(
    ("steps", "distance"), [(Steps.MAX, 3), (Steps.MIN, 2), (Steps.SUM, 5), (Steps.SUM_MINUS_ONE, 4)]
)
def test_distance_of_goblet_and_vase(steps, distance):
    space = imagenet_1k()
    goblet, vase = space.index("n03443371"), space.index("n04522168")
    distances = hierarchy_distances(space, steps=steps)
    assert distances[goblet, vase] == distances[vase, goblet] == distance


def test_siblings_have_distance_1_and_cousins_2():
    parents = {"a": ("left",), "b": ("left",), "c": ("right",), "left": ("top",), "right": ("top",)}
    space = ClassSpace("family", ("a", "b", "c"), hierarchy=Hierarchy(parents, {}))
    assert hierarchy_distances(space).tolist() == [[0, 1, 2], [1, 0, 2], [2, 2, 0]]


def test_classes_without_a_common_ancestor_are_unrelated():
    space = ClassSpace("strangers", ("a", "b"), hierarchy=Hierarchy({"a": ("p",), "b": ("q",)}, {}))
    assert hierarchy_distances(space).tolist() == [[0, UNRELATED], [UNRELATED, 0]]


def test_a_space_without_a_hierarchy_has_no_distances():
    with pytest.raises(UndefinedError, match="'flat' has no hierarchy"):
        hierarchy_distances(ClassSpace("flat", ("a", "b")))


def test_cache_distinguishes_hierarchies():
    near = ClassSpace("s", ("a", "b"), hierarchy=Hierarchy({"a": ("p",), "b": ("p",)}, {}))
    far = ClassSpace("s", ("a", "b"), hierarchy=Hierarchy({"a": ("p",), "b": ("q",), "q": ("p",)}, {}))
    assert near == far
    assert (hierarchy_distances(near)[0, 1], hierarchy_distances(far)[0, 1]) == (1, 2)


def test_distances_are_cached_and_read_only():
    distances = hierarchy_distances(imagenet_1k())
    assert hierarchy_distances(imagenet_1k()) is distances
    with pytest.raises(ValueError, match="read-only"):
        distances[0, 0] = 1


def test_fine_grained_mistakes_have_small_distances(published):
    """METHODS C6: of ViT-3B's 378 mistakes 89.9% at distance 1 and 68.1% at 3 are fine-grained."""
    space = imagenet_1k()
    mistakes = json.loads((published / "vasudevan2022/vit3b_mistakes.json").read_text())
    table = pyarrow.parquet.read_table(published / "recht2019/imagenet-val.top5.parquet", columns=["image", "wnid"])
    label_of = dict(zip(table["image"].to_pylist(), table["wnid"].to_pylist(), strict=True))
    labels = np.array([space.index(label_of[image]) for image in mistakes])
    predictions = np.array([mistake["top_prediction"] for mistake in mistakes.values()])
    distances = hierarchy_distances(space)[predictions, labels].tolist()
    fine = ("Fine-grained error", "Fine-grained with Multilabel Options")
    is_fine = [mistake["failure category"] in fine for mistake in mistakes.values()]

    mistakes_at = Counter(distances)
    fine_at = Counter(d for d, fine_grained in zip(distances, is_fine, strict=True) if fine_grained)
    assert (sum(mistakes_at.values()), sum(fine_at.values())) == (378, 242)
    assert (fine_at[1], mistakes_at[1]) == (98, 109)  # 89.9%
    assert (fine_at[3], mistakes_at[3]) == (32, 47)  # 68.1%
