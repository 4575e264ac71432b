"""Tables of the confusion study."""

from __future__ import annotations

from regrade.core import Cell, Column, Estimate, ScoreKind, Table, UndefinedError
from regrade.core.amounts import amount
from regrade.studies.attribute_trends import FEWEST_MODELS
from regrade.studies.confusion.result import Confusion, ConfusionPart
from regrade.studies.confusion.rivals import Rival
from regrade.studies.confusion.trends import ScoreTrend

_NEEDS = {
    ConfusionPart.MODELS: "labels and models with predictions on them",
    ConfusionPart.BINS: "labels and models with predictions on them",
    ConfusionPart.CHECKPOINTS: "several epochs or several members",
    ConfusionPart.RANKS: "several ensembles, or several members",
    ConfusionPart.EXPECTED: "a set without labels: --unlabeled",
    ConfusionPart.RIVALS: "another score",
    ConfusionPart.STRIDES: "several epochs or several members",
    ConfusionPart.ENSEMBLES: "an ensemble",
    ConfusionPart.BANDS: "two models: --before and --after",
    ConfusionPart.TRENDS: f"{FEWEST_MODELS} models outside the ensemble with errors and right predictions",
}


def confusion_table(study: Confusion, part: ConfusionPart) -> Table:
    """Return one of the tables; raises with the missing input if it is not available."""
    if part not in study.parts:
        raise UndefinedError(f"the table of {part.value} needs {_NEEDS[part]}")
    return _TABLES[part](study)


def basis(study: Confusion) -> str:
    """Describe the ensemble and its checkpoints."""
    ensemble = study.ensemble
    members = amount(len(ensemble.members), "member")
    return (
        f"confusion of {ensemble.name} ({members} x {amount(len(ensemble.epochs), 'epoch')}, {ensemble.kind.value}), "
        f"in {ensemble.unit}, 0 to {ensemble.top:.2f}"
    )


def distribution_in_words(study: Confusion) -> str:
    """Describe the median, the quartiles and the peak of the scores."""
    scores = study.distribution
    quantiles = {share: value for share, value in scores.quantiles.items() if value}
    middle = f"median {_plain(quantiles[0.5])}, " if 0.5 in quantiles else f"mean {scores.mean:.2f}, "
    half = ""
    if {0.25, 0.75} <= set(quantiles):
        half = f"middle half {quantiles[0.25].value:.2f} to {quantiles[0.75].value:.2f}, "
    return f"scores of {amount(study.images, 'image')}: {middle}{half}most frequent near {scores.peak:.2f}"


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
    for model in study.models:
        row: list[Cell] = [model.model, model.error, model.curve.single, model.curve.binned]
        if study.hard:
            errors = model.transfer
            row += [errors.hard, errors.rest, errors.difference] if errors else [None] * 3
        rows.append(tuple(row))
    title, notes = f"{study.test_set}: error in %, and {basis(study)}", (*_model_notes(study), *study.notes)
    return Table(title, tuple(columns), tuple(rows), notes)


def _model_notes(study: Confusion) -> tuple[str, ...]:
    notes = [distribution_in_words(study)]
    notes.append(
        f"r: Pearson's correlation of score and error, over images and over bins of {study.bins.width:g} "
        f"{study.ensemble.unit}; sparse bins count as much as full ones there, and draw r towards 0"
    )
    if study.hard:
        notes.append(f"hard: {study.hard.rule}; {study.hard.images:,} of {amount(study.images, 'image')}")
    if study.ranking:
        notes.append(f"do models keep their order on hard images? Kendall's tau {_plain(study.ranking)}")
    models = study.models
    methods = {model.error.method for model in models}
    methods |= {r.method for model in models for r in (model.curve.single, model.curve.binned) if r}
    methods |= {model.transfer.difference.method for model in models if model.transfer and model.transfer.difference}
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
        (model.model, score_bin.low, score_bin.high, score_bin.error.n, score_bin.error)
        for model in study.models
        for score_bin in model.curve.bins
    )
    return Table(f"{study.test_set}: error in % by {basis(study)}", columns, rows, study.notes)


def _images(study: Confusion) -> Table:
    """One row per image, in the order of the test set."""
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
    rows = tuple(study.distribution.quantiles.items())
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
    rows = tuple(tuple(getattr(row, column.key) for column in columns) for row in study.fewer)
    full = ("all", len(study.ensemble.epochs), len(study.ensemble.members), None, study.distribution.peak)
    return Table(f"{study.test_set}: {basis(study)}, from fewer checkpoints", columns, (full, *rows), study.notes)


