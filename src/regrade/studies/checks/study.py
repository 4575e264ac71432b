"""The record of the methodology checks: their options, and how the facts of an evaluation are loaded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from regrade.core import STORED_K, LabelSet, LabelState, TestSet, Unlisted
from regrade.core.arrays import IntArray
from regrade.store import SignatureKey
from regrade.studies.checks.analysis import check_methodology
from regrade.studies.checks.facts import ComparedImages, Evaluation, LabelFacts, ModelFacts, SetFacts
from regrade.studies.checks.findings import checks_findings
from regrade.studies.checks.result import Methodology
from regrade.studies.grade.study import report_slices
from regrade.studies.leakage.study import searched_pairs
from regrade.studies.report_data import ReportData
from regrade.studies.shared_images import shared_images
from regrade.studies.study import Chapter, Study, StudyOptions, option

if TYPE_CHECKING:
    from regrade.store import Store

_WITH_TIES = 3  # format of manifests that record ties


@dataclass(frozen=True)
class ChecksOptions(StudyOptions):
    """Which test sets and label sets are checked."""

    test_sets: Sequence[str] = option(
        "Check this test set. May be repeated (default: all).", (), names=("--test-set", "-t")
    )
    original: str | None = option(
        "Test set that the others are compared with (default: the one with the most models and images).", None
    )
    labels: Sequence[str] = option(
        "Use NAME@VERSION instead of the newest version of a label set. May be repeated.", (), names=("--labels", "-l")
    )


def run(store: Store, options: ChecksOptions) -> Methodology:
    """Check an evaluation for known pitfalls: each is found, passed, or does not apply to the stored data."""
    return check_methodology(evaluation_of(ReportData(store, options.test_sets, options.original, options.labels)))


def evaluation_of(data: ReportData) -> Evaluation:
    """The facts of the test sets of a report, with their models and label sets."""
    return Evaluation(
        tuple(_set_facts(data, test_set) for test_set in data.sets),
        data.original.name,
        tuple(test_set.name for test_set in data.sets if data.comparable(test_set)),
        tuple(_compared(data)),
        frozenset(
            frozenset((first.name, second.name))
            for first, second in combinations(data.sets, 2)
            if shared_images(first, second) is not None
        ),
    )


def _set_facts(data: ReportData, test_set: TestSet) -> SetFacts:
    store = data.store
    slices = [part for name in report_slices(test_set) for part in test_set.slices_of(name)]
    return SetFacts(
        test_set,
        tuple(_model_facts(store, test_set, name) for name in store.predictions.model_names(test_set.name)),
        tuple(_label_facts(store, test_set, store.labels.read(test_set, name)) for name in data.labels(test_set)),
        {name: int((test_set.slice(name) & test_set.labeled).sum()) for name in slices},
    )


def _top1(store: Store, test_set: TestSet, model: str) -> IntArray | None:
    """The top-1 classes (n,); None if the model predicts other classes than those of the test set."""
    predictions = store.predictions.read(test_set, model)
    return predictions.top1 if predictions.class_space == test_set.class_space.name else None


def _model_facts(store: Store, test_set: TestSet, name: str) -> ModelFacts:
    manifest = store.predictions.manifest(test_set.name, name)
    records_ties = manifest.k >= STORED_K and manifest.format >= _WITH_TIES
    return ModelFacts(
        name,
        len(test_set) if manifest.asked is None else manifest.asked,
        manifest.tied if records_ties else None,
        manifest.model.weights_hash,
        manifest.model.preprocessing,
    )


def _label_facts(store: Store, test_set: TestSet, labels: LabelSet) -> LabelFacts:
    """Count, per model, the predictions other than the original label on scored images, and those that were judged."""
    to_judge, judged = {}, {}
    for name in store.predictions.model_names(test_set.name):
        top1 = _top1(store, test_set, name)
        if top1 is not None:
            disagreeing = labels.scored & test_set.labeled & (top1 >= 0) & (top1 != test_set.labels)
            to_judge[name] = int(disagreeing.sum())
            judged[name] = int((disagreeing & (labels.states_of(top1) != LabelState.UNJUDGED)).sum())
    sampled = store.reviews.read(test_set, labels) is not None
    return LabelFacts(labels.full_name, labels.unlisted is Unlisted.WRONG, to_judge, judged, sampled)


def _compared(data: ReportData) -> Iterator[ComparedImages]:
    """The exact duplicates among images with stored signatures; sets that share images by their ids are left out."""
    for name in data.names:
        sizes = sorted(data.store.signatures.sizes(name))
        if sizes and (hashes := _pixel_hashes(data.store, name, sizes[-1])) is not None:
            yield ComparedImages(name, name, len(hashes) - len(np.unique(hashes)))
    for name, against, size in searched_pairs(data):
        first, second = (_pixel_hashes(data.store, which, size) for which in (name, against))
        if first is None or second is None:
            continue
        if shared_images(data.store.test_set(name), data.store.test_set(against)) is None:
            yield ComparedImages(name, against, int(np.isin(first, second).sum()))


def _pixel_hashes(store: Store, name: str, size: int) -> NDArray[np.void] | None:
    """The hash of the decoded pixels of every readable image; None if the images are not those of the signatures."""
    test_set = store.test_set(name)
    if not store.images.has(name):
        return None
    signatures = store.signatures.read(name, SignatureKey(store.images.read(test_set), size))
    if signatures is None:
        return None
    hashes = np.ascontiguousarray(signatures.pixel_hashes[signatures.readable])
    return hashes.view(np.dtype((np.void, hashes.shape[1])))[:, 0]


def chapters(data: ReportData) -> Iterator[Chapter]:
    """The checks of all test sets of the report."""
    labels = [name for test_set in data.sets for name in data.labels(test_set)]
    yield Chapter("", ChecksOptions(data.names, data.original.name, labels))


CHECKS = Study(
    name="checks",
    question="Which known pitfalls does this evaluation have?",
    summary="Check an evaluation for numbered pitfalls (RG001, RG002, ...): each is found, passed, or does not apply."
    "\n\nOnly stored data are used. --json also says why a pitfall matters and where it is explained.",
    options=ChecksOptions,
    result=Methodology,
    run=run,
    findings=checks_findings,
    verdicts=lambda result: frozenset(row.outcome for row in result.rows),
    chapters=chapters,
    head=None,
)
