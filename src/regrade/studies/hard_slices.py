"""Slices that were chosen because models fail on them: which models chose them, and cautions about their numbers."""

from __future__ import annotations

from collections.abc import Iterable

from regrade.core import SliceSet, TestSet
from regrade.core.names import model_pattern
from regrade.display.wording import listed


def hard_slice(test_set: TestSet, name: str | None) -> SliceSet | None:
    """The slice set of a slice that was chosen because models fail on it; None for other slices."""
    return next((added for added in test_set.slice_sets if added.chosen_hard and name in added.subsets), None)


def took_part(slice_set: SliceSet, model: str) -> bool:
    """Whether a model's scores or mistakes chose a hard slice, by its name or as one of several seeds."""
    return any(
        chooser == model or model_pattern(chooser).fullmatch(model) is not None for chooser in slice_set.chosen_by
    )


def hard_slice_caution(slice_set: SliceSet, name: str, models: Iterable[str]) -> str:
    """Caution about comparing models on a hard slice.

    Images on which a model is unsure or wrong by chance favor any other model: regression to the mean.
    """
    place = f"{name} of {slice_set.test_set}"
    which = "one that takes part is at a disadvantage there (regression to the mean)"
    if not slice_set.chosen_by:
        return f"{place} was chosen because models fail on it, and which models is not recorded: {which}"
    choosers = listed(slice_set.chosen_by)
    part_of = [model for model in dict.fromkeys(models) if took_part(slice_set, model)]
    if part_of:
        return (
            f"{place} was chosen by scores or mistakes of {choosers}, which {listed(part_of)} took part in: {which}; "
            "choose hard images by an ensemble that is not compared"
        )
    are, them = ("is", "it") if len(slice_set.chosen_by) == 1 else ("are", "them")
    return (
        f"{place} was chosen by scores or mistakes of {choosers}, which {are} not compared: models that are similar to "
        f"{them} may still be at a disadvantage there"
    )
