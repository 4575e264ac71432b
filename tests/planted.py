"""Photographs and synthetic textures, and typical changes of images that are copied into another data set."""

import importlib.util
import io
from pathlib import Path

import numpy as np
from PIL import Image
from skipping import skip


def photographs():
    """The 20 photographs of ImageNet classes that foolbox ships, at half their size."""
    package = importlib.util.find_spec("foolbox")
    if package is None:
        skip("foolbox, which ships 20 photographs, is not installed")
    files = sorted(Path(next(iter(package.submodule_search_locations)), "data").glob("imagenet_*.jpg"))
    assert len(files) == 20
    return [np.asarray(Image.open(file).convert("RGB").reduce(2)) for file in files]


def textures(count, *, seed=0):
    """Colored noise images of different shapes, with strong low frequencies as in photographs."""
    rng = np.random.default_rng(seed)
    return [_texture(rng, int(rng.integers(150, 260)), int(rng.integers(150, 260))) for _ in range(count)]


def _texture(rng, height, width):
    waves = np.hypot(*np.meshgrid(np.fft.fftfreq(width) * width, np.fft.fftfreq(height) * height))
    fall = 1 / np.maximum(waves, 1) ** 1.2
    noise = [np.fft.ifft2(np.fft.fft2(rng.standard_normal((height, width))) * fall).real for _ in range(3)]
    common = np.fft.ifft2(np.fft.fft2(rng.standard_normal((height, width))) * fall).real
    layers = np.stack([0.4 * layer + common for layer in noise], axis=-1)
    layers = layers / layers.std() * rng.uniform(35, 60) + rng.uniform(90, 150)
    return np.clip(np.rint(layers), 0, 255).astype(np.uint8)


def reencoded(pixels):
    """Re-encoded as JPEG with quality 70."""
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, format="JPEG", quality=70)
    return np.asarray(Image.open(buffer).convert("RGB"))


def resized(pixels):
    """Scaled to 60 % and back."""
    image = Image.fromarray(pixels)
    small = image.resize((round(0.6 * image.width), round(0.6 * image.height)), Image.Resampling.BICUBIC)
    return np.asarray(small.resize(image.size, Image.Resampling.BICUBIC))


def cropped(pixels):
    """Cropped by 2 % of width and height, 1 % at each edge."""
    return _crop(pixels, 0.01)


def cropped_twice(pixels):
    """Cropped by 2 % at each edge."""
    return _crop(pixels, 0.02)


def _crop(pixels, share):
    down, across = (max(1, round(share * side)) for side in pixels.shape[:2])
    return pixels[down:-down, across:-across]


def flipped(pixels):
    """Mirrored."""
    return pixels[:, ::-1]


def brighter(pixels):
    """10 % brighter."""
    return np.clip(np.rint(1.1 * pixels.astype(np.float64)), 0, 255).astype(np.uint8)


CHANGES = {
    "the same pixels": lambda pixels: pixels,
    "JPEG, quality 70": reencoded,
    "60 % and back": resized,
    "cropped by 2 %": cropped,
    "cropped by 2 % at each edge": cropped_twice,
    "mirrored": flipped,
    "10 % brighter": brighter,
}
