"""Properties of all corruptions: shape, reproducibility, and distance by severity."""

import numpy as np
import pytest
from scipy import ndimage

from regrade.core import InputError, UnknownName
from regrade.metrics import ALEXNET_ERRORS
from regrade.testsets.corruptions import CORRUPTIONS, SEVERITIES, corrupt, corruption_functions

SEEDLESS = {"defocus_blur", "zoom_blur", "brightness", "contrast", "pixelate", "jpeg_compression"}


def scene(seed: int, size: int = 224) -> np.ndarray:
    """An image with smooth colors and sharp edges, similar to a photograph."""
    rng = np.random.default_rng(seed)
    soft = [ndimage.gaussian_filter(rng.normal(size=(size, size)), sigma) * sigma for sigma in (2, 6, 20)]
    edges = 0.6 * (ndimage.gaussian_filter(rng.normal(size=(size, size)), 9) > 0)
    gray = sum(soft) / 2 + edges
    values = 0.35 + 0.2 * gray[..., None] + rng.uniform(-0.1, 0.1, 3)
    return (np.clip(values, 0, 1) * 255).astype(np.uint8)


SCENES = [scene(seed) for seed in range(4)]


def distances(corruption: str) -> list[float]:
    """The mean absolute difference from the clean images at each severity."""
    return [
        float(
            np.mean(
                [
                    np.abs(corrupt(clean, corruption, s, np.random.default_rng(n)).astype(int) - clean).mean()
                    for n, clean in enumerate(SCENES)
                ]
            )
        )
        for s in SEVERITIES
    ]


def test_corruptions_match_the_published_reference():
    assert tuple(corruption_functions()) == CORRUPTIONS == tuple(ALEXNET_ERRORS)
    assert SEVERITIES == (1, 2, 3, 4, 5)


@pytest.mark.parametrize("corruption", CORRUPTIONS)
@pytest.mark.parametrize("shape", [(224, 224, 3), (40, 65, 3), (5, 7, 3), (1, 1, 3)])
def test_corrupt_keeps_shape_type_and_input(corruption, shape):
    clean = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    before = clean.copy()
    for severity in SEVERITIES if shape[0] < 200 else (5,):
        got = corrupt(clean, corruption, severity, np.random.default_rng(1))
        assert got.shape == shape and got.dtype == np.uint8
    np.testing.assert_array_equal(clean, before)


@pytest.mark.parametrize("corruption", CORRUPTIONS)
def test_corrupt_is_reproducible(corruption):
    first, again, different = (corrupt(SCENES[0], corruption, 3, np.random.default_rng(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert np.array_equal(first, different) == (corruption in SEEDLESS)


# as published, these do not grow step by step: glass, snow, frost and fog trade one kind of harm for another, and
# elastic_transform pulls the whole image at 1 and 2, but not from 3 on
UNEVEN = {"glass_blur", "snow", "frost", "fog", "elastic_transform"}


@pytest.mark.parametrize("corruption", [name for name in CORRUPTIONS if name not in UNEVEN])
def test_distance_grows_with_severity(corruption):
    harm = distances(corruption)
    assert harm == sorted(harm) and harm[0] > 0.5
    assert harm[4] > 1.2 * harm[0]


@pytest.mark.parametrize("corruption", ["glass_blur", "snow", "frost", "fog"])
def test_distance_of_severity_5_exceeds_severity_1(corruption):
    harm = distances(corruption)
    assert harm[4] > 1.05 * harm[0] and harm[0] > 1


def test_elastic_transform_is_affine_first_and_local_later():
    harm = distances("elastic_transform")
    assert harm[0] < harm[1] and harm[2] < harm[3] < harm[4] and harm[1] > harm[4]


def test_corrupt_rejects_unknown_names_and_severities():
    rng = np.random.default_rng(0)
    with pytest.raises(UnknownName, match=r"unknown corruption 'gausian_noise'; did you mean gaussian_noise"):
        corrupt(SCENES[0], "gausian_noise", 1, rng)
    for severity in (0, 6, -1, 2.5):
        with pytest.raises(InputError, match=rf"the severity must be one of 1, 2, 3, 4, 5, got {severity}"):
            corrupt(SCENES[0], "fog", severity, rng)


@pytest.mark.parametrize(
    ("shape", "kind"), [((4, 4), "uint8"), ((4, 4, 4), "uint8"), ((4, 4, 3), "float32"), ((0, 4, 3), "uint8")]
)
def test_corrupt_rejects_invalid_images(shape, kind):
    with pytest.raises(InputError, match="an image must be uint8"):
        corrupt(np.zeros(shape, kind), "fog", 1, np.random.default_rng(0))
