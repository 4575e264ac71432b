"""Mistake reviews and the study of mistakes: small examples by hand, and 67 models with ReaL."""

import csv
import io
import json
import shutil

import pytest
from annotations import read_images, write_annotations, write_images
from pets import wide
from running import assert_one_line, run, run_well, snapshot

import regrade
from regrade.studies.mistakes.pair_annotations import categorized_pairs

VIT, SOUPS = "vit3b_mistakes.json", "greedy_soups_mistakes.json"


@pytest.fixture(scope="module")
def reviewed(pack, published, tmp_path_factory):
    """The 67 models with ReaL labels and both published reviews."""
    workspace = tmp_path_factory.mktemp("mistakes") / "W"
    shutil.copytree(pack, workspace)
    for model, file in (("vit3b", VIT), ("greedy_soups", SOUPS)):
        done = run_well(
            "import", "mistakes", published / "vasudevan2022" / file, "-t", "imagenet-val", "--model", model,
            "--format", "vasudevan2022", "-w", workspace,
        )  # fmt: skip
        assert f"reviewed mistakes of {model} on imagenet-val" in done.err
    return workspace


def study(workspace, *options, test_set="imagenet-val", labels="real"):
    return run_well("study", "mistakes", "-t", test_set, "-l", labels, *options, "-w", workspace)


@pytest.fixture(scope="module")
def everything(reviewed):
    return json.loads(study(reviewed, "--json").out)


