"""Generalization from Python: pairs of test sets in the same classes, in a subset, and through a class map."""

import csv
import shutil
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from predicting import Toy, linear, noisy

import regrade
from regrade.core import ClassSpace, InputError, UndefinedError, UnknownName
from regrade.predict import EngineOptions, predict
from regrade.workspace import Workspace

ANIMALS = ClassSpace("animals", ("cat", "dog", "hen", "fox"))
PETS = ClassSpace("pets", ("cat", "dog"))
OLD = ("cat", "cat", "dog", "dog", "hen", "hen", "fox", "fox")
NEW = ("cat", "cat", "dog", "dog")
WRONG = {"cat": "dog", "dog": "cat", "hen": "fox", "fox": "hen"}


def predictions(path, labels, mistakes):
    """A table with one column per model; ``mistakes`` gives the number of wrong predictions of each."""
    rows = [
        (f"{path.stem}{i}", label, *(WRONG[label] if i < wrong else label for wrong in mistakes.values()))
        for i, label in enumerate(labels)
    ]
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("image", "label", *mistakes), *rows])
    return path


@pytest.fixture
def workspace(tmp_path) -> Workspace:
    workspace = regrade.init(tmp_path / "W")
    old = predictions(tmp_path / "old.csv", OLD, {"a": 1, "b": 2, "c": 4, "d": 5})
    new = predictions(tmp_path / "new.csv", NEW, {"a": 1, "b": 2, "c": 3, "e": 0})
    workspace.models.import_predictions(old, test_set="old", classes=ANIMALS)
    workspace.models.import_predictions(new, test_set="new", classes=ANIMALS)
    return workspace


def accuracies(result):
    return {row.model: (row.original.value, row.new.value) for row in result.rows}


def test_generalization_uses_models_on_both_sets(workspace):
    result = workspace.study.generalization("old", ["new"])
    assert accuracies(result) == {"a": (7 / 8, 3 / 4), "b": (6 / 8, 2 / 4), "c": (4 / 8, 1 / 4)}
    assert result.shifts[0].left_out == ("d", "e")
    assert result.scale.value == "logit"


def test_generalization_scores_the_original_within_a_subset_of_classes(workspace, tmp_path):
    labels = tmp_path / "pets.csv"
    with labels.open("w", newline="") as file:
        csv.writer(file).writerows([("image", "label"), *((f"p{i}", label) for i, label in enumerate(NEW))])
    workspace.testsets.add("pets", labels, classes=PETS)
    answers = predictions(tmp_path / "p.csv", NEW, {"a": 0, "b": 2, "c": 3})
    workspace.models.import_predictions(answers, test_set="pets", classes=ANIMALS)
    result = workspace.study.generalization("old", ["pets", "new"])
    among_two, among_all = ({row.model: row for row in result.of(name)} for name in ("pets", "new"))
    assert {model: row.original.value for model, row in among_two.items()} == {"a": 3 / 4, "b": 2 / 4, "c": 0}
    assert {row.original.n for row in among_two.values()} == {4}
    assert {row.original.n for row in among_all.values()} == {8}
    assert any("label space" in note for note in result.notes)


def test_generalization_of_named_models(workspace):
    result = workspace.study.generalization("old", ["new"], models=["a", "b", "c"], scale="linear")
    assert result.shifts[0].left_out == ()
    assert result.scale.value == "linear"


@pytest.mark.parametrize(
    ("arguments", "options", "error", "words"),
    [
        (("old", "new"), {}, InputError, "list of names"),
        (("old", []), {}, InputError, "at least one new"),
        (("old", ["new"]), {"models": ["a", "b"]}, InputError, "got 2"),
        (("old", ["new"]), {"models": ["d"]}, InputError, "none of these models has predictions on new"),
        (("old", ["new"]), {"models": ["x"]}, UnknownName, "unknown model 'x'"),
        (("old", ["new"]), {"scale": "log"}, UnknownName, "logit"),
        (("old", ["new"]), {"standard": "a"}, InputError, "list of names"),
        (("old", ["old"]), {}, InputError, "both as the original and as a new"),
    ],
)
def test_generalization_rejects_bad_arguments(workspace, arguments, options, error, words):
    with pytest.raises(error, match=words):
        workspace.study.generalization(*arguments, **options)


def labeled(workspace, folder, test_set, rows, name="many"):
    """Import judged labels: (image, class, state) rows; None marks a problematic image."""
    path = folder / f"{test_set}-{name}.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("image", "class", "state", "problematic"))
        writer.writerows(
            (image, label, state, "") if label else (image, "", "", "no class") for image, label, state in rows
        )
    workspace.labels.import_file(path, test_set=test_set, name=name, new_version=True)


