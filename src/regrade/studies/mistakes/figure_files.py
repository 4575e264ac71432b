"""The figures of a mistakes study as files by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from regrade.core import UndefinedError
from regrade.display.figure import Figure
from regrade.store import write_file
from regrade.store.file_errors import write_errors
from regrade.studies.mistakes.figure import mistakes_figure
from regrade.studies.mistakes.flow_figure import flow_figure
from regrade.studies.mistakes.gallery import mistake_gallery
from regrade.studies.mistakes.pair_figure import pair_figure
from regrade.studies.mistakes.result import Mistakes
from regrade.studies.mistakes.slice_figure import slice_figure
from regrade.studies.thumbnails import thumbnails

if TYPE_CHECKING:
    from regrade.store import Store

GALLERY = "gallery.html"
"""The file of the reviewed mistakes with their images."""


def _kinds(result: Mistakes) -> Figure | None:
    try:
        return mistakes_figure(result)
    except UndefinedError:
        return None


_FIGURES: Mapping[str, Callable[[Mistakes], Figure | None]] = {
    "flow": flow_figure,
    "kinds": _kinds,
    "pairs": pair_figure,
    "slice": slice_figure,
}


def mistake_figures(result: Mistakes) -> dict[str, Figure]:
    """The figures that the result has data for, by name."""
    drawn = {name: draw(result) for name, draw in _FIGURES.items()}
    return {name: figure for name, figure in drawn.items() if figure is not None}


def write_mistake_figures(store: Store, result: Mistakes, folder: str) -> str:
    """Write the figures as SVG, and the gallery as HTML if there are reviews and images; return a line about them."""
    target = Path(folder)
    with write_errors(target):
        target.mkdir(parents=True, exist_ok=True)
    names = [figure.save(target / f"{name}.svg").name for name, figure in mistake_figures(result).items()]
    missing = _missing(store, result)
    if not missing:
        test_set = store.test_set(result.test_set)
        load = thumbnails(store.images.read(test_set))
        write_file(target / GALLERY, mistake_gallery(result, test_set, load))
        names.insert(0, GALLERY)
    return f"figures in {folder}: {', '.join(names)}{missing}"


def _missing(store: Store, result: Mistakes) -> str:
    """Why there is no gallery; empty if there is one."""
    if not any(len(review) for review in result.reviews):
        return f"; no {GALLERY}, as no mistake was reviewed"
    return "" if store.images.has(result.test_set) else f"; no {GALLERY}, as {result.test_set} has no images"
