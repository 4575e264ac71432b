"""A figure: one definition, shown in a notebook or saved as an interactive page, SVG, PNG or PDF."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, singledispatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regrade.core import InputError, MissingExtra
from regrade.report.page import page
from regrade.report.style import config
from regrade.store import replace_file

if TYPE_CHECKING:
    import altair

_PRINT_SCALE = 3.0  # pixels of a PNG for each of the figure's own: 300 to the inch where 560 of them are 14 cm wide
VEGA_LITE = "6.4"
"""The version of Vega-Lite, which altair writes."""


@dataclass(frozen=True)
class Figure:
    """A chart with its name; ``alt`` says in words what it shows."""

    name: str
    alt: str
    chart: altair.TopLevelMixin

    @cached_property
    def spec(self) -> dict[str, Any]:
        """The figure in Vega-Lite, in the look of all figures."""
        drawn = self.chart.to_dict()
        return {**drawn, "config": config(), "description": self.alt, "usermeta": {"embedOptions": {"actions": False}}}

    def save(self, path: str | Path) -> Path:
        """Write the figure in the form that a file's ending names: .html (interactive, offline), .svg, .png or .pdf.

        A .json is the figure in Vega-Lite.
        """
        target = Path(path)
        ending = target.suffix.lower()
        if ending not in _FORMS:
            raise InputError(f"a figure cannot be saved as {target.name!r}: give one of {', '.join(_FORMS)}")
        replace_file(target, _FORMS[ending](self.spec))
        return target

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        return {"application/vnd.vegalite.v6+json": self.spec, "text/plain": self.alt}


@singledispatch
def figure(result: object) -> Figure:
    """The figure of a study's result."""
    import regrade.report.figures  # noqa: F401 - each registers itself; they wait until one is drawn

    draw = figure.dispatch(type(result))
    if draw is figure.dispatch(object):
        raise InputError(f"there is no figure of a {type(result).__name__}")
    return draw(result)


def converter() -> Any:
    """What turns Vega-Lite into images and pages; without it the command to get it is told."""
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
