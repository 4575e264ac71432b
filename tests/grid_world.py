"""A build with drawn shapes for tests of grids: three classes, two tasks of 48 images each, and people who select."""

import itertools
import math
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

import regrade
from regrade.build.files import BuildTasks, TaskCollection
from regrade.build.grid_work import GridWork
from regrade.build.steps.tasks import images_by_class
from regrade.build.tasks import GridTask, TaskOptions, TileRole, make_tasks
from regrade.core import ClassSpace, ImageSource, TestSet
from regrade.ledger import Person, Role
from regrade.workspace import Workspace

SHAPES = ("circle", "star", "triangle")
SPACE = ClassSpace("shapes", ("s1", "s2", "s3"), SHAPES)
SIMILAR = {"s1": "s2", "s2": "s3", "s3": "s1"}
CANDIDATES, REFERENCES = 84, 40
OPTIONS = TaskOptions(workers=2, annotated_references=0, seed=1)
_keys = itertools.count()


def drawn(shape: str, seed: int, size: tuple[int, int]) -> Image.Image:
    """A shape in random colors, place and size, before a gradient and some lines."""
    rng = np.random.default_rng(seed)
    top, bottom, color = (rng.integers(low, high, 3) for low, high in ((150, 255), (90, 200), (0, 140)))
    rows = np.linspace(0, 1, size[1])[:, None, None]
    pixels = np.broadcast_to(top * (1 - rows) + bottom * rows, (size[1], size[0], 3)).astype(np.uint8)
    image = Image.fromarray(np.ascontiguousarray(pixels))
    pen = ImageDraw.Draw(image)
    for _ in range(4):
        ends = [tuple(int(v) for v in rng.integers(0, size)) for _ in range(2)]
        pen.line(ends, fill=tuple(int(v) for v in rng.integers(80, 220, 3)), width=max(1, size[0] // 60))
    radius = min(size) * rng.uniform(0.2, 0.36)
    x, y = (rng.uniform(radius, side - radius) for side in size)
    fill = tuple(int(v) for v in color)
    if shape == "circle":
        pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=fill)
    else:
        pen.polygon(_corners(shape, x, y, radius, rng.uniform(-0.4, 0.4)), fill=fill)
    return image


def _corners(shape, x, y, radius, turn):
    count = {"star": 10, "triangle": 3}[shape]
    radii = [radius * (0.45 if shape == "star" and n % 2 else 1.0) for n in range(count)]
    angles = [turn - math.pi / 2 + 2 * math.pi * n / count for n in range(count)]
    return [(x + r * math.cos(angle), y + r * math.sin(angle)) for r, angle in zip(radii, angles, strict=True)]


def add_shapes(workspace: Workspace, name: str, per_class: int, *, seed: int, wrong: float, side: int) -> TestSet:
    """A test set of drawn shapes; a share of ``wrong`` images shows another shape than its label."""
    folder = workspace.store.root.parent / name
    folder.mkdir()
    rng, ids, labels = np.random.default_rng(seed), [], []
    for number, label in itertools.product(range(per_class), range(len(SHAPES))):
        shape = SHAPES[(label + 1) % 3] if rng.random() < wrong else SHAPES[label]
        ids.append(f"{name}-{number:03}-{label}.png")
        labels.append(label)
        size = ((side, side * 3 // 4), (side, side), (side * 3 // 4, side))[number % 3]
        drawn(shape, seed + 3 * number + label, size).save(folder / ids[-1])
    test_set = TestSet(name, SPACE, tuple(ids), np.array(labels, dtype=np.int32))
    workspace.store.add_images(test_set, ImageSource("folder", str(folder), tuple(ids)))
    return test_set


def make_grids(root: Path, *, side: int = 96, options: TaskOptions = OPTIONS) -> Workspace:
    """A workspace with the build ``shapes``, an owner, and two workers."""
    workspace = regrade.init(root / "W")
    pool = add_shapes(workspace, "pool", CANDIDATES, seed=1000, wrong=0.3, side=side)
    reference = add_shapes(workspace, "reference", REFERENCES, seed=9000, wrong=0.0, side=side)
    plan = make_tasks(images_by_class(pool), images_by_class(reference), SIMILAR, options)
    assert not plan.problems
    stored = BuildTasks("shapes", "pool", pool.digest, "reference", reference.digest, options, plan.tasks)
    TaskCollection(workspace.store.root).add(stored, None)
    workspace.ledger.people.add("Olga", Role.OWNER)
    workspace.ledger.people.add("Rita", Role.REVIEWER)
    workspace.ledger.workers.add(2)
    return workspace


def work_of(workspace: Workspace) -> GridWork:
    """The grids of the build, as stored now."""
    return GridWork.load(workspace.store, workspace.ledger, "shapes")


def person(workspace: Workspace, name: str) -> Person:
    """A person by name."""
    return workspace.ledger.people.named(name)


def careful(task: GridTask, *, wrong: int = 0) -> str:
    """The answer of a worker who selects the positive controls and every candidate, with some wrong controls."""
    digits, left = [], wrong
    for tile in task.tiles:
        right = "0" if tile.role is TileRole.NEGATIVE else "1"
        if tile.role is not TileRole.CANDIDATE and left:
            right, left = "01"[right == "0"], left - 1
        digits.append(right)
    return "".join(digits)


def answer_next(work: GridWork, worker: Person, *, wrong: int = 0):
    """Answer a worker's next task with some wrong controls; returns the task and the outcome."""
    step = work.next_step(worker)
    assert step.item is not None and step.task is not None, step.step
    key = f"grid-key-{next(_keys)}"
    answer = careful(step.task, wrong=wrong)
    return step.task, work.submit(worker, step.item.id, key=key, answer=answer, seconds=20.0)
