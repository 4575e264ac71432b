import numpy as np
import pytest

from regrade.testsets.corruptions.pixels import gaussian_noise, impulse_noise, shot_noise

GRAY = np.full((200, 200, 3), 128, dtype=np.uint8)


@pytest.mark.parametrize(("severity", "spread"), [(1, 0.08), (2, 0.12), (3, 0.18)])
def test_gaussian_noise_has_the_published_std(severity, spread):
    got = gaussian_noise(GRAY, severity, np.random.default_rng(0)).astype(float) / 255
    assert got.std() == pytest.approx(spread, rel=0.01)
    assert got.mean() == pytest.approx(127.5 / 255, abs=0.002)  # fractions are truncated


@pytest.mark.parametrize(("severity", "photons"), [(1, 60), (2, 25), (3, 12)])
def test_shot_noise_is_poisson(severity, photons):
    dark = np.full((200, 200, 3), 51, dtype=np.uint8)  # a fifth of white: no value is clipped
    got = shot_noise(dark, severity, np.random.default_rng(0)).astype(float) / 255
    assert got.mean() == pytest.approx(0.2, abs=0.004)
    assert got.var() == pytest.approx(0.2 / photons, rel=0.03)  # the variance of a Poisson variable is its mean
    assert len(np.unique(got)) < 2 * photons


def test_shot_noise_keeps_black():
    black = np.zeros((8, 8, 3), dtype=np.uint8)
    np.testing.assert_array_equal(shot_noise(black, 5, np.random.default_rng(0)), black)


@pytest.mark.parametrize(("severity", "share"), [(1, 0.03), (2, 0.06), (3, 0.09), (4, 0.17), (5, 0.27)])
def test_impulse_noise_is_black_or_white_in_equal_parts(severity, share):
    got = impulse_noise(GRAY, severity, np.random.default_rng(0))
    assert (got == 0).mean() == pytest.approx(share / 2, rel=0.05)
    assert (got == 255).mean() == pytest.approx(share / 2, rel=0.05)
    assert set(np.unique(got)) == {0, 128, 255}
    changed = got != 128
    assert (changed.any(axis=2) & ~changed.all(axis=2)).any(), "each channel breaks on its own"
