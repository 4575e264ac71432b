"""timm's models with their own preprocessing; random weights from a local folder, nothing is downloaded."""

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from regrade.classes import imagenet_1k
from regrade.core import IMAGENET, CropMode, InputError, Interpolation, MismatchError, UnknownName
from regrade.models import Settings, export_to_onnx, load_model, preprocess
from regrade.models.timm_model import timm_preprocessing

CONFIG = {
    "input_size": (3, 224, 224),
    "interpolation": "bicubic",
    "mean": (0.5, 0.5, 0.5),
    "std": (0.5, 0.5, 0.5),
    "crop_pct": 0.9,
    "crop_mode": "center",
}


@pytest.fixture(scope="module")
def timm(library):
    return library("timm")


@pytest.fixture
def random_weights(timm, monkeypatch):
    """Published models come with random weights."""
    create = timm.create_model
    monkeypatch.setattr(timm, "create_model", lambda name, pretrained: create(name, pretrained=not pretrained))


@pytest.fixture
def folder(timm, tmp_path):
    """A model of ten classes, saved as timm saves for its hub."""
    module = timm.create_model("resnet10t", pretrained=False, num_classes=10)
    timm.models.save_for_hf(module, tmp_path / "mine", model_config={"num_classes": 10})
    return tmp_path / "mine", module


def test_timm_preprocessing_equals_timms_own_transform(timm):
    image = Image.fromarray(np.random.default_rng(0).integers(0, 256, (375, 500, 3), dtype=np.uint8))
    for change in ({}, {"crop_mode": "squash"}, {"crop_pct": 1.0, "interpolation": "bilinear"}):
        config = CONFIG | change
        theirs = timm.data.create_transform(**config, is_training=False)(image).numpy()
        np.testing.assert_allclose(preprocess(image, timm_preprocessing(config, "m")), theirs, atol=2e-6)


def test_timm_preprocessing_by_hand():
    preprocessing = timm_preprocessing(CONFIG, "m")
    assert (preprocessing.size, preprocessing.short_side) == (224, 248)  # floor(224 / 0.9)
    assert (preprocessing.crop_mode, preprocessing.interpolation) == (CropMode.RESIZE_THEN_CROP, Interpolation.BICUBIC)


@pytest.mark.parametrize(
    "change", [{"crop_mode": "border"}, {"interpolation": "lanczos"}, {"input_size": (3, 224, 192)}]
)
def test_timm_preprocessing_rejects_unsupported_configurations(change):
    with pytest.raises(InputError, match="give --size"):
        timm_preprocessing(CONFIG | change, "timm:m")


@pytest.mark.usefixtures("random_weights")
def test_load_timm_uses_imagenet_and_the_test_size():
    model = load_model("timm:resnet10t.c3_in1k", Settings())
    assert model.class_space == imagenet_1k()
    assert (model.preprocessing.size, model.preprocessing.short_side) == (224, 235)  # 224 / 0.95
    assert model.scores(np.zeros((2, 3, 224, 224), np.float32)).shape == (2, 1000)


@pytest.mark.usefixtures("random_weights")
def test_load_timm_prefers_the_users_preprocessing():
    assert load_model("timm:resnet10t", Settings(preprocessing=IMAGENET)).preprocessing == IMAGENET


def test_timm_scores_of_a_local_folder(folder, settings, library):
    torch = library("torch")
    path, module = folder
    model = load_model(f"timm:local-dir:{path}", replace(settings, preprocessing=None))
    batch = np.random.default_rng(0).standard_normal((3, 3, 64, 64), dtype=np.float32)
    with torch.no_grad():
        expected = module.eval()(torch.from_numpy(batch)).numpy()
    np.testing.assert_allclose(model.scores(batch), expected, atol=1e-6)
    library("onnxruntime")
    big = np.random.default_rng(0).standard_normal((2, 3, *(model.preprocessing.size,) * 2), dtype=np.float32)
    assert export_to_onnx(model, big).reason == ""


def test_timm_features_are_the_pre_logits(folder, settings, library):
    torch = library("torch")
    path, module = folder
    model = load_model(f"timm:local-dir:{path}", replace(settings, preprocessing=None))
    batch = np.random.default_rng(0).standard_normal((3, 3, 64, 64), dtype=np.float32)
    with torch.no_grad():
        expected = module.eval().forward_head(module.forward_features(torch.from_numpy(batch)), pre_logits=True).numpy()
    scores, features = model.scores_and_features(batch)
    assert features.shape == (3, module.num_features)
    np.testing.assert_allclose(features, expected, atol=1e-6)
    np.testing.assert_array_equal(scores, model.scores(batch))


@pytest.mark.usefixtures("random_weights")
@pytest.mark.parametrize("name", ["mobilenetv3_small_050", "vit_tiny_patch16_224", "convnext_atto"])
def test_timm_features_of_several_architectures(name, library):
    torch = library("torch")
    model = load_model(f"timm:{name}", Settings())
    batch = np.random.default_rng(0).standard_normal((2, 3, 224, 224), dtype=np.float32)
    scores, features = model.scores_and_features(batch)
    head = model._module.get_classifier()
    with torch.no_grad():
        again = head(torch.from_numpy(features)).numpy()
    assert isinstance(head, torch.nn.Linear) and features.shape == (2, model._module.head_hidden_size)
    np.testing.assert_allclose(again, scores, rtol=1e-4, atol=1e-5)


def test_load_timm_requires_the_classes_of_a_local_folder(folder):
    with pytest.raises(InputError, match="give --classes"):
        load_model(f"timm:local-dir:{folder[0]}", Settings())
    with pytest.raises(MismatchError, match="gives 10 scores per image, but imagenet-1k has 1000 classes"):
        load_model(f"timm:local-dir:{folder[0]}", Settings(class_space=imagenet_1k()))


@pytest.mark.usefixtures("timm")
def test_load_timm_suggests_a_similar_name():
    with pytest.raises(UnknownName, match=r"unknown timm model 'resnet50x'; did you mean .*resnet50"):
        load_model("timm:resnet50x", Settings())


@pytest.mark.usefixtures("timm")
def test_load_timm_reports_a_missing_folder(tmp_path, settings):
    with pytest.raises(InputError, match="cannot be loaded: ") as raised:
        load_model(f"timm:local-dir:{tmp_path / 'none'}", settings)
    assert "\n" not in str(raised.value)
