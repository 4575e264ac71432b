"""Grading, comparing and reporting on arrays, without a workspace."""

import json
import subprocess
import sys

import numpy as np
import pandas
import pyarrow
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, top_k_accuracy_score

import regrade
from regrade.core import InputError, MismatchError, UnknownName

NAMES = ("airplane", "bird", "car", "dog", "fox", "goat")


@pytest.fixture
def labels():
    return np.random.default_rng(1).integers(0, len(NAMES), 120)


@pytest.fixture
def scores(labels):
    drawn = np.random.default_rng(2).normal(size=(len(labels), len(NAMES)))
    drawn[np.arange(len(labels)), labels] += 1.5
    return drawn


def top1(result, model="model"):
    return next(row.top1 for row in result.rows if row.model == model and row.slice == "all")


def test_grade_by_hand():
    result = regrade.grade([0, 1, 1, 2], [0, 1, 2, 2])
    (row,) = result.rows
    assert (row.model, row.top1.value, row.top1.n, row.top5) == ("model", 0.75, 4, None)


def test_grade_equals_scikit_learn(labels, scores):
    (row,) = regrade.grade(labels, scores).rows
    assert row.top1.value == pytest.approx(accuracy_score(labels, scores.argmax(axis=1)))
    assert row.top5.value == pytest.approx(top_k_accuracy_score(labels, scores, k=5))


def test_grade_equals_the_grade_of_a_workspace(labels, scores, tmp_path):
    workspace = regrade.init(tmp_path / "w")
    scores = scores.astype(np.float16)  # as scores are stored
    workspace.testsets.add("test set", labels, classes=NAMES)
    workspace.models.import_predictions({"a": scores, "b": scores[:, ::-1]}, test_set="test set")
    groups = {"half": ["left"] * 60 + ["right"] * 60}
    result = regrade.grade(labels, {"a": scores, "b": scores[:, ::-1]}, classes=NAMES, metrics=["ece", "brier"])
    stored = workspace.grade("test set", metrics=["ece", "brier"])
    assert json.dumps(result.as_dict()) == json.dumps(stored.as_dict())
    both = regrade.compare(labels, scores, scores[:, ::-1], classes=NAMES, equivalence=0.01)
    assert both.as_dict() == workspace.compare("test set", ["a", "b"], equivalence=0.01).as_dict()
    sliced = regrade.grade(labels, scores, groups=groups)
    assert [row.slice for row in sliced.rows] == ["all", "half=left", "half=right"]


CONTAINERS = {
    "list": lambda array: array.tolist(),
    "numpy": lambda array: array,
    "torch": torch.tensor,
    "list of tensors": lambda array: list(torch.tensor(array)),
    "pandas": lambda array: pandas.DataFrame(array) if array.ndim == 2 else pandas.Series(array),
    "arrow": lambda array: pyarrow.array(array.tolist()),
    "arrow chunks": lambda array: pyarrow.chunked_array([array[:50].tolist(), array[50:].tolist()]),
}


@pytest.mark.parametrize("of_scores", CONTAINERS)
@pytest.mark.parametrize("of_labels", CONTAINERS)
def test_grade_is_the_same_for_all_containers(labels, scores, of_labels, of_scores):
    result = regrade.grade(CONTAINERS[of_labels](labels), CONTAINERS[of_scores](scores))
    assert result.as_dict() == regrade.grade(labels, scores).as_dict()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.float8_e4m3fn])
def test_grade_takes_tensors_of_any_precision_with_gradients(labels, scores, dtype):
    rounded = torch.tensor(scores).to(dtype)
    tensor = rounded.clone().requires_grad_() if dtype is not torch.float8_e4m3fn else rounded
    expected = (rounded.double().numpy().argmax(axis=1) == labels).mean()
    assert top1(regrade.grade(torch.tensor(labels, dtype=torch.int32), tensor)).value == pytest.approx(expected)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=40), st.permutations(NAMES))
def test_grade_does_not_depend_on_how_classes_are_named(pairs, names):
    y_true, y_pred = (np.array(column) for column in zip(*pairs, strict=True))
    by_index = regrade.grade(y_true, y_pred, classes=names)
    by_name = regrade.grade([names[label] for label in y_true], [names[label] for label in y_pred])
    assert top1(by_index) == top1(by_name)


