"""What a run on a GPU needs first, started while its model is loaded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from threading import Thread

from regrade.executors.processes import started_ahead
from regrade.models import Resizer, gpu_decoder, warm_up
from regrade.predict.engine import MIN_EXAMPLES_FOR_PROCESSES, EngineOptions
from regrade.predict.prepare import MAX_THREADS


@contextmanager
def warmed_up(options: EngineOptions, examples: int) -> Iterator[None]:
    """Start the processes that read images, and the decoder of the GPU, for images that may be prepared there."""
    if options.resizer not in (None, Resizer.GPU) or not gpu_decoder():
        yield
        return
    processes = options.workers > MAX_THREADS and examples >= MIN_EXAMPLES_FOR_PROCESSES
    ahead = started_ahead(options.workers, "regrade.predict.chunks") if processes else nullcontext()
    with ahead:
        thread = Thread(target=_warm_up_decoder, name="warm-up")
        thread.start()
        try:
            yield
        finally:
            thread.join()


def _warm_up_decoder() -> None:
    with suppress(Exception):  # the run itself reports it
        warm_up()
