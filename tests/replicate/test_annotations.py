"""The optional file of multi-label annotations: what it adds to shankar2020 and vasudevan2022, and what it lacks."""

import json
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from running import assert_one_line, run

from regrade.classes import class_space
from regrade.core import FormatError
from regrade.metrics import MultilabelRule
from regrade.replicate import CellKind, CellOutcome, replicate
from regrade.replicate.annotations import ANNOTATIONS, read_annotations
from regrade.replicate.shankar2020_labels import changes
from regrade.stats import quantile

SPACE = class_space("imagenet-1k")
FISH, PUG, CUP, MUG = (SPACE.index_of[wnid] for wnid in ("n01440764", "n02110958", "n07930864", "n03063599"))
LABELS = (FISH, PUG, CUP, CUP, FISH)
IMAGES = tuple(f"ILSVRC2012_val_{n + 1:08}.JPEG" for n in range(len(LABELS)))
TOP5 = {
    "a": ((FISH, 1, 2, 3, 4), (CUP, PUG, 2, 3, 4), (MUG, CUP, 2, 3, 4), (CUP, 1, 2, 3, 4), (PUG, FISH, 2, 3, 4)),
    "b": ((FISH, 1, 2, 3, 4), (PUG, 1, 2, 3, 4), (MUG, 1, 2, 3, 4), (FISH, CUP, 2, 3, 4), (FISH, 2, 3, 4, 5)),
}


def wnids(*classes):
    return [SPACE.ids[c] for c in classes]


CONTENT = {
    "initial_annots": {
        IMAGES[0]: {"correct": wnids(FISH)},
        IMAGES[1]: {"correct": wnids(PUG), "unclear": wnids(CUP)},
        IMAGES[2]: {"correct": wnids(CUP, MUG, FISH)},
        IMAGES[3]: {"correct": wnids(CUP, MUG), "wrong": wnids(FISH)},
        IMAGES[4]: {"correct": wnids(FISH)},
        "0a1b.jpeg": {"correct": wnids(FISH)},
    },
    "problematic_images": {IMAGES[4]: "painting or drawing"},
    "imagenet_m": list(IMAGES[1:3]),
}


@pytest.fixture
def data(tmp_path):
    """A folder with the annotations, next to one with predictions of two models."""
    for name in ("recht2019", "shankar2020"):
        (tmp_path / name).mkdir()
    ranked = {
        model: pa.array([list(row) for row in rows], type=pa.list_(pa.int16(), 5)) for model, rows in TOP5.items()
    }
    table = pa.table({"image": list(IMAGES), "wnid": wnids(*LABELS), **ranked})
    pq.write_table(table, tmp_path / "recht2019" / "imagenet-val.top5.parquet")
    (tmp_path / "shankar2020" / ANNOTATIONS).write_text(json.dumps(CONTENT))
    return tmp_path / "shankar2020"


def cells(result, kind=CellKind.DATA):
    return {(cell.printed.where, cell.printed.row): cell for cell in result.cells if cell.kind is kind}


class TestShankar2020:
    def test_figures_by_hand(self, data):
        ours = {row: cell.ours for (where, row), cell in cells(replicate("shankar2020", data)).items()}
        assert ours == {
            "phase 1: annotated ImageNet validation images": 5,
            "phase 1: annotated ImageNetV2 images": 1,
            "images reviewed (ImageNet and ImageNetV2)": 6,
            "images in the categorization": 6,
            "ImageNet validation images with more than one correct label": 50.0,
            "images with more than one valid label": 50.0,
            "correct labels per image among images with several": 2.5,
            # of the first four images, top-1 of a is right on 1 and 4, of b on 1 and 2; by the labels also on 3
            "multi-label minus top-1 accuracy over models": 25.0,
            # top-5 of a is right on all four, of b on 1, 2 and 4
            "top-5 minus multi-label accuracy over models": pytest.approx(12.5),
        }

    def test_coverage_lists_what_the_file_would_add(self, data):
        without, with_file = replicate("shankar2020"), replicate("shankar2020", data)
        assert f"Figure 4 caption (with {ANNOTATIONS} in --data: changes against" in without.coverage.lines()[1]
        assert ANNOTATIONS not in with_file.coverage.lines()[1]
        parts = {part.where: part for part in with_file.coverage.parts}
        assert (parts["Figure 4 caption"].from_data, parts["Section 3.2 text"].from_data) == (2, 6)
        assert len(with_file.cells) == len(without.cells) + 11

    def test_misses_end_with_code_1_and_say_why(self, data):
        ran = run("replicate", "shankar2020", "--data", data, "--json")
        assert ran.code == 1 and "misses in shankar2020" in ran.err
        notes = " ".join(json.loads(ran.out)["notes"])
        assert (
            "4 validation images are not problematic" in notes and "over 2 models of recht2019 instead of 72" in notes
        )
        assert "With unclear classes accepted too, multi-label minus top-1 is +37.5" in notes

    def test_medians_need_predictions(self, data):
        shutil.rmtree(data.parent / "recht2019")
        result = replicate("shankar2020", data)
        assert not any("over models" in row for _, row in cells(result))
        assert any("medians over models: not recomputed, no recht2019/" in note for note in result.notes)

    def test_predictions_may_be_in_the_folder(self, data):
        shutil.move(data.parent / "recht2019", data / "recht2019")
        assert ("Figure 4 caption", "multi-label minus top-1 accuracy over models") in cells(
            replicate("shankar2020", data)
        )


