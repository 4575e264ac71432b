"""The record of the confusion study: its options, how its data are loaded, and storing its hard set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from math import e
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from regrade.core import NO_ANSWER, Checkpoints, InputError, Predictions, ScoreKind, SliceSet, TestSet
from regrade.core.amounts import amount
from regrade.core.arrays import FloatArray, IntArray
from regrade.formats import read_human_entropies
from regrade.metrics import EARLY_CHECKPOINTS, human_entropies
from regrade.store import keep_slices, write_file
from regrade.store.file_errors import write_errors
from regrade.studies.confusion.analysis import BIN_WIDTH, FurtherInputs, confusion
from regrade.studies.confusion.bands import Remedy
from regrade.studies.confusion.figure import confusion_figure
from regrade.studies.confusion.findings import confusion_findings
from regrade.studies.confusion.gallery import gallery_page
from regrade.studies.confusion.hard_set import HardRule
from regrade.studies.confusion.paper_figures import paper_figures
from regrade.studies.confusion.result import Confusion, ConfusionPart
from regrade.studies.confusion.unlabeled import UnlabeledInputs
from regrade.studies.image_clusters import ImageClusters, clusters_of_sets, clusters_option
from regrade.studies.loading import chosen_models, model_attributes, scored_predictions
from regrade.studies.report_data import ReportData
from regrade.studies.scoring import Scoring, scoring_for
from regrade.studies.stored_subset import store_subset
from regrade.studies.study import (
    Chapter,
    Output,
    Parts,
    Study,
    StudyOptions,
    models_option,
    option,
    parts_of,
    seed_option,
    test_set_option,
)
from regrade.studies.thumbnails import thumbnails

if TYPE_CHECKING:
    from regrade.store import Store

_IN_REPORT = ConfusionPart.MODELS, ConfusionPart.TRENDS, ConfusionPart.RIVALS, ConfusionPart.EXPECTED
"""The tables of a chapter."""

_OF_ENSEMBLES = ConfusionPart.ENSEMBLES, ConfusionPart.RANKS  # further tables if there are several
_GALLERY = "figure-1-gallery.html"
_MEMBERS = "models"  # name of an ensemble whose members are models


class LogBase(Enum):
    """Base of the logarithm on the command line."""

    BITS = "2"
    NATS = "e"
    HARTLEYS = "10"


def _base(chosen: LogBase | None) -> float:
    return 2.0 if chosen is None else e if chosen is LogBase.NATS else float(chosen.value)


@dataclass(frozen=True)
class ConfusionOptions(StudyOptions):
    """Which ensemble scores the images, which models are compared with the scores, and which images are hard."""

    test_set: str = test_set_option()
    ensembles: Sequence[str] = option(
        "Ensemble that scores the images; further ones are compared with it. May be repeated (default: the only "
        "stored ensemble).",
        (),
        names=("--ensemble",),
    )
    members: Sequence[str] = option(
        "Model with stored scores, as a member of an ensemble of one epoch. May be repeated.", (), names=("--member",)
    )
    models: Sequence[str] = models_option("Evaluate only this model. May be repeated (default: all).")
    above: float | None = option("Images with at least this score are hard.", None)
    hardest: int | None = option(
        "Keep the N hardest images (default: a tenth of all images).", None, metavar="N", minimum=1
    )
    per_class: bool = option("With --hardest: the N hardest images of each class.", False)
    unlabeled: str | None = option(
        "Predict the models' errors on this test set without using its labels.", None, metavar="TEST_SET"
    )
    base: float = option(
        "Base of the logarithm: 2 (bits), e (nats) or 10 (hartleys).", 2.0, kind=LogBase | None, parse=_base
    )
    bin_width: float = option("Width of the score bins.", BIN_WIDTH, names=("--bin",))
    human: str | Path | None = option(
        "Table of people's answers per image: a column for each class with counts, or a column entropy (default: the "
        "imported answers of people).",
        None,
        metavar="FILE",
    )
    early: int = option(
        "Number of checkpoints, from the first on, for EL2N.", EARLY_CHECKPOINTS, metavar="N", minimum=1
    )
    train: str | None = option(
        "Test set of training images with checkpoints of the same ensemble, for the distribution of their scores.",
        None,
        metavar="TEST_SET",
    )
    before: str | None = option("Model before a remedy, to compare on easy and on hard images.", None, metavar="MODEL")
    after: str | None = option("Model after a remedy, with --before.", None, metavar="MODEL")
    threshold: float | None = option(
        "With --before: images with at least this score are hard (default: half of the largest score).", None
    )
    seed: int = seed_option("the bootstrap intervals")
    clusters: str | None = clusters_option()


def run(store: Store, options: ConfusionOptions) -> Confusion:
    """Study which images confuse an ensemble during training, and whether they confuse other models too.

    The first of ``ensembles`` (default: the only stored one) scores the images; further ones are compared with it.
    Alternatively, ``members`` are models with stored full scores: an ensemble of one epoch. ``models`` (default: all)
    are compared with the scores. Hard images have a score of at least ``above``, or are the ``hardest`` N images, in
    total or ``per_class`` (default: a tenth). ``unlabeled`` is a test set with checkpoints of the same ensemble, for
    which the expected error is estimated. ``base`` is the base of the logarithm: 2 for bits. ``human`` is a table of
    people's answers, for the rivals of the score, and ``early`` the number of checkpoints of EL2N. ``train`` is a test
    set of training images. ``before`` and ``after`` are models to compare below and above the ``threshold``.
    ``clusters`` is the column of images that belong together (default: ``household`` if present), of each test set.
    """
    test_set = store.test_set(options.test_set)
    chosen = _ensembles(store, test_set, options.ensembles, options.members)
    clusters, of_others, notes = _clusters(store, test_set, options)
    without_labels = None if options.unlabeled is None else _unlabeled(store, test_set, chosen[0], options)
    if without_labels is not None:
        without_labels = replace(without_labels, clusters=of_others.get(without_labels.test_set.name))
    remedy = _remedy(options)
    names = _models(store, test_set, options, remedy)
    result = confusion(
        test_set,
        chosen,
        scored_predictions(store, test_set, names, progress=options.progress) if names else (),
        rng=np.random.default_rng(options.seed),
        own=_ensemble_scoring(store, test_set, chosen[0]),
        base=options.base,
        bin_width=options.bin_width,
        hard=_hard_rule(options),
        unlabeled=without_labels,
        further=FurtherInputs(
            [_ensemble_scoring(store, test_set, ensemble) for ensemble in chosen[1:]],
            _human(store, test_set, options),
            options.early,
            _train(store, test_set, chosen[0], options),
            remedy,
            model_attributes(store, test_set, names),
            None if clusters is None else clusters.numbers,
            of_others.get(options.train or ""),
        ),
        confidence=store.config.confidence,
    )
    return replace(result, notes=(*result.notes, *notes))


def _clusters(
    store: Store, test_set: TestSet, options: ConfusionOptions
) -> tuple[ImageClusters | None, dict[str, IntArray], tuple[str, ...]]:
    """The clusters of the test set, those of the other sets of the study by name, and notes on all of them."""
    further_sets = [store.test_set(name) for name in dict.fromkeys((options.unlabeled, options.train)) if name]
    own, *rest = clusters_of_sets([test_set, *further_sets], options.clusters)
    by_name = {part.name: clusters for part, clusters in zip(further_sets, rest, strict=True) if clusters is not None}
    notes = () if own is None else own.notes(np.arange(len(test_set)))
    further = (
        f"{name}: {note}"
        for name, clusters in by_name.items()
        for note in clusters.notes(np.arange(len(clusters.alone)))
    )
    return own, {name: clusters.numbers for name, clusters in by_name.items()}, (*notes, *further)


def _models(store: Store, test_set: TestSet, options: ConfusionOptions, remedy: Remedy | None) -> tuple[str, ...]:
    """The models to evaluate, with those before and after a remedy."""
    names = chosen_models(store, test_set, options.models)
    also = chosen_models(store, test_set, [remedy.before, remedy.after]) if remedy else ()
    return (*names, *(name for name in also if name not in names))


def _remedy(options: ConfusionOptions) -> Remedy | None:
    if options.before is None and options.after is None:
        if options.threshold is not None:
            raise InputError("--threshold needs --before and --after")
        return None
    if options.before is None or options.after is None:
        raise InputError("a remedy needs two models: give both --before and --after")
    return Remedy(options.before, options.after, options.threshold)


def _human(store: Store, test_set: TestSet, options: ConfusionOptions) -> FloatArray | None:
    """The entropy of people's answers, from a file or from the people of the test set; None without any."""
    if options.human is not None:
        return read_human_entropies(Path(options.human), test_set)
    people = store.predictions.people_names(test_set.name)
    if len(people) < 2:
        return None
    counts = np.zeros((len(test_set), len(test_set.class_space)))
    for name in people:
        answers = store.predictions.read(test_set, name).top1
        answered = np.flatnonzero(answers != NO_ANSWER)
        counts[answered, answers[answered]] += 1
    return human_entropies(counts)


