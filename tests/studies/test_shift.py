"""regrade study shift: a typicality by hand, the area as its mean, what is left out, and one line for bad input."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from running import assert_one_line, run
from shift_world import IMAGES, add, embeddings

import regrade
from regrade.stats import cross_fitted_auc
from regrade.studies import ShiftPart, ShiftVerdict, findings
from regrade.studies.shift.discriminator import FoldScores
from regrade.studies.shift.result import EmbeddingShift, ShiftScores


def test_typicality_by_hand():
    """Fold 0: new 3 and 1, original 2 and 0; fold 1: new 5 and original 5, which are tied."""
    scored = FoldScores(np.array([3.0, 1.0, 2.0, 0.0, 5.0, 5.0]), np.array([0, 0, 0, 0, 1, 1]))
    is_new = np.array([True, True, False, False, True, False])
    assert scored.typicality(is_new).tolist() == [1.0, 0.5, 0.5, 1.0, 0.5, 0.5]


@given(st.lists(st.integers(0, 5), min_size=24, max_size=24))
def test_mean_typicality_of_new_images_is_the_area(scores):
    values, folds, is_new = np.array(scores, dtype=float), np.arange(24) // 8, np.arange(24) % 3 > 0
    area = cross_fitted_auc(values, is_new, folds, clusters=np.arange(24)).value
    assert FoldScores(values, folds).typicality(is_new)[is_new].mean() == pytest.approx(area)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shift")
    workspace = regrade.init(folder / "W")
    add(workspace, folder, "old", embeddings(0))
    add(workspace, folder, "same", embeddings(1))
    add(workspace, folder, "moved", embeddings(2, shift=3.0))
    add(workspace, folder, "copy", embeddings(0), prefix="old")
    half = embeddings(3)
    add(workspace, folder, "wide", embeddings(4, width=5))
    add(workspace, folder, "retrained", half, weights="other")
    add(workspace, folder, "few", embeddings(5, images=3))
    add(workspace, folder, "others", half, classes="imagenet-a")
    workspace.testsets.add("bare", folder / "same.csv", classes="cifar-10")
    return workspace


def test_a_shift_is_told_apart_and_equal_sets_are_not(workspace):
    (moved,), (same,) = (workspace.study.shift("old", name).rows for name in ("moved", "same"))
    assert moved.verdict is ShiftVerdict.TOLD_APART and moved.auc.low > 0.5
    assert same.verdict is ShiftVerdict.NOT_SHOWN and same.auc.low <= 0.5
    assert (moved.new_images, moved.original_images) == (IMAGES, IMAGES)


def test_typical_images_are_those_that_moved_furthest(workspace):
    result = workspace.study.shift("old", "moved", most=3)
    assert [row.test_set for row in result.typical] == ["moved"] * 3 + ["old"] * 3
    first = embeddings(2, shift=3.0)[:, 0]
    assert all(first[int(row.image.removeprefix("moved"))] > np.median(first) for row in result.typical[:3])
    assert len(result.part(ShiftPart.IMAGES).rows) == 6
    assert len(result.as_dict()["typical"]) == 6


def rows_of(figure, key):
    """The rows of a figure's data that have a key."""
    return [row for data in figure.spec["datasets"].values() for row in data if key in row]


def shift_of(typicality, auc=None):
    """A model with these typicalities of new images."""
    values = np.array(typicality)
    scores = ShiftScores(None, np.arange(len(values)), values, values)
    return EmbeddingShift("m", len(values), 9, 0, auc, ShiftVerdict.TOLD_APART, scores, scores)


def test_roc_curve_by_hand():
    """New images above all, half and none of the original ones are recognized once 0, 50 and 100 % are taken."""
    curve = shift_of([1.0, 0.5, 0.0]).roc_curve(np.array([0.0, 0.49, 0.5, 0.99, 1.0]))
    assert curve.tolist() == pytest.approx([1 / 3, 1 / 3, 2 / 3, 2 / 3, 1.0])


@given(st.lists(st.integers(0, 20), min_size=1, max_size=30))
def test_area_under_the_roc_curve_is_the_mean_typicality(parts):
    typicality = np.array(parts) / 20
    curve = shift_of(typicality).roc_curve(np.linspace(0, 1, 21))
    assert (np.diff(curve) >= 0).all() and curve[-1] == 1
    assert curve[:-1].mean() == pytest.approx(typicality.mean())


