"""regrade build sample: draw the next revision of a set by a strategy, with its selection noise."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from regrade.build.accuracy_forecast import forecast_accuracies
from regrade.build.duplicates import load_duplicates
from regrade.build.eligibility import MIN_ASSIGNMENTS, Candidate, Eligibility
from regrade.build.files import RevisionCollection, StoredRevision
from regrade.build.frequencies import SelectionFrequencies
from regrade.build.pool import keywords_by_class
from regrade.build.review import BuildReview, BuildReviewCollection
from regrade.build.samplers import (
    LOWEST,
    MIN_REFERENCE_IMAGES,
    DrawOptions,
    Sample,
    Strategy,
    keyword_matched,
    matched_frequency,
    threshold,
    top,
)
from regrade.build.selection_noise import debiased, selection_bias
from regrade.build.steps.frequencies import include_excluded_option, load_answers
from regrade.build.steps.tasks import build_name, group_column
from regrade.build.target_sampler import matched_mean, target_mean
from regrade.core import Column, Estimate, InputError, Table, Tabular, TestSet
from regrade.core.finite import finite
from regrade.metrics import confusion_score
from regrade.stats import proportion
from regrade.store import Store
from regrade.studies.image_basis import judge_predictions
from regrade.studies.loading import scored_predictions
from regrade.studies.study import Parts, Study, StudyOptions, option, seed_option
from regrade.tables import read_table, read_text, texts


@dataclass(frozen=True)
class SampleOptions(StudyOptions):
    """The strategy with its parameters, the rules for candidates, and where to begin."""

    build: str = build_name()
    strategy: Strategy = option("How images are chosen among the eligible candidates of a class.")
    per_class: int = option("Images per class.", 10, minimum=1)
    min_answers: int = option("Answers that a candidate needs.", MIN_ASSIGNMENTS, minimum=0)
    min_references: int = option("Annotated reference images that a class needs.", MIN_REFERENCE_IMAGES, minimum=1)
    debias: bool = option(
        "matched-frequency: correct the frequencies for the noise of few answers, and match the mean of each class.",
        False,
    )
    borrow: bool = option(
        "matched-frequency: fill a short bin from the next higher one.", True, names=("--borrow/--no-borrow",)
    )
    lowest: float | None = option(
        f"Lowest selection frequency. threshold: default {LOWEST:g}. keyword-matched: default none.",
        None,
        metavar="SHARE",
    )
    overrides: Sequence[str] = option(
        "threshold: another lowest frequency for one class. May be repeated.",
        (),
        names=("--override",),
        metavar="CLASS=SHARE",
    )
    target: float | None = option(
        "target-frequency: the mean selection frequency of the set. target-confusion: its mean score in bits.",
        None,
        metavar="MEAN",
    )
    ensemble: str | None = option(
        "target-confusion: the ensemble with checkpoints on the pool that gives the scores.", None, metavar="NAME"
    )
    keyword_column: str = option("keyword-matched: group column with the keyword of each image.", "keyword")
    keywords: int = option("keyword-matched: keywords per class.", 25, minimum=1)
    blacklist: Path | None = option("Text file or table of images that must not be drawn.", None, metavar="FILE")
    exclude_workers: Sequence[str] = option(
        "Leave out the answers of this worker. May be repeated.", (), names=("--exclude-worker",), metavar="WORKER"
    )
    include_excluded: bool = include_excluded_option()
    continue_from: int | None = option(
        "Keep the images of this revision that are still eligible.", None, names=("--from",), metavar="REVISION"
    )
    seed: int = seed_option("the draw")


class SamplePart(Enum):
    """The tables of a drawn sample."""

    SUMMARY = "summary"
    MODELS = "models"


@dataclass(frozen=True)
class ModelForecast:
    """A model's accuracy on the annotated reference images, and the one that is predicted for the drawn set."""

    model: str
    reference: Estimate
    predicted: Estimate