def _train(store: Store, test_set: TestSet, ensemble: Checkpoints, options: ConfusionOptions) -> Checkpoints | None:
    if options.train is None:
        return None
    train = store.test_set(options.train)
    if train.name == test_set.name:
        raise InputError(f"--train must differ from the test set: {train.name} is both")
    return (
        _members(store, train, options.members) if options.members else store.ensembles.read(train, ensemble.ensemble)
    )


def _hard_rule(options: ConfusionOptions) -> HardRule | None:
    if options.above is None and options.hardest is None and not options.per_class:
        return None
    return HardRule(options.above, options.hardest, options.per_class)


def _unlabeled(store: Store, test_set: TestSet, ensemble: Checkpoints, options: ConfusionOptions) -> UnlabeledInputs:
    target = store.test_set(str(options.unlabeled))
    if target.name == test_set.name:
        raise InputError(f"unlabeled must differ from the labeled set: {target.name} is both")
    members = options.members
    first = _members(store, target, members) if members else store.ensembles.read(target, ensemble.ensemble)
    stored_models = store.predictions.model_names(target.name)
    both = tuple(name for name in chosen_models(store, test_set, options.models) if name in stored_models)
    scored = list(scored_predictions(store, target, both, progress=options.progress)) if both else []
    return UnlabeledInputs(target, first, scored, _ensemble_scoring(store, target, first))


