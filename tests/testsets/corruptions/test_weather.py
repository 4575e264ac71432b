import numpy as np
import pytest
from scipy import ndimage

from regrade.testsets.corruptions import weather
from regrade.testsets.corruptions.weather import brightness, fog, frost, frosted_pane, plasma, snow

RNG = np.random.default_rng(0)
IMAGE = RNG.integers(0, 256, (60, 48, 3), dtype=np.uint8)


class TestBrightness:
    def test_by_hand(self):
        colors = np.array([[[100, 50, 0], [0, 0, 0], [255, 10, 10], [240, 120, 60]]], dtype=np.uint8)
        # the largest channel grows by 25.5, the others in proportion; black becomes gray, and values are clipped at 255
        expected = [[[125, 62, 0], [25, 25, 25], [255, 10, 10], [255, 127, 63]]]
        assert brightness(colors, 1, RNG).tolist() == expected

    def test_keeps_hue_and_saturation(self):
        import colorsys

        for color in IMAGE.reshape(-1, 3)[:200].astype(float) / 255:
            hue, saturation, value = colorsys.rgb_to_hsv(*color)
            lit = brightness((color * 255).round().astype(np.uint8)[None, None], 3, RNG)[0, 0]
            expected = np.array(colorsys.hsv_to_rgb(hue, saturation, min(value + 0.3, 1))) * 255
            np.testing.assert_array_less(np.abs(lit - expected), 1.01)


class TestFog:
    def test_by_hand(self, monkeypatch):
        monkeypatch.setattr(weather, "plasma", lambda side, *_: np.full((side, side), 0.5))
        halves = np.array([[[0, 0, 0], [204, 102, 0]]], dtype=np.uint8)
        # of 0.8 at most and clouds of 1.5 * 0.5: (x + 0.75) * 0.8 / 2.3
        expected = [[[66, 66, 66], [137, 102, 66]]]
        assert fog(halves, 1, RNG).tolist() == expected

    def test_plasma_fills_its_range(self):
        for side in (2, 8, 256):
            heights = plasma(side, 2, np.random.default_rng(side))
            assert heights.shape == (side, side) and heights.min() == 0 and heights.max() == 1

    def test_slower_decay_is_rougher(self):
        def steps(decay: float) -> float:
            return float(
                np.mean([np.abs(np.diff(plasma(128, decay, np.random.default_rng(s)))).mean() for s in range(6)])
            )

        assert steps(1.4) > 1.5 * steps(1.7) and steps(1.7) > 1.2 * steps(3)

    def test_plasma_without_noise_is_the_mean_of_neighbors(self):
        """With a fast decay only the coarsest points are random; all others are between their neighbors."""
        heights = plasma(64, 1e6, np.random.default_rng(3))
        around = sum(np.roll(heights, shift, axis) for shift in (1, -1) for axis in (0, 1)) / 4
        corners = np.zeros_like(heights, dtype=bool)
        corners[::32, ::32] = True  # the points that are set first
        assert np.abs(heights - around)[~corners].max() < 0.05
        assert heights[32, 0] != heights[0, 32] != heights[32, 32]

    def test_plasma_is_periodic(self):
        heights = plasma(128, 1.7, np.random.default_rng(0))
        inner = np.abs(np.diff(heights, axis=0)).mean()
        assert np.abs(heights[0] - heights[-1]).mean() < 2 * inner
        assert np.abs(heights[:, 0] - heights[:, -1]).mean() < 2 * inner


class TestSnow:
    @pytest.mark.parametrize("severity", [1, 2, 3, 4, 5])
    def test_nothing_gets_darker(self, severity):
        assert (snow(IMAGE, severity, np.random.default_rng(1)) >= IMAGE).all()

    def test_without_flakes_by_hand(self, monkeypatch):
        monkeypatch.setattr(weather, "motion_blurred", lambda flakes, **_: np.zeros_like(flakes))
        color = np.array([[[100, 200, 50]]], dtype=np.uint8)
        # gray is 0.299 * 100 + 0.587 * 200 + 0.114 * 50 = 153, pale 1.5 * 153 + 127.5 = 357: 0.8 x + 0.2 * 357
        assert snow(color, 1, np.random.default_rng(0)).tolist() == [[[151, 231, 111]]]

    def test_flakes_are_symmetric_under_rotation(self):
        black = np.zeros((64, 64, 3), dtype=np.uint8)
        got = snow(black, 3, np.random.default_rng(0))
        np.testing.assert_array_equal(got, got[::-1, ::-1])
        assert len(np.unique(got)) > 20


class TestFrost:
    def test_by_hand(self, monkeypatch):
        monkeypatch.setattr(weather, "frosted_pane", lambda shape, _: np.full((*shape, 3), 0.6))
        color = np.array([[[0, 100, 255]]], dtype=np.uint8)
        assert frost(color, 2, RNG).tolist() == [[[91, 171, 255]]]  # 0.8 x + 0.6 * 153

    def test_panes_have_the_statistics_of_photographs(self):
        panes = [frosted_pane((224, 224), np.random.default_rng(seed)) for seed in range(8)]
        for pane in panes:
            assert pane.shape == (224, 224, 3) and pane.min() >= 0 and pane.max() <= 1
            assert 0.05 < pane.mean(axis=2).std() < 0.17
            red, green, blue = pane.mean(axis=(0, 1))
            assert red < green < blue
        levels = [pane.mean() for pane in panes]
        assert min(levels) > 0.4 and max(levels) < 0.85 and np.ptp(levels) > 0.1

    def test_crystals_have_the_scale_of_photographs(self):
        """In photographs, the finest detail has a std of 6 to 17 gray levels (mean 10), and clouds about as much."""
        panes = [255 * frosted_pane((224, 224), np.random.default_rng(seed)).mean(axis=2) for seed in range(12)]
        fine = [(pane - ndimage.gaussian_filter(pane, 1)).std() for pane in panes]
        coarse = [ndimage.gaussian_filter(pane, 32).std() for pane in panes]
        assert 7 < np.mean(fine) < 13 and max(fine) > 1.5 * min(fine)
        assert 7 < np.mean(coarse) < 13