class TestRealData:
    def test_flow_equals_grade(self, reviewed, everything):
        assert len(everything["flow"]) == 67 and everything["flow"][0]["model"] == "pnasnet_large_tf"
        for rule, key in (("images", "over_images"), ("classes", "over_classes")):
            graded = json.loads(
                run_well("grade", "-t", "imagenet-val", "-l", "real", "--rule", rule, "-w", reviewed, "--json").out
            )
            expected = {row["model"]: row["multilabel"] for row in graded["rows"]}
            assert {row["model"]: row["before"][key] for row in everything["flow"]} == expected
        for row in everything["flow"]:
            assert row["images"] == 46_837 and row["novel"] == 0
            assert row["remaining"] == row["mistakes"] == round(46_837 * (1 - row["before"]["over_images"]["value"]))

    def test_triage_categories_sum_to_the_errors(self, everything):
        assert len(everything["triage"]) == 67
        for row, flow in zip(everything["triage"], everything["flow"], strict=True):
            assert sum(row["counts"].values()) == row["errors"]
            milder = row["counts"]["collapsed class"], row["counts"]["another right label"]
            mistakes = flow["mistakes"] - row["label_rejected"]
            assert row["errors"] - sum(milder) <= mistakes <= row["errors"] - milder[1]
            assert mistakes == row["errors"] - row["accepted"]
        best = next(row for row in everything["triage"] if row["model"] == "pnasnet_large_tf")
        assert (best["accepted"], best["errors"], best["label_rejected"]) == (3_416, 7_210, 1_965)
        assert sum("embeddings" in note for note in everything["notes"]) == 1

    def test_agreement_of_triage_and_people(self, everything):
        own = {row["source"]: row for row in everything["agreement"] if row["source"] == row["review"]}
        assert (own["vit3b"]["images"], own["greedy_soups"]["images"]) == (314, 197)  # ReaL labels no more of them
        assert own["vit3b"]["people"]["fine-grained"]["value"] == pytest.approx(201 / 314)
        compared = [row for row in everything["agreement"] if row["review"] == "vit3b" and row["source"] != "vit3b"]
        assert len(compared) == 67
        for row in compared:
            assert row["same"] <= row["images"] <= 314
            assert sum(share["value"] for share in row["people"].values()) == pytest.approx(1)
            assert sum(share["value"] for share in row["triage"].values()) == pytest.approx(1)

    def test_categories_and_their_tests(self, everything):
        counts = {(row["review"], row["category"]): row["mistakes"] for row in everything["categories"]}
        assert counts["vit3b", "all"] == 378 and counts["vit3b", "fine-grained"] == 242
        assert counts["greedy_soups", "fine-grained, out of vocabulary"] == 26
        tests = {test["of"]: test["test"] for test in everything["tests"]}
        assert tests["categories"]["statistic"] == pytest.approx(2.429, abs=5e-4)
        assert tests["severity"]["statistic"] == pytest.approx(1.580, abs=5e-4)

    def test_pairs_name_real_classes(self, reviewed):
        ran = study(reviewed, "--show", "pairs", "--model", "resnet50", "--csv")
        rows = list(csv.DictReader(io.StringIO(ran.out)))
        assert sum(int(row["count"]) for row in rows) > 7000
        assert int(rows[0]["count"]) >= int(rows[1]["count"]) >= int(rows[-1]["count"]) == 1
        assert {"ram", "bighorn"} in [{row["first_name"], row["second_name"]} for row in rows[:10]]

    def test_reviews_against_each_other(self, reviewed):
        ran = study(reviewed, "--model", "greedy_soups", "--against", "vit3b", "--json")
        (change,) = json.loads(ran.out)["changes"]
        assert (change["fixed"], change["new"], change["common"], change["same"], change["other"]) == (
            214, 85, 164, 143, 21
        )  # fmt: skip
        alone = json.loads(study(reviewed, "--model", "greedy_soups", "--json").out)
        assert alone["flow"] == [] and alone["pairs"]["sources"] == ["greedy_soups"]

    def test_default_reviews_are_all_others(self, reviewed):
        ran = study(reviewed, "--against", "vit3b", "--json")
        (change,) = json.loads(ran.out)["changes"]
        assert (change["model"], change["against"]) == ("greedy_soups", "vit3b")

    def test_models_against_each_other(self, reviewed, everything):
        ran = study(reviewed, "--model", "resnet50", "--against", "alexnet", "--json")
        content = json.loads(ran.out)
        (change,) = content["changes"]
        flows = {row["model"]: row["mistakes"] for row in everything["flow"]}
        assert change["fixed"] + change["common"] == flows["alexnet"]
        assert change["new"] + change["common"] == flows["resnet50"]
        pair = json.loads(
            run_well("compare", "resnet50", "alexnet", "-t", "imagenet-val", "-l", "real", "-w", reviewed, "--json").out
        )["pairs"][0]
        assert (pair["only_first"], pair["only_second"]) == (change["fixed"], change["new"])

    def test_major_slice_is_stored_and_graded(self, reviewed):
        ran = study(reviewed, "--show", "major", "--save-major", "grave", "--model", "alexnet", "--json")
        major = json.loads(ran.out)["major"]
        assert (major["least"], major["images"]) == (2, 48)
        assert "slice grave of imagenet-val: 48 images" in ran.err
        again = study(reviewed, "--save-major", "grave", "--model", "alexnet")
        assert "unchanged: slice grave" in again.err
        graded = json.loads(
            run_well(
                "grade", "-t", "imagenet-val", "-l", "real", "--rule", "classes", "--slice", "grave", "--model",
                "alexnet", "-w", reviewed, "--json",
            ).out
        )  # fmt: skip
        row = next(row for row in graded["rows"] if row["slice"] == "grave")
        assert row["top1"]["n"] == 48
        assert row["multilabel"]["n"] == major["scores"][0]["right"]["n"] == 33
        refused = run("study", "mistakes", "-t", "imagenet-val", "-l", "real", "--least-major", "1", "--save-major",
                    "grave", "--model", "alexnet", "-w", reviewed)  # fmt: skip
        assert_one_line(refused, "other slices are stored as grave")
        class_id = run("study", "mistakes", "-t", "imagenet-val", "-l", "real", "--save-major", "dogs", "--model",
                       "alexnet", "-w", reviewed)  # fmt: skip
        assert_one_line(class_id, "'dogs' is a group of classes")

    @pytest.mark.parametrize(
        "part", ["flow", "triage", "agreement", "categories", "distance", "pairs", "compare", "major"]
    )
    def test_every_table(self, reviewed, part):
        options = ("--model", "resnet50", "--model", "alexnet", "--against", "alexnet", "--show", part)
        ran = study(reviewed, *options)
        assert ran.err == ""
        assert {"categories": "vit3b", "pairs": "bighorn", "distance": "vit3b"}.get(part, "resnet50") in ran.out
        assert len(list(csv.reader(io.StringIO(study(reviewed, *options, "--csv").out)))) > 1

    def test_the_figure(self, reviewed, tmp_path):
        ran = study(reviewed, "--figure", tmp_path / "m.svg", "--model", "resnet50", "--model", "alexnet")
        assert f"figure: {tmp_path / 'm.svg'}" in ran.err
        assert "same superclass" in (tmp_path / "m.svg").read_text()
        assert "further tables with --show: triage, agreement" in ran.out

    def test_import_is_idempotent(self, reviewed, published):
        before = snapshot(reviewed)
        again = ("import", "mistakes", published / "vasudevan2022" / VIT, "-t", "imagenet-val", "-w", reviewed)
        assert "unchanged: 378" in run_well(*again, "--model", "vit3b", "--format", "vasudevan2022").err
        taken = run(*again, "--model", "greedy_soups", "--format", "vasudevan2022")
        assert_one_line(taken, "another review of the mistakes of 'greedy_soups'")
        assert snapshot(reviewed) == before


