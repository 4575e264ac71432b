"""Similarity of models: by hand, against slow reference implementations, and degenerate cases."""

import json
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from regrade.core import ClassSpace, Estimate, InputError, Predictions, TestSet, UndefinedError
from regrade.studies import Basis, SameImages, Scoring, Similarity, similarity_of
from regrade.studies.similarity.analysis import similarity

RIGHT = hnp.arrays(bool, st.tuples(st.integers(2, 6), st.integers(1, 30)))
MATRICES = ("kappa", "agreement", "dominance", "excess")


def similarity_from(correct, classes=None, *, names=None, spaces=None) -> Similarity:
    models = names or tuple(f"m{i}" for i in range(len(correct)))
    answers = np.asarray(correct, dtype=np.int16) if classes is None else np.asarray(classes, dtype=np.int16)
    spaces = spaces or ("space",) * len(models)
    right = np.asarray(correct, dtype=bool)
    images = right.shape[1]
    novel = np.zeros(len(models), dtype=np.int64)
    return similarity_of(
        SameImages(Basis("set", images), models, right, answers, spaces, novel, images=np.arange(images))
    )


def correlated(rng, accuracies, images, copied):
    """Models that copy the first model on a share of the images, and are independent on the rest."""
    own = rng.random((len(accuracies), images)) < np.array(accuracies)[:, None]
    return np.where(rng.random((len(accuracies), images)) < copied, own[0], own)


def test_a_pair_by_hand():
    """Both right on 4 of 10 images, the stronger alone on 3, the weaker alone on 1, neither on 2."""
    correct = [[1, 1, 1, 1, 1, 1, 1, 0, 0, 0], [1, 1, 1, 1, 0, 0, 0, 1, 0, 0]]
    classes = [[0, 0, 0, 0, 0, 0, 0, 1, 1, 1], [0, 0, 0, 0, 1, 1, 1, 0, 1, 2]]
    (pair,) = similarity_from(correct, classes, names=("strong", "weak")).pairs
    assert (pair.first, pair.second) == ("strong", "weak")
    expected = 0.7 * 0.5 + 0.3 * 0.5
    assert pair.kappa.value == pytest.approx((0.6 - expected) / (1 - expected)) == pytest.approx(0.2)
    assert pair.agreement.value == pytest.approx(0.5)
    assert pair.dominance.value == pytest.approx(0.1)
    assert pair.independent == pytest.approx(0.5 * 0.3)
    assert pair.excess.value == pytest.approx(0.1 - 0.15)
    exact = stats.binomtest(1, 10).proportion_ci(method="exact")
    assert (pair.dominance.low, pair.dominance.high) == pytest.approx((exact.low, exact.high))
    exact = stats.binomtest(5, 10).proportion_ci(method="exact")
    assert (pair.agreement.low, pair.agreement.high) == pytest.approx((exact.low, exact.high))
    assert {estimate.n for estimate in (pair.kappa, pair.agreement, pair.dominance, pair.excess)} == {10}
    assert (pair.kappa.method, pair.dominance.method) == ("delta, adjusted 95%", "clopper-pearson 95%")


@given(RIGHT)
@settings(deadline=None)
def test_pairs_match_a_slow_reference(correct):
    result = similarity_from(correct)
    rows = {f"m{i}": row for i, row in enumerate(correct)}
    assert {frozenset((p.first, p.second)) for p in result.pairs} == {frozenset(p) for p in combinations(rows, 2)}
    for pair in result.pairs:
        strong, weak = rows[pair.first], rows[pair.second]
        assert strong.mean() >= weak.mean()
        if (strong & weak).all() or not (strong | weak).any():
            assert pair.kappa is None
        else:
            expected = cohen_kappa_score(strong, weak, labels=[False, True])
            assert pair.kappa.value == pytest.approx(expected, abs=1e-12)
        assert pair.agreement.value == pytest.approx((strong == weak).mean())
        assert pair.dominance.value == pytest.approx((weak & ~strong).mean())
        assert pair.excess.value == pytest.approx((weak & ~strong).mean() - weak.mean() * (1 - strong.mean()))
        for part in (pair.kappa, pair.agreement, pair.dominance, pair.excess):
            assert part is None or -1 <= part.low <= part.value <= part.high <= 1


