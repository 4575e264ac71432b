"""A partial review end to end: list novel predictions, draw a sample, judge it, and grade with the decisions."""

import csv
import json
import random
import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from annotations import MODELS, read_images, write_annotations, write_images
from running import assert_one_line, run, run_well, snapshot

import regrade
from regrade.store.checked_files import read_parquet, write_parquet

SET = ("-t", "imagenet-val")
LABELS = ("-l", "v3")


@pytest.fixture(scope="module")
def template(published: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with four models, and a fifth model in a file that is imported later."""
    folder = tmp_path_factory.mktemp("review")
    write_images(published / "recht2019" / "imagenet-val.top5.parquet", folder / "images.parquet")
    images = read_images(folder / "images.parquet")
    write_annotations(images, folder / "v3.json")
    for name, models in (("four", MODELS[1:]), ("fifth", MODELS[:1])):
        rows = zip(images.names, images.labels, *(images.best[m] for m in models), strict=True)
        with (folder / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([("image", "wnid", *models), *rows])
    workspace = folder / "W"
    run_well("init", workspace)
    run_well("import", "predictions", folder / "four.csv", *SET, "--classes", "imagenet-1k", "-w", workspace)
    run_well("import", "labels", folder / "v3.json", "--format", "multilabel-v3", *SET, "--name", "v3", "-w", workspace)
    return workspace


@pytest.fixture
def workspace(template: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(template, tmp_path / "W"))


def sample(workspace: Path, size: int = 150, *options: object) -> list[dict[str, str]]:
    out = workspace.parent / "sample.csv"
    run_well("labels", "sample", *SET, *LABELS, "--size", size, "--out", out, "-w", workspace, *options)
    return list(csv.DictReader(out.read_text().splitlines()))


def judge(rows: list[dict[str, str]], path: Path, *, seed: int = 1) -> Path:
    rng = random.Random(seed)
    return write(path, [row | {"verdict": rng.choice(["correct", "wrong", "unclear"])} for row in rows])


def write(path: Path, rows: list[dict[str, str]]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    return path


def importing(workspace: Path, path: Path) -> tuple[object, ...]:
    return ("import", "verdicts", path, *SET, *LABELS, "-w", workspace)


def graded(workspace: Path, *options: object) -> dict[str, dict]:
    result = json.loads(run_well("grade", *SET, *LABELS, "-w", workspace, "--json", *options).out)
    return {row["model"]: row for row in result["rows"]}


class TestSample:
    def test_sample_contains_novel_predictions_only(self, workspace):
        rows = sample(workspace)
        assert list(rows[0]) == ["image", "class", "name", "verdict", "reason"]
        assert len({(row["image"], row["class"]) for row in rows}) == 150
        assert all(row["verdict"] == "" for row in rows)
        novel = json.loads(run_well("labels", "novel", *SET, *LABELS, "-w", workspace, "--json").out)["novel"]
        assert {(row["image"], row["class"]) for row in rows} < {(row["image"], row["class"]) for row in novel}

    def test_sample_depends_on_the_seed(self, template, tmp_path):
        drawn = []
        for number, seed in enumerate((0, 0, 1)):
            copy = Path(shutil.copytree(template, tmp_path / str(number) / "W"))
            drawn.append(sample(copy, 20, "--seed", seed))
        assert drawn[0] == drawn[1] != drawn[2]

    def test_sample_again_continues_the_same_order(self, workspace):
        first = sample(workspace)
        (workspace.parent / "sample.csv").unlink()
        more = sample(workspace, 50)
        assert len(more) == 50
        assert not {(r["image"], r["class"]) for r in first} & {(r["image"], r["class"]) for r in more}
        (workspace.parent / "sample.csv").unlink()
        before = snapshot(workspace)
        out = ("--out", workspace.parent / "other.csv", "-w", workspace)
        assert_one_line(run("labels", "sample", *SET, *LABELS, "--size", 51, *out), "50 novel predictions are left")
        assert_one_line(
            run("labels", "sample", *SET, *LABELS, "--size", 5, "--by", "score", *out), "stratified by votes"
        )
        assert not (workspace.parent / "other.csv").exists()
        assert snapshot(workspace) == before

    def test_sample_again_leaves_out_judged_predictions(self, workspace):
        rows = sample(workspace)
        run_well(*importing(workspace, judge(rows[:40], workspace.parent / "judged.csv")))
        out = workspace.parent / "again.csv"
        run_well("labels", "sample", *SET, *LABELS, "--again", "--out", out, "-w", workspace)
        assert list(csv.DictReader(out.read_text().splitlines())) == rows[40:]

    def test_sample_does_not_overwrite_a_file_with_decisions(self, workspace):
        path = judge(sample(workspace), workspace.parent / "sample.csv")
        content = path.read_text()
        refused = run("labels", "sample", *SET, *LABELS, "--size", 150, "--out", path, "-w", workspace)
        assert_one_line(refused, "may contain decisions", "--out")
        assert path.read_text() == content

    @pytest.mark.parametrize("size", [0, -1, 1_000_000])
    def test_sample_rejects_impossible_sizes(self, workspace, size):
        before = snapshot(workspace)
        out = workspace.parent / "o.csv"
        ran = run("labels", "sample", *SET, *LABELS, "--size", size, "--out", out, "-w", workspace)
        assert_one_line(ran, "novel predictions can be drawn")
        assert snapshot(workspace) == before and not out.exists()

    def test_sample_rejects_a_missing_folder(self, workspace):
        before = snapshot(workspace)
        out = workspace.parent / "none" / "o.csv"
        ran = run("labels", "sample", *SET, *LABELS, "--size", 5, "--out", out, "-w", workspace)
        assert_one_line(ran, "does not exist", "create it first")
        assert snapshot(workspace) == before

    def test_sample_by_score_needs_scores(self, workspace):
        out = workspace.parent / "o.csv"
        ran = run("labels", "sample", *SET, *LABELS, "--size", 5, "--by", "score", "--out", out, "-w", workspace)
        assert_one_line(ran, "no scores", "votes")


class TestVerdicts:
    def test_estimate_lies_between_the_bounds(self, workspace):
        before = graded(workspace)
        path = judge(sample(workspace), workspace.parent / "judged.csv")
        assert "150 new decisions" in run_well(*importing(workspace, path)).err
        for model, row in graded(workspace, "--half-width", 0.02).items():
            assert row["multilabel"]["value"] <= row["reviewed"]["value"] <= row["multilabel_upper"]["value"]
            assert row["reviewed"]["low"] < row["reviewed"]["value"] < row["reviewed"]["high"]
            assert "review" in row["reviewed"]["method"]
            assert row["novel"] < before[model]["novel"]
            assert row["multilabel"]["value"] >= before[model]["multilabel"]["value"]
            assert row["multilabel_upper"]["value"] <= before[model]["multilabel_upper"]["value"]

    def test_narrower_interval_needs_more_judgments(self, workspace):
        run_well(*importing(workspace, judge(sample(workspace, 30), workspace.parent / "judged.csv")))
        now = graded(workspace)["vgg16"]
        half = (now["reviewed"]["high"] - now["reviewed"]["low"]) / 2
        widths = (0.5, half * 0.99, half * 0.98, 1e-4)
        needed = [graded(workspace, "--half-width", width)["vgg16"]["judgments_needed"] for width in widths]
        assert needed[0] == 0
        assert 0 < needed[1] < needed[2] < now["novel"]
        assert needed[3] is None  # the images themselves are too few
        assert graded(workspace)["vgg16"]["judgments_needed"] is None
        assert_one_line(run("grade", *SET, *LABELS, "-w", workspace, "--half-width", 0), "half-width", "above 0")

    def test_judging_everything_makes_bounds_equal(self, workspace):
        novel = json.loads(run_well("labels", "novel", *SET, *LABELS, "-w", workspace, "--json").out)["novel"]
        run_well(*importing(workspace, judge(sample(workspace, len(novel)), workspace.parent / "judged.csv")))
        for rule in ("images", "classes"):
            for row in graded(workspace, "--rule", rule).values():
                assert row["novel"] == 0
                assert row["multilabel"] == row["multilabel_upper"]
                assert row["reviewed"]["value"] == pytest.approx(row["multilabel"]["value"], abs=1e-12)

    def test_partly_judged_sample_is_accepted(self, workspace):
        rows = sample(workspace)
        path = judge(rows[:60], workspace.parent / "judged.csv")
        write(path, [*csv.DictReader(path.read_text().splitlines()), *rows[60:]])
        assert "60 new decisions" in run_well(*importing(workspace, path)).err
        assert all(row["reviewed"] for row in graded(workspace).values())

    def test_import_adds_new_decisions_only(self, workspace):
        rows = sample(workspace)
        first = judge(rows[:50], workspace.parent / "first.csv")
        run_well(*importing(workspace, first))
        stored = snapshot(workspace)
        assert "0 new decisions" in run_well(*importing(workspace, first)).err
        assert snapshot(workspace) == stored
        both = judge(rows[:80], workspace.parent / "both.csv")
        assert "30 new decisions" in run_well(*importing(workspace, both)).err
        for changed in ("reviews/imagenet-val/v3@1/drawn.json", "contents.json"):  # they list the files of decisions
            del stored[changed]
        assert stored.items() < snapshot(workspace).items()

    def test_import_rejects_contradictions(self, workspace):
        rows = sample(workspace)
        run_well(*importing(workspace, judge(rows[:50], workspace.parent / "first.csv")))
        before = snapshot(workspace)
        contradicting = judge(rows[:80], workspace.parent / "contradicting.csv", seed=2)
        assert_one_line(run(*importing(workspace, contradicting)), "was judged", "is now", "--correct")
        twice = write(workspace.parent / "twice.csv", [rows[90] | {"verdict": v} for v in ("correct", "wrong")])
        assert_one_line(run(*importing(workspace, twice)), "both correct and wrong")
        assert snapshot(workspace) == before

    def test_correction_is_a_new_row_with_a_reason(self, workspace):
        rows = sample(workspace)
        first = judge(rows[:50], workspace.parent / "first.csv")
        run_well(*importing(workspace, first))
        kept = {path.name: path.read_bytes() for path in workspace.rglob("verdicts-*.parquet")}
        turned = [row | {"verdict": "wrong"} for row in csv.DictReader(first.read_text().splitlines())]
        path = write(workspace.parent / "turned.csv", turned)
        changed = sum(row["verdict"] != "wrong" for row in csv.DictReader(first.read_text().splitlines()))
        assert_one_line(run(*importing(workspace, path), "--correct", "   "), "the reason of a correction is blank")
        assert f"{changed} new decisions" in run_well(*importing(workspace, path), "--correct", "seen at full size").err
        assert "0 new decisions" in run_well(*importing(workspace, path)).err
        for file in workspace.rglob("verdicts-*.parquet"):
            if file.name in kept:
                assert file.read_bytes() == kept[file.name]
            else:
                assert b"seen at full size" in pq.read_schema(file).metadata[b"regrade"]

    def test_import_rejects_decisions_outside_the_sample(self, workspace):
        rows = sample(workspace)
        drawn = {(row["image"], row["class"]) for row in rows}
        novel = json.loads(run_well("labels", "novel", *SET, *LABELS, "-w", workspace, "--json").out)["novel"]
        not_drawn = next(row for row in novel if (row["image"], row["class"]) not in drawn)
        before = snapshot(workspace)
        for image, class_id in ((not_drawn["image"], not_drawn["class"]), (rows[0]["image"], "n01440764")):
            row = {"image": image, "class": class_id, "verdict": "correct"}
            path = write(workspace.parent / "outside.csv", [rows[0] | {"verdict": "correct"}, rows[0] | row])
            assert_one_line(run(*importing(workspace, path)), "not in the sample", image)
        assert snapshot(workspace) == before

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"verdict": "maybe"}, ("'maybe'", "correct, unclear, wrong, or problematic")),
            ({"verdict": "correct", "image": "x.jpg"}, ("'x.jpg'", "not in test set")),
            ({"verdict": "correct", "class": "n00000000"}, ("n00000000",)),
            ({"verdict": "correct", "class": ""}, ("empty",)),
            ({"verdict": " "}, ("no row has a decision yet",)),
        ],
    )
    def test_import_rejects_invalid_rows(self, workspace, change, words):
        path = write(workspace.parent / "bad.csv", [sample(workspace)[0] | change])
        before = snapshot(workspace)
        assert_one_line(run(*importing(workspace, path)), *words)
        assert snapshot(workspace) == before

    def test_import_rejects_a_file_without_decisions(self, workspace, tmp_path):
        sample(workspace)
        (tmp_path / "bad.csv").write_text("image,class\nx,y\n")
        assert_one_line(run(*importing(workspace, tmp_path / "bad.csv")), "image, class and verdict")

    def test_import_needs_a_sample(self, workspace, tmp_path):
        (tmp_path / "v.csv").write_text("image,class,verdict\nx,y,correct\n")
        assert_one_line(run(*importing(workspace, tmp_path / "v.csv")), "no sample was drawn", "regrade labels sample")


class TestProblematic:
    def test_problematic_image_is_left_out_for_all_models(self, workspace):
        before = graded(workspace)
        rows = sample(workspace)
        first = [row for row in rows if row["image"] == rows[0]["image"]]
        problematic = [row | {"verdict": "Problematic", "reason": "a drawing"} for row in first]
        wrong = [row | {"verdict": "wrong"} for row in rows if row["image"] != rows[0]["image"]]
        run_well(*importing(workspace, write(workspace.parent / "judged.csv", [*problematic, *wrong])))
        after = graded(workspace)
        for model in MODELS[1:]:
            assert after[model]["multilabel"]["n"] == before[model]["multilabel"]["n"] - 1
            assert after[model]["reviewed"]["value"] > 0
            assert after[model]["top1"] == before[model]["top1"]
        note = "left out, as the review finds them problematic: 1 image (a drawing 1)"
        for command in (("grade",), ("compare", "vgg16", "resnet50"), ("study", "mistakes")):
            assert note in run_well(*command, *SET, *LABELS, "-w", workspace).out
        novel = json.loads(run_well("labels", "novel", *SET, *LABELS, "-w", workspace, "--json").out)["novel"]
        assert rows[0]["image"] not in {row["image"] for row in novel}

    def test_flow_counts_problematic_images_separately(self, workspace):
        rows = sample(workspace)
        words = ("correct", "problematic", "wrong")
        images = {image: words[n % 3] for n, image in enumerate(dict.fromkeys(row["image"] for row in rows))}
        judged = [row | {"verdict": images[row["image"]]} for row in rows]
        run_well(*importing(workspace, write(workspace.parent / "judged.csv", judged)))
        content = json.loads(run_well("study", "mistakes", *SET, *LABELS, "-w", workspace, "--json").out)
        labels = regrade.open(workspace).store.test_set("imagenet-val")
        for row in content["flow"]:
            answers = regrade.open(workspace).store.predictions.read(labels, row["model"])
            best = {i: labels.class_space.ids[c] for i, c in zip(labels.ids, answers.top1, strict=True)}
            correct = sum(r["verdict"] == "correct" and best[r["image"]] == r["class"] for r in judged)
            assert row["to_correct"] == correct > 0
            assert row["to_problematic"] > 0
            assert row["overturned"] == row["to_correct"] + row["to_unclear"] + row["to_problematic"]
            assert row["remaining"] == row["mistakes"] - row["overturned"] + row["added"]
        shown = run_well("study", "mistakes", *SET, *LABELS, "-w", workspace).out
        assert "now correct" in shown and "now problematic" in shown

    def test_problematic_decision_can_be_corrected(self, workspace):
        rows = sample(workspace)
        path = write(workspace.parent / "bad.csv", [rows[0] | {"verdict": "problematic", "reason": "edited"}])
        run_well(*importing(workspace, path))
        assert "(edited 1)" in run_well("grade", *SET, *LABELS, "-w", workspace).out
        good = write(workspace.parent / "good.csv", [rows[0] | {"verdict": "correct"}])
        assert_one_line(run(*importing(workspace, good)), "was judged problematic and is now correct", "--correct")
        run_well(*importing(workspace, good), "--correct", "it is a photograph")
        assert "problematic" not in run_well("grade", *SET, *LABELS, "-w", workspace).out

    def test_import_adds_a_later_reason(self, workspace):
        row = sample(workspace)[0] | {"verdict": "problematic"}
        paths = {
            reason: write(workspace.parent / f"reason {reason}.csv", [row | {"reason": reason}])
            for reason in ("", "edited", "a drawing")
        }
        assert "1 new decision\n" in run_well(*importing(workspace, paths[""])).err
        assert "0 new decisions, 1 reason added" in run_well(*importing(workspace, paths["edited"])).err
        assert "(edited 1)" in run_well("grade", *SET, *LABELS, "-w", workspace).out
        for same in (paths["edited"], paths[""]):
            assert "0 new decisions\n" in run_well(*importing(workspace, same)).err
        message = "the reason 'edited' and now has 'a drawing'"
        assert_one_line(run(*importing(workspace, paths["a drawing"])), message, "--correct")
        run_well(*importing(workspace, paths["a drawing"]), "--correct", "seen again")
        assert "(a drawing 1)" in run_well("grade", *SET, *LABELS, "-w", workspace).out
        files = sorted((workspace / "reviews" / "imagenet-val" / "v3@1").glob("verdicts-*.parquet"))
        assert [file.name[9:13] for file in files] == ["0001", "0002", "0003"]

    def test_import_rejects_two_reasons_for_one_prediction(self, workspace):
        row = sample(workspace)[0] | {"verdict": "problematic"}
        path = write(workspace.parent / "two.csv", [row | {"reason": "edited"}, row | {"reason": "a drawing"}])
        assert_one_line(run(*importing(workspace, path)), "has two reasons: 'edited' and 'a drawing'")

    def test_decisions_without_a_reason_column_are_read(self, workspace):
        """Earlier versions wrote no reasons."""
        run_well(*importing(workspace, judge(sample(workspace), workspace.parent / "judged.csv")))
        now = graded(workspace)
        for path in workspace.rglob("verdicts-*.parquet"):
            table, meta = read_parquet(path)
            with path.open("wb") as file:
                write_parquet(table.drop_columns(["reason"]), meta, file)
        assert graded(workspace) == now


def test_model_added_after_the_sample_has_no_estimate(template, workspace):
    """Its own novel predictions had no chance of being drawn, so the sample does not represent them."""
    run_well(*importing(workspace, judge(sample(workspace), workspace.parent / "judged.csv")))
    before = graded(workspace)
    run_well("import", "predictions", template.parent / "fifth.csv", *SET, "-w", workspace)
    after = graded(workspace, "--half-width", 0.02)
    assert after["alexnet"]["reviewed"] is None and after["alexnet"]["judgments_needed"] is None
    assert after["alexnet"]["multilabel"]["value"] < after["alexnet"]["multilabel_upper"]["value"]
    for model in MODELS[1:]:
        assert after[model]["reviewed"] == before[model]["reviewed"]


def test_interval_narrows_with_more_judgments(workspace):
    rows = sample(workspace, 240)
    widths = []
    for upto in (40, 240):
        run_well(*importing(workspace, judge(rows[:upto], workspace.parent / f"{upto}.csv")))
        widths.append([r["reviewed"]["high"] - r["reviewed"]["low"] for r in graded(workspace).values()])
    assert np.mean(widths[1]) < np.mean(widths[0])
