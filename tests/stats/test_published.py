"""Published statistics, recomputed."""

import numpy as np
import pyarrow.parquet as pq
import pytest

from regrade.replicate import printed_figure, printed_figures
from regrade.stats import Scale, bootstrap_line, chi_square, clopper_pearson, fit_line, mcnemar, proportion
from regrade.stats.intervals import exact_bounds

SIZES = {
    "ImageNet Top-1, Orig. Accuracy": 50_000,
    "ImageNet Top-1, New Accuracy": 10_000,
    "CIFAR-10, Orig. Accuracy": 10_000,
    "CIFAR-10, New Accuracy": 2_021,
}


def interval(paper, row, column):
    """A value of Table 1 and its bounds, as printed."""
    return tuple(printed_figure(paper, "Table 1", row, f"{column}{side}").value for side in ("", " low", " high"))


CELLS = [
    pytest.param(interval("recht2019", model, column), SIZES[column], id=f"{model}-{column}")
    for where, model, column in printed_figures("recht2019")
    if where == "Table 1" and column in SIZES
]


def printed(right, n):
    """Accuracy and bounds as a table with one decimal prints them, in percent."""
    bounds = clopper_pearson(right, n)
    return np.round(100 * np.stack([np.asarray(right) / n, bounds.low, bounds.high]), 1)


def compatible_counts(accuracy, n):
    """The counts whose share prints as this accuracy."""
    counts = np.arange(int(n * (accuracy - 0.1) / 100), int(n * (accuracy + 0.1) / 100) + 2)
    return counts[np.abs(100 * counts / n - accuracy) <= 0.05 + 1e-9]


@pytest.mark.parametrize(("cell", "n"), CELLS)
def test_each_printed_interval_is_clopper_pearson_of_some_count(cell, n):
    counts = compatible_counts(cell[0], n)
    low, high = printed(counts, n)[1:]
    assert ((np.abs(low - cell[1]) < 1e-6) & (np.abs(high - cell[2]) < 1e-6)).any()


def test_the_table_has_thirty_intervals():
    assert len(CELLS) == 30


def test_the_cifar_intervals_need_the_2021_images_of_version_4():
    # cudaconvnet: none of the counts that print 77.5 of 2,000 gives [75.7, 79.3]
    low, high = printed(compatible_counts(77.5, 2000), 2000)[1:]
    assert not ((np.abs(low - 75.7) < 1e-6) & (np.abs(high - 79.3) < 1e-6)).any()


def imagenet_counts(path):
    """Right top-1 predictions of each model; fv_16k is stored with its five columns reversed in the new sets."""
    table = pq.read_table(path)
    labels = np.unique(np.array(table["wnid"].cast("string").to_pylist()), return_inverse=True)[1]
    counts = {}
    for model in table.column_names[2:]:
        ranked = table[model].combine_chunks().flatten().to_numpy().reshape(-1, 5)
        name = model.removesuffix("_model")
        reversed_ = name == "fv_16k" and "imagenetv2" in path.name
        counts[name] = int((ranked[:, -1 if reversed_ else 0] == labels).sum())
    return counts


def cifar_counts(path):
    table = pq.read_table(path)
    labels = table["label"].to_numpy()
    return {model: int((table[model].to_numpy() == labels).sum()) for model in table.column_names[2:]}


@pytest.fixture(scope="module")
def imagenet(published):
    folder = published / "recht2019"
    return (
        imagenet_counts(folder / "imagenet-val.top5.parquet"),
        imagenet_counts(folder / "imagenetv2-matched-frequency.top5.parquet"),
    )


@pytest.fixture(scope="module")
def cifar(published):
    folder = published / "recht2019"
    return (
        cifar_counts(folder / "cifar10.test.top1.parquet"),
        cifar_counts(folder / "cifar10.1-v4.top1.parquet"),
    )


def test_pnasnet_prints_as_in_the_paper(imagenet):
    original, new = imagenet
    assert str(proportion(original["pnasnet_large_tf"], 50_000)) == "82.9 [82.5, 83.2]"
    assert str(proportion(new["pnasnet_large_tf"], 10_000)) == "72.2 [71.3, 73.1]"


def test_intervals_are_at_most_one_and_two_percent():
    # Recht et al. 2019: "at most +-1%" at 95% and "+-2%" at 99.99%, for 10,000 images
    counts = np.arange(10_001)
    for confidence, half_width in ((0.95, 0.985), (0.9999, 1.950)):
        bounds = clopper_pearson(counts, 10_000, confidence=confidence)
        assert 100 * float((bounds.high - bounds.low).max()) / 2 == pytest.approx(half_width, abs=5e-4)


def accuracies(imagenet, keep):
    original, new = imagenet
    models = [model for model in original if keep(model)]
    assert set(original) == set(new)
    return np.array([original[m] for m in models]) / 50_000, np.array([new[m] for m in models]) / 10_000


