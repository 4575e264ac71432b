"""A figure as a page of its own: interactive, without a network, as wide as the screen allows."""

from __future__ import annotations

import html
import json
from typing import Any

from regrade.report.style import COLOURS, FAINT, FONT, GREY, INK

_STYLE = f"""
  body {{ margin: 0; background: white; color: {INK}; font: 16px/1.45 {FONT}; }}
  figure {{ margin: 0 auto; padding: 16px; max-width: 960px; box-sizing: border-box; }}
  h1 {{ font-size: 20px; line-height: 1.25; margin: 0 0 4px; }}
  figcaption {{ color: {GREY}; font-size: 14px; margin: 0 0 12px; }}
  #chart {{ width: 100%; overflow-x: auto; }}
  #chart svg {{ max-width: 100%; height: auto; }}
  #vg-tooltip-element {{ font: 13px/1.4 {FONT}; border: 1px solid {FAINT}; }}
  #vg-tooltip-element table tr td.key {{ color: {GREY}; max-width: 220px; }}
  a {{ color: {COLOURS[0]}; }}
"""

# Views are made narrower by as much as the whole is too wide: letters keep their size, as they would not in a picture.
_SCRIPT = """
  const figure = JSON.parse(document.getElementById("figure").textContent);
  const target = document.getElementById("chart");
  const usual = figure.config.view.continuousWidth;
  function narrow(view, by) {
    const beside = view.hconcat, parts = beside || view.vconcat || view.concat;
    if (parts) return parts.forEach(part => narrow(part, beside ? by / parts.length : by));
    if (view.spec) return narrow(view.spec, by / (view.columns || 1));
    if (typeof view.width === "object" || view.width === "container") return;
    view.width = Math.max(140, (view.width || usual) - by);
    (view.layer || []).forEach(layer => { if (layer.width) layer.width = view.width; });
  }
  function broken(text, letters) {
    const lines = [""];
    for (const word of [].concat(text).join(" ").split(" ")) {
      const longer = (lines.at(-1) + " " + word).trim();
      if (lines.at(-1) && longer.length > letters) lines.push(word); else lines[lines.length - 1] = longer;
    }
    return lines;
  }
  function breakTitles(view, room) {
    const title = view.title;
    if (title && title.text) {
      title.text = broken(title.text, room / 8.2);
      if (title.subtitle) title.subtitle = broken(title.subtitle, room / 6.4);
    }
    (view.hconcat || view.vconcat || view.concat || []).forEach(part => breakTitles(part, room));
  }
  let shown, room;
  async function draw() {
    if (target.clientWidth === room) return;
    room = target.clientWidth;
    let spec = structuredClone(figure);
    breakTitles(spec, Math.min(room, usual) - 50);
    if (room < 520) spec.config.legend.columns = 2;
    const options = {actions: false, renderer: "svg"};
    if (shown) shown.finalize();
    shown = await vegaEmbed(target, structuredClone(spec), options);
    const over = target.querySelector("svg").width.baseVal.value - room;
    if (over > 0) {
      narrow(spec, over + 4);
      shown.finalize();
      shown = await vegaEmbed(target, spec, options);
    }
  }
  draw();
  addEventListener("resize", () => { clearTimeout(draw.soon); draw.soon = setTimeout(draw, 150); });
"""


def page(spec: dict[str, Any], *, scripts: str) -> str:
    """A figure's page, from its Vega-Lite and the scripts that draw it; title and subtitle become text of the page."""
    title, subtitle = _heading(spec.get("title"))
    drawn = {key: value for key, value in spec.items() if key != "title"}
    alt = html.escape(str(spec.get("description", "")))
    data = json.dumps(drawn).replace("</", r"<\/")
    library = scripts.replace("</script", r"<\/script")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title) or alt}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<figure>\n"
        f"<h1>{html.escape(title)}</h1>\n<figcaption>{html.escape(subtitle)}</figcaption>\n"
        f'<div id="chart" role="img" aria-label="{alt}"></div>\n</figure>\n'
        f'<script type="application/json" id="figure">{data}</script>\n'
        f"<script>{library}</script>\n<script>{_SCRIPT}</script>\n</body>\n</html>\n"
    )


def _heading(title: Any) -> tuple[str, str]:
    """Title and subtitle of a chart, each as one line."""
    parts = title if isinstance(title, dict) else {"text": title}
    return _line(parts.get("text")), _line(parts.get("subtitle"))


def _line(text: Any) -> str:
    return " ".join(text) if isinstance(text, list) else str(text or "")
