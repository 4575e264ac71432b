"""`study models` and `study frequency` as commands: attributes from files, columns, reports, and errors in one line."""

import csv
import json
import shutil

import numpy as np
import pytest
from running import assert_one_line, run, run_well

import regrade
from regrade.core import DescribedModels, ModelAttributes, TestSet
from regrade.studies.registry import all_studies
from regrade.studies.report_data import ReportData

IMAGES = 300
YEARS = {f"m{place}": 2010 + place for place in range(7)}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    """Seven models on an original and a harder new set; the newest is described by nobody."""
    folder = tmp_path_factory.mktemp("described")
    workspace = regrade.init(folder / "W")
    rng = np.random.default_rng(0)
    for name, harder in (("old", 0.0), ("new", 0.1)):
        labels = np.arange(IMAGES) % 10
        frequencies = np.round(rng.beta(4, 1, IMAGES) * 10) / 10
        rows = [(f"{name}{i}", label, frequency, 10, "ab"[i % 2]) for i, (label, frequency) in
                enumerate(zip(labels, frequencies, strict=True))]  # fmt: skip
        columns = ["id", "label", "selection_frequency", "answers", "region"]
        for place, model in enumerate([*YEARS, "unknown"]):
            right = rng.random(IMAGES) < (0.2 + 0.08 * (place * 3 % 7) - harder) + 0.3 * frequencies
            rows = [(*row, int(label if ok else (label + 1) % 10))
                    for row, label, ok in zip(rows, labels, right, strict=True)]  # fmt: skip
            columns.append(model)
        write(folder / f"{name}.csv", columns, rows)
        groups = [part for column in columns[2:5] for part in ("--group", column)]
        place = ("-t", name, "--classes", "digits", "-w", workspace.store.root)
        run_well("import", "predictions", folder / f"{name}.csv", *place, *groups)
    described = [(model, year, 10 ** (6 + year - 2010), "odd" if year % 2 else "even") for model, year in YEARS.items()]
    write(folder / "models.csv", ("model", "year", "parameters", "family"), described)
    run_well("models", "describe", folder / "models.csv", "-w", workspace.store.root)
    return workspace


def write(path, header, rows):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])


@pytest.mark.parametrize(
    ("by", "part", "reason"),
    [
        ("year", "families", "a comparison takes a family of 3 models, and 3 others, with predictions on new"),
        ("family", "trends", "a trend takes an attribute that 4 models with predictions on new have"),
    ],
)
def test_an_empty_table_is_one_line_instead(workspace, by, part, reason):
    words = ("study", "models", "-t", "new", "--by", by, "-w", workspace.store.root)
    run_well(*words)
    ran = run(*words, "--show", part)
    assert_one_line(ran, reason, "state them with regrade models describe, or leave out --by")


def test_models_are_studied_with_what_is_stated(workspace, tmp_path):
    figure = tmp_path / "models.svg"
    arguments = ("study", "models", "-t", "new", "--original", "old", "--disparity-by", "region", "--json")
    result = json.loads(run_well(*arguments, "-w", workspace.store.root, "--figure", figure).out)
    cells = [(row["measure"], row["attribute"]) for row in result["trends"]]
    measures = ("accuracy", "drop", "effective robustness", "disparity")
    assert cells == [(measure, attribute) for attribute in ("year", "parameters") for measure in measures]
    assert {row["models"] for row in result["trends"]} == {7}
    assert {row["family"] for row in result["families"]} == {"odd", "even"}
    assert "1 model without year: unknown" in result["notes"]
    assert len(result["models"]) == 8
    assert figure.read_text().startswith("<svg")


def test_models_can_be_left_out(workspace):
    result = workspace.study.models("new", by=["year"], without=["m0", "unk*"])
    assert [model.model for model in result.models if model.model in ("m0", "unknown")] == []
    assert len(result.trends) == 1


