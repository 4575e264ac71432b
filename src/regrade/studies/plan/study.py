"""The records of the plans: their options, and the rates that are assumed or measured on a test set of a workspace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from regrade.core import Estimate, InputError, TestSet, TooManyImages, UnknownName
from regrade.stats import independent_disagreement
from regrade.stats.planned_clusters import PlannedClusters, assumed_clusters
from regrade.stats.power import MAX_IMAGES
from regrade.studies.compare.result import Comparison
from regrade.studies.compare.study import CompareOptions, compare_stored
from regrade.studies.grade.analysis import grade
from regrade.studies.held_back import ladder_notes
from regrade.studies.image_clusters import image_clusters
from regrade.studies.loading import chosen_models, reviewed_labels, scored_predictions
from regrade.studies.plan.accuracy import plan_accuracy
from regrade.studies.plan.clustered_models import EFFECT_NOTE, ClusteredModels, cluster_notes
from regrade.studies.plan.groups import GroupContrast, extreme_groups, plan_disparity
from regrade.studies.plan.pairs import Contrast, assumed_ranking, contrasts_of, plan_difference, plan_ranks_of
from regrade.studies.plan.result import DEFAULTS, Plan, PlanOptions, value_of
from regrade.studies.plan.review import ReviewedPair, plan_review, reviewed_pair
from regrade.studies.scoring import EVERYTHING
from regrade.studies.study import Flag, P, Study, StudyOptions, option

if TYPE_CHECKING:
    from regrade.store import Store

_PERCENT: dict[str, Any] = {"percent": True, "minimum": 0, "maximum": 100}
_COUNT: dict[str, Any] = {"minimum": 1, "maximum": MAX_IMAGES}


class _Rates(Enum):
    """The plans that an option belongs to."""

    ASSUMED = auto()
    MEASURED = auto()


def _assumed(help: str, default: Any = None, **flag: Any) -> Any:
    """An option of plans from assumed rates only."""
    return field(default=default, metadata={"flag": Flag(help, **flag), "rates": _Rates.ASSUMED})


def _measured(help: str, default: Any = None, **flag: Any) -> Any:
    """An option that requires a test set."""
    return field(default=default, metadata={"flag": Flag(f"With -t: {help}", **flag), "rates": _Rates.MEASURED})


def _difference_option() -> Any:
    help = "Difference to detect, in percentage points (default with -t: the measured one)."
    return option(help, None, percent=True, minimum=-100, maximum=100)


def _ranked_models_option() -> Any:
    return _measured("two or more models (default: all).", (), is_argument=True)


def _models_option() -> Any:
    return _measured("use only this model. May be repeated (default: all).", (), names=("--model",))


def _labels_option() -> Any:
    return _measured("score against this label set, NAME (newest version) or NAME@VERSION.", names=("--labels", "-l"))


def _slice_option() -> Any:
    return _measured("use only the images of this slice.")


@dataclass(frozen=True, kw_only=True)
class PlanFields(StudyOptions):
    """The options of every plan. Rates are fractions, in percent on the command line."""

    test_set: str | None = option(
        "Use the rates measured on this test set of the workspace.", None, names=("--test-set", "-t")
    )
    power: float = option("Statistical power in %.", DEFAULTS.power, **_PERCENT)
    confidence: float | None = option(
        "Confidence level in % (default: 95; with -t, the workspace's).", None, **_PERCENT
    )
    clusters: str | None = _measured(
        "column of the sampling clusters, or none (default: household, if there is such a column).", metavar="COLUMN"
    )
    cluster_size: float | None = _assumed("Images per cluster, such as a household.", minimum=1)
    correlation: float | None = _assumed(
        "Correlation of being right within a cluster, from 0 to 1, with --cluster-size.", minimum=0, maximum=1
    )

    def __post_init__(self) -> None:
        """Raise if options for assumed rates and for measured rates are combined, or the difference is 0."""
        super().__post_init__()
        if (self.cluster_size is None) != (self.correlation is None):
            raise InputError("clusters need both --cluster-size and --correlation")
        if getattr(self, "difference", None) == 0:
            raise InputError("--difference must not be 0: no number of images would show a difference of 0")
        if self.test_set and self.confidence is not None:
            raise InputError(
                "with -t the confidence level is set in the regrade.toml of the workspace: omit --confidence"
            )
        unused = _Rates.ASSUMED if self.test_set else _Rates.MEASURED
        wrong = [field.metadata["flag"].written(field.name) for field in fields(self)
                 if field.metadata.get("rates") is unused and getattr(self, field.name) not in (None, ())]  # fmt: skip
        if wrong:
            rule = "are assumed rates: omit them with -t" if self.test_set else "require a test set: -t"
            raise InputError(f"{', '.join(wrong)} {rule}")

    @property
    def assumed(self) -> PlanOptions:
        """Power and confidence of a plan from assumed rates."""
        return PlanOptions(self.power, DEFAULTS.confidence if self.confidence is None else self.confidence)

    def assumed_clusters(self, share: float = 0.5) -> PlannedClusters | None:
        """The assumed clusters; None if images are assumed to be independent."""
        if self.cluster_size is None or self.correlation is None:
            return None
        return assumed_clusters(self.cluster_size, self.correlation, share)

    @property
    def assumed_effect(self) -> float | None:
        """The design effect of the assumed clusters."""
        clusters = self.assumed_clusters()
        return None if clusters is None else clusters.effect

    @property
    def assumed_notes(self) -> tuple[str, ...]:
        """How the assumed clusters enlarge the numbers of images."""
        effect = self.assumed_effect
        if effect is None:
            return ()
        return (f"{EFFECT_NOTE}; 1 + (images per cluster - 1) x correlation = {effect:.3g}",)

    def measured(self, store: Store) -> PlanOptions:
        """Power and confidence of a plan from the rates of a workspace."""
        return PlanOptions(self.power, store.config.confidence)


F = TypeVar("F", bound=PlanFields)


@dataclass(frozen=True)
class AccuracyPlanOptions(PlanFields):
    """The precision to reach, and the accuracies."""

    half_width: float = option(
        "Half-width of the confidence interval, in percentage points.", positive=True, **_PERCENT
    )
    accuracy: Sequence[float] = _assumed(
        "Assumed accuracy in % (default: 50, the worst case). May be repeated.", (), **_PERCENT
    )
    models: Sequence[str] = _models_option()
    labels: str | None = _labels_option()


def run_accuracy(store: Store, options: AccuracyPlanOptions) -> Plan:
    """Images needed to estimate each accuracy (with ``labels``: multi-label accuracy) to ``half_width``."""
    if not options.test_set:
        values = options.accuracy or (0.5,)
        assumed = [(f"an accuracy of {100 * value:g}%", value) for value in values]
        own = [clusters for value in values if (clusters := options.assumed_clusters(value))]
        return plan_accuracy(
            assumed, options.half_width, clusters=own, options=options.assumed, notes=options.assumed_notes
        )
    test_set, labels = store.test_set(options.test_set), options.labels
    judged = reviewed_labels(store, test_set, labels) if labels else None
    names = chosen_models(store, test_set, options.models)
    collected = ClusteredModels(test_set, image_clusters(test_set, options.clusters), judged)
    scored = collected.of(scored_predictions(store, test_set, names, progress=options.progress))
    rows = grade(test_set, scored, labels=judged, clusters=collected.clusters, confidence=store.config.confidence).rows
    measured = [(row.model, row.multilabel if labels else row.top1) for row in rows]
    accuracies = [(model, accuracy) for model, accuracy in measured if accuracy is not None]
    plan = plan_accuracy(
        accuracies,
        options.half_width,
        clusters=[collected.planned(model) for model, _ in accuracies] if collected.clusters else (),
        options=options.measured(store),
        notes=collected.notes,
    )
    return _on(store, test_set, plan)


@dataclass(frozen=True)
class DifferencePlanOptions(PlanFields):
    """The difference to detect, and how often the two models disagree."""

    models: Sequence[str] = _ranked_models_option()
    difference: float | None = _difference_option()
    disagreement: float | None = _assumed(
        "Share of images on which exactly one of the two models is right, in %.", **_PERCENT
    )
    accuracy: float | None = _assumed(
        "Instead of --disagreement: accuracy of the better model in %, assuming independent errors.", **_PERCENT
    )
    images: int | None = _assumed("Number of available images: adds the minimum detectable difference.", **_COUNT)
    pairs: int | None = _assumed("Number of pairs that are tested together (default: 1).", **_COUNT)
    labels: str | None = _labels_option()
    slice: str | None = _slice_option()


def run_difference(store: Store, options: DifferencePlanOptions) -> Plan:
    """Images needed to detect the difference of each pair of models, and the smallest detectable difference now.

    ``difference`` replaces the measured ones. ``labels`` and ``slice`` are as in `compare`.
    """
    if not options.test_set:
        difference, disagreement = _assumed_pair(options)
        level = options.assumed.level / (options.pairs or 1)
        contrast = Contrast("two models", difference, disagreement, level, options.images, options.assumed_effect)
        return plan_difference([contrast], options=options.assumed, notes=options.assumed_notes)
    result = _comparison(store, options.test_set, options)
    contrasts = contrasts_of(result, difference=options.difference)
    plan = plan_difference(contrasts, options=options.measured(store), notes=result.basis.notes)
    return _on(store, store.test_set(options.test_set), plan, result.basis.title)


@dataclass(frozen=True)
class RankPlanOptions(PlanFields):
    """The models to rank, or their accuracies."""

    models: Sequence[str] = _ranked_models_option()
    accuracy: Sequence[float] = _assumed("Assumed accuracy in %; give two or more.", (), **_PERCENT)
    disagreement: float | None = _assumed(
        "Share of images on which exactly one of two models is right, in % (default: independent errors).", **_PERCENT
    )
    labels: str | None = _labels_option()
    slice: str | None = _slice_option()


def run_rank(store: Store, options: RankPlanOptions) -> Plan:
    """Images needed to establish each step of the ranking, the best model, and the whole ranking."""
    if not options.test_set:
        effect, notes = options.assumed_effect, options.assumed_notes
        plan = assumed_ranking(options.accuracy, options.disagreement, effect=effect, options=options.assumed)
        return replace(plan, notes=(*plan.notes, *notes))
    result = _comparison(store, options.test_set, options)
    plan = plan_ranks_of(result, options=options.measured(store))
    return _on(store, store.test_set(options.test_set), plan, result.basis.title)


@dataclass(frozen=True)
class DisparityPlanOptions(PlanFields):
    """The difference between groups, and the groups."""

    difference: float | None = _difference_option()
    accuracy: float | None = _assumed("Assumed accuracy of the better group, in %.", **_PERCENT)
    groups: int | None = _assumed(
        "Number of groups if the best and the worst are compared (default: two groups chosen in advance).",
        maximum=MAX_IMAGES,
    )
    images: int | None = _assumed(
        "Number of available images per group: adds the minimum detectable disparity.", **_COUNT
    )
    by: str | None = _measured("column of the groups, e.g. region.")
    between: tuple[str, str] | None = _measured("two groups chosen in advance, e.g. Europe Africa.")
    models: Sequence[str] = _models_option()


def run_disparity(store: Store, options: DisparityPlanOptions) -> Plan:
    """Images per group needed to detect the disparity of each model between the groups of a column.

    The groups are the best and the worst one, or two named beforehand (``between``); ``difference`` replaces the
    measured disparity, below the better group.
    """
    if not options.test_set:
        groups = options.groups
        return plan_disparity(
            [_assumed_groups(options)],
            groups=groups or 2,
            named=groups is None,
            options=options.assumed,
            notes=options.assumed_notes,
        )
    if options.by is None:
        raise InputError("-t requires --by, the column of the groups")
    test_set = store.test_set(options.test_set)
    collected = ClusteredModels(test_set, image_clusters(test_set, options.clusters))
    accuracies = _accuracies_by_group(store, test_set, collected, options.by, options)
    contrasts = [
        _with_difference(
            extreme_groups(
                model, _selected_groups(shares, options.between), collected.effects(model, options.by, tuple(shares))
            ),
            options.difference,
        )
        for model, shares in accuracies.items()
    ]
    plan = plan_disparity(
        contrasts,
        groups=max(map(len, accuracies.values()), default=0),
        named=options.between is not None,
        options=options.measured(store),
        notes=collected.notes,
    )
    return _on(store, test_set, plan, f"{options.test_set} by {options.by}")


@dataclass(frozen=True)
class ReviewPlanOptions(PlanFields):
    """The two models, and how often their predictions differ."""

    models: Sequence[str] = _measured("names of two models.", (), is_argument=True)
    difference: float | None = _difference_option()
    differing: float | None = _assumed(
        "Share of images on which the predictions of the two models differ, in %.", **_PERCENT
    )
    decisive: float | None = _assumed(
        "Share of these images on which exactly one model is right, in % (default: 100).", **_PERCENT
    )
    images: int | None = _assumed("Number of images in the test set.", **_COUNT)
    labels: str | None = _labels_option()


def run_review(store: Store, options: ReviewPlanOptions) -> Plan:
    """Decisions needed to detect a difference of two models; only images with different predictions matter.

    Rates come from ``labels`` as far as decided, without ``labels`` from the original labels.
    """
    if not options.test_set:
        return plan_review(_assumed_review(options), options=options.assumed, notes=options.assumed_notes)
    if len(options.models) != 2:
        raise InputError("give the names of two models")
    test_set = store.test_set(options.test_set)
    judged = reviewed_labels(store, test_set, options.labels) if options.labels else None
    names = chosen_models(store, test_set, options.models)
    first, second = scored_predictions(store, test_set, names, progress=options.progress)
    confidence = store.config.confidence
    clusters, everything = image_clusters(test_set, options.clusters), np.ones(len(test_set), dtype=bool)
    pair = reviewed_pair(
        test_set,
        first,
        second,
        labels=judged,
        difference=options.difference,
        clusters=None if clusters is None else clusters.numbers,
        confidence=confidence,
    )
    notes = () if clusters is None else cluster_notes(clusters, everything)
    return _on(store, test_set, plan_review(pair, options=options.measured(store), notes=notes))


def _on(store: Store, test_set: TestSet, plan: Plan, measured: str = "") -> Plan:
    """The plan with its title, by default measured on the whole set, and a note if this set has a ladder."""
    notes = (*plan.notes, *ladder_notes(store, (test_set.name,), "regrade plan"))
    return replace(plan, title=f"{plan.title}, measured on {measured or test_set.name}", notes=notes)


def _comparison(store: Store, test_set: str, options: DifferencePlanOptions | RankPlanOptions) -> Comparison:
    compared = CompareOptions(
        test_set,
        options.models,
        labels=options.labels,
        slice=options.slice,
        clusters=options.clusters,
        progress=options.progress,
    )
    return compare_stored(store, compared)


def _accuracies_by_group(
    store: Store, test_set: TestSet, collected: ClusteredModels, by: str, options: DisparityPlanOptions
) -> dict[str, dict[str, Estimate]]:
    """The accuracies of each model, by group."""
    if by not in test_set.group_columns:
        raise UnknownName(f"group column of {test_set.name}", by, test_set.group_columns)
    names = chosen_models(store, test_set, options.models)
    scored = collected.of(scored_predictions(store, test_set, names, progress=options.progress))
    accuracies: dict[str, dict[str, Estimate]] = {}
    graded = grade(test_set, scored, slices=[by], clusters=collected.clusters, confidence=store.config.confidence)
    for row in graded.rows:
        if row.slice != EVERYTHING and row.top1 is not None:
            accuracies.setdefault(row.model, {})[row.slice.partition("=")[2]] = row.top1
    return accuracies


def _selected_groups(accuracies: dict[str, Estimate], groups: tuple[str, str] | None) -> dict[str, Estimate]:
    if groups is None:
        return accuracies
    missing = [name for name in groups if name not in accuracies]
    if missing or groups[0] == groups[1]:
        raise InputError(f"name two of the groups {', '.join(accuracies)}, got {' and '.join(groups)}")
    return {name: accuracies[name] for name in groups}


def _with_difference(contrast: GroupContrast, difference: float | None) -> GroupContrast:
    if difference is None:
        return contrast
    better = value_of(contrast.better)
    if not 0 < difference <= better:
        raise InputError(f"a group cannot be {100 * difference:g} points below an accuracy of {better:.1%}")
    return replace(contrast, worse=better - difference)


def _assumed_pair(options: DifferencePlanOptions) -> tuple[float, float]:
    """The difference and the disagreement of two assumed models."""
    difference, disagreement, accuracy = options.difference, options.disagreement, options.accuracy
    if difference is not None and disagreement is not None and accuracy is None:
        _check_not_above(abs(difference), disagreement, "--disagreement")
        return difference, disagreement
    if difference is not None and disagreement is None and accuracy is not None:
        _check_not_above(abs(difference), accuracy, "--accuracy")
        return difference, independent_disagreement(accuracy, accuracy - abs(difference))
    raise InputError("give --difference with either --disagreement or --accuracy, or models and a test set with -t")


def _assumed_groups(options: DisparityPlanOptions) -> GroupContrast:
    accuracy, difference, images = options.accuracy, options.difference, options.images
    if accuracy is None or difference is None:
        raise InputError("give --accuracy and --difference, or a test set with -t and --by")
    if difference < 0:
        raise InputError(f"--difference must be above 0 for groups, got {100 * difference:g}")
    _check_not_above(difference, accuracy, "--accuracy")
    worse = (round(100 * accuracy, 10) - round(100 * difference, 10)) / 100  # in points, as on the command line
    if worse >= accuracy:
        raise TooManyImages(MAX_IMAGES)
    pair = None if images is None else (images, images)
    return GroupContrast("two groups", accuracy, worse, pair, options.assumed_effect)


def _assumed_review(options: ReviewPlanOptions) -> ReviewedPair:
    difference, differing = options.difference, options.differing
    if difference is None or differing is None:
        raise InputError("give --difference and --differing, or two models and a test set with -t")
    _check_not_above(abs(difference), differing, "--differing")
    decisive = 1.0 if options.decisive is None else options.decisive
    return ReviewedPair("two models", difference, differing, decisive, options.images, effect=options.assumed_effect)


def _check_not_above(difference: float, limit: float, written: str) -> None:
    if difference > limit:
        raise InputError(f"the difference of {100 * difference:g} points cannot exceed {written}, {100 * limit:g} %")


def _plan(name: str, summary: str, options: Callable[P, F], run: Callable[[Any, F], Plan]) -> Study[P, F, Plan]:
    return Study(
        name=name,
        question="How many images or decisions does a claim need?",
        summary=summary,
        options=options,
        result=Plan,
        run=run,
        needs_data=lambda chosen: bool(chosen.test_set),
        head=200,
    )


PLAN_ACCURACY = _plan(
    "accuracy", "Images needed to estimate an accuracy with a given half-width.", AccuracyPlanOptions, run_accuracy
)
PLAN_DIFFERENCE = _plan(
    "difference",
    "Images needed to detect a difference between two models, and the minimum detectable difference.",
    DifferencePlanOptions,
    run_difference,
)
PLAN_RANK = _plan(
    "rank",
    "Images needed to separate neighboring models of a ranking, the best model from all others, and all models.",
    RankPlanOptions,
    run_rank,
)
PLAN_DISPARITY = _plan(
    "disparity",
    "Images per group needed to detect a difference in accuracy between groups, such as regions.",
    DisparityPlanOptions,
    run_disparity,
)
PLAN_REVIEW = _plan(
    "review",
    "Decisions needed to detect a difference between two models in a review of the images on which they differ.",
    ReviewPlanOptions,
    run_review,
)

PLANS = (PLAN_ACCURACY, PLAN_DIFFERENCE, PLAN_RANK, PLAN_DISPARITY, PLAN_REVIEW)
"""The plans, which are studies without a chapter in a report, in the order of their commands."""
