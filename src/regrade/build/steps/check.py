"""regrade build check: what to look at before a revision is released, and what other strategies would have drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from regrade.build.check_report import BuildCheck, CheckPart
from regrade.build.comparison import in_classes_of
from regrade.build.drawn_accuracy import (
    BinAccuracy,
    DrawnSet,
    MeanAccuracies,
    ScoredImages,
    StrategyRow,
    bin_accuracies,
    strategy_rows,
)
from regrade.build.drawn_revision import DrawnRevision, drawn_revision, mean_frequency_of
from regrade.build.duplicates import load_duplicates
from regrade.build.eligibility import Candidate
from regrade.build.overlaps import Overlap, find_overlap, part_of, same_ids
from regrade.build.readiness import (
    Discrimination,
    ReadinessCheck,
    careless_workers,
    class_balance,
    differing_licenses,
    duplicates_within,
    few_answers,
    incomplete_classes,
    issue,
    missing_licenses,
    overlap_checks,
    passed,
    review_of_images,
    review_of_pairs,
    selection_noise,
    single_authors,
    told_apart,
)
from regrade.build.review import BuildReviewCollection
from regrade.build.samplers import LOWEST, Sample, Strategy
from regrade.build.selection_noise import selection_bias
from regrade.build.steps.sample import SampleOptions
from regrade.build.steps.tasks import build_name
from regrade.build.workers import Standing
from regrade.core import Distance, InputError, TestSet, UndefinedError
from regrade.core.arrays import BoolArray, IntArray
from regrade.display.wording import listed
from regrade.neighbors import no_progress
from regrade.stats import bonferroni_confidence, mark_simultaneous
from regrade.store import Store
from regrade.studies.image_basis import JudgedPredictions, judge_predictions
from regrade.studies.leakage.search import SearchOptions, search_for, stored_side
from regrade.studies.leakage.signatures import ImageProgress
from regrade.studies.leakage.study import parse_distances
from regrade.studies.loading import chosen_models, has_embeddings, scored_predictions, stored_embeddings
from regrade.studies.shift.discriminator import balanced_images, discriminate
from regrade.studies.shift.images import SetEmbeddings, pooled_embeddings
from regrade.studies.study import Parts, Study, StudyOptions, models_option, option


@dataclass(frozen=True)
class CheckOptions(StudyOptions):
    """The revision, models and test sets, and the parameters of other strategies."""

    build: str = build_name()
    revision: int | None = option("Revision to check (default: the last one).", None, minimum=0)
    models: Sequence[str] = models_option(
        "Use only this model. May be repeated (default: all with predictions on the pool)."
    )
    original: str | None = option(
        "Test set to compare accuracies and embeddings with (default: the reference set of the build).",
        None,
        metavar="SET",
    )
    against: Sequence[str] = option(
        "Search the images of the revision in this test set, too. May be repeated.", (), metavar="SET"
    )
    by: Sequence[Distance | str] = option(
        "Distances of near duplicates, separated by commas: pixels, dssim, phash, or exact to search equal images only "
        "(default: all).",
        (),
        kind=str | None,
        parse=parse_distances,
    )
    per_class: int | None = option("strategies: images per class (default: as the revision).", None, minimum=1)
    min_answers: int | None = option(
        "strategies: answers that a candidate needs (default: as the revision).", None, minimum=0
    )
    min_references: int | None = option(
        "strategies: annotated reference images that a class needs (default: as the revision).", None, minimum=1
    )
    lowest: float | None = option(
        "strategies: lowest selection frequency of threshold (default: as the revision).", None, metavar="SHARE"
    )
    overrides: Sequence[str] = option(
        "strategies: another lowest frequency for one class. May be repeated.",
        (),
        names=("--override",),
        metavar="CLASS=SHARE",
    )
    seed: int | None = option("Random seed of the draws (default: that of the revision).", None, minimum=0)
    image_progress: ImageProgress = field(default=no_progress, kw_only=True, compare=False, repr=False)


def run(store: Store, options: CheckOptions) -> BuildCheck:
    """Check a revision before its release, and compare it with what other strategies draw; nothing is stored."""
    drawn = drawn_revision(store, options.build, options.revision)
    search, original = _search(options), _original(drawn, options)
    searched = [store.test_set(name) for name in dict.fromkeys((original.name, *options.against))]
    scored = [_scored(drawn, original, model) for model in options.progress(_models(drawn, options))]
    discriminators, reason = _discriminators(drawn, original, scored, _seed(drawn, options))
    comparable = [model for model in scored if model.original is not None]
    lacking = [model.name for model in scored if model.original is None]
    return BuildCheck(
        options.build,
        drawn.revision.number,
        original.name,
        tuple(model.name for model in comparable),
        (*_checks(drawn), told_apart(discriminators, reason), *_overlaps(drawn, searched, search, options)),
        _bins(drawn, scored),
        _strategies(drawn, original, comparable, options),
        discriminators,
        (f"without predictions on {original.name}, left out of strategies: {listed(lacking)}",) if lacking else (),
    )


def _seed(drawn: DrawnRevision, options: CheckOptions) -> int:
    return drawn.sample.seed if options.seed is None else options.seed


def _original(drawn: DrawnRevision, options: CheckOptions) -> TestSet:
    """The images of the original set that are of the classes of the revision."""
    name = options.original or drawn.reference.name
    if drawn.pool.name in (name, *options.against):
        raise InputError(f"{drawn.pool.name} is the pool, which contains the drawn images: name another test set")
    positions = [drawn.pool.position(image) for image in dict.fromkeys(drawn.images)]
    if not positions:
        raise InputError(f"revision {drawn.revision.number} of {options.build} has no images")
    return in_classes_of(drawn.pool.subset(drawn.pool.name, positions), drawn.store.test_set(name))


def _models(drawn: DrawnRevision, options: CheckOptions) -> tuple[str, ...]:
    if not options.models and not drawn.store.predictions.model_names(drawn.pool.name):
        return ()
    return chosen_models(drawn.store, drawn.pool, options.models)


@dataclass(frozen=True, eq=False)
class _ScoredModel:
    """A model on the pool, the original set and the reference set of the build, where it has predictions."""

    name: str
    pool: JudgedPredictions
    original: JudgedPredictions | None
    reference: JudgedPredictions | None


def _scored(drawn: DrawnRevision, original: TestSet, model: str) -> _ScoredModel:
    def judged(test_set: TestSet) -> JudgedPredictions | None:
        if model not in drawn.store.predictions.model_names(test_set.name):
            return None
        [(predictions, scoring)] = scored_predictions(drawn.store, test_set, (model,))
        return judge_predictions(predictions, scoring, None)

    whole, on_pool = drawn.store.test_set(original.name), judged(drawn.pool)
    assert on_pool is not None  # chosen among the models of the pool
    return _ScoredModel(model, on_pool, judged(whole), judged(drawn.reference))


def _checks(drawn: DrawnRevision) -> tuple[ReadinessCheck, ...]:
    """The checks that need neither models nor images."""
    sample, workers, tasks = drawn.sample, drawn.loaded.workers, drawn.loaded.tasks
    duplicates = load_duplicates(drawn.store, tasks.build, drawn.pool)
    licenses, authors = _column(drawn, "license"), _column(drawn, "author")
    suspects = [row.quality.worker for row in workers if row.standing is Standing.EXCLUDED and not row.left_out]
    return (
        _follows(drawn),
        incomplete_classes(sample),
        class_balance(sample, len(drawn.pool.class_space)),
        missing_licenses(licenses),
        differing_licenses(licenses),
        single_authors(sample.examples, None if authors is None else dict(zip(drawn.images, authors, strict=True))),
        few_answers(drawn.chosen(sample)),
        careless_workers(suspects, sorted(drawn.loaded.left_out)),
        review_of_images(BuildReviewCollection(drawn.store.root).newest(tasks.build), sample.examples),
        review_of_pairs(duplicates.summary(drawn.images, drawn.reference.name), sample),
        _noise(drawn),
    )


def _column(drawn: DrawnRevision, name: str) -> list[str] | None:
    """A group column of the drawn images, by its name in any case; None if the pool has none."""
    columns = drawn.pool.group_columns
    own_name = next((column for column in columns if column.casefold() == name), None)
    if own_name is None:
        return None
    return [columns[own_name][drawn.pool.position(image)] for image in drawn.images]


def _follows(drawn: DrawnRevision) -> ReadinessCheck:
    """Whether the revision is what its settings draw from the answers, the pool and the reference set of today."""
    subject, tasks = "follows from the answers", drawn.loaded.tasks
    changed = [
        test_set.name
        for test_set, digest in ((drawn.pool, tasks.pool_digest), (drawn.reference, tasks.reference_digest))
        if test_set.digest != digest
    ]
    if changed:
        return issue(subject, f"{listed(changed)} changed after the tasks were made")
    if drawn.draw_again().examples != drawn.sample.examples:
        return issue(subject, f"later answers lead to other images: draw again with --from {drawn.revision.number}")
    return passed(subject, "the same images are drawn again")


def _noise(drawn: DrawnRevision) -> ReadinessCheck:
    if not drawn.annotated:
        return selection_noise(None)
    confidence, chosen = drawn.store.config.confidence, drawn.chosen(drawn.sample)
    return selection_noise(
        selection_bias(chosen, drawn.candidates, drawn.annotated, confidence=confidence, seed=drawn.sample.seed)
    )


def _search(options: CheckOptions) -> SearchOptions:
    if Distance.FEATURES in options.by:
        raise InputError("images are searched by their pixels: leave features out of --by")
    return search_for(options.by, {})


def _overlaps(
    drawn: DrawnRevision, searched: Sequence[TestSet], search: SearchOptions, options: CheckOptions
) -> Iterator[ReadinessCheck]:
    """Duplicates within the drawn images, and those in the original set and in the sets that were named."""
    store, progress, images = drawn.store, options.image_progress, tuple(dict.fromkeys(drawn.images))
    own = None
    if store.images.has(drawn.pool.name):
        own = part_of(stored_side(store, drawn.pool, search, progress), images)
    within = Overlap(drawn.pool.name, ())
    yield duplicates_within(within if own is None else find_overlap(within, own, None, search, progress))
    for test_set in searched:
        overlap = same_ids(images, test_set)
        if own is not None and store.images.has(test_set.name):
            side = stored_side(store, test_set, search, progress)
            overlap = find_overlap(overlap, own, side, search, progress)
        yield from overlap_checks(overlap)


def _bins(drawn: DrawnRevision, scored: Sequence[_ScoredModel]) -> tuple[BinAccuracy, ...]:
    """Every model by selection frequency, on drawn images and on annotated reference images."""
    chosen, confidence = drawn.chosen(drawn.sample), drawn.store.config.confidence
    return tuple(
        row
        for model in scored
        for row in bin_accuracies(
            model.name,
            _on(model.pool, drawn.pool, chosen),
            None if model.reference is None else _on(model.reference, drawn.reference, drawn.annotated),
            confidence=confidence,
        )
    )


def _on(judged: JudgedPredictions, test_set: TestSet, images: Sequence[Candidate]) -> ScoredImages:
    positions = np.array([test_set.position(image.image) for image in images], dtype=np.int64)
    frequencies = np.array([image.frequency for image in images], dtype=np.float64)
    return ScoredImages(judged.right[positions], judged.counted[positions], frequencies)


def _strategies(
    drawn: DrawnRevision, original: TestSet, scored: Sequence[_ScoredModel], options: CheckOptions
) -> tuple[StrategyRow, ...]:
    is_reference = original.name == drawn.reference.name
    frequency = mean_frequency_of(drawn.annotated) if is_reference else None
    draws = [_drawn_set(drawn, name, drawn.draw(given)) for name, given in _other_draws(drawn, options)]
    return strategy_rows(
        _mean_accuracies(drawn, original, scored) if scored else None,
        DrawnSet(original.name, tuple(original.ids), frequency),
        _drawn_set(drawn, f"revision {drawn.revision.number}", drawn.sample),
        draws,
        confidence=drawn.store.config.confidence,
    )


def _drawn_set(drawn: DrawnRevision, name: str, sample: Sample) -> DrawnSet:
    chosen = drawn.chosen(sample)
    return DrawnSet(name, tuple(row.image for row in chosen), mean_frequency_of(chosen), len(sample.problems))


def _other_draws(drawn: DrawnRevision, options: CheckOptions) -> list[tuple[str, SampleOptions]]:
    """The strategies of Table 2 of Recht et al. 2019, and the correction for selection noise."""
    names = ("per_class", "min_answers", "min_references", "lowest", "seed")
    given = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    base = replace(drawn.settings, **given, overrides=options.overrides or drawn.settings.overrides)
    matched = replace(base, strategy=Strategy.MATCHED_FREQUENCY, debias=False)
    return [
        ("matched-frequency", matched),
        ("matched-frequency --debias", replace(matched, debias=True)),
        (f"threshold {LOWEST if base.lowest is None else base.lowest:g}", replace(base, strategy=Strategy.THRESHOLD)),
        ("top", replace(base, strategy=Strategy.TOP)),
    ]


def _mean_accuracies(drawn: DrawnRevision, original: TestSet, scored: Sequence[_ScoredModel]) -> MeanAccuracies:
    whole = drawn.store.test_set(original.name)
    inside = np.array([whole.position(image) for image in original.ids], dtype=np.int64)
    rows = [
        (np.concatenate([model.pool.right, model.original.right[inside]]),
         np.concatenate([model.pool.counted, model.original.counted[inside]]))
        for model in scored
        if model.original is not None
    ]  # fmt: skip
    shares = np.mean([right for right, _ in rows], axis=0)
    counted: BoolArray = np.logical_and.reduce([counts for _, counts in rows])
    return MeanAccuracies(shares, counted, np.arange(len(shares)) >= len(drawn.pool), drawn.pool.position_of)


def _discriminators(
    drawn: DrawnRevision, original: TestSet, scored: Sequence[_ScoredModel], seed: int
) -> tuple[tuple[Discrimination, ...], str]:
    """Every model with embeddings of both sets, and the reason if there is none."""
    whole, confidence = drawn.store.test_set(original.name), drawn.store.config.confidence
    if drawn.pool.class_space.digest != whole.class_space.digest:
        return (), f"the classes of {drawn.pool.name} and {whole.name} differ"
    names = [model.name for model in scored if has_embeddings(drawn.store, (drawn.pool, whole), model.name)]
    if not names:
        return (), f"no model has embeddings of {drawn.pool.name} and {whole.name}: regrade predict --keep embeddings"
    rng = np.random.default_rng(seed)
    new = np.array([drawn.pool.position(image) for image in dict.fromkeys(drawn.images)], dtype=np.int64)
    chosen_new, chosen_original = balanced_images(drawn.pool.labels[new], whole.labels, rng=rng)
    sides = ((drawn.pool, new[chosen_new]), (whole, chosen_original))
    rows = []
    for name in names:
        try:
            rows.append(_discrimination(drawn.store, name, sides, seed, bonferroni_confidence(len(names), confidence)))
        except UndefinedError as error:
            return (), str(error)
    return tuple(replace(row, auc=mark_simultaneous(row.auc, len(names), confidence=confidence)) for row in rows), ""


def _discrimination(
    store: Store, model: str, sides: Sequence[tuple[TestSet, IntArray]], seed: int, confidence: float
) -> Discrimination:
    new, original = (
        SetEmbeddings(side, places, stored_embeddings(store, side, model, places)) for side, places in sides
    )
    images = pooled_embeddings(model, new, original, column="author")
    auc = discriminate(
        images.embeddings,
        images.is_new,
        clusters=images.clusters,
        rng=np.random.default_rng(seed),
        confidence=confidence,
    )
    return Discrimination(model, int(images.is_new.sum()), int((~images.is_new).sum()), auc)


BUILD_CHECK = Study(
    name="check",
    question="Is the revision ready for a release?",
    summary="Check a revision before its release: balance, licenses, authors, overlap with other sets, selection "
    "noise, and whether new images can be told from original ones.\n\nEnds with exit code 3 if there is an issue.",
    options=CheckOptions,
    result=BuildCheck,
    run=run,
    sound=lambda result: result.sound,
    parts=Parts(
        CheckPart,
        "Table to print. bins: accuracies by selection frequency. strategies: what other strategies draw, with the "
        "mean accuracy of the models. discriminator: whether embeddings tell new images from original ones.",
    ),
)
