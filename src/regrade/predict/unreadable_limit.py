"""How many images of a test set may be unreadable before a run stops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from regrade.core import ImageSource, ImageSourceError, TestSet

_MIN_LIMIT = 10  # damaged images allowed in a small test set
_SHARE = 0.05  # of a test set, if that is more


@dataclass(frozen=True)
class UnreadableLimit:
    """The limit for one test set: ``share`` of its images, if given.

    The default is 5 % of the images, or 10 if that is more, but never more than half of them.
    """

    test_set: TestSet
    source: ImageSource
    share: float | None = None

    @property
    def limit(self) -> int:
        """How many images may be unreadable."""
        size = len(self.test_set)
        if self.share is not None:
            return int(self.share * size)
        return min(max(_MIN_LIMIT, int(_SHARE * size)), size // 2)

    def check(self, unreadable: Mapping[int, str], done: int) -> None:
        """Raise if more of the ``done`` images than the limit are unreadable or, without a given share, all of them."""
        none_readable = self.share is None and len(unreadable) == done
        if not unreadable or not (none_readable or len(unreadable) > self.limit):
            return
        position, reason = next(iter(unreadable.items()))
        raise ImageSourceError(
            f"{len(unreadable):,} of {done:,} images of {self.test_set.name} cannot be read, for instance "
            f"{self.test_set.ids[position]!r} ({reason}): if {self.source.path} is not mounted or incomplete, repair "
            "it and run the same command again, which resumes from here; to store them as unreadable, add "
            "--allow-unreadable 100%"
        )
