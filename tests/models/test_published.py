"""A model whose accuracy is far from the published one gets a warning."""

import pytest

from regrade.core import Estimate, FormatError, InputError
from regrade.models import LITE_PUBLISHED, PublishedAccuracies, published_warning, read_published_accuracies

LITE0 = "lite:efficientnet_lite0"


def measured(value, half=0.004):
    return Estimate(value, value - half, value + half, 50_000, "clopper-pearson 95%")


@pytest.mark.parametrize("value", [0.751, 0.7421, 0.7599])
def test_published_warning_is_empty_near_the_published_accuracy(value):
    assert published_warning(LITE0, measured(value), LITE_PUBLISHED) == ""


@pytest.mark.parametrize("value", [0.7419, 0.7601, 0.001])
def test_published_warning_far_from_the_published_accuracy(value):
    line = published_warning(LITE0, measured(value), LITE_PUBLISHED)
    assert line.startswith(f"{LITE0}: top-1 on imagenet-val is {measured(value)}, published is 75.1 (")
    assert "check preprocessing, class order and labels" in line


def test_published_warning_is_empty_without_a_published_accuracy():
    assert published_warning("onnx:mine.onnx", measured(0.1), LITE_PUBLISHED) == ""


def test_published_warning_compares_with_the_nearest_accuracy():
    accuracies = PublishedAccuracies("s", "somewhere", {"timm:a": (0.68, 0.66)})
    assert published_warning("timm:a", measured(0.661), accuracies) == ""
    assert "published is 68.0 or 66.0" in published_warning("timm:a", measured(0.6), accuracies)


def test_read_published_accuracies_of_timm(published):
    accuracies = read_published_accuracies(published / "timm" / "results-imagenet.csv", test_set="imagenet-val")
    assert len(accuracies.top1) > 1000
    assert accuracies.top1["timm:resnet10t.c3_in1k"] == (pytest.approx(0.68354), pytest.approx(0.66724))
    assert accuracies.test_set == "imagenet-val" and accuracies.source == "results-imagenet.csv"


def test_lite_accuracies_are_close_to_those_of_timm(published):
    """The same weights, measured by another project: within half a point."""
    accuracies = read_published_accuracies(published / "timm" / "results-imagenet.csv", test_set="imagenet-val")
    for number in range(3):
        (accuracy,) = LITE_PUBLISHED.top1[f"lite:efficientnet_lite{number}"]
        assert any(
            abs(accuracy - by_timm) < 0.005 for by_timm in accuracies.top1[f"timm:tf_efficientnet_lite{number}.in1k"]
        )


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
def test_read_published_accuracies_rejects_invalid_files(tmp_path, text, what):
    path = tmp_path / "results.csv"
    path.write_text(text)
    with pytest.raises(FormatError, match=rf"results\.csv: {what}"):
        read_published_accuracies(path, test_set="s")


def test_read_published_accuracies_names_the_line_that_is_not_utf8(tmp_path):
    path = tmp_path / "results.csv"
    path.write_bytes(b"model,top1\nr\xe9snet,70\n")
    with pytest.raises(FormatError, match=r"results\.csv is not UTF-8 text \(line 2, byte 12\): save it"):
        read_published_accuracies(path, test_set="s")


def test_read_published_accuracies_reports_a_missing_file(tmp_path):
    with pytest.raises(InputError, match=r"none\.csv: cannot be read \(No such file"):
        read_published_accuracies(tmp_path / "none.csv", test_set="s")
