"""One pass through the images of a test set for several models, each of which gets the images that it lacks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, Generic, TypeVar

from regrade.core import ImageSource, ImageSourceError, RegradeError, StoreError
from regrade.predict.prepare import Ways, check_source_exists
from regrade.store import Part

W = TypeVar("W", bound=Hashable)

Progress = Callable[[int], object]
"""Called with the number of examples just finished."""

Outcome = tuple[int, Part | RegradeError]
"""The number of a model, and a part of its predictions or the error by which it left the pass."""


class Collector(ABC):
    """Turns the images of one model, which come in order, into its parts."""

    @abstractmethod
    def add(self, images: Any) -> Part | None:
        """Take the next images; returns a part if one is complete."""

    @abstractmethod
    def finish(self) -> Part | None:
        """The last part, if it was not complete before."""


class SharedPass(Generic[W]):
    """Which model lacks which ranges of examples, and how images are prepared for it.

    ``ranges`` and ``inputs`` have one entry per model; images are prepared once for models of equal ``inputs``. The
    ranges of several models ascend. A model that fails leaves the pass.
    """

    def __init__(self, ranges: Sequence[Sequence[range]], inputs: Sequence[W]) -> None:
        self.ways = list(dict.fromkeys(inputs))
        self._way_of = [self.ways.index(entry) for entry in inputs]
        self._members: dict[range, list[int]] = {}
        for model, own in enumerate(ranges):
            for positions in own:
                self._members.setdefault(positions, []).append(model)
        self._order = list(self._members)
        if len(ranges) > 1:
            self._order.sort(key=lambda positions: positions.start)
        self._failed: set[int] = set()
        self._requested: deque[tuple[int, list[int]]] = deque()  # size and models of what has not come yet

    def __len__(self) -> int:
        """Number of images."""
        return sum(map(len, self._members))

    def requests(self, size: int) -> Iterator[tuple[range, Ways]]:
        """Blocks of at most ``size`` examples in order, none across the end of a range, and the ways in question."""
        for positions in self._order:
            for block in blocks_of(positions, size):
                models = [model for model in self._members[positions] if model not in self._failed]
                if models:
                    self._requested.append((len(block), models))
                    yield block, tuple(sorted({self._way_of[model] for model in models}))

    def outcomes(
        self,
        prepared: Iterable[Mapping[int, Any]],
        collectors: Sequence[Collector],
        source: ImageSource,
        *,
        batch: int,
        progress: Progress,
    ) -> Generator[Outcome, None, None]:
        """Give the ``prepared`` images, by their ways and in the order of requests, to the models that lack them."""
        waiting = 0
        for images in prepared:
            size, models = self._requested.popleft()
            waiting += size
            complete = False
            for model in models:
                outcome = self._attempt(model, source, collectors[model].add, images[self._way_of[model]])
                if outcome is not None:
                    complete = True
                    yield model, outcome
            if waiting >= batch or complete:
                progress(waiting)
                waiting = 0
            if len(self._failed) == len(collectors):
                return
        for model, collector in enumerate(collectors):
            outcome = self._attempt(model, source, collector.finish)
            if outcome is not None:
                yield model, outcome
        if waiting:
            progress(waiting)

    def _attempt(
        self, model: int, source: ImageSource, step: Callable[..., Part | None], *images: Any
    ) -> Part | RegradeError | None:
        """The part that a step completes, if any, or the error of the model; what concerns all models is raised."""
        if model in self._failed:
            return None
        try:
            part = step(*images)
        except (StoreError, ImageSourceError):
            raise
        except RegradeError as error:
            self._failed.add(model)
            return error
        if part is not None and part.unreadable:
            check_source_exists(source)
        return part


def parts_only(outcomes: Generator[Outcome, None, None]) -> Generator[Part, None, None]:
    """The parts of a pass for one model; its error is raised."""
    with closing(outcomes):
        for _, outcome in outcomes:
            if isinstance(outcome, RegradeError):
                raise outcome
            yield outcome


def out_of_order(position: int) -> StoreError:
    """The error of an image that a model did not get in its turn."""
    return StoreError(f"example {position} is missing or came out of order: this is a bug in regrade")


def blocks_of(positions: range, size: int) -> Iterator[range]:
    """A range as blocks of at most ``size``."""
    for start in range(positions.start, positions.stop, size):
        yield range(start, min(start + size, positions.stop))
