"""Tables of the mistakes study."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from regrade.core import Cell, Column, Estimate, MistakeCategory, Table
from regrade.core.amounts import amount
from regrade.stats import PairedChiSquare
from regrade.studies.mistakes.categories import Categories, CategoryTest, MajorSlice
from regrade.studies.mistakes.confused_classes import DEFINITION, DistanceCount, PairTail
from regrade.studies.mistakes.flow import Change, Flow
from regrade.studies.mistakes.triage import ALIKE, TriageAgreement, TriageKind, TriageRow, by_kind, in_order

_LISTED = 5  # most frequencies of pairs listed in a note

_RARE_KINDS = (TriageKind.COLLAPSED, TriageKind.CO_OCCURRENCE, TriageKind.NON_PROTOTYPICAL)


def flow_table(title: str, flows: Sequence[Flow], notes: Sequence[str]) -> Table:
    """Return one row per model, without empty columns."""
    judged = any(flow.overturned or flow.added for flow in flows)
    columns = [Column("model", "model"), Column("images", "images"), Column("mistakes", "mistakes")]
    for key, heading in _REVIEW.items():
        if any(getattr(flow, key) for flow in flows):
            columns.append(Column(key, heading))
    if judged:
        columns.append(Column("remaining", "remaining"))
    by_classes = all(flow.before.over_classes for flow in flows)
    for when in ("before", "after") if judged else ("before",):
        words = f", {when}" if judged else ""
        columns.append(Column(f"{when}.over_images", f"multi-label over images{words}"))
        if by_classes:
            columns.append(Column(f"{when}.over_classes", f"over classes{words}"))
    rows = tuple(tuple(_attribute(flow, column.key) for column in columns) for flow in flows)
    named = tuple(Column(c.key.replace(".", "_"), c.heading) for c in columns)
    rules = (
        "a mistake is a prediction that is neither correct nor unclear",
        "over images: right if correct; over classes: right if correct or unclear, mean over the original labels",
        *_methods(value for flow in flows for value in (flow.before.over_images, flow.before.over_classes)),
    )
    return Table(f"mistakes on {title}, accuracies in %", named, rows, (*rules, *notes))


_REVIEW = {
    "novel": "novel",
    "judged": "of these judged",
    "to_correct": "now correct",
    "to_unclear": "now unclear",
    "to_problematic": "now problematic",
    "added": "added",
}


def triage_table(title: str, rows: Sequence[TriageRow], notes: Sequence[str]) -> Table:
    """Return one row per model: its errors, and the share of each kind."""
    kinds = [kind for kind, _ in in_order(rows[0].counts)]
    columns = (
        Column("model", "model"),
        Column("errors", "errors"),
        *(Column(kind.name.lower(), kind.value, detail=kind in _RARE_KINDS) for kind in kinds),
        Column("rejected", "label rejected", detail=True),
    )
    lines = tuple((row.model, row.errors, *_shares(row), row.rejected) for row in rows)
    return Table(
        f"suggested kinds of errors on {title}, in % of a model's errors",
        columns,
        lines,
        (
            "a suggestion, not a decision: the first kind that fits, from left to right",
            "an error is a prediction other than the original label; label rejected: further predictions, equal to an "
            "original label that is not right",
            *_methods(share for row in rows for share in row.shares or ()),
            *notes,
        ),
    )


def _shares(row: TriageRow) -> list[Cell]:
    """The share of each kind in the order of the columns; empty cells without errors."""
    return [share for _, share in in_order(row.shares or (None,) * len(row.counts))]


def agreement_table(title: str, rows: Sequence[TriageAgreement], notes: Sequence[str]) -> Table:
    """Return seven rows per source and review: reviewers' categories with the kinds that the triage suggests."""
    columns = (
        Column("source", "predictions of"),
        Column("review", "on mistakes of"),
        Column("images", "images in both"),
        Column("same", "same prediction", detail=True),
        Column("category", "people say"),
        Column("people", "people"),
        Column("triage", "triage"),
        Column("kind", "triage suggests"),
    )
    categories = list(MistakeCategory)
    lines: tuple[tuple[Cell, ...], ...] = tuple(
        (
            row.source,
            row.review,
            row.images,
            row.same,
            category.value if category else None,
            row.people[categories.index(category)] if category else None,
            by_kind(row.triage).get(kind) if kind else None,
            kind.value if kind in by_kind(row.triage) else None,
        )
        for row in rows
        for category, kind in ALIKE
    )
    table_notes = (
        *(_crossed(row) for row in rows if row.source == row.review),
        "images in both: a review lists the image as a mistake of its model, the labels score it, and this model errs "
        "on it, too; people judged the prediction of the reviewed model, the triage that of this model",
        "the triage takes its non-prototypical images from the reviews themselves",
        *_methods(share for row in rows for share in row.triage),
        *notes,
    )
    return Table(f"triage compared with people on {title}, in % of the images", columns, lines, table_notes)


def _crossed(row: TriageAgreement) -> str:
    """Describe the triage kinds of mistakes that people call fine-grained."""
    place = list(MistakeCategory).index(MistakeCategory.FINE_GRAINED)
    counts = row.counts[place]
    parts = ", ".join(f"{count:,} {kind.value}" for kind, count in in_order(counts) if count)
    return f"{row.review}: of {sum(counts):,} that people call fine-grained, the triage has {parts or 'none'}"


