"""Predictions and test sets of a workspace from data frames, tables and arrays."""

import numpy as np
import pandas
import pyarrow
import pytest
import torch

import regrade
from regrade.core import InputError, MismatchError

CLASSES = ["cat", "dog", "fox"]


@pytest.fixture
def workspace(tmp_path):
    return regrade.init(tmp_path / "w")


@pytest.fixture
def pets(workspace):
    workspace.testsets.add("pets", pandas.Series([0, 1, 2], index=["1.png", "2.png", "3.png"]), classes=CLASSES)
    return workspace


def top1(workspace, test_set):
    return {row.model: row.top1.value for row in workspace.grade(test_set).rows}


def test_frame_with_ids_is_imported_as_a_file(workspace):
    frame = pandas.DataFrame({"image": ["a", "b"], "label": ["cat", "dog"], "m1": ["cat", "dog"], "m2": ["dog", "dog"]})
    imported = workspace.models.import_predictions(frame, test_set="new", classes="cifar-10", prefix="x:")
    assert imported.new_test_set and imported.models.new == ("x:m1", "x:m2")
    table = pyarrow.table({"image": ["b", "a"], "prediction": ["cat", "cat"]})
    assert workspace.models.import_predictions(table, test_set="new", model="m3").models.new == ("m3",)
    assert top1(workspace, "new") == {"x:m1": 1.0, "x:m2": 0.5, "m3": 0.5}


def test_arrays_are_imported_in_the_order_of_the_test_set(pets):
    scores = torch.eye(3, dtype=torch.bfloat16).requires_grad_()
    assert pets.models.import_predictions(scores, test_set="pets", model="t").kept["t"].startswith("scores of all 3")
    imported = pets.models.import_predictions({"u": [0, 1, 1], "v": np.eye(3)}, test_set="pets")
    assert imported.models.new == ("u", "v") and "order of the test set" in imported.notes[0]
    pets.models.import_predictions([[0, 1], [0, 1], [0, 1]], test_set="pets", model="w", kind="top-k")
    assert top1(pets, "pets") == {"t": 1.0, "u": pytest.approx(2 / 3), "v": 1.0, "w": pytest.approx(1 / 3)}


def test_index_of_a_series_is_matched_with_the_ids(pets):
    reordered = pandas.Series(["fox", "cat", "dog"], index=["3.png", "1.png", "2.png"])
    pets.models.import_predictions({"m": reordered}, test_set="pets")
    assert top1(pets, "pets") == {"m": 1.0}
    with pytest.raises(MismatchError, match=r"'2.png'"):
        pets.models.import_predictions({"n": reordered.rename({"2.png": "9.png"})}, test_set="pets")


def test_test_sets_are_added_from_tables_and_arrays(workspace):
    table = pyarrow.table({"image": ["a", "b"], "label": ["dog", "cat"]})
    assert workspace.testsets.add("table", table, classes=CLASSES).test_set.labels.tolist() == [1, 0]
    assert workspace.testsets.add("array", torch.tensor([2, 0]), classes=CLASSES).test_set.ids == ("0", "1")
    assert not workspace.testsets.add("array", ["fox", "cat"], classes=CLASSES).new
    assert workspace.testsets.names() == ("array", "table")


@pytest.mark.parametrize(
    ("predictions", "options", "message"),
    [
        (np.eye(3), {}, "name the model of these predictions"),
        ({"a": np.eye(3)}, {"model": "b"}, "leave out model"),
        (np.eye(3)[:2], {"model": "a"}, "the data has 2 rows, test set pets has 3"),
        ({"a": [0, 1, 2], "b": [0, 1]}, {}, "y_pred of 'b' has 2 rows"),
    ],
)
def test_import_says_what_is_wrong(pets, predictions, options, message):
    with pytest.raises(InputError, match=message):
        pets.models.import_predictions(predictions, test_set="pets", **options)
    assert not pets.models.names("pets")


def test_adding_labels_says_what_is_wrong(workspace):
    with pytest.raises(InputError, match="test set 'n' is new: give its classes"):
        workspace.testsets.add("n", [0, 1])
    with pytest.raises(InputError, match="has one label per image"):
        workspace.testsets.add("n", [[0], [1]], classes=CLASSES)
    with pytest.raises(InputError, match="leave out class_map"):
        workspace.testsets.add("n", [0], classes=CLASSES, class_map="map.csv")
    assert not workspace.testsets.names()
