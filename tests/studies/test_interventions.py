"""Interventions compared with their base models: pairs, slices, effective robustness, cautions, and the command."""

import csv
import json
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from running import assert_one_line, run, run_well
from scipy import special

import regrade
from benchmarks.calibration.null_remedies import compared_interventions, seeded_correctness
from regrade.core import InputError, SliceSet
from regrade.studies import ModelCounts, RemedyVerdict, SetCounts, figure, findings
from regrade.studies.remedies.effective import with_effective_robustness
from regrade.studies.remedies.interventions import interventions
from regrade.studies.seeded_methods import SeededMethod, paired_methods

STORED = ("a", "a-more", "b", "b-more", "trained:plain/seed-0", "trained:plain/seed-1", "trained:dro/seed-0",
          "trained:dro/seed-1")  # fmt: skip


def test_interventions_pair_models_and_trainings_with_their_base_models():
    chosen = interventions({"b-more": "b", "a-more": "a", "dro": "plain", "c": "a", "a": "z"}, STORED, where="old")
    assert [(pair.baseline.name, pair.remedy.name) for pair in chosen.pairs] == [
        ("a", "a-more"), ("b", "b-more"), ("plain", "dro"),
    ]  # fmt: skip
    assert chosen.pairs[2].rows[1] == ("trained:plain/seed-1", "trained:dro/seed-1")
    assert chosen.notes == (
        "left out, since the base model has no predictions on old: a (base model z)",
        "1 described intervention without predictions on old: c",
    )
    assert chosen.standard == ("b", "trained:plain/seed-0", "trained:plain/seed-1")


@pytest.mark.parametrize(
    ("base_models", "message"),
    [
        ({}, "no model with predictions on old has a base model: state base models with regrade models describe"),
        ({"c": "a"}, "no model with predictions on old has a base model"),
        ({"a": "z"}, "no base model has predictions on old, needed for a .base model z.: predict with it"),
    ],
)
def test_nothing_to_compare_says_how_to_describe_models(base_models, message):
    with pytest.raises(InputError, match=message):
        interventions(base_models, STORED, where="old")


@given(st.integers(0, 10_000), st.integers(0, 40))
def test_rows_are_those_of_single_comparisons_with_a_common_correction(seed, in_slice):
    correct = seeded_correctness(np.random.default_rng(seed), np.array([[1.0], [0.8]]), seeds=3, images=100)
    result = compared_interventions(correct, split=60, in_slice=in_slice if in_slice > 1 else 0)
    places = 3 if in_slice > 1 else 2
    assert len(result.rows) == 3 * places and result.baseline is None
    for row in result.rows:
        place = int(row.remedy.removeprefix("modified-"))
        start, stop = {"old": (0, 60), "new": (60, 100)}[row.test_set]
        part = correct[:, place, start : stop if row.slice is None else start + in_slice]
        assert row.compared_with == f"base-{place}"
        assert row.images == part.shape[1]
        assert row.difference.value == pytest.approx(part[1].mean() - part[0].mean())
        assert f", {len(result.rows)} together" in row.difference.method


def counts_of(name, **accuracies):
    return SetCounts(name, {model: ModelCounts(right, 1000) for model, right in accuracies.items()})


def one_pair_result():
    correct = seeded_correctness(np.random.default_rng(0), np.array([[1.0], [0.8]]), seeds=1, images=100)
    return compared_interventions(correct, split=60, in_slice=20)


PAIR = paired_methods(SeededMethod("base-0", {"": "base-0"}), SeededMethod("modified-0", {"": "modified-0"}))
STANDARD = ("s1", "s2", "s3", "s4", "base-0")


