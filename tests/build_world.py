"""A small build with images: three classes, a pool of 40 candidates each, 24 references each, and a simulated crowd."""

import csv
import io
from pathlib import Path

import numpy as np
from PIL import Image

import regrade
from regrade.build.crowd import SimulatedWorker, simulate_answers
from regrade.build.files import AnswerBatch, AnswerCollection, BuildTasks, TaskCollection
from regrade.build.steps.tasks import images_by_class
from regrade.build.tasks import TaskOptions, make_tasks
from regrade.core import ClassSpace
from regrade.tables import Columns

SPACE = ClassSpace("three", ("n01", "n02", "n03"), ("cat", "dog", "eared owl"))
CANDIDATES, REFERENCES = 40, 24
NEGATIVES = {"n01": "n02", "n02": "n03", "n03": "n01"}
TASKS = TaskOptions(tiles=24, positives=3, negatives=3, workers=10, annotated_references=20, seed=3)
WORKERS = tuple(
    f"{name} Quistgaard" for name in ("Ada", "Bo", "Cy", "Di", "Ed", "Flo", "Gus", "Hal", "Ida", "Jo", "Kai")
)
GROUPS = ("source_id", "author", "license", "keyword")


def png(seed: int) -> bytes:
    """A small image of random pixels."""
    file = io.BytesIO()
    pixels = np.random.default_rng(seed).integers(0, 256, (6, 8, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


def write_images(folder: Path, name: str, per_class: int, first_seed: int) -> Path:
    """Images with a manifest that has group columns; the license of every fifth image is unknown."""
    (folder / name).mkdir(parents=True)
    with (folder / f"{name}.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["path", "id", "label", *GROUPS])
        for number in range(per_class * len(SPACE)):
            path, label = f"{name}/{number:03}.png", SPACE.ids[number % len(SPACE)]
            (folder / path).write_bytes(png(first_seed + number))
            license_name = "unknown" if number % 5 == 0 else ("CC BY 4.0", "CC0")[number % 2]
            keyword = ("kitten", "puppy")[number // 3 % 2]
            writer.writerow(
                [path, f"{name}-{number:03}", label, f"flickr-{number}", f"author, {number % 7}", license_name, keyword]
            )
    return folder / f"{name}.csv"


def make_build(root: Path) -> regrade.Workspace:
    """A workspace with the test sets pool and reference, and the build ``new`` with tasks and answers."""
    workspace = regrade.init(root / "W")
    for name, per_class, seed in (("pool", CANDIDATES, 0), ("reference", REFERENCES, 1000)):
        manifest = write_images(root, name, per_class, seed)
        workspace.testsets.add(name, manifest, classes=SPACE, columns=Columns(groups=GROUPS))
    store = workspace.store
    pool, reference = store.test_set("pool"), store.test_set("reference")
    plan = make_tasks(images_by_class(pool), images_by_class(reference), NEGATIVES, TASKS)
    assert not plan.problems
    build_tasks = BuildTasks("new", "pool", pool.digest, "reference", reference.digest, TASKS, plan.tasks)
    TaskCollection(store.root).add(build_tasks, None)
    answers = simulate_answers(
        plan.tasks, chances(plan.tasks), [SimulatedWorker(name) for name in WORKERS], workers_per_task=10, seed=5
    )
    AnswerCollection(store.root).add(AnswerBatch("new", tuple(answers), "Quistgaard.csv"), None)
    return workspace


def chances(tasks):
    """The probability that a worker selects each image: high for references, wide for candidates."""
    generator = np.random.default_rng(8)
    probabilities = {}
    for task in tasks:
        for tile in task.tiles:
            low, high = {"candidate": (0.2, 1.0), "positive": (0.5, 1.0), "negative": (0.0, 0.1)}[tile.role.value]
            probabilities.setdefault((tile.image, task.class_id), generator.uniform(low, high))
    return probabilities
