"""The study of classes: scores against scikit-learn, undefined values, confusions and their order, tables, findings."""

import json

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

import regrade
from regrade.classes import class_space, family
from regrade.core import ClassSpace, Hierarchy, InputError, MismatchError, Predictions, TestSet, UndefinedError
from regrade.store import PredictionSource, manifest_of
from regrade.studies import ClassesPart, ClassOrder, PredictedClasses, class_study, figure, findings
from regrade.studies.classes.analysis import cluster_order, hierarchy_order, most_confused

PETS = ClassSpace("pets", ("n1", "n2", "n3", "n4"), ("cat", "dog", "bird", "fish"))


def predicted(labels, classes, model="model"):
    return PredictedClasses(model, np.asarray(labels), np.asarray(classes))


@pytest.fixture(scope="module")
def images():
    """Labels and predictions of 400 images; no fish has a label, and no bird is predicted."""
    rng = np.random.default_rng(0)
    labels = rng.choice(3, 400, p=[0.6, 0.3, 0.1])
    classes = np.where(rng.random(400) < 0.7, labels, rng.integers(0, 4, 400))
    return labels, np.where(classes == 2, 0, classes)


@pytest.fixture(scope="module")
def study(images):
    return class_study("photos", PETS, [predicted(*images)])


def test_scores_match_scikit_learn(study, images):
    labels, classes = images
    precision, recall, f1, support = precision_recall_fscore_support(
        labels, classes, labels=range(4), zero_division=np.nan
    )
    rows = {row.name: row for row in study.rows}
    for place, name in enumerate(PETS.names):
        row = rows[name]
        assert row.support == support[place]
        for ours, theirs in ((row.precision, precision), (row.recall, recall)):
            assert (ours is None) == np.isnan(theirs[place])
            assert ours is None or ours.value == pytest.approx(theirs[place])
        assert row.f1.value == pytest.approx(f1[place])
    assert [row.name for row in study.rows[:2]] == ["bird", "fish"]  # both have an F1 of 0


def test_undefined_scores_are_dashes(study):
    bird, fish = study.table().texts()[:2]
    assert (bird[0], bird[3], fish[0], fish[4]) == ("bird", "–", "fish", "–")


def test_intervals_of_a_measure_are_simultaneous_for_its_defined_classes(study):
    assert {row.recall.method for row in study.rows if row.recall} == {"clopper-pearson, 3 together 95%"}
    assert {row.f1.method for row in study.rows} == {"clopper-pearson of F1, 4 together 95%"}


def test_averages_match_scikit_learn(study, images):
    labels, classes = images
    (row,) = study.averages
    kept = precision_recall_fscore_support(labels, classes, labels=[0, 1, 3], average="macro", zero_division=np.nan)
    assert row.macro_precision.value == pytest.approx(kept[0])
    expected = precision_recall_fscore_support(labels, classes, labels=range(3), average="macro", zero_division=0)
    assert row.balanced_accuracy.value == pytest.approx(expected[1])
    assert row.macro_f1.value == pytest.approx(expected[2])
    assert (row.never_predicted, row.accuracy.value) == (1, pytest.approx((labels == classes).mean()))
    assert "never predicted: model (1)" in str(study.part(ClassesPart.AVERAGES))


def test_confusion_matrix_matches_scikit_learn(study, images):
    places = [PETS.names.index(name) for name in study.matrix.classes]
    np.testing.assert_array_equal(study.matrix.counts, confusion_matrix(*images, labels=places))
    assert study.matrix.order == "clustering of confusions"


def test_pairs_are_the_most_frequent_confusions_with_shares_of_the_label(study, images):
    labels, classes = images
    counts = confusion_matrix(labels, classes, labels=range(4))
    np.fill_diagonal(counts, 0)
    pair, largest = study.pairs[0], np.unravel_index(counts.argmax(), counts.shape)
    assert (pair.label, pair.predicted, pair.count) == (*(PETS.names[i] for i in largest), counts.max())
    assert pair.share.value == pytest.approx(counts.max() / (labels == largest[0]).sum())
    assert pair.share.method == "clopper-pearson, 9 together 95%"


def test_images_without_a_prediction_are_missed_and_predicted_as_nothing():
    study = class_study("photos", PETS, [predicted([0, 0, 0, 1], [0, -1, -1, 1])])
    cat = study["model"] if study.rows[0].name == "cat" else study.rows[1]
    assert (cat.support, cat.predicted) == (3, 1)
    assert (cat.precision.value, cat.recall.value) == (1.0, pytest.approx(1 / 3))
    assert study.pairs == ()
    with pytest.raises(InputError, match="no prediction on photos is confused"):
        study.part(ClassesPart.PAIRS)


def test_few_images_have_no_mean_f1():
    (row,) = class_study("photos", PETS, [predicted([0, 1], [0, 1])]).averages
    assert (row.macro_f1, row.weighted_f1) == (None, None)


