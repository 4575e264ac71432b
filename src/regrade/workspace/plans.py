"""Sample size plans from the data of a workspace: measured disagreement rates, accuracies and group sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from regrade.core import Estimate, InputError, UnknownName
from regrade.store import Store
from regrade.studies import (
    EVERYTHING,
    Comparison,
    GroupContrast,
    Plan,
    PlanOptions,
    contrasts_of,
    extreme_groups,
    plan_accuracy,
    plan_difference,
    plan_disparity,
    plan_ranks_of,
    plan_review,
    reviewed_pair,
)
from regrade.studies.compare.analysis import compare
from regrade.studies.grade.analysis import grade
from regrade.studies.loading import chosen_models, chosen_rows, reviewed_labels, scored_predictions
from regrade.studies.study import ProgressCallback


class Plans:
    """Plans in a workspace: how many images or decisions a claim needs. Rates are fractions."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def accuracy(
        self,
        test_set: str,
        half_width: float,
        *,
        models: Sequence[str] = (),
        labels: str | None = None,
        power: float = 0.8,
        progress: ProgressCallback = iter,
    ) -> Plan:
        """Images needed to estimate each model's accuracy (with ``labels``: multi-label accuracy) to ``half_width``."""
        target = self.store.test_set(test_set)
        judged = reviewed_labels(self.store, target, labels) if labels else None
        scored = scored_predictions(self.store, target, chosen_models(self.store, target, models), progress=progress)
        rows = grade(target, scored, labels=judged, confidence=self.store.config.confidence).rows
        measured = [(row.model, row.multilabel if labels else row.top1) for row in rows]
        named = [(model, accuracy) for model, accuracy in measured if accuracy is not None]
        return self._titled(plan_accuracy(named, half_width, options=self._options(power)), target.name)

    def difference(
        self,
        *models: str,
        test_set: str,
        difference: float | None = None,
        labels: str | None = None,
        slice: str | None = None,
        power: float = 0.8,
        progress: ProgressCallback = iter,
    ) -> Plan:
        """Images needed to detect the difference of each pair of models, and the smallest detectable difference now.

        ``difference`` replaces the measured ones. ``labels`` and ``slice`` are as in `compare`.
        """
        result = self._compared(models, test_set, labels, slice, progress)
        contrasts = contrasts_of(result, difference=difference)
        notes = result.basis.notes
        return self._titled(plan_difference(contrasts, options=self._options(power), notes=notes), result.basis.title)

    def rank(
        self,
        *models: str,
        test_set: str,
        labels: str | None = None,
        slice: str | None = None,
        power: float = 0.8,
        progress: ProgressCallback = iter,
    ) -> Plan:
        """Images needed to establish each step of the ranking, the best model, and the whole ranking."""
        result = self._compared(models, test_set, labels, slice, progress)
        return self._titled(plan_ranks_of(result, options=self._options(power)), result.basis.title)

    def disparity(
        self,
        test_set: str,
        by: str,
        *,
        models: Sequence[str] = (),
        between: tuple[str, str] | None = None,
        difference: float | None = None,
        power: float = 0.8,
        progress: ProgressCallback = iter,
    ) -> Plan:
        """Images per group needed to detect the disparity of each model between the groups of a column.

        The groups are the best and the worst one, or two named beforehand (``between``); ``difference`` replaces the
        measured disparity, below the better group.
        """
        target = self.store.test_set(test_set)
        if by not in target.group_columns:
            raise UnknownName(f"group column of {target.name}", by, target.group_columns)
        scored = scored_predictions(self.store, target, chosen_models(self.store, target, models), progress=progress)
        rows = grade(target, scored, slices=[by], confidence=self.store.config.confidence).rows
        accuracies: dict[str, dict[str, Estimate]] = {}
        for row in rows:
            if row.slice != EVERYTHING and row.top1 is not None:
                accuracies.setdefault(row.model, {})[row.slice.partition("=")[2]] = row.top1
        groups = max(map(len, accuracies.values()), default=0)
        contrasts = [
            _with_difference(extreme_groups(model, _selected_groups(shares, between)), difference)
            for model, shares in accuracies.items()
        ]
        plan = plan_disparity(contrasts, groups=groups, named=between is not None, options=self._options(power))
        return self._titled(plan, f"{target.name} by {by}")

    def review(
        self,
        first: str,
        second: str,
        *,
        test_set: str,
        difference: float | None = None,
        labels: str | None = None,
        power: float = 0.8,
    ) -> Plan:
        """Decisions needed to detect a difference of two models; only images with different predictions matter.

        Rates come from ``labels`` as far as decided, without ``labels`` from the original labels.
        """
        target = self.store.test_set(test_set)
        judged = reviewed_labels(self.store, target, labels) if labels else None
        names = chosen_models(self.store, target, (first, second))
        pair = reviewed_pair(
            target,
            *scored_predictions(self.store, target, names),
            labels=judged,
            difference=difference,
            confidence=self.store.config.confidence,
        )
        return self._titled(plan_review(pair, options=self._options(power)), target.name)

    def _compared(
        self,
        models: Sequence[str],
        test_set: str,
        labels: str | None,
        slice_name: str | None,
        progress: ProgressCallback,
    ) -> Comparison:
        target = self.store.test_set(test_set)
        judged = reviewed_labels(self.store, target, labels) if labels else None
        names = chosen_rows(self.store, target, models or self.store.predictions.model_names(target.name))
        scored = scored_predictions(self.store, target, names, progress=progress)
        confidence = self.store.config.confidence
        return compare(target, scored, labels=judged, slice_name=slice_name, confidence=confidence)

    def _options(self, power: float) -> PlanOptions:
        return PlanOptions(power, self.store.config.confidence)

    def _titled(self, plan: Plan, where: str) -> Plan:
        return replace(plan, title=f"{plan.title}, measured on {where}")


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
    better = contrast.better.value if isinstance(contrast.better, Estimate) else contrast.better
    if not 0 < difference <= better:
        raise InputError(f"a group cannot be {100 * difference:g} points below an accuracy of {better:.1%}")
    return replace(contrast, worse=better - difference)