def test_named_score_columns_are_matched_with_the_classes(labels, scores):
    frame = pandas.DataFrame(scores, columns=NAMES)
    names = [NAMES[label] for label in labels]
    expected = regrade.grade(labels, scores).as_dict()["rows"]
    for columns in (frame, frame[list(reversed(NAMES))], pyarrow.Table.from_pandas(frame)):
        assert regrade.grade(names, columns).as_dict()["rows"] == expected
    shuffled = regrade.grade(labels, frame[list(reversed(NAMES))], classes=NAMES)
    assert shuffled.as_dict()["rows"] == expected
    with pytest.raises(MismatchError, match=r"columns of y_pred must be the 6 classes of classes, but column 'cat'"):
        regrade.grade(labels, frame.rename(columns={"bird": "cat"}), classes=NAMES)


def test_top_k_classes_are_read_only_when_stated(labels, scores):
    best = np.argsort(-scores, axis=1)
    result = regrade.grade(labels, best[:, :5], kind="top-k")
    assert result.rows[0].top5.value == pytest.approx(top_k_accuracy_score(labels, scores, k=5))
    assert regrade.grade(labels, best[:, :3], kind="top-k").rows[0].top5 is None
    with pytest.raises(InputError, match=r"2-d array of int64: say kind='top-k'"):
        regrade.grade(labels, best)
    with pytest.raises(InputError, match=r"row 1: class 0 is listed twice"):
        regrade.grade([0, 1], [[0, 0], [1, 2]], kind="top-k")


def test_lists_of_labels_give_multilabel_accuracy():
    y_true = [{"cat"}, ["cat", "dog"], ("car",), []]
    result = regrade.grade(y_true, ["cat", "dog", "dog", "car"])
    (row,) = result.rows
    assert (row.top1, row.multilabel.value, row.multilabel.n) == (None, pytest.approx(2 / 3), 3)
    assert "top-1" not in str(result)
    pair = regrade.compare(y_true, ["cat", "dog", "dog", "car"], ["dog"] * 4).pairs[0]
    assert (pair.only_first, pair.only_second) == (1, 0)
    series = pandas.Series([[0], [0, 1]], index=["a", "b"])
    assert regrade.grade(series, pyarrow.array([0, 1])).rows[0].multilabel.value == 1
    assert regrade.grade(pyarrow.array([[0], [0, 1]]), [1, 1]).rows[0].multilabel.value == 0.5


def test_built_in_classes_are_named_by_id_name_or_index():
    expected = regrade.grade([0, 1], [0, 2], classes="imagenet-1k").as_dict()
    for y_true in (["n01440764", "n01443537"], ["tench", "goldfish"]):
        assert regrade.grade(y_true, [0, 2], classes="imagenet-1k").as_dict() == expected


def test_integer_classes_are_ids_if_listed():
    assert top1(regrade.grade([3, 7], [[0.1, 0.9], [0.2, 0.8]], classes=np.array([3, 7]))).value == 0.5
    with pytest.raises(InputError, match=r"y_true contains integers, and the class ids"):
        regrade.grade([3, 7], [[0.1, 0.9], [0.2, 0.8]], classes=["3", "7"])


@pytest.mark.parametrize(
    "y_true",
    [
        pandas.Series(["cat", "dog", "cat"], dtype="category"),
        pandas.Series(["cat", "dog", "cat"], dtype="string"),
        pandas.Series(["cat", "dog", "cat"], dtype=object),
        np.array([b"cat", b"dog", b"cat"]),
        np.array(["cat", "dog", "cat"], dtype=object),
        pyarrow.array(["cat", "dog", "cat"]).dictionary_encode(),
        pyarrow.array(["cat", "dog", "cat"], pyarrow.large_string()),
        ("cat", "dog", "cat"),
    ],
    ids=str,
)
def test_names_of_classes_may_have_any_type(y_true):
    assert top1(regrade.grade(y_true, ["cat", "dog", "dog"])).value == pytest.approx(2 / 3)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "Int64", "float64", "bool", "boolean"])
def test_indices_may_have_any_type(dtype):
    assert top1(regrade.grade(pandas.Series([0, 1, 1], dtype=dtype), [0, 1, 0])).value == pytest.approx(2 / 3)


def test_missing_labels_of_pandas_and_arrow_raise():
    with pytest.raises(InputError, match=r"y_true, row 2: .* is not a class"):
        regrade.grade(pandas.Series([0, None], dtype="Int64"), [0, 1])
    with pytest.raises(InputError, match="y_true has 1 missing values"):
        regrade.grade(pyarrow.array([0, None]), [0, 1])


def test_index_of_pandas_objects_must_have_the_same_order(labels):
    y_true = pandas.Series(labels, index=[f"{i}.png" for i in range(len(labels))])
    assert top1(regrade.grade(y_true, pandas.Series(labels, index=y_true.index))).value == 1
    with pytest.raises(MismatchError, match=r"index of y_pred of 'a' differs .* row 1: '119.png' instead of '0.png'"):
        regrade.grade(y_true, {"a": y_true.iloc[::-1]})


