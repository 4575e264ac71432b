"""Readers of third parties: loaded from entry points, and named wherever they fail."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np

from regrade.core import FileStamp, Images, ImageSource, InputError, RegradeError, StoredImage, UnreadableImage
from regrade.tables import first_line
from regrade.testsets.reader import Reader, ReaderOptions, ReaderResult


def load_reader(point: EntryPoint) -> Reader:
    """The reader behind an entry point; whatever is wrong with it raises in one line that names the entry point."""
    with _blaming(point.name):
        reader = point.load()()
        if not isinstance(reader, Reader) or not isinstance(getattr(reader, "name", None), str):
            raise TypeError("it is no regrade.testsets.Reader with a name")
    return _Guarded(reader, point.name)


class _Guarded(Reader):
    """A reader whose failures are told in one line."""

    def __init__(self, reader: Reader, point: str) -> None:
        self.name = reader.name  # type: ignore[misc]
        self._reader = reader
        self._point = point

    def recognizes(self, path: Path) -> bool:
        with _blaming(self._point):
            return bool(self._reader.recognizes(path))

    def find(self, path: Path, wanted: ReaderOptions) -> ReaderResult:
        with _blaming(self._point):
            return _sound(self._reader.find(path, wanted))

    def open(self, source: ImageSource) -> Images:
        with _blaming(self._point):
            return _GuardedImages(self._reader.open(source), self._point)


@dataclass(frozen=True)
class _GuardedImages(Images):
    """Images of which each that cannot be read says so, whatever its reader raised."""

    images: Images
    point: str

    def read(self, position: int) -> StoredImage:
        try:
            image = self.images.read(position)
        except (UnreadableImage, KeyboardInterrupt):
            raise
        except BaseException as error:  # SystemExit, for instance
            raise UnreadableImage(f"reader {self.point}: {type(error).__name__}: {first_line(error)}") from None
        if isinstance(image, bytes | np.ndarray):
            return image
        raise UnreadableImage(f"reader {self.point} gave {type(image).__name__}, not bytes or an array")

    def stamp(self, position: int) -> FileStamp | None:
        try:
            return self.images.stamp(position)
        except Exception:  # an image without a stamp is compared by its content
            return None


def _sound(found: ReaderResult) -> ReaderResult:
    """What was found, if its parts are of one length."""
    labels = None if found.labels is None else np.asarray(found.labels, dtype=np.int32)
    parts = [found.locations, *found.groups.values(), *([] if labels is None else [labels])]
    if any(len(part) != len(found.ids) for part in parts):
        raise ValueError(f"{len(found.ids)} ids, but {', '.join(str(len(part)) for part in parts)} of the rest")
    return replace(found, ids=tuple(found.ids), labels=labels, locations=tuple(found.locations))


@contextmanager
def _blaming(point: str) -> Iterator[None]:
    try:
        yield
    except (RegradeError, KeyboardInterrupt):
        raise
    except BaseException as error:  # a third party's code may raise anything
        raise InputError(
            f"the reader of entry point {point!r} (regrade.readers) fails: {type(error).__name__}: "
            f"{first_line(error)}; repair or uninstall it"
        ) from None