def test_roc_curve_is_that_of_scikit_learn_within_one_fold():
    """An independent implementation, on scores that are all compared with each other."""
    from sklearn.metrics import roc_curve

    rng, is_new = np.random.default_rng(0), np.arange(80) < 30
    scores = rng.integers(0, 40, 80) + is_new * 10.0 + rng.random(80)  # no ties, in which the curve is half a step
    typicality = FoldScores(scores, np.zeros(80, dtype=int)).typicality(is_new)[is_new]
    rates, shares, _ = roc_curve(is_new, scores, drop_intermediate=False)
    own = shift_of(typicality).roc_curve(rates)
    highest = [shares[rates == rate].max() for rate in rates]
    assert own.tolist() == pytest.approx(highest)


class TestFigure:
    def test_points_are_the_areas_with_chance_and_the_verdict(self, workspace, tmp_path):
        for name, verdict in (("moved", "told apart"), ("same", "no difference detected")):
            result = workspace.study.shift("old", name)
            figure = result.figure()
            (point,) = rows_of(figure, "area")
            auc = result.rows[0].auc
            assert (point["area"], point["low"], point["high"]) == (auc.value, auc.low, auc.high)
            assert point["verdict"] == verdict
            assert rows_of(figure, "chance") == [{"chance": 0.5}]
            assert " ".join(figure.spec["title"]["text"]) == findings(result)[0].headline
            assert f"m {auc.value:.2f}" in figure.alt
        assert figure.save(tmp_path / "f.svg").stat().st_size > 1000

    def test_curve_starts_and_ends_as_the_result_says(self, workspace):
        result = workspace.study.shift("old", "moved")
        points = rows_of(result.figure(), "recognized")
        expected = result.rows[0].roc_curve(np.array([0.0, 0.5, 1.0]))
        chosen = [point["recognized"] for point in points if point["taken"] in (0, 50, 100)]
        assert chosen == pytest.approx(100 * expected, abs=0.01) and chosen[-1] == 100

    def test_best_models_come_first_and_only_some_have_curves(self, workspace):
        (row,) = workspace.study.shift("old", "moved").rows
        areas = np.random.default_rng(0).permutation(70)
        rows = tuple(replace(row, model=f"m{n}", auc=replace(row.auc, value=0.5 + n / 200)) for n in areas.tolist())
        figure = replace(workspace.study.shift("old", "moved"), rows=rows).figure()
        assert [point["model"] for point in rows_of(figure, "area")] == [f"m{n}" for n in range(69, 9, -1)]
        assert {point["model"] for point in rows_of(figure, "recognized")} == {f"m{n}" for n in range(62, 70)}
        assert "60 best of 70 models" in str(figure.spec) and "8 best models" in str(figure.spec)


def test_finding_follows_the_verdict(workspace):
    kinds = [findings(workspace.study.shift("old", name))[0].kind.name for name in ("moved", "same")]
    assert kinds == ["shift: told apart", "shift: no difference detected"]


def test_images_in_both_sets_are_left_out(tmp_path):
    """Of 90 and 60 images, the last 30 of the one are the first 30 of the other."""
    workspace = regrade.init(tmp_path / "W")
    add(workspace, tmp_path, "old", embeddings(0, images=90), prefix="image")
    add(workspace, tmp_path, "new", embeddings(1), prefix="image", start=60)
    result = workspace.study.shift("old", "new", most=100)
    assert result.shared == 30
    assert (result.rows[0].new_images, result.rows[0].original_images) == (30, 60)
    numbers = {(row.test_set, int(row.image.removeprefix("image"))) for row in result.typical}
    assert numbers == {("old", n) for n in range(60)} | {("new", n) for n in range(90, 120)}


@pytest.mark.parametrize(
    ("new", "words"),
    [
        ("old", "name two different sets"),
        ("copy", "nothing is left to compare"),
        ("wide", "have 5 values on wide and 4 on old"),
        ("retrained", "had other weights on retrained than on old"),
        ("few", "too few images"),
        ("others", "differ"),
        ("bare", "--keep features"),
    ],
)
def test_bad_input_is_one_line(workspace, new, words):
    ran = run("study", "shift", "--original", "old", "--new", new, "-w", workspace.store.root)
    assert_one_line(ran, words)