def test_models_on_a_slice(workspace):
    whole, part = (workspace.study.models("new", by=["year"], slice=name) for name in (None, "region=a"))
    assert part.test_set == "new, slice region=a"
    assert {model.accuracy.n for model in part.models} == {IMAGES // 2}
    assert {model.accuracy.n for model in whole.models} == {IMAGES}


def test_sets_with_common_images_are_noted(workspace):
    ids = tuple(f"old{place}" for place in range(40))
    labels = np.arange(40, dtype=np.int32) % 10
    space = workspace.store.class_spaces.read("digits")
    workspace.store.add_test_set(TestSet("part", space, ids, labels))
    for place, model in enumerate(YEARS):
        right = np.arange(40) < 20 + 2 * place
        workspace.models.add_predictions(model, np.eye(10)[np.where(right, labels, (labels + 1) % 10)], test_set="part")
    result = workspace.study.models("part", original="old", by=["year"])
    assert any(note.startswith("40 images of part are images of old too") for note in result.notes)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("models", "-t", "new", "--original", "new"), "--original and -t are both new"),
        (("models", "-t", "new", "--slice", "region=c"), "unknown region of new 'c'"),
        (("models", "-t", "new", "--without", "*"), "all models with predictions on new are left out"),
        (("models", "-t", "new", "--by", "training-images"), "a trend needs at least 4 models, got 0"),
        (("models", "-t", "new", "--model", "unknown"), "regrade models describe FILE.csv"),
        (("models", "-t", "new", "--disparity-by", "continent"), "unknown group column of new 'continent'"),
        (("frequency", "-t", "old", "-t", "old"), "-t names the same test set twice"),
        (("frequency", "-t", "old", "--column", "region"), "column region of old is not numeric"),
        (("frequency", "-t", "old", "-t", "new", "--column", "a", "--column", "b", "--column", "c"), "give --column"),
        (("frequency", "-t", "old", "--answers", "7"), "correct --answers"),
        (("frequency", "-t", "old", "--answers", "region"), "must have whole numbers of answers"),
        (("frequency", "-t", "old", "--edge", "100"), "edges must lie between 0 and 100 %"),
    ],
)
def test_bad_input_is_one_clear_line(workspace, arguments, error):
    assert_one_line(run("study", *arguments, "-w", workspace.store.root), error)


def test_frequencies_of_two_sets(workspace, tmp_path):
    figure = tmp_path / "frequency.png"
    arguments = ("study", "frequency", "-t", "old", "-t", "new", "--edge", "60", "--edge", "90", "--json")
    result = json.loads(run_well(*arguments, "-w", workspace.store.root, "--figure", figure).out)
    assert result["names"] == ["[0, 0.6)", "[0.6, 0.9)", "[0.9, 1]"]
    assert sum(row["images"] for row in result["bins"]) == 2 * IMAGES
    assert [row["test_set"] for row in result["changes"]] == ["new"]
    assert [row["answers"] for row in result["noise"]] == [10, 10]
    assert figure.read_bytes()[:4] == b"\x89PNG"


def test_reports_have_chapters_of_both(workspace):
    data = ReportData(workspace.store, original="old")
    by_name = {study.name: [chapter.about for chapter in study.chapters(data)] for study in all_studies()}
    assert by_name["models"] == ["new, compared with old"]
    assert by_name["frequency"] == ["old, new"]


def test_models_with_derived_attributes_are_counted(workspace, tmp_path):
    copy = regrade.open(shutil.copytree(workspace.store.root, tmp_path / "W"))
    assert not [note for note in copy.study.models("new").notes if "derived" in note]
    rows = {"unknown": {"name in timm": ModelAttributes(year=2019)}, "m0": {"name in timm": ModelAttributes(year=1999)}}
    copy.store.described_models.update(DescribedModels(derived=rows))
    notes = copy.study.models("new").notes
    assert [note for note in notes if note.startswith("attributes of 1 model are derived in part from names")]