@dataclass(frozen=True, repr=False)
class BuildSample(Tabular):
    """A drawn revision: how many images, from how many candidates, and how hard they are."""

    build: str
    revision: int
    strategy: Strategy
    images: int
    classes: int
    excluded: dict[str, int]
    borrowed: int
    drawn_frequency: float | None
    reference_frequency: float | None
    naive_difference: float | None
    estimated_difference: Estimate | None
    models: tuple[ModelForecast, ...]
    problems: tuple[str, ...]
    reviewed: int | None = None
    left_out: tuple[str, ...] = ()

    @property
    def parts(self) -> tuple[SamplePart, ...]:
        """The tables that the result has."""
        return tuple(SamplePart) if self.models else (SamplePart.SUMMARY,)

    def part(self, part: SamplePart) -> Table:
        """One of the tables."""
        return self.table() if part is SamplePart.SUMMARY else self._models()

    def _models(self) -> Table:
        columns = (
            Column("model", "model"),
            Column("reference", "accuracy on references"),
            Column("predicted", "predicted for the set"),
        )
        rows = tuple((row.model, row.reference, row.predicted) for row in self.models)
        note = (
            "predicted from the accuracy by selection frequency, before any model sees the set; an accuracy outside "
            "the interval shows that the new images differ in more than their frequency"
        )
        return Table(f"{self.build}, revision {self.revision}: models", columns, rows, (note,))

    def table(self) -> Table:
        """One row per figure."""
        rows: list[tuple[Any, ...]] = [
            ("images drawn", self.images),
            ("classes", self.classes),
            *(() if self.reviewed is None else (("images reviewed before", self.reviewed),)),
            *((f"excluded: {reason.replace('_', ' ')}", count) for reason, count in self.excluded.items()),
            ("borrowed from a higher bin", self.borrowed),
            ("mean observed frequency (%)", self.drawn_frequency),
            ("mean observed frequency of references (%)", self.reference_frequency),
            ("observed difference (points)", self.naive_difference),
            ("difference without selection noise (points)", self.estimated_difference),
        ]
        columns = (Column("quantity", "quantity"), Column("value", "value"))
        title = f"{self.build}, revision {self.revision}: {self.strategy.value}"
        note = (
            "difference without selection noise: of the true frequencies of the drawn images, estimated from all "
            "answers; below 0 the set is harder than the reference images"
        )
        notes = [f"left out: {', '.join(self.left_out)}"] if self.left_out else []
        notes += [f"incomplete: {problem}" for problem in self.problems]
        return Table(title, columns, tuple(rows), (note, *notes))


def run(store: Store, options: SampleOptions) -> BuildSample:
    """Draw and store the next revision of a build."""
    revisions = RevisionCollection(store.root)
    with store.transaction():  # answers that arrive now wait: a revision records which ones it was drawn from
        loaded = load_answers(
            store, options.build, excluded=options.exclude_workers, include_excluded=options.include_excluded
        )
        pool = store.test_set(loaded.tasks.pool)
        counted = loaded.frequencies()
        candidates, references = counted.candidates(keywords_of(pool, options)), counted.references()
        review = BuildReviewCollection(store.root).newest(options.build)
        rules = _rules(store, options, pool, candidates, review)
        draw = DrawOptions(options.per_class, options.seed, rules, _previous(revisions, options))
        data = DrawData(
            lambda: reference_keywords(store.test_set(loaded.tasks.reference), options),
            lambda: confusion_scores(store, pool, options.ensemble),
        )
        sample = drawn_sample(options, draw, candidates, references, data)
        number = max(revisions.numbers(options.build), default=-1) + 1
        settings = _settings(options, rules.blacklist, review, loaded.left_out)
        revisions.add(StoredRevision(options.build, number, sample, settings), None)
    models = _forecasts(store, loaded.tasks.reference, options, sample, counted)
    reviewed = None if review is None else review.reviewed(sample.examples)
    report = sample_report(options, number, sample, candidates, references, models=models, reviewed=reviewed)
    return replace(report, left_out=tuple(sorted(loaded.left_out)))


