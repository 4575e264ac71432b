"""Unreadable images: few are stored as such, many stop the run, and all can be tried again later."""

import shutil
from dataclasses import replace

import numpy as np
import pytest
from predicting import Toy, colors, failing, noise, noisy
from running import snapshot

from regrade.core import NO_ANSWER, ImageSourceError, InputError, ModelError
from regrade.models import Settings
from regrade.predict import EngineOptions, NamedModel, predict, predict_all, run_all
from regrade.predict.unreadable_limit import UnreadableLimit
from regrade.store import checked_json, read_checked_json
from regrade.workspace import Workspace

SMALL = EngineOptions(batch=4, part_size=8, keep_scores=True)
RETRY = replace(SMALL, retry_unreadable=True)


@pytest.fixture
def store(tmp_path):
    return noisy(tmp_path)


def paths(store, positions):
    source = store.images.read(store.test_set("noise"))
    return [store.root.parent / "images" / source.locations[position] for position in positions]


def hide(store, positions):
    """Move images away; returns a function that brings them back."""
    moved = [(path, path.with_suffix(".hidden")) for path in paths(store, positions)]
    for path, hidden in moved:
        path.rename(hidden)
    return lambda: [hidden.rename(path) for path, hidden in moved]


def parts(store):
    return sorted(store.root.glob(".partial/*/*/*/*.part"))


class TestUnreadableLimit:
    @pytest.mark.parametrize(
        ("size", "limit"), [(1, 0), (2, 1), (10, 5), (20, 10), (40, 10), (200, 10), (220, 11), (50_000, 2500)]
    )
    def test_limit_is_five_percent_or_ten_but_never_more_than_half(self, size, limit):
        class OfSize:
            def __len__(self):
                return size

        assert UnreadableLimit(OfSize(), None).limit == limit

    @pytest.mark.parametrize(("share", "limit"), [(0, 0), (0.5, 20), (1, 40)])
    def test_limit_is_the_stated_share(self, store, share, limit):
        test_set = store.test_set("noise")
        assert UnreadableLimit(test_set, store.images.read(test_set), share).limit == limit

    @pytest.mark.parametrize("share", [-0.1, 1.5, float("nan")])
    def test_predict_rejects_an_invalid_share(self, store, share):
        with pytest.raises(InputError, match="is 0 to 1"):
            predict(store, Toy(), store.test_set("noise"), replace(SMALL, allow_unreadable=share))


class TestTooMany:
    def test_predict_stops_at_an_empty_folder_and_stores_nothing(self, store, tmp_path):
        shutil.move(tmp_path / "images", tmp_path / "mounted")
        (tmp_path / "images").mkdir()
        model = Toy()
        with pytest.raises(ImageSourceError) as caught:
            predict(store, model, store.test_set("noise"), SMALL)
        for word in ("8 of 8 images of noise", "'x000.png' (", "No such file", "images", "--allow-unreadable 100%"):
            assert word in str(caught.value)
        assert "\n" not in str(caught.value)
        assert store.predictions.model_names("noise") == () and model.batches == []

    def test_predict_resumes_once_the_folder_is_back(self, store, tmp_path):
        undisturbed = noisy(tmp_path / "undisturbed")
        predict(undisturbed, Toy(), undisturbed.test_set("noise"), SMALL)
        test_set = store.test_set("noise")
        bring_back = hide(store, range(16, 30))
        with pytest.raises(ImageSourceError, match="14 of 32 images"):
            predict(store, Toy(), test_set, SMALL)
        assert len(parts(store)) == 4
        bring_back()
        pair = predict(store, Toy(), test_set, SMALL)
        assert (pair.resumed, pair.unreadable) == (16, {})
        for name in ("topk.parquet", "scores.npy"):
            files = [opened.predictions.path("noise", "toy") / name for opened in (store, undisturbed)]
            assert files[0].read_bytes() == files[1].read_bytes()

    def test_predict_stores_unreadable_images_within_the_given_share(self, store):
        hide(store, range(30))
        pair = predict(store, Toy(), store.test_set("noise"), replace(SMALL, allow_unreadable=0.75))
        assert len(pair.unreadable) == 30 and store.predictions.model_names("noise") == ("toy",)

    def test_predict_counts_the_images_of_parts_from_before(self, store):
        test_set = store.test_set("noise")
        hide(store, [*range(3, 8), *range(35, 40)])
        with pytest.raises(ModelError, match="plug"):
            predict(store, failing(7), test_set, SMALL)
        hide(store, [33])
        with pytest.raises(ImageSourceError, match="11 of 40 images"):
            predict(store, Toy(), test_set, SMALL)


class TestResume:
    def test_predict_keeps_a_part_whose_images_are_still_unreadable(self, store):
        test_set = store.test_set("noise")
        hide(store, [1, 2])
        with pytest.raises(ModelError, match="plug"):
            predict(store, failing(5), test_set, SMALL)
        model = Toy()
        pair = predict(store, model, test_set, SMALL)
        assert pair.resumed == 16 and len(pair.unreadable) == 2

    def test_predict_computes_a_part_again_whose_images_can_be_read_now(self, store):
        test_set = store.test_set("noise")
        bring_back = hide(store, [1, 9])
        with pytest.raises(ModelError, match="plug"):
            predict(store, failing(7), test_set, SMALL)
        bring_back()
        pair = predict(store, Toy(), test_set, SMALL)
        assert (pair.resumed, pair.unreadable) == (8, {})


