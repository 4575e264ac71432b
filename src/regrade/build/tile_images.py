"""The images of the tiles of a build: candidates from the pool, controls from the reference set."""

from __future__ import annotations

from regrade.build.files import BuildTasks
from regrade.build.tasks import Tile, TileRole
from regrade.build.tile_files import TileImage
from regrade.core import ImageSourceError, MismatchError, TestSet
from regrade.store import Store
from regrade.testsets import open_images


class TileImages:
    """The images of the pool, for candidates, and of the reference set, for controls.

    Raises if a test set is not the one for which the tasks were made, or if its images are gone.
    """

    def __init__(self, store: Store, stored: BuildTasks) -> None:
        self.pool = _unchanged_test_set(store, stored.pool, stored.pool_digest)
        self.reference = _unchanged_test_set(store, stored.reference, stored.reference_digest)
        self._sources = {test_set.name: store.images.read(test_set) for test_set in (self.pool, self.reference)}
        for name, source in self._sources.items():
            if not source.path.exists():
                raise ImageSourceError(
                    f"the images of {name} are no longer at {source.path}: bring them back and run again"
                )
        self._images = {name: open_images(source) for name, source in self._sources.items()}

    def of(self, tile: Tile) -> TileImage:
        """Where the image of a tile is."""
        test_set = self.pool if tile.role is TileRole.CANDIDATE else self.reference
        return TileImage(self._images[test_set.name], self._sources[test_set.name], test_set.position(tile.image))


def _unchanged_test_set(store: Store, name: str, digest: str) -> TestSet:
    test_set = store.test_set(name)
    if test_set.digest != digest:
        raise MismatchError(f"test set {name} has changed since the tasks were made: restore it, or make new tasks")
    return test_set
