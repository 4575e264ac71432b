"""One look for all figures: legible in print and on a phone, and for those who do not see all colours."""

from __future__ import annotations

from typing import Any

FONT = "Inter, Helvetica Neue, Helvetica, Arial, sans-serif"

INK, GREY, FAINT = "#1b1f24", "#6b7280", "#e5e7eb"
"""Text and marks, what stands back, and the lines of a grid."""

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d1f", "#4d4d4d")
"""Colours that are told apart with any kind of colour vision, and by their lightness on paper (after Okabe and Ito)."""

SEQUENTIAL, DIVERGING = "viridis", "blueorange"
"""Colour scales for amounts, and for amounts on both sides of nothing."""

WIDTH, HEIGHT = 560, 360
"""The usual size of a figure, in pixels."""


def config() -> dict[str, Any]:
    """The configuration that every chart is drawn with."""
    text = {"labelColor": INK, "titleColor": INK, "labelFontSize": 12, "titleFontSize": 13, "titleFontWeight": 500}
    return {
        "font": FONT,
        "background": "white",
        "padding": 12,
        "view": {"stroke": None, "continuousWidth": WIDTH, "continuousHeight": HEIGHT},
        "axis": {**text, "domainColor": GREY, "tickColor": GREY, "gridColor": FAINT, "titlePadding": 8},
        "legend": {**text, "symbolSize": 90, "orient": "bottom", "columns": 3},
        "header": text,
        "title": {
            "anchor": "start", "color": INK, "fontSize": 16, "fontWeight": 600, "offset": 12,
            "subtitleColor": GREY, "subtitleFontSize": 12, "subtitlePadding": 6,
        },
        "range": {"category": list(COLOURS), "heatmap": {"scheme": SEQUENTIAL}},
        "point": {"filled": True, "size": 45},
        "line": {"strokeWidth": 2},
        "rule": {"color": GREY},
    }  # fmt: skip