def _ranks(study: Confusion) -> Table:
    columns = (
        Column("first", "first"),
        Column("second", "second"),
        Column("tau", "Kendall's tau-b", percent=False, digits=2),
    )
    rows = tuple((pair.first, pair.second, pair.tau) for pair in study.agreements)
    note = f"on {amount(study.images, 'image')}; 1: the same order from easy to confusing, 0: none in common"
    return Table(f"{study.test_set}: scores side by side", columns, rows, (note, *study.notes))


def _expected(study: Confusion) -> Table:
    unlabeled = study.unlabeled
    if unlabeled is None:
        raise UndefinedError(_NEEDS[ConfusionPart.EXPECTED])
    columns = [
        Column("model", "model"),
        Column("labeled", f"error on {study.test_set}"),
        Column("by_score", "expected by score", detail=True),
        Column("average_confidence", "average confidence", detail=True),
        Column("thresholded", "thresholded confidence", detail=True),
        Column("agreement_line", "agreement on the line", detail=True),
        Column("actual", "actual"),
        Column("gap", "by score − actual"),
    ]
    shown = [column for column in columns if any(getattr(row, column.key) is not None for row in unlabeled.errors)]
    rows = tuple(tuple(getattr(row, column.key) for column in shown) for row in unlabeled.errors)
    methods = sorted({
        value.method for row in unlabeled.errors for value in vars(row).values() if isinstance(value, Estimate)
    })  # fmt: skip
    notes = [
        "assumptions: by score: the error depends only on the score; average confidence: the model is calibrated on "
        "the unlabeled set; thresholded: in both sets as many predictions lie below one confidence as are wrong; "
        "agreement: accuracies lie on the line of agreements. None of these can be checked without labels",
        "intervals cover the sampling of images, not a violated assumption: an overconfident model may err far "
        f"more than its interval of average confidence says; intervals: {', '.join(methods)}",
    ]
    if unlabeled.beyond:
        notes.append(
            f"{amount(unlabeled.beyond, 'image')} of {unlabeled.test_set} {'has' if unlabeled.beyond == 1 else 'have'} "
            f"a score outside the range on {study.test_set}, and count as the nearest score in it"
        )
    images = amount(unlabeled.images, "image")
    title = f"error to expect on {images} of {unlabeled.test_set}, in %, from {study.test_set}"
    return Table(title, tuple(shown), rows, (*notes, *study.notes))


def _rivals(study: Confusion) -> Table:
    columns = [
        Column("score", "score"),
        Column("uses_labels", "uses labels"),
        Column("training_epochs", "training epochs", detail=True),
        Column("checkpoints", "checkpoints", detail=True),
        Column("auroc", "AUROC of errors", percent=False, digits=3),
        Column("difference", "minus confusion", percent=False, digits=3),
        Column("hardest_error", "error, its hardest tenth"),
        Column("tau", "tau, confusion", percent=False, digits=2),
        Column("human_tau", "tau, people", percent=False, digits=2, detail=True),
    ]
    records = [_rival_cells(rival) for rival in study.rivals]
    shown = [column for column in columns if any(record[column.key] is not None for record in records)]
    rows = tuple(tuple(record[column.key] for column in shown) for record in records)
    title = f"{study.test_set}: which score identifies errors, {basis(study)} and its rivals"
    return Table(title, tuple(shown), rows, (*_rival_notes(study), *study.notes))


def _rival_cells(rival: Rival) -> dict[str, Cell]:
    cost = rival.cost
    return {
        "score": rival.score,
        "uses_labels": "yes" if rival.uses_labels else "no",
        "training_epochs": cost.training_epochs if cost else None,
        "checkpoints": cost.checkpoints if cost else None,
        "auroc": rival.auroc,
        "difference": rival.difference,
        "hardest_error": rival.hardest_error,
        "tau": rival.tau,
        "human_tau": rival.human_tau,
    }


def _rival_notes(study: Confusion) -> tuple[str, ...]:
    notes = ["training epochs, checkpoints: over all members that a score needs"]
    if study.ensemble.kind is ScoreKind.PROBABILITIES:
        notes.append("AUM: of log-probabilities, as no logits are stored; they have the same differences")
    if any(rival.uses_labels for rival in study.rivals):
        notes.append(
            "scores that use labels also flag wrong labels, on which every model errs; they cannot be computed for "
            "images without labels"
        )
    outsiders = len(study.outsiders)
    if any(rival.auroc for rival in study.rivals):
        notes.append(
            "AUROC: how often an error has a higher score than a correct prediction, mean over "
            f"{amount(outsiders, 'model')} outside the ensemble; intervals are over images, those of the differences "
            "hold together"
        )
    else:
        notes.append("nothing is said of errors: no model outside the ensemble has both errors and correct predictions")
    if any(rival.human_tau for rival in study.rivals):
        notes.append("people agree fully on many images: ties make the intervals of tau with people too short")
    methods = {
        estimate.method
        for rival in study.rivals
        for estimate in (rival.auroc, rival.difference, rival.hardest_error, rival.tau)
        if estimate
    }
    return (*notes, f"intervals: {', '.join(sorted(methods))}") if methods else tuple(notes)


