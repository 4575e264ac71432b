"""Pairs of similar images side by side, for people to judge, on one offline page."""

from __future__ import annotations

import html
import json
from typing import TYPE_CHECKING

from regrade.core.amounts import amount
from regrade.display.style import color_schemes
from regrade.studies.thumbnails import ThumbnailLoader, image_element

if TYPE_CHECKING:
    from regrade.studies.leakage.pairs import LeakedPair
    from regrade.studies.leakage.result import Leakage

MOST_PAIRS = 500
"""The most pairs that a page shows, nearest first."""

VERDICTS = ("same", "nearly the same", "different", "unclear")
"""The answers that people can give about a pair."""

_STYLE = """
  body { margin: 0 auto; padding: 16px; max-width: 960px; background: var(--paper); color: var(--ink);
         font: 16px/1.45 var(--font); }
  h1 { font-size: 22px; line-height: 1.25; margin: 0 0 4px; }
  .about { color: var(--gray); margin: 0 0 16px; }
  article { border: 1px solid var(--faint); border-radius: 6px; padding: 12px; margin: 0 0 14px; break-inside: avoid; }
  .sides { display: grid; grid-template-columns: 1fr 1fr; gap: 12px; }
  figure { margin: 0; min-width: 0; }
  img, .gone { width: 100%; height: 192px; object-fit: contain; background: var(--wash); display: block; }
  .gone { display: grid; place-items: center; color: var(--gray); }
  figcaption { font-size: 13px; overflow-wrap: anywhere; margin-top: 4px; }
  .facts { font-size: 13px; color: var(--gray); margin: 8px 0; }
  .differs { background: var(--marked); color: var(--ink); padding: 1px 6px; border-radius: 4px; }
  fieldset { border: 0; padding: 0; margin: 0; display: flex; flex-wrap: wrap; gap: 4px 14px; font-size: 14px; }
  button { font: inherit; padding: 6px 12px; color: var(--paper); background: var(--accent); border: 0;
           border-radius: 4px; }
  @media print { button, fieldset { display: none; } }
"""

_SCRIPT = """
  const pairs = JSON.parse(document.getElementById("pairs").textContent);
  function quoted(text) { return '"' + String(text).replaceAll('"', '""') + '"'; }
  document.getElementById("save").addEventListener("click", () => {
    const lines = pairs.map((pair, place) => {
      const chosen = document.querySelector(`input[name="pair-${place}"]:checked`);
      return [...pair, chosen ? chosen.value : ""].map(quoted).join(",");
    });
    const link = document.createElement("a");
    const text = ["image,reference,verdict", ...lines].join("\\n") + "\\n";
    link.href = URL.createObjectURL(new Blob([text], {type: "text/csv"}));
    link.download = "verdicts.csv";
    link.click();
  });
"""


def pairs_page(result: Leakage, first: ThumbnailLoader, second: ThumbnailLoader, *, most: int = MOST_PAIRS) -> str:
    """The pairs of a leakage study, nearest first, with both images and a choice of answers.

    A button saves the answers as CSV; regrade does not read them back.
    """
    shown = result.pairs[:most]
    title = f"Near duplicates: {result.title}"
    about = f"{amount(len(result.pairs), 'pair')}, the nearest first"
    if doubtful := sum(not pair.confirmed for pair in result.pairs):
        about = f"{amount(len(result.pairs), 'pair')}, {doubtful:,} of them not confirmed by the pixels, these last"
    if len(shown) < len(result.pairs):
        about += f"; the first {len(shown):,} are shown, all of them are in the CSV"
    body = "".join(_article(place, pair, first, second) for place, pair in enumerate(shown))
    data = json.dumps([[pair.image, pair.reference] for pair in shown]).replace("<", r"\u003c")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{color_schemes()}{_STYLE}</style>\n</head>\n<body>\n"
        f'<h1>{html.escape(title)}</h1>\n<p class="about">{html.escape(about)}</p>\n'
        f'<p><button id="save" type="button">Save the answers as CSV</button></p>\n<main>\n{body}</main>\n'
        f'<script type="application/json" id="pairs">{data}</script>\n<script>{_SCRIPT}</script>\n</body>\n</html>\n'
    )


def _article(place: int, pair: LeakedPair, first: ThumbnailLoader, second: ThumbnailLoader) -> str:
    sides = _side(first(pair.positions[0]), pair.image, pair.label)
    sides += _side(second(pair.positions[1]), pair.reference, pair.reference_label)
    facts = [f"{html.escape(name)} {_number(value)}" for name, value in pair.distances.items()]
    facts += ["mirrored"] if pair.mirrored else []
    facts += [] if pair.confirmed else ["not confirmed by the pixels"]
    facts += ['<span class="differs">labels differ</span>'] if pair.differs else []
    choices = "".join(
        f'<label><input type="radio" name="pair-{place}" value="{verdict}"> {verdict}</label>' for verdict in VERDICTS
    )
    return (
        f'<article>\n<div class="sides">{sides}</div>\n<p class="facts">{place + 1}. {" · ".join(facts)}</p>\n'
        f'<fieldset aria-label="answer for pair {place + 1}">{choices}</fieldset>\n</article>\n'
    )


def _side(jpeg: bytes | None, name: str, label: str) -> str:
    alt = html.escape(name)
    words = f"{alt}<br>{html.escape(label)}" if label else alt
    return f"<figure>{image_element(jpeg, name)}<figcaption>{words}</figcaption></figure>"


def _number(value: float) -> str:
    """A number with three significant digits and thousands separators.

    >>> _number(12345678.0), _number(0.01234), _number(6.0), _number(0.0)
    ('12,300,000', '0.0123', '6', '0')
    """
    if abs(value) >= 1000:
        size = 10 ** (len(str(int(abs(value)))) - 3)
        return f"{round(value / size) * size:,}"
    return f"{value:.3g}"
