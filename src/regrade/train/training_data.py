"""The images and labels of a training, read from stored test sets and checked before anything is computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from regrade.core import ClassSpace, InputError, MismatchError, Preprocessing, TestSet
from regrade.core.amounts import amount
from regrade.core.arrays import IntArray
from regrade.core.images import Fingerprints
from regrade.store import Store
from regrade.train.read_images import DecodedImages, image_shape, read_images


@dataclass(frozen=True, eq=False)
class LabeledImages:
    """Bytes (n, size, size, channels), labels (n,), -1 for an image without one, and fingerprints (n,) of the images.

    ``hashes`` are those of the pixels of each image before resizing.
    """

    pixels: NDArray[np.uint8]
    labels: IntArray
    fingerprints: Fingerprints
    hashes: tuple[bytes, ...]


@dataclass(frozen=True, eq=False)
class TrainingData:
    """The images of all sets by name, the name of the training set, and the preprocessing of their input."""

    training_set: str
    sets: Mapping[str, LabeledImages]
    preprocessing: Preprocessing
    class_space: ClassSpace


@dataclass(frozen=True)
class DataOptions:
    """How images are read: their size and channels (default: those of the first image), and whether sets may share.

    ``added`` is the test set whose images are added to the training set.
    """

    size: int | None = None
    channels: int | None = None
    allow_shared: bool = False
    added: str | None = None


def read_training_data(
    store: Store, training_set: TestSet, test_sets: Sequence[TestSet], options: DataOptions
) -> TrainingData:
    """Read the images of a training set and of the sets that are scored; raise if they cannot be trained with."""
    check_labels(training_set)
    for test_set in test_sets:
        _check_classes(training_set, test_set)
    plain = _plain_preprocessing(store, training_set, options)
    names = {test_set.name: test_set for test_set in (training_set, *test_sets)}
    decoded = {name: read_images(store, test_set, plain, None) for name, test_set in names.items()}
    own = decoded[training_set.name]
    if options.channels is None and plain.channels == 1 and own.in_color:
        raise InputError(f"{training_set.name} has {amount(own.in_color, 'image')} in color: give --channels 3 or 1")
    if not options.allow_shared:
        _check_shared(names, decoded, training_set.name, f"the training set {training_set.name}")
    if options.added is not None and not options.allow_shared:
        rest = {name: test_set for name, test_set in names.items() if name != training_set.name}
        _check_shared(rest, decoded, options.added, f"{options.added}, which is added to the training set")
    sets = {
        name: LabeledImages(images.pixels, names[name].labels, images.fingerprints, images.hashes)
        for name, images in decoded.items()
    }
    return TrainingData(training_set.name, sets, _normalizing(plain, own, training_set), training_set.class_space)


def check_labels(training_set: TestSet) -> None:
    """Raise if a network cannot be trained with the labels: images without one, or classes without images."""
    name, space = training_set.name, training_set.class_space
    missing = int((~training_set.labeled).sum())
    if missing:
        raise InputError(f"{missing:,} of {len(training_set):,} images of {name} have no label: a training needs all")
    if len(space) < 2:
        raise InputError(f"{name} has a single class, {space.names[0]}: a classifier needs at least two")
    empty = np.flatnonzero(np.bincount(training_set.labels, minlength=len(space)) == 0)
    if len(empty) == len(space) - 1:
        raise InputError(f"all images of {name} are {space.names[int(training_set.labels[0])]}: nothing can be learned")
    if empty.size:
        raise InputError(
            f"{name} has no image of {amount(len(empty), 'class', 'classes')} of {space.name}, for example "
            f"{space.names[int(empty[0])]}: add images, or store the set with a class space of its own classes"
        )


def _check_classes(training_set: TestSet, test_set: TestSet) -> None:
    if test_set.class_space.digest != training_set.class_space.digest:
        raise MismatchError(
            f"{test_set.name} has the classes {test_set.class_space.name}, and {training_set.name} the classes "
            f"{training_set.class_space.name}: scores need the same classes in the same order"
        )


def _check_shared(
    names: Mapping[str, TestSet], decoded: Mapping[str, DecodedImages], trained_on: str, place: str
) -> None:
    trained = dict(zip(decoded[trained_on].hashes, names[trained_on].ids, strict=True))
    for name, test_set in names.items():
        if name == trained_on:
            continue
        pairs = zip(test_set.ids, decoded[name].hashes, strict=True)
        shared = [(image, trained[content]) for image, content in pairs if content in trained]
        if shared:
            raise MismatchError(
                f"{amount(len(shared), 'image')} of {name} {'is' if len(shared) == 1 else 'are'} also in {place}, for "
                f"example {shared[0][0]!r} as {shared[0][1]!r}: remove them, or give --allow-shared"
            )


def _plain_preprocessing(store: Store, training_set: TestSet, options: DataOptions) -> Preprocessing:
    """The crop of the images, without normalization."""
    size, channels = options.size, options.channels
    if size is None or channels is None:
        own_size, own_channels = image_shape(store, training_set, needs_square=size is None)
        size, channels = size or own_size, channels or own_channels
    if channels not in (1, 3):
        raise InputError(f"--channels is 1 (gray) or 3 (color), got {channels}")
    return Preprocessing(size, size, mean=(0.0,) * channels, std=(1.0,) * channels)


def _normalizing(plain: Preprocessing, images: DecodedImages, training_set: TestSet) -> Preprocessing:
    """The preprocessing with the mean and the standard deviation of each channel over the training images."""
    counts = [np.bincount(images.pixels[..., channel].ravel(), minlength=256) for channel in range(plain.channels)]
    levels = np.arange(256) / 255
    means = [float(np.average(levels, weights=count)) for count in counts]
    spreads = [float(np.average((levels - m) ** 2, weights=c)) ** 0.5 for m, c in zip(means, counts, strict=True)]
    if not min(spreads) > 0:
        raise InputError(f"a channel of all images of {training_set.name} has the same value everywhere")
    return replace(plain, mean=tuple(round(mean, 4) for mean in means), std=tuple(round(std, 4) for std in spreads))
