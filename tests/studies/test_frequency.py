"""Accuracy by selection frequency: bins, changes at equal frequency, and the noise of the answers, by hand."""

import itertools

import numpy as np
import pyarrow.parquet as pq
import pytest

from regrade.core import ClassSpace, InputError, TestSet, UndefinedError, UnknownName
from regrade.core.frequency_bins import EDGES, bin_names
from regrade.stats import proportion
from regrade.studies import findings
from regrade.studies.frequency.analysis import FrequencySet, frequency_study
from regrade.studies.frequency.column import NO_BIN, ImageFrequencies, image_frequencies
from regrade.studies.frequency.figure import frequency_figure
from regrade.studies.frequency.noise import split_half_changes
from regrade.studies.frequency.result import FrequencyStudyPart

SPACE = ClassSpace("two", ("a", "b"))


def images_with(**columns):
    size = len(next(iter(columns.values())))
    return TestSet("t", SPACE, tuple(map(str, range(size))), np.zeros(size, dtype=np.int32), columns)


def study(*sets, edges=(0.5,)):
    """Sets are (name, frequencies, right (m, n))."""
    parts = [
        FrequencySet(
            name,
            np.asarray(right, dtype=bool),
            np.ones(np.shape(right), dtype=bool),
            image_frequencies(images_with(selection_frequency=tuple(map(str, frequencies))), None, edges=edges),
        )
        for name, frequencies, right in sets
    ]
    return frequency_study(parts, ["m1", "m2"], edges)


OLD = ("old", [0.1, 0.2, 0.9, 0.9, 1.0, 0.8], [[0, 0, 1, 1, 1, 1], [0, 1, 1, 1, 1, 0]])
NEW = ("new", [0.1, 0.3, 0.3, 0.6], [[0, 1, 0, 1], [0, 1, 0, 1]])


def test_accuracies_by_hand():
    result = study(OLD, NEW)
    rows = {(row.test_set, row.bin): row for row in result.bins}
    assert rows["old", "[0, 0.5)"].accuracy.value == pytest.approx(1 / 4)
    assert rows["old", "[0.5, 1]"].accuracy.value == pytest.approx(7 / 8)
    assert rows["new", "[0, 0.5)"].difference.value == pytest.approx(1 / 3 - 1 / 4)
    assert rows["new", "[0.5, 1]"].accuracy is None  # a single image
    assert (rows["new", "[0, 0.5)"].images, rows["new", "[0, 0.5)"].share) == (3, 0.75)
    assert result.rise.value == pytest.approx(7 / 8 - 1 / 4)


def test_change_at_equal_frequency_by_hand():
    (change,) = study(OLD, NEW).changes
    assert change.overall.value == pytest.approx(1 / 2 - 4 / 6)
    assert change.at_equal.value == pytest.approx(1 / 2 - (3 / 4 * 1 / 4 + 1 / 4 * 7 / 8))


def test_intervals_of_a_model_hold_together():
    result = study(OLD, NEW)
    first = next(row for row in result.by_model if (row.model, row.test_set) == ("m1", "old"))
    exact = proportion(0, 2, confidence=1 - 0.05 / 4)  # two bins of each set
    assert (first.accuracy.low, first.accuracy.high) == (exact.low, exact.high)
    assert "4 together" in first.accuracy.method


def test_a_set_without_common_bins_has_no_change_at_equal_frequency():
    result = study(("old", [0.9, 0.9], [[1, 0], [1, 1]]), ("new", [0.1, 0.1], [[1, 0], [1, 1]]))
    assert result.changes[0].at_equal is None
    assert "undefined" in str(result.table().notes)
    assert result.rise is None
    assert findings(result) == ()


def test_findings_state_a_relation_only_with_enough_images():
    frequencies = [0.1] * 100 + [0.9] * 100
    right = [[0] * 60 + [1] * 140, [0] * 70 + [1] * 130]
    (rises,) = findings(study(("old", frequencies, right)))
    assert rises.headline == "Models are more accurate on images of old that more people select"
    (open_question,) = findings(study(("old", frequencies, [[0, 1] * 100, [1, 0] * 100])))
    assert open_question.headline.startswith("No relation")


def test_bins_of_a_frozen_build_are_used_as_they_are():
    names = bin_names(EDGES)
    stored = images_with(selection_frequency=(names[4], names[0], "", names[4]))
    measured = image_frequencies(stored, None)
    assert measured.bins.tolist() == [4, 0, NO_BIN, 4]
    assert measured.frequencies is None
    with pytest.raises(InputError, match="has bins, not frequencies: leave out --edge"):
        image_frequencies(stored, None, edges=(0.5,))


