"""Maps: the second figure that a study of geography has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regrade.report.figure import Figure

if TYPE_CHECKING:
    from regrade.studies import Geography


def map_figure(result: Geography, model: str | None = None) -> Figure:
    """Draw a model's accuracies, the best model's unless one is named, on a map of countries or regions.

    Groups that are neither, such as incomes, have no map, and this raises.
    """
    from regrade.report.geography_map import draw_map  # reads altair, which commands without a figure do not wait for

    return draw_map(result, model)
