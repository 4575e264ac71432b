"""The colors of pages and figures: contrast in both schemes, and differences for all kinds of color vision."""

import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import regrade
from regrade.display.style import COLORS, GRAY, INK, color_schemes

PALETTES = {
    scheme: dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block))
    for scheme, block in zip(("light", "dark"), re.findall(r":root \{([^}]+)\}", color_schemes()), strict=True)
}
VISIONS = {
    "normal": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
"""What people see, of linear RGB (Machado et al. 2009, table 1, severity 1.0)."""

_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def rgb(color):
    return np.array([int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)])


def linear(parts):
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def contrast(first, second):
    light, dark = sorted((float(linear(parts) @ _XYZ[1]) for parts in (first, second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def seen(color, scheme):
    """The color of a figure in a scheme: the dark one inverts it, and turns its hue back."""
    parts = rgb(color)
    if scheme == "dark":
        inverted = parts + (1 - 2 * parts) * float(re.search(r"invert\(([\d.]+)\)", color_schemes())[1])
        parts = np.clip(2 * inverted @ [0.213, 0.715, 0.072] - inverted, 0, 1)
    return parts


def lab(light):
    """CIE L*a*b*, from linear RGB."""
    x, y, z = np.cbrt(_XYZ @ np.clip(light, 1e-3, 1) / _XYZ.sum(axis=1))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("scheme", PALETTES)
class TestSchemes:
    @pytest.mark.parametrize("paper", ["paper", "wash", "marked"])
    @pytest.mark.parametrize("text", ["ink", "gray", "accent"])
    def test_text_of_pages(self, scheme, text, paper):
        """WCAG AA: 4.5 to 1."""
        assert contrast(rgb(PALETTES[scheme][text]), rgb(PALETTES[scheme][paper])) >= 4.5

    def test_text_on_colored_backgrounds(self, scheme):
        colors = {name: rgb(color) for name, color in PALETTES[scheme].items()}
        assert contrast(colors["on-band"], colors["band"]) >= 4.5
        assert contrast(colors["paper"], colors["accent"]) >= 4.5

    def test_borders(self, scheme):
        """Those of controls need 3 to 1; decorative lines have no minimum."""
        colors = {name: rgb(color) for name, color in PALETTES[scheme].items()}
        assert contrast(colors["gray"], colors["paper"]) >= 3
        assert contrast(colors["line"], colors["paper"]) > contrast(colors["faint"], colors["paper"]) > 1.1

    @pytest.mark.parametrize("color", [INK, GRAY])
    def test_text_of_figures(self, scheme, color):
        assert contrast(seen(color, scheme), rgb(PALETTES[scheme]["paper"])) >= 4.5

    @pytest.mark.parametrize("color", COLORS)
    def test_marks(self, scheme, color):
        """WCAG AA: 3 to 1."""
        assert contrast(seen(color, scheme), rgb(PALETTES[scheme]["paper"])) >= 3

    @pytest.mark.parametrize("vision", VISIONS)
    def test_all_colors_differ_for_every_color_vision(self, scheme, vision):
        """By 10 in CIE L*a*b* or more, where 2 can just be told apart."""
        colors = [lab(VISIONS[vision] @ linear(seen(color, scheme))) for color in COLORS]
        assert min(float(np.linalg.norm(first - second)) for first, second in combinations(colors, 2)) > 10


def test_contrast_of_black_and_white():
    assert contrast(rgb("#000000"), rgb("#ffffff")) == pytest.approx(21, abs=0.01)


def test_the_app_has_the_same_colors():
    """The review app has its own style sheet; colors that both have agree."""
    css = (Path(regrade.__file__).parent / "app" / "static" / "app.css").read_text()
    for scheme, block in zip(PALETTES, re.findall(r":root \{([^}]+)\}", css), strict=False):
        app = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block))
        common = app.keys() & PALETTES[scheme].keys()
        assert len(common) >= 7
        assert {name: app[name] for name in common} == {name: PALETTES[scheme][name] for name in common}


def test_every_offline_page_has_both_schemes():
    modules = [path for path in Path(regrade.__file__).parent.rglob("*.py") if "<!doctype html>" in path.read_text()]
    assert len(modules) == 4
    assert [path for path in modules if "color_schemes()" not in path.read_text()] == []