def test_the_line_of_the_paper(imagenet):
    # 1.11 [1.07, 1.19] and -20.2 [-26.0, -17.8]; the paper does not say which models it fitted
    x, y = accuracies(imagenet, lambda model: not model.startswith("fv_"))
    line = bootstrap_line(x, y, rng=np.random.default_rng(0), band_points=0)
    assert (line.slope.n, line.degenerate) == (64, 0)
    assert line.slope.value == pytest.approx(1.110, abs=5e-4)
    assert 100 * line.intercept.value == pytest.approx(-20.3, abs=0.05)
    assert [line.slope.low, line.slope.high] == pytest.approx([1.07, 1.19], abs=0.01)
    assert [100 * line.intercept.low, 100 * line.intercept.high] == pytest.approx([-26.0, -17.8], abs=0.4)


def test_the_line_over_all_models(imagenet):
    x, y = accuracies(imagenet, lambda model: True)  # noqa: ARG005
    line = fit_line(x, y, band_points=0)
    assert line.slope.n == 67
    assert line.slope.value == pytest.approx(0.968, abs=5e-4)
    assert 100 * line.intercept.value == pytest.approx(-9.5, abs=0.05)
    assert 100 * (y - x).mean() == pytest.approx(-11.83, abs=5e-3)
    # over a range this wide the accuracies lie on a line on the probit scale
    probit = fit_line(x, y, scale=Scale.PROBIT, band_points=0)
    assert probit.r_squared > line.r_squared


def test_the_cifar_line_is_not_reproduced_without_the_unpublished_models(cifar):
    # the paper prints 1.69 / -72.7 over 34 models; the 30 published ones give 1.617 / -65.5
    original, new = cifar
    x, y = (np.array([counts[m] for m in original]) for counts in cifar)
    assert set(original) == set(new)
    line = fit_line(x / 10_000, y / 2021, band_points=0)
    assert (line.slope.n, round(line.slope.value, 3)) == (30, 1.617)
    assert 100 * line.intercept.value == pytest.approx(-65.5, abs=0.05)


def test_the_line_through_the_seven_printed_cifar_rows():
    columns = ("CIFAR-10, Orig. Accuracy", "CIFAR-10, New Accuracy")
    figures = printed_figures("recht2019").values()
    x, y = (np.array([figure.value for figure in figures if figure.column == column]) / 100 for column in columns)
    line = fit_line(x, y, band_points=0)
    assert line.slope.value == pytest.approx(1.733, abs=0.01)
    assert 100 * line.intercept.value == pytest.approx(-75.9, abs=0.5)


# Shankar et al. 2020 ------------------------------------------------------------------------------


def test_only_the_corrected_test_gives_the_printed_p_value():
    # 955 against 938 of 982: whatever the discordant images, their counts differ by 17
    second = np.arange(0, 483)
    tests = mcnemar(second + 17, second)
    rounds = {name: np.round(getattr(tests, name), 3) == 0.037 for name in ("exact", "mid_p", "chi_square")}
    assert not any(hits.any() for hits in rounds.values())
    hits = np.flatnonzero(np.round(tests.corrected, 3) == 0.037)
    assert 21 in second[hits]
    best = mcnemar(38, 21)
    assert best.corrected_statistic == pytest.approx(4.339, abs=5e-4)
    assert best.corrected == pytest.approx(0.0372, abs=5e-5)


@pytest.mark.parametrize("second", [38, 39, 40, 41])
def test_human_b_against_fixres_on_the_new_images(second):
    # 918 against 876 of 978: a difference of 42, printed as 2e-4
    assert round(float(mcnemar(second + 42, second).corrected), 4) == 0.0002


def test_shares_of_fast_images():
    assert [round(100 * 756 / 982, 1), round(100 * 714 / 978, 1)] == [77.0, 73.0]


RIGHT = {
    "ResNet50": 827, "AdvProp": 919, "FixRes": 938, "Human A": 902, "Human B": 930, "Human C": 945, "Human D": 940,
    "Human E": 955,
}  # fmt: skip


@pytest.mark.parametrize("who", RIGHT)
def test_the_validation_intervals_fit_982_images_but_for_one_bound(who):
    expected = (96.2, 94.8, 97.3) if who == "Human C" else interval("shankar2020", who, "Original")
    assert printed(RIGHT[who], 982).tolist() == pytest.approx(expected)


def test_the_best_labeler_is_printed_both_ways():
    assert 100 * RIGHT["Human E"] / 982 == pytest.approx(97.2505, abs=5e-5)  # 97.3 in Table 1, 97.2 in Table 2


