"""regrade train groupdro and regrade train upsample: an ensemble whose training pays attention to groups of images."""

from __future__ import annotations

from dataclasses import dataclass

from regrade.core import InputError, TestSet
from regrade.store import Store
from regrade.studies.study import Study, option
from regrade.train.figure import learning_curves
from regrade.train.remedy import GroupRemedy, RemedyKind, TrainingGroups, groups_of_column, groups_of_confusion
from regrade.train.result import TrainedEnsemble
from regrade.train.steps.ensemble import EnsembleOptions, train_ensemble


@dataclass(frozen=True)
class GroupOptions(EnsembleOptions):
    """The options of an ensemble, and where the groups of its training images come from."""

    by: str | None = option("Column of the training set with the group of each image.", None)
    confused_by: str | None = option(
        "Ensemble whose confusion scores of the training images make two groups, easy and hard.", None
    )
    threshold: float | None = option(
        "Confusion score in bits from which an image is hard (default: half of the largest possible score).",
        None,
        positive=True,
    )

    def groups(self, store: Store, training_set: TestSet) -> TrainingGroups:
        """The groups of the training images; raise unless exactly one source is given."""
        if (self.by is None) == (self.confused_by is None):
            raise InputError("give the groups of the training images, either by --by or by --confused-by")
        if self.by is not None:
            if self.threshold is not None:
                raise InputError("--threshold belongs to --confused-by, not to --by")
            return groups_of_column(training_set, self.by)
        assert self.confused_by is not None
        return groups_of_confusion(store, training_set, self.confused_by, self.threshold)


@dataclass(frozen=True)
class GroupDROOptions(GroupOptions):
    """The options of an ensemble, its groups, and how fast their weights change."""

    step_size: float = option("Step size of the weights of groups.", 0.01, positive=True)
    adjustment: float = option("Add this / sqrt(group size) to the losses that change the weights.", 0.0)


def run_groupdro(store: Store, options: GroupDROOptions) -> TrainedEnsemble:
    """Train a network once per seed by GroupDRO: minimize the loss of the worst group (Sagawa et al. 2020).

    Everything else is as in ``ensemble``, so that an ensemble with the same settings is the baseline.
    """

    def remedy(training_set: TestSet) -> GroupRemedy:
        groups = options.groups(store, training_set)
        return GroupRemedy(RemedyKind.GROUPDRO, groups, options.step_size, options.adjustment)

    return train_ensemble(store, options, remedy)


def run_upsample(store: Store, options: GroupOptions) -> TrainedEnsemble:
    """Train a network once per seed on images drawn so that all groups are equally frequent.

    An epoch draws as many images as there are, with replacement, each with a chance in proportion to 1 / size of its
    group. Everything else is as in ``ensemble``.
    """
    return train_ensemble(
        store, options, lambda training_set: GroupRemedy(RemedyKind.UPSAMPLE, options.groups(store, training_set))
    )


TRAIN_GROUPDRO = Study(
    name="groupdro",
    question="Does it help to minimize the loss of the worst group?",
    summary="Train an ensemble by GroupDRO, which minimizes the loss of the worst group; stopped runs resume.",
    options=GroupDROOptions,
    result=TrainedEnsemble,
    run=run_groupdro,
    figure=learning_curves,
)

TRAIN_UPSAMPLE = Study(
    name="upsample",
    question="Does it help to draw images of small groups more often?",
    summary="Train an ensemble on images drawn so that all groups are equally frequent; stopped runs resume.",
    options=GroupOptions,
    result=TrainedEnsemble,
    run=run_upsample,
    figure=learning_curves,
)