REVIEW = "image,prediction,category,severity\np2,cat,fine-grained,major\np5,deer,spurious,minor\n"
LABELS = "image,class,state\n" + "".join(
    f"{i},{c},correct\n"
    for i, c in [("p0", "cat"), ("p1", "dog"), ("p2", "bird"), ("p3", "cat"), ("p4", "ship"), ("p5", "frog")]
)


@pytest.fixture
def labeled(pets, tmp_path):
    """The six images with labels of their own, under which `first` has two novel mistakes."""
    (tmp_path / "labels.csv").write_text(LABELS)
    run_well("import", "labels", tmp_path / "labels.csv", "-t", "pets", "--name", "plain", "-w", pets)
    return pets


def import_review(workspace, tmp_path, text=REVIEW, model="first"):
    (tmp_path / "review.csv").write_text(text)
    return run("import", "mistakes", tmp_path / "review.csv", "-t", "pets", "--model", model, "-w", workspace)


class TestSmall:
    def test_without_reviews(self, labeled):
        content = json.loads(study(labeled, "--json", test_set="pets", labels="plain").out)
        (flow,) = content["flow"]
        assert (flow["images"], flow["mistakes"], flow["novel"], flow["remaining"]) == (6, 2, 2, 2)
        assert content["major"] is None and content["agreement"] == []
        (row,) = content["triage"]  # cat for bird and deer for frog are animals for animals
        assert (row["errors"], row["counts"]["same superclass"]) == (2, 2)

    def test_verdicts_remove_mistakes(self, labeled, tmp_path):
        run_well(
            "labels", "sample", "-t", "pets", "-l", "plain", "--size", "2", "--out", tmp_path / "s.csv", "-w", labeled
        )
        text = (tmp_path / "s.csv").read_text().replace(",cat,cat,", ",cat,cat,correct")
        (tmp_path / "s.csv").write_text(text.replace(",deer,deer,", ",deer,deer,wrong"))
        run_well("import", "verdicts", tmp_path / "s.csv", "-t", "pets", "-l", "plain", "-w", labeled)
        (flow,) = json.loads(study(labeled, "--json", test_set="pets", labels="plain").out)["flow"]
        assert (flow["mistakes"], flow["judged"], flow["to_correct"], flow["remaining"]) == (2, 2, 1, 1)
        assert (flow["before"]["over_images"]["value"], flow["after"]["over_images"]["value"]) == (4 / 6, 5 / 6)
        assert "now correct" in study(labeled, test_set="pets", labels="plain").out

    def test_relabeled_accepts_mistakes(self, labeled, tmp_path):
        (tmp_path / "later.csv").write_text(LABELS + "p2,cat,unclear\n")
        run_well(
            "import", "labels", tmp_path / "later.csv", "-t", "pets", "--name", "plain", "--new-version", "-w", labeled
        )
        ran = study(labeled, "--relabeled", "plain@2", "--json", test_set="pets", labels="plain@1")
        (flow,) = json.loads(ran.out)["flow"]
        assert (flow["mistakes"], flow["to_unclear"], flow["remaining"]) == (2, 1, 1)

    def test_a_review_and_another_test_set(self, labeled, tmp_path):
        assert "imported 2 reviewed mistakes of first on pets, 1 of them major" in import_review(labeled, tmp_path).err
        (tmp_path / "more.csv").write_text("image,label,first\nq0,cat,dog\nq1,dog,dog\n")
        run_well("import", "predictions", tmp_path / "more.csv", "-t", "more", "--classes", "cifar-10", "-w", labeled)
        no_reviews = run("study", "mistakes", "-t", "pets", "-l", "plain", "--also", "more", "-w", labeled)
        assert_one_line(no_reviews, "more has no reviews of mistakes")
        (tmp_path / "q.csv").write_text("image,prediction,category,severity\nq0,dog,spurious,major\n")
        run_well("import", "mistakes", tmp_path / "q.csv", "-t", "more", "--model", "first", "-w", labeled)
        content = json.loads(study(labeled, "--also", "more", "--json", test_set="pets", labels="plain").out)
        assert {row["review"] for row in content["categories"]} == {"first", "first on more"}
        assert "chi-square(1, 3)" in study(
            labeled, "--also", "more", "--show", "categories", test_set="pets", labels="plain"
        ).out  # fmt: skip

    def test_pairs_from_named_labels(self, labeled, tmp_path):
        (tmp_path / "second.csv").write_text(wide("bird", "dog", "cat", "cat", "ship", "deer"))
        run_well("import", "predictions", tmp_path / "second.csv", "-t", "pets", "-w", labeled)
        ran = study(labeled, "--pairs-from", "plain", "--show", "triage", test_set="pets", labels="plain")
        assert "0 pairs of classes that plain@1" in ran.out

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            (("--labels", "unknown"), ("unknown label set of pets 'unknown'",)),
            (("--labels", "plain", "--model", "frst"), ("unknown model on pets 'frst'; did you mean first?",)),
            (("--labels", "plain", "--model", "first", "--model", "first"), ("named twice",)),
            (("--labels", "plain", "--against", "frst"), ("unknown model on pets 'frst'",)),
            (("--labels", "plain", "--against", "first"), ("no model to compare with first", "no other model")),
            (
                ("--labels", "plain", "--model", "first", "--against", "first"),
                ("first cannot be compared with itself: name another model",),
            ),
            (("--labels", "plain", "--show", "major"), ("nothing to show as major", "regrade import mistakes")),
            (("--labels", "plain", "--save-major", "x"), ("requires mistake reviews",)),
            (("--labels", "plain", "--least-major", "1"), ("requires reviews of mistakes",)),
            (("--labels", "plain", "--relabeled", "other"), ("unknown label set",)),
            (("--labels", "plain", "--pairs-from", "other"), ("unknown label set",)),
            (("--labels", "plain", "--collapsed"), ("no collapsed classes",)),
        ],
    )
    def test_invalid_options_are_one_line(self, labeled, options, words):
        assert_one_line(run("study", "mistakes", "-t", "pets", *options, "-w", labeled), *words)

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            (REVIEW.replace("p2", "x2"), "contains 1 image not in test set pets"),
            (REVIEW.replace("spurious", "odd"), "unknown category of a mistake 'odd'"),
            (REVIEW.replace("minor", "odd"), "unknown severity"),
            (REVIEW.replace("deer", "horse-like"), "unknown class id"),
            ("image,prediction,category,severity\n", "contains no rows"),
        ],
    )
    def test_invalid_reviews_are_rejected(self, labeled, tmp_path, text, words):
        before = snapshot(labeled)
        assert_one_line(import_review(labeled, tmp_path, text), words)
        assert snapshot(labeled) == before

    def test_neither_predictions_nor_reviews(self, tmp_path):
        run_well("init", tmp_path / "W")
        (tmp_path / "set.csv").write_text("image,label\np0,cat\n")
        run_well("testsets", "add", "bare", tmp_path / "set.csv", "--classes", "cifar-10", "-w", tmp_path / "W")
        (tmp_path / "l.csv").write_text("image,class\np0,cat\n")
        run_well("import", "labels", tmp_path / "l.csv", "-t", "bare", "--name", "l", "-w", tmp_path / "W")
        ran = run("study", "mistakes", "-t", "bare", "-l", "l", "-w", tmp_path / "W")
        assert_one_line(ran, "bare has neither predictions nor reviews of mistakes")


