"""Leakage study in a workspace: stored signatures are reused, and an interrupted run resumes."""

import shutil
import subprocess
import sys
import textwrap
import tracemalloc

import numpy as np
import pytest
from PIL import Image
from planted import brighter, reencoded, textures

import regrade
from regrade.core import ImageSourceError, InputError, UnknownName
from regrade.studies import ANY, find_near_duplicates
from regrade.studies.leakage import signatures


def save(folder, images):
    folder.mkdir(parents=True, exist_ok=True)
    for name, pixels in images.items():
        (folder / name).parent.mkdir(exist_ok=True)
        Image.fromarray(pixels).save(folder / name)
    return folder


@pytest.fixture(scope="module")
def images():
    return textures(16)


@pytest.fixture
def work(tmp_path, images, monkeypatch):
    """A workspace with the test set `test` of eight images, three of which have near duplicates in `train`."""
    monkeypatch.setattr(signatures, "PART_SIZE", 4)
    test = save(tmp_path / "test", {f"{i % 4}/t{i}.png": images[i] for i in range(8)})
    (test / "0" / "t8.png").write_bytes(b"no image")
    train = {f"{i % 4}/r{i}.png": images[i] for i in range(8, 16)}
    train |= {"1/exact.png": images[0], "1/packed.png": reencoded(images[1]), "3/bright.png": brighter(images[3])}
    save(tmp_path / "train", train)
    workspace = regrade.init(tmp_path / "W")
    workspace.testsets.add("test", test, classes="digits")
    workspace.testsets.add("train", tmp_path / "train", classes="digits")
    rng = np.random.default_rng(0)
    workspace.models.add_predictions("m", rng.random((9, 10)).astype(np.float32), test_set="test")
    return workspace


@pytest.fixture
def decoded(monkeypatch):
    """The positions that were decoded, in order."""
    seen = []
    usual = signatures._ImageDecoder.__call__

    def look(self, position):
        seen.append(self._source.locations[position])
        return usual(self, position)

    monkeypatch.setattr(signatures._ImageDecoder, "__call__", look)
    return seen


def pairs_of(result):
    return {(pair.image, pair.reference) for pair in result.pairs}


NEAR_DUPLICATES = {("t0.png", "exact.png"), ("t1.png", "packed.png"), ("t3.png", "bright.png")}


def test_leakage_against_a_test_set(work):
    result = work.study.leakage("test", against="train", size=64)
    assert pairs_of(result) == NEAR_DUPLICATES
    assert result.by("exact").images == 1 and result.by(ANY).images == 3 and result.by(ANY).share.n == 8
    assert {pair.image: pair.differs for pair in result.pairs} == {"t0.png": True, "t1.png": False, "t3.png": False}
    assert [(failure.image, failure.reason) for failure in result.unreadable] == [
        ("t8.png", "not an image of a known format")
    ]
    (model,) = result.models_by()
    assert (model.leaked.n, model.clean.n) == (3, 5)


def test_leakage_decodes_each_image_once(work, decoded):
    first = work.study.leakage("test", against="train", by=["exact"], size=64)
    assert sorted(decoded) == sorted({*decoded}) and len(decoded) == 20
    decoded.clear()
    assert work.study.leakage("test", against="train", by=["exact"], size=64).as_dict() == first.as_dict()
    assert decoded == []
    work.study.leakage("test", by=["phash"], size=64)
    assert decoded == []
    work.study.leakage("test", by=["phash"], size=96)
    assert len(decoded) == 9


def test_leakage_decodes_only_new_images_of_a_folder(work, tmp_path, images, decoded):
    folder = tmp_path / "train"
    before = work.study.leakage("test", against=folder, by=["exact"], size=64)
    decoded.clear()
    save(folder, {"0/aaa.png": images[5], "9/zzz.png": textures(1, seed=5)[0]})
    after = work.study.leakage("test", against=folder, by=["exact"], size=64)
    assert sorted(decoded) == ["0/aaa.png", "9/zzz.png"]
    assert pairs_of(after) == pairs_of(before) | {("t5.png", "aaa.png")}
    fresh = regrade.init(tmp_path / "V")
    fresh.testsets.add("test", tmp_path / "test", classes="digits")
    assert pairs_of(fresh.study.leakage("test", against=folder, by=["exact"], size=64)) == pairs_of(after)


