"""Commands that change several files of a workspace, to be killed at every step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from PIL import Image

import regrade
from benchmarks.fault_world import CLASSES, IMAGES
from regrade.workspace import Workspace

Scenario = Callable[[Workspace, Path], object]


def write_inputs(folder: Path) -> None:
    """Write the files that the scenarios import."""
    ids = [f"{number:03}.png" for number in range(IMAGES)]
    rng = np.random.default_rng(11)
    guesses = rng.integers(len(CLASSES), size=(IMAGES, 3))
    models = ["image,label,m1,m2,m3"]
    models += [f"y{number},ball," + ",".join(CLASSES[guess] for guess in row) for number, row in enumerate(guesses)]
    people = ["image,class,person"]
    people += [
        f"{image},{CLASSES[number % 5]},{person}" for person in ("Ben", "Cleo") for number, image in enumerate(ids)
    ]
    labels = ["image,class", *(f"{image},{CLASSES[(number + 1) % 5]}" for number, image in enumerate(ids))]
    for name, lines in {"models.csv": models, "people.csv": people, "labels.csv": labels}.items():
        (folder / name).write_text("\n".join(lines) + "\n")
    np.save(folder / "epochs.npy", rng.normal(size=(2, 2, IMAGES, len(CLASSES))))
    for number in range(4):
        place = folder / "more" / CLASSES[number]
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 255, (16, 16, 3)).astype(np.uint8)).save(place / f"m{number}.png")


SCENARIOS: Mapping[str, Scenario] = {
    "import predictions of several models": lambda workspace, folder: workspace.models.import_predictions(
        folder / "models.csv", test_set="more models", classes="toys"
    ),
    "import people": lambda workspace, folder: workspace.models.import_people(folder / "people.csv", test_set="shelf"),
    "import labels as a new version": lambda workspace, folder: workspace.labels.import_file(
        folder / "labels.csv", test_set="shelf", name="own", new_version=True
    ),
    "import checkpoints": lambda workspace, folder: workspace.models.import_checkpoints(
        folder / "epochs.npy", test_set="shelf", ensemble="other", kind="logits"
    ),
    "testsets add": lambda workspace, folder: workspace.testsets.add("more", folder / "more", classes="toys"),
    "testsets corrupt": lambda workspace, _: workspace.testsets.corrupt(
        "shelf", name="foggy", corruptions=["fog"], severities=[1]
    ),
    "study confusion --write": lambda workspace, _: workspace.testsets.keep_hard_set(
        workspace.study.confusion("shelf", ensembles=["net"], hardest=5), "hard"
    ),
    "labels sample": lambda workspace, _: workspace.labels.draw_sample("shelf", labels="own", size=3),
    "review publish of people": lambda workspace, _: workspace.review.publish("exam"),
    "review publish of mistakes": lambda workspace, _: workspace.review.publish("mistakes"),
    "review publish of labels": lambda workspace, _: workspace.review.publish("novel"),
}
"""Operations that change several files or replace one, by command."""


def run_scenario(name: str, root: Path, folder: Path) -> None:
    """Run a scenario on the workspace at a path."""
    SCENARIOS[name](regrade.open(root), folder)
