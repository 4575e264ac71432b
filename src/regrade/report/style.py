"""One look for all figures: legible in print and on a phone, and for those who do not see all colors."""

from __future__ import annotations

from typing import Any, Final

FONT = "Arial, Helvetica, Liberation Sans, sans-serif"
"""Fonts of one width each: text keeps its place in a browser, on paper and where figures are drawn without either."""

INK, GRAY, FAINT = "#1b1f24", "#5b6470", "#e5e7eb"
"""Text and marks, what stands back, and the lines of a grid."""

PAPER, WASH, LINE, MARKED = "#ffffff", "#f4f6f8", "#d5d9df", "#fff1cc"
"""Of a page: what text stands on, what sets a part off, lines around it, and what a reader has marked."""

COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d1f", "#4d4d4d")
"""Colors that are told apart with any kind of color vision, and by their lightness on paper (after Okabe and Ito)."""

SHAPES = ("circle", "square", "diamond", "triangle-up", "cross", "triangle-down", "triangle-right", "triangle-left")
"""Shapes that go with the colors, so that neither has to be seen."""

SEQUENTIAL: Final = "blues"
"""The color scale for amounts, the lightest for the least."""

DIVERGING: Final = "blueorange"
"""The color scale for amounts on both sides of nothing."""

WIDTH, HEIGHT = 560, 360
"""The usual size of a figure, in pixels."""

SMALL, TEXT, LARGE = 10, 12, 16
"""Sizes of letters: names of many models, everything else, and titles."""


def config() -> dict[str, Any]:
    """The configuration that every chart is drawn with."""
    text = {
        "labelColor": INK, "titleColor": INK, "labelFontSize": TEXT, "titleFontSize": TEXT, "titleFontWeight": "normal",
        "labelLimit": 220,
    }  # fmt: skip
    return {
        "font": FONT,
        "background": "white",
        "padding": 12,
        "view": {"stroke": None, "continuousWidth": WIDTH, "continuousHeight": HEIGHT},
        "axis": {**text, "domainColor": GRAY, "tickColor": GRAY, "gridColor": FAINT, "titlePadding": 8, "tickSize": 4},
        "axisX": {"labelFlush": False},
        "axisY": {"titleAlign": "left", "titleAngle": 0, "titleAnchor": "end", "titleX": 0, "titleY": -10},
        "legend": {**text, "symbolSize": 90, "symbolStrokeWidth": 2, "orient": "bottom", "columns": 3, "rowPadding": 4},
        "header": {**text, "titleFontWeight": "bold", "labelFontWeight": "bold"},
        "title": {
            "anchor": "start", "frame": "bounds", "color": INK, "fontSize": LARGE, "fontWeight": "bold", "offset": 14,
            "subtitleColor": GRAY, "subtitleFontSize": TEXT, "subtitlePadding": 6, "subtitleLineHeight": 16,
            "lineHeight": 20,
        },
        "range": {"category": list(COLORS), "symbol": list(SHAPES), "heatmap": {"scheme": SEQUENTIAL}},
        "point": {"filled": True, "size": 45, "opacity": 1},
        "line": {"strokeWidth": 2},
        "rule": {"color": GRAY},
        "text": {"fontSize": TEXT, "color": INK},
    }  # fmt: skip
