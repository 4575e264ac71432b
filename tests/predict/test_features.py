"""Features are stored with the predictions, in half precision, also by resumed runs."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from predicting import Toy, colors, failing, linear, noisy

from regrade.core import AlreadyStored, InputError, ModelError, StoreError
from regrade.models import OutOfMemory
from regrade.predict import EngineOptions, PredictionEngine, PredictionInput, predict
from regrade.testsets import open_images

SIZE = 40
SMALL = EngineOptions(batch=4, part_size=8, keep_features=True)
ANY_SHARE = replace(SMALL, allow_unreadable=1)


@pytest.fixture
def store(tmp_path):
    return noisy(tmp_path, SIZE)


def stored(store) -> dict[str, bytes]:
    folder = store.predictions.path("noise", "toy")
    dated = ("manifest.json", "fingerprints.npy")  # they contain the time of the run and of the image files
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name not in dated}


def features_of(store) -> np.ndarray:
    return store.predictions.read(store.test_set("noise"), "toy").features


def spoil(store, positions):
    source = store.images.read(store.test_set("noise"))
    for position in positions:
        (store.root.parent / "images" / source.locations[position]).write_bytes(b"")


@pytest.fixture
def whole(store):
    """The features (n, 3) of all images, by a plain loop over the image files."""
    source = store.images.read(store.test_set("noise"))
    images = [np.asarray(Image.open(store.root.parent / "images" / place)) for place in source.locations]
    return ((np.stack(images).mean(axis=(1, 2)) / 255 - 0.5) / 0.5).astype(np.float32)


def test_features_are_stored_for_every_image_in_half_precision(store, whole):
    pair = predict(store, Toy(features=colors), store.test_set("noise"), SMALL)
    features = features_of(store)
    assert pair.examples == SIZE
    assert (features.shape, features.dtype) == ((SIZE, 3), np.float16)
    np.testing.assert_allclose(features, whole, atol=1e-3)
    manifest = store.predictions.manifest("noise", "toy")
    assert manifest.features and not manifest.full_scores
    assert manifest.digest == store.predictions.read(store.test_set("noise"), "toy").digest
    assert set(stored(store)) == {"topk.parquet", "features.npy"}


def test_predictions_are_the_same_with_and_without_features(store, tmp_path):
    plain_store = noisy(tmp_path / "plain", SIZE)
    predict(store, Toy(features=colors), store.test_set("noise"), replace(SMALL, keep_scores=True))
    options = EngineOptions(batch=4, part_size=8, keep_scores=True)
    predict(plain_store, Toy(features=colors), plain_store.test_set("noise"), options)
    both, plain = stored(store), stored(plain_store)
    assert set(both) - set(plain) == {"features.npy"}
    assert {name: both[name] for name in plain} == plain


@pytest.mark.parametrize("batch", [1, 3, 8, 100])
@pytest.mark.parametrize("part_size", [5, 16, 64])
def test_features_do_not_depend_on_batch_or_part_size(store, whole, batch, part_size):
    options = EngineOptions(batch=batch, part_size=part_size, keep_features=True)
    predict(store, Toy(features=colors), store.test_set("noise"), options)
    np.testing.assert_allclose(features_of(store), whole, atol=1e-3)


class TestResume:
    @pytest.mark.parametrize("after", [0, 2, 5, 7])
    @pytest.mark.parametrize("gone", [(), range(8), range(16, 24), (3, 20, 39)], ids=str)
    def test_same_bytes_as_an_undisturbed_run(self, store, tmp_path, after, gone):
        test_set = store.test_set("noise")
        undisturbed = noisy(tmp_path / "undisturbed", SIZE)
        for spoiled in (store, undisturbed):
            spoil(spoiled, gone)
        predict(undisturbed, Toy(features=colors), test_set, ANY_SHARE)
        with pytest.raises(ModelError, match="the plug was pulled"):
            predict(store, failing(after, features=colors), test_set, ANY_SHARE)
        assert predict(store, Toy(features=colors), test_set, ANY_SHARE).unreadable.keys() == {
            test_set.ids[position] for position in gone
        }
        assert stored(store) == stored(undisturbed)

    def test_parts_without_features_are_of_another_plan(self, store):
        test_set = store.test_set("noise")
        with pytest.raises(ModelError, match="the plug was pulled"):
            predict(store, failing(6, features=colors), test_set, replace(SMALL, keep_features=False))
        assert predict(store, Toy(features=colors), test_set, SMALL).resumed == 0

    def test_predictions_stored_without_features_are_an_error(self, store):
        test_set = store.test_set("noise")
        predict(store, Toy(features=colors), test_set, replace(SMALL, keep_features=False))
        model = Toy(features=colors)
        with pytest.raises(
            AlreadyStored, match=r"stored with no features: run regrade models remove toy -t noise first"
        ):
            predict(store, model, test_set, SMALL)
        assert model.batches == []

    def test_predictions_stored_with_features_are_reused(self, store):
        test_set = store.test_set("noise")
        predict(store, Toy(features=colors), test_set, SMALL)
        for options in (SMALL, replace(SMALL, keep_features=False)):
            assert predict(store, Toy(features=colors), test_set, options).already

    def test_another_width_since_the_last_run_is_an_error(self, store):
        test_set = store.test_set("noise")
        with pytest.raises(ModelError, match="the plug was pulled"):
            predict(store, failing(6, features=colors), test_set, SMALL)
        with pytest.raises(StoreError, match="rows of 3 and of 2 numbers: the model's output changed during the run"):
            predict(store, Toy(features=lambda batch: colors(batch)[:, :2]), test_set, SMALL)
        assert store.predictions.model_names("noise") == ()


class TestUnreadable:
    """An image without a prediction has no features either: its row is NaN."""

    @settings(max_examples=25, deadline=None)
    @given(gone=st.sets(st.integers(0, SIZE - 1), max_size=SIZE - 1), part_size=st.sampled_from([1, 4, 8, 40]))
    def test_unreadable_images_have_nan_features(self, tmp_path_factory, gone, part_size):
        store = noisy(tmp_path_factory.mktemp("set"), SIZE)
        spoil(store, gone)
        options = EngineOptions(4, part_size=part_size, keep_features=True, allow_unreadable=1)
        predict(store, Toy(features=colors), store.test_set("noise"), options)
        features = np.asarray(features_of(store), dtype=float)
        assert features.shape == (SIZE, 3)
        assert set(np.flatnonzero(np.isnan(features).all(axis=1))) == gone
        assert set(np.flatnonzero(np.isnan(features).any(axis=1))) == gone

    @pytest.mark.parametrize("gone", [range(8), range(8, 16), range(16, 24), range(32, 40), range(24)], ids=str)
    def test_unreadable_part_has_nan_features(self, store, whole, gone):
        spoil(store, gone)
        options = replace(SMALL, keep_scores=True, allow_unreadable=1)
        predict(store, Toy(features=colors), store.test_set("noise"), options)
        features = np.asarray(features_of(store))
        rest = np.setdiff1d(np.arange(SIZE), gone)
        assert np.isnan(features[gone]).all()
        np.testing.assert_allclose(features[rest], whole[rest], atol=1e-3)

    def test_no_readable_image_gives_no_features(self, store):
        spoil(store, range(SIZE))
        pair = predict(store, Toy(features=colors), store.test_set("noise"), ANY_SHARE)
        assert len(pair.unreadable) == SIZE and features_of(store) is None
        assert store.predictions.manifest("noise", "toy").features is False
        again = predict(store, Toy(features=colors), store.test_set("noise"), SMALL)
        assert again.already and again.unreadable == pair.unreadable


class TestMemory:
    def test_halved_batches_keep_the_order_of_features(self, store, whole):
        def features(batch):
            if len(batch) > 3:
                raise OutOfMemory
            return colors(batch)

        predict(store, Toy(features=features), store.test_set("noise"), replace(SMALL, batch=16, part_size=40))
        np.testing.assert_allclose(features_of(store), whole, atol=1e-3)


class TestBadModels:
    def test_model_without_features_is_an_error(self, store):
        with pytest.raises(ModelError) as raised:
            predict(store, Toy(), store.test_set("noise"), SMALL)
        assert str(raised.value) == (
            "toy gives no features: leave out --keep features (the 4 examples 'x000.png' to 'x030.png')"
        )
        assert store.predictions.model_names("noise") == ()

    @pytest.mark.parametrize(
        ("features", "message"),
        [
            (
                lambda b: colors(b)[1:],
                r"toy returned features, float32 of shape \(3, 3\), for the 4 examples .*: "
                r"expected floating-point numbers of shape \(4, 3\)",
            ),
            (lambda b: colors(b)[:, 0], r"float32 of shape \(4,\), for"),
            (lambda b: b[:, 0], r"float32 of shape \(4, 8, 8\), for"),
            (lambda b: colors(b)[:, :0], r"shape \(4, 0\), for .*of shape \(4, 1\)"),
            (lambda b: colors(b).astype(int), r"int64 of shape \(4, 3\), for"),
            (lambda _: None, r"object of shape \(\), for"),
            (lambda b: colors(b).tolist()[0], r"float64 of shape \(3,\), for"),
            (
                lambda b: np.where(np.arange(4)[:, None] == 2, np.nan, colors(b)),
                "features that are not finite for example 'x020.png'",
            ),
            (lambda b: np.where(np.arange(3) == 2, -np.inf, colors(b)), "not finite for example 'x000.png'"),
            (
                lambda b: 1e6 * colors(b),
                "toy returned features too large for half precision: .*without --keep features",
            ),
        ],
    )
    def test_invalid_features_are_an_error(self, store, features, message):
        with pytest.raises(ModelError, match=message):
            predict(store, Toy(features=features), store.test_set("noise"), SMALL)
        assert store.predictions.model_names("noise") == ()

    @pytest.mark.parametrize("largest", [65504, -65504])
    def test_largest_half_precision_number_is_accepted(self, store, largest):
        predict(store, Toy(features=lambda b: np.full((len(b), 2), largest, float)), store.test_set("noise"), SMALL)
        assert (features_of(store) == largest).all()

    def test_lists_are_accepted(self, store, whole):
        model = Toy(lambda batch: linear(batch).tolist(), lambda batch: colors(batch).tolist())
        predict(store, model, store.test_set("noise"), SMALL)
        np.testing.assert_allclose(features_of(store), whole, atol=1e-3)

    @pytest.mark.parametrize("later", [4, 9], ids=["within a part", "in another part"])
    def test_another_width_during_the_run_is_an_error(self, store, later):
        def features(batch):
            return colors(batch)[:, : 3 if len(model.batches) < later else 2]

        model = Toy(features=features)
        with pytest.raises(ModelError, match=r"features, float32 of shape \(4, 2\), .* expected .* \(4, 3\)"):
            predict(store, model, store.test_set("noise"), SMALL)

    @pytest.mark.parametrize("scores", [lambda b: linear(b)[:, :9], lambda b: np.full((len(b), 10), np.nan)])
    def test_scores_are_checked_too(self, store, scores):
        with pytest.raises(ModelError, match=r"of shape \(4, 9\)|not finite"):
            predict(store, Toy(scores, colors), store.test_set("noise"), SMALL)


def test_features_are_not_computed_unless_kept(store):
    model = Toy(features=lambda _: pytest.fail("features are computed"))
    predict(store, model, store.test_set("noise"), replace(SMALL, keep_features=False))
    assert features_of(store) is None


def test_part_without_readable_images_has_no_features(store):
    test_set = store.test_set("noise")
    source = store.images.read(test_set)
    spoil(store, [*range(8), 9])
    inputs = PredictionInput(test_set.ids, source, open_images(source))
    ran = PredictionEngine(Toy(features=colors), SMALL)
    empty, partly = ran.parts(inputs, [range(0, 8), range(8, 16)], batch=4, progress=lambda _: None)
    assert empty.features is None and len(empty.unreadable) == 8
    assert partly.features.shape == (8, 3) and np.isnan(partly.features[1]).all() and list(partly.unreadable) == [9]


def test_base_model_has_no_features():
    with pytest.raises(InputError, match=r"^toy gives no features: leave out --keep features$"):
        Toy().scores_and_features(np.zeros((1, 3, 8, 8)))
