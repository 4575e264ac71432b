"""Valid and broken readers of third parties, as in an installed package."""

# ruff: noqa: ARG002 - they are handed more than they look at

from importlib.metadata import EntryPoint

import pytest
from small_set import encoded, noise

from regrade.classes import class_space
from regrade.core import Images
from regrade.testsets import ENTRY_POINTS, Reader, ReaderResult, registry

CIFAR = class_space("cifar-10")
PNG = encoded(noise(0))


class Drawers(Reader):
    """Folders with a file named drawers, which built-in readers would read as class folders."""

    name = "drawers"

    def recognizes(self, path):
        return (path / "drawers").is_file()

    def find(self, path, options):
        return ReaderResult(("one", "two"), [options.space.index(i) for i in ("cat", "dog")], ("1", "2"))

    def open(self, source):
        return Drawn()


class Drawn(Images):
    """Two images: one valid, one that raises an error."""

    def read(self, position):
        if position:
            raise KeyError("drawer 2")
        return PNG


class Unnamed(Drawers):
    name = None


class Taken(Drawers):
    name = "folder"


class Corrupted(Drawers):
    name = "corrupted"


class Stumbling(Drawers):
    name = "stumbling"

    def recognizes(self, path):
        raise RuntimeError("oh\nno")


class Short(Drawers):
    name = "short"

    def find(self, path, options):
        return ReaderResult(("one", "two"), None, ("1",))


class Nothing(Drawers):
    name = "nothing"

    def find(self, path, options):
        return None


class Odd(Drawers):
    name = "odd"

    def open(self, source):
        return OddImages()


class OddImages(Images):
    def read(self, position):
        return "a string"


class Exiting(Drawers):
    name = "exiting"

    def recognizes(self, path):
        raise SystemExit(0)


class Abstract(Reader):
    name = "abstract"


def not_a_reader():
    return 17


def install(monkeypatch: pytest.MonkeyPatch, **offered: str) -> None:
    """Register readers of this module, or other objects, in the entry-point group."""
    points = [
        EntryPoint(name, value if ":" in value else f"{__name__}:{value}", ENTRY_POINTS)
        for name, value in offered.items()
    ]
    monkeypatch.setattr(registry, "entry_points", lambda *, group: points if group == ENTRY_POINTS else [])
