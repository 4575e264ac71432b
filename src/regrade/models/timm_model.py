"""``timm:NAME``: the models of timm with their published weights, or those in a local folder."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from regrade.classes import imagenet_1k
from regrade.core import ClassSpace, CropMode, InputError, Interpolation, Preprocessing, UnknownName
from regrade.models.description import check_width, describe_model
from regrade.models.failures import loading, needs
from regrade.models.model import Model, Settings
from regrade.models.torch_runtime import TorchModel

_CROP_MODES = {"center": CropMode.RESIZE_THEN_CROP, "squash": CropMode.STRETCH}


def load_timm(architecture: str, settings: Settings) -> Model:
    """Load a timm model with its weights: ``architecture.tag``, ``hf-hub:OWNER/NAME`` or ``local-dir:FOLDER``."""
    name = f"timm:{architecture}"
    with needs("timm", name):
        import timm

    registered = ":" not in architecture
    if registered and not timm.is_model(architecture):
        raise UnknownName("timm model", architecture, timm.list_models())
    with loading(f"{name} cannot be loaded"):
        module = timm.create_model(architecture, pretrained=True)
    if not module.num_classes:
        raise InputError(f"{name} has no classifier: choose weights that were trained on classes")
    description = describe_model(
        name,
        settings,
        class_space=_class_space(module.num_classes) if registered else None,
        preprocessing=settings.preprocessing or timm_preprocessing(_data_config(module), name),
    )
    check_width(name, module.num_classes, len(description.class_space), description.class_space.name)
    return TorchModel(module, description, settings)


def untrained_timm(name: str, channels: int, classes: int) -> Any:
    """A timm model without weights."""
    with needs("timm", f"timm:{name}"):
        import timm

    if not timm.is_model(name):
        raise UnknownName("timm model", name, timm.list_models())
    return timm.create_model(name, pretrained=False, num_classes=classes, in_chans=channels)


def timm_preprocessing(config: Mapping[str, Any], name: str) -> Preprocessing:
    """The preprocessing of timm's data configuration, as ``timm.data.create_transform`` reads it."""
    _, height, width = config["input_size"]
    crop_mode = _CROP_MODES.get(config["crop_mode"] or "center")
    if height != width or crop_mode is None:
        raise InputError(f"{name} crops images in a way that regrade does not support: give --size")
    try:
        interpolation = Interpolation(config["interpolation"])
    except ValueError:
        raise InputError(
            f"{name} resizes images by {config['interpolation']}, which regrade does not support: give --size"
        ) from None
    short_side = math.floor(height / config["crop_pct"])
    return Preprocessing(
        height, short_side, crop_mode, interpolation, mean=tuple(config["mean"]), std=tuple(config["std"])
    )


def _data_config(module: Any) -> Mapping[str, Any]:
    """The configuration of timm's own validation: the test size, unless the input size of the model is fixed."""
    import timm

    free = not module.pretrained_cfg.get("fixed_input_size", False)
    return timm.data.resolve_data_config({}, model=module, use_test_size=free)


def _class_space(width: int) -> ClassSpace | None:
    """ImageNet-1k for models of 1,000 classes, as timm documents them; for others timm states no class order."""
    space = imagenet_1k()
    return space if width == len(space) else None