@dataclass(frozen=True)
class KeptHardSet:
    """A stored hard set: a test set of its own and a slice of the source test set."""

    test_set: TestSet
    slices: SliceSet
    images: bool
    new: bool


def keep_hard_set(store: Store, result: Confusion, name: str) -> KeptHardSet:
    """Store a study's hard set as a test set, with images if there are any, and as a slice of its source."""
    if result.hard is None:
        raise InputError("this study has no hard set: " + "; ".join(result.notes))
    source = store.test_set(result.test_set)
    models = store.predictions.model_names(source.name)
    chosen_by = tuple(name for name in result.ensemble.members if name in models) or (result.ensemble.name,)
    test_set, slices = result.hard.as_test_set(source, name), result.hard.as_slices(name, chosen_by)
    with store.transaction():
        kept = keep_slices(store, slices)
        stored = store_subset(store, test_set, source)
    return KeptHardSet(test_set, slices, store.images.has(source.name), bool(stored.new or kept.new))


def _ensembles(store: Store, test_set: TestSet, names: Sequence[str], members: Sequence[str]) -> list[Checkpoints]:
    if members:
        return [_members(store, test_set, members), *(store.ensembles.read(test_set, name) for name in names)]
    stored_names = names or store.ensembles.names(test_set.name)
    if not names and len(stored_names) != 1:
        hint = f": stored are {', '.join(stored_names)}" if stored_names else " yet: run regrade import checkpoints"
        raise InputError(
            f"{'name an ensemble of' if stored_names else 'there is no ensemble on'} {test_set.name}{hint}"
        )
    return [store.ensembles.read(test_set, name) for name in stored_names]


def _members(store: Store, test_set: TestSet, names: Sequence[str]) -> Checkpoints:
    """An ensemble of one epoch whose members are models with full scores in the same classes."""
    members = [_with_scores(store.predictions.read(test_set, name)) for name in chosen_models(store, test_set, names)]
    if len({(member.class_space, member.score_kind) for member in members}) > 1:
        described = ", ".join(f"{member.model} {_kind(member).value} of {member.class_space}" for member in members)
        raise InputError(f"members of one ensemble need the same classes and the same kind of scores: {described}")
    first = members[0]

    def read(member: int, _epoch: int) -> FloatArray:
        scores = members[member].full_scores
        if scores is None:
            raise InputError(f"model {members[member].model} has no full scores")
        return scores

    space = store.class_spaces.read(first.class_space)
    return Checkpoints(
        members[0].model if len(members) == 1 else _MEMBERS,
        test_set.name,
        space.name,
        _kind(first),
        tuple(member.model for member in members),
        (1,),
        len(test_set),
        len(space),
        read,
    )