class TestBadInput:
    def test_a_folder_without_the_file(self, tmp_path):
        refused = run("replicate", "shankar2020", "--data", tmp_path)
        assert_one_line(refused, f"has no {ANNOTATIONS}", "regrade testsets catalog multilabel-v3", "leave out --data")

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ([], "a JSON object with initial_annots"),
            (
                {"initial_annots": {"0a1b.jpeg": {"correct": ["n01440764"]}}},
                "annotates no image of the ImageNet validation",
            ),
            ({"initial_annots": {"ILSVRC2012_val_00000009.JPEG": {}}}, "has no image 'ILSVRC2012_val_00000009.JPEG'"),
        ],
    )
    def test_another_content(self, data, content, message):
        (data / ANNOTATIONS).write_text(json.dumps(content))
        with pytest.raises(FormatError, match=message):
            read_annotations(data)
        assert_one_line(run("replicate", "shankar2020", "--data", data), message.partition("'")[0])


@pytest.fixture(scope="module")
def simulated(published, tmp_path_factory):
    """Annotations of 20,000 published validation images that accept what ReaL accepts, and the original label."""
    folder = tmp_path_factory.mktemp("annotations")
    data = shutil.copytree(published / "vasudevan2022", folder / "vasudevan2022")
    (folder / "recht2019").mkdir()
    source = published / "recht2019" / "imagenet-val.top5.parquet"
    names = ["image", "wnid", "alexnet", "vgg16", "resnet18", "resnet50", "densenet121", "inceptionv4", "xception"]
    pq.write_table(pq.read_table(source, columns=names), folder / "recht2019" / source.name)
    images = pq.read_table(source, columns=["image", "wnid"]).to_pylist()
    lists = json.loads((published / "real" / "real.json").read_text())
    mistakes = json.loads((data / "vit3b_mistakes.json").read_text())
    chosen = [row for n, row in enumerate(images) if n % 5 < 2 or row["image"] in mistakes]
    annotations = {}
    for row in chosen:
        real = lists[int(row["image"][15:23]) - 1]
        annotations[row["image"]] = {"correct": list(dict.fromkeys([row["wnid"], *(SPACE.ids[c] for c in real)]))}
    major = [image for image, mistake in mistakes.items() if mistake["failure severity"] == "Major"][:68]
    content = {"initial_annots": annotations, "problematic_images": {}, "imagenet_m": major}
    (data / ANNOTATIONS).write_text(json.dumps(content))
    return data, content, mistakes


class TestVasudevan2022:
    def test_imagenet_m_by_counting(self, simulated):
        data, content, mistakes = simulated
        soups = json.loads((data / "greedy_soups_mistakes.json").read_text())
        result = replicate("vasudevan2022", data)
        ours = {row: cell for (where, row), cell in cells(result).items() if where == "Section 5.1 text"}
        assert ours["ImageNet-M"].ours == ours["ImageNet-M examples broken down"].ours == 68
        assert ours["ViT-3B on ImageNet-M"].ours == 0
        right = sum(image not in soups for image in content["imagenet_m"])
        assert ours["Greedy Soups on ImageNet-M"].ours == right
        kinds = [cell.ours for row, cell in ours.items() if row.endswith("failures")]
        assert sum(kinds) == 68 and len(kinds) == 4
        spurious = sum("spurious" in mistakes[image]["failure category"].lower() for image in content["imagenet_m"])
        assert ours["ImageNet-M: spurious correlation failures"].ours == spurious

    def test_means_over_classes_by_counting(self, simulated):
        data, content, mistakes = simulated
        result = replicate("vasudevan2022", data)
        rows = pq.read_table(
            data.parent / "recht2019" / "imagenet-val.top5.parquet", columns=["image", "wnid"]
        ).to_pylist()
        label = {row["image"]: row["wnid"] for row in rows}
        by_class = {}
        for image in content["initial_annots"]:
            by_class.setdefault(label[image], []).append(image not in mistakes)
        expected = 100 * np.mean([np.mean(right) for right in by_class.values()])
        basis = "mean over classes, annotations, version 3"
        means = {cell.name: cell.ours for cell in result.cells if cell.basis == basis}
        assert means["ViT-3B, All, MLA Re-labeled"] == pytest.approx(expected)
        organisms = {SPACE.ids[c] for c in SPACE.group("organisms")}
        expected = 100 * np.mean([np.mean(right) for wnid, right in by_class.items() if wnid in organisms])
        assert means["ViT-3B, Organisms, MLA Re-labeled"] == pytest.approx(expected)
        assert len(means) == 4

    def test_without_the_file_coverage_names_it(self, replication_of, simulated):
        lines = replication_of("vasudevan2022").coverage.lines()[1]
        assert f"Section 5.1 text (with {ANNOTATIONS} in --data: size and categories of ImageNet-M" in lines
        assert ANNOTATIONS not in replicate("vasudevan2022", simulated[0]).coverage.lines()[1]

    def test_means_need_labels(self, simulated, tmp_path):
        alone = shutil.copytree(simulated[0], tmp_path / "alone" / "vasudevan2022")
        result = replicate("vasudevan2022", alone)
        assert not any("mean over classes" in cell.basis for cell in result.cells)
        assert any("means over classes need the images' own labels" in note for note in result.notes)


def test_tolerance_of_medians_is_their_interval_over_models(simulated):
    data = simulated[0]
    result = replicate("shankar2020", data)
    figure = cells(result)["Figure 4 caption", "multi-label minus top-1 accuracy over models"]
    study = changes(read_annotations(data), MultilabelRule.IMAGES)
    assert len(study.rows) == 7 and figure.basis == "7 models, annotations, version 3"
    assert figure.ours == pytest.approx(100 * study.change.value)
    over_models = quantile([row.change.value for row in study.rows], 0.5)
    wider = max(over_models.high - over_models.value, over_models.value - over_models.low)
    assert figure.tolerance == pytest.approx(max(100 * wider, 0.05))
    assert figure.outcome is CellOutcome.MISS  # these labels are not the annotations
