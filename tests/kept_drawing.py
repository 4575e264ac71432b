"""Figures of all reports in a test run are drawn by the same processes, and equal figures only once, to save time."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from typing import Any
from unittest import mock

from regrade.executors.processes import ProcessPerThread
from regrade.reports import drawing


class _ReportThreads:
    """A thread pool for one report that hands its threads over to the next report when it is shut down."""

    def __init__(self, threads: ThreadPoolExecutor) -> None:
        self._threads = threads
        self._futures: list[Future[Any]] = []

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        self._futures.append(self._threads.submit(function, *arguments))
        return self._futures[-1]

    def shutdown(self, *, cancel_futures: bool) -> None:
        assert cancel_futures
        for future in self._futures:
            future.cancel()
        wait(self._futures)


def _equal_figures_once(helpers: ProcessPerThread) -> Callable[[Any], Any]:
    """Draw a figure, or return the cached one with the same specification."""

    @lru_cache(maxsize=64)
    def draw_specification(text: str) -> drawing.DrawnFigure:
        return helpers(json.loads(text))

    return lambda request: draw_specification(json.dumps(request)) if isinstance(request, dict) else helpers(request)


@contextmanager
def kept_drawing() -> Iterator[None]:
    """Draw all reports of this process with the same helper processes, which start with the first figure."""
    with (
        ProcessPerThread(drawing._drawn) as helpers,
        ThreadPoolExecutor(drawing._PROCESSES) as threads,
        mock.patch.object(
            drawing, "ProcessPerThread", mock.Mock(return_value=nullcontext(_equal_figures_once(helpers)))
        ),
        mock.patch.object(drawing, "ThreadPoolExecutor", lambda _: nullcontext(_ReportThreads(threads))),
    ):
        yield
