"""The strategies of ImageNetV2 on real data: CIFAR-10, answers as people gave them, and 30 published models."""

import csv

import numpy as np
import pyarrow.parquet as pq
import pytest

import regrade
from regrade.build.check_report import CheckPart
from regrade.build.crowd import crowd, simulate_answers
from regrade.build.files import AnswerBatch, AnswerCollection, BuildTasks, TaskCollection
from regrade.build.steps.tasks import images_by_class
from regrade.build.tasks import TaskOptions, make_tasks

TASKS = TaskOptions(tiles=48, positives=12, negatives=0, workers=20, annotated_references=100, seed=1)
PER_CLASS = 300


def add_half(workspace, name, positions, labels, predicted):
    """Half of the test images as a test set without pixels, with the predictions of all models."""
    path = workspace.store.root.parent / f"{name}.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "label"])
        writer.writerows([str(position), labels[position]] for position in positions.tolist())
    workspace.testsets.add(name, path, classes="cifar-10")
    for model in predicted.column_names:
        classes = predicted[model].to_numpy()[positions]
        workspace.models.add_predictions(model, np.eye(10)[classes], test_set=name)


@pytest.fixture(scope="module")
def result(published, tmp_path_factory):
    """Half of the images as reference set, half as pool; each person's chance to select is the share of CIFAR-10H."""
    folder = tmp_path_factory.mktemp("cifar10")
    counts = pq.read_table(published / "cifar10" / "human-counts.parquet").drop_columns(["index"])
    named = np.stack([column.to_numpy() for column in counts.columns], axis=1).astype(float)
    labels = pq.read_table(published / "cifar10" / "test.parquet", columns=["label"])["label"].to_numpy()
    models = pq.read_table(published / "recht2019" / "cifar10.test.top1.parquet").drop_columns(["index", "label"])
    share = named[np.arange(len(labels)), labels] / named.sum(axis=1)
    order = np.random.default_rng(0).permutation(len(labels))
    workspace = regrade.init(folder / "W")
    for name, positions in (("reference", order[:5000]), ("pool", order[5000:])):
        add_half(workspace, name, np.sort(positions), labels, models)
    store = workspace.store
    pool, reference = store.test_set("pool"), store.test_set("reference")
    plan = make_tasks(images_by_class(pool), images_by_class(reference), {}, TASKS)
    build = BuildTasks("new", "pool", pool.digest, "reference", reference.digest, TASKS, plan.tasks)
    TaskCollection(store.root).add(build, None)
    chances = {(tile.image, task.class_id): share[int(tile.image)] for task in plan.tasks for tile in task.tiles}
    answers = simulate_answers(plan.tasks, chances, crowd(40, {}), workers_per_task=20, seed=2)
    AnswerCollection(store.root).add(AnswerBatch("new", tuple(answers), "people.csv"), None)
    workspace.build.sample("new", "matched-frequency", per_class=PER_CLASS)
    return workspace.build.check("new")


def test_strategies_are_in_the_order_of_the_paper(result):
    """Table 2 of Recht et al. 2019: top above threshold 0.7 above matched frequencies."""
    rows = {row.name: row for row in result.strategies}
    assert len(result.models) == 30
    assert {row.images for name, row in rows.items() if name != "reference"} == {10 * PER_CLASS}
    top, threshold, matched = (rows[name] for name in ("top", "threshold 0.7", "matched-frequency"))
    assert top.accuracy.value > threshold.accuracy.value > matched.accuracy.value
    assert top.frequency > threshold.frequency > matched.frequency
    assert top.change.low > 0  # significantly easier than the reference set
    assert top.difference.low > 0


def test_halves_of_one_set_do_not_differ_where_they_should_not(result):
    """The pool is as hard as the reference set, so a matched set differs little, and noise is no issue."""
    rows = {row.name: row for row in result.strategies}
    for name in ("matched-frequency", "matched-frequency --debias"):
        change = rows[name].change
        assert change.low < 0.01 and change.high > -0.01
    outcomes = {check.subject: check.outcome.value for check in result.checks}
    assert outcomes["selection noise"] == outcomes["class balance"] == outcomes["follows from the answers"] == "passed"
    assert outcomes["ids of reference"] == "passed"


def test_accuracy_grows_with_the_selection_frequency(result):
    best = max(result.models, key=lambda model: max(r.drawn.value for r in result.bins if r.model == model and r.drawn))
    drawn = [row.drawn for row in result.bins if row.model == best and row.drawn is not None]
    assert drawn[-1].value > drawn[0].value
    assert len(result.part(CheckPart.BINS).rows) == len(result.bins)
