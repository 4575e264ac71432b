"""The tables of a study of confusion."""

from __future__ import annotations

from regrade.core import Cell, Column, Estimate, Table, UndefinedError
from regrade.core.amounts import amount
from regrade.studies.confusion.result import Confusion, ConfusionPart

_NEEDS = {
    ConfusionPart.MODELS: "labels and models with predictions on them",
    ConfusionPart.BINS: "labels and models with predictions on them",
    ConfusionPart.CHECKPOINTS: "several epochs or several members",
    ConfusionPart.RANKS: "several ensembles, or several members",
    ConfusionPart.EXPECTED: "a set without labels: --unlabeled",
}


def confusion_table(study: Confusion, part: ConfusionPart) -> Table:
    """One of the tables; one that has nothing to say raises and tells what it needs."""
    if part not in study.parts:
        raise UndefinedError(f"the table of {part.value} needs {_NEEDS[part]}")
    return _TABLES[part](study)


def basis(study: Confusion) -> str:
    """Whose confusion over which checkpoints, in words."""
    ensemble = study.ensemble
    members = amount(len(ensemble.members), "member")
    return (
        f"confusion of {ensemble.name} ({members} x {amount(len(ensemble.epochs), 'epoch')}, {ensemble.kind.value}), "
        f"in {ensemble.unit}, 0 to {ensemble.top:.2f}"
    )


def distribution_in_words(study: Confusion) -> str:
    """The middle, the middle half and the peak of the scores."""
    found = study.distribution
    told = {share: each for share, each in found.quantiles.items() if each}
    middle = f"median {_plain(told[0.5])}, " if 0.5 in told else f"mean {found.mean:.2f}, "
    half = f"middle half {told[0.25].value:.2f} to {told[0.75].value:.2f}, " if {0.25, 0.75} <= set(told) else ""
    return f"scores of {amount(study.images, 'image')}: {middle}{half}most of them near {found.peak:.2f}"


def _models(study: Confusion) -> Table:
    columns = [
        Column("model", "model"),
        Column("error", "error"),
        Column("correlation", "r, images", percent=False, digits=2),
        Column("binned_correlation", "r, bins", percent=False, digits=2),
    ]
    if study.hard:
        columns += [Column("hard", "error, hard"), Column("rest", "error, rest"), Column("difference", "difference")]
    rows: list[tuple[Cell, ...]] = []
    for one in study.models:
        row: list[Cell] = [one.model, one.error, one.curve.single, one.curve.binned]
        if study.hard:
            found = one.transfer
            row += [found.hard, found.rest, found.difference] if found else [None] * 3
        rows.append(tuple(row))
    return Table(
        f"{study.test_set}: error in %, and {basis(study)}", tuple(columns), tuple(rows), (*_said(study), *study.notes)
    )


def _said(study: Confusion) -> tuple[str, ...]:
    notes = [distribution_in_words(study)]
    notes.append(
        f"r: Pearson's correlation of score and error, over images and over bins of {study.bins.width:g} "
        f"{study.ensemble.unit}; sparse bins count as much as full ones there, and draw it towards 0"
    )
    if study.hard:
        notes.append(f"hard: {study.hard.rule}; {study.hard.images:,} of {amount(study.images, 'image')}")
    if study.ranking:
        notes.append(f"do models keep their order on hard images? Kendall's tau {_plain(study.ranking)}")
    methods = {one.error.method for one in study.models}
    methods |= {one.method for m in study.models for one in (m.curve.single, m.curve.binned) if one}
    methods |= {m.transfer.difference.method for m in study.models if m.transfer and m.transfer.difference}
    notes.append(f"intervals: {', '.join(sorted(methods))}")
    return tuple(notes)


def _bins(study: Confusion) -> Table:
    columns = (
        Column("model", "model"),
        Column("low", "score from", percent=False, digits=2),
        Column("high", "to below", percent=False, digits=2),
        Column("images", "images"),
        Column("error", "error"),
    )
    rows = tuple(
        (one.model, each.low, each.high, each.error.n, each.error) for one in study.models for each in one.curve.bins
    )
    return Table(f"{study.test_set}: error in % by {basis(study)}", columns, rows, study.notes)