class TestMultilabel:
    """Every 25th validation image, five models, made-up annotations in the published layout, and ReaL for pairs."""

    @pytest.fixture
    def annotated(self, published, tmp_path_factory):
        folder = tmp_path_factory.mktemp("annotated")
        workspace = folder / "W"
        write_images(published / "recht2019" / "imagenet-val.top5.parquet", folder / "images.parquet")
        write_annotations(read_images(folder / "images.parquet"), folder / "multi.json")
        run_well("init", workspace)
        add = ("import", "predictions", folder / "images.parquet", "-t", "val", "--classes", "imagenet-1k")
        run_well(*add, "-w", workspace)
        for name, form, file in (
            ("multi", "multilabel-v3", folder / "multi.json"),
            ("real", "real", published / "real" / "real.json"),
        ):
            run_well("import", "labels", file, "--format", form, "-t", "val", "--name", name, "-w", workspace)
        return workspace

    def test_novel_predictions_are_mistakes_until_judged(self, annotated):
        content = json.loads(study(annotated, "--json", test_set="val", labels="multi").out)
        graded = json.loads(
            run_well("grade", "-t", "val", "-l", "multi", "--rule", "classes", "-w", annotated, "--json").out
        )
        expected = {row["model"]: (row["multilabel"], row["novel"]) for row in graded["rows"]}
        for row in content["flow"]:
            assert (row["before"]["over_classes"], row["novel"]) == expected[row["model"]]
            assert 0 < row["novel"] < row["mistakes"] and row["open"] == row["novel"]
        for row in content["triage"]:
            assert sum(row["counts"].values()) == row["errors"] > 0
        assert any("of classes that real@1" in note for note in content["notes"])


