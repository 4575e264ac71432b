"""A small workspace with data for every chapter of a report."""

import csv
from pathlib import Path

import numpy as np
from PIL import Image

import regrade
from regrade.core import TestSet
from regrade.workspace import Workspace

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
HOSTILE = "<img src=x onerror=alert(1)>\"'</script><script>alert(2)</script>"
SKILLS = {"good": 0.9, "alike": 0.9, "fair": 0.8, "poor": 0.6, "worst": 0.4, HOSTILE: 0.7}
IMAGES = 120


def make_world(folder: Path, *, images: int = IMAGES, extra: int = 0) -> Workspace:
    """Two test sets of images in the same classes, with models, labels, people and slices."""
    workspace = regrade.init(folder / "W")
    rng = np.random.default_rng(7)
    for name, harder in (("old", 0.0), ("new", 0.15)):
        _add_images(workspace, folder, name, images, rng)
        labels = workspace.store.test_set(name).labels
        skills = {**SKILLS, **{f"extra-{number:02}": 0.3 + 0.6 * number / extra for number in range(extra)}}
        for model, skill in skills.items():
            workspace.models.add_predictions(model, _scores(labels, skill - harder, rng), test_set=name)
    _add_labels(workspace, folder, rng)
    _add_people(workspace, folder, rng)
    _add_slices(workspace, folder)
    return workspace


def add_more(workspace: Workspace, images: int = 200) -> None:
    """Add a third test set with countries and selection frequencies, checkpoints, years, and a search for leakage."""
    rng = np.random.default_rng(3)
    labels, place = np.arange(images) % 10, rng.integers(0, 3, images)
    countries = tuple(("Nigeria", "India", "France")[index] for index in place)
    space, ids = workspace.testsets.class_space("cifar-10"), tuple(f"g{number}" for number in range(images))
    frequencies = tuple(f"{share:.1f}" for share in rng.beta(4, 1, images))
    columns = {"country": countries, "selection_frequency": frequencies}
    workspace.store.add_test_set(TestSet("far", space, ids, labels.astype(np.int32), columns))
    years = workspace.store.root.parent / "years.csv"
    with years.open("w", newline="") as file:
        csv.writer(file).writerows([("model", "year"), *zip(SKILLS, range(2010, 2020), strict=False)])
    workspace.models.describe(years)
    for model, skill in SKILLS.items():
        scores = _scores(labels, skill - np.array([0.3, 0.2, 0.0])[place], rng)
        workspace.models.add_predictions(model, scores, test_set="far")
    old = workspace.store.test_set("old").labels
    epochs = [[_scores(old, skill, rng) for skill in (0.5, 0.7, 0.9)] for _ in range(2)]
    workspace.models.add_checkpoints("small", epochs, test_set="old", kind="probabilities")
    workspace.study.leakage("old", against="new")


def _add_images(workspace: Workspace, folder: Path, name: str, images: int, rng: np.random.Generator) -> None:
    for number in range(images):
        place = folder / name / CLASSES[number % 10]
        place.mkdir(parents=True, exist_ok=True)
        pixels = rng.integers(0, 255, (24, 32, 3)).astype(np.uint8)
        pixels[:, :, number % 3] //= 4
        Image.fromarray(pixels).save(place / f"{number:03}.png")
    workspace.testsets.add(name, folder / name, classes="cifar-10")


def _scores(labels: np.ndarray, skill: float | np.ndarray, rng: np.random.Generator) -> np.ndarray:
    scores = rng.random((len(labels), 10))
    right = rng.random(len(labels)) < skill
    answers = np.where(right, labels, (labels + rng.integers(1, 10, len(labels))) % 10)
    scores[np.arange(len(labels)), answers] += 2
    return scores / scores.sum(axis=1, keepdims=True)


def _add_labels(workspace: Workspace, folder: Path, rng: np.random.Generator) -> None:
    test_set = workspace.store.test_set("old")
    rows = ["image,label"]
    for image, label in zip(test_set.ids, test_set.labels.tolist(), strict=True):
        also = {label, (label + 1) % 10} if rng.random() < 0.4 else {label}
        rows += [f"{image},{CLASSES[class_index]}" for class_index in sorted(also)]
    (folder / "labels.csv").write_text("\n".join(rows) + "\n")
    workspace.labels.import_file(folder / "labels.csv", test_set="old", name="many", complete=True)


def _add_people(workspace: Workspace, folder: Path, rng: np.random.Generator) -> None:
    test_set = workspace.store.test_set("old")
    rows = ["image,class,person"]
    for person in ("Ada", "Ben"):
        for image, label in zip(test_set.ids, test_set.labels.tolist(), strict=True):
            answer = label if rng.random() < 0.95 else (label + 3) % 10
            rows.append(f"{image},{CLASSES[answer]},{person}")
    (folder / "people.csv").write_text("\n".join(rows) + "\n")
    workspace.models.import_people(folder / "people.csv", test_set="old")


def _add_slices(workspace: Workspace, folder: Path) -> None:
    ids = workspace.store.test_set("old").ids
    rows = ["image,light", *(f"{image},{'dark' if number % 3 else 'bright'}" for number, image in enumerate(ids))]
    (folder / "slices.csv").write_text("\n".join(rows) + "\n")
    workspace.testsets.import_slices(folder / "slices.csv", test_set="old", name="scene")
