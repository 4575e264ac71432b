"""regrade study generalization and regrade replicate recht2019, end to end on the published predictions."""

import json
import shutil

import pytest
from running import assert_one_line, run, run_on_terminal, run_well

NEW = ("imagenetv2-matched-frequency", "imagenetv2-threshold-0.7", "imagenetv2-top-images")


@pytest.fixture(scope="module")
def four_sets(pack, published, tmp_path_factory):
    """The workspace of all 67 models on the validation images and on the three new sets."""
    workspace = shutil.copytree(pack, tmp_path_factory.mktemp("four") / "W")
    for name in NEW:
        file = published / "recht2019" / f"{name}.top5.parquet"
        run_well("import", "predictions", file, "--test-set", name, "--classes", "imagenet-1k", "-w", workspace)
    return workspace


def studied(workspace, *options, run_it=run_well):
    command = ("study", "generalization", "--original", "imagenet-val")
    return run_it(*command, *options, "-w", workspace)


@pytest.fixture(scope="module")
def plain(four_sets):
    options = [part for name in NEW for part in ("--new", name)]
    return json.loads(studied(four_sets, *options, "--json").out)


def test_json_has_one_row_per_model_and_set(plain):
    assert [row["new_set"] for row in plain["sets"]] == list(NEW)
    assert len(plain["rows"]) == 67 + 66 + 66
    assert plain["sets"][1]["left_out"] == ["fv_64k", "fv_64k_model"]
    first = plain["rows"][0]
    assert (first["model"], first["original_rank"], first["new_rank"]) == (
        "pnasnet_large_tf",
        1,
        2,
    )  # as nasnet_large_tf
    assert [round(100 * first[key]["value"], 1) for key in ("original", "new", "gap")] == [82.9, 72.2, 10.7]
    assert [round(100 * first["new"][key], 1) for key in ("low", "high")] == [71.3, 73.1]


def test_standard_models_define_the_line(four_sets, plain):
    models = {row["model"] for row in plain["rows"] if not row["model"].startswith("fv_")}
    chosen = [part for model in sorted(models) for part in ("--standard", model)]
    data = json.loads(studied(four_sets, "--new", NEW[0], *chosen, "--scale", "linear", "--json").out)
    line = data["sets"][0]["lines"]["linear"]
    assert (line["slope"]["n"], round(line["slope"]["value"], 3)) == (64, 1.110)
    assert data["sets"][0]["adaptivity"]["verdict"] == "no sign of diminishing returns"
    faulty = next(row for row in data["rows"] if row["model"] == "fv_16k")
    assert not faulty["standard"]


def test_recht_2019_line_without_fisher_vectors(four_sets):
    """The paper prints 1.11 [1.07, 1.19] and -20.2 [-26.0, -17.8]; our 64 models are not exactly those of the paper."""
    data = json.loads(studied(four_sets, "--new", NEW[0], "--without", "fv_*", "--bootstrap", "--json").out)
    assert (data["sets"][0]["models"], len(data["rows"])) == (64, 64)
    line = data["sets"][0]["lines"]["linear"]["published"]
    values = [round(line["slope"][key], 2) for key in ("value", "low", "high")]
    assert values == [1.11, 1.08, 1.19]
    offsets = [100 * line["intercept"][key] for key in ("value", "low", "high")]
    assert offsets == pytest.approx([-20.3, -26.3, -17.9], abs=0.1)
    assert not any("look reversed" in note for note in data["notes"])


def test_top5_on_both_axes_is_the_mean_change_of_top5(four_sets, plain):
    data = json.loads(studied(four_sets, "--new", NEW[0], "--top", "5", "--json").out)
    top5, change = data["sets"][0]["mean_change"], plain["sets"][0]["mean_change_top5"]
    assert data["measure"] == {"top": 5}
    assert [top5[key] for key in ("value", "low", "high")] == pytest.approx(
        [change[key] for key in ("value", "low", "high")]
    )
    assert round(100 * top5["value"], 2) == -8.21


def test_complement_of_a_class_group(four_sets):
    data = json.loads(studied(four_sets, "--new", NEW[0], "--slice", "not dogs", "--without", "fv_*", "--json").out)
    assert data["measure"] == {"top": 1, "slice": "not dogs"}
    assert {(row["original"]["n"], row["new"]["n"]) for row in data["rows"]} == {(44_100, 8_820)}


