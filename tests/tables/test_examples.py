"""Ids, labels and groups from a table."""

import numpy as np
import pyarrow as pa
import pytest

from regrade.classes import class_space
from regrade.core import FormatError, MismatchError, UnknownName
from regrade.tables import Columns, read_examples, rows_of

CIFAR = class_space("cifar-10")


def table(**columns):
    return pa.table(columns)


def test_the_usual_names_are_found_in_any_case():
    found = read_examples(table(Image=["a", "b"], Label=["cat", "dog"]), CIFAR, Columns())
    assert found.ids == ("a", "b")
    assert found.labels.tolist() == [3, 5]


def test_what_speaks_of_the_examples_is_no_model():
    content = table(Image=["a"], Label=["cat"], resnet=["dog"])
    assert set(content.column_names) - Columns().used_in(content) == {"resnet"}


def test_named_columns_go_before_usual_ones():
    content = table(image=["x"], key=["a"], label=["cat"], truth=["dog"], region=["Asia"])
    found = read_examples(content, CIFAR, Columns("key", "truth", ("region",)))
    assert (found.ids, found.labels.tolist(), found.groups) == (("a",), [5], {"region": ("Asia",)})


@pytest.mark.parametrize("columns", [Columns(id="kee"), Columns(label="truht"), Columns(groups=("regoin",))])
def test_a_column_that_is_not_there_is_named(columns):
    content = table(key=["a"], truth=["dog"], region=["Asia"], image=["x"], label=["cat"])
    with pytest.raises(UnknownName, match="did you mean"):
        read_examples(content, CIFAR, columns)


def test_without_any_id_column_it_says_what_to_call_it():
    with pytest.raises(FormatError, match="call it image, example"):
        read_examples(table(label=["cat"]), CIFAR, Columns())


def test_rows_are_found_whatever_the_order():
    assert rows_of(("a", "b", "c"), ("c", "a", "b"), "set").tolist() == [1, 2, 0]
    with pytest.raises(MismatchError, match="'b'"):
        rows_of(("a", "b"), ("a",), "set")
    with pytest.raises(MismatchError, match="'x'"):
        rows_of(("a",), ("x", "a"), "set")


def test_labels_that_differ_from_the_test_sets_are_refused():
    first = read_examples(table(image=["a", "b"], label=["cat", "dog"]), CIFAR, Columns())
    test_set = first.as_test_set("set", CIFAR)
    turned = read_examples(table(image=["b", "a"], label=["dog", "cat"]), CIFAR, Columns())
    np.testing.assert_array_equal(turned.order_in(test_set), [1, 0])
    wrong = read_examples(table(image=["a", "b"], label=["cat", "frog"]), CIFAR, Columns())
    with pytest.raises(MismatchError, match="frog here, dog there"):
        wrong.order_in(test_set)
