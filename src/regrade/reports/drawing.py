"""Drawing the figures of a report in separate processes while the studies run."""

from __future__ import annotations

import io
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

from PIL import Image

from regrade.display.figure import VEGA_LITE, Figure, converter, without_title
from regrade.executors.processes import ProcessPerThread

_PROCESSES = 2
_FILE_SCALE = 2.0  # PNG pixels per figure pixel: about 200 dpi for a figure of 560 pixels printed 14 cm wide
_PAGE_SCALE, _PAGE_COLORS = 1.5, 64
_KEPT: list[str] = []  # the scripts, once built: they are the same for every report
_LARGE = 130_000  # bytes of an SVG from which a PNG is smaller


@dataclass(frozen=True)
class DrawnFigure:
    """A figure in all formats of a report: as files, and without its title for the page, as SVG or a smaller PNG."""

    svg: bytes
    png: bytes
    pdf: bytes
    page_svg: str
    page_png: bytes


@dataclass(frozen=True)
class _Bundle:
    """A request for the scripts that draw figures in a page, instead of a figure."""


class Drawing:
    """Draws figures in the background: request one early with `begin`, get it later with `of`. A context manager."""

    def __enter__(self) -> Self:
        converter()  # raises early if the converter is not installed
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
        """Start drawing a figure, unless it was started before."""
        if self._scripts is None:
            self._scripts = self._pool.submit(self._bundle)
        if id(figure) not in self._begun:
            self._begun[id(figure)] = figure, self._pool.submit(self._help, figure.spec)

    def of(self, figure: Figure) -> DrawnFigure:
        """The drawn figure; waits until it is finished."""
        self.begin(figure)
        return self._begun[id(figure)][1].result()

    def scripts(self) -> str:
        """The scripts that draw figures in a page; empty if no figure was drawn."""
        return "" if self._scripts is None else self._scripts.result()

    def _bundle(self) -> str:
        if not _KEPT:
            _KEPT.append(self._help(_Bundle()))
        return _KEPT[0]


def _drawn(request: dict[str, Any] | _Bundle) -> DrawnFigure | str:
    convert = converter()
    if isinstance(request, _Bundle):
        return str(convert.javascript_bundle(vl_version=VEGA_LITE))
    to_svg = partial(convert.vegalite_to_svg, vl_version=VEGA_LITE)
    whole, bare = to_svg(request), to_svg(without_title(request))
    small = _few_colors(convert.svg_to_png(bare, scale=_PAGE_SCALE)) if len(bare) > _LARGE else b""
    return DrawnFigure(
        whole.encode(), convert.svg_to_png(whole, scale=_FILE_SCALE), convert.svg_to_pdf(whole), bare, small
    )


def _few_colors(png: bytes) -> bytes:
    buffer = io.BytesIO()
    image = Image.open(io.BytesIO(png)).convert("RGB")
    image.quantize(_PAGE_COLORS).save(buffer, format="PNG", optimize=True)
    return buffer.getvalue()
