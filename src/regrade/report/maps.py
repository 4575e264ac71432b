"""Maps of a geography study."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regrade.report.figure import Figure

if TYPE_CHECKING:
    from regrade.studies import Geography


def map_figure(result: Geography, model: str | None = None) -> Figure:
    """Draw a model's accuracies on a map of countries or regions (default: the best model).

    Raises if the groups are neither countries nor regions, such as incomes.
    """
    from regrade.report.geography_map import draw_map  # imports altair, which commands without a figure do not need

    return draw_map(result, model)