def test_effective_robustness_matches_a_line_by_hand():
    """Standard models lie exactly on logit(y) = 0.9 logit(x) - 0.5, up to rounding to whole images of a million."""
    size, x = 1_000_000, np.array([0.5, 0.6, 0.7, 0.8, 0.65])
    y = special.expit(0.9 * special.logit(x) - 0.5)
    old = {name: ModelCounts(round(size * value), size) for name, value in zip(STANDARD, x, strict=True)}
    new = {name: ModelCounts(round(size * value), size) for name, value in zip(STANDARD, y, strict=True)}
    expected = special.expit(0.9 * special.logit(0.75) - 0.5)
    old["modified-0"] = ModelCounts(750_000, size)
    new["modified-0"] = ModelCounts(round(size * (expected + 0.04)), size)
    counts = [SetCounts("old", old), SetCounts("new", new)]
    result = with_effective_robustness(one_pair_result(), counts, [PAIR], STANDARD)
    effective = {(row.test_set, row.slice): row.effective for row in result.rows}
    assert effective["old", None] is None and effective["new", "night"] is None
    pair = effective["new", None]
    assert (pair.original, pair.standard) == ("old", 5)
    assert pair.baseline.value == pytest.approx(0.0, abs=1e-5)
    assert pair.remedied.value == pytest.approx(0.04, abs=1e-5)
    assert pair.remedied.low < 0.04 < pair.remedied.high
    assert "through 5 standard models" in " ".join(result.table().notes)


@pytest.mark.parametrize(
    ("standard", "original", "note"),
    [
        (STANDARD[1:], dict.fromkeys(STANDARD, 500), "needs 5 standard models (without base model), got 4"),
        (STANDARD, dict.fromkeys(STANDARD, 500), "needs standard models of different accuracy on old"),
    ],
)
def test_effective_robustness_without_a_line_is_a_note(standard, original, note):
    old = counts_of("old", **original, **{"modified-0": 600})
    before = one_pair_result()
    result = with_effective_robustness(before, [old, counts_of("new", **old_rights(old))], [PAIR], standard)
    assert result.rows == before.rows and note in result.notes[-1]
    assert with_effective_robustness(before, [old], [PAIR], standard) == before


def old_rights(counts):
    return {model: row.right for model, row in counts.models.items()}


def test_large_effects_of_interventions_are_summarized_and_drawn():
    skills = np.array([[0.5], [1.5]])
    correct = seeded_correctness(np.random.default_rng(1), skills, seeds=3, images=2000, seed_spread=0.0)
    result = compared_interventions(correct, split=1000, in_slice=200)
    assert {row.verdict for row in result.rows} == {RemedyVerdict.BETTER}
    headlines = [finding.headline for finding in findings(result)]
    assert headlines == [
        "3 of 3 interventions raise accuracy on old",
        "3 of 3 interventions raise accuracy on new",
        "3 of 3 interventions raise accuracy on night of new",
    ]
    drawn = json.dumps(figure(result).spec)
    assert "on night of new" in drawn and "modified-2 \\u2212 base-2" in drawn


SKILLS = {"trained:plain/seed-0": 0.6, "trained:plain/seed-1": 0.62, "trained:dro/seed-0": 0.9,
          "trained:dro/seed-1": 0.92, "small": 0.5, "small-aug": 0.9, "m1": 0.55, "m2": 0.7, "m3": 0.8}  # fmt: skip


def write_predictions(path, *, images, drop):
    rng = np.random.default_rng(images)
    labels = rng.integers(0, 2, images)
    predicted = {
        name: np.where(rng.random(images) < skill - drop, labels, 1 - labels) for name, skill in SKILLS.items()
    }
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["image", "label", "side", *predicted])
        for place in range(images):
            answers = [("cat", "dog")[classes[place]] for classes in predicted.values()]
            rows.writerow([place, ("cat", "dog")[labels[place]], "ab"[place % 2], *answers])


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """A workspace with two test sets and a hard set of the first, in which no model is described."""
    folder = tmp_path_factory.mktemp("interventions")
    (folder / "classes.csv").write_text("id,name\ncat,cat\ndog,dog\n")
    run_well("init", folder / "work")
    for name, images, drop in (("old", 200, 0.0), ("new", 160, 0.1)):
        write_predictions(folder / f"{name}.csv", images=images, drop=drop)
        run_well("import", "predictions", folder / f"{name}.csv", "-t", name, "--classes", folder / "classes.csv",
                 "--group", "side", "-w", folder / "work")  # fmt: skip
    store = regrade.open(folder / "work").store
    old, inside = store.test_set("old"), np.arange(200) < 60
    for name, chosen_by in (("hard", ("plain", "seed-0")), ("harder", ()), ("apart", ("elsewhere",))):
        store.slices.add(SliceSet(name, "old", 200, {name: inside}, {}, "", True, chosen_by), old)
    store.slices.add(SliceSet("lone", "old", 200, {"lone": np.arange(200) == 7}), old)
    return folder / "work"


