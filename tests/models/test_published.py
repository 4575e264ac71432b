"""A model far from its published figure is noticed."""

import pytest

from regrade.core import Estimate, FormatError, InputError
from regrade.models import LITE_FIGURES, PublishedAccuracies, far_from_published, read_figures

LITE0 = "lite:efficientnet_lite0"


def measured(value, half=0.004):
    return Estimate(value, value - half, value + half, 50_000, "clopper-pearson 95%")


@pytest.mark.parametrize("value", [0.751, 0.7421, 0.7599])
def test_near_is_silent(value):
    assert far_from_published(LITE0, measured(value), LITE_FIGURES) == ""


@pytest.mark.parametrize("value", [0.7419, 0.7601, 0.001])
def test_far_is_one_line(value):
    line = far_from_published(LITE0, measured(value), LITE_FIGURES)
    assert line.startswith(f"{LITE0}: top-1 on imagenet-val is {measured(value)}, published is 75.1 (")
    assert "check preprocessing, class order and labels" in line


def test_a_model_without_figure_is_silent():
    assert far_from_published("onnx:mine.onnx", measured(0.1), LITE_FIGURES) == ""


def test_of_several_sizes_the_nearest_counts():
    figures = PublishedAccuracies("s", "somewhere", {"timm:a": (0.68, 0.66)})
    assert far_from_published("timm:a", measured(0.661), figures) == ""
    assert "published is 68.0 or 66.0" in far_from_published("timm:a", measured(0.6), figures)


def test_timm_results_are_read(published):
    figures = read_figures(published / "timm" / "results-imagenet.csv", test_set="imagenet-val")
    assert len(figures.top1) > 1000
    assert figures.top1["timm:resnet10t.c3_in1k"] == (pytest.approx(0.68354), pytest.approx(0.66724))
    assert figures.test_set == "imagenet-val" and figures.source == "results-imagenet.csv"


def test_the_lite_figures_are_near_the_ports_of_timm(published):
    """The same weights, measured by another project: within half a point of the card."""
    figures = read_figures(published / "timm" / "results-imagenet.csv", test_set="imagenet-val")
    for number in range(3):
        (card,) = LITE_FIGURES.top1[f"lite:efficientnet_lite{number}"]
        assert any(abs(card - other) < 0.005 for other in figures.top1[f"timm:tf_efficientnet_lite{number}.in1k"])


@pytest.mark.parametrize(
    "text, what",
    [
        ("name,top1\na,5\n", "line 2 has no model or no top1"),
        ("model,top1\na\n", "line 2 has no model or no top1"),
        ("model,top1\na,high\n", "line 2: top1 is 'high', expected percent"),
        ("model,top1\na,101\n", "line 2: top1 is '101', expected percent"),
        ("model,top1\na,nan\n", "line 2: top1 is 'nan', expected percent"),
        ("model,top1\n", "has no rows"),
        ("", "has no rows"),
    ],
)
def test_a_bad_file_is_one_line(tmp_path, text, what):
    path = tmp_path / "results.csv"
    path.write_text(text)
    with pytest.raises(FormatError, match=rf"results\.csv: {what}"):
        read_figures(path, test_set="s")


def test_read_figures_names_the_line_that_is_not_utf8(tmp_path):
    path = tmp_path / "results.csv"
    path.write_bytes(b"model,top1\nr\xe9snet,70\n")
    with pytest.raises(FormatError, match=r"results\.csv is not UTF-8 text \(line 2, byte 12\): save it"):
        read_figures(path, test_set="s")


def test_a_missing_file_is_one_line(tmp_path):
    with pytest.raises(InputError, match=r"none\.csv: cannot be read \(No such file"):
        read_figures(tmp_path / "none.csv", test_set="s")