class TestRetry:
    @pytest.fixture
    def spoilt(self, store):
        """A stored pair in which images 3, 4, 5 and 20 were unreadable, and a function that brings them back."""
        bring_back = hide(store, [3, 4, 5, 20])
        options = replace(SMALL, keep_features=True)
        pair = predict(store, Toy(features=colors), store.test_set("noise"), options)
        assert len(pair.unreadable) == 4
        return bring_back

    def expected(self, tmp_path):
        whole = noisy(tmp_path / "whole")
        predict(whole, Toy(features=colors), whole.test_set("noise"), replace(SMALL, keep_features=True))
        return whole.predictions.read(whole.test_set("noise"), "toy")

    @pytest.mark.usefixtures("spoilt")
    def test_retry_changes_nothing_while_they_are_unreadable(self, store):
        before = snapshot(store.root)
        pair = predict(store, Toy(features=colors), store.test_set("noise"), RETRY)
        assert (len(pair.unreadable), pair.recovered) == (4, 0)
        assert snapshot(store.root) == before

    def test_retry_computes_only_the_unreadable_images(self, store, spoilt, tmp_path):
        test_set = store.test_set("noise")
        before = store.predictions.manifest(test_set.name, "toy")
        spoilt()
        model = Toy(features=colors)
        pair = predict(store, model, test_set, RETRY)
        assert sum(model.batches) == 4
        assert (pair.recovered, pair.unreadable, pair.resumed, pair.already) == (4, {}, 36, False)
        stored, expected = store.predictions.read(test_set, "toy"), self.expected(tmp_path)
        np.testing.assert_array_equal(stored.classes, expected.classes)
        for name in ("scores", "full_scores", "features"):
            np.testing.assert_allclose(getattr(stored, name), getattr(expected, name), rtol=1e-2, atol=1e-2)
        np.testing.assert_array_equal(stored.fingerprints["digest"], expected.fingerprints["digest"])
        manifest = store.predictions.manifest(test_set.name, "toy")
        assert manifest.digest == stored.digest != before.digest
        (note,) = manifest.retries
        assert "4 of 4 images" in note and "toy, images by" in note
        kept = ("model", "created", "runtime", "source", "regrade", "test_set_digest")
        assert [getattr(manifest, name) for name in kept] == [getattr(before, name) for name in kept]
        assert predict(store, Toy(features=colors), test_set, RETRY).already

    def test_retry_keeps_those_that_are_still_unreadable(self, store, spoilt):
        test_set = store.test_set("noise")
        spoilt()
        hide(store, [20])
        pair = predict(store, Toy(features=colors), test_set, RETRY)
        assert (pair.recovered, set(pair.unreadable)) == (3, {test_set.ids[20]})
        stored = store.predictions.read(test_set, "toy")
        assert (stored.top1 == NO_ANSWER).nonzero()[0].tolist() == [20]
        assert np.isnan(stored.features[20].astype(float)).all()
        assert store.predictions.manifest(test_set.name, "toy").unreadable == pair.unreadable

    def test_retry_predicts_a_pair_that_is_not_stored(self, store):
        assert predict(store, Toy(), store.test_set("noise"), RETRY).examples == 40

    def test_retry_that_fails_leaves_what_is_stored(self, store, spoilt):
        before = snapshot(store.root)
        spoilt()
        with pytest.raises(ModelError, match="plug"):
            predict(store, failing(-1, features=colors), store.test_set("noise"), RETRY)
        assert {name: value for name, value in snapshot(store.root).items() if not name.startswith(".")} == before


class TestSeveralModels:
    @pytest.fixture
    def run(self, store, tmp_path, monkeypatch):
        """Two models on ``noise``, whose folder is empty, and on ``more``."""
        Workspace(store).testsets.add("more", noise(tmp_path / "more", 12), classes="cifar-10", layout="index")
        shutil.rmtree(tmp_path / "images")
        (tmp_path / "images").mkdir()
        monkeypatch.setattr(run_all, "load_model", lambda name, _: Toy(name=name))
        named = [NamedModel(name, Settings()) for name in "ab"]
        test_sets = [store.test_set("noise"), store.test_set("more")]
        return predict_all(store, named, test_sets, SMALL)

    def test_predict_all_goes_on_with_the_other_test_sets(self, run):
        assert [(pair.model, pair.test_set) for pair in run.pairs] == [("a", "more"), ("b", "more")]

    def test_predict_all_reports_a_test_set_without_images_once(self, run):
        (failure,) = run.failures
        assert failure.model == "a" and "images of noise cannot be read" in failure.reason


def test_manifest_from_before_has_no_retries_and_no_fingerprints(store):
    test_set = store.test_set("noise")
    predict(store, Toy(), test_set, SMALL)
    path = store.predictions.path("noise", "toy") / "manifest.json"
    content = read_checked_json(path)
    del content["retries"], content["fingerprints"]
    path.write_bytes(checked_json(content))
    manifest = store.predictions.manifest(test_set.name, "toy")
    assert (manifest.retries, manifest.fingerprints) == ((), False)
    assert store.predictions.read(test_set, "toy").fingerprints is None
    assert predict(store, Toy(), test_set, SMALL).already