@pytest.fixture(scope="module")
def described(bare):
    path = bare.parent / "models.csv"
    path.write_text("model,base_model\ndro,plain\nsmall-aug,small\nm3,gone\nunseen,m1\n")
    run_well("models", "describe", path, "-w", bare)
    return bare


COMMAND = ("study", "remedies", "-t", "old", "-t", "new")


def test_command_without_base_models_says_how_to_describe_them(tmp_path):
    run_well("init", tmp_path / "W")
    (tmp_path / "p.csv").write_text("image,label,m\na,cat,cat\nb,dog,cat\n")
    (tmp_path / "c.csv").write_text("id,name\ncat,cat\ndog,dog\n")
    run_well("import", "predictions", tmp_path / "p.csv", "-t", "old", "--classes", tmp_path / "c.csv", "-w",
             tmp_path / "W")  # fmt: skip
    ran = run("study", "remedies", "-t", "old", "-w", tmp_path / "W")
    assert_one_line(ran, "no model with predictions on old has a base model", "regrade models describe FILE.csv")


def test_command_compares_every_model_with_its_base_model(described, tmp_path):
    ran = run_well(*COMMAND, "--slice", "hard", "--slice", "side=a", "-w", described, "--json", "--figure",
                   tmp_path / "f.svg")  # fmt: skip
    result = json.loads(ran.out)
    assert result["baseline"] is None and result["remedies"] == ["dro", "small-aug"]
    places = [("old", None), ("old", "hard"), ("old", "side=a"), ("new", None), ("new", "side=a")]
    expected = [(base, name, *place) for base, name in (("plain", "dro"), ("small", "small-aug")) for place in places]
    rows = result["rows"]
    assert [(row["compared_with"], row["remedy"], row["test_set"], row["slice"]) for row in rows] == expected
    assert [row["seeds"] for row in rows] == [2] * 5 + [1] * 5
    assert rows[5]["verdict"] == "better" and "10 together" in rows[5]["difference"]["method"]
    with_effective = [place for place, row in enumerate(rows) if "effective_robustness" in row]
    assert with_effective == [8] and rows[8]["effective_robustness"]["standard"] == 5
    notes = "\n".join(result["notes"])
    assert "the base model has no predictions on old, new: m3 (base model gone)" in notes
    assert "1 described intervention without predictions on old, new: unseen" in notes
    assert "new: no slice hard" in notes
    assert "hard of old was chosen by scores or mistakes of plain and seed-0, which trained:plain/seed-0 and" in notes
    assert "small-aug \N{MINUS SIGN} small" in (tmp_path / "f.svg").read_text()
    heading = run_well(*COMMAND, "-w", described, "--csv").out.splitlines()[0].split(",")
    assert heading[:3] == ["compared_with", "remedy", "test_set"] and "effective_remedied" in heading


