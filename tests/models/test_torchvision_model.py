"""torchvision's models with their own preprocessing; random weights, nothing is downloaded."""

import numpy as np
import pytest
from PIL import Image

from regrade.classes import cifar_10, imagenet_1k
from regrade.core import InputError, MismatchError, Preprocessing, UnknownName
from regrade.models import Settings, load_model, preprocess
from regrade.models.torchvision_model import torchvision_parameters, torchvision_preprocessing


@pytest.fixture(autouse=True)
def torchvision(library):
    return library("torchvision")


@pytest.fixture
def random_weights(torchvision, monkeypatch):
    from torchvision.models._api import WeightsEnum

    def state(self, *_, **__):
        name = type(self).__name__.removesuffix("_Weights").lower()
        return torchvision.models.get_model(name, weights=None).state_dict()

    monkeypatch.setattr(WeightsEnum, "get_state_dict", state)


def test_torchvision_preprocessing_equals_the_own_transforms(torchvision):
    image = Image.fromarray(np.random.default_rng(0).integers(0, 256, (375, 500, 3), dtype=np.uint8))
    for name in ("resnet18", "vit_b_16", "regnet_y_16gf", "inception_v3"):
        for weights in torchvision.models.get_model_weights(name):
            preprocessing = torchvision_preprocessing(weights.transforms(), name)
            theirs = weights.transforms()(image).numpy()
            np.testing.assert_allclose(preprocess(image, preprocessing), theirs, atol=2e-6)


def test_all_torchvision_weights_have_a_preprocessing_and_imagenet_classes(torchvision):
    for name in torchvision.models.list_models(module=torchvision.models):
        for weights in torchvision.models.get_model_weights(name):
            assert torchvision_preprocessing(weights.transforms(), name).size >= 224
            assert "ImageNet-1K" in weights.meta["_metrics"]


@pytest.mark.usefixtures("random_weights")
@pytest.mark.parametrize("place, short_side", [("squeezenet1_1", 256), ("resnet18:IMAGENET1K_V1", 256)])
def test_load_torchvision_with_weights(place, short_side):
    model = load_model(f"torchvision:{place}", Settings())
    assert model.class_space == imagenet_1k()
    assert model.preprocessing == Preprocessing(224, short_side)
    assert model.scores(np.zeros((2, 3, 224, 224), np.float32)).shape == (2, 1000)


@pytest.mark.usefixtures("random_weights")
@pytest.mark.parametrize("name, width", [("resnet18", 512), ("mobilenet_v3_small", 1024)])
def test_torchvision_features_are_the_input_of_the_last_layer(name, width):
    model = load_model(f"torchvision:{name}", Settings())
    batch = np.random.default_rng(0).standard_normal((2, 3, 224, 224), dtype=np.float32)
    scores, features = model.scores_and_features(batch)
    head = model._module.fc if hasattr(model._module, "fc") else model._module.classifier[-1]
    assert features.shape == (2, width)
    np.testing.assert_allclose(features @ head.weight.numpy().T + head.bias.numpy(), scores, rtol=1e-4, atol=1e-5)


def test_load_torchvision_suggests_similar_names_and_weights():
    with pytest.raises(UnknownName, match=r"unknown torchvision classifier 'resnet19'; did you mean"):
        load_model("torchvision:resnet19", Settings())
    with pytest.raises(UnknownName, match=r"unknown weights of resnet50 'IMAGENET1K_V3'; did you mean IMAGENET1K_V"):
        load_model("torchvision:resnet50:IMAGENET1K_V3", Settings())


def test_load_torchvision_rejects_detectors():
    with pytest.raises(UnknownName, match="unknown torchvision classifier"):
        load_model("torchvision:retinanet_resnet50_fpn", Settings())


def test_load_torchvision_rejects_other_classes_before_any_download():
    with pytest.raises(MismatchError, match="predicts the classes imagenet-1k, not cifar-10"):
        load_model("torchvision:resnet18", Settings(class_space=cifar_10()))


def test_load_torchvision_reports_a_failed_download(monkeypatch):
    from torchvision.models._api import WeightsEnum

    def refuse(*_, **__):
        raise OSError("no network here\nat all")

    monkeypatch.setattr(WeightsEnum, "get_state_dict", refuse)
    with pytest.raises(InputError, match="torchvision:resnet18 cannot be loaded: OSError: no network here") as raised:
        load_model("torchvision:resnet18", Settings())
    assert "at all" not in str(raised.value)


def test_torchvision_parameters_are_those_of_the_weights(torchvision):
    places = ["resnet50:IMAGENET1K_V2", "resnet18", "resnet50:NO_SUCH", "no_such_model"]
    counts = torchvision_parameters(places)
    assert counts == {"resnet50:IMAGENET1K_V2": 25_557_032, "resnet18": 11_689_512}
    module = torchvision.models.get_model("resnet18", weights=None)
    assert sum(part.numel() for part in module.parameters()) == counts["resnet18"]
