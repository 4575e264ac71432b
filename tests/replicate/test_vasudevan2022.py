"""Vasudevan et al. 2022: every cell, what matches and what is explained, and bad data."""

import json
import shutil

import pytest
from running import assert_one_line, run, run_well

from regrade.core import InputError
from regrade.replicate import Outcome, replicate


@pytest.fixture(scope="module")
def found(published):
    return replicate("vasudevan2022", published / "vasudevan2022")


def cell(found, table, name):
    return next(one for one in found.cells if (one.table, one.cell) == (table, name))


def test_nothing_is_missed(found):
    assert found.count(Outcome.MISS) == 0
    assert (found.count(Outcome.MATCH), found.count(Outcome.EXPLAINED)) == (42, 21)
    assert len({(one.table, one.cell) for one in found.cells}) == len(found.cells)


def test_what_is_explained_says_why_and_what_matches_is_within_half_a_digit(found):
    for one in found.cells:
        if one.outcome is Outcome.EXPLAINED:
            assert one.why
        assert one.tolerance in (0, 0.05, 0.005)


@pytest.mark.parametrize(
    ("table", "name", "ours"),
    [
        ("Table 2, counts", "ViT-3B, fine-grained", 242),
        ("Table 2, counts", "Greedy Soups, out of vocabulary", 26),
        ("Table 2, counts", "Greedy Soups, major", 89),
        ("Chi-square, counts that fit", "severity, ViT-3B and Greedy Soups: statistic", 1.6135),
        ("Chi-square, counts that fit", "categories, validation and new images: p", 0.8089),
        ("Chi-square, counts that fit", "categories, validation and new images: n", 433),
        ("Chi-square, released counts", "severity, ViT-3B and Greedy Soups: statistic", 1.580),
        ("Chi-square, released counts", "categories, ViT-3B and Greedy Soups: statistic", 2.429),
        ("Chi-square, released counts", "severity, validation and new images: statistic", 0.0114),
        ("Chi-square, released counts", "categories, validation and new images: statistic", 1.0168),
        ("Confused pairs", "pairs", 481),
        ("Confused pairs", "confusions", 545),
        ("Confused pairs", "pairs confused 5 times", 2),
        ("Greedy Soups against ViT-3B, released", "common", 164),
        ("Greedy Soups against ViT-3B, released", "common, other answer", 21),
        ("Hierarchy distance", "fine-grained at 1, %", 100 * 98 / 109),
        ("Hierarchy distance", "fine-grained at 3, %", 100 * 32 / 47),
        ("Multi-label accuracy after the review", "ViT-3B, %", 97.9777),
        ("ImageNet-M", "major mistakes of ViT-3B to choose from", 154),
    ],
)
def test_ours(found, table, name, ours):
    assert cell(found, table, name).ours == pytest.approx(ours, abs=5e-4)


@pytest.mark.parametrize(
    ("table", "name"),
    [
        ("Chi-square, counts that fit", "categories, validation and new images: p"),
        ("Greedy Soups against ViT-3B, before review", "fixed"),
        ("Hierarchy distance", "goblet to vase"),
        ("ImageNet-M", "Greedy Soups, right"),
    ],
)
def test_explained(found, table, name):
    assert cell(found, table, name).outcome is Outcome.EXPLAINED


def test_printed_counts_of_imagenet_m_come_with_intervals(found):
    assert "27.9 [17.7, 40.1]" in cell(found, "ImageNet-M", "Greedy Soups, right").why


def test_the_small_expected_count_is_told(found):
    assert any("4.4, below 5" in note for note in found.notes)


def test_without_labels_beside_the_distances_are_not_recomputed(published, tmp_path):
    alone = shutil.copytree(published / "vasudevan2022", tmp_path / "alone" / "vasudevan2022")
    found = replicate("vasudevan2022", alone)
    one = cell(found, "Hierarchy distance", "fine-grained at 1, %")
    assert one.ours is None and "not among the published files" in one.why and one.outcome is Outcome.EXPLAINED
    assert found.count(Outcome.MATCH) == 42


def test_a_released_mistake_less_is_a_miss(published, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    for path in (published / "vasudevan2022").iterdir():
        (data / path.name).write_bytes(path.read_bytes())
    content = json.loads((data / "vit3b_mistakes.json").read_text())
    content.popitem()
    (data / "vit3b_mistakes.json").write_text(json.dumps(content))
    found = replicate("vasudevan2022", data)
    assert cell(found, "Table 2, counts", "ViT-3B, mistakes").outcome is Outcome.MISS


def test_data_that_is_not_there_or_not_it(tmp_path):
    assert_one_line(run("replicate", "vasudevan2022", "--data", tmp_path), "vit3b_mistakes.json")
    for name in ("vit3b_mistakes.json", "greedy_soups_mistakes.json"):
        (tmp_path / name).write_text("[]")
    with pytest.raises(InputError, match="a JSON object"):
        replicate("vasudevan2022", tmp_path)


def test_the_command(published):
    ran = run_well("replicate", "vasudevan2022", "--data", published / "vasudevan2022", "--json")
    content = json.loads(ran.out)
    assert content["paper"] == "vasudevan2022"
    assert content["cells"][0].keys() == {"table", "cell", "published", "ours", "tolerance", "outcome", "why"}
    table = run_well("replicate", "vasudevan2022", "--data", published / "vasudevan2022").out
    assert "42 match, 0 miss, 21 explained" in table
