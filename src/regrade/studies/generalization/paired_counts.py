"""The counts of correct predictions of the same models, and of people, on an original and on a new test set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from regrade.core import PERSON_PREFIX, InputError, UndefinedError
from regrade.core.arrays import BoolArray, IntArray
from regrade.stats import EffectiveImages, SampledShares
from regrade.studies.set_counts import ImageNoise, SetCounts

_FEWEST = 3  # models a line needs
_Effective = tuple[EffectiveImages, ...] | None


@dataclass(frozen=True)
class SetPair:
    """The same models and people on an original and on a new test set, scored among the same classes."""

    original: SetCounts
    new: SetCounts


@dataclass(frozen=True)
class PairedCounts:
    """The counts of m models on both sets, arrays (m,), and those of people.

    ``novel`` and ``new_novel`` (m,) of the wrong predictions were not judged by anyone. The line is fitted through the
    ``standard`` models (m,); ``noise`` is the sampling noise of the models' accuracies on both sets. ``effective`` and
    ``new_effective`` (m) are what the images are worth if they come in clusters.
    """

    models: tuple[str, ...]
    right: IntArray
    images: IntArray
    novel: IntArray
    new_right: IntArray
    new_images: IntArray
    new_novel: IntArray
    standard: BoolArray
    noise: tuple[ImageNoise, ImageNoise] | None
    effective: _Effective = None
    new_effective: _Effective = None

    @property
    def shares(self) -> tuple[SampledShares, SampledShares]:
        """The accuracies on the original and on the new set."""
        original = SampledShares(self.right, self.images, self.effective)
        return original, SampledShares(self.new_right, self.new_images, self.new_effective)

    @property
    def over_clusters(self) -> bool:
        """Whether the images of one of the sets come in clusters."""
        return self.effective is not None or self.new_effective is not None

    def followed_by(self, more: PairedCounts) -> PairedCounts:
        """These rows and then ``more``, without noise."""
        arrays = ("right", "images", "novel", "new_right", "new_images", "new_novel", "standard")
        joined: dict[str, Any] = {name: np.concatenate([getattr(self, name), getattr(more, name)]) for name in arrays}
        return replace(
            self,
            models=(*self.models, *more.models),
            noise=None,
            effective=_joined(self.effective, more.effective),
            new_effective=_joined(self.new_effective, more.new_effective),
            **joined,
        )


def _joined(first: _Effective, second: _Effective) -> _Effective:
    return None if first is None or second is None else (*first, *second)


def paired_counts(pair: SetPair, standard: Sequence[str]) -> PairedCounts:
    """The counts of the models on both sets; less than three models, or less than three ``standard`` ones, raise."""
    old, new = pair.original, pair.new
    models = tuple(model for model in old.models if model in new.models and not _is_person(model))
    chosen = np.array([not standard or model in standard for model in models], dtype=bool)
    if len(models) < _FEWEST:
        raise InputError(
            f"a line needs at least three models on both {old.test_set} and {new.test_set}, got {len(models)}"
            + (f" ({', '.join(models)})" if models else "")
        )
    if chosen.sum() < _FEWEST:
        raise InputError(
            f"a line needs at least three standard models on both {old.test_set} and {new.test_set}, got {chosen.sum()}"
        )
    return _rows(pair, models, chosen, _noise(old, new, models))


def paired_people(pair: SetPair) -> PairedCounts | None:
    """The counts of the people on both sets, none of them standard; None without people."""
    people = tuple(name for name in pair.original.models if _is_person(name) and name in pair.new.models)
    return _rows(pair, people, np.zeros(len(people), dtype=bool), None) if people else None


def on_one_set(pair: SetPair) -> tuple[str, ...]:
    """The models and people with counts on one of the two sets only."""
    return tuple(sorted(pair.original.models.keys() ^ pair.new.models.keys()))


def _is_person(name: str) -> bool:
    return name.startswith(PERSON_PREFIX)


def _rows(
    pair: SetPair, names: tuple[str, ...], standard: BoolArray, noise: tuple[ImageNoise, ImageNoise] | None
) -> PairedCounts:
    sets = pair.original, pair.new
    old, new = (counts.shares(names) for counts in sets)
    novel, new_novel = (_novel(counts, names) for counts in sets)
    return PairedCounts(
        *(names, old.right, old.images, novel, new.right, new.images, new_novel, standard, noise),
        effective=old.effective,
        new_effective=new.effective,
    )


def _novel(counts: SetCounts, names: Sequence[str]) -> IntArray:
    return np.array([counts.models[name].novel for name in names], dtype=np.int64)


def _noise(old: SetCounts, new: SetCounts, models: Sequence[str]) -> tuple[ImageNoise, ImageNoise] | None:
    """The sampling noise of the accuracies on both sets; None if only counts are known for some model."""
    noise = [counts.noise.of(models) for counts in (old, new) if counts.noise and counts.noise.covers(models)]
    if len(noise) == 1 and noise[0].clusters:
        raise UndefinedError(
            f"over clusters, every model needs two images that count on both {old.test_set} and {new.test_set}"
        )
    return (noise[0], noise[1]) if len(noise) == 2 else None
