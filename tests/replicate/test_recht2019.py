"""Recht et al. 2019 from its published predictions: what matches, what does not and why, in both layouts."""

import json
import shutil

import numpy as np
import pyarrow.parquet as pq
import pytest

from regrade.core import FormatError, InputError
from regrade.replicate import Outcome, replicate
from regrade.replicate.recht2019_data import CIFAR_SETS, IMAGENET_SETS, read_published
from regrade.replicate.recht2019_printed import CIFAR, IMAGENET


@pytest.fixture(scope="module")
def folder(published):
    return published / "recht2019"


@pytest.fixture(scope="module")
def found(folder):
    return replicate("recht2019", folder)


def cells(found, table):
    return {cell.cell: cell for cell in found.cells if cell.table == table}


OPEN = ("gap", "original rank", "new rank", "rank change")


def test_nothing_is_missed_and_nothing_dropped(found):
    assert found.count(Outcome.MISS) == 0
    assert len(found.cells) == 10 * (len(IMAGENET) + len(CIFAR)) - len(OPEN) + 6 + 3 * 6
    checked = [cell for cell in found.cells if cell.published is not None]
    assert sum(cell.outcome is Outcome.MATCH for cell in checked) == found.count(Outcome.MATCH) == 54 + 35 + 4 + 6 + 2


def test_what_could_not_be_checked_matches_nothing(found):
    left_open = [cell for cell in found.cells if cell.published is None]
    assert len(left_open) == len(OPEN) * 14 - 6  # two models' ranks are known
    assert all(cell.ours is not None and "could not be checked" in cell.why for cell in left_open)
    assert {cell.outcome for cell in left_open} == {Outcome.EXPLAINED}


def test_every_known_cell_of_the_imagenet_table_matches(found):
    table = cells(found, "Table 1, ImageNet")
    assert len(table) == 80
    assert {cell.outcome for cell in table.values() if cell.published is not None} == {Outcome.MATCH}
    assert table["pnasnet_large_tf, new rank"].ours == 3
    assert table["pnasnet_large_tf, rank change"].ours == -2
    assert table["nasnetalarge, rank change"].ours == 3


def test_the_six_averages_match(found):
    table = cells(found, "Table 2")
    ours = [round(cell.ours, 2) for cell in table.values()]
    assert ours == [-11.83, -8.21, -3.20, -1.24, 2.08, 1.78]
    assert {cell.outcome for cell in table.values()} == {Outcome.MATCH}


def test_what_of_the_cifar_table_cannot_match(found):
    table = cells(found, "Table 1, CIFAR-10")
    others = {
        name
        for name, cell in table.items()
        if cell.outcome is Outcome.EXPLAINED and cell.published is not None and not name.startswith("autoaug")
    }
    assert others == {"shake_shake_64d_cutout, new accuracy, high"}
    assert table["shake_shake_64d_cutout, new accuracy, high"].ours == pytest.approx(94.0498, abs=5e-5)
    assert table["cudaconvnet, new accuracy, low"].ours == pytest.approx(75.65, abs=5e-3)


def test_the_model_without_predictions_has_only_the_intervals_of_its_printed_accuracies(found):
    row = {n: c for n, c in cells(found, "Table 1, CIFAR-10").items() if n.startswith("autoaug")}
    known = {name for name, cell in row.items() if cell.ours is not None}
    assert len(row) == 6 and len(known) == 4
    assert all("from the printed accuracy" in name and row[name].outcome is Outcome.MATCH for name in known)


@pytest.mark.parametrize(
    ("table", "slope", "offset"),
    [
        ("Line, ImageNet, 64 models without Fisher vectors", 1.110, -20.26),
        ("Line, ImageNet, all 67 models", 0.968, -9.46),
        ("Line, CIFAR-10, the 30 published models", 1.617, -65.51),
    ],
)
def test_the_lines(found, table, slope, offset):
    line = cells(found, table)
    assert line["slope"].ours == pytest.approx(slope, abs=5e-4)
    assert line["offset"].ours == pytest.approx(offset, abs=5e-3)
    assert line["slope, low"].ours < slope < line["slope, high"].ours


def test_the_bootstrap_is_that_of_the_paper(found):
    line = cells(found, "Line, ImageNet, 64 models without Fisher vectors")
    assert [line["slope, low"].ours, line["slope, high"].ours] == pytest.approx([1.07, 1.19], abs=0.01)
    assert [line["offset, low"].ours, line["offset, high"].ours] == pytest.approx([-26.0, -17.8], abs=0.4)


def test_the_fisher_vectors_are_read_rightly(folder):
    sets = read_published(folder).imagenet
    assert {len(one.models) for one in sets.values()} == {67}
    assert len({frozenset(one.models) for one in sets.values()}) == 1  # names that differ in one set are made one
    for one in sets.values():
        assert one.models["fv_4k"].right < one.models["fv_16k"].right < one.models["fv_64k"].right


@pytest.fixture
def official(folder, tmp_path):
    """Some of the published predictions, laid out as in the authors' repositories."""
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


def test_the_authors_own_layout_gives_the_same_counts(folder, official):
    ours, theirs = read_published(folder), read_published(official)
    for packed, plain in ((ours.imagenet, theirs.imagenet), (ours.cifar, theirs.cifar)):
        assert packed.keys() == plain.keys()
        for name, one in plain.items():
            assert len(one.models) in (3, 4)
            assert one.models == {model: packed[name].models[model] for model in one.models}


def test_a_paper_of_few_models_is_told_as_not_matching(official):
    found = replicate("recht2019", official)
    table = cells(found, "Table 1, ImageNet")
    assert table["vgg19_bn, new accuracy"].ours is None and table["vgg19_bn, new accuracy"].outcome is Outcome.MISS
    assert table["alexnet, new accuracy"].outcome is Outcome.MATCH
    assert table["nasnetalarge, original rank"].outcome is Outcome.MISS


def test_a_folder_without_the_predictions(tmp_path):
    with pytest.raises(InputError, match=r"expected imagenet-val\.top5\.parquet"):
        replicate("recht2019", tmp_path)


def test_a_file_that_is_missing(official):
    shutil.rmtree(official / "CIFAR-10.1" / "datasets")
    with pytest.raises(InputError, match=r"cifar10.1-v4 is not complete.*v4_labels.npy is missing"):
        read_published(official)


def test_a_file_that_is_not_laid_out_so(official):
    (official / "CIFAR-10.1" / "model_predictions" / "v4_predictions" / "darc_predictions.json").write_text("[1, 2]")
    with pytest.raises(FormatError, match=r"cifar10.1-v4 .* 2 predictions for 2,021 labels"):
        read_published(official)
