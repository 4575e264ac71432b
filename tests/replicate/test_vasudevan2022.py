"""Vasudevan et al. 2022: every cell, what matches and what is explained, and bad data."""

import json
import shutil

import pytest
from running import assert_one_line, run, run_well

from regrade.core import InputError
from regrade.replicate import CellKind, CellOutcome, replicate

TEST = "chi-square test, mistake {}, {}"
SOUPS, NEW = "ViT-3B against Greedy Soups", "ImageNet against ImageNetV2"


@pytest.fixture(scope="module")
def result(replication_of):
    return replication_of("vasudevan2022")


def cell(result, row, column, basis=None):
    return next(
        cell
        for cell in result.cells
        if (cell.printed.row, cell.printed.column) == (row, column) and basis in (None, cell.basis)
    )


@pytest.mark.parametrize(
    ("row", "column", "basis", "ours"),
    [
        ("ViT-3B, ImageNet", "Categories, Fine-grained (FG)", "", 100 * 242 / 378),
        ("Greedy Soups, ImageNet", "Categories, FG w/ OOV", "", 100 * 26 / 249),
        ("Greedy Soups, ImageNet", "Severities, Major", "", 100 * 89 / 249),
        ("ViT-3B, ImageNetV2", "Severities, Major", "whole counts of 53", 100 * 22 / 53),
        (TEST.format("severity", SOUPS), "chi-square", "380 mistakes", 1.6135),
        (TEST.format("category", NEW), "p-value", "380 mistakes", 0.8089),
        (TEST.format("category", NEW), "N", "380 mistakes", 433),
        (TEST.format("severity", SOUPS), "chi-square", "released mistakes", 1.5797),
        (TEST.format("category", SOUPS), "chi-square", "released mistakes", 2.4292),
        (TEST.format("severity", NEW), "chi-square", "released mistakes", 0.0114),
        (TEST.format("category", NEW), "chi-square", "released mistakes", 1.0168),
        ("ViT-3B mistakes corrected by Greedy Soups", "number", "", 214),
        ("common mistakes with a different prediction", "number", "", 21),
        ("errors at hierarchy distance 1 assessed as fine-grained", "share", "max steps", 100 * 98 / 109),
        ("errors at hierarchy distance 3 assessed as fine-grained", "share", "max steps", 100 * 32 / 47),
        ("ViT-3B", "All, MLA Re-labeled", "mean over 18,692 images", 97.9777),
        ("major errors", "number", "", 154),
        ("model mistakes for goblet and vase", "number", "", 0),
    ],
)
def test_recomputed_value(result, row, column, basis, ours):
    assert cell(result, row, column, basis).ours == pytest.approx(ours, abs=5e-4)


def test_table_2_matches_completely(result):
    table = [cell for cell in result.cells if cell.printed.where == "Table 2"]
    assert len(table) == 18 and {cell.outcome for cell in table} == {CellOutcome.MATCH}
    from_data = {cell.printed.row for cell in table if cell.kind is CellKind.DATA}
    assert from_data == {"ViT-3B, ImageNet", "Greedy Soups, ImageNet"}


def test_figures_from_printed_counts_are_by_construction(result):
    for row in result.cells:
        if row.printed.row.endswith(NEW) or row.basis == "380 mistakes" or row.printed.column == "degrees of freedom":
            assert row.kind is CellKind.CONSTRUCTION


def test_small_expected_count_is_noted(result):
    assert any("4.3, below 5" in note for note in result.notes)


def test_distances_require_labels_next_to_the_data(published, tmp_path, result):
    alone = shutil.copytree(published / "vasudevan2022", tmp_path / "alone" / "vasudevan2022")
    unlabeled = replicate("vasudevan2022", alone)
    assert not any("at hierarchy distance" in cell.printed.row for cell in unlabeled.cells)
    assert any("hierarchy distances need the images' own labels" in note for note in unlabeled.notes)
    assert len(unlabeled.cells) == len(result.cells) - 2


def test_removing_a_released_mistake_makes_figures_a_miss(published, tmp_path, result):
    data = shutil.copytree(published / "vasudevan2022", tmp_path / "data")
    content = json.loads((data / "vit3b_mistakes.json").read_text())
    content.popitem()
    (data / "vit3b_mistakes.json").write_text(json.dumps(content))
    changed = replicate("vasudevan2022", data)
    for row, column, before in (
        ("ViT-3B mistakes on the re-labeled set", "number", CellOutcome.MATCH),
        ("mistakes after re-evaluation", "number", CellOutcome.EXPLAINED),
        ("ViT-3B", "All, MLA Re-labeled", CellOutcome.EXPLAINED),
        (TEST.format("category", SOUPS), "N", CellOutcome.EXPLAINED),
    ):
        assert cell(result, row, column).outcome is before
        assert cell(changed, row, column).outcome is CellOutcome.MISS
    refused = run("replicate", "vasudevan2022", "--data", data)
    assert refused.code == 1 and "misses in vasudevan2022" in refused.err


def test_replicate_rejects_missing_or_invalid_data(tmp_path):
    assert_one_line(run("replicate", "vasudevan2022", "--data", tmp_path), "vit3b_mistakes.json")
    for name in ("vit3b_mistakes.json", "greedy_soups_mistakes.json"):
        (tmp_path / name).write_text("[]")
    with pytest.raises(InputError, match="a JSON object"):
        replicate("vasudevan2022", tmp_path)


def test_replicate_command(published):
    ran = run_well("replicate", "vasudevan2022", "--data", published / "vasudevan2022", "--json")
    content = json.loads(ran.out)
    assert content["paper"] == "vasudevan2022"
    assert content["counts"]["data"] == {"match": 17, "miss": 0, "explained": 17}
    assert set(content["coverage"][0]) == {
        "where", "printed", "from_data", "by_construction", "coverable", "not_coverable", "no_result",
    }  # fmt: skip
    table = run_well("replicate", "vasudevan2022", "--data", published / "vasudevan2022").out
    assert "recomputed from data: 17 match, 0 miss, 17 explained" in table
    for line in ("covered: ", "not covered although data would allow: Table 1 (", "not coverable: "):
        assert line in table


def test_paired_p_values_are_printed_next_to_the_papers(result):
    notes = [note for note in result.notes if "by the paired test" in note]
    assert [note.partition(",")[0] for note in notes] == ["categories", "severity"]
    for note, kind in zip(notes, ("category", "severity"), strict=True):
        unpaired = cell(result, TEST.format(kind, SOUPS), "p-value", "released mistakes").ours
        assert f"p = {unpaired:.4f} by the paper's test" in note
        assert f"{378 - 214:,} of" in note
