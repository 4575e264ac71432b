"""Recht et al. 2019 from its published predictions, in both layouts: matches and explained deviations."""

import json
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from regrade.core import FormatError, InputError
from regrade.replicate import CellKind, CellOutcome, Replication, replicate
from regrade.replicate.recht2019 import CIFAR_SETS, IMAGENET_SETS, read_published
from regrade.replicate.recht2019_build import build_cells, build_folder


@pytest.fixture(scope="module")
def folder(published):
    return published / "recht2019"


@pytest.fixture(scope="module")
def result(replication_of):
    return replication_of("recht2019")


def in_part(result, where, start=""):
    """The cells of a part of the paper by row and column; ``start`` filters columns by prefix."""
    cells = (cell for cell in result.cells if cell.printed.where == where)
    return {cell.printed.place[1:]: cell for cell in cells if cell.printed.column.startswith(start)}


def line(result, test_set, basis):
    row = f"linear fit, {test_set}"
    return {cell.printed.column: cell for cell in result.cells if (cell.printed.row, cell.basis) == (row, basis)}


def test_imagenet_rows_of_table_1_match_completely(result):
    table = in_part(result, "Table 1", "ImageNet Top-1")
    assert len(table) == 80
    assert {cell.outcome for cell in table.values()} == {CellOutcome.MATCH}
    assert {cell.kind for cell in table.values()} == {CellKind.DATA}
    assert table["pnasnet_large_tf", "ImageNet Top-1, New Rank"].ours == 3
    assert table["nasnetalarge", "ImageNet Top-1, Delta Rank"].ours == 3


def test_six_averages_of_table_2_match(result):
    table = in_part(result, "Table 2")
    ours = {(row, column.split()[1]): round(cell.ours, 2) for (row, column), cell in table.items()}
    assert ours == {
        ("MatchedFrequency", "Top-1"): -11.83, ("MatchedFrequency", "Top-5"): -8.21,
        ("Threshold0.7", "Top-1"): -3.20, ("Threshold0.7", "Top-5"): -1.24,
        ("TopImages", "Top-1"): 2.08, ("TopImages", "Top-5"): 1.78,
    }  # fmt: skip
    assert {cell.outcome for cell in table.values()} == {CellOutcome.MATCH}


def test_cifar_ranks_are_five_less_than_printed_except_one(result):
    table = in_part(result, "Table 1", "CIFAR-10")
    ranks = {key: cell for key, cell in table.items() if key[1].endswith(("Orig. Rank", "New Rank"))}
    less = {key: cell.printed.value - cell.ours for key, cell in ranks.items()}
    assert len(less) == 12 and less.pop(("shake_shake_64d_cutout", "CIFAR-10, New Rank")) == 4
    assert set(less.values()) == {5}


def test_cifar_accuracies_and_gaps_match_except_one_bound(result):
    table = in_part(result, "Table 1", "CIFAR-10")
    off = {key for key, cell in table.items() if cell.outcome is not CellOutcome.MATCH and "Rank" not in key[1]}
    edge = ("shake_shake_64d_cutout", "CIFAR-10, New Accuracy high")
    assert off == {edge}
    assert table[edge].ours == pytest.approx(94.0498, abs=5e-5)
    assert table["cudaconvnet", "CIFAR-10, New Accuracy low"].ours == pytest.approx(75.65, abs=5e-3)


def test_model_without_predictions_has_only_the_intervals_of_its_printed_accuracies(result):
    row = [cell for cell in result.cells if cell.printed.row.startswith("autoaug")]
    assert len(row) == 4
    assert {(cell.kind, cell.outcome) for cell in row} == {(CellKind.CONSTRUCTION, CellOutcome.MATCH)}