def category_table(test_set: str, categories: Categories, review_notes: Sequence[str] = ()) -> Table:
    """Return one row per review and category, with the chi-square tests as notes."""
    columns = (
        Column("review", "reviewed mistakes of"),
        Column("category", "category"),
        Column("mistakes", "mistakes"),
        Column("share", "share"),
        Column("major", "major"),
        Column("minor", "minor", detail=True),
        Column("major_share", "major among them"),
    )
    lines = tuple(
        (count.review, count.name, count.mistakes, count.share, count.major, count.minor, count.major_share)
        for count in categories.counts
    )
    notes = (
        *(test_in_words(test) for test in categories.tests),
        "borderline counts as minor; chi-square: Pearson's, without Yates' correction",
        *_methods(count.share for count in categories.counts),
        *review_notes,
    )
    return Table(f"kinds of mistakes on {test_set}, shares in %", columns, lines, notes)


def distance_table(title: str, counts: Sequence[DistanceCount]) -> Table:
    """Return one row per source and distance, with reviewers' categories if available."""
    columns = [
        Column("source", "mistakes of"),
        Column("distance", "distance"),
        Column("mistakes", "mistakes"),
        Column("share", "share"),
    ]
    reviewed = any(count.categories for count in counts)
    if reviewed:
        columns += [Column(category.name.lower(), category.value) for category in MistakeCategory]
    nothing: tuple[Cell, ...] = (None,) * len(MistakeCategory)
    lines = tuple(
        (
            count.source,
            count.distance,
            count.mistakes,
            count.share,
            *((tuple(count.categories.values()) if count.categories else nothing) if reviewed else ()),
        )
        for count in counts
    )
    notes = [f"distance: {DEFINITION}", *_methods(count.share for count in counts)]
    if any(count.distance == 0 for count in counts):
        notes.append("distance 0: the labels accept what the review calls a mistake")
    return Table(f"distance in the hierarchy on {title}, shares in %", tuple(columns), lines, tuple(notes))


def pair_table(title: str, pairs: PairTail) -> Table:
    """Return one row per pair of classes."""
    columns = (
        Column("first", "one class"),
        Column("first_name", "name"),
        Column("second", "other class"),
        Column("second_name", "name"),
        Column("count", "confused"),
        Column("models", "by models"),
    )
    lines = tuple(tuple(getattr(pair, column.key) for column in columns) for pair in pairs.rows())
    tail = ", ".join(f"{_times(size)} {number:,}" for size, number in list(pairs.frequencies.items())[:_LISTED])
    notes = (
        f"{amount(len(pairs), 'pair')}, {amount(pairs.total, 'confusion')}; pairs confused {tail or 'never'}"
        + (", ..." if len(pairs.frequencies) > _LISTED else ""),
        "pairs are unordered; a prediction is paired with each right class of its image",
    )
    sources = pairs.sources[0] if len(pairs.sources) == 1 else f"{len(pairs.sources)} models"
    return Table(f"confused pairs of {sources} on {title}", columns, lines, notes)


def change_table(title: str, changes: Sequence[Change], notes: Sequence[str]) -> Table:
    """Return one row per model compared with the model ``against``."""
    columns = (
        Column("model", "model"),
        Column("fixed", "fixed"),
        Column("new", "new"),
        Column("common", "common"),
        Column("same", "same prediction", detail=True),
        Column("other", "other prediction"),
        Column("fixed_share", "fixed, in %"),
    )
    lines = tuple(
        (c.model, c.fixed, c.new, c.common, c.same, c.different, c.fixed_share) for c in changes
    )  # fmt: skip
    against = changes[0].against
    table_notes = (
        f"fixed: mistakes of {against} only; new: of this model only; common: both err, with the same or different "
        "predictions",
        *_methods(change.fixed_share for change in changes),
        *notes,
    )
    return Table(f"mistakes compared with those of {against} on {title}", columns, lines, table_notes)


def major_table(title: str, major: MajorSlice) -> Table:
    """Return one row per model on the slice of major mistakes."""
    lines = tuple(
        (score.model, _count(score.right), None if score.right is None else score.right.n, score.right)
        for score in major.scores
    )
    columns = (
        Column("model", "model"),
        Column("right", "right"),
        Column("images", "images"),
        Column("share", "right, in %"),
    )
    notes = (
        f"{amount(major.images, 'image')} on which at least {major.least} of {', '.join(major.models)} make a major "
        "mistake; models are graded on those of them that the labels score",
        "right: correct or unclear",
        *_methods(score.right for score in major.scores),
    )
    return Table(f"major mistakes on {title}", columns, lines, notes)


def test_in_words(test: CategoryTest) -> str:
    """Describe a chi-square test as in papers, with its warning, and the paired test."""
    what = f"{test.of} of {test.first} and {test.second}"
    if test.test is None:
        return f"{what}: nothing to test"
    result = test.test
    warning = f"; {result.warning}" if result.warning else ""
    paired = f"; {_paired_in_words(test.paired)}" if test.paired else ""
    return (
        f"{what}: chi-square({result.freedom}, {result.n:,}) = {result.statistic:.2f}, p = {result.p_value:.2g}"
        f"{warning}{paired}"
    )


def _paired_in_words(test: PairedChiSquare) -> str:
    return (
        f"paired over {amount(test.images, 'image')}, of which both have {test.shared:,}: p = {test.p_value:.2g} "
        f"(Wald {test.statistic:.2f}, F with {test.freedom[0]} and {test.freedom[1]:,})"
    )


def _count(share: Estimate | None) -> int | None:
    return None if share is None else round(share.value * share.n)


def _attribute(flow: Flow, key: str) -> Cell:
    value: Any = flow
    for part in key.split("."):
        value = getattr(value, part)
    cell: Cell = value
    return cell


def _times(size: int) -> str:
    return {1: "once", 2: "twice"}.get(size, f"{size:,} times")


def _methods(estimates: Any) -> tuple[str, ...]:
    methods = sorted({estimate.method for estimate in estimates if estimate})
    return (f"intervals: {', '.join(methods)}",) if methods else ()
