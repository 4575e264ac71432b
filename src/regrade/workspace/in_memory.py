"""Grade, compare, gate and report on predictions in memory, without a workspace: lists, numpy, torch, pandas, Arrow."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from regrade.core import InputError, MismatchError, TestSet
from regrade.core.names import refuse_text
from regrade.formats import PredictionKind
from regrade.store import Store
from regrade.studies import Comparison, Grade
from regrade.studies.compare.analysis import compare as compare_predictions
from regrade.studies.gate.analysis import GateSet
from regrade.studies.gate.analysis import gate as decide
from regrade.studies.gate.result import GateResult
from regrade.studies.gate.rules import GateRules
from regrade.studies.grade.analysis import grade as grade_predictions
from regrade.studies.grade.metric_registry import installed_metrics
from regrade.studies.grade.metrics import GradeMetric, MetricFunction, chosen_metrics
from regrade.studies.seeded_methods import SeededMethod, seeded_method
from regrade.workspace.array_data import ArrayData, Classes, array_data
from regrade.workspace.report_writing import WrittenReport
from regrade.workspace.workspace import Workspace

TEST_SET = "test set"
"""The name of a test set of arrays, if none is given."""


def grade(
    y_true: Any,
    y_pred: Any,
    *,
    classes: Classes = None,
    kind: PredictionKind | str | None = None,
    groups: Mapping[str, Any] | None = None,
    metrics: Sequence[str | GradeMetric | MetricFunction] = (),
    replicates: Sequence[str] = (),
    confidence: float = 0.95,
    test_set: str = TEST_SET,
) -> Grade:
    """Grade the predictions of one model, or of several in a dictionary, with an interval on every number.

    ``y_true`` (n,) are labels: class indices or class names; or lists or sets of all correct classes of each image.
    ``y_pred`` are classes (n,) or scores (n, c); ``kind="top-k"`` says that its rows (n, k) are the best classes in
    order. Both may be lists, numpy arrays, torch tensors, pandas or Arrow objects; indices of pandas objects must be
    equal. ``classes`` are a list of names in the order of the columns of scores, a class space such as "imagenet-1k",
    or a file (default: those of the data). ``groups`` are columns (n,) by name: every value is a slice. ``metrics`` are
    as in `Workspace.grade`, and so are ``replicates``: patterns such as "resnet50-s*", whose models are one row. Top-5
    is reported where scores or the best five classes are given.

    >>> print(grade([0, 1, 1, 2], [0, 1, 2, 2]))
    test set, in %
    model              top-1
    model  75.0 [19.4, 99.4]
    intervals: clopper-pearson 95%
    """
    data = array_data(y_true, y_pred, classes=classes, kind=kind, groups=groups, test_set=test_set)
    return grade_data(data, metrics=metrics, replicates=replicates, confidence=confidence)


def grade_data(
    data: ArrayData,
    *,
    metrics: Sequence[str | GradeMetric | MetricFunction],
    replicates: Sequence[str] = (),
    confidence: float,
) -> Grade:
    """Grade a test set of arrays, on all images and on the values of its groups."""
    return grade_predictions(
        data.test_set,
        data.scored(),
        labels=data.reviewed_labels,
        slices=tuple(data.test_set.groups),
        metrics=chosen_metrics(metrics, installed_metrics()),
        replicates=_methods(replicates, data),
        confidence=confidence,
    )


def _methods(patterns: Sequence[str], data: ArrayData) -> list[SeededMethod]:
    refuse_text(patterns, "replicates")
    return [seeded_method(name, tuple(data.predictions), where=data.test_set.name) for name in patterns]


def compare(
    y_true: Any,
    y_pred: Any,
    y_pred_b: Any = None,
    *,
    classes: Classes = None,
    kind: PredictionKind | str | None = None,
    equivalence: float | None = None,
    replicates: Sequence[str] = (),
    confidence: float = 0.95,
    test_set: str = TEST_SET,
) -> Comparison:
    """Compare two models, called "a" and "b", or all pairs of models of a dictionary, on the same images.

    Labels and predictions are as in `grade`. ``equivalence`` is a margin as a fraction: 0.005 tests whether models
    differ by less than half a point. ``replicates`` are patterns such as "resnet50-s*": methods that are compared over
    their seeds, too.

    >>> compare([0, 1, 1, 2], [0, 1, 1, 0], [1, 1, 0, 0]).pairs[0].p_values.exact
    0.5
    """
    if y_pred_b is None and not isinstance(y_pred, Mapping):
        raise InputError("a comparison needs two models: compare(y_true, a, b), or a dictionary of predictions by name")
    if y_pred_b is not None and isinstance(y_pred, Mapping):
        raise InputError("give either a dictionary of predictions by model name or two arrays, not both")
    models = y_pred if y_pred_b is None else {"a": y_pred, "b": y_pred_b}
    data = array_data(y_true, models, classes=classes, kind=kind, test_set=test_set)
    return compare_predictions(
        data.test_set,
        data.scored(),
        labels=data.reviewed_labels,
        confidence=confidence,
        equivalence=equivalence,
        replicates=_methods(replicates, data),
    )


def gate(
    y_true: Any,
    candidate: Any,
    baseline: Any = None,
    *,
    margin: float | None = None,
    require_better: bool = False,
    slice_margins: Mapping[str, float] | None = None,
    floors: Mapping[str, float] | float | None = None,
    max_negative_flips: float | None = None,
    at_least: Mapping[str, float] | None = None,
    at_most: Mapping[str, float] | None = None,
    classes: Classes = None,
    kind: PredictionKind | str | None = None,
    groups: Mapping[str, Any] | None = None,
    confidence: float = 0.95,
    test_set: str = TEST_SET,
) -> GateResult:
    """Decide whether the predictions of a candidate meet rules: PASS, FAIL or INCONCLUSIVE; see `Workspace.gate`.

    Labels, predictions and groups are as in `grade`; candidate and baseline may be dictionaries of predictions by seed.
    Thresholds are fractions: a margin of 0.005 is half a point. ``floors`` is a number, or numbers by slice, such as
    ``{"all": 0.75, "region=Asia": 0.7}``.

    >>> result = gate([0, 1] * 500, [0, 1] * 500, [0, 1] * 450 + [0, 0] * 50, margin=0.005)
    >>> result.verdict.value, result.passed
    ('PASS', True)
    """
    rules = GateRules(
        margin=margin,
        require_better=require_better,
        slice_margins=slice_margins or {},
        floors={} if floors is None else floors,
        max_negative_flips=max_negative_flips,
        at_least=at_least or {},
        at_most=at_most or {},
    )
    named, predictions = _seeds("candidate", candidate)
    compared, before = (None, {}) if baseline is None else _seeds("baseline", baseline)
    models = {**predictions, **before}
    data = array_data(y_true, models, classes=classes, kind=kind, groups=groups, test_set=test_set)
    scored = dict(zip(models, data.scored(), strict=True))
    each = GateSet(data.test_set, rules, scored, named, compared, data.reviewed_labels)
    return decide([each], confidence=confidence)


def _seeds(name: str, predictions: Any) -> tuple[SeededMethod, dict[str, Any]]:
    """The candidate or the baseline with its models by seed, and their predictions by model."""
    if not isinstance(predictions, Mapping):
        return SeededMethod(name, {"": name}), {name: predictions}
    if not predictions:
        raise InputError(f"the {name} is an empty dictionary: give predictions by seed")
    models = {str(seed): f"{name}/{seed}" for seed in predictions}
    return SeededMethod(name, models), {f"{name}/{seed}": own for seed, own in predictions.items()}


def report(
    data: Mapping[str, tuple[Any, Any]],
    path: str | Path,
    *,
    classes: Classes = None,
    kind: PredictionKind | str | None = None,
    title: str | None = None,
    force: bool = False,
) -> WrittenReport:
    """Write a report on one or more test sets as one page: ``{"val": (y_true, y_pred), ...}``, as in `grade`.

    ``path`` is a new folder for the page, its figures and tables; an old report is replaced only with ``force``. The
    report has every study that the data allows.
    """
    if not isinstance(data, Mapping) or not data:
        raise InputError("a report needs test sets by name: report({'val': (y_true, y_pred)}, path)")
    folder = Path(path)
    if folder.suffix.lower() in (".html", ".htm", ".pdf"):
        raise InputError(f"a report is a folder with a page: give a folder instead of {folder.name!r}")
    sets = [_set_data(name, pair, classes, kind) for name, pair in data.items()]
    _check_classes([each.test_set for each in sets])
    with tempfile.TemporaryDirectory() as temporary:
        store = Store.create(Path(temporary) / "workspace")
        for each in sets:
            each.store_in(store)
        return Workspace(store).report(out=folder, title=title, force=force)


def _check_classes(sets: Sequence[TestSet]) -> None:
    for test_set in sets[1:]:
        if test_set.class_space.digest != sets[0].class_space.digest:
            raise MismatchError(
                f"{sets[0].name} has {len(sets[0].class_space)} classes and {test_set.name} other ones, "
                f"{len(test_set.class_space)}: give classes=[...] for all test sets"
            )


def _set_data(name: str, pair: Any, classes: Classes, kind: PredictionKind | str | None) -> ArrayData:
    """The data of one test set of several; messages begin with its name."""
    if not isinstance(pair, tuple) or len(pair) != 2:
        raise InputError(f"test set {name!r} must be a pair (y_true, y_pred)")
    try:
        return array_data(*pair, classes=classes, kind=kind, test_set=name)
    except (InputError, MismatchError) as error:
        wrappable = type(error) in (InputError, MismatchError)
        raise type(error)(f"test set {name!r}: {error}") if wrappable else error from None
