"""The documented commands on published predictions: 67 models, 50,000 images, known results."""

import csv
import io
import json

import pytest
from running import run, run_process, run_well, snapshot

ESTIMATE = {"value", "low", "high", "n", "method"}


def graded(workspace, *options):
    return json.loads(run_well("grade", "--test-set", "imagenet-val", *options, "-w", workspace, "--json").out)


def row(grade, model, slice_="all"):
    return next(r for r in grade["rows"] if r["model"] == model and r["slice"] == slice_)


def percent(estimate):
    return tuple(round(100 * estimate[part], 1) for part in ("value", "low", "high"))


@pytest.fixture(scope="module")
def plain(pack):
    return graded(pack)


@pytest.fixture(scope="module")
def real(pack):
    return graded(pack, "--labels", "real")


class TestGrade:
    def test_json_structure(self, plain, real):
        assert {"test_set", "labels", "rows"} <= plain.keys()
        assert (plain["test_set"], plain["labels"]) == ("imagenet-val", None)
        assert (real["labels"], real["labels_version"]) == ("real", 1)
        assert len(plain["rows"]) == 67
        for graded_row in plain["rows"]:
            assert {"model", "slice", "top1", "top5", "multilabel", "novel"} <= graded_row.keys()
            assert graded_row["top1"].keys() == graded_row["top5"].keys() == ESTIMATE
            assert graded_row["multilabel"] is None and graded_row["novel"] == 0
        for graded_row in real["rows"]:
            assert graded_row["multilabel"].keys() == ESTIMATE

    def test_top_1_with_intervals(self, plain):
        assert percent(row(plain, "alexnet")["top1"]) == (56.5, 56.1, 57.0)
        assert row(plain, "alexnet")["top1"]["value"] == pytest.approx(0.5652, abs=5e-5)
        assert row(plain, "resnet152")["top1"]["value"] == pytest.approx(0.7831, abs=5e-5)
        assert percent(row(plain, "pnasnet_large_tf")["top1"]) == (82.9, 82.5, 83.2)
        assert all(r["top1"]["n"] == 50_000 and r["top1"]["method"] == "clopper-pearson 95%" for r in plain["rows"])

    def test_models_come_best_first(self, plain):
        values = [r["top1"]["value"] for r in plain["rows"]]
        assert values == sorted(values, reverse=True)
        assert plain["rows"][0]["model"] == "pnasnet_large_tf"

    def test_reassessed_labels(self, real):
        for model, value in (("resnet50", 0.8296), ("pnasnet_large_tf", 0.8770)):
            estimate = row(real, model)["multilabel"]
            assert estimate["value"] == pytest.approx(value, abs=5e-5)
            assert estimate["n"] == 46_837
        assert all(r["novel"] == 0 for r in real["rows"])  # ReaL's lists are complete

    def test_two_slices(self, pack):
        grade = graded(pack, "--slice", "dogs", "--slice", "objects", "--model", "alexnet", "--model", "resnet50")
        assert [(r["model"], r["slice"]) for r in grade["rows"]] == [
            (model, part) for model in ("resnet50", "alexnet") for part in ("all", "dogs", "objects")
        ]
        assert row(grade, "resnet50", "dogs")["top1"]["n"] == 118 * 50
        assert row(grade, "resnet50", "objects")["top1"]["n"] == 590 * 50
        assert row(grade, "resnet50", "all") == row(graded(pack), "resnet50")

    def test_a_slice_below_a_concept_of_wordnet(self, pack):
        grade = graded(pack, "--slice", "n02084071", "--slice", "dogs", "--slice", "n02085620", "--model", "alexnet")
        assert row(grade, "alexnet", "n02084071")["top1"] == row(grade, "alexnet", "dogs")["top1"]
        assert row(grade, "alexnet", "n02085620")["top1"]["n"] == 50

    def test_within_200_classes(self, pack):
        """Without full scores, the prediction is known if one of the top five classes is among the 200."""
        graded_row = row(graded(pack, "--within", "imagenet-a", "--model", "alexnet"), "alexnet")
        assert graded_row["top1"]["n"] == 200 * 50
        assert graded_row["top5"] is None
        assert 0 < graded_row["undetermined"] < 3000
        assert graded_row["top1"]["value"] > 0.5652

    def test_reassessed_labels_have_no_novel_predictions(self, pack):
        data = json.loads(run_well("labels", "novel", "-t", "imagenet-val", "-l", "real", "-w", pack, "--json").out)
        assert data["novel"] == []


