"""The page on confusion on CIFAR-10: its numbers, figures and claims are those of the committed scores."""

import re

import numpy as np
import pyarrow.parquet as pq
import pytest
from loaded_script import loaded_script
from scipy import special, stats

from regrade.core import InputError, ScoreKind
from regrade.core.checkpoints import checkpoints_of

LABEL = re.compile(r'aria-label="([^"]*)"')


@pytest.fixture(scope="module")
def script():
    with loaded_script("confusion_on_cifar_page") as module:
        yield module


@pytest.fixture(scope="module")
def reducing():
    with loaded_script("confusion_on_cifar") as module:
        yield module


@pytest.fixture(scope="module")
def data(script, published):
    return script.CifarScores.read(published)


@pytest.fixture(scope="module")
def result(script, data):
    return script.study(data)


@pytest.fixture(scope="module")
def large(script, data):
    return script.study(data, script.LARGE)


@pytest.fixture(scope="module")
def page(script):
    return script.PAGE.read_text(encoding="utf-8")


def test_the_page_has_the_recomputed_numbers(script, data, result, large, page):
    assert script.refreshed(page, script.page_values(data, result, large)) == page


def test_the_figures_show_the_recomputed_values(script, data, result, page, tmp_path):
    for name, figure in script.figures(data, result).items():
        assert f"(figures/{name})" in page
        drawn, committed = figure.save(tmp_path / name).read_text(), (script.FIGURES / name).read_text()
        assert LABEL.findall(drawn) == LABEL.findall(committed)
        assert len(LABEL.findall(drawn)) > 3


def test_no_line_of_text_starts_with_a_comment(script, page):
    """Such a line would be read as HTML, and its Markdown not at all."""
    assert not re.findall(r"^ *<!--[\w-]+-->.+", page, flags=re.MULTILINE)
    assert len(script.MARKED.findall(page)) > 20


def test_a_changed_number_is_noticed(script, page):
    values = {match[1]: match[2] for match in script.MARKED.finditer(page)}
    assert script.refreshed(page, values) == page
    assert script.refreshed(page, values | {"tau": "0.1"}) != page
    with pytest.raises(InputError, match="differ in unheard"):
        script.refreshed(page, values | {"unheard": "1"})


def test_the_claims_of_the_page_hold(script, data, result, large):
    for bands in (script.remedy_bands(data), script.remedy_bands(data, script.LARGE)):
        *group_dro, up_easy, up_hard = (row.change for row in bands)
        assert len(group_dro) == 6  # three step sizes, on easy and on hard images
        assert min(change.low for change in (*group_dro, up_easy)) > 0
        for place in (0, 1):  # the smaller the step, the smaller the damage
            easy_or_hard = [change.value for change in group_dro[place::2]]
            assert easy_or_hard == sorted(easy_or_hard, reverse=True)
        assert up_easy.value < min(change.value for change in group_dro)
        assert up_hard.low < -0.013 < 0 < up_hard.high  # the paper's gain is not excluded
    for own in (result, large):
        last = next(row for row in own.rivals if row.score == script.LAST)
        assert last.cheaper
        assert last.difference.low > 0
        unlabeled = [row.auroc.value for row in own.rivals if not row.uses_labels]
        assert last.auroc.value == max(unlabeled)
    for network in (script.SMALL, script.LARGE):
        last, many, epochs, _ = (row.change for row in script.members_and_epochs(data, network))
        assert min(last.low, many.low) > 0
        assert epochs.high < 0


def test_tau_and_auroc_agree_with_other_implementations(data, result):
    x, y = result.compared.values()
    assert result.agreements[0].tau.value == pytest.approx(stats.kendalltau(x, y).statistic)
    areas = []
    for wrong in data.outside.values():
        statistic = stats.mannwhitneyu(x[wrong], x[~wrong]).statistic
        areas.append(statistic / (wrong.sum() * (~wrong).sum()))
    assert result.rivals[0].auroc.value == pytest.approx(np.mean(areas))


def test_changes_agree_with_counted_errors(script, data):
    """The change on hard images, counted image by image."""
    hard = np.flatnonzero(data.score(script.SMALL) >= np.log2(10) / 2)
    changes = [
        sum(int(after[i]) - int(before[i]) for i in hard) / len(hard)
        for before, after in zip(data.wrong(script.SMALL), data.wrong(script.UPSAMPLING), strict=True)
    ]
    row = script.remedy_bands(data)[-1]
    assert row.images == len(hard) == 1188
    assert row.change.value == pytest.approx(np.mean(changes))