@given(RIGHT)
@settings(deadline=None)
def test_matrices_are_symmetric_with_a_certain_diagonal(correct):
    result = similarity_from(correct)
    diagonals = {"kappa": 1.0, "agreement": 1.0, "dominance": 0.0, "excess": 0.0}
    for name in MATRICES:
        matrix = getattr(result, name)
        for part in (matrix.value, matrix.low, matrix.high):
            np.testing.assert_allclose(part, part.T, atol=1e-12)
            own = np.diagonal(part)
            assert np.allclose(own[~np.isnan(own)], diagonals[name])
            assert name == "kappa" or not np.isnan(own).any()


@given(RIGHT, st.randoms(use_true_random=False))
@settings(deadline=None)
def test_order_does_not_depend_on_the_input_order(correct, random):
    result = similarity_from(correct)
    names = tuple(f"m{i}" for i in range(len(correct)))
    assert sorted(result.models) == sorted(names)
    for model, accuracy in zip(result.models, result.accuracies, strict=True):
        assert accuracy.value == pytest.approx(correct[int(model[1:])].mean())
    shuffled = random.sample(range(len(correct)), len(correct))
    again = similarity_from(correct[shuffled], names=tuple(names[i] for i in shuffled))
    assert (again.models, again.clusters) == (result.models, result.clusters)
    np.testing.assert_array_equal(again.kappa.value, result.kappa.value)
    assert again.as_dict() == result.as_dict()


def test_the_same_model_twice():
    rng = np.random.default_rng(1)
    first = rng.random(500) < 0.7
    second = rng.random(500) < 0.6
    result = similarity_from([first, second, first], names=("a", "b", "again"))
    assert result.pairs[0].kappa.value == 1 and {result.pairs[0].first, result.pairs[0].second} == {"a", "again"}
    assert result.groups in ((("a", "again"), ("b",)), (("again", "a"), ("b",)))
    assert result.pairs[0].dominance.value == 0


def test_clusters_start_at_the_more_accurate_end():
    rng = np.random.default_rng(2)
    strong = correlated(rng, [0.9, 0.9, 0.9], 4000, 0.9)
    weak = correlated(rng, [0.5, 0.5, 0.5], 4000, 0.9)
    result = similarity_from(np.concatenate([weak, strong]), names=("w1", "w2", "w3", "s1", "s2", "s3"))
    assert [set(group) for group in result.groups] == [{"s1", "s2", "s3"}, {"w1", "w2", "w3"}]
    assert result.clusters == (1, 1, 1, 2, 2, 2)
    inside = result.kappa.value[:3, :3][np.triu_indices(3, 1)]
    assert inside.mean() > result.alike > result.kappa.value[:3, 3:].max()


def test_coverage_for_independent_models():
    """Over many draws, intervals of independent models cover 0 at their nominal level."""
    rng = np.random.default_rng(3)
    result = similarity_from(rng.random((60, 2000)) < rng.uniform(0.3, 0.95, (60, 1)))
    upper = np.triu_indices(60, 1)
    for matrix in (result.kappa, result.excess):
        assert abs(matrix.value[upper].mean()) < 0.002
    held, together = ((m.low[upper] <= 0) & (m.high[upper] >= 0) for m in (result.kappa, result.excess))
    assert 0.93 < held.mean() < 0.97 and together.all()
    assert "of 1,770;" in result.table().notes[0]


def test_few_images_add_a_note():
    rng = np.random.default_rng(0)
    for images, few in ((1, "only 1 image: "), (49, "only 49 images: "), (50, "")):
        notes = similarity_from(rng.random((3, images)) < 0.5).table().notes
        assert few == "" or notes[0].startswith(few)
        assert any(note.startswith("only ") for note in notes) == bool(few)
        assert any(note.startswith(f"on {images} image{'s' * (images > 1)}; ") for note in notes)


def test_undefined_error_consistency_adds_a_note():
    note = "error consistency is undefined if both models are always right, or both always wrong"
    assert note in similarity_from([[1, 1], [1, 1], [0, 1]]).table().notes
    assert note not in similarity_from([[1, 0], [1, 1], [0, 1]]).table().notes


def test_coverage_of_dominance_for_equal_models():
    """The smaller of two counts is used for either model; the interval still covers, with misses on both sides."""
    rng = np.random.default_rng(4)
    for share in (0.02, 0.1):
        cells = [0.6, share, share, 0.4 - 2 * share]
        tables = rng.multinomial(400, cells, size=4000)
        smaller = tables[:, 1:3].min(axis=1)
        low = stats.beta.ppf(0.025, smaller, 401 - smaller)
        high = stats.beta.ppf(0.975, smaller + 1, 400 - smaller)
        assert ((low <= share) & (share <= high)).mean() > 0.94


