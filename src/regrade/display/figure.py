"""A figure: one definition, shown in a notebook or saved as an interactive page, SVG, PNG or PDF."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regrade.core import InputError, MissingExtra
from regrade.display.page import page
from regrade.display.style import config
from regrade.store import replace_file

if TYPE_CHECKING:
    import altair

_PRINT_SCALE = 3.0  # PNG pixels per figure pixel: about 300 dpi for a figure of 560 pixels printed 14 cm wide
VEGA_LITE = "6.4"
"""The version of Vega-Lite that altair writes."""


@dataclass(frozen=True)
class Figure:
    """A chart with its name; ``alt`` is its text alternative."""

    name: str
    alt: str
    chart: altair.TopLevelMixin

    @cached_property
    def spec(self) -> dict[str, Any]:
        """The Vega-Lite specification, with the common style."""
        drawn = self.chart.to_dict()
        return {**drawn, "config": config(), "description": self.alt, "usermeta": {"embedOptions": {"actions": False}}}

    def save(self, path: str | Path) -> Path:
        """Write the figure in the format of the file's suffix: .html (interactive, offline), .svg, .png or .pdf.

        A .json file contains the Vega-Lite specification.
        """
        target = Path(path)
        ending = target.suffix.lower()
        if ending not in _FORMS:
            raise InputError(f"a figure cannot be saved as {target.name!r}: use one of {', '.join(_FORMS)}")
        replace_file(target, _FORMS[ending](self.spec))
        return target

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        return {"application/vnd.vegalite.v6+json": self.spec, "text/plain": self.alt}


def converter() -> Any:
    """The module that converts Vega-Lite to images and pages; raises with the install command if it is missing."""
    try:
        import vl_convert
    except ModuleNotFoundError as error:
        raise MissingExtra("saving figures", "figures") from error
    return vl_convert


def _html(spec: dict[str, Any]) -> bytes:
    return page(spec, scripts=converter().javascript_bundle(vl_version=VEGA_LITE)).encode()


_FORMS: dict[str, Callable[[dict[str, Any]], bytes]] = {
    ".html": _html,
    ".svg": lambda spec: converter().vegalite_to_svg(spec, vl_version=VEGA_LITE).encode(),
    ".png": lambda spec: converter().vegalite_to_png(spec, vl_version=VEGA_LITE, scale=_PRINT_SCALE),
    ".pdf": lambda spec: converter().vegalite_to_pdf(spec, vl_version=VEGA_LITE),
    ".json": lambda spec: (json.dumps(spec, indent=2) + "\n").encode(),
}