class TestCompare:
    def test_one_pair(self, pack):
        ran = run_well("compare", "pnasnet_large_tf", "nasnetalarge", "-t", "imagenet-val", "-w", pack, "--json")
        result = json.loads(ran.out)
        (pair,) = result["pairs"]
        assert (pair["first"], pair["second"]) == ("pnasnet_large_tf", "nasnetalarge")
        assert pair["first_accuracy"]["value"] == pytest.approx(0.82858)
        assert pair["difference"].keys() == ESTIMATE
        assert pair["difference"]["low"] < pair["difference"]["value"] < pair["difference"]["high"]
        assert pair["only_first"] - pair["only_second"] == round(50_000 * pair["difference"]["value"])
        assert pair["p_values"].keys() == {"exact", "mid_p", "chi_square", "chi_square_corrected"}
        assert pair["holm"] == pair["benjamini_hochberg"] == pair["p_values"]["exact"] < 0.05
        assert [(r["model"], r["rank"], r["low"], r["high"]) for r in result["ranks"]] == [
            ("pnasnet_large_tf", 1, 1, 1),
            ("nasnetalarge", 2, 2, 2),
        ]

    def test_all_pairs(self, pack):
        result = json.loads(run_well("compare", "-t", "imagenet-val", "-w", pack, "--json").out)
        assert len(result["pairs"]) == 67 * 66 // 2
        assert len(result["ranks"]) == 67
        for pair in result["pairs"]:
            assert pair["p_values"]["exact"] <= pair["benjamini_hochberg"] <= pair["holm"] <= 1
        for rank in result["ranks"]:
            assert 1 <= rank["low"] <= rank["rank"] <= rank["high"] <= 67
        assert result["ranks"][0]["model"] == "pnasnet_large_tf"

    def test_against_reassessed_labels_and_on_a_slice(self, pack):
        pair = ("compare", "resnet50", "alexnet", "-t", "imagenet-val", "-w", pack, "--json")
        against = json.loads(run_well(*pair, "--labels", "real").out)
        assert (against["labels"], against["labels_version"], against["images"]) == ("real", 1, 46_837)
        assert against["pairs"][0]["first_accuracy"]["value"] == pytest.approx(0.8296, abs=5e-5)
        dogs = json.loads(run_well(*pair, "--slice", "dogs").out)
        assert dogs["images"] == 5_900


SHOWN = [
    pytest.param(("grade", "--labels", "real", "--slice", "dogs"), 134, id="grade"),
    pytest.param(("compare", "pnasnet_large_tf", "nasnetalarge"), 1, id="compare a pair"),
    pytest.param(("compare"), 67, id="compare all"),
    pytest.param(("compare", "alexnet", "resnet50", "vgg16", "--show", "pairs"), 3, id="compare pairs"),
]


