"""Models with predictions on some of the images only: other models' results stay, and every table says so."""

import json

import numpy as np
import pytest

import regrade
from regrade.core import InputError
from regrade.studies import all_studies

IMAGES, PART = 60, 24
CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
NOTE = f"predictions on some of the images only: part {PART} of {IMAGES} images of val"
LEFT_OUT = f"left out, with predictions on some of the images only (name them to include): part {PART} of {IMAGES}"
SHARED = {
    "compare": {"test_set": "val"},
    "similarity": {"test_set": "val"},
    "geography": {"test_set": "val", "by": "region"},
    "people": {"test_set": "val"},
    "multilabel": {"test_set": "val", "labels": "second"},
}
"""Studies of the images that all models share: they leave out part unless it is named."""
PER_MODEL = {
    "grade": {"test_set": "val", "labels": "own", "slices": ("region",)},
    "classes": {"test_set": "val"},
    "confidence": {"test_set": "val"},
    "mistakes": {"test_set": "val", "labels": "own"},
    "generalization": {"original": "val", "new": ("new",)},
    "label_change": {"test_set": "val", "before": "own", "after": "second"},
}


def scores_of(rng, labels, error):
    wrong = rng.random(len(labels)) < error
    scores = rng.random((len(labels), 10))
    scores[np.arange(len(labels)), np.where(wrong, (labels + 1) % 10, labels)] += 1
    return scores / scores.sum(axis=1, keepdims=True)


def write(path, ids, labels, scores):
    """A table of scores; without labels, only ids and scores."""
    names = [] if labels is None else ["label"]
    lines = [",".join(["image", *names, *CLASSES])]
    for row, image in enumerate(ids):
        label = [] if labels is None else [CLASSES[labels[row]]]
        lines.append(",".join([image, *label, *(f"{score:.6f}" for score in scores[row] / scores[row].sum())]))
    path.write_text("\n".join(lines) + "\n")
    return path


def filled(folder, *, with_part):
    workspace = regrade.init(folder / ("W2" if with_part else "W1"))
    rng = np.random.default_rng(7)
    labels = np.arange(IMAGES) % 10
    ids = [f"{row:03}.png" for row in range(IMAGES)]
    lines = ["image,label,region"]
    lines += [f"{image},{CLASSES[label]},{'north' if row % 2 else 'south'}" for row, (image, label) in
              enumerate(zip(ids, labels, strict=True))]  # fmt: skip
    (folder / "val.csv").write_text("\n".join(lines) + "\n")
    columns = regrade.tables.Columns(groups=("region",))
    workspace.testsets.add("val", folder / "val.csv", classes="cifar-10", columns=columns)
    workspace.testsets.add("new", folder / "val.csv", classes="cifar-10", columns=columns)
    for test_set in ("val", "new"):
        for number in range(3):
            scores = scores_of(rng, labels, 0.15 + 0.1 * number)
            workspace.models.add_predictions(f"m{number}", scores, test_set=test_set)
    part = rng.permutation(IMAGES)[:PART]
    scores = scores_of(rng, labels, 0.3)[part]
    path = write(folder / "part.csv", [ids[row] for row in part], labels[part], scores)
    people = ["image,class,person"]
    for person in ("Ada", "Ben"):
        answers = scores_of(rng, labels, 0.1).argmax(axis=1)
        people += [f"{image},{CLASSES[answer]},{person}" for image, answer in zip(ids, answers, strict=True)]
    (folder / "people.csv").write_text("\n".join(people) + "\n")
    workspace.models.import_people(folder / "people.csv", test_set="val")
    workspace.labels.create("val", name="own")
    second = ["image,label"]
    second += [
        f"{image},{CLASSES[(label + (row % 4 == 0)) % 10]}" for row, (image, label) in
        enumerate(zip(ids, labels, strict=True))
    ]  # fmt: skip
    (folder / "second.csv").write_text("\n".join(second) + "\n")
    workspace.labels.import_file(folder / "second.csv", test_set="val", name="second", complete=True)
    if with_part:
        workspace.models.import_predictions(path, test_set="val", model="part", partial=True)
    return workspace


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("partial")


@pytest.fixture(scope="module")
def complete(folder):
    return filled(folder, with_part=False)


@pytest.fixture(scope="module")
def workspace(folder):
    return filled(folder, with_part=True)


