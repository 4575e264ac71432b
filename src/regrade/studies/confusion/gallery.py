"""The easiest and the hardest images with their confusion scores, on one offline page."""

from __future__ import annotations

import html

import numpy as np

from regrade.core import UNLABELED, TestSet
from regrade.core.amounts import amount
from regrade.display.style import FAINT, FONT, GRAY, INK, WASH
from regrade.studies.confusion.result import Confusion
from regrade.studies.thumbnails import ThumbnailLoader, image_element

SHOWN = 24
"""How many images of either kind a page shows."""

_STYLE = f"""
  body {{ margin: 0 auto; padding: 16px; max-width: 1120px; background: white; color: {INK}; font: 16px/1.45 {FONT}; }}
  h1 {{ font-size: 22px; line-height: 1.25; margin: 0 0 4px; }}
  h2 {{ font-size: 18px; margin: 24px 0 8px; }}
  .about {{ color: {GRAY}; margin: 0; }}
  ul {{ list-style: none; margin: 0; padding: 0; display: grid; gap: 12px;
       grid-template-columns: repeat(auto-fill, minmax(150px, 1fr)); }}
  li {{ border: 1px solid {FAINT}; border-radius: 6px; padding: 8px; break-inside: avoid; min-width: 0; }}
  img, .gone {{ width: 100%; height: 132px; object-fit: contain; background: {WASH}; display: block; }}
  .gone {{ display: grid; place-items: center; color: {GRAY}; }}
  p.caption {{ font-size: 13px; margin: 6px 0 0; overflow-wrap: anywhere; }}
  .caption span {{ color: {GRAY}; display: block; }}
"""


def gallery_page(result: Confusion, test_set: TestSet, load: ThumbnailLoader, *, shown: int = SHOWN) -> str:
    """The images with the lowest and with the highest scores, captioned with score and label; ties by position."""
    ensemble = result.ensemble
    order = np.argsort(result.scores, kind="stable")
    count = min(shown, len(order) // 2)
    title = f"The easiest and the hardest images of {result.test_set}"
    about = (
        f"By the confusion score of {ensemble.name} ({amount(len(ensemble.members), 'member')} x "
        f"{amount(len(ensemble.epochs), 'epoch')}), from 0 to {ensemble.top:.2f} {ensemble.unit}; labels are not used."
    )
    parts = {"Easiest": order[:count], "Hardest": np.argsort(-result.scores, kind="stable")[:count]}
    sections = "".join(
        f"<section>\n<h2>{name}</h2>\n<ul>\n"
        + "".join(_tile(result, test_set, int(position), load) for position in positions)
        + "</ul>\n</section>\n"
        for name, positions in parts.items()
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f'<h1>{html.escape(title)}</h1>\n<p class="about">{html.escape(about)}</p>\n<main>\n{sections}</main>\n'
        "</body>\n</html>\n"
    )


def _tile(result: Confusion, test_set: TestSet, position: int, load: ThumbnailLoader) -> str:
    name, label = test_set.ids[position], int(test_set.labels[position])
    words = "no label" if label == UNLABELED else test_set.class_space.names[label]
    score = f"{result.scores[position]:.3f} {result.ensemble.unit}"
    return (
        f'<li>{image_element(load(position), name)}<p class="caption"><strong>{html.escape(score)}</strong>'
        f"<span>{html.escape(words)}</span><span>{html.escape(name)}</span></p></li>\n"
    )
