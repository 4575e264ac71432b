"""Augmentation and normalization compared with a loop over single images."""

import hypothesis.strategies as st
import numpy as np
import pytest
import torch
from hypothesis import given, settings

from regrade.core import Preprocessing
from regrade.models import normalize
from regrade.train.images import ImageTensors, augmented, epoch_order


def slow(pixels, offsets, mirrored, crop):
    """Pad, crop and mirror one image after another."""
    images = []
    for image, (top, left), mirror in zip(pixels, offsets, mirrored, strict=True):
        padded = np.pad(image, ((0, 0), (crop, crop), (crop, crop)))
        size = image.shape[1]
        cut = padded[:, top : top + size, left : left + size]
        images.append(cut[:, :, ::-1] if mirror else cut)
    return np.stack(images)


@given(st.integers(1, 5), st.integers(0, 3), st.integers(1, 4), st.sampled_from([1, 3]), st.integers(0, 9))
@settings(max_examples=40)
def test_augmentation_equals_a_loop_over_images(count, crop, size, channels, seed):
    rng = np.random.default_rng(seed)
    pixels = rng.integers(0, 256, (count, channels, size, size), dtype=np.uint8)
    order = epoch_order(count, torch.Generator().manual_seed(seed), crop=crop, flip=True)
    expected = slow(pixels[order.positions.numpy()], order.offsets.tolist(), order.mirrored.tolist(), crop)
    assert np.array_equal(augmented(torch.from_numpy(pixels), order, crop=crop).numpy(), expected)


def test_an_epoch_has_every_image_once_and_all_offsets():
    order = epoch_order(4000, torch.Generator().manual_seed(1), crop=2, flip=True)
    assert sorted(order.positions.tolist()) == list(range(4000))
    assert len({tuple(offset) for offset in order.offsets.tolist()}) == 5 * 5
    assert 0.45 < order.mirrored.float().mean() < 0.55


def test_without_augmentation_images_are_unchanged():
    pixels = torch.arange(2 * 3 * 4 * 4, dtype=torch.uint8).view(2, 3, 4, 4)
    order = epoch_order(2, torch.Generator().manual_seed(0), crop=0, flip=False)
    assert torch.equal(augmented(pixels, order, crop=0), pixels[order.positions])


def test_weights_are_chances_to_be_drawn():
    weights = torch.tensor([0.0, 1.0, 3.0])
    order = epoch_order(3, torch.Generator().manual_seed(0), crop=0, flip=False, weights=weights.repeat(1))
    assert 0 not in order.positions.tolist()
    many = epoch_order(6000, torch.Generator().manual_seed(0), crop=0, flip=False, weights=weights.repeat(2000))
    drawn = np.bincount(many.positions.numpy() % 3, minlength=3)
    assert drawn[0] == 0 and drawn[2] / drawn[1] == pytest.approx(3, rel=0.1)


def test_normalization_equals_that_of_predictions_bit_for_bit():
    preprocessing = Preprocessing(4, 4, mean=(0.49, 0.48, 0.45), std=(0.25, 0.24, 0.26))
    pixels = np.random.default_rng(0).integers(0, 256, (5, 4, 4, 3), dtype=np.uint8)
    images = ImageTensors.of(pixels, np.zeros(5, dtype=int), preprocessing)
    (batch,) = images.batches(8)
    assert np.array_equal(batch.numpy(), np.stack([normalize(image, preprocessing) for image in pixels]))
