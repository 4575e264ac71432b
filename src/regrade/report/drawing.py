"""Drawing the figures of a report in processes of their own, while the studies go on."""

from __future__ import annotations

import io
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

from PIL import Image

from regrade.executors.processes import ProcessPerThread
from regrade.report.figure import VEGA_LITE, Figure, converter
from regrade.report.page import without_title

_PROCESSES = 2
_FILE_SCALE = 2.0  # pixels of a PNG for each of the figure's own: 200 to the inch where 560 of them are 14 cm wide
_PAGE_SCALE, _PAGE_COLORS = 1.5, 64
_KEPT: list[str] = []  # the scripts, once they are made: they are the same for every report
_LARGE = 130_000  # bytes of an SVG from which a image of it is smaller


@dataclass(frozen=True)
class DrawnFigure:
    """A figure in all forms of a report: as files, and without its title for the page, as SVG or as PNG if that is
    smaller.
    """

    svg: bytes
    png: bytes
    pdf: bytes
    page_svg: str
    page_png: bytes


@dataclass(frozen=True)
class _Bundle:
    """A wish for the scripts that draw, instead of a drawing."""


class Drawing:
    """Draws figures one after another, each asked for early and taken later. Use it as a context."""

    def __enter__(self) -> Self:
        converter()  # without it nothing can be drawn, and that is told now
        with ExitStack() as stack:
            self._help = stack.enter_context(ProcessPerThread(_drawn))
            self._pool = stack.enter_context(ThreadPoolExecutor(_PROCESSES))
            self._stack = stack.pop_all()
        self._begun: dict[int, tuple[Figure, Future[DrawnFigure]]] = {}
        self._scripts: Future[str] | None = None
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)
        self._stack.close()

    def begin(self, figure: Figure) -> None:
        """Ask for a figure, unless it was asked for before."""
        if self._scripts is None:
            self._scripts = self._pool.submit(self._bundle)
        if id(figure) not in self._begun:
            self._begun[id(figure)] = figure, self._pool.submit(self._help, figure.spec)

    def of(self, figure: Figure) -> DrawnFigure:
        """A figure, drawn."""
        self.begin(figure)
        return self._begun[id(figure)][1].result()

    def scripts(self) -> str:
        """The scripts that draw figures in a page; none where there was no figure."""
        return "" if self._scripts is None else self._scripts.result()

    def _bundle(self) -> str:
        if not _KEPT:
            _KEPT.append(self._help(_Bundle()))
        return _KEPT[0]


def _drawn(wish: dict[str, Any] | _Bundle) -> DrawnFigure | str:
    convert = converter()
    if isinstance(wish, _Bundle):
        return str(convert.javascript_bundle(vl_version=VEGA_LITE))
    to_svg = partial(convert.vegalite_to_svg, vl_version=VEGA_LITE)
    whole, bare = to_svg(wish), to_svg(without_title(wish))
    small = _few_colors(convert.svg_to_png(bare, scale=_PAGE_SCALE)) if len(bare) > _LARGE else b""
    return DrawnFigure(
        whole.encode(), convert.svg_to_png(whole, scale=_FILE_SCALE), convert.svg_to_pdf(whole), bare, small
    )


def _few_colors(png: bytes) -> bytes:
    buffer = io.BytesIO()
    image = Image.open(io.BytesIO(png)).convert("RGB")
    image.quantize(_PAGE_COLORS).save(buffer, format="PNG", optimize=True)
    return buffer.getvalue()