class TestDegenerateCases:
    def test_all_right(self):
        result = similarity_from(np.ones((3, 5), dtype=bool))
        assert all(pair.kappa is None for pair in result.pairs)
        assert result.groups == (("m0", "m1", "m2"),)
        assert json.loads(json.dumps(result.as_dict(), allow_nan=False))["matrices"]["kappa"] == [[None] * 3] * 3
        assert "–" in str(result.table())

    def test_all_right_and_all_wrong(self):
        result = similarity_from([[1, 1, 1], [0, 0, 0]])
        (pair,) = result.pairs
        assert (pair.first, pair.kappa.value, pair.dominance.value) == ("m0", 0, 0)
        assert result.clusters == (1, 2)

    def test_one_image(self):
        (same,) = similarity_from([[1], [1]]).pairs
        assert same.kappa is None and same.agreement.value == 1
        (pair,) = similarity_from([[1], [0]]).pairs
        assert pair.kappa.value == 0 and pair.kappa.low < -0.3 and pair.kappa.high > 0.3

    def test_no_image(self):
        with pytest.raises(UndefinedError, match="no image"):
            similarity_from(np.ones((2, 0), dtype=bool))

    def test_pair_without_kappa_comes_last(self):
        result = similarity_from([[1, 1, 1, 1], [1, 1, 1, 1], [1, 0, 1, 0]])
        assert [pair.kappa is None for pair in result.pairs] == [False, False, True]

    def test_agreement_is_undefined_between_class_spaces(self):
        result = similarity_from([[1, 0], [1, 1], [0, 1]], [[0, 1], [0, 0], [0, 0]], spaces=("x", "x", "y"))
        agreed = {frozenset((p.first, p.second)): p.agreement for p in result.pairs}
        assert agreed[frozenset(("m0", "m1"))].value == 0.5
        assert agreed[frozenset(("m0", "m2"))] is agreed[frozenset(("m1", "m2"))] is None
        json.dumps(result.as_dict(), allow_nan=False)


class TestOutput:
    CORRECT = np.random.default_rng(5).random((4, 200)) < 0.7

    def test_pairs_are_ordered_by_similarity(self):
        result = similarity_from(self.CORRECT)
        kappas = [pair.kappa.value for pair in result.pairs]
        assert kappas == sorted(kappas, reverse=True)
        table = result.table()
        assert len(table.rows) == 6
        assert table.title == "similarity of 4 models on set, in % (error consistency: kappa)"
        assert any(note.startswith("clusters of models with a mean kappa of at least 0.6") for note in table.notes)

    def test_as_dict_is_json_serializable(self):
        result = similarity_from(self.CORRECT)
        content = json.loads(json.dumps(result.as_dict(), allow_nan=False))
        assert [row["model"] for row in content["models"]] == list(result.models)
        assert {row["cluster"] for row in content["models"]} == set(result.clusters)
        assert content["matrices"].keys() == {*MATRICES, "independent"}
        places = {model: place for place, model in enumerate(result.models)}
        for pair in content["pairs"]:
            i, j = places[pair["first"]], places[pair["second"]]
            for name in MATRICES:
                assert content["matrices"][name][i][j] == pair[name]["value"]
                assert pair[name].keys() == set(Estimate.__slots__)


def test_from_predictions_on_a_slice():
    space = ClassSpace("two", ("a", "b"))
    labels = np.array([0, 0, 1, 1, -1])
    test_set = TestSet("set", space, tuple("12345"), labels, {"part": ("x", "x", "x", "y", "y")})
    scoring = Scoring(test_set)
    rows = [("m", [0, 1, 1, 0, 0]), ("n", [0, 1, 0, 0, 0])]
    scored = [(Predictions(m, "set", "two", np.array(p)[:, None]), scoring) for m, p in rows]
    result = similarity(test_set, iter(scored), slice_name="part=x", confidence=0.9)
    (pair,) = result.pairs
    assert (result.basis.images, result.basis.slice) == (3, "part=x")
    assert (pair.agreement.value, pair.agreement.method) == (pytest.approx(2 / 3), "clopper-pearson 90%")
    with pytest.raises(InputError, match="at least two models"):
        similarity(test_set, scored[:1])
