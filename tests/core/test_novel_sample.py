import numpy as np

from regrade.core import LabelState, NovelSample


def frame(examples, classes, states):
    f = len(examples)
    return NovelSample(
        "s", "l@1", 5, np.array(examples, dtype=np.int64), np.array(classes, dtype=np.int64), np.zeros(f, dtype=int),
        np.arange(f), np.ones(f), np.array([LabelState[s] for s in states], dtype=np.int8), "nothing",
    )  # fmt: skip


def test_problematic_examples():
    reviewed = frame([3, 1, 3, 0], [0, 1, 2, 3], ["PROBLEMATIC", "CORRECT", "PROBLEMATIC", "UNJUDGED"])
    assert reviewed.problematic.tolist() == [3]
    assert frame([3], [0], ["WRONG"]).problematic.tolist() == []


def test_first_rows():
    reviewed = frame([3, 1, 3, 0], [0, 1, 2, 3], ["UNJUDGED"] * 4)
    assert reviewed.first_rows(np.array([0, 1, 2, 3, 9])).tolist() == [3, 1, -1, 0, -1]
    assert frame([], [], []).first_rows(np.array([0, 1])).tolist() == [-1, -1]