def test_a_bootstrap_of_images_gives_the_image_part_of_the_interval(script, data):
    """With the same seeds resampled images vary as the covariance says; seeds add to the interval."""
    before, after = data.wrong(script.SMALL), data.wrong(script.GROUP_DRO)
    difference = (after.astype(float) - before).mean(axis=0)
    rng = np.random.default_rng(0)
    draws = [difference[rng.integers(0, len(difference), len(difference))].mean() for _ in range(400)]
    interval = script.paired_change(before, after, confidence=0.95)
    assert interval.value == pytest.approx(difference.mean())
    assert interval.half_width > 1.9 * np.std(draws)
    same = script.paired_change(before[[0, 0, 0]], after[[0, 0, 0]], confidence=0.95)
    single = after[0].astype(float) - before[0]
    assert same.half_width == pytest.approx(1.96 * single.std() / np.sqrt(len(single)), rel=0.02)


def test_the_interval_of_a_change_covers_new_seeds_and_images(script):
    rng = np.random.default_rng(1)
    images, repetitions, covered = 500, 400, 0
    for _ in range(repetitions):
        difficulty = rng.normal(size=images)
        seeds = rng.normal(scale=0.1, size=(6, 1))
        wrong = rng.random((6, images)) < stats.norm.cdf(-0.8 + 0.8 * difficulty + seeds)
        change = script.paired_change(wrong[:3], wrong[3:], confidence=0.95)  # no true change
        covered += change.low <= 0 <= change.high
    assert 0.92 <= covered / repetitions <= 0.995


def test_committed_files_are_small_and_have_scores_only(script, data):
    files = list((script.DOCS / "data").glob(f"{script.FILES}-*.parquet"))
    assert len(files) == 3
    assert sum(path.stat().st_size for path in files) < 1_500_000
    schema = pq.read_schema(script.DOCS / "data" / f"{script.FILES}-test.parquet")
    assert {str(field.type) for field in schema} == {"int16", "int8", "halffloat", "float"}
    assert data.columns["index"].tolist() == list(range(10_000))
    assert data.train.shape == (50_000,)
    assert abs(int((data.train >= script.HARD).sum()) - 3847) < 20  # rounded to half precision


def test_recorded_weights_of_groups_are_those_of_groupdro(script, data):
    """Only the trainings with the smaller steps have recorded them; a larger step moves further to the hard group."""
    recorded = {name for name, weights in data.hard_weights.items() if np.isfinite(weights).all()}
    assert recorded == {script.SLOWER_DRO, script.SLOWEST_DRO}
    slower, slowest = data.hard_weights[script.SLOWER_DRO], data.hard_weights[script.SLOWEST_DRO]
    assert 0.5 < slowest.min() <= slowest.max() < slower.min() <= slower.max() < 1


def test_reduced_scores_are_those_of_the_checkpoints(reducing):
    rng = np.random.default_rng(2)
    logits = rng.normal(size=(3, 101, 8, 10)).astype(np.float16)
    labels = np.arange(8)
    checkpoints = checkpoints_of(logits, kind=ScoreKind.LOGITS)
    columns = reducing.ensemble_scores("resnet20", checkpoints, labels)
    p = special.softmax(logits.astype(np.float64), axis=-1)
    mean = p.mean(axis=0)
    entropies = -(mean * np.log2(mean)).sum(axis=-1)  # (101, 8)
    stored = p[:, ::5]
    own = -(stored * np.log2(stored)).sum(axis=-1)  # (3, 21, 8)
    norms = np.linalg.norm(stored[:, :3] - np.eye(10)[labels], axis=-1).mean(axis=(0, 1))
    assert columns["resnet20_score"] == pytest.approx(entropies.mean(axis=0), abs=1e-5)
    assert columns["resnet20_every_20"] == pytest.approx(entropies[[0, 20, 40, 60, 80, 100]].mean(axis=0), abs=2e-3)
    assert columns["resnet20_last_entropy"] == pytest.approx(entropies[-1], abs=2e-3)
    assert columns["resnet20_member_2"] == pytest.approx(own[2].mean(axis=0), abs=2e-3)
    assert columns["resnet20_member_0_every_10"] == pytest.approx(own[0, ::2].mean(axis=0), abs=2e-3)
    assert columns["resnet20_el2n"] == pytest.approx(norms, abs=2e-3)
    assert columns["resnet20_member_0_variability"] == pytest.approx(
        stored[0, :, labels, labels].std(axis=1), abs=2e-3
    )  # fmt: skip
    assert reducing.ensemble_predictions(checkpoints).tolist() == mean[-1].argmax(axis=1).tolist()
    seeds = reducing.seed_predictions("resnet20", checkpoints)
    assert list(seeds) == [f"resnet20_seed_{seed}" for seed in range(3)]
    assert seeds["resnet20_seed_1"].tolist() == p[1, -1].argmax(axis=1).tolist()
