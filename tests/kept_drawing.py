"""Reports drawn by processes that stay, and equal figures once: starting those of each report anew takes longer."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from typing import Any
from unittest import mock

from regrade.executors.processes import ProcessPerThread
from regrade.report import drawing


class _ReportThreads:
    """The pool of threads of one report, which ends when the report does and leaves its threads to the next one."""

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
    """Draw a figure unless one with the same specification was drawn lately."""

    @lru_cache(maxsize=64)
    def draw_specification(text: str) -> drawing.DrawnFigure:
        return helpers(json.loads(text))

    return lambda wish: draw_specification(json.dumps(wish)) if isinstance(wish, dict) else helpers(wish)


@contextmanager
def kept_drawing() -> Iterator[None]:
    """All reports that this process writes are drawn by the same processes, which start with the first figure."""
    with (
        ProcessPerThread(drawing._drawn) as helpers,
        ThreadPoolExecutor(drawing._PROCESSES) as threads,
        mock.patch.object(
            drawing, "ProcessPerThread", mock.Mock(return_value=nullcontext(_equal_figures_once(helpers)))
        ),
        mock.patch.object(drawing, "ThreadPoolExecutor", lambda _: nullcontext(_ReportThreads(threads))),
    ):
        yield