def correct(test_set, labels):
    return [(f"{test_set}{i}", label, "correct") for i, label in enumerate(labels)]


def answered(workspace, folder, test_set, person, answers):
    path = folder / f"{test_set}-{person}.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("image", "class"), *answers.items()])
    workspace.models.import_people(path, test_set=test_set, name=person)


class TestLabels:
    """Multi-label accuracy on both sets, each with its own version of a label set."""

    @pytest.fixture
    def workspace(self, workspace, tmp_path):
        """On the original, the first image also shows a dog, and the last is problematic; models err on the first."""
        first = [*correct("old", OLD[:7]), ("old7", None, "")]
        labeled(workspace, tmp_path, "old", first)
        labeled(workspace, tmp_path, "old", [*first, ("old0", "dog", "correct"), ("old1", "dog", "wrong")])
        labeled(workspace, tmp_path, "new", [*correct("new", NEW), ("new0", "dog", "unclear")], name="ours")
        return workspace

    def test_each_set_has_its_own_labels(self, workspace):
        """Model a errs on old0, b also on old1, c on the first four."""
        result = workspace.study.generalization("old", ["new"], labels=["old=many@2", "new=ours"])
        assert accuracies(result) == {"a": (7 / 7, 3 / 4), "b": (6 / 7, 2 / 4), "c": (4 / 7, 1 / 4)}
        assert result.measure.labels == {"old": "many@2", "new": "ours@1"}
        assert "old: against many@2: right if correct; mean over 7 images, without 1 problematic" in notes(result)

    def test_an_older_version_and_the_unjudged_predictions(self, workspace):
        result = workspace.study.generalization("old", ["new"], labels=["old=many@1", "new=ours"])
        row = result["a"]
        assert (row.original.value, row.original_novel, row.new_novel) == (6 / 7, 1, 0)
        shift = result.shifts[0]
        assert shift.unjudged.original == pytest.approx((1 + 2 + 4) / 7 / 3)
        assert shift.mean_change_top5 is None
        assert "predictions that no one has judged count as wrong, 33.3% on the original" in notes(result)

    def test_the_rule_classes_accepts_unclear_labels(self, workspace):
        result = workspace.study.generalization("old", ["new"], labels=["old=many", "new=ours"], rule="classes")
        assert result["a"].new.value == 4 / 4
        assert "accuracies are means over images, also by the rule classes" in notes(result)

    def test_labels_of_one_name(self, workspace, tmp_path):
        labeled(workspace, tmp_path, "new", correct("new", NEW))
        result = workspace.study.generalization("old", ["new"], labels=["many"])
        assert result.measure.labels == {"old": "many@2", "new": "many@1"}

    def test_a_slice_restricts_both_sets_and_the_notes(self, workspace):
        labels = ["old=many", "new=ours"]
        result = workspace.study.generalization("old", ["new"], labels=labels, slice="not fox")
        assert {(row.original.n, row.new.n) for row in result.rows} == {(6, 4)}
        assert "old: against many@2: right if correct; mean over 6 images" in notes(result)

    def test_a_slice_without_judged_images_is_rejected(self, workspace, tmp_path):
        labeled(workspace, tmp_path, "old", correct("old", OLD[:2]), name="part")
        with pytest.raises(UndefinedError, match="no image of old, slice dog, against part@1 counts"):
            workspace.study.generalization("old", ["new"], labels=["old=part", "new=ours"], slice="dog")

    @pytest.mark.parametrize(
        ("options", "error", "words"),
        [
            ({"labels": ["many"]}, UnknownName, "unknown label set of new 'many'"),
            ({"labels": "many"}, InputError, "list of names"),
            ({"labels": ["old=many"]}, InputError, "no label set is named for new: .* add new=NAME"),
            ({"labels": ["many", "next=ours"]}, UnknownName, "unknown test set of labels 'next'"),
            ({"labels": ["many", "ours"]}, InputError, "given twice for all sets"),
            ({"labels": ["old="]}, InputError, "NAME or SET=NAME, got 'old='"),
            ({"labels": ["old=many", "new=ours"], "top": 2}, InputError, "give either labels or top"),
            ({"labels": ["old=many", "new=ours"], "within": "pets"}, InputError, "leave out within and map"),
            ({"labels": ["old=many", "new=ours"], "slice": "fox"}, InputError, "slice 'fox' of new contains no"),
            ({"rule": "images"}, InputError, "rule and collapsed require labels"),
        ],
    )
    def test_labels_reject_bad_options(self, workspace, options, error, words):
        with pytest.raises(error, match=words):
            workspace.study.generalization("old", ["new"], **options)


