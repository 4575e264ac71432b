"""regrade import checkpoints and regrade study confusion: on the published CIFAR-10 probabilities, and on little."""

import csv
import io
import json
import shutil

import numpy as np
import pyarrow.parquet as pq
import pytest
from confusion_world import SPACE, world
from PIL import Image
from running import assert_one_line, run, run_well, snapshot

import regrade
from regrade.classes import class_space
from regrade.core import UNLABELED, TestSet
from regrade.stats import independent_difference
from regrade.studies import figure, findings
from regrade.studies.confusion.study import write_figures


@pytest.fixture(scope="module")
def cifar(published, tmp_path_factory):
    """Thirty published models on CIFAR-10 and on CIFAR-10.1, and one member's published probabilities on the first."""
    workspace = tmp_path_factory.mktemp("cifar") / "W"
    run_well("init", workspace)
    for name in ("cifar10.test", "cifar10.1-v4"):
        file = published / "recht2019" / f"{name}.top1.parquet"
        run_well("import", "predictions", file, "--test-set", name, "--classes", "cifar-10", "-w", workspace)
    scores = np.load(published / "label_errors" / "cifar10_test_set_pyx.npy")
    path = workspace.parent / "pyx.npy"
    np.save(path, scores[None])
    done = run_well(
        "import", "checkpoints", path, "--test-set", "cifar10.test", "--ensemble", "pyx", "--kind", "probabilities",
        "-w", workspace,
    )  # fmt: skip
    assert "imported pyx on cifar10.test: 1 seed x 1 epoch x 10,000 images x 10 classes" in done.err
    return workspace


STUDY = ("study", "confusion", "-t", "cifar10.test", "-w")


