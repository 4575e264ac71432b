"""A small build in a workspace: two classes of images without pixels, and simulated workers."""

import csv

import numpy as np
import pytest

import regrade
from regrade.build.crowd import Care, crowd, simulate_answers
from regrade.build.exchange import tile_name
from regrade.build.files import TaskCollection
from regrade.core import ClassSpace
from regrade.tables import Columns

CLASSES = ("cat", "dog")


def add_set(workspace, path, name, size, columns):
    """A test set of ``size`` images per class, with group columns given as functions of the number of an image."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "label", *columns])
        for label in CLASSES:
            for number in range(size):
                values = [value(number) for value in columns.values()]
                writer.writerow([f"{name}-{label}-{number:03}", label, *values])
    space = ClassSpace("pets", CLASSES, CLASSES)
    return workspace.testsets.add(name, path, classes=space, columns=Columns(groups=tuple(columns)))


def write_answers(path, assignments, stored):
    """Answers as a crowd platform would return them."""
    task_of, key = {task.id: task for task in stored.tasks}, stored.digest
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["task", "worker", "selected", "seconds"])
        for row in assignments:
            names = [tile_name(task_of[row.task], image, key=key) for image in sorted(row.selected)]
            writer.writerow([row.task, row.worker, " ".join(names), 30])
    return path


@pytest.fixture
def workspace(tmp_path):
    """A workspace with a pool of 90 and a reference set of 60 images per class, and a model that errs on some."""
    workspace = regrade.init(tmp_path / "W")
    add_set(workspace, tmp_path / "pool.csv", "pool", 90, {"keyword": lambda i: ("pup", "hound")[i % 2]})
    add_set(workspace, tmp_path / "reference.csv", "reference", 60, {"keyword": lambda i: ("pup", "hound")[i % 3 > 0]})
    labels = workspace.store.test_set("reference").labels
    predicted = np.where(np.arange(len(labels)) % 6 == 0, 1 - labels, labels)
    workspace.models.add_predictions("model", np.eye(2)[predicted], test_set="reference")
    return workspace


@pytest.fixture
def answered(workspace, tmp_path):
    """The same workspace with the build ``new``, answered by 15 workers, two of them adversarial."""
    workspace.build.tasks("new", "pool", "reference", confused_by="model")
    stored = TaskCollection(workspace.store.root).read("new")
    tasks = stored.tasks
    rng = np.random.default_rng(0)
    chances = {}
    for task in tasks:
        for tile in task.tiles:
            frequency = rng.beta(4, 1) if tile.role.value == "positive" else rng.beta(2, 1)
            chances.setdefault((tile.image, task.class_id), 0.03 if tile.role.value == "negative" else frequency)
    workers = crowd(15, {Care.ADVERSARIAL: 0.14})
    assignments = simulate_answers(tasks, chances, workers, workers_per_task=12, seed=1)
    workspace.build.answers("new", write_answers(tmp_path / "answers.csv", assignments, stored))
    return workspace