class TestSliceTopAndNames:
    def test_a_slice_restricts_both_sets(self, workspace):
        result = workspace.study.generalization("old", ["new"], slice="not cat")
        assert {(row.original.n, row.new.n) for row in result.rows} == {(6, 2)}
        assert accuracies(result) == {"a": (6 / 6, 2 / 2), "b": (6 / 6, 2 / 2), "c": (4 / 6, 1 / 2)}
        assert result.table().title == "old and new, slice not cat, in %"

    def test_top_k_accuracy(self, tmp_path):
        workspace = regrade.init(tmp_path / "W")
        for name, labels in (("old", OLD), ("new", NEW)):
            table = {"image": [f"{name}{i}" for i in range(len(labels))], "label": list(labels)}
            for model, wrong in (("a", 1), ("b", 2), ("c", 3)):
                table[model] = [
                    [WRONG[label], label] if i < wrong else [label, WRONG[label]] for i, label in enumerate(labels)
                ]
            pq.write_table(pa.table(table), tmp_path / f"{name}.parquet")
            workspace.models.import_predictions(tmp_path / f"{name}.parquet", test_set=name, classes=ANIMALS)
        assert accuracies(workspace.study.generalization("old", ["new"]))["c"] == (5 / 8, 1 / 4)
        with pytest.raises(UndefinedError, match="all models have the same accuracy on the original"):
            workspace.study.generalization("old", ["new"], top=2)
        with pytest.raises(UndefinedError, match="only the top 2 are stored"):
            workspace.study.generalization("old", ["new"], top=3)

    def test_patterns_choose_and_leave_out_models(self, workspace, tmp_path):
        more = predictions(tmp_path / "old.csv", OLD, {"net-1": 1, "net-2": 3, "net-3": 6})
        workspace.models.import_predictions(more, test_set="old", classes=ANIMALS)
        more = predictions(tmp_path / "new.csv", NEW, {"net-1": 1, "net-2": 2, "net-3": 3})
        workspace.models.import_predictions(more, test_set="new", classes=ANIMALS)

        def names(**options):
            return set(accuracies(workspace.study.generalization("old", ["new"], **options)))

        assert names(only=["net-*"]) == {"net-1", "net-2", "net-3"}
        assert names(without=["net-*"]) == {"a", "b", "c"}
        assert names(without=["net-2", "a"]) == {"b", "c", "net-1", "net-3"}
        assert names(only=["net-*", "b"], without=["net-1"]) == {"b", "net-2", "net-3"}

    @pytest.mark.parametrize(
        ("options", "error", "words"),
        [
            ({"without": ["z*"]}, InputError, r"no model on old or new matches 'z\*'"),
            ({"only": ["z"]}, UnknownName, "unknown model on old or new 'z'"),
            ({"only": "a*"}, InputError, "list of names"),
            ({"only": ["a"], "without": ["a"]}, InputError, "no model is left"),
            ({"slice": "hne"}, UnknownName, "unknown slice of old 'hne'"),
            ({"slice": "fox"}, InputError, "slice 'fox' of new contains no images"),
            ({"slice": "not not hen"}, InputError, "slice 'not not hen' of new contains no images"),
        ],
    )
    def test_bad_slices_and_patterns_are_rejected(self, workspace, options, error, words):
        with pytest.raises(error, match=words):
            workspace.study.generalization("old", ["new"], **options)