def test_the_new_intervals_mix_two_sizes():
    # printed for 75.7: [73.2, 78.7] is that share of 982 images, as a count among 978
    def rounded(count):
        bounds = exact_bounds(np.array(count), np.array(978.0), confidence=0.95)
        return [round(100 * float(bounds.low), 1), round(100 * float(bounds.high), 1)]

    assert rounded(0.757 * 982) == [73.2, 78.7]
    assert rounded(0.757 * 978) == [72.9, 78.4]


# Vasudevan et al. 2022, sections 4 and 5: chi-square tests ------------------------------------------


def share_table(first, of_first, second, of_second):
    return [[first, of_first - first], [second, of_second - second]]


VIT, VIT_MAJOR = (243, 54, 52, 31), 155  # ViT-3B's mistakes by category and the major ones, as the tests need them
NEW_IMAGES, NEW_IMAGES_MAJOR = (35, 5, 8, 5), 22  # its mistakes on ImageNetV2
RESOLVED, RESOLVED_NEW = (296, 676), (47, 100)
VIT_RELEASED, SOUPS = (242, 54, 52, 30), (172, 26, 32, 19)  # by category, in the released files
CHI_SQUARES = {
    "resolved": (share_table(*RESOLVED, *RESOLVED_NEW), 776, 1, "0.3646", "0.5459"),
    "resolved, 294": (share_table(294, 676, *RESOLVED_NEW), 776, 1, "0.435", "0.509"),
    "resolved, 298": (share_table(298, 676, *RESOLVED_NEW), 776, 1, "0.300", "0.584"),
    "major": (share_table(VIT_MAJOR, sum(VIT), 89, 249), 629, 1, "1.6135", "0.2040"),
    "major, released": (share_table(154, 378, 89, 249), 627, 1, "1.580", "0.209"),
    "categories": ([VIT, SOUPS], 629, 3, "2.4105", "0.4917"),
    "categories, released": ([VIT_RELEASED, SOUPS], 627, 3, "2.429", "0.488"),
    "major, new images": (share_table(VIT_MAJOR, sum(VIT), NEW_IMAGES_MAJOR, 53), 433, 1, "0.0100", "0.9204"),
    "major, new images, released": (share_table(154, 378, NEW_IMAGES_MAJOR, 53), 431, 1, "0.0114", "0.915"),
    "categories, new images": ([VIT, NEW_IMAGES], 433, 3, "0.9683", "0.8089"),
    "categories, new images, released": ([VIT_RELEASED, NEW_IMAGES], 431, 3, "1.0168", "0.797"),
}


@pytest.mark.parametrize("name", CHI_SQUARES)
def test_chi_squares(name):
    table, n, freedom, statistic, p_value = CHI_SQUARES[name]
    test = chi_square(table)
    assert (test.n, test.freedom) == (n, freedom)
    assert f"{test.statistic:.{decimals(statistic)}f}" == statistic
    assert f"{test.p_value:.{decimals(p_value)}f}" == p_value


def decimals(figure):
    return len(figure.partition(".")[2])


@pytest.mark.parametrize(
    ("name", "section", "row"),
    [
        ("resolved", "4.2", "correct or problematic, ImageNet against ImageNetV2"),
        ("major", "4.3", "mistake severity, ViT-3B against Greedy Soups"),
        ("categories", "4.3", "mistake category, ViT-3B against Greedy Soups"),
        ("major, new images", "4.2", "mistake severity, ImageNet against ImageNetV2"),
    ],
)
def test_the_printed_chi_squares(name, section, row):
    test = chi_square(CHI_SQUARES[name][0])
    statistic, p_value = (
        printed_figure("vasudevan2022", f"Section {section} text", f"chi-square test, {row}", column).value
        for column in ("chi-square", "p-value")
    )
    assert (round(test.statistic, 2), round(test.p_value, 2)) == (statistic, p_value)


def test_the_fifth_p_value_is_cut_off_rather_than_rounded():
    test = chi_square(CHI_SQUARES["categories, new images"][0])
    assert (round(test.statistic, 2), round(test.p_value, 2)) == (0.97, 0.81)
    assert int(100 * test.p_value) == 80  # as printed
    assert "4.4" in test.warning


@pytest.mark.parametrize(
    ("name", "statistic", "p_value"),
    [("resolved", 0.246, 0.62), ("major", 1.408, 0.235), ("major, new images", 0, 1)],
)
def test_yates_correction_would_not_give_the_printed_values(name, statistic, p_value):
    from scipy.stats import chi2_contingency

    table = CHI_SQUARES[name][0]
    corrected = chi2_contingency(table, correction=True)
    assert corrected.statistic == pytest.approx(statistic, abs=5.1e-4)
    assert corrected.pvalue == pytest.approx(p_value, abs=5.1e-3)
    assert round(chi_square(table).statistic, 2) != round(corrected.statistic, 2)
