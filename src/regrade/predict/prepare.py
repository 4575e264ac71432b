"""Pictures read, decoded and preprocessed ahead of the model, by threads, in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from regrade.core import InputError, Pictures, PictureSource, Preprocessing, UnreadablePicture
from regrade.core.arrays import FloatArray
from regrade.models import preprocess
from regrade.testsets import decode, open_pictures


@dataclass(frozen=True)
class Prepared:
    """One example's input (channels, size, size), or the reason why there is none."""

    position: int
    pixels: FloatArray | None
    trouble: str = ""


def default_workers() -> int:
    """One thread a core that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_place(source: PictureSource) -> None:
    """Raise where the place of all pictures has gone: that is no reason to call each of them unreadable."""
    if not Path(source.root).exists():
        raise InputError(f"the pictures are no longer at {source.root}: bring them back and run again")


def prepare_all(
    source: PictureSource, recipe: Preprocessing, positions: Iterable[int], *, workers: int, ahead: int
) -> Generator[Prepared, None, None]:
    """Prepare examples in the given order, never more than ``ahead`` of them before they are asked for."""
    pictures = open_pictures(source)
    waiting: deque[Future[Prepared]] = deque()
    with ThreadPoolExecutor(workers, thread_name_prefix="prepare") as pool:
        try:
            for position in positions:
                waiting.append(pool.submit(_prepare, pictures, position, source, recipe))
                if len(waiting) >= ahead:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def _prepare(pictures: Pictures, position: int, source: PictureSource, recipe: Preprocessing) -> Prepared:
    try:
        picture = decode(pictures.read(position), orientation=source.orientation, border=source.border)
    except UnreadablePicture as error:
        return Prepared(position, None, str(error))
    return Prepared(position, preprocess(picture, recipe))