@pytest.mark.parametrize(
    ("test_set", "basis", "slope", "offset"),
    [
        ("ImageNet top-1", "models without Fisher vectors", 1.110, -20.26),
        ("ImageNet top-1", "all models", 0.968, -9.46),
        ("CIFAR-10", "all published models", 1.617, -65.51),
        ("CIFAR-10", "without alexnet_tf_ben", 1.661, -69.75),
        ("CIFAR-10", "without alexnet_tf_ben, with the printed row of autoaug_pyramid_net_tf", 1.678, -71.27),
    ],
)
def test_lines(result, test_set, basis, slope, offset):
    cells = line(result, test_set, basis)
    assert cells["slope"].ours == pytest.approx(slope, abs=5e-4)
    assert cells["offset"].ours == pytest.approx(offset, abs=5e-3)
    assert cells["slope low"].ours < slope < cells["slope high"].ours


def test_bootstrap_matches_the_paper(result):
    cells = line(result, "ImageNet top-1", "models without Fisher vectors")
    assert [cells["slope low"].ours, cells["slope high"].ours] == pytest.approx([1.07, 1.19], abs=0.01)
    assert [cells["offset low"].ours, cells["offset high"].ours] == pytest.approx([-26.0, -17.8], abs=0.4)


def test_cifar_line_and_the_model_outside_the_range_are_noted(result):
    words = " ".join(result.notes)
    assert "30 models, and five more in the paper" in words and "alexnet_tf_ben" in words


def test_fisher_vectors_are_read_correctly(folder):
    sets = read_published(folder).imagenet
    assert {len(counts.models) for counts in sets.values()} == {67}
    assert len({frozenset(counts.models) for counts in sets.values()}) == 1  # the same names in all sets
    for counts in sets.values():
        assert counts.models["fv_4k"].right < counts.models["fv_16k"].right < counts.models["fv_64k"].right


@pytest.fixture
def official(folder, tmp_path):
    """A part of the published predictions, in the layout of the authors' repositories."""
    data = tmp_path / "ImageNetV2" / "data"
    for name, theirs in IMAGENET_SETS.items():
        table = pq.read_table(folder / f"{name}.top5.parquet")
        wnids = table["wnid"].cast("string").to_pylist()
        listing = {"image_filenames": list(zip(table["image"].cast("string").to_pylist(), wnids, strict=True))}
        (data / "datasets").mkdir(parents=True, exist_ok=True)
        (data / "datasets" / f"{theirs}.json").write_text(json.dumps(listing))
        (data / "predictions" / theirs).mkdir(parents=True)
        for model in ("alexnet", "resnet50", "xception", next(m for m in table.column_names if m.startswith("fv_16k"))):
            ranked = table[model].combine_chunks().flatten().to_numpy().reshape(-1, 5)
            np.save(data / "predictions" / theirs / f"{model}.npy", ranked.astype(np.int64))
    for name, (version, labels) in CIFAR_SETS.items():
        table = pq.read_table(folder / f"{name}.top1.parquet")
        (tmp_path / labels).parent.mkdir(parents=True, exist_ok=True)
        np.save(tmp_path / labels, table["label"].to_numpy())
        lists = tmp_path / "CIFAR-10.1" / "model_predictions" / f"{version}_predictions"
        lists.mkdir(parents=True)
        for model in ("darc", "nas", "wrn_28_10"):
            (lists / f"{model}_predictions.json").write_text(json.dumps(table[model].to_pylist()))
    return tmp_path


def test_authors_layout_gives_the_same_counts(folder, official):
    ours, theirs = read_published(folder), read_published(official)
    for packed, plain in ((ours.imagenet, theirs.imagenet), (ours.cifar, theirs.cifar)):
        assert packed.keys() == plain.keys()
        for name, counts in plain.items():
            assert len(counts.models) in (3, 4)
            assert counts.models == {model: packed[name].models[model] for model in counts.models}


def test_replication_from_few_models_misses(official):
    result = replicate("recht2019", official)
    table = in_part(result, "Table 1", "ImageNet Top-1")
    missing = table["vgg19_bn", "ImageNet Top-1, New Accuracy"]
    assert missing.ours is None and missing.outcome is CellOutcome.MISS
    assert table["alexnet", "ImageNet Top-1, New Accuracy"].outcome is CellOutcome.MATCH
    assert table["nasnetalarge", "ImageNet Top-1, Orig. Rank"].outcome is CellOutcome.MISS
    lines = {cell.outcome for cell in result.cells if cell.printed.row.startswith("linear fit") and cell.expected}
    assert lines == {CellOutcome.MISS}


