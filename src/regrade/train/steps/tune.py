"""regrade train tune: hyperparameters chosen on a new test set, by halves that test each other's choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from regrade.core import Estimate, InputError
from regrade.core.arrays import BoolArray, IntArray
from regrade.store import Store
from regrade.studies.image_clusters import cluster_column
from regrade.studies.study import Study, option
from regrade.train.added_set import check_new_set
from regrade.train.folds import check_folds, fold_clusters, stratified_folds
from regrade.train.grid import parse_grid
from regrade.train.member_predictions import MemberPredictions, PredictedImages
from regrade.train.plan import TrainingPlan
from regrade.train.steps.ensemble import (
    EnsembleOptions,
    begin,
    chosen_sets,
    planned,
    refuse_epoch_options,
    train_part,
)
from regrade.train.tuning import ChosenPoints, chosen_points, cross_fitted, seeded_accuracy
from regrade.train.tuning_result import GridPoint, TunedEnsemble


@dataclass(frozen=True)
class TuneOptions(EnsembleOptions):
    """The options of an ensemble, the grid of hyperparameters, and the test set that chooses among its points."""

    new: str | None = option(
        "Test set that chooses the hyperparameters; one of --test-set. Required.", None, metavar="SET"
    )
    grid: Sequence[str] = option(
        "Values of a hyperparameter, such as learning-rate=0.05,0.1. May be repeated; all combinations are trained.",
        (),
        metavar="NAME=VALUES",
    )
    clusters: str | None = option(
        "Column of --new: its groups of images stay in one half (default: household, if there is such a column).",
        None,
        metavar="COLUMN",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.new is None or not self.grid:
            raise InputError("--new and --grid are required: the test set to tune on, and the values to choose from")
        refuse_epoch_options(self, "regrade train tune")


@dataclass(frozen=True, eq=False)
class _Tuning:
    """The points of a grid as plans, the halves (n,) of the new set and the clusters (n,) of its images, if any."""

    predictions: MemberPredictions
    seeds: tuple[int, ...]
    points: tuple[TrainingPlan, ...]
    new: str
    halves: IntArray
    clusters: IntArray | None

    def right(self) -> BoolArray:
        """Shape (p, k, n): the correctness of every point with every seed on the new set."""
        labels = self.predictions.data.sets[self.new].labels
        predicted = [
            [self.predictions.scores(seed, point, self.new).argmax(axis=1) for seed in self.seeds]
            for point in self.points
        ]
        correct: BoolArray = np.array(predicted) == labels
        return correct

    def store(self, chosen: ChosenPoints) -> None:
        """Store the predictions of every member."""
        for place, seed in enumerate(self.seeds):
            rest = self.points[chosen.for_rest[place]]
            predicted = {name: [PredictedImages(rest)] for name in self.predictions.plan.test_sets}
            predicted[self.new] = [
                PredictedImages(self.points[chosen.for_halves[place, half]], np.flatnonzero(self.halves == half))
                for half in range(2)
            ]
            self.predictions.add(seed, predicted)

    def accuracy(self, test_set: str, chosen: ChosenPoints, confidence: float) -> Estimate | None:
        """The accuracy of the chosen points on another set; None if fewer than two images have labels."""
        labels = self.predictions.data.sets[test_set].labels
        if (labels >= 0).sum() < 2:
            return None
        points = [self.points[place] for place in chosen.for_rest]
        predicted = [
            self.predictions.scores(seed, point, test_set).argmax(axis=1)
            for seed, point in zip(self.seeds, points, strict=True)
        ]
        return seeded_accuracy((np.array(predicted) == labels)[:, labels >= 0], confidence=confidence)


def run(store: Store, options: TuneOptions) -> TunedEnsemble:
    """Train every point of a grid of hyperparameters with every seed, and choose among them on the test set ``new``.

    The images of one half are predicted by the point with the best mean accuracy on the other half (two-fold
    cross-fitting), for each seed over the other seeds. Other test sets are predicted by the best point of the whole
    set. The members are stored as predictions of ``trained:NAME/seed-0``, and so on; a stopped run goes on where it
    was.
    """
    sets = chosen_sets(store, options)
    assert options.new is not None
    new = check_new_set(options.new, sets.training_set.name, sets.by_name, written="--new")
    column = cluster_column(new, options.clusters)
    grid = replace(parse_grid(options.grid), tuned_on=new.name, clusters=column, seeds=sets.seeds)
    settings = grid.settings(options.hyperparameters())
    plan, data = planned(store, options, sets)
    plan = replace(plan, grid=grid)
    clusters = fold_clusters(new, column, data.sets[new.name].hashes)
    check_folds(new, clusters, 2, written="two halves")
    points = tuple(
        replace(plan, hyperparameters=own, every=own.epochs, point=number) for number, own in enumerate(settings)
    )
    begin(store, plan, sets.seeds, points[0])
    trained = [train_part(store, options, point, data) for point in points]
    tuning = _Tuning(
        MemberPredictions(store, plan, data, options.device),
        sets.seeds,
        points,
        new.name,
        stratified_folds(new.labels, clusters, folds=2, seed=0),
        clusters if int(clusters.max()) + 1 < len(clusters) else None,
    )
    return _result(tuning, sum(curves.new_epochs for curves in trained))


def _result(tuning: _Tuning, new_epochs: int) -> TunedEnsemble:
    """Choose, store the predictions, and estimate accuracies."""
    plan, data = tuning.predictions.plan, tuning.predictions.data
    assert plan.grid is not None
    confidence = tuning.predictions.store.config.confidence
    right = tuning.right()
    chosen = chosen_points(right, tuning.halves)
    tuning.store(chosen)
    fitted = cross_fitted(right, tuning.halves, chosen)
    accuracies = {
        name: seeded_accuracy(fitted, tuning.clusters, confidence=confidence)
        if name == tuning.new
        else tuning.accuracy(name, chosen, confidence)
        for name in plan.test_sets
    }
    points = tuple(_point(tuning, number, right[number], chosen, confidence) for number in range(len(plan.grid.points)))
    return TunedEnsemble(
        plan.name,
        plan.network.architecture,
        data.training_set,
        len(data.sets[data.training_set].labels),
        tuning.new,
        tuning.seeds,
        points,
        accuracies,
        new_epochs,
        confidence,
    )


def _point(tuning: _Tuning, number: int, right: BoolArray, chosen: ChosenPoints, confidence: float) -> GridPoint:
    """The row of a point, from its correctness (k, n) on the new set."""
    grid = tuning.predictions.plan.grid
    assert grid is not None
    parts = (tuning.halves == 0, tuning.halves == 1, tuning.halves >= 0)
    first, second, both = (
        seeded_accuracy(
            right[:, inside], None if tuning.clusters is None else tuning.clusters[inside], confidence=confidence
        )
        for inside in parts
    )
    counts = [int((places == number).sum()) for places in (*chosen.for_halves.T, chosen.for_rest)]
    return GridPoint(grid.points[number], first, second, both, *counts)


TRAIN_TUNE = Study(
    name="tune",
    question="Does it help to tune hyperparameters on a new test set?",
    summary="Train a grid of hyperparameters, and choose on one half of a new test set for the other half.",
    options=TuneOptions,
    result=TunedEnsemble,
    run=run,
)