def test_columns_are_found_and_checked():
    assert image_frequencies(images_with(**{"asked:selection_frequency": ("0.5", "1")}), None).bins.tolist() == [2, 4]
    with pytest.raises(UnknownName, match=r"regrade import slices"):
        image_frequencies(images_with(region=("x", "y")), None)
    with pytest.raises(InputError, match=r"has 51: a selection frequency is a number from 0 to 1"):
        image_frequencies(images_with(f=("51", "1")), "f")
    with pytest.raises(InputError, match="not numeric"):
        image_frequencies(images_with(f=("high", "1")), "f")
    with pytest.raises(InputError, match="has no values"):
        image_frequencies(images_with(f=("", "nan")), "f")
    with pytest.raises(InputError, match="same edge twice"):
        image_frequencies(images_with(f=("0.5", "1")), "f", edges=(0.5, 0.5))
    with pytest.raises(UndefinedError, match="cannot be shares of so many answers"):
        image_frequencies(images_with(f=("0.5", "1")), "f", answers="3")


def test_split_halves_by_enumeration():
    edges = (0.25, 0.5, 0.75)
    for answers in (4, 5):
        for selected in range(answers + 1):
            votes = [1] * selected + [0] * (answers - selected)
            half = answers // 2
            orders = list(itertools.permutations(votes))
            differ = [
                np.searchsorted(edges, sum(order[:half]) / half, "right")
                != np.searchsorted(edges, sum(order[half : 2 * half]) / half, "right")
                for order in orders
            ]
            estimate = split_half_changes(np.full(2, selected / answers), np.full(2, answers), edges)
            assert estimate.value == pytest.approx(np.mean(differ))


def test_few_answers_change_bins_more_often():
    frequencies = np.full(10, 0.5)
    few, many = (split_half_changes(frequencies, np.full(10, size), (0.3, 0.7)).value for size in (4, 40))
    assert many < 0.1 < few


def test_figure_and_tables_show_all_bins():
    result = study(OLD, NEW)
    assert [len(result.part(part).rows) for part in FrequencyStudyPart] == [4, 8, 1]
    assert "Mean accuracy of 2 models" in frequency_figure(result).alt


def test_images_without_frequency_are_left_out():
    frequencies = ImageFrequencies(tuple(bin_names(EDGES)), np.array([4, 4, NO_BIN]))
    right = np.array([[True, False, True]])
    result = frequency_study([FrequencySet("t", right, np.ones((1, 3), bool), frequencies)], ["m"], EDGES)
    assert sum(row.images for row in result.bins) == 2
    assert "1 image of t without a frequency: left out" in result.notes
    nothing = ImageFrequencies(tuple(bin_names(EDGES)), np.full(3, NO_BIN))
    with pytest.raises(UndefinedError, match="fewer than two images of t"):
        frequency_study([FrequencySet("t", right, np.ones((1, 3), bool), nothing)], ["m"], EDGES)


def test_people_and_models_of_cifar10_find_the_same_images_hard(published):
    counts = pq.read_table(published / "cifar10" / "human-counts.parquet").drop_columns(["index"])
    predicted = pq.read_table(published / "recht2019" / "cifar10.test.top1.parquet").drop_columns(["index"])
    labels = predicted["label"].to_numpy()
    table = np.stack([column.to_numpy() for column in counts.columns], axis=1)
    frequencies, answers = table[np.arange(len(table)), labels] / table.sum(axis=1), table.sum(axis=1)
    right = np.stack([column.to_numpy() == labels for column in predicted.drop_columns(["label"]).columns])
    bins = np.searchsorted(EDGES, frequencies, side="right")
    measured = ImageFrequencies(tuple(bin_names(EDGES)), bins, frequencies, answers)
    result = frequency_study([FrequencySet("cifar", right, np.ones(right.shape, bool), measured)], ["m"] * 30, EDGES)
    accuracies = [row.accuracy.value for row in result.bins]
    assert accuracies == sorted(accuracies)
    assert [row.images for row in result.bins] == [15, 49, 141, 404, 9391]
    assert accuracies[0] == pytest.approx(0.260, abs=5e-4)
    assert accuracies[-1] == pytest.approx(0.944, abs=5e-4)
    assert result.noise[0].changed.value == pytest.approx(0.046, abs=5e-4)
