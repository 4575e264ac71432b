"""``torchvision:NAME`` or ``torchvision:NAME:WEIGHTS``: the classifiers of torchvision with their weights."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from regrade.classes import imagenet_1k
from regrade.core import CropMode, InputError, Interpolation, Preprocessing, UnknownName
from regrade.models.description import describe_model
from regrade.models.failures import loading, needs
from regrade.models.model import Model, Settings
from regrade.models.torch_runtime import TorchModel


def load_torchvision(place: str, settings: Settings) -> Model:
    """Load a torchvision classifier; without WEIGHTS, with torchvision's default weights."""
    name = f"torchvision:{place}"
    with needs("timm", name):
        import torchvision

    architecture, _, tag = place.partition(":")
    architectures = torchvision.models.list_models(module=torchvision.models)
    if architecture not in architectures:
        raise UnknownName("torchvision classifier", architecture, architectures)
    weights = _weights(torchvision.models.get_model_weights(architecture), tag or "DEFAULT", architecture)
    description = describe_model(
        name,
        settings,
        class_space=imagenet_1k() if "ImageNet-1K" in weights.meta.get("_metrics", {}) else None,
        preprocessing=settings.preprocessing or torchvision_preprocessing(weights.transforms(), name),
    )
    with loading(f"{name} cannot be loaded"):
        module = torchvision.models.get_model(architecture, weights=weights)
    return TorchModel(module, description, settings)


def torchvision_preprocessing(transforms: Any, name: str) -> Preprocessing:
    """The preprocessing of the ``transforms()`` of torchvision's weights."""
    try:
        (size,), (short_side,) = transforms.crop_size, transforms.resize_size
        interpolation = Interpolation(transforms.interpolation.value)
        mean, std = tuple(transforms.mean), tuple(transforms.std)
    except (AttributeError, ValueError):
        raise InputError(f"{name} crops images in a way that regrade does not support: give --size") from None
    return Preprocessing(size, short_side, CropMode.RESIZE_THEN_CROP, interpolation, mean, std)


def _weights(offered: Any, tag: str, architecture: str) -> Any:
    tags = [*offered.__members__]
    if tag not in tags:
        raise UnknownName(f"weights of {architecture}", tag, tags)
    return offered[tag]


def torchvision_parameters(places: Sequence[str]) -> dict[str, int]:
    """The number of parameters that torchvision publishes, by ``ARCHITECTURE`` or ``ARCHITECTURE:WEIGHTS``.

    Places that torchvision does not have are left out.
    """
    with needs("timm", "torchvision"):
        import torchvision

    counts = {}
    for place in places:
        architecture, _, tag = place.partition(":")
        with suppress(UnknownName, ValueError):
            weights = _weights(torchvision.models.get_model_weights(architecture), tag or "DEFAULT", architecture)
            counts[place] = int(weights.meta["num_params"])
    return counts


def untrained_torchvision(name: str, channels: int, classes: int) -> Any:
    """A torchvision classifier without weights."""
    with needs("timm", f"torchvision:{name}"):
        import torchvision

    names = torchvision.models.list_models(module=torchvision.models)
    if name not in names:
        raise UnknownName("torchvision classifier", name, names)
    if channels != 3:
        raise InputError(f"torchvision:{name} takes color images, and these are gray: give --channels 3")
    return torchvision.models.get_model(name, weights=None, num_classes=classes)
