"""regrade train head: fit a new last layer on stored embeddings, and grade it as any other model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from regrade.models import Device
from regrade.store import Store
from regrade.studies.study import Parts, Study, StudyOptions, class_map_option, option
from regrade.train.head.result import HeadPart, TrainedHead
from regrade.train.head.splits import Balance
from regrade.train.steps.ensemble import parse_seeds

PENALTIES = (1.0, 0.1, 0.01, 0.001, 0.0001)
"""The penalties that are tried by default, from strong to weak."""


class HeadSolver(Enum):
    """How the objective is minimized."""

    LBFGS = "lbfgs"
    """All images in every step, until the gradient is small."""
    ADAM = "adam"
    """Batches of images, for a number of epochs."""


def _seeds(texts: Sequence[str]) -> tuple[int, ...]:
    return parse_seeds(texts) if texts else ()


@dataclass(frozen=True)
class HeadOptions(StudyOptions):
    """The base model, the training set, the sets that are graded, and how the head is fitted."""

    name: str = option("Name of the head.", is_argument=True, metavar="NAME")
    on: str = option("Training set: any stored test set with labels.", metavar="SET")
    model: str = option(
        "Base model, with stored embeddings on all sets; a training, or a pattern with * for its seeds, gives one head "
        "per seed.",
        metavar="BASE",
    )
    test_sets: Sequence[str] = option(
        "Set that is predicted and graded; the training set is predicted out of fold. May be repeated.",
        (),
        names=("--test-set", "-t"),
    )
    original: str | None = option(
        "Set with the base model's classes, graded before and after (default: one with stored embeddings).",
        None,
        metavar="SET",
    )
    keep_classes: bool = option(
        "Keep the base model's classes and add to its logits (default: a new layer for the training set's classes).",
        False,
    )
    balance: Balance = option("Give every class, or every group of --by, the same total weight.", Balance.NONE)
    by: str | None = option("Column with the group of each image.", None, metavar="COLUMN")
    clusters: str | None = option(
        "Column of the sampling clusters (default: household, if there is such a column).", None, metavar="COLUMN"
    )
    folds: int = option("Number of parts for predictions out of fold and for the choice of L2.", 5, minimum=2)
    l2: Sequence[float] = option(
        f"L2 penalty; of several, one is chosen on a part held out. May be repeated (default: "
        f"{', '.join(f'{l2:g}' for l2 in PENALTIES)}).",
        PENALTIES,
        positive=True,
        kind=list[float],
        parse=lambda values: tuple(values) or PENALTIES,
    )
    solver: HeadSolver = option("Solver: lbfgs or adam.", HeadSolver.LBFGS)
    tolerance: float = option(
        "lbfgs stops when the gradient is this small compared with that at zero.", 1e-5, positive=True
    )
    epochs: int = option("Epochs of adam.", 100, minimum=1)
    batch: int = option("Images per batch of adam.", 256, minimum=1)
    learning_rate: float = option("Learning rate of adam.", 1e-4, positive=True)
    seeds: Sequence[int] = option(
        "Seed of the folds and of adam's batches; one head each. May be repeated (default: 0).",
        (),
        names=("--seed", "--seeds"),
        kind=list[str],
        parse=_seeds,
    )
    class_map: str | Path | None = class_map_option("--map")
    device: Device = option("Device: cpu or cuda.", Device.CPU)
    allow_shared: bool = option("Allow sets that share images or clusters with the training set.", False)


def run(store: Store, options: HeadOptions) -> TrainedHead:
    """Fit a new last layer on the stored embeddings of ``model`` on the set ``on``, and store its predictions.

    The head is a model, ``head:NAME/seed-0``. It is graded on the test sets and on the original set, before and after,
    on the same images. Predictions on the training set itself are out of fold. Heads that are stored are not fitted
    again; test sets may be added.
    """
    from regrade.models.torch_runtime import require_torch

    require_torch("regrade train", "torch")
    from regrade.train.head.training import HeadTraining

    return HeadTraining(store, options).run()


TRAIN_HEAD = Study(
    name="head",
    question="Does a new last layer help?",
    summary="Fit a new last layer on stored embeddings, and grade it before and after.",
    options=HeadOptions,
    result=TrainedHead,
    run=run,
    parts=Parts(HeadPart, "Table to print."),
    head=200,
)