def test_leakage_retries_unreadable_images_of_a_changed_folder(work, tmp_path, images):
    folder = tmp_path / "train"
    (folder / "0" / "late.png").write_bytes(b"half a pict")
    assert len(work.study.leakage("test", against=folder, by=["exact"], size=64).unreadable) == 2
    save(folder, {"0/late.png": images[5], "0/more.png": textures(1, seed=5)[0]})
    after = work.study.leakage("test", against=folder, by=["exact"], size=64)
    assert len(after.unreadable) == 1 and ("t5.png", "late.png") in pairs_of(after)


def test_leakage_resumes_after_an_interrupt(work, decoded):
    def interrupted(seen, total):
        assert total == 9
        for number, image in enumerate(seen):
            if number == 6:
                raise KeyboardInterrupt
            yield image

    with pytest.raises(KeyboardInterrupt):
        work.study.leakage("test", by=["phash"], size=64, image_progress=interrupted)
    assert len(list(work.store.root.glob(".partial/.signatures/test/*/*.part"))) == 1
    decoded.clear()
    result = work.study.leakage("test", by=["phash"], size=64)
    assert len(decoded) == 5
    assert not (work.store.root / ".partial").exists()
    kept = next(work.store.root.glob("neighbors/test/*/signatures.parquet")).parent
    thumbnails = (kept / "thumbnails.npy").read_bytes()
    shutil.rmtree(kept)
    assert work.study.leakage("test", by=["phash"], size=64).as_dict() == result.as_dict()
    assert (kept / "thumbnails.npy").read_bytes() == thumbnails