class TestFormats:
    @pytest.mark.parametrize(("command", "rows"), SHOWN)
    def test_csv(self, pack, command, rows):
        ran = run_well(*command, "-t", "imagenet-val", "-w", pack, "--csv")
        table = list(csv.DictReader(io.StringIO(ran.out)))
        assert len(table) == rows
        assert ran.err == ""
        assert None not in table[0] and None not in table[-1].values()
        name = {"grade": "top1", "compare": "accuracy" if rows == 67 else "difference"}[command[0]]
        assert -1 < float(table[0][f"{name}_low"]) < float(table[0][name]) < float(table[0][f"{name}_high"]) < 1

    @pytest.mark.parametrize(("command", "rows"), SHOWN)
    def test_markdown(self, pack, command, rows):
        ran = run_well(*command, "-t", "imagenet-val", "-w", pack, "--markdown")
        lines = [line for line in ran.out.splitlines() if line.startswith("|")]
        assert len(lines) == rows + 2
        assert len({line.count("|") for line in lines}) == 1
        assert ran.err == ""

    @pytest.mark.parametrize(("command", "rows"), SHOWN)
    def test_latex(self, pack, command, rows):
        ran = run_well(*command, "-t", "imagenet-val", "-w", pack, "--latex")
        assert ran.out.startswith("\\begin{table}") and ran.out.endswith("\\end{table}\n")
        assert ran.out.count("\\\\\n") == rows + 1
        assert "pnasnet\\_large\\_tf" in ran.out or "alexnet" in ran.out
        assert ran.err == ""

    @pytest.mark.parametrize(("command", "rows"), SHOWN)
    def test_printed_table(self, pack, command, rows):
        ran = run_well(*command, "-t", "imagenet-val", "-w", pack)
        assert ran.err == ""
        assert "…" not in ran.out and "\x1b" not in ran.out
        assert ran.out.count("\n") > rows
        if "pnasnet_large_tf" in ran.out:
            assert "82.9 [82.5, 83.2]" in ran.out

    @pytest.mark.parametrize("command", [("testsets", "list"), ("models", "list"), ("labels", "list")])
    @pytest.mark.parametrize("form", ["", "--json", "--csv", "--markdown", "--latex"])
    def test_lists(self, pack, command, form):
        ran = run_well(*command, "-w", pack, *([form] if form else []))
        assert "imagenet-val" in ran.out
        assert ran.err == ""
        if form == "--json":
            content, errors = json.loads(ran.out).values()
            assert errors == []
            assert len(content) == (67 if command[0] == "models" else 1)


class TestImportAgain:
    def test_same_content_changes_nothing(self, pack, published):
        before = snapshot(pack)
        predictions = published / "recht2019" / "imagenet-val.top5.parquet"
        again = run_well("import", "predictions", predictions, "--test-set", "imagenet-val", "-w", pack)
        assert "models imported: 0, unchanged: 67" in again.err
        labels = ("import", "labels", published / "real" / "real.json", "--format", "real", "--name", "real")
        assert "unchanged" in run_well(*labels, "--test-set", "imagenet-val", "-w", pack).err
        assert snapshot(pack) == before

    def test_shifted_real_labels_are_rejected(self, pack, published, tmp_path):
        """Entry i belongs to image i + 1; a file shifted by one is rejected."""
        lists = json.loads((published / "real" / "real.json").read_text())
        before = snapshot(pack)
        for shifted in ([*lists[1:], lists[0]], [lists[-1], *lists[:-1]]):
            (tmp_path / "shifted.json").write_text(json.dumps(shifted))
            command = ("import", "labels", tmp_path / "shifted.json", "--format", "real", "--test-set", "imagenet-val")
            ran = run(*command, "--name", "shifted", "-w", pack)
            assert ran.code == 1 and "another test set or another order" in ran.err
        assert snapshot(pack) == before


def test_the_installed_command(pack):
    """One command of each kind as a process of its own: the result, and nothing else, is on standard output."""
    version = run_process("--version")
    assert (version.code, version.err) == (0, "") and version.out.startswith("regrade ")
    ran = run_process("grade", "--test-set", "imagenet-val", "--labels", "real", "-w", pack, "--json")
    assert (ran.code, ran.err) == (0, "")
    assert row(json.loads(ran.out), "resnet50")["multilabel"]["n"] == 46_837
    ran = run_process(
        "compare",
        "pnasnet_large_tf",
        "nasnetalarge",
        "--test-set",
        "imagenet-val",
        "--json",
        env={"REGRADE_WORKSPACE": str(pack)},
    )
    assert (ran.code, ran.err) == (0, "")
    assert json.loads(ran.out)["pairs"][0]["only_first"] == 2011


def test_whole_workflow_in_processes(published, tmp_path, run_warm):
    """The first documented commands, in an empty folder."""
    source = published / "recht2019" / "imagenetv2-top-images.top5.parquet"
    for words in (
        "init W",
        f"import predictions {source} --test-set v2 --classes imagenet-1k -w W",
        "testsets list -w W",
    ):
        ran = run_warm(*words.split(), cwd=tmp_path)
        assert ran.code == 0, ran.err
    assert "10,000" in ran.out and "67" in ran.out
