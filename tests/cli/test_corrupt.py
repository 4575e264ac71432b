"""ImageNet-C from the command line: the released folders, and generated corruptions."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from running import assert_one_line, run, run_well, snapshot
from small_set import encoded, noise

import regrade
from regrade.core import InputError
from regrade.workspace import open as open_workspace

WNIDS = ("n01440764", "n01443537")
RELEASED = tuple(
    f"{corruption}/{severity}/{wnid}/ILSVRC2012_val_0000000{number}.JPEG"
    for corruption in ("gaussian_noise", "snow")
    for severity in (1, 5)
    for number, wnid in enumerate(WNIDS)
)
MODEL = """
import numpy as np

def light(batch):
    \"\"\"A cat if the image is light, a dog if it is dark.\"\"\"
    means = batch.mean(axis=(1, 2, 3))
    scores = np.zeros((len(batch), 10), dtype=np.float32)
    scores[:, 3], scores[:, 5] = means, -means
    return scores
"""
PREPROCESSING = ("--classes", "cifar-10", "--size", 8, "--mean", "0.5,0.5,0.5", "--std", "0.5,0.5,0.5")


def fill(root: Path, places: tuple[str, ...]) -> Path:
    for number, place in enumerate(places):
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        (root / place).write_bytes(encoded(noise(number), "JPEG"))
    return root


@pytest.fixture
def empty(tmp_path) -> Path:
    run_well("init", tmp_path / "W")
    return tmp_path / "W"


@pytest.fixture
def zoo(empty, tmp_path) -> Path:
    """A workspace with four images: two light cats, two dark dogs."""
    for number, (name, level) in enumerate((("cat", 200), ("cat", 180), ("dog", 40), ("dog", 60))):
        pixels = np.clip(np.asarray(noise(number, (280, 260))) // 8 + level, 0, 255).astype(np.uint8)
        path = tmp_path / "images" / name / f"p{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encoded(Image.fromarray(pixels)))
    run_well("testsets", "add", "zoo", tmp_path / "images", "--classes", "cifar-10", "-w", empty)
    return empty


def refused(workspace: Path, *arguments: object, words: tuple[str, ...]) -> None:
    before = snapshot(workspace)
    assert_one_line(run("testsets", *arguments, "-w", workspace), *words)
    assert snapshot(workspace) == before


class TestReleased:
    def test_folders_become_corruption_and_severity(self, empty, tmp_path):
        done = run_well("testsets", "add", "imagenet-c", fill(tmp_path / "c", RELEASED), "-w", empty)
        assert done.err == "added test set imagenet-c: 8 examples, images by reader folder\n"
        test_set = open_workspace(empty).store.test_set("imagenet-c")
        assert test_set.ids[0] == "gaussian_noise/1/ILSVRC2012_val_00000000.JPEG"
        assert test_set.labels.tolist() == [0, 1] * 4
        assert test_set.groups["corruption"] == ("gaussian_noise",) * 4 + ("snow",) * 4
        assert test_set.groups["severity"] == ("1", "1", "5", "5") * 2

    def test_folders_of_the_four_tars_are_ignored(self, empty, tmp_path):
        run_well("testsets", "add", "imagenet-c", fill(tmp_path / "c", RELEASED), "-w", empty)
        first = open_workspace(empty).store.test_set("imagenet-c")
        shutil.rmtree(empty)
        run_well("init", empty)
        kinds = {"gaussian_noise": "noise", "snow": "weather"}
        nested = fill(tmp_path / "n", tuple(f"{kinds[place.split('/')[0]]}/{place}" for place in RELEASED))
        run_well("testsets", "add", "imagenet-c", nested, "-w", empty)
        assert open_workspace(empty).store.test_set("imagenet-c").digest == first.digest
        run_well("testsets", "show", "imagenet-c", "-w", empty)

    def test_one_corruption_alone(self, empty, tmp_path):
        fill(tmp_path / "c", RELEASED)
        run_well("testsets", "add", "imagenet-c", tmp_path / "c" / "snow", "-w", empty)
        assert set(open_workspace(empty).store.test_set("imagenet-c").groups["corruption"]) == {"snow"}

    def test_add_rejects_clean_images(self, empty, tmp_path):
        path = fill(tmp_path / "val", tuple(f"{wnid}/{wnid}.JPEG" for wnid in WNIDS))
        refused(empty, "add", "imagenet-c", path, words=("unknown corruption", "a folder's name in"))
        misspelt = fill(tmp_path / "c", (*RELEASED, f"snwo/1/{WNIDS[0]}/x.JPEG"))
        refused(empty, "add", "imagenet-c", misspelt, words=("unknown corruption 'snwo'", "did you mean snow"))

    def test_custom_folder_levels(self, empty, tmp_path):
        path = fill(tmp_path / "world", ("north/cat/a.jpg", "south/cat/a.jpg", "south/dog/b.jpg"))
        options = ("add", "world", path, "--classes", "cifar-10", "--group", "region")
        run_well("testsets", *options, "-w", empty)
        test_set = open_workspace(empty).store.test_set("world")
        assert test_set.ids == ("north/a.jpg", "south/a.jpg", "south/b.jpg")
        assert test_set.groups == {"region": ("north", "south", "south")}
        refused(empty, "add", "w2", path / "south", *options[3:], words=("folders by region/class",))


class TestCorrupt:
    def test_creates_a_corrupted_set(self, zoo, tmp_path):
        before = snapshot(tmp_path / "images")
        done = run_well("testsets", "corrupt", "zoo", "--name", "zoo-c", "-w", zoo)
        assert (done.out, done.err) == ("", "added test set zoo-c: 300 examples, 4 images, 15 corruptions\n")
        again = run_well("testsets", "corrupt", "zoo", "--name", "zoo-c", "-w", zoo)
        assert again.err.startswith("unchanged: test set zoo-c: 300 examples")
        assert snapshot(tmp_path / "images") == before and not list(zoo.rglob("*.png"))
        test_set = open_workspace(zoo).store.test_set("zoo-c")
        assert set(test_set.groups["image"]) == {"p0.png", "p1.png", "p2.png", "p3.png"}
        run_well("testsets", "check", "zoo-c", "-w", zoo)

    def test_selects_corruptions_severities_and_images(self, zoo):
        part = ("--corruption", "fog", "--corruption", "snow", "--severity", 3, "--images", 2, "--seed", 4)
        done = run_well("testsets", "corrupt", "zoo", "--name", "part", *part, "-w", zoo)
        assert done.err == "added test set part: 4 examples, 2 images, 2 corruptions\n"

    def test_corrupted_set_can_be_predicted_and_graded(self, zoo, tmp_path):
        (tmp_path / "toy.py").write_text(MODEL)
        part = ("--corruption", "brightness", "--corruption", "contrast", "--corruption", "gaussian_noise")
        run_well("testsets", "corrupt", "zoo", "--name", "zoo-c", *part, "-w", zoo)
        model = f"python:{tmp_path / 'toy.py'}:light"
        run_well("predict", model, "-t", "zoo", "-t", "zoo-c", "-w", zoo, *PREPROCESSING)
        command = ("grade", "-t", "zoo-c", "--slice", "corruption", "--slice", "severity", "-w", zoo, "--json")
        rows = {row["slice"]: row["top1"]["value"] for row in json.loads(run_well(*command).out)["rows"]}
        # dark dogs of 40 and 60, brightened by half of white, become cats; the other corruptions keep the mean
        assert rows["corruption=contrast"] == rows["corruption=gaussian_noise"] == 1
        assert 0.5 < rows["corruption=brightness"] < 1
        assert rows["severity=1"] == 1 and rows["severity=5"] == pytest.approx(10 / 12)

    def test_result_does_not_depend_on_batches_and_threads(self, zoo, tmp_path):
        (tmp_path / "toy.py").write_text(MODEL)
        model = f"python:{tmp_path / 'toy.py'}:light"
        run_well("testsets", "corrupt", "zoo", "--name", "zoo-c", "--severity", 5, "-w", zoo)
        shutil.copytree(zoo, tmp_path / "V")
        for workspace, how in ((zoo, ("--batch", 1, "--workers", 1)), (tmp_path / "V", ("--workers", 4))):
            run_well("predict", model, "-t", "zoo-c", "-w", workspace, *PREPROCESSING, *how, "--keep", "scores")
        stores = [open_workspace(workspace).store for workspace in (zoo, tmp_path / "V")]
        first, second = (store.predictions.read(store.test_set("zoo-c"), model) for store in stores)
        np.testing.assert_array_equal(first.full_scores, second.full_scores)

    def test_an_unreadable_original(self, zoo, tmp_path):
        run_well("testsets", "corrupt", "zoo", "--name", "zoo-c", "--corruption", "fog", "-w", zoo)
        (tmp_path / "images" / "cat" / "p0.png").write_bytes(b"")
        ran = run("testsets", "check", "zoo-c", "--json", "-w", zoo)
        assert ran.code == 3
        assert json.loads(ran.out)["unreadable"] == [[f"fog/{s}/p0.png", "the file is empty"] for s in range(1, 6)]

    def test_show_does_not_list_every_image(self, empty, tmp_path):
        pixels = np.zeros((201, 8, 8, 3), dtype=np.uint8)
        np.savez(tmp_path / "many.npz", images=pixels, labels=np.zeros(201, dtype=int))
        run_well("testsets", "add", "many", tmp_path / "many.npz", "--classes", "cifar-10", "-w", empty)
        run_well("testsets", "corrupt", "many", "--name", "many-c", "--corruption", "fog", "-w", empty)
        done = run_well("testsets", "show", "many-c", "-w", empty)
        assert "image: 201 values, not listed" in done.out and "image=" not in done.out
        rows = json.loads(run_well("testsets", "show", "many-c", "--json", "-w", empty).out)["slices"]
        assert [(row["slice"], row["examples"]) for row in rows if "=" in row["slice"]] == [
            ("corruption=fog", 1005), *((f"severity={s}", 201) for s in range(1, 6))
        ]  # fmt: skip


class TestGrade:
    @pytest.fixture
    def graded(self, zoo, tmp_path) -> Path:
        """The zoo under three corruptions, predicted; brightness turns dogs into cats."""
        (tmp_path / "toy.py").write_text(MODEL)
        part = ("--corruption", "brightness", "--corruption", "contrast", "--corruption", "gaussian_noise")
        run_well("testsets", "corrupt", "zoo", "--name", "zoo-c", *part, "-w", zoo)
        run_well(
            "predict", f"python:{tmp_path / 'toy.py'}:light", "-t", "zoo", "-t", "zoo-c", "-w", zoo, *PREPROCESSING
        )
        return zoo

    def test_errors_by_corruption_and_mce(self, graded):
        command = ("study", "corruptions", "-t", "zoo-c", "--clean", "zoo", "-w", graded)
        data = json.loads(run_well(*command, "--json").out)
        rows = {row["corruption"]: row for row in data["rows"]}
        assert list(rows) == ["all", "gaussian_noise", "brightness", "contrast"]
        error = rows["brightness"]["error"]["value"]
        assert 0 < error < 0.5 and rows["contrast"]["error"]["value"] == 0
        assert rows["all"]["ratio"]["value"] == pytest.approx(error / 0.564592 / 3)
        assert rows["brightness"]["relative"]["value"] == pytest.approx(error / (0.564592 - 0.435))
        assert rows["all"]["clean"]["value"] == 0 and data["clean"] == "zoo"
        printed = run_well(*command).out
        assert "mCE" in printed and "mean over 3 of the 15 corruptions" in printed

    def test_corruptions_rejects_other_options(self, graded):
        ran = run("study", "corruptions", "-t", "zoo-c", "--slice", "severity", "-w", graded)
        assert ran.code == 2 and "--slice" in ran.err
        assert_one_line(run("study", "corruptions", "-t", "zoo", "-w", graded), "zoo has no group column 'corruption'")
        ran = run("study", "corruptions", "-t", "zoo-c", "--clean", "zo", "-w", graded)
        assert_one_line(ran, "unknown test set 'zo'")

    def test_clean_requires_predictions(self, graded):
        shutil.rmtree(graded / "predictions" / "zoo")
        ran = run("study", "corruptions", "-t", "zoo-c", "--clean", "zoo", "-w", graded)
        assert_one_line(ran, "none of these models has predictions on zoo")


class TestCorruptErrors:
    @pytest.mark.parametrize(
        ("options", "words"),
        [
            (("--corruption", "gausian_noise"), ("unknown corruption 'gausian_noise'", "did you mean gaussian_noise")),
            (("--severity", 6), ("the severity must be one of 1, 2, 3, 4, 5, got 6",)),
            (("--images", 5), ("a sample of test set zoo has 1 to 4 images, got 5",)),
            (("--images", 0), ("a sample of test set zoo has 1 to 4 images, got 0",)),
        ],
    )
    def test_rejects_invalid_selections(self, zoo, options, words):
        refused(zoo, "corrupt", "zoo", "--name", "x", *options, words=words)

    def test_rejects_a_set_without_images(self, pets):
        words = ("test set pets has no images: regrade testsets add pets PATH",)
        refused(pets, "corrupt", "pets", "--name", "x", words=words)

    def test_rejects_an_unknown_set(self, zoo):
        refused(zoo, "corrupt", "zo", "--name", "x", words=("unknown test set 'zo'", "zoo"))

    def test_rejects_a_taken_name(self, zoo):
        refused(zoo, "corrupt", "zoo", "--name", "zoo", words=("'zoo' is stored with other examples",))
        run_well("testsets", "corrupt", "zoo", "--name", "zoo-c", "--severity", 1, "-w", zoo)
        words = ("'zoo-c' is stored with other examples", "choose another name")
        refused(zoo, "corrupt", "zoo", "--name", "zoo-c", "--severity", 2, words=words)

    def test_rejects_a_name_of_the_catalog(self, zoo):
        refused(
            zoo,
            "corrupt",
            "zoo",
            "--name",
            "imagenet-c",
            words=("imagenet-c is the name of a test set in the catalog",),
        )

    def test_rejects_a_corrupted_set(self, zoo):
        run_well("testsets", "corrupt", "zoo", "--name", "zoo-c", "--severity", 1, "-w", zoo)
        refused(zoo, "corrupt", "zoo-c", "--name", "x", words=("already has a group column 'corruption'",))

    def test_python_call_rejects_a_string_of_corruptions(self, zoo):
        with pytest.raises(InputError, match="must be a list of names"):
            regrade.open(zoo).testsets.corrupt("zoo", name="x", corruptions="fog")
