"""Top-5 of models with ties across the fifth place, from the file to the table."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest

import regrade
from regrade.core import ClassMap, ClassSpace, MapRule, Predictions, TestSet
from regrade.formats.file_predictions import predictions_from_scores
from regrade.stats import bounded_mean, proportion
from regrade.store.checked_files import checked_json, read_checked_json
from regrade.studies import Scoring
from regrade.studies.scoring import ties_at

CLASSES, IMAGES = 20, 60
LABELS = np.random.default_rng(1).integers(0, CLASSES, IMAGES)
UNTIED = np.random.default_rng(2).standard_normal((IMAGES, CLASSES)).astype(np.float32)


def top5(result, model="m"):
    return next(row.top5 for row in result.rows if row.model == model)


def tie_notes(result):
    return [note for note in result.notes if note.startswith("top-5")]


def one_hot(predicted):
    return np.eye(CLASSES, dtype=np.float32)[predicted]


def quantized(scores):
    """Logits of eight bits, with many ties."""
    return np.clip(np.rint(scores * 3), -128, 127).astype(np.int8).astype(np.float32)


def by_random_orders(scores, draws=4000):
    """The mean top-5 accuracy over random orders of the classes, by sorting."""
    rng, right = np.random.default_rng(3), 0.0
    for _ in range(draws):
        order = rng.permutation(CLASSES)
        best = order[np.argsort(-scores[:, order], axis=1, kind="stable")[:, :5]]
        right += (best == LABELS[:, None]).any(axis=1).mean()
    return right / draws


def test_constant_scores_have_the_top5_of_chance():
    result = regrade.grade(LABELS, {"m": np.full((IMAGES, CLASSES), 0.05, dtype=np.float32)})
    assert top5(result).value == pytest.approx(5 / CLASSES, abs=1e-15)
    assert "since place 5 is tied on 60 images of m;" in tie_notes(result)[0]


def test_one_hot_scores_by_hand():
    # the predicted class is certain; the four other places are drawn among nineteen classes
    predicted = np.where(np.arange(IMAGES) < 24, LABELS, (LABELS + 1) % CLASSES)
    estimate = top5(regrade.grade(LABELS, {"m": one_hot(predicted)}))
    credit = np.where(np.arange(IMAGES) < 24, 1.0, 4 / 19)
    assert estimate.value == pytest.approx(credit.mean(), abs=1e-12)
    expected = bounded_mean(credit, largest=1.0)
    assert (estimate.low, estimate.high, estimate.method) == (
        pytest.approx(expected.low, abs=1e-9), pytest.approx(expected.high, abs=1e-9), expected.method
    )  # fmt: skip


def test_quantized_logits_equal_the_mean_over_random_class_orders():
    scores = quantized(UNTIED)
    result = regrade.grade(LABELS, {"m": scores})
    assert top5(result).value == pytest.approx(by_random_orders(scores), abs=0.003)
    shuffled = np.random.default_rng(4).permutation(CLASSES)
    again = regrade.grade(np.argsort(shuffled)[LABELS], {"m": scores[:, shuffled]})
    assert top5(again).value == pytest.approx(top5(result).value, abs=1e-12)


def test_scores_without_ties_are_counted():
    result = regrade.grade(LABELS, {"m": UNTIED})
    best = np.argsort(-UNTIED, axis=1)[:, :5]
    assert top5(result) == proportion(int((best == LABELS[:, None]).any(axis=1).sum()), IMAGES)
    assert not tie_notes(result)
    with_others = regrade.grade(LABELS, {"m": UNTIED, "tied": one_hot(LABELS)})
    assert top5(with_others) == top5(result)


def test_hard_predictions_have_no_top5():
    assert top5(regrade.grade(LABELS, {"m": LABELS})) is None


def test_slices_without_ties_are_counted():
    scores = UNTIED.copy()
    scores[:10] = 0
    half = {"half": ["a"] * 30 + ["b"] * 30}
    result = regrade.grade(LABELS, {"m": scores}, groups=half)
    methods = {row.slice: row.top5.method for row in result.rows}
    assert "clopper" in methods["half=b"] and "clopper" not in methods["half=a"]


@pytest.fixture
def workspace(tmp_path):
    workspace = regrade.init(tmp_path / "W")
    names = tuple(f"c{number}" for number in range(CLASSES))
    workspace.store.class_spaces.add(ClassSpace("twenty", names), None)
    ids = tuple(f"i{number}" for number in range(IMAGES))
    workspace.store.test_sets.add(TestSet("set", workspace.store.class_spaces.read("twenty"), ids, LABELS), None)
    np.savez(tmp_path / "m.npz", scores=quantized(UNTIED)[::-1], ids=np.array(ids)[::-1])
    return workspace


def test_ties_are_stored_and_read(workspace, tmp_path):
    workspace.models.import_predictions(tmp_path / "m.npz", test_set="set")
    in_memory = regrade.grade(LABELS, {"m": quantized(UNTIED)})
    assert top5(workspace.grade("set")).value == pytest.approx(top5(in_memory).value, abs=1e-12)
    folder = workspace.store.predictions.path("set", "m")
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["format"] == 3 and manifest["tied"] == pq.read_table(folder / "ties.parquet").num_rows > 10
    assert workspace.models.import_predictions(tmp_path / "m.npz", test_set="set").models.unchanged == ("m",)


def test_predictions_of_an_older_format_are_read_and_get_ties_when_imported_again(workspace, tmp_path):
    workspace.models.import_predictions(tmp_path / "m.npz", test_set="set")
    folder = workspace.store.predictions.path("set", "m")
    before = top5(workspace.grade("set"))
    path = folder / "manifest.json"
    older = read_checked_json(path) | {"format": 2}
    del older["tied"], older["files"]["ties.parquet"]
    path.write_bytes(checked_json({name: value for name, value in older.items() if name != "check"}))
    (folder / "ties.parquet").unlink()
    old = regrade.open(workspace.store.root)
    assert "clopper" in top5(old.grade("set")).method and not tie_notes(old.grade("set"))
    assert old.models.import_predictions(tmp_path / "m.npz", test_set="set").models.new == ("m",)
    assert top5(old.grade("set")) == before


def test_ties_across_an_earlier_place_follow_from_the_stored_scores():
    space = ClassSpace("twenty", tuple(f"c{number}" for number in range(CLASSES)))
    test_set = TestSet("set", space, tuple(map(str, range(IMAGES))), LABELS)
    scores = quantized(UNTIED)
    own = predictions_from_scores(scores, space, name="m")
    predictions = Predictions("m", "set", "twenty", own.classes, own.scores, ties=own.ties)
    for k in (2, 3, 4, 5):
        ties = ties_at(predictions, k)
        tied = scores == np.take_along_axis(scores, own.classes[:, k - 1 : k], axis=1)
        crossing = np.flatnonzero(tied.sum(axis=1) > np.take_along_axis(tied, own.classes[:, :k], axis=1).sum(axis=1))
        assert ties.rows.tolist() == crossing.tolist()
        np.testing.assert_array_equal(ties.classes(np.arange(len(ties)), CLASSES), tied[crossing])
    assert Scoring(test_set).top_k(predictions, 1).expected is None


def test_ties_through_class_maps():
    """Any of two classes is right in the first map; the second scores among ten classes, where others are tied."""
    space = ClassSpace("twenty", tuple(f"c{number}" for number in range(CLASSES)))
    pairs = ClassSpace("pairs", tuple(f"p{number}" for number in range(10)))
    constant = np.zeros((10, CLASSES), dtype=np.float32)
    own = predictions_from_scores(constant, space, name="m")
    predictions = Predictions("m", "set", "twenty", own.classes, own.scores, own.full_scores, ties=own.ties)
    test_set = TestSet("set", pairs, tuple(map(str, range(10))), np.arange(10))
    both = ClassMap(space, pairs, tuple((2 * i, 2 * i + 1) for i in range(10)), MapRule.ANY_IN_TOP_K)
    expected = 1 - (15 / 20) * (14 / 19)  # neither of the two among five of twenty
    assert Scoring(test_set, both).top_k(predictions, 5).expected == pytest.approx(np.full(10, expected))
    first = ClassMap(space, pairs, tuple((i,) for i in range(10)), MapRule.WITHIN_MAPPED)
    assert Scoring(test_set, first).top_k(predictions, 5).expected == pytest.approx(np.full(10, 0.5))


def test_studies_of_groups_note_ties_that_class_order_decides(tmp_path):
    workspace, regions = regrade.init(tmp_path / "W"), ("a", "b", "c") * (IMAGES // 3)
    space = ClassSpace("twenty", tuple(f"class {number}" for number in range(CLASSES)))
    ids = tuple(map(str, range(IMAGES)))
    workspace.store.add_test_set(TestSet("placed", space, ids, LABELS, {"region": regions}))
    for name, scores in (("plain", UNTIED), ("tied", np.full((IMAGES, CLASSES), 0.05))):
        workspace.models.add_predictions(name, scores, test_set="placed")
    note = "tied: 60 images tied across place 5, decided by class order"
    for top, expected in ((5, 1), (1, 0)):
        geography = workspace.study.geography("placed", by="region", top=top)
        remedies = workspace.study.remedies(["placed"], baseline="plain", remedies=["tied"], by="region", top=top)
        assert [sum(note in text for text in result.notes) for result in (geography, remedies)] == [expected] * 2
