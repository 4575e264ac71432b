"""At least one figure of every kind that the package can draw, from small data."""

from pathlib import Path

import numpy as np
from build_world import make_build
from class_map_world import make_workspace
from confusion_world import world as confusion_images
from mistake_world import TEST_SET, studied, verdicts
from report_world import HOSTILE, SKILLS
from shift_world import add, embeddings

import regrade
from regrade.build.comparison_figure import comparison_figure
from regrade.build.revision_figure import history_figure, revision_figure
from regrade.core import TestSet
from regrade.display import Figure
from regrade.stats import proportion
from regrade.studies import figure
from regrade.studies.confusion.analysis import FurtherInputs, confusion
from regrade.studies.confusion.bands import Remedy
from regrade.studies.confusion.paper_figures import paper_figures
from regrade.studies.geography.result import Geography
from regrade.studies.geography.world_map import map_figure
from regrade.studies.image_slice import image_slice
from regrade.studies.mistakes.figure_files import mistake_figures
from regrade.train.figure import learning_curves
from regrade.train.member import EpochReport
from regrade.train.result import TrainedEnsemble, TrainedMember
from regrade.workspace import WrittenReport


def every_figure(written: WrittenReport, folder: Path) -> dict[str, Figure]:
    """Figures by name: those of the results of a report with every chapter, and those that no report has."""
    results = [section.result for section in written.report.sections if section.figures]
    drawn = [figure(result) for result in results]
    drawn += [map_figure(result) for result in results if isinstance(result, Geography)]
    drawn += [*_of_studies(written.page.parents[2], folder), *_of_people_and_labels(folder)]
    drawn += [*_of_builds_and_training(folder), *_of_confusion()]
    drawn += mistake_figures(studied(frame=verdicts(), within=image_slice(TEST_SET, "felines"))).values()
    return {f"{number} {figure.name}": figure for number, figure in enumerate(drawn)}


def _of_studies(report_world: Path, folder: Path) -> list[Figure]:
    world = regrade.open(report_world)
    original = world.store.test_set("old").labels
    rng = np.random.default_rng(0)
    eye = np.eye(10)
    models = {f"model {skill}": rng.normal(size=(120, 10)) + skill * eye[original] for skill in (1, 2, 3)}
    pair = regrade.compare(original, dict(list(models.items())[:2]))
    results = [
        world.grade("old", slices=["scene:light=dark", "scene:light=bright"]),
        world.study.remedies(["old", "new"], baseline="poor", remedies=["good", "fair"]),
        world.study.multilabel("old", labels="many"),
        make_workspace(folder / "maps").study.class_map("objects"),
        world.study.similarity("old", models=[name for name in SKILLS if name != HOSTILE]),
        world.study.classes("old"),
        world.study.confidence("old", new=["new"]),
        _shifted(folder).study.shift("old", "moved"),
        pair,
    ]
    return [figure(result) for result in results]


def _shifted(folder: Path) -> regrade.Workspace:
    """Two test sets with embeddings that are told apart."""
    world, place = regrade.init(folder / "shift"), folder / "shift-files"
    place.mkdir()
    for name, shift in (("old", 0.0), ("moved", 2.0)):
        add(world, place, name, embeddings(int(shift), shift=shift))
    return world


def _of_people_and_labels(folder: Path) -> list[Figure]:
    """People on two test sets, and two versions of labels."""
    world, rng = regrade.init(folder / "people"), np.random.default_rng(0)
    space, labels = world.testsets.class_space("cifar-10"), np.arange(80, dtype=np.int32) % 10
    ids, file = tuple(f"i{place}" for place in range(80)), folder / "answers.csv"
    for name in ("first", "second"):
        world.store.add_test_set(TestSet(name, space, ids, labels))
        for skill in (1, 2):
            scores = rng.normal(size=(80, 10)) + skill * np.eye(10)[labels]
            world.models.add_predictions(f"model {skill}", scores, test_set=name)
        rows = [f"{image},{space.ids[label]},Ada" for image, label in zip(ids, labels.tolist(), strict=True)]
        file.write_text("\n".join(["image,class,person", *rows]) + "\n")
        world.models.import_people(file, test_set=name)
    for shift in (0, 1):
        also = [f"{image},{space.ids[(label + shift) % 10]}" for image, label in zip(ids, labels.tolist(), strict=True)]
        file.write_text("\n".join(["image,label", *also]) + "\n")
        world.labels.import_file(file, test_set="first", name="own", complete=True, new_version=bool(shift))
    results = world.study.people(["first", "second"]), world.study.label_change("own@1", "own@2", test_set="first")
    return [figure(result) for result in results]


def _of_builds_and_training(folder: Path) -> list[Figure]:
    compared = make_build(folder / "build").build.compare("pool", "reference")
    epochs = tuple(
        tuple(EpochReport(seed, epoch, 1.0, 2.0 / (epoch + 1), 0.3 + 0.1 * epoch, {"val": (40 + 5 * epoch, 100)})
              for epoch in range(6))
        for seed in range(9)
    )  # fmt: skip
    right = proportion(70, 100)
    members = tuple(TrainedMember(seed, 5, 0.3, right, {"val": right}, 9.0) for seed in range(9))
    trained = TrainedEnsemble("small", "mlp", "train", 1000, ("val",), ("val",), 54, members, epochs)
    return [
        comparison_figure(compared.pool, compared.reference, compared.properties, compared.values),
        revision_figure("pets", {2: 900, 3: 120, 4: 8}, {2: 950, 3: 130, 4: 8}),
        history_figure({"a set": {2: 900, 3: 120}, "another set": {2: 800, 3: 90, 4: 2}}),
        learning_curves(trained),
    ]


def _of_confusion() -> list[Figure]:
    rng = np.random.default_rng(0)
    images, train = confusion_images(300, rng, name="val"), confusion_images(300, rng, name="train")
    models = [images.model(f"m{place}", skill, rng) for place, skill in enumerate((1.0, 2.0, 3.0))]
    ensembles = [images.ensemble(rng, epochs=6), images.ensemble(rng, name="F", seeds=1)]
    further = FurtherInputs([images.scoring], train=train.ensemble(rng, epochs=6), remedy=Remedy("m0", "m2"))
    scored = [(model, images.scoring) for model in models]
    result = confusion(images.test_set, ensembles, scored, rng=rng, own=images.scoring, further=further)
    return list(paper_figures(result).values())