def _images(study: Confusion) -> Table:
    """One line an image, in the order of the test set."""
    columns = [Column("example", "image"), Column("score", "score", percent=False, digits=4)]
    inside = study.hard.inside.tolist() if study.hard else None
    if inside:
        columns.append(Column("hard", "hard"))
    rows = [(example, score) for example, score in zip(study.ids, study.scores.tolist(), strict=True)]
    shown = tuple((*row, inside[i]) if inside else row for i, row in enumerate(rows))
    return Table(f"{study.test_set}: {basis(study)}", tuple(columns), shown, study.notes)


def _distribution(study: Confusion) -> Table:
    columns = (
        Column("share", "below it, in % of images", digits=0),
        Column("score", "score", percent=False, digits=2),
    )
    rows = tuple((share, found) for share, found in study.distribution.quantiles.items())
    notes = [distribution_in_words(study)]
    if study.hard:
        notes.append(f"hard: {study.hard.rule}; {study.hard.images:,} of {amount(study.images, 'image')}")
    return Table(f"{study.test_set}: {basis(study)}", columns, rows, (*notes, *study.notes))


def _checkpoints(study: Confusion) -> Table:
    columns = (
        Column("what", "from"),
        Column("epochs", "epochs"),
        Column("members", "members"),
        Column("correlation", "r with the full score", percent=False, digits=3),
        Column("peak", "most scores near", percent=False, digits=2),
    )
    rows = tuple(tuple(getattr(one, column.key) for column in columns) for one in study.fewer)
    full = ("all", len(study.ensemble.epochs), len(study.ensemble.members), None, study.distribution.peak)
    return Table(f"{study.test_set}: {basis(study)}, from fewer checkpoints", columns, (full, *rows), study.notes)


def _ranks(study: Confusion) -> Table:
    columns = (
        Column("first", "first"),
        Column("second", "second"),
        Column("tau", "Kendall's tau-b", percent=False, digits=2),
    )
    rows = tuple((one.first, one.second, one.tau) for one in study.agreements)
    note = f"on {amount(study.images, 'image')}; 1: the same order from easy to confusing, 0: none in common"
    return Table(f"{study.test_set}: scores side by side", columns, rows, (note, *study.notes))


def _expected(study: Confusion) -> Table:
    other = study.other
    if other is None:
        raise UndefinedError(_NEEDS[ConfusionPart.EXPECTED])
    columns = [
        Column("model", "model"),
        Column("labeled", f"error on {study.test_set}"),
        Column("by_score", "expected by score"),
        Column("average_confidence", "average confidence"),
        Column("thresholded", "thresholded confidence"),
        Column("agreement_line", "agreement on the line"),
        Column("actual", "actual"),
        Column("gap", "by score − actual"),
    ]
    shown = [column for column in columns if any(getattr(one, column.key) is not None for one in other.errors)]
    rows = tuple(tuple(getattr(one, column.key) for column in shown) for one in other.errors)
    methods = sorted({
        value.method for one in other.errors for value in vars(one).values() if isinstance(value, Estimate)
    })  # fmt: skip
    notes = [
        "by score: right if images of one score err alike in both sets; average confidence: if the model is calibrated "
        "there, as often right as it is sure; thresholded: if as many answers lie below one confidence as are wrong in "
        "both sets; agreement: if accuracies lie on the line of agreements. None of this can be seen without labels",
        "intervals cover the drawing of the images, not that an assumption fails: an overconfident model may err far "
        f"more than its interval of average confidence says; intervals: {', '.join(methods)}",
    ]
    if other.beyond:
        notes.append(
            f"{amount(other.beyond, 'image')} of {other.test_set} {'has' if other.beyond == 1 else 'have'} a score "
            f"outside those of {study.test_set}, and count as the nearest there"
        )
    title = f"error to expect on {amount(other.images, 'image')} of {other.test_set}, in %, from {study.test_set}"
    return Table(title, tuple(shown), rows, (*notes, *study.notes))


def _plain(found: Estimate) -> str:
    return f"{found.value:.2f} [{found.low:.2f}, {found.high:.2f}]"


_TABLES = {
    ConfusionPart.MODELS: _models,
    ConfusionPart.BINS: _bins,
    ConfusionPart.IMAGES: _images,
    ConfusionPart.DISTRIBUTION: _distribution,
    ConfusionPart.CHECKPOINTS: _checkpoints,
    ConfusionPart.RANKS: _ranks,
    ConfusionPart.EXPECTED: _expected,
}