@pytest.mark.parametrize(
    ("y_true", "y_pred", "message"),
    [
        ([], [], "y_true is empty"),
        ([0, 1], [0], "y_pred has 1 rows, y_true has 2"),
        ("cat", ["cat"], "y_true is str: expected an array"),
        ([0], None, "y_pred is NoneType"),
        ([0, 1], [0.5, 1], "row 1: 0.5 is not a class; scores must have one column per class"),
        ([0, -1], [0, 1], "row 2: class index -1 is outside"),
        ([0, 1], [[0.5, np.nan], [0, 1]], "row 1: not a finite number"),
        (["cat", None], ["cat", "dog"], "y_true, row 2: None is not a class"),
        (["cat", 3], ["cat", "dog"], "y_true, row 2: 3 follows classes of another type"),
        (["cat", "dog"], [[0.5, 0.5], [0, 1]], r"give classes=\[...\] in the order of the columns of y_pred"),
        (np.eye(2), [0, 1], r"y_true has shape \(2, 2\)"),
        ([[], []], [0, 1], "every list of y_true is empty"),
        ([[0], 1], [0, 1], "y_true, row 2: 1 is not a list"),
        ([10**9], [0], "is a large class index"),
        ([0, 1], {}, "empty dictionary"),
        ([0, 1], {1: [0, 1]}, "has the key 1"),
        ([0, 1], np.zeros((2, 2, 2)), r"y_pred has shape \(2, 2, 2\)"),
        ([0, 1], [[0.5], [0.5, 1]], "rows of different lengths"),
    ],
)
def test_grade_says_what_is_wrong(y_true, y_pred, message):
    with pytest.raises(InputError, match=message):
        regrade.grade(y_true, y_pred)


def test_unknown_names_have_suggestions():
    with pytest.raises(InputError, match="y_pred, row 2: unknown class id of classes 'dgo'; did you mean dog"):
        regrade.grade(["cat", "dog"], ["cat", "dgo"], classes=["cat", "dog"])
    with pytest.raises(UnknownName, match="did you mean imagenet-a"):
        regrade.grade([0], [0], classes="imagenet")
    with pytest.raises(UnknownName, match="unknown prediction kind 'topk'; did you mean top-k"):
        regrade.grade([0], [0], kind="topk")


def test_compare_needs_two_models(labels, scores):
    with pytest.raises(InputError, match="needs two models"):
        regrade.compare(labels, scores)
    with pytest.raises(InputError, match="not both"):
        regrade.compare(labels, {"a": scores, "b": scores}, scores)
    assert regrade.compare(labels, {"a": scores, "b": scores, "c": scores}).ranks[0].model == "a"


def test_report_writes_a_page_with_every_study(labels, scores, tmp_path):
    models = {"a": scores, "b": scores[:, ::-1], "c": np.roll(scores, 1, axis=0), "d": -scores}
    smaller = {name: part[:80] for name, part in models.items()}
    written = regrade.report({"val": (labels, models), "new": (labels[:80], smaller)}, tmp_path / "page")
    assert written.page == tmp_path / "page" / "index.html" and "val" in written.page.read_text()
    results = json.loads((tmp_path / "page" / "results.json").read_text())
    kinds = {section["kind"] for section in results["sections"]}
    assert {"Grade", "Comparison", "Generalization"} <= kinds
    assert str(written.page) in written._repr_html_() and len(repr(written)) < 300
    with pytest.raises(regrade.RegradeError, match="exists already"):
        regrade.report({"val": (labels, models)}, tmp_path / "page")


@pytest.mark.parametrize(
    ("data", "path", "message"),
    [
        ({}, "page", "test sets by name"),
        ({"val": [0, 1]}, "page", "test set 'val' must be a pair"),
        ({"val": ([0], [0])}, "page.html", "a report is a folder"),
        ({"val": ([0], [0]), "new": ([0], [0, 1])}, "page", "test set 'new': y_pred has 2 rows, y_true has 1"),
        ({"val": ([0], [0]), "new": ([0, 2], [0, 1])}, "page", "val has 1 classes and new other ones, 3"),
    ],
)
def test_report_says_what_is_wrong(data, path, message, tmp_path):
    with pytest.raises(InputError, match=message):
        regrade.report(data, tmp_path / path)
    assert not list(tmp_path.iterdir())


def test_grading_imports_no_heavy_packages():
    code = "import sys, regrade; regrade.grade([0, 1], [0, 1]); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "regrade.workspace" in loaded and not {"torch", "pandas", "altair", "sqlalchemy", "typer"} & set(loaded)