def test_cluster_order_puts_confused_classes_next_to_each_other():
    shares = np.eye(4) * 0.8
    shares[0, 2] = shares[2, 0] = shares[1, 3] = 0.2
    order = cluster_order(shares).tolist()
    assert abs(order.index(0) - order.index(2)) == abs(order.index(1) - order.index(3)) == 1


def test_hierarchy_order_puts_relatives_next_to_each_other():
    parents = {"n1": ("mammal",), "n2": ("bird",), "n3": ("mammal",), "mammal": ("animal",), "bird": ("animal",)}
    space = ClassSpace("zoo", ("n1", "n2", "n3"), hierarchy=Hierarchy(parents, {}))
    order = hierarchy_order(space, np.arange(3)).tolist()
    assert abs(order.index(0) - order.index(2)) == 1
    with pytest.raises(InputError, match="pets has no hierarchy: use --order clusters"):
        class_study("photos", PETS, [predicted([0, 1], [1, 0])], order=ClassOrder.HIERARCHY)


def test_most_confused_classes_are_those_of_the_largest_pairs():
    counts = np.diag([90, 90, 90, 90, 90])
    counts[3, 1], counts[0, 4], counts[4, 2] = 9, 5, 2
    assert most_confused(counts, 4).tolist() == [0, 1, 3, 4]


@pytest.fixture(scope="module")
def imagenet():
    """All classes of ImageNet, 20 images each; terriers are confused with terriers."""
    space, rng = class_space("imagenet-1k"), np.random.default_rng(0)
    terriers = family(space, "terriers")
    labels = np.repeat(np.arange(1000), 20)
    confused = np.isin(labels, terriers) & (rng.random(len(labels)) < 0.5)
    classes = np.where(confused, rng.choice(terriers, len(labels)), labels)
    return class_study("val", space, [predicted(labels, classes)]), set(np.array(space.names)[terriers])


def test_many_classes_are_drawn_as_superclasses_and_the_most_confused(imagenet):
    study, terriers = imagenet
    assert set(study.matrix.classes) <= terriers
    assert study.matrix.order == "hierarchy"
    groups = study.superclasses
    canine = groups.classes.index("canine")
    assert groups.counts.sum() == 20_000
    assert groups.counts[canine].sum() == groups.counts[canine, canine]
    assert "most confused of 1,000 classes" in figure(study).alt
    with pytest.raises(InputError, match="too wide"):
        study.part(ClassesPart.MATRIX)


def test_findings_call_a_class_weakest_only_if_it_is_separated():
    labels = np.repeat([0, 1, 2], 100)
    for dogs, headline in (
        (30, "The best model has its lowest recall on dog, of 3 classes of photos"),
        (85, "No difference between the recalls of classes of photos detected for the best model"),
    ):
        right = np.concatenate([np.arange(100) < count for count in (90, dogs, 90)])
        result = class_study("photos", PETS, [predicted(labels, np.where(right, labels, 3))])
        assert headline in [finding.headline for finding in findings(result)]


def test_several_models_are_best_first_and_default_to_averages(images, study):
    labels, classes = images
    both = class_study("photos", PETS, [predicted(labels, classes, "b"), predicted(labels, labels, "a")])
    assert [row.model for row in both.averages] == ["a", "b"]
    assert both.table().columns[0].key == "model"
    assert study.table().columns[0].key == "class"
    assert both.matrix.model == "a"


def test_tables_json_and_figure(study):
    assert set(study.parts) == set(ClassesPart)
    for part in study.parts:
        assert study.part(part).to_arrow().num_rows >= 1
    written = json.loads(json.dumps(study.as_dict()))
    assert written["matrix"]["counts"] == study.matrix.counts.tolist()
    assert figure(study).alt.endswith("Confusion matrix of model: 4 classes.")


def test_workspace_runs_the_study_and_refuses_other_classes(tmp_path):
    workspace = regrade.init(tmp_path / "W")
    space = workspace.testsets.class_space("cifar-10")
    part = space.subset("part", range(4))
    sets = (("all", space, [0, 1, 2, 3]), ("unlabeled", space, [-1] * 4), ("part", part, [0, 1]))
    for name, classes, labels in sets:
        ids = tuple(str(number) for number in range(len(labels)))
        workspace.store.add_test_set(TestSet(name, classes, ids, np.array(labels)))
    workspace.models.add_predictions("model", np.eye(10)[:4] + 0.1, test_set="all")
    result = workspace.study.classes("all", order="clusters", most=3)
    assert result.averages[0].accuracy.value == 1.0
    with pytest.raises(UndefinedError, match="unlabeled has no labels"):
        workspace.study.classes("unlabeled")
    target = workspace.store.test_set("part")
    predictions = Predictions("wide", "part", space.name, np.array([[0], [9]], dtype=np.int32))
    manifest = manifest_of(predictions, target, space, PredictionSource())
    workspace.store.add_predictions(target, [(predictions, manifest)], space)
    with pytest.raises(MismatchError, match="'wide' predicts cifar-10 classes, and part is labeled in part"):
        workspace.study.classes("part")
