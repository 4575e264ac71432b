"""The common style of all figures: readable in print, on a phone, and with color vision deficiency."""

from __future__ import annotations

from typing import Any, Final

FONT = "Arial, Helvetica, Liberation Sans, sans-serif"
"""Fonts with equal metrics: text has the same width in a browser, in print and in figures drawn without a browser."""

INK, GRAY, FAINT = "#1b1f24", "#5b6470", "#e5e7eb"
"""Colors of text and marks, of secondary elements, and of grid lines."""

PALE = "#8b949e"
"""The color of marks in the background, such as those of all models without a name."""

PAPER, WASH, LINE, MARKED = "#ffffff", "#f4f6f8", "#d5d9df", "#fff1cc"
"""Colors of a page: background, highlighted areas, borders, and what a reader has selected."""

COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#a88543", "#3c93f0", "#8a4c00", "#4d4d4d")
"""Colors distinguishable with any kind of color vision, light and dark; the first four are Okabe and Ito's.

Each has a contrast of at least 3 to 1 with the page, as WCAG AA requires of marks.
"""

SHAPES = ("circle", "square", "diamond", "triangle-up", "cross", "triangle-down", "triangle-right", "triangle-left")
"""Shapes that go with the colors, so that either is enough to identify a series."""

SEQUENTIAL: Final = "blues"
"""The color scale for amounts, light for small values."""

WHITE_TEXT: Final = 0.71
"""The share of that scale from which white text has more contrast than dark text."""

WIDTH, HEIGHT = 560, 360
"""The default size of a figure, in pixels."""

SMALL, TEXT, LARGE = 10, 12, 16
"""Font sizes: of names if there are many, of all other text, and of titles."""


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


_LIGHT = {
    "ink": INK, "gray": GRAY, "faint": FAINT, "paper": PAPER, "wash": WASH, "line": LINE, "marked": MARKED,
    "accent": COLORS[0], "band": INK, "on-band": PAPER, "shade": "rgb(27 31 36 / 22%)",
}  # fmt: skip
_DARK = {
    "ink": "#e8eaed", "gray": "#a3acb8", "faint": "#2a3038", "paper": "#14171b", "wash": "#1e2329", "line": "#363d47",
    "marked": "#4a3c10", "accent": "#6cb8ec", "band": "#1e2329", "on-band": "#e8eaed", "shade": "rgb(0 0 0 / 70%)",
}  # fmt: skip


def color_schemes() -> str:
    """CSS: the colors of a page as custom properties, and charts, light in print and light or dark on a screen.

    A chart is drawn once, in light colors. The dark scheme inverts its lightness and keeps its hues, which keeps
    contrasts with the page, also those of images; white becomes the color of the page. Texts within a chart have an
    outline, for those on marks of medium lightness.
    """
    light, dark = (
        "".join(f"--{name}: {color}; " for name, color in colors.items()) for colors in (_LIGHT, _DARK)
    )  # fmt: skip
    return (
        f":root {{ color-scheme: light; --font: {FONT}; {light}}}\n"
        ".chart .mark-text.role-mark > text { paint-order: stroke; stroke-width: 3px; stroke-linejoin: round; }\n"
        f'.chart .mark-text.role-mark > [fill="{INK}"] {{ stroke: white; }}\n'
        f'.chart .mark-text.role-mark > [fill="white"] {{ stroke: {INK}; }}\n'
        f"@media screen and (prefers-color-scheme: dark) {{\n:root {{ color-scheme: dark; {dark}}}\n"
        ".chart svg, .chart img { filter: invert(0.93) hue-rotate(180deg); mix-blend-mode: lighten; }\n}\n"
    )