def test_leakage_resumes_after_a_kill(work, decoded):
    script = f"""
        import os, signal
        import regrade
        from regrade.studies.leakage import signatures
        signatures.PART_SIZE = 4
        def killed(seen, total):
            for number, image in enumerate(seen):
                if number == 5:
                    os.kill(os.getpid(), signal.SIGKILL)
                yield image
        regrade.open({str(work.store.root)!r}).study.leakage("test", by=["phash"], size=64, image_progress=killed)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=False)
    assert done.returncode == -9
    work.study.leakage("test", by=["phash"], size=64)
    assert len(decoded) == 5


def test_leakage_by_features_of_a_model(work):
    rng = np.random.default_rng(3)
    train = work.store.test_set("train")
    features = {"test": rng.standard_normal((9, 12)), "train": rng.standard_normal((len(train), 12))}
    features["test"][2] = 3 * features["train"][4]
    features["test"][8] = np.nan
    with pytest.raises(UnknownName, match="model on test"):
        work.study.leakage("test", against="train", model="seer")
    with pytest.raises(InputError, match="no features of m on test are stored"):
        work.study.leakage("test", model="m")
    store_features(work, features)
    result = work.study.leakage("test", against="train", by=["features"], model="seer")
    ids = train.ids
    assert pairs_of(result) == {(work.store.test_set("test").ids[2], ids[4])}
    assert result.by("features").share.n == 8
    with_images = work.study.leakage("test", against="train", model="seer", size=64)
    assert pairs_of(with_images) == pairs_of(result) | NEAR_DUPLICATES
    with pytest.raises(InputError, match="is not a test set and has no features"):
        work.study.leakage("test", against=work.store.root, by=["features"], model="seer")


def store_features(work, features):
    """Predictions of the model `seer` with features, as a run would store them."""
    from regrade.core import ModelSpec, Predictions
    from regrade.store import Manifest, PredictionSource

    for name, rows in features.items():
        test_set = work.store.test_set(name)
        answers = Predictions(
            "seer", name, "digits", np.zeros((len(rows), 1), np.int32), features=rows.astype(np.float16)
        )
        manifest = Manifest(
            ModelSpec("seer", "digits"), name, test_set.digest, "digits", test_set.class_space.digest, len(rows), 1,
            answers.digest, None, False, PredictionSource(), "0", features=True,
        )  # fmt: skip
        work.store.add_predictions(test_set, [(answers, manifest)], test_set.class_space)


def test_leakage_rejects_bad_options_before_decoding(work, tmp_path, decoded):
    for match, options in (
        ("--against must differ from test", {"against": "test"}),
        ("no folder of this name either", {"against": "nowhere"}),
        ("which is not in --by", {"by": ["exact"], "near": {"phash": 3}}),
        ("exact duplicates have no threshold", {"near": {"exact": 2}}),
        ("must be a number >= 0", {"near": {"phash": -1}}),
        ("name it with --model", {"by": ["features"]}),
        ("must be at least 1", {"most": 0}),
        ("must be a list of names", {"by": "exact"}),
        ("written as .csv or .html", {"pairs": tmp_path / "pairs.pdf"}),
        ("there is no folder", {"pairs": tmp_path / "none" / "pairs.csv"}),
    ):
        with pytest.raises(InputError, match=match):
            work.study.leakage("test", size=64, **options)
    with pytest.raises(UnknownName, match="unknown distance"):
        work.study.leakage("test", by=["looks"])
    assert decoded == []
    with pytest.raises(InputError, match="multiple of 32"):
        work.study.leakage("test", size=100)


def test_leakage_requires_images(tmp_path):
    workspace = regrade.init(tmp_path / "W")
    (tmp_path / "list.csv").write_text("image,label\na,1\nb,2\n")
    workspace.testsets.add("bare", tmp_path / "list.csv", classes="digits")
    with pytest.raises(InputError, match="bare has no images"):
        workspace.study.leakage("bare")


def test_leakage_does_not_store_an_unmounted_folder_as_unreadable(work, tmp_path):
    (tmp_path / "train").rename(tmp_path / "disk")
    (tmp_path / "train").mkdir()
    with pytest.raises(ImageSourceError, match="none of the first 4 images of train can be read"):
        work.study.leakage("test", against="train", size=64)
    (tmp_path / "train").rmdir()
    (tmp_path / "disk").rename(tmp_path / "train")
    assert pairs_of(work.study.leakage("test", against="train", size=64)) == NEAR_DUPLICATES


def test_leakage_raises_if_all_images_are_missing(work, tmp_path):
    shutil.rmtree(tmp_path / "test")
    with pytest.raises(InputError, match="which does not exist any more"):
        work.study.leakage("test", size=64)


def test_find_near_duplicates_in_folders(tmp_path, images):
    first = save(tmp_path / "a", {"x.png": images[0], "y.png": images[1], "x again.png": images[0]})
    second = save(tmp_path / "b", {"z.png": reencoded(images[1]), "q.png": images[9]})
    between = find_near_duplicates(first, second, size=64)
    assert pairs_of(between) == {("y.png", "z.png")}
    within = find_near_duplicates(first, by=["exact"])
    assert [(group.kept, group.surplus) for group in within.groups] == [("x again.png", ("x.png",))]
    with pytest.raises(InputError, match="folders have no features"):
        find_near_duplicates(first, by=["features"])
    with pytest.raises(InputError, match="name it once"):
        find_near_duplicates(first, first)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_leakage_memory_is_bounded(tmp_path):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "images.npy", rng.integers(0, 256, (1_500, 96, 96, 3), dtype=np.uint8))  # 41 MB
    workspace = regrade.init(tmp_path / "W")
    workspace.testsets.add("s", tmp_path / "images.npy", classes="digits", layout="flat")
    tracemalloc.start()
    try:
        workspace.study.leakage("s", by=["exact"], size=64)
        assert tracemalloc.get_traced_memory()[1] < 15e6
    finally:
        tracemalloc.stop()
