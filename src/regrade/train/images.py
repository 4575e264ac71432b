"""Images in memory for training: bytes on the device, augmented and normalized there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from regrade.core import Preprocessing
from regrade.core.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class ImageTensors:
    """Images as bytes (n, channels, size, size), their labels (n,), and the ``mean`` and ``std`` that normalize them.

    All are torch tensors on one device, so that a batch needs nothing from another.
    """

    pixels: Any
    labels: Any
    mean: Any
    std: Any

    @classmethod
    def of(cls, pixels: Any, labels: IntArray, preprocessing: Preprocessing) -> ImageTensors:
        """Images from arrays: bytes (n, size, size, channels), labels (n,)."""
        import torch

        channels_first = torch.from_numpy(np.ascontiguousarray(np.moveaxis(np.asarray(pixels, np.uint8), 3, 1)))
        mean, std = (torch.tensor(values).view(1, -1, 1, 1) for values in (preprocessing.mean, preprocessing.std))
        return cls(channels_first, torch.from_numpy(np.asarray(labels, np.int64)), mean, std)

    def __len__(self) -> int:
        return len(self.labels)

    def right(self, scores: FloatArray) -> tuple[int, int]:
        """How many labels the scores (n, c) predict, and the number of labels."""
        labels = self.labels.cpu().numpy()
        labeled = labels >= 0
        return int((scores.argmax(axis=1) == labels)[labeled].sum()), int(labeled.sum())

    def at(self, positions: Any) -> ImageTensors:
        """The images at positions, a mask or indices."""
        return replace(self, pixels=self.pixels[positions], labels=self.labels[positions])

    def followed_by(self, images: ImageTensors) -> ImageTensors:
        """These images and then others, normalized as these are."""
        import torch

        return replace(
            self, pixels=torch.cat([self.pixels, images.pixels]), labels=torch.cat([self.labels, images.labels])
        )

    def to(self, device: str) -> ImageTensors:
        """The same images on a device."""
        tensors = (self.pixels, self.labels, self.mean, self.std)
        return ImageTensors(*(tensor.to(device) for tensor in tensors))

    def normalized(self, pixels: Any) -> Any:
        """Bytes (n, channels, size, size) as the input of a network."""
        return (pixels.float() / 255 - self.mean) / self.std

    def batches(self, size: int) -> Iterator[Any]:
        """The normalized images in their order, in batches."""
        for start in range(0, len(self), size):
            yield self.normalized(self.pixels[start : start + size])


@dataclass(frozen=True, eq=False)
class EpochOrder:
    """The images of an epoch: their positions (n,), and the crop offset (n, 2) and the mirroring (n,) of each."""

    positions: Any
    offsets: Any
    mirrored: Any

    def __getitem__(self, part: slice) -> EpochOrder:
        return EpochOrder(self.positions[part], self.offsets[part], self.mirrored[part])

    def copy_from(self, source: EpochOrder) -> None:
        """Overwrite the tensors, whose places in memory stay the same."""
        for name in ("positions", "offsets", "mirrored"):
            getattr(self, name).copy_(getattr(source, name))


def epoch_order(count: int, generator: Any, *, crop: int, flip: bool, weights: Any = None) -> EpochOrder:
    """A random order of ``count`` images with random crops and mirroring, on the device of the generator.

    With ``weights`` (n,), images are drawn with replacement, with chances in proportion to their weights.
    """
    import torch

    chance = {"generator": generator, "device": generator.device}
    if weights is None:
        positions = torch.randperm(count, **chance)
    else:
        positions = torch.multinomial(weights, count, replacement=True, generator=generator)
    offsets = torch.randint(0, 2 * crop + 1, (count, 2), **chance)
    mirrored = torch.rand(count, **chance) < (0.5 if flip else 0.0)
    return EpochOrder(positions, offsets, mirrored)


def augmented(pixels: Any, batch: EpochOrder, *, crop: int) -> Any:
    """The images of a batch, cropped from images padded with ``crop`` black pixels, and mirrored."""
    import torch

    images = pixels[batch.positions]
    count, _, _, size = images.shape
    places = torch.arange(size, device=images.device)
    rows = places + batch.offsets[:, :1]
    columns = torch.where(batch.mirrored[:, None], size - 1 - places, places) + batch.offsets[:, 1:]
    padded = torch.nn.functional.pad(images, (crop, crop, crop, crop)).permute(0, 2, 3, 1)
    numbers = torch.arange(count, device=images.device)[:, None, None]
    return padded[numbers, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)
