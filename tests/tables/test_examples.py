"""Ids, labels and groups from a table."""

import numpy as np
import pyarrow as pa
import pytest

from regrade.classes import class_space
from regrade.core import FormatError, InputError, MismatchError, UnknownName
from regrade.tables import Columns, check_ids, optional_texts, read_examples
from regrade.tables.examples import matched_ids

CIFAR = class_space("cifar-10")


def table(**columns):
    return pa.table(columns)


def test_read_examples_finds_usual_names_in_any_case():
    examples = read_examples(table(Image=["a", "b"], Label=["cat", "dog"]), CIFAR, Columns())
    assert examples.ids == ("a", "b")
    assert examples.labels.tolist() == [3, 5]


def test_used_in_contains_id_and_label_columns():
    content = table(Image=["a"], Label=["cat"], resnet=["dog"])
    assert set(content.column_names) - Columns().used_in(content) == {"resnet"}


def test_read_examples_prefers_named_columns():
    content = table(image=["x"], key=["a"], label=["cat"], truth=["dog"], region=["Asia"])
    examples = read_examples(content, CIFAR, Columns("key", "truth", ("region",)))
    assert (examples.ids, examples.labels.tolist(), examples.groups) == (("a",), [5], {"region": ("Asia",)})


@pytest.mark.parametrize("columns", [Columns(id="kee"), Columns(label="truht"), Columns(groups=("regoin",))])
def test_read_examples_names_a_missing_column(columns):
    content = table(key=["a"], truth=["dog"], region=["Asia"], image=["x"], label=["cat"])
    with pytest.raises(UnknownName, match="did you mean"):
        read_examples(content, CIFAR, columns)


def test_read_examples_without_id_column_suggests_names():
    with pytest.raises(FormatError, match="name it image, example"):
        read_examples(table(label=["cat"]), CIFAR, Columns())


def test_matched_ids_finds_rows_in_any_order():
    assert matched_ids(("a", "b", "c"), ("c", "a", "b"), "set").rows.tolist() == [1, 2, 0]
    with pytest.raises(MismatchError, match="'b'"):
        matched_ids(("a", "b"), ("a",), "set")
    with pytest.raises(MismatchError, match="'x'"):
        matched_ids(("a",), ("x", "a"), "set")


def test_order_in_rejects_different_labels():
    first = read_examples(table(image=["a", "b"], label=["cat", "dog"]), CIFAR, Columns())
    test_set = first.as_test_set("set", CIFAR)
    turned = read_examples(table(image=["b", "a"], label=["dog", "cat"]), CIFAR, Columns())
    np.testing.assert_array_equal(turned.order_in(test_set), [1, 0])
    wrong = read_examples(table(image=["a", "b"], label=["cat", "frog"]), CIFAR, Columns())
    with pytest.raises(MismatchError, match="frog in the file, dog in the test set"):
        wrong.order_in(test_set)


class TestTwoColumns:
    def test_two_columns_of_different_ids_raise(self):
        with pytest.raises(InputError, match=r"ids could be in any of the columns image and id.*--id-column"):
            read_examples(table(image=["a", "b"], id=[1, 2]), CIFAR, Columns())
        assert read_examples(table(image=["a", "b"], id=[1, 2]), CIFAR, Columns(id="id")).ids == ("1", "2")

    def test_two_columns_of_the_same_ids_are_accepted(self):
        assert read_examples(table(image=["1", "2"], id=[1, 2]), CIFAR, Columns()).ids == ("1", "2")

    def test_path_and_index_columns_are_not_ids_if_there_is_an_id(self):
        content = table(index=[0, 1], path=["x/a", "x/b"], id=["a", "b"])
        assert read_examples(content, CIFAR, Columns()).ids == ("a", "b")
        assert Columns().ignored_in(content) == ("ignored the columns index, path",)

    @pytest.mark.parametrize("name", ["image", "label"])
    def test_columns_that_differ_only_in_case_raise(self, name):
        content = table(image=["a", "b"], label=["cat", "dog"]).append_column(name.title(), pa.array(["cat", "dog"]))
        with pytest.raises(InputError, match=f"{name} and {name.title()}"):
            read_examples(content, CIFAR, Columns())

    def test_label_columns_that_disagree_raise(self):
        with pytest.raises(MismatchError, match="the columns label and target contain different labels in row 2"):
            read_examples(table(image=["a", "b"], label=["cat", "dog"], target=[3, 4]), CIFAR, Columns())
        agreeing = table(image=["a", "b"], label=["cat", "dog"], target=[3, 5], wnid=["x", "y"])
        assert read_examples(agreeing.drop(["wnid"]), CIFAR, Columns()).labels.tolist() == [3, 5]
        assert read_examples(agreeing, CIFAR, Columns(label="target")).labels.tolist() == [3, 5]

    def test_misspelled_label_column_raises(self):
        with pytest.raises(UnknownName, match="unknown column 'lable'; did you mean label"):
            Columns().ignored_in(table(image=["a"], lable=["cat"]))

    def test_row_numbers_without_a_name_are_not_a_model(self):
        content = pa.table({"Unnamed: 0": [0], "": [0], "image": ["a"], "resnet": ["dog"]})
        assert set(content.column_names) - Columns().used_in(content) == {"resnet"}


class TestIds:
    @pytest.mark.parametrize("example", [" a", "a ", "a\tb", "a\nb", "a\x00b", "\u00a0a"])
    def test_check_ids_rejects_surrounding_spaces_and_control_characters(self, example):
        with pytest.raises(FormatError, match="surrounding spaces or control characters"):
            check_ids(["b", example])

    def test_check_ids_rejects_ids_that_differ_in_unicode_form(self):
        with pytest.raises(FormatError, match="differ only in their Unicode form"):
            check_ids(["caf\u00e9.png", "b", "cafe\u0301.png"])

    def test_check_ids_distinguishes_case_and_inner_spaces(self):
        check_ids(["a.png", "A.png", "a b", "a  b", "cafe.png", "caf\u00e9.png", "0012", "12"])

    @pytest.mark.parametrize(("missing_id", "file_id"), [("caf\u00e9", "cafe\u0301"), ("a.png", "A.PNG"), ("a", "a ")])
    def test_matched_ids_names_a_similar_id(self, missing_id, file_id):
        with pytest.raises(MismatchError, match="differs from it in case, spaces or Unicode form"):
            matched_ids((missing_id,), (file_id,), "set")


def test_optional_texts_of_empty_cells_are_empty():
    table = pa.table({"number": [1, None], "text": ["a", ""], "list": [[1], [2]]})
    assert optional_texts(table, "number") == ("1", "")
    assert optional_texts(table, "text") == ("a", "")
    with pytest.raises(FormatError, match="not text"):
        optional_texts(table, "list")
