"""Which of several groups of images may have the lowest share of right answers."""

from __future__ import annotations

from collections.abc import Mapping

from regrade.core import Estimate
from regrade.display.wording import right_counts
from regrade.stats import lower_share_p_values, lowest_candidates, significantly_below


def may_be_lowest(
    shares: Mapping[str, Estimate], *, level: float, design_effects: Mapping[str, float] | None = None
) -> tuple[str, ...]:
    """The names whose share may be the lowest, in ascending order: one if it is significantly below every other.

    Otherwise, a name is left out if any other is significantly below it; if no difference is shown, all remain. Images
    in clusters have ``design_effects``.

    >>> from regrade.stats import proportion
    >>> shares = {"cats": proportion(50, 100), "dogs": proportion(55, 100), "owls": proportion(90, 100)}
    >>> may_be_lowest(shares, level=0.05)
    ('cats', 'dogs')
    """
    names = sorted(shares, key=lambda name: shares[name].value)
    effects = None if design_effects is None else [design_effects[name] for name in names]
    p_values = lower_share_p_values(*right_counts([shares[name] for name in names]), effects)
    if significantly_below(p_values[0], level=level)[1:].all():
        return (names[0],)
    possible = lowest_candidates(p_values, level=level)
    return tuple(name for name, may_be in zip(names, possible, strict=True) if may_be)
