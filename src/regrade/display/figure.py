"""A figure: one definition, shown in a notebook or saved as an interactive page, SVG, PNG or PDF."""

from __future__ import annotations

import html
import json
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regrade.core import InputError, MissingExtra
from regrade.display.style import color_schemes, config
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
        """Vega-Lite where it can be drawn; images for all other notebooks and for nbconvert, which need no network.

        JupyterLab shows SVG only in notebooks that it trusts, and PNG in all.
        """
        shown = {"application/vnd.vegalite.v6+json": self.spec, "text/plain": self.alt}
        try:
            drawn = converter().vegalite_to_png(self.spec, vl_version=VEGA_LITE, scale=1.0)
            images = {"image/svg+xml": _FORMS[".svg"](self.spec).decode(), "image/png": b64encode(drawn).decode()}
        except MissingExtra as error:
            return {**shown, "text/plain": f"{self.alt}\n(not drawn: {error})"}
        return {**shown, **images}


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


_STYLE = """
  body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.45 var(--font); }
  figure { margin: 0 auto; padding: 16px; max-width: 960px; box-sizing: border-box; }
  h1 { font-size: 20px; line-height: 1.25; margin: 0 0 4px; }
  figcaption { color: var(--gray); font-size: 14px; margin: 0 0 12px; }
  .chart { width: 100%; overflow-x: auto; }
  .chart svg { max-width: 100%; height: auto; }
"""

_SCRIPT = """
  const figure = JSON.parse(document.getElementById("figure").textContent);
  const target = document.getElementById("chart");
  let shown, room;
  async function draw() {
    if (target.clientWidth === room) return;
    room = target.clientWidth;
    if (shown) shown.finalize();
    shown = await drawFitted(target, figure, room);
    hideTouching(target);
  }
  draw();
  addEventListener("resize", () => { clearTimeout(draw.soon); draw.soon = setTimeout(draw, 150); });
"""


def page(spec: dict[str, Any], *, scripts: str) -> str:
    """The page of a Vega-Lite figure with the scripts that draw it; title and subtitle become text of the page."""
    title, subtitle = heading_of(spec)
    drawn = without_title(spec)
    alt = html.escape(str(spec.get("description", "")))
    data = json.dumps(drawn).replace("</", r"<\/")
    fitting, style = asset("fitting.js"), f"{color_schemes()}{_STYLE}{asset('tooltip.css')}"
    library = scripts.replace("</script", r"<\/script")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title) or alt}</title>\n<style>{style}</style>\n</head>\n<body>\n<figure>\n"
        f"<h1>{html.escape(title)}</h1>\n<figcaption>{html.escape(subtitle)}</figcaption>\n"
        f'<div id="chart" class="chart" role="img" aria-label="{alt}"></div>\n</figure>\n'
        f'<script type="application/json" id="figure">{data}</script>\n'
        f"<script>{library}</script>\n<script>{fitting}{_SCRIPT}</script>\n</body>\n</html>\n"
    )


def heading_of(spec: dict[str, Any]) -> tuple[str, str]:
    """Title and subtitle of a figure, each as one line."""
    title = spec.get("title")
    parts = title if isinstance(title, dict) else {"text": title}
    return _line(parts.get("text")), _line(parts.get("subtitle"))


def without_title(spec: dict[str, Any]) -> dict[str, Any]:
    """A figure without its title, which is text of the page instead."""
    return {key: value for key, value in spec.items() if key != "title"}


def asset(name: str, package: str = "regrade.display") -> str:
    """The text of a style sheet or script that is included in pages."""
    return (resources.files(package) / "data" / name).read_text(encoding="utf-8")


def _line(text: Any) -> str:
    return " ".join(text) if isinstance(text, list) else str(text or "")
