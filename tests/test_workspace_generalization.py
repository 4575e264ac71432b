"""Generalization from Python: pairs of test sets in the same classes, in a subset, and through a class map."""

import csv
import shutil
from functools import partial

import pytest
from predicting import Toy, linear, noisy

import regrade
from regrade.core import ClassSpace, InputError, UnknownName
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