def _with_scores(predictions: Predictions) -> Predictions:
    if predictions.full_scores is None or predictions.score_kind is None:
        raise InputError(
            f"model {predictions.model!r} has no full scores on {predictions.test_set}: import them, or predict with "
            "--keep scores"
        )
    if predictions.covered is not None:
        part = f"{predictions.covered.sum():,} of {len(predictions):,} images of {predictions.test_set}"
        raise InputError(
            f"model {predictions.model} has predictions on {part}: a member of an ensemble needs scores of all images"
        )
    return predictions


def _kind(predictions: Predictions) -> ScoreKind:
    return predictions.score_kind or ScoreKind.LOGITS


def _ensemble_scoring(store: Store, test_set: TestSet, checkpoints: Checkpoints) -> Scoring:
    """The scoring of the ensemble's own predictions: the same as for any model."""
    predicted = store.class_spaces.read(checkpoints.class_space)
    stored = store.class_maps.read(test_set)
    fits = stored is not None and stored.source.digest == predicted.digest
    return scoring_for(test_set, predicted, class_map=stored if fits else None)


def _keep(store: Store, result: Confusion, name: str) -> str:
    """Store the hard set for the command, and say so."""
    stored = keep_hard_set(store, result, name)
    images = amount(len(stored.test_set), "image")
    missing = "" if stored.images else ", without images as the source has none"
    what = "test set" if stored.new else "unchanged: test set"
    return f"{what} and slice {name} of {result.test_set}: {images}{missing}"


def write_figures(store: Store, result: Confusion, folder: str | Path) -> tuple[str, ...]:
    """Write the figures of the paper as SVG, and a gallery as HTML if there are images; return the file names."""
    target = Path(folder)
    with write_errors(target):
        target.mkdir(parents=True, exist_ok=True)
    names = [figure.save(target / f"{name}.svg").name for name, figure in paper_figures(result).items()]
    if not store.images.has(result.test_set):
        return tuple(names)
    test_set = store.test_set(result.test_set)
    write_file(target / _GALLERY, gallery_page(result, test_set, thumbnails(store.images.read(test_set))))
    return (_GALLERY, *names)


def _write_figures(store: Store, result: Confusion, folder: str) -> str:
    names = write_figures(store, result, folder)
    missing = "" if _GALLERY in names else f"; no {_GALLERY}, as {result.test_set} has no images"
    return f"figures in {folder}: {', '.join(names)}{missing}"


def _chosen_part(options: ConfusionOptions, _: Confusion) -> ConfusionPart | None:
    return ConfusionPart.EXPECTED if options.unlabeled else ConfusionPart.BANDS if options.before else None


def chapters(data: ReportData) -> Iterator[Chapter]:
    """Every set with an ensemble; the expected error on another set is computed from the original only."""
    for test_set in data.sets:
        ensembles = data.store.ensembles.names(test_set.name)
        if not ensembles:
            continue
        also = [
            name for name in data.names if name != test_set.name and ensembles[0] in data.store.ensembles.names(name)
        ]
        unlabeled = also[0] if also and test_set.name == data.original.name else None
        options = ConfusionOptions(test_set.name, ensembles=ensembles, unlabeled=unlabeled)
        tables = (*_IN_REPORT, *_OF_ENSEMBLES) if len(ensembles) > 1 else _IN_REPORT
        yield Chapter(test_set.name, options, parts_of(*tables))


CONFUSION = Study(
    name="confusion",
    question="Which images confuse models?",
    summary="Score images by the confusion of an ensemble during training; show errors by score and on the hard "
    "images.",
    requires="Requires scores of several seeds over epochs: regrade import checkpoints.",
    options=ConfusionOptions,
    result=Confusion,
    run=run,
    figure=confusion_figure,
    findings=confusion_findings,
    parts=Parts(
        ConfusionPart,
        "Table to print. bins: error by score. images: score per image. distribution: of the scores. checkpoints: with "
        "fewer epochs or seeds. ranks: correlation of ensembles or seeds. expected: --unlabeled. rivals: other scores, "
        "and their cost. strides: by epochs and seeds. ensembles: mean score and accuracy. bands: --before and "
        "--after. trends: how the correlation of score and errors goes with accuracy, size, data, year and family of "
        "models.",
        _chosen_part,
    ),
    outputs=(
        Output("write", "NAME", "Store the hard images as test set NAME, and as slice NAME of this test set.", _keep),
        Output(
            "figures",
            "FOLDER",
            "Also write the figures of Albiero et al. 2023 to this folder, by name: SVG, and a gallery as HTML.",
            _write_figures,
        ),
    ),
    chapters=chapters,
)
