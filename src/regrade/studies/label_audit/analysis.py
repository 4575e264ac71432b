"""Audits of labels: which labels all models agree with, and the share of these that people found to be wrong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import ceil, floor
from typing import Any

import numpy as np

from regrade.core import (
    Column,
    Estimate,
    InputError,
    LabelAudit,
    LabelSet,
    LabelState,
    Predictions,
    Table,
    Tabular,
    TestSet,
)
from regrade.core.amounts import amount
from regrade.core.arrays import BoolArray, IntArray
from regrade.core.record import Record
from regrade.stats import finite_share

_OUTCOMES = (LabelState.WRONG, LabelState.UNCLEAR, LabelState.PROBLEMATIC)
_ROUNDING = 1e-6  # bounds are whole numbers of labels, up to rounding


@dataclass(frozen=True, eq=False)
class AgreedLabels:
    """The labels that all models predict, as (example, class) pairs (r,).

    On ``split`` further images, all models predict correct classes, but not the same one. ``scored`` images are
    scored under the labels.
    """

    examples: IntArray
    classes: IntArray
    split: int
    scored: int


def agreed_labels(test_set: TestSet, predictions: Iterable[Predictions], labels: LabelSet) -> AgreedLabels:
    """Find the images on which every model predicts one and the same class, which the labels say is correct.

    Predictions in another class space than that of the test set raise.
    """
    first: IntArray | None = None
    same, all_correct = labels.scored.copy(), labels.scored.copy()
    for model_predictions in predictions:
        if model_predictions.class_space != test_set.class_space.name:
            raise InputError(
                f"{model_predictions.model} predicts classes of {model_predictions.class_space}, and the labels are "
                f"classes of {test_set.class_space.name}: name the models to audit with, with --model"
            )
        top = model_predictions.top1
        first = top if first is None else first
        same &= top == first
        all_correct &= labels.states_of(top) == LabelState.CORRECT
    if first is None:
        raise InputError("an audit needs the predictions of at least one model")
    agreed: BoolArray = same & all_correct
    examples = np.flatnonzero(agreed)
    split = int((all_correct & ~same).sum())
    return AgreedLabels(examples, first[examples].astype(np.int64), split, int(labels.scored.sum()))


def new_audit(
    agreed: AgreedLabels, *, queue: str, test_set: str, labels: str, models: tuple[str, ...], rng: np.random.Generator
) -> LabelAudit:
    """An audit of these labels in random order, of which none is drawn yet."""
    order = rng.permutation(len(agreed.examples))
    states = np.full(len(order), LabelState.UNJUDGED, dtype=np.int8)
    examples, classes = agreed.examples[order], agreed.classes[order]
    return LabelAudit(queue, test_set, labels, models, examples, classes, 0, states)


@dataclass(frozen=True)
class AuditOutcome(Record):
    """How many audited labels were decided to be ``outcome``, and the estimated share of all labels that would be.

    ``labels_low`` and ``labels_high`` are the bounds as numbers of labels. The share is None if nothing is decided.
    """

    outcome: str
    count: int
    share: Estimate | None
    labels_low: int | None
    labels_high: int | None


@dataclass(frozen=True)
class AuditResult(Record):
    """One audit: of the ``population`` labels that all ``models`` predict, ``drawn`` were given to people.

    ``decided`` of these are decided.
    """

    audit: str
    labels: str
    models: tuple[str, ...]
    population: int
    drawn: int
    decided: int
    outcomes: tuple[AuditOutcome, ...]


@dataclass(frozen=True, repr=False)
class LabelAudits(Tabular, records="audits"):
    """The audits of the labels of a test set, oldest version first."""

    test_set: str
    audits: tuple[AuditResult, ...]
    confidence: float

    def table(self) -> Table:
        """One row per audit and outcome."""
        columns = (
            Column("audit", "audit", detail=len(self.audits) == 1),
            Column("labels", "labels"),
            Column("models", "models", detail=True),
            Column("population", "agreed labels"),
            Column("decided", "decided"),
            Column("drawn", "drawn", detail=True),
            Column("outcome", "outcome"),
            Column("count", "number"),
            Column("share", "share of these labels", digits=2),
            Column("labels_low", "at least", detail=True),
            Column("labels_high", "at most", detail=True),
        )
        rows = tuple(
            (
                audit.audit, audit.labels, len(audit.models), audit.population, audit.decided, audit.drawn,
                outcome.outcome, outcome.count, outcome.share, outcome.labels_low, outcome.labels_high,
            )
            for audit in self.audits
            for outcome in audit.outcomes
        )  # fmt: skip
        return Table(f"audits of labels of {self.test_set}, in %", columns, rows, tuple(self._notes()))

    def json_fields(self) -> dict[str, Any]:
        """The audits with all their outcomes."""
        return {"test_set": self.test_set, "audits": self.audits, "notes": tuple(self._notes())}

    def _notes(self) -> Iterator[str]:
        methods = {outcome.share.method for audit in self.audits for outcome in audit.outcomes if outcome.share}
        if methods:
            yield f"intervals: {', '.join(sorted(methods))}, each for itself"
        yield "agreed labels: correct under the labels, and predicted by all models; the share holds for no others"
        for audit in self.audits:
            if undecided := audit.drawn - audit.decided:
                undecided_labels = amount(undecided, "drawn label")
                effect = "the intervals allow for any outcome" if audit.decided else "no share is known yet"
                yield f"{audit.audit}: undecided are {undecided_labels}; {effect}"


def audit_result(audit: LabelAudit, *, confidence: float) -> AuditResult:
    """The shares of wrong, unclear and problematic labels, from all decisions of an audit."""
    decided = int(audit.judged.sum())
    outcomes = tuple(_outcome(audit, state, decided, confidence) for state in _OUTCOMES)
    return AuditResult(audit.queue, audit.labels, audit.models, len(audit), audit.drawn, decided, outcomes)


def _outcome(audit: LabelAudit, state: LabelState, decided: int, confidence: float) -> AuditOutcome:
    count = audit.count(state)
    if not decided:
        return AuditOutcome(state.name.lower(), count, None, None, None)
    share = finite_share(count, audit.drawn, len(audit), unknown=audit.drawn - decided, confidence=confidence)
    low, high = ceil(share.low * len(audit) - _ROUNDING), floor(share.high * len(audit) + _ROUNDING)
    return AuditOutcome(state.name.lower(), count, share, low, high)