def test_published_predictions_match_a_least_squares_line(published, tmp_path):
    """Squeeze-and-excitation on ImageNetV2: differences and effective robustness from the published arrays alone."""
    files = {"val": "imagenet-val.top5.parquet", "v2": "imagenetv2-matched-frequency.top5.parquet"}
    run_well("init", tmp_path / "W")
    for name, file in files.items():
        run_well("import", "predictions", published / "recht2019" / file, "-t", name, "--classes", "imagenet-1k", "-w",
                 tmp_path / "W")  # fmt: skip
    (tmp_path / "models.csv").write_text("model,base_model\nse_resnet50,resnet50\nse_resnet101,resnet101\n")
    run_well("models", "describe", tmp_path / "models.csv", "-w", tmp_path / "W")
    rows = json.loads(run_well("study", "remedies", "-t", "val", "-t", "v2", "-w", tmp_path / "W", "--json").out)[
        "rows"
    ]
    old, new = (published_accuracies(published / "recht2019" / file) for file in files.values())
    standard = [model for model in old if model not in ("se_resnet50", "se_resnet101")]
    slope, intercept = np.polyfit(*(special.logit([side[model] for model in standard]) for side in (old, new)), 1)
    row = next(row for row in rows if (row["remedy"], row["test_set"]) == ("se_resnet50", "v2"))
    assert row["difference"]["value"] == pytest.approx(new["se_resnet50"] - new["resnet50"])
    for side, model in (("baseline", "resnet50"), ("remedied", "se_resnet50")):
        expected = special.expit(intercept + slope * special.logit(old[model]))
        assert row["effective_robustness"][side]["value"] == pytest.approx(new[model] - expected, abs=1e-9)


def published_accuracies(path):
    table = pq.read_table(path)
    wnids = np.array(table["wnid"].to_pylist())
    labels = np.unique(wnids, return_inverse=True)[1]
    models = [name for name in table.column_names if name not in ("image", "wnid")]
    return {
        name.replace("k_model", "k"): float((table[name].combine_chunks().flatten().to_numpy()[::5] == labels).mean())
        for name in models
    }


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("harder", "was chosen because models fail on it, and which models is not recorded"),
        ("apart", "was chosen by scores or mistakes of elsewhere, which is not compared"),
    ],
)
def test_command_cautions_about_slices_that_were_chosen_to_be_hard(described, name, words):
    pair = ("--baseline", "m1", "--remedy", "m2")
    shown = run_well("study", "remedies", "-t", "old", *pair, "--slice", name, "-w", described, "--markdown").out
    assert f"caution: {name} of old {words}" in shown
    assert "caution" not in run_well("study", "remedies", "-t", "old", *pair, "--slice", "side", "-w", described,
                                     "--markdown").out  # fmt: skip


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--baseline", "m1"), ("--baseline requires --remedy",)),
        (("--remedy", "m1"), ("--remedy requires --baseline",)),
        (("--slice", "haard"), ("unknown slice of old 'haard'", "hard")),
        (("--slice", "side=c"), ("unknown side of old 'c'",)),
        (("--slice", "lone"), ("slice lone: a comparison needs two images of old", "leave out this slice")),
        (("--slice", "hard", "--slice", "hard"), ("--slice names the same twice",)),
    ],
)
def test_command_rejects_bad_input_in_one_line(described, options, words):
    assert_one_line(run(*COMMAND, *options, "-w", described), *words)


def test_base_model_in_a_manifest_is_used_unless_another_is_stated(tmp_path):
    (tmp_path / "pets.csv").write_text("id,label\n" + "".join(f"{place},{place % 10}\n" for place in range(40)))
    workspace = regrade.init(tmp_path / "W")
    test_set = workspace.testsets.add("pets", tmp_path / "pets.csv", classes="digits").test_set
    store, scores = workspace.store, np.random.default_rng(0).random((3, 40, 10))
    for name, rows in zip(("a", "b", "c"), scores, strict=True):
        workspace.models.add_predictions(name, rows, test_set="pets")
    manifest = store.predictions.manifest("pets", "c")
    spec = replace(manifest.model, base_model="a")
    store.replace_predictions(test_set, store.predictions.read(test_set, "c"), replace(manifest, model=spec))
    assert [row.compared_with for row in workspace.study.remedies(("pets",)).rows] == ["a"]
    (tmp_path / "models.csv").write_text("model,base_model\nc,b\n")
    workspace.models.describe(tmp_path / "models.csv")
    assert [row.compared_with for row in workspace.study.remedies(("pets",)).rows] == ["b"]