def test_reversed_predictions_are_a_caution_and_can_be_imported_in_order(four_sets, published, tmp_path):
    shown = studied(four_sets, "--new", NEW[2], "--only", "fv_*", "--only", "vgg*").out
    assert "left out" in shown
    text = studied(four_sets, "--new", NEW[0], "--only", "fv_*", "--only", "vgg*").out
    assert f"caution: the predictions of fv_16k on {NEW[0]} look reversed" in text
    file = published / "recht2019" / f"{NEW[0]}.top5.parquet"
    run_well("init", tmp_path / "W")
    options = ("-t", NEW[0], "--classes", "imagenet-1k", "-w", tmp_path / "W")
    assert (
        "fv_16k: top-1 accuracy is 2.5 %, but 19.2 % with the last column"
        in run_well("import", "predictions", file, *options, "--dry-run").err
    )
    done = run_well("import", "predictions", file, *options, "--reversed", "fv_16k")
    assert "look reversed" not in done.out + done.err
    assert "columns read from the last to the first: fv_16k" in done.out + done.err


def test_printed_table_is_truncated_and_has_notes(four_sets):
    shown = studied(four_sets, "--new", NEW[0], run_it=run_on_terminal).out
    assert "the first 24 of 67" in shown
    for words in ("mean change of top-1 -12.1", "overfitting:", "difficulty:", "losses:", "furthest from the line, "):
        assert words in shown
    assert "fv_16k -1" in shown  # the model whose published columns are reversed is an outlier


def test_selected_models(four_sets):
    chosen = [part for model in ("alexnet", "resnet50", "vgg16") for part in ("--model", model)]
    data = json.loads(studied(four_sets, "--new", NEW[0], *chosen, "--json").out)
    assert [row["model"] for row in data["rows"]] == ["resnet50", "vgg16", "alexnet"]


def test_the_figure(four_sets, tmp_path):
    ran = studied(four_sets, "--new", NEW[0], "--scale", "probit", "--figure", tmp_path / "f.svg")
    assert "figure:" in ran.err
    assert "imagenet-val, top-1 in %" in (tmp_path / "f.svg").read_text()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--new", NEW[0], "--model", "alexnet", "--model", "vgg16"), ("three models", "got 2")),
        (("--new", NEW[0], "--model", "alexnett"), ("unknown model", "alexnet")),
        (("--new", NEW[0], "--standard", "alexnet"), ("three standard models", "got 1")),
        (("--new", "imagenetv2"), ("unknown test set",)),
        (("--new", "imagenet-val"), ("both as the original and as a new",)),
        (("--new", NEW[0], "--new", NEW[0]), ("named twice",)),
        (("--new", NEW[0], "--without", "zz*"), ("no model on imagenet-val", "'zz*'")),
        (("--new", NEW[0], "--labels", "multi"), ("unknown label set of imagenet-val",)),
        (("--new", NEW[0], "--labels", "multi", "--top", "5"), ("either labels or top",)),
        (("--new", NEW[0], "--person", "A"), ("unknown person",)),
        (("--new", NEW[0], "--slice", "not dgos"), ("unknown slice", "dogs")),
        (("--new", NEW[0], "--top", "6"), ("only the top 5 are stored",)),
    ],
)
def test_invalid_options_are_one_line(four_sets, options, words):
    ran = run("study", "generalization", "--original", "imagenet-val", *options, "-w", four_sets)
    assert_one_line(ran, *words)


def test_within_restricts_classes(four_sets):
    data = json.loads(studied(four_sets, "--new", NEW[0], "--within", "imagenet-a", "--json").out)
    assert {row["original"]["n"] for row in data["rows"]} == {10_000}
    assert {row["new"]["n"] for row in data["rows"]} == {2_000}
    assert any("label space" in note for note in data["notes"])


class TestReplicate:
    def test_json_contains_every_cell(self, published):
        content = json.loads(run_well("replicate", "recht2019", "--data", published / "recht2019", "--json").out)
        assert content["paper"] == "recht2019"
        assert content["counts"]["data"] == {"match": 173, "miss": 0, "explained": 48}
        for cell in content["cells"]:
            explained = cell["outcome"] == "explained"
            assert explained == bool(cell["why"]) == (cell["expected"] is not None)

    def test_a_folder_without_data(self, tmp_path):
        assert_one_line(run("replicate", "recht2019", "--data", tmp_path), "expected imagenet-val.top5.parquet")

    def test_download_failure_is_one_line(self, tmp_path, monkeypatch):
        from regrade.core import DownloadError
        from regrade.replicate import registry

        def refused(item, _folder):
            raise DownloadError(f"cannot download {item.url}: the connection was refused")

        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        monkeypatch.setattr(registry, "download", refused)
        assert_one_line(run("replicate", "recht2019"), "cannot download https://raw.githubusercontent.com/modestyachts")


@pytest.mark.parametrize("command", [("generalization", "--original", "a", "--new", "b"), ("people", "-t", "a")])
def test_seed_must_not_be_negative(command, tmp_path):
    refused = run("study", *command, "--seed", -1, "-w", tmp_path)
    assert refused.code == 2 and "Traceback" not in refused.err
