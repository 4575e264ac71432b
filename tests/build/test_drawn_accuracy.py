"""Accuracies on drawn images, worked by hand."""

import numpy as np
import pytest

from regrade.build.drawn_accuracy import DrawnSet, MeanAccuracies, ScoredImages, bin_accuracies, strategy_rows
from regrade.stats import proportion


def test_bins_by_hand():
    """Frequencies on an edge belong to the higher bin; images that are not scored do not count."""
    drawn = ScoredImages(
        np.array([True, False, True, True]), np.array([True, True, True, False]), np.array([0.2, 0.39, 0.8, 1.0])
    )
    reference = ScoredImages(np.ones(6, bool), np.ones(6, bool), np.full(6, 0.7))
    rows = {row.bin: row for row in bin_accuracies("m", drawn, reference, confidence=0.95)}
    assert set(rows) == {"[0.2, 0.4)", "[0.6, 0.8)", "[0.8, 1]"}
    low = rows["[0.2, 0.4)"]
    assert (low.drawn.value, low.drawn.n, low.reference) == (0.5, 2, None)
    assert rows["[0.8, 1]"].drawn.n == 1
    high = rows["[0.6, 0.8)"].reference
    assert high.low == pytest.approx(proportion(6, 6, confidence=1 - 0.05 / 3).low)
    assert high.method == "clopper-pearson, 3 together 95%"


def accuracies():
    """Four images of a pool and three of an original set, of which the last does not count."""
    shares = np.array([1.0, 0.5, 0.0, 1.0, 0.5, 1.0, 0.0])
    scored = np.array([True] * 6 + [False])
    return MeanAccuracies(shares, scored, np.arange(7) >= 4, {name: place for place, name in enumerate("abcd")})


def test_strategies_by_hand():
    sets = (DrawnSet("val", tuple("xyz"), 0.7), DrawnSet("revision 0", tuple("ab"), 0.6))
    draws = (DrawnSet("top", tuple("ad"), 0.9, 1), DrawnSet("same", tuple("ab"), 0.6), DrawnSet("tiny", ("c",), None))
    val, revision, top, same, tiny = strategy_rows(accuracies(), *sets, draws)
    assert (val.accuracy.value, val.accuracy.n, val.images, val.change, val.difference) == (0.75, 2, 3, None, None)
    assert (revision.accuracy.value, revision.change.value, revision.difference) == (0.75, 0, None)
    assert (top.accuracy.value, top.change.value, top.difference.value, top.problems) == (1, 0.25, 0.25, 1)
    assert (same.difference.low, same.difference.high) == (0, 0)
    assert (tiny.images, tiny.accuracy, tiny.change) == (1, None, None)


def test_strategies_without_models_have_sizes_and_frequencies():
    rows = strategy_rows(None, DrawnSet("val", ("x",), None), DrawnSet("revision 0", ("a",), 0.5), ())
    assert [(row.images, row.frequency, row.accuracy) for row in rows] == [(1, None, None), (1, 0.5, None)]