def test_model_option_selects_reviews(reviewed):
    def of(*options):
        text = run_well("study", "mistakes", "-t", "imagenet-val", "-l", "real", "--show", "categories", "--csv",
                         *options, "-w", reviewed)  # fmt: skip
        return {line.partition(",")[0] for line in text.out.splitlines()[1:]}

    assert of("--model", "vit3b") == {"vit3b"}
    assert of("--model", "vit3b", "--against", "greedy_soups") == {"vit3b", "greedy_soups"}
    assert of("--model", "resnet50") == {"vit3b", "greedy_soups"}


class TestSlices:
    def test_counts_are_those_of_the_slice(self, reviewed):
        (dogs,), (rest,), (everything,) = (
            json.loads(study(reviewed, "--model", "resnet50", *options, "--json").out)["flow"]
            for options in (("--slice", "dogs"), ("--slice", "objects"), ())
        )
        assert 0 < dogs["mistakes"] < everything["mistakes"]
        assert dogs["images"] + rest["images"] < everything["images"] == 46_837

    def test_severity_on_a_slice_of_major_mistakes(self, reviewed):
        """The slice of both published reviews has 48 images, of which ReaL scores 33."""
        study(reviewed, "--model", "alexnet", "--save-major", "hard-m")
        content = json.loads(study(reviewed, "--slice", "hard-m", "--json").out)
        rows = {row["model"]: row for row in content["severity"]}
        assert len(rows) == 67
        assert (rows["nasnet_mobile_tf"]["right_images"], rows["nasnet_mobile_tf"]["images"]) == (20, 33)
        assert (rows["pnasnet_large_tf"]["right_images"], rows["pnasnet_large_tf"]["major"]) == (15, 10)
        assert rows["pnasnet_large_tf"]["open"] == 33 - 15 - 10
        assert "real@1 scores 33 of the 48 images of slice hard-m" in content["notes"]
        (caution,) = [note for note in content["notes"] if note.startswith("caution")]
        assert "greedy_soups and vit3b" in caution

    def test_figures_are_written_by_name(self, reviewed, tmp_path):
        done = study(reviewed, "--model", "resnet50", "--slice", "dogs", "--figures", tmp_path / "figures")
        assert sorted(file.name for file in (tmp_path / "figures").iterdir()) == [
            "flow.svg", "kinds.svg", "pairs.svg", "slice.svg",
        ]  # fmt: skip
        assert "no gallery.html, as imagenet-val has no images" in done.err

    @pytest.mark.parametrize(("slice_name", "words"), [("dgos", "did you mean dogs"), ("n00000001", "n00000001")])
    def test_unknown_slice_is_one_line(self, reviewed, slice_name, words):
        options = ("-t", "imagenet-val", "-l", "real", "--slice", slice_name, "-w", reviewed)
        assert_one_line(run("study", "mistakes", *options), words)
        assert_one_line(run("review", "mistakes", "--model", "resnet50", *options), words)

    def test_review_reuses_the_published_reviews(self, reviewed, tmp_path):
        workspace = tmp_path / "W"
        shutil.copytree(reviewed, workspace)
        options = ("-t", "imagenet-val", "-l", "real", "--model", "pnasnet_large_tf", "--slice", "dogs", "--json")
        done = json.loads(run_well("review", "mistakes", *options, "-w", workspace).out)
        assert (done["added"], done["reused"]) == (762, 20)
        assert "categorized for other models, and not asked again: 20 (greedy_soups 14, vit3b 6)" in done["notes"]


def test_published_reviews_agree_on_every_shared_prediction(reviewed):
    """The 143 predictions of both models have the same category and severity: 106 of the second would be asked."""
    store = regrade.open(reviewed).store
    test_set = store.test_set("imagenet-val")
    reviews = [store.mistakes.read(test_set, model) for model in ("vit3b", "greedy_soups")]
    pairs = categorized_pairs(reviews)
    shared = [pair for pair, annotations in pairs.annotations.items() if len(annotations) == 2]
    assert (len(shared), len(reviews[1]) - len(shared)) == (143, 106)
    assert not any(pairs.is_disputed(pair) for pair in shared)