def _strides(study: Confusion) -> Table:
    columns = (
        Column("stride", "every nth epoch"),
        Column("epochs", "epochs"),
        Column("members", "members"),
        Column("easy_score", "score if certain from the 2nd on", percent=False, digits=2),
        Column("peak", "most scores near", percent=False, digits=2),
        Column("error_correlation", "r with errors", percent=False, digits=3),
    )
    rows = tuple(tuple(getattr(row, column.key) for column in columns) for row in study.strides)
    notes = (
        "an image that is uncertain at the first checkpoint and certain at all others scores "
        f"{study.ensemble.top:.2f} over the number of epochs",
        "r: Pearson's correlation of the score with the share of models outside the ensemble that err on the image",
    )
    return Table(f"{study.test_set}: {basis(study)}, by stride and members", columns, rows, (*notes, *study.notes))


def _ensembles(study: Confusion) -> Table:
    columns = (
        Column("ensemble", "ensemble"),
        Column("members", "members"),
        Column("epochs", "epochs"),
        Column("mean", f"mean score, {study.ensemble.unit}", percent=False, digits=3),
        Column("skewness", "skewness", percent=False, digits=2),
        Column("accuracy", "accuracy, last epoch"),
    )
    rows = tuple(tuple(getattr(row, column.key) for column in columns) for row in study.ensembles)
    note = "skewness above 0: most images score low, with a tail of confusing ones"
    title = f"{study.test_set}: mean confusion and accuracy in % of {amount(len(rows), 'ensemble')}"
    return Table(title, columns, rows, (note, *study.notes))


def _bands(study: Confusion) -> Table:
    bands = study.bands
    if bands is None:
        raise UndefinedError(_NEEDS[ConfusionPart.BANDS])
    columns = (
        Column("name", "images"),
        Column("images", "number"),
        Column("before", bands.before),
        Column("after", bands.after),
        Column("change", "after − before"),
    )
    rows = tuple(tuple(getattr(band, column.key) for column in columns) for band in bands.bands)
    unit = study.ensemble.unit
    notes = [
        f"easy: a score below {bands.threshold:.2f} {unit}, hard: the rest; intervals of the change are paired and "
        f"hold together: {', '.join(sorted({band.change.method for band in bands.bands}))}"
    ]
    inside = sorted({bands.before, bands.after} & {model.model for model in study.models if model.inside})
    if inside:
        notes.append(
            f"{' and '.join(inside)} took part in scoring these images: its errors are selected along with the bands"
        )
    title = f"{study.test_set}: error in % on easy and on hard images, before and after, by {basis(study)}"
    return Table(title, columns, rows, (*notes, *study.notes))


def _trends(study: Confusion) -> Table:
    trends = study.trends
    if trends is None:
        raise UndefinedError(_NEEDS[ConfusionPart.TRENDS])
    columns = (
        Column("relation", "measure"),
        Column("attribute", "goes with"),
        Column("effect", "change per unit", percent=False, digits=3),
        Column("models", "models"),
        Column("families", "families", detail=True),
        Column("verdict", "result"),
    )
    rows = tuple(
        (
            row.relation.value,
            _goes_with(row),
            row.effect,
            row.models,
            row.families,
            row.verdict_in_words,
        )
        for row in trends.rows
    )
    title = (
        f"{study.test_set}: correlation of score and error over {amount(len(trends.models), 'model')}, {basis(study)}"
    )
    return Table(title, columns, rows, (*trends.notes, *study.notes))


def _goes_with(row: ScoreTrend) -> str:
    """The attribute with its unit, or the family."""
    if row.family is not None:
        return f"family {row.family}"
    return row.per if row.is_per_tenfold or row.per == row.attribute else f"{row.attribute}, {row.per}"


def _plain(estimate: Estimate) -> str:
    return f"{estimate.value:.2f} [{estimate.low:.2f}, {estimate.high:.2f}]"


_TABLES = {
    ConfusionPart.MODELS: _models,
    ConfusionPart.BINS: _bins,
    ConfusionPart.IMAGES: _images,
    ConfusionPart.DISTRIBUTION: _distribution,
    ConfusionPart.CHECKPOINTS: _checkpoints,
    ConfusionPart.RANKS: _ranks,
    ConfusionPart.EXPECTED: _expected,
    ConfusionPart.RIVALS: _rivals,
    ConfusionPart.STRIDES: _strides,
    ConfusionPart.ENSEMBLES: _ensembles,
    ConfusionPart.BANDS: _bands,
    ConfusionPart.TRENDS: _trends,
}
