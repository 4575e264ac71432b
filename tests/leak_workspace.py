"""A workspace for leak tests: every image has a unique class and id, which appear in no page by accident."""

from pathlib import Path

import numpy as np
from PIL import Image

import regrade
from regrade.core import ClassSpace
from regrade.ledger import NewItem, Queue, Role
from regrade.workspace import Workspace

CLASSES = tuple(f"quokka{number}q" for number in range(5))
MODELS = ("modelalpha", "modelbeta")
PERSON = "workerada"
PEOPLE = {"Olga": Role.OWNER, "Rita": Role.REVIEWER, "Rob": Role.REVIEWER, "Leo": Role.LABELER}
NAMES = {"main": "secret{}.png", "hard": "secret{}.png", "copy": "duplicate{}.bmp"}
"""The test sets with the same images, and the file name of an image in each."""

EVERYWHERE = (0, 1, 2)
"""The images that all of these sets contain; ``main`` has two more."""


def write_image(path: Path, seed: int) -> None:
    """Write an image that is unique to the seed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(seed).integers(256, size=(70, 80, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path)


def create_workspace(root: Path) -> Workspace:
    """One image per class in ``main``, three of them in a hard subset and in a renamed copy, ten for reference."""
    workspace = regrade.init(root / "W")
    for number, label in enumerate(CLASSES):
        for test_set, name in NAMES.items():
            if number in EVERYWHERE or test_set == "main":
                write_image(root / test_set / label / name.format(number), number)
        for more in (0, 1):
            write_image(root / "reference" / label / f"ref{number}-{more}.png", 100 + 2 * number + more)
    workspace.store.class_spaces.add(ClassSpace("fauna", CLASSES), None)
    for test_set in (*NAMES, "reference"):
        workspace.testsets.add(test_set, root / test_set, classes="fauna")
        _add_predictions(workspace, root, test_set)
        workspace.study.leakage(test_set, by=["phash"])
    for name, role in PEOPLE.items():
        workspace.ledger.people.add(name, role)
    return workspace


def _add_predictions(workspace: Workspace, root: Path, name: str) -> None:
    """A model that is always right, one that is always wrong, and a label set."""
    target = workspace.store.test_set(name)
    for model, shift in zip(MODELS, (0, 1), strict=True):
        scores = np.eye(len(CLASSES))[(target.labels + shift) % len(CLASSES)] + 0.01
        workspace.models.add_predictions(model, scores / scores.sum(axis=1, keepdims=True), test_set=name)
    rows = [f"{example},{CLASSES[label]}" for example, label in zip(target.ids, target.labels, strict=True)]
    (root / f"{name}.csv").write_text("\n".join(["image,class", *rows]) + "\n")
    workspace.labels.import_file(root / f"{name}.csv", test_set=name, name="multi")


def add_person_rows(workspace: Workspace, folder: Path) -> None:
    """A person who answers every image of ``main`` with the class two after its own."""
    rows = [f"{PERSON},secret{number}.png,{class_after(number, 2)}" for number in range(len(CLASSES))]
    (folder / "people.csv").write_text("\n".join(["person,image,class", *rows]) + "\n")
    workspace.models.import_people(folder / "people.csv", test_set="main")


def class_after(number: int, shift: int) -> str:
    """The class ``shift`` places after that of an image."""
    return CLASSES[(number + shift) % len(CLASSES)]


def ask_about(workspace: Workspace, queue: Queue, *numbers: int, shift: int | None = None) -> None:
    """Add images of ``main`` to a queue; with a shift, as predictions of the class ``shift`` places after their own."""
    classes = ["" if shift is None else class_after(number, shift) for number in numbers]
    workspace.ledger.items.add(
        queue, [NewItem(f"secret{number}.png", label) for number, label in zip(numbers, classes, strict=True)]
    )


def names_of(number: int) -> list[str]:
    """The file names of an image in all test sets that contain it."""
    sets = NAMES if number in EVERYWHERE else ("main",)
    return list(dict.fromkeys(NAMES[test_set].format(number) for test_set in sets))


def explore_address(app, workspace: Workspace, test_set: str, number: int) -> str:
    """The URL of an image in Explore."""
    position = workspace.store.test_set(test_set).position(NAMES[test_set].format(number))
    return app.state.site.images.address(test_set, position)
