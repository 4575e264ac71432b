"""Household objects labeled in their own classes, with predictions of ImageNet classes that differ by region."""

from pathlib import Path

import numpy as np

import regrade
from regrade.classes import imagenet_1k
from regrade.core import ClassMap, ClassSpace, MapRule, TestSet
from regrade.workspace import Workspace

ACCEPTED = {
    "stove": ("stove", "microwave"),
    "bag": ("backpack", "purse", "mailbag"),
    "pot": ("Dutch oven", "wok", "frying pan"),
    "lamp": ("table lamp", "lampshade"),
    "chair": ("rocking chair", "folding chair"),
    "spices": (),
}
REGIONS = ("Africa", "Americas", "Europe")
ELSEWHERE = "bucket"
"""What is predicted where nothing is accepted."""


def predicted_space() -> ClassSpace:
    """ImageNet's classes of the maps, some of their siblings, and one that is no sibling."""
    full = imagenet_1k()
    names = [name for entry in ACCEPTED.values() for name in entry]
    return full.subset(
        "objects", sorted(full.resolve(name) for name in (*names, ELSEWHERE, "barber chair", "plastic bag"))
    )


def class_map(accepted=ACCEPTED) -> ClassMap:
    """The map from the objects to these classes."""
    source, target = predicted_space(), ClassSpace("household objects", tuple(ACCEPTED))
    sources = tuple(tuple(source.resolve(name) for name in accepted.get(own, ())) for own in target.ids)
    return ClassMap(source, target, sources, MapRule.ANY_IN_TOP_K)


def objects(images: int = 720, household: int = 4) -> TestSet:
    """Images of all objects in every region, in households of one region."""
    labels = np.arange(images) % len(ACCEPTED)
    homes = np.arange(images) // household
    columns = {
        "region": tuple(REGIONS[home % 3] for home in homes),
        "household": tuple(f"home {home}" for home in homes),
    }
    ids = tuple(f"{place:04}.jpg" for place in range(images))
    return TestSet("objects", class_map().target, ids, labels.astype(np.int32), columns)


def predicted_classes(
    test_set: TestSet, skill: float, rng: np.random.Generator, *, second=(0.1, 0.2, 0.5)
) -> np.ndarray:
    """Best predictions (n,): the first accepted class, or, by region with these probabilities, one of the others."""
    mapping, elsewhere = class_map(), predicted_space().resolve(ELSEWHERE)
    region = np.array([REGIONS.index(name) for name in test_set.group_columns["region"]])
    right, later = rng.random(len(test_set)) < skill, rng.random(len(test_set)) < np.array(second)[region]
    classes = []
    for label, is_right, is_later in zip(test_set.labels, right, later, strict=True):
        entry = mapping.sources[label]
        classes.append(entry[int(is_later) and len(entry) - 1] if entry and is_right else elsewhere)
    return np.array(classes, dtype=np.int32)


def write_map(path: Path, accepted) -> Path:
    """A map as a CSV file, every object listed."""
    names = {own: accepted.get(own, ()) or ("",) for own in ACCEPTED}
    space = predicted_space()
    ids = {name: space.ids[space.resolve(name)] if name else "" for entry in names.values() for name in entry}
    rows = [f"{own},{ids[name]}" for own, entry in names.items() for name in entry]
    path.write_text("\n".join(["target,source", *rows]) + "\n")
    return path


def make_workspace(folder: Path) -> Workspace:
    """A workspace with the objects, their stored map and two models."""
    workspace, test_set, rng = regrade.init(folder), objects(), np.random.default_rng(3)
    workspace.store.add_test_set(test_set, class_map=class_map())
    space = predicted_space()
    for model, skill in (("strong", 0.85), ("weak", 0.6)):
        scores = np.full((len(test_set), len(space)), 0.01)
        scores[np.arange(len(test_set)), predicted_classes(test_set, skill, rng)] = 1.0
        workspace.models.import_predictions(scores, model=model, test_set="objects", classes=space, kind="scores")
    return workspace