def study(name):
    return next(each for each in all_studies() if each.name == name)


def values(result):
    """The rows of a table without intervals, which depend on the number of models where they are simultaneous."""
    return [
        {key: value for key, value in row.items() if not key.endswith(("_low", "_high", "_method"))}
        for row in result.table().records()
    ]


@pytest.mark.parametrize("name", SHARED)
def test_study_of_shared_images_leaves_out_a_partial_model(name, complete, workspace):
    run = study(name)
    before = run.result_of(complete.store, run.options(**SHARED[name]))
    after = run.result_of(workspace.store, run.options(**SHARED[name]))
    assert after.table().records() == before.table().records()
    assert any(LEFT_OUT in note for note in after.table().notes)
    assert any(LEFT_OUT in note for note in after.as_dict()["coverage_notes"])
    assert "coverage_notes" not in before.as_dict()


@pytest.mark.parametrize("name", PER_MODEL)
def test_study_by_model_keeps_the_results_of_others_and_states_the_coverage(name, complete, workspace):
    run = study(name)
    before = run.result_of(complete.store, run.options(**PER_MODEL[name]))
    after = run.result_of(workspace.store, run.options(**PER_MODEL[name]))
    complete_rows = [row for row in values(after) if row.get("model") != "part"]
    assert complete_rows == values(before)
    tables = [after.table(), *(after.part(part) for part in getattr(after, "parts", ()))]
    assert all(NOTE in table.notes for table in tables)
    assert sum(note == NOTE for note in after.table().notes) == 1
    json.dumps(after.as_dict(), allow_nan=False)


def test_grade_counts_only_the_covered_images(workspace):
    row = workspace.grade("val")["part"]
    predictions = workspace.store.predictions.read(workspace.store.test_set("val"), "part")
    right = predictions.top1 == workspace.store.test_set("val").labels
    assert row.top1.n == row.top5.n == PART
    assert row.top1.value == right.sum() / PART
    assert row.unanswered == 0


def test_grade_with_scores_ignores_what_is_not_covered(workspace):
    grade = workspace.grade("val", metrics=["ece", "brier", "nll"])
    covered = workspace.store.predictions.read(workspace.store.test_set("val"), "part").covered
    predictions = workspace.store.predictions.read(workspace.store.test_set("val"), "part")
    scores = np.asarray(predictions.full_scores, dtype=float)[covered]
    labels = workspace.store.test_set("val").labels[covered]
    brier = ((scores / scores.sum(axis=1, keepdims=True) - np.eye(10)[labels]) ** 2).sum(axis=1).mean()
    assert grade["part"].values["brier"].n == PART
    assert grade["part"].values["brier"].value == pytest.approx(brier, abs=2e-3)


def test_compare_names_a_partial_model_on_its_images(workspace):
    comparison = workspace.compare("val", ["m0", "part"])
    assert comparison.basis.images == PART
    assert NOTE in comparison.table().notes


def test_gate_of_a_partial_candidate_is_not_passed_without_a_rule_on_coverage(workspace):
    result = workspace.gate("part", test_sets=["val"], baseline="m0", margin=0.2)
    assert not result.passed
    assert any("coverage" in row.rule for row in result.rows)


def test_confusion_refuses_partial_members(workspace):
    with pytest.raises(InputError, match="part has predictions on 24 of 60 images"):
        workspace.study.confusion("val", members=["m0", "part"])


def test_report_of_a_workspace_with_a_partial_model_states_the_coverage(workspace, folder):
    written = workspace.report("partial", labels=["own@1"])
    page = (folder / "W2" / "reports" / "partial" / "index.html").read_text()
    assert NOTE in page
    assert not [section.trouble for section in written.report.sections if section.trouble]


def test_every_table_of_a_report_with_a_partial_model_states_the_coverage(workspace):
    """Those of studies, and the overview of all test sets."""
    report = workspace.report("tables", labels=["own@1"]).report
    tables = {section.anchor: table for section in report.sections for table in section.tables}
    naming = {anchor for anchor, table in tables.items() if any("part" in row for row in table.rows)}
    assert {"overview", "grade-val-against-own-1"} <= naming
    assert [anchor for anchor in sorted(naming) if NOTE not in tables[anchor].notes] == []