class TestPublished:
    def test_hard_images_are_hard_for_thirty_other_models(self, cifar, published):
        data = json.loads(run_well(*STUDY, cifar, "--json").out)
        assert (data["images"], data["hard"]["images"], len(data["models"])) == (10_000, 1_000, 31)
        table = pq.read_table(published / "recht2019" / "cifar10.test.top1.parquet")
        labels = table["label"].to_numpy()
        hard = np.zeros(10_000, dtype=bool)
        hard[data["hard"]["places"]] = True
        outside = [row for row in data["models"] if not row["inside"]]
        assert len(outside) == 30
        for row in outside:
            wrong = table[row["model"]].to_numpy() != labels
            assert row["transfer"]["hard"]["value"] == pytest.approx(wrong[hard].mean())
            assert row["transfer"]["rest"]["value"] == pytest.approx(wrong[~hard].mean())
            bounds = independent_difference(wrong[hard].sum(), 1_000, wrong[~hard].sum(), 9_000)
            assert row["transfer"]["difference"]["low"] == pytest.approx(bounds.low)
            assert row["transfer"]["difference"]["low"] > 0.1  # at least ten points more errors, for each of them
            assert row["correlation"]["low"] > 0.2
        assert data["ranking"]["value"] == pytest.approx(0.86, abs=0.01)

    def test_the_score_is_the_entropy_of_the_published_probabilities(self, cifar, published):
        rows = list(csv.DictReader(io.StringIO(run_well(*STUDY, cifar, "--show", "images", "--csv").out)))
        scores = np.load(published / "label_errors" / "cifar10_test_set_pyx.npy")
        expected = -(scores * np.log2(scores, where=scores > 0, out=np.zeros_like(scores))).sum(axis=1)
        assert [float(row["score"]) for row in rows] == pytest.approx(expected, abs=2e-3)  # half precision

    def test_hard_set_is_stored_as_slice_and_test_set(self, cifar):
        chosen = ("--hardest", "20", "--per-class", "--write", "hard20", "--model", "nas")
        done = run_well(*STUDY, cifar, *chosen, "--json")
        assert "test set and slice hard20 of cifar10.test: 200 images, without images" in done.err
        study = json.loads(done.out)
        graded = json.loads(
            run_well("grade", "-t", "cifar10.test", "--slice", "hard20", "--model", "nas", "--json", "-w", cifar).out
        )
        (row,) = [row for row in graded["rows"] if row["slice"] == "hard20"]
        (same,) = [model for model in study["models"] if model["model"] == "nas"]
        assert 1 - row["top1"]["value"] == pytest.approx(same["transfer"]["hard"]["value"])
        own = regrade.open(cifar).store.test_set("hard20")
        assert np.bincount(own.labels).tolist() == [20] * 10
        again = run_well(*STUDY, cifar, *chosen)
        assert "unchanged: test set and slice hard20" in again.err
        refused = run(*STUDY, cifar, "--hardest", "5", "--write", "hard20")
        assert_one_line(refused, "hard20", "choose another name")
        before = snapshot(cifar)
        taken = run(*STUDY, cifar, "--hardest", "5", "--write", "airplane")
        assert_one_line(taken, "'airplane' is a class of cifar10.test already")
        assert snapshot(cifar) == before

    def test_findings_and_figure(self, cifar, tmp_path):
        result = regrade.open(cifar).study.confusion("cifar10.test")
        first, second, third = findings(result)
        assert first.headline == "Images that confuse pyx are harder for all 30 other models"
        assert "25.9%, compared with 2.9%" in first.text
        assert second.headline == "The order of models is largely kept on confusing images"
        assert third.headline == "No trend of the relation between confusion score and errors with accuracy detected"
        assert figure(result).save(tmp_path / "f.svg").stat().st_size > 10_000

    def test_trends_over_thirty_models(self, cifar):
        """Pearson's r is lower for the best models, as their errors are rarer; the biserial correlation is not."""
        data = json.loads(run_well(*STUDY, cifar, "--show", "trends", "--json").out)
        values = {row["model"]: row["biserial"] for row in data["trends"]["models"]}
        assert len(values) == 30
        assert (min(values.values()), max(values.values())) == pytest.approx((0.581, 0.728), abs=0.001)
        rows = {row["relation"]: row for row in data["trends"]["rows"]}
        assert rows["biserial correlation"]["verdict"] == "no trend detected"
        assert rows["biserial correlation"]["effect"]["value"] == pytest.approx(0.028, abs=0.001)
        assert_one_line(run(*STUDY, cifar, "--show", "trends", "--model", "nas"), "needs 4 models outside the ensemble")

    def test_rivals_on_published_probabilities_and_people(self, cifar, published):
        """Scores that use labels identify errors of 30 models best; people's disagreement identifies fewer."""
        people = published / "cifar10" / "human-counts.parquet"
        shown = run_well(*STUDY, cifar, "--show", "rivals", "--human", people, "--json")
        rows = {row["score"]: row for row in json.loads(shown.out)["rivals"]}
        assert list(rows) == [
            "confusion score", "margin after the last epoch, member 0", "EL2N of 1 checkpoint", "AUM, member 0",
            "confidence, member 0", "human entropy",
        ]  # fmt: skip
        assert rows["confusion score"]["auroc"]["value"] == pytest.approx(0.870, abs=0.001)
        assert rows["human entropy"]["auroc"]["value"] == pytest.approx(0.750, abs=0.001)
        assert rows["human entropy"]["tau"]["value"] == pytest.approx(0.28, abs=0.01)
        assert all(row["difference"]["low"] > 0.02 for row in rows.values() if row["uses_labels"])
        assert rows["human entropy"]["difference"]["high"] < -0.1
        assert not any(row["cheaper"] for row in rows.values())
        counts = pq.read_table(people).drop_columns(["index"])
        table = np.stack([column.to_numpy() for column in counts.columns], axis=1)
        shares = table / table.sum(axis=1, keepdims=True)
        entropy = -(shares * np.log2(shares, where=shares > 0, out=np.zeros_like(shares))).sum(axis=1)
        hardest = np.argsort(-entropy, kind="stable")[:1000]
        top1 = pq.read_table(published / "recht2019" / "cifar10.test.top1.parquet")
        labels = top1["label"].to_numpy()
        wrong = [top1[name].to_numpy()[hardest] != labels[hardest] for name in top1.column_names[2:]]
        assert rows["human entropy"]["hardest_error"]["value"] == pytest.approx(np.mean(wrong), abs=1e-3)

    def test_unlabeled_requires_checkpoints_of_the_ensemble(self, cifar):
        """The error names the ensemble without checkpoints on the unlabeled set."""
        ran = run(*STUDY, cifar, "--unlabeled", "cifar10.1-v4")
        assert_one_line(ran, "unknown ensemble on cifar10.1-v4 'pyx'")


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Two sets, the second harder and without labels, two ensembles on both, and models with scores."""
    workspace = regrade.init(tmp_path_factory.mktemp("small") / "W")
    rng = np.random.default_rng(0)
    for name, shift in (("old", 0.0), ("new", 0.7)):
        images = world(300, rng, name=name, shift=shift)
        bare = TestSet(name, SPACE, images.test_set.ids, np.full(300, UNLABELED))
        workspace.store.add_test_set(images.test_set if name == "old" else bare)
        for ensemble, skill in (("E", 3.0), ("F", 4.0)):
            result = images.ensemble(rng, epochs=4, skill=skill)
            scores = [[result.scores(m, t) for t in range(4)] for m in range(2)]
            workspace.models.add_checkpoints(ensemble, scores, test_set=name, kind="logits")
        for i, skill in enumerate((2.0, 2.5, 3.0, 4.0)):
            model = images.model(f"m{i}", skill, rng, scores=True)
            workspace.models.add_predictions(model.model, model.full_scores, test_set=name)
    return workspace.store.root


def of_small(small, *options):
    return run("study", "confusion", "-t", "old", "-w", small, *options)


class TestSmall:
    def test_every_table(self, small):
        for show, words in {
            "models": ("E (after epoch 3)", "m3"),
            "bins": ("score from",),
            "images": ("old 0",),
            "distribution": ("below it",),
            "checkpoints": ("every 3rd epoch", "member 1 alone"),
            "ranks": ("member 0", "member 1"),
            "expected": ("expected by score", "thresholded", "agreement on the line"),
            "rivals": ("EL2N of the first 4 checkpoints", "AUROC of errors", "4 models outside the ensemble"),
            "strides": ("every nth epoch",),
            "ensembles": ("mean score, bits",),
        }.items():
            ran = of_small(small, "--ensemble", "E", "--unlabeled", "new", "--show", show)
            assert ran.code == 0, ran.err
            assert all(word in ran.out for word in words), (show, ran.out)

    def test_unlabeled_shows_expected_errors(self, small):
        ran = of_small(small, "--ensemble", "E", "--unlabeled", "new")
        assert "error to expect on 300 images of new" in ran.out and "actual" not in ran.out

    def test_two_ensembles(self, small):
        data = json.loads(of_small(small, "--ensemble", "F", "--ensemble", "E", "--json").out)
        assert data["ensemble"]["name"] == "F"
        ((pair,),) = [data["agreements"]]
        assert (pair["first"], pair["second"]) == ("F", "E") and pair["tau"]["low"] > 0

    def test_models_as_members(self, small):
        ran = of_small(small, "--member", "m0", "--member", "m3", "--json")
        data = json.loads(ran.out)
        assert (data["ensemble"]["members"], data["ensemble"]["epochs"]) == (["m0", "m3"], [1])
        assert {row["model"] for row in data["models"] if row["inside"]} == {"m0", "m3", "models (mean)"}
        alone = json.loads(of_small(small, "--member", "m3", "--json").out)
        assert [row["model"] for row in alone["models"] if row["inside"]] == ["m3"]
        shown = of_small(small, "--member", "m0", "--member", "m3", "--unlabeled", "new")
        assert shown.code == 0, shown.err

    def test_people_of_the_workspace_are_a_rival(self, small, tmp_path):
        copy = tmp_path / "W"
        shutil.copytree(small, copy)
        ids = regrade.open(copy).store.test_set("old").ids
        answers = [
            f"{image},{person},class {i % 8 if person == 'Ada' else i % 7}"
            for i, image in enumerate(ids)
            for person in ("Ada", "Bob")
        ]
        (tmp_path / "people.csv").write_text("image,person,class\n" + "\n".join(answers) + "\n")
        run_well("import", "people", tmp_path / "people.csv", "-t", "old", "-w", copy)
        data = json.loads(run_well("study", "confusion", "-t", "old", "--ensemble", "E", "-w", copy, "--json").out)
        assert data["rivals"][-1]["score"] == "human entropy"
        assert data["rivals"][-1]["auroc"]["n"] == 300

    def test_remedy_and_training_images(self, small):
        options = ("--ensemble", "E", "--before", "m0", "--after", "m3", "--model", "m1", "--train", "new")
        shown = of_small(small, *options)
        assert shown.code == 0 and "error in % on easy and on hard images" in shown.out
        data = json.loads(of_small(small, *options, "--threshold", "1.2", "--json").out)
        assert (data["bands"]["before"], data["bands"]["threshold"]) == ("m0", 1.2)
        assert sum(band["images"] for band in data["bands"]["bands"]) == 300
        assert data["train"]["test_set"] == "new" and data["train"]["images"] == 300
        assert {row["model"] for row in data["models"]} == {"m0", "m1", "m3", "E (after epoch 3)"}

    def test_figures_are_written_by_name(self, small, tmp_path):
        target = tmp_path / "new" / "figures"
        remedy = ("--before", "m0", "--after", "m3")
        done = of_small(small, "--ensemble", "E", "--ensemble", "F", *remedy, "--figures", target)
        assert done.code == 0, done.err
        assert "no figure-1-gallery.html, as old has no images" in done.err
        assert {path.name for path in target.iterdir()} == {
            "figure-2-distribution.svg", "figure-3-ensembles.svg", "figure-4-error-by-score.svg",
            "figure-5-strides.svg", "figure-6-correlations.svg", "figure-7-bands.svg", "accuracy-by-confusion.svg",
            "rivals.svg",
        }  # fmt: skip
        assert "images per 0.1 bits" in (target / "figure-2-distribution.svg").read_text()

    def test_other_bases_and_rules(self, small):
        bits, nats, tens = (
            json.loads(of_small(small, "--ensemble", "E", "--base", base, "--json").out) for base in ("2", "e", "10")
        )
        assert bits["ensemble"]["unit"] == "bits" and nats["ensemble"]["unit"] == "nats"
        assert nats["distribution"]["mean"] == pytest.approx(bits["distribution"]["mean"] * np.log(2), rel=1e-5)
        assert tens["distribution"]["mean"] == pytest.approx(bits["distribution"]["mean"] * np.log10(2), rel=1e-5)
        above = json.loads(of_small(small, "--ensemble", "E", "--above", "2.5", "--bin", "0.5", "--json").out)
        assert above["hard"]["rule"] == "images with a score of 2.5 bits or more" and above["bin_width"] == 0.5

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ((), ("name an ensemble of old", "E, F")),
            (("--ensemble", "G"), ("unknown ensemble on old 'G'", "E, F")),
            (("--ensemble", "E", "--ensemble", "E"), ("named twice",)),
            (("--ensemble", "E", "--above", "99"), ("no image of old",)),
            (("--ensemble", "E", "--above", "1", "--hardest", "5"), ("only one of the two",)),
            (("--ensemble", "E", "--per-class"), ("hardest images of each class",)),
            (("--ensemble", "E", "--bin", "0"), ("width of a bin",)),
            (("--ensemble", "E", "--unlabeled", "old"), ("must differ from the labeled set",)),
            (("--ensemble", "E", "--unlabeled", "nothing"), ("unknown test set 'nothing'",)),
            (("--ensemble", "E", "--show", "expected"), ("needs a set without labels",)),
            (("--ensemble", "E", "--write", "imagenet-a"), ("is the name of a test set in the catalog",)),
            (("--ensemble", "E", "--model", "m9"), ("m9", "m0")),
            (("--ensemble", "E", "--before", "m0"), ("give both --before and --after",)),
            (("--ensemble", "E", "--before", "m0", "--after", "m0"), ("must differ",)),
            (("--ensemble", "E", "--before", "m0", "--after", "m9"), ("unknown model on old 'm9'",)),
            (("--ensemble", "E", "--threshold", "1"), ("--threshold needs --before",)),
            (("--ensemble", "E", "--human", "nothing.csv"), ("there is no file nothing.csv",)),
            (("--ensemble", "E", "--train", "old"), ("--train must differ",)),
            (("--ensemble", "E", "--show", "bands"), ("needs two models: --before and --after",)),
        ],
    )
    def test_invalid_options_are_one_line(self, small, options, words):
        assert_one_line(of_small(small, *options), *words)

    def test_a_set_without_labels_has_scores_and_hard_images(self, small):
        ran = run("study", "confusion", "-t", "new", "--ensemble", "E", "-w", small)
        assert ran.code == 0 and "nothing is said of errors" in ran.out and "hard: the hardest tenth" in ran.out

    def test_members_require_stored_scores(self, cifar):
        assert_one_line(run(*STUDY, cifar, "--member", "nas"), "'nas' has no full scores", "--keep scores")

    def test_no_ensemble_at_all(self, tmp_path):
        workspace = regrade.init(tmp_path / "W")
        workspace.store.add_test_set(TestSet("t", SPACE, ("a",), np.array([0])))
        ran = run("study", "confusion", "-t", "t", "-w", tmp_path / "W")
        assert_one_line(ran, "there is no ensemble on t yet: run regrade import checkpoints")


def test_hard_set_keeps_its_images(tmp_path):
    rng = np.random.default_rng(0)
    for label in ("cat", "dog"):
        (tmp_path / "pets" / label).mkdir(parents=True)
        for i in range(4):
            Image.fromarray(rng.integers(256, size=(8, 8, 3), dtype=np.uint8)).save(tmp_path / f"pets/{label}/{i}.png")
    workspace = regrade.init(tmp_path / "W")
    target = workspace.testsets.add("pets", tmp_path / "pets", classes=tmp_path / "pets").test_set
    workspace.models.add_checkpoints("E", rng.normal(size=(1, 2, 8, 2)), test_set="pets", kind="logits")
    kept = workspace.testsets.keep_hard_set(workspace.study.confusion("pets", hardest=3), "hard pets")
    assert kept.images and kept.new and len(kept.test_set) == 3
    assert kept.slices.chosen_by == ("E",)
    own = workspace.store.images.read(workspace.store.test_set("hard pets"))
    source = workspace.store.images.read(target)
    places = [list(target.ids).index(example) for example in kept.test_set.ids]
    assert list(own.locations) == [source.locations[place] for place in places]


def test_gallery_shows_easiest_and_hardest_images(tmp_path):
    folder = tmp_path / "pets"
    for number, label in enumerate(("cat", "cat", "dog", "<dog>")):
        (folder / label).mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, 8), (60 * number, 0, 0)).save(folder / label / f"{number}.png")
    (folder / "dog" / "2.png").write_bytes(b"no image")
    workspace = regrade.init(tmp_path / "W")
    target = workspace.testsets.add("pets", folder, classes=folder).test_set
    sure = np.array([9.0, 0.0, 2.0, 4.0])[[int(name[0]) for name in target.ids]]
    logits = np.zeros((1, 2, 4, 3))
    logits[..., 0] = sure
    workspace.models.add_checkpoints("E", logits, test_set="pets", kind="logits")
    written = write_figures(workspace.store, workspace.study.confusion("pets"), tmp_path / "F")
    assert written[0] == "figure-1-gallery.html"
    page = (tmp_path / "F" / "figure-1-gallery.html").read_text()
    easy, hard = page.split("<h2>Hardest</h2>")
    assert [name for name in ("0.png", "1.png", "2.png", "3.png") if f">{name}<" in easy] == ["0.png", "3.png"]
    assert hard.index(">1.png<") < hard.index(">2.png<")
    assert "1.585 bits" in hard and "cannot be read" in hard and "&lt;dog&gt;" in page and "<dog>" not in page
    assert page.count("data:image/jpeg;base64,") == 3 and "http" not in page


class TestImport:
    @pytest.fixture
    def empty(self, tmp_path):
        workspace = regrade.init(tmp_path / "W")
        space = class_space("cifar-10")
        workspace.store.add_test_set(TestSet("six", space, tuple("abcdef"), np.arange(6)))
        return workspace.store.root

    def bring(self, empty, path, *options):
        return run("import", "checkpoints", path, "-t", "six", "--ensemble", "E", "-w", empty, *options)

    def test_kind_of_scores_is_required(self, empty, tmp_path):
        np.save(tmp_path / "s.npy", np.full((1, 6, 10), 0.1))
        assert self.bring(empty, tmp_path / "s.npy").code == 2
        assert self.bring(empty, tmp_path / "s.npy", "--kind", "probabilities").code == 0

    def test_bad_input_is_one_line(self, empty, tmp_path):
        np.save(tmp_path / "s.npy", np.random.default_rng(0).normal(size=(1, 6, 10)))
        ran = self.bring(empty, tmp_path / "s.npy", "--kind", "probabilities")
        assert_one_line(ran, "E, seed 0, epoch 0, row 1: a probability is negative; are these logits?")
        ran = self.bring(empty, tmp_path / "none", "--kind", "logits")
        assert_one_line(ran, "neither a folder nor an array")
        folder = tmp_path / "F"
        for place in ("seed0/epoch0", "seed0/epoch1", "seed1/epoch0"):
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            np.save(folder / f"{place}.npy", np.zeros((6, 10)))
        ran = self.bring(empty, folder, "--kind", "logits")
        assert_one_line(ran, "every seed needs the same epochs", "epoch 1 of seed 1 is missing")