def test_replicate_rejects_a_folder_without_predictions(tmp_path):
    with pytest.raises(InputError, match=r"expected imagenet-val\.top5\.parquet"):
        replicate("recht2019", tmp_path)


def test_replicate_rejects_a_missing_file(official):
    shutil.rmtree(official / "CIFAR-10.1" / "datasets")
    with pytest.raises(InputError, match=r"cifar10.1-v4 is not complete.*v4_labels.npy is missing"):
        read_published(official)


def test_a_file_that_is_not_laid_out_so(official):
    (official / "CIFAR-10.1" / "model_predictions" / "v4_predictions" / "darc_predictions.json").write_text("[1, 2]")
    with pytest.raises(FormatError, match=r"cifar10.1-v4 .* 2 predictions for 2,021 labels"):
        read_published(official)


def test_every_class_of_the_new_sets_has_ten_images(result):
    cells = [cell for cell in result.cells if cell.printed.row.endswith(": images per class")]
    assert len(cells) == 6
    assert {(cell.ours, cell.outcome, cell.kind) for cell in cells} == {(10, CellOutcome.MATCH, CellKind.DATA)}


def test_the_build_is_recomputed_from_tasks_and_revisions(result):
    part = [cell for cell in result.cells if "MTurk" in cell.printed.row or cell.printed.row.startswith("of these")]
    ours = [(cell.ours, cell.outcome.value) for cell in part]
    assert ours == [
        (48, "match"), (25, "explained"), (6, "match"), (3, "match"), (3, "match"), (4, "explained"), (2, "explained"),
        (2, "explained"), (10, "match"),
    ]  # fmt: skip
    assert {cell.kind for cell in part} == {CellKind.DATA}


@pytest.fixture
def history(tmp_path):
    """A history with one task of 42 images with two controls, and with other settings than printed."""
    folder = tmp_path / "imagenetv2_build"
    folder.mkdir()
    roles = ["images_to_label"] * 40 + ["images_pos_control", "images_neg_control"]
    tiles = {"task": ["1"] * 42, "wnid": ["n1"] * 42, "role": roles, "image": list(map(str, range(42)))}
    pq.write_table(pa.table(tiles), folder / "tasks.parquet")
    names = [f"imagenetv2-{letter}-0" for letter in "ab"]
    pq.write_table(pa.table({"dataset": names, "image": ["x", "y"], "wnid": ["n1"] * 2}), folder / "revisions.parquet")
    settings = {
        "sampling_function": "sample_best",
        "min_num_annotations": 8,
        "min_num_val_images_per_wnid": 5,
        "selection_frequency_threshold": 0.6,
        "wnid_thresholds": {"n1": 0.7},
    }
    (folder / "revisions.json").write_text(json.dumps(dict.fromkeys(names, settings)))
    return folder


def test_cells_of_another_build_miss(history):
    replication = Replication.of("recht2019", build_cells(history))
    assert len(replication.cells) == 15
    assert {cell.outcome for cell in replication.cells} == {CellOutcome.MISS}


def test_settings_that_are_missing_are_one_line(history):
    (history / "revisions.json").write_text("{}")
    with pytest.raises(FormatError, match=r"revisions.json: no revision has the setting sampling_function"):
        list(build_cells(history))


def test_the_folder_of_the_build_is_next_to_the_predictions_or_in_them(history, tmp_path):
    data = tmp_path / "recht2019"
    data.mkdir()
    assert build_folder(data) == build_folder(tmp_path) == history
    assert build_folder(history / "elsewhere" / "recht2019") is None


def test_a_missing_build_is_noted(official):
    result = replicate("recht2019", official)
    assert "there is no folder imagenetv2_build next to the predictions" in result.notes[-1]
    assert not [cell for cell in result.cells if "MTurk" in cell.printed.row]