def _rules(
    store: Store,
    options: SampleOptions,
    pool: TestSet,
    candidates: Sequence[Candidate],
    review: BuildReview | None,
) -> Eligibility:
    """Which candidates may be drawn: not those of the blacklist, flagged images, and duplicates."""
    flagged = frozenset() if review is None else review.flagged.keys()
    rules = Eligibility(blacklist=_blacklist(options.blacklist, pool) | flagged, min_assignments=options.min_answers)
    duplicates = load_duplicates(store, options.build, pool)
    near_duplicates = duplicates.near_duplicates(candidates, rules)
    return replace(rules, near_duplicates=near_duplicates, unreviewed=duplicates.unreviewed)


@dataclass(frozen=True)
class DrawData:
    """What some strategies need besides frequencies: keywords of reference images by class, and scores by image."""

    keyword_counts: Callable[[], Mapping[str, Mapping[str, int]]]
    scores: Callable[[], Mapping[str, float]]


def drawn_sample(
    options: SampleOptions,
    draw: DrawOptions,
    candidates: Sequence[Candidate],
    references: Sequence[Candidate],
    data: DrawData,
) -> Sample:
    """Draw by the strategy of the options."""
    match options.strategy:
        case Strategy.MATCHED_FREQUENCY if options.debias:
            return matched_mean(debiased(candidates), references, draw, min_references=options.min_references)
        case Strategy.MATCHED_FREQUENCY:
            fewest, borrow = options.min_references, options.borrow
            return matched_frequency(candidates, references, draw, borrow_upward=borrow, min_references=fewest)
        case Strategy.THRESHOLD:
            lowest = LOWEST if options.lowest is None else options.lowest
            return threshold(candidates, draw, lowest=lowest, overrides=_overrides(options.overrides))
        case Strategy.TOP:
            return top(candidates, draw)
        case Strategy.KEYWORD_MATCHED:
            counts, fewest_selected = data.keyword_counts(), options.lowest or 0.0
            return keyword_matched(
                candidates, counts, draw, keywords_per_class=options.keywords, lowest=fewest_selected
            )
        case Strategy.TARGET_FREQUENCY | Strategy.TARGET_CONFUSION:
            if options.target is None:
                raise InputError(f"{options.strategy.value} needs --target, the mean of the set")
            by_score = options.strategy is Strategy.TARGET_CONFUSION
            return target_mean(candidates, options.target, draw, scores=data.scores() if by_score else None)


def confusion_scores(store: Store, pool: TestSet, ensemble: str | None) -> dict[str, float]:
    """The confusion score of each image of the pool by an ensemble with checkpoints on it."""
    if ensemble is None:
        raise InputError("target-confusion needs --ensemble, which has checkpoints on the pool")
    scores = confusion_score(store.ensembles.read(pool, ensemble))
    return dict(zip(pool.ids, scores.tolist(), strict=True))


def scores_for(store: Store, pool: TestSet, options: SampleOptions) -> dict[str, float]:
    """The confusion scores that a draw uses; empty for strategies that use none."""
    is_used = options.strategy is Strategy.TARGET_CONFUSION
    return confusion_scores(store, pool, options.ensemble) if is_used else {}


def sample_report(
    options: SampleOptions,
    number: int,
    sample: Sample,
    candidates: Sequence[Candidate],
    references: Sequence[Candidate],
    *,
    models: tuple[ModelForecast, ...] = (),
    reviewed: int | None = None,
) -> BuildSample:
    """The size of a sample, its observed frequencies, its selection noise, and the accuracies predicted for it."""
    by_entry = {(candidate.image, candidate.class_id): candidate for candidate in candidates}
    drawn = [by_entry[example] for example in sample.examples]
    annotated = [reference for reference in references if reference.assignments >= max(options.min_answers, 1)]
    observed = float(np.mean([candidate.frequency for candidate in drawn])) if drawn else None
    reference = float(np.mean([image.frequency for image in annotated])) if annotated else None
    both = drawn and annotated
    return BuildSample(
        options.build,
        number,
        options.strategy,
        len(drawn),
        len({class_id for _, class_id in sample.examples}),
        {reason.value: count for reason, count in sorted(sample.exclusions().items())},
        sum(len(of_class.borrowed) for of_class in sample.classes),
        observed,
        reference,
        None if observed is None or reference is None else observed - reference,
        selection_bias(drawn, candidates, annotated, seed=options.seed) if both else None,
        models,
        sample.problems,
        reviewed,
    )