class TestPeople:
    @pytest.fixture
    def workspace(self, workspace, tmp_path):
        """Ann answers six images of the original and all of the new set; Bob only images of the original."""
        answered(workspace, tmp_path, "old", "Ann", {f"old{i}": OLD[i] for i in range(6)} | {"old5": "cat"})
        answered(workspace, tmp_path, "new", "Ann", {f"new{i}": "cat" for i in range(4)})
        answered(workspace, tmp_path, "old", "Bob", {"old0": "cat"})
        return workspace

    @pytest.mark.parametrize("options", [{"people": ["Ann"]}, {"people": ["person:Ann"]}])
    def test_a_named_person_is_compared_with_the_line(self, workspace, options):
        result = workspace.study.generalization("old", ["new"], **options)
        (row,) = result.people
        assert (row.person, row.original.value, row.original.n, row.new.value) == ("person:Ann", 5 / 6, 6, 2 / 4)
        assert "asked about, 6 of 8, of which 6 count" in notes(result)

    def test_models_are_scored_on_the_images_that_people_were_asked_about(self, workspace):
        """Model c errs on the first four of the six images, and on three of all four new ones."""
        result = workspace.study.generalization("old", ["new"], people=["Ann"])
        assert accuracies(result) == {"a": (5 / 6, 3 / 4), "b": (4 / 6, 2 / 4), "c": (2 / 6, 1 / 4)}

    def test_people_without_a_common_image_are_rejected(self, workspace, tmp_path):
        answered(workspace, tmp_path, "old", "Dan", {"old7": "fox"})
        answered(workspace, tmp_path, "new", "Dan", {"new0": "cat"})
        with pytest.raises(InputError, match="no image of old was shown to all of these people"):
            workspace.study.generalization("old", ["new"], people=["Ann", "Dan"])

    def test_a_person_among_the_models(self, workspace):
        result = workspace.study.generalization("old", ["new"], models=["a", "b", "c", "person:Ann"])
        assert [row.person for row in result.people] == ["person:Ann"]

    def test_people_are_left_out_unless_they_are_named(self, workspace):
        assert workspace.study.generalization("old", ["new"]).people is None

    @pytest.mark.parametrize(
        ("options", "error", "words"),
        [
            ({"people": ["Bob"]}, InputError, "person:Bob has no answers on new: people are compared on both sets"),
            ({"people": ["Cid"]}, UnknownName, "unknown person 'person:Cid'"),
            ({"people": "Ann"}, InputError, "list of names"),
            ({"people": ["Ann"], "top": 2}, UndefinedError, "top-2"),
        ],
    )
    def test_people_on_one_set_are_rejected(self, workspace, options, error, words):
        with pytest.raises(error, match=words):
            workspace.study.generalization("old", ["new"], **options)


def test_reversed_predictions_are_a_caution(tmp_path):
    """Half of the labels are the first of three classes; for the last model the columns are reversed on the new set."""
    workspace, rng = regrade.init(tmp_path / "W"), np.random.default_rng(0)
    for name in ("old", "new"):
        labels = rng.integers(0, 4, 400)
        table = {"image": [f"{name}{i}" for i in range(400)], "label": [ANIMALS.ids[label] for label in labels]}
        for place, model in enumerate("abc"):
            shift = np.where(rng.random(400) < 0.5 + 0.1 * place, 0, 1)
            classes = (labels[:, None] + shift[:, None] + np.arange(3)) % 4
            table[model] = (classes[:, ::-1] if (model, name) == ("c", "new") else classes).tolist()
        pq.write_table(pa.table(table), tmp_path / f"{name}.parquet")
        workspace.models.import_predictions(tmp_path / f"{name}.parquet", test_set=name, classes=ANIMALS)
    text = notes(workspace.study.generalization("old", ["new"]))
    assert "caution: the predictions of c on new look reversed" in text
    assert "--reversed c" in text
    assert text.count("look reversed") == 1


class TestOverlap:
    """Images of the new set that are also in the original are counted in a note."""

    def test_overlap_is_found_by_id(self, workspace, tmp_path):
        again = predictions(tmp_path / "old.csv", OLD[:6], {"a": 1, "b": 2, "c": 4})
        workspace.models.import_predictions(again, test_set="again", classes=ANIMALS)
        assert "6 of 6 images of again are images of old too" in notes(workspace.study.generalization("old", ["again"]))

    def test_overlap_is_found_by_content_under_other_names(self, tmp_path):
        workspace = regrade.open(noisy(tmp_path).root)
        for number in (3, 14, 25):
            copy = tmp_path / "copied" / str(number % 10) / f"y{number}.png"
            copy.parent.mkdir(parents=True)
            shutil.copy(tmp_path / "images" / str(number % 10) / f"x{number:03d}.png", copy)
        workspace.testsets.add("copied", tmp_path / "copied", classes="cifar-10", layout="index")
        for test_set in ("noise", "copied"):
            for seed in range(3):
                toy = Toy(partial(linear, seed=seed), name=f"toy {seed}")
                predict(workspace.store, toy, workspace.store.test_set(test_set), EngineOptions())
        assert "3 of 3 images of copied are images of noise too" in notes(
            workspace.study.generalization("noise", ["copied"])
        )

    def test_sets_without_a_common_image_have_no_note(self, workspace):
        assert "images of old too" not in notes(workspace.study.generalization("old", ["new"]))


def notes(study):
    return " ".join(study.table().notes)