def _forecasts(
    store: Store, reference_name: str, options: SampleOptions, sample: Sample, counted: SelectionFrequencies
) -> tuple[ModelForecast, ...]:
    """The predicted accuracy of every model with predictions on the reference set."""
    annotated = [image for image in counted.references() if image.assignments >= max(options.min_answers, 1)]
    if not annotated or not sample.examples:
        return ()
    reference_set = store.test_set(reference_name)
    models = store.predictions.model_names(reference_name)
    positions = np.array([reference_set.position(image.image) for image in annotated])
    expected = {(c.image, c.class_id): c.frequency for c in debiased(counted.candidates())}
    reference_expected = np.array([image.frequency for image in debiased(annotated)])
    drawn_expected = np.array([expected[example] for example in sample.examples])
    forecasts = []
    for predictions, scoring in scored_predictions(store, reference_set, models):
        judged = judge_predictions(predictions, scoring, None)
        scored = judged.counted[positions]
        right = judged.right[positions][scored]
        if scored.any():
            [predicted] = forecast_accuracies(right, reference_expected[scored], drawn_expected)
            forecasts.append(ModelForecast(predictions.model, proportion(int(right.sum()), len(right)), predicted))
    return tuple(sorted(forecasts, key=lambda row: (-row.predicted.value, row.model)))


def _previous(revisions: RevisionCollection, options: SampleOptions) -> frozenset[str]:
    if options.continue_from is None:
        return frozenset()
    return frozenset(image for image, _ in revisions.read(options.build, options.continue_from).sample.examples)


def _settings(
    options: SampleOptions, blacklist: frozenset[str], review: BuildReview | None, left_out: frozenset[str]
) -> dict[str, Any]:
    """The options, and what was left out by name: images, with the version of the review, and all workers."""
    names = [name for name in options.flags() if name not in ("build", "blacklist", "include_excluded")]
    plain = {name: getattr(options, name) for name in names}
    plain |= {"blacklist": sorted(blacklist), "exclude_workers": sorted(left_out)}
    plain["review"] = None if review is None else review.version
    stored: dict[str, Any] = json.loads(json.dumps(plain))
    return stored


def _blacklist(path: Path | None, pool: TestSet) -> frozenset[str]:
    """The images of a blacklist; raise if one is not in the pool."""
    if path is None:
        return frozenset()
    if path.suffix.lower() in (".txt", ""):
        images = [line.strip() for line in read_text(path).splitlines() if line.strip()]
    else:
        table = read_table(path)
        images = list(texts(table, "image" if "image" in table.column_names else table.column_names[0]))
    for image in images:
        pool.position(image)
    return frozenset(images)


def _overrides(given: Sequence[str]) -> dict[str, float]:
    overrides = {}
    for text in given:
        class_id, equals, share = text.rpartition("=")
        try:
            number = float(share)
        except ValueError:
            equals = ""
        if not equals:
            raise InputError(f"an override is CLASS=SHARE, such as n03014705=0.6, got {text!r}")
        overrides[class_id] = finite(f"--override {class_id}", number)
    return overrides


def keywords_of(pool: TestSet, options: SampleOptions) -> dict[str, str]:
    """The keyword of each image of the pool; empty for strategies that do not use them."""
    if options.strategy is not Strategy.KEYWORD_MATCHED:
        return {}
    return dict(zip(pool.ids, group_column(pool, options.keyword_column), strict=True))


def reference_keywords(reference: TestSet, options: SampleOptions) -> dict[str, dict[str, int]]:
    """The number of reference images per class and keyword; empty for strategies that do not use them."""
    if options.strategy is not Strategy.KEYWORD_MATCHED:
        return {}
    return keywords_by_class(reference, group_column(reference, options.keyword_column))


BUILD_SAMPLE = Study(
    name="sample",
    question="Which candidates form the new test set?",
    summary="Draw the next revision of a set from the candidates by a stated strategy, with its selection noise.",
    options=SampleOptions,
    result=BuildSample,
    run=run,
    parts=Parts(
        SamplePart,
        "Table to print. models: the accuracy that is predicted for each model with predictions on the reference set.",
    ),
)
