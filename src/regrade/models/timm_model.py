"""``timm:NAME``: the models of timm with their published weights, or those in a local folder."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from regrade.classes import imagenet_1k
from regrade.core import ClassSpace, Framing, InputError, Interpolation, Preprocessing, UnknownName
from regrade.models.description import statement
from regrade.models.failures import loading, needs
from regrade.models.model import Model, Settings
from regrade.models.score_checks import check_width
from regrade.models.torch_runtime import TorchModel

_FRAMINGS = {"center": Framing.RESIZE_THEN_CROP, "squash": Framing.STRETCH}


def load_timm(architecture: str, settings: Settings) -> Model:
    """A timm model with its weights: ``architecture.tag``, ``hf-hub:OWNER/NAME`` or ``local-dir:FOLDER``."""
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
    known = statement(
        name,
        settings,
        class_space=_class_space(module.num_classes) if registered else None,
        preprocessing=settings.preprocessing or timm_preprocessing(_data_config(module), name),
    )
    check_width(name, module.num_classes, len(known.class_space), known.class_space.name)
    return TorchModel(module, known, settings)


def timm_preprocessing(config: Mapping[str, Any], name: str) -> Preprocessing:
    """The recipe that timm's data configuration describes, as ``timm.data.create_transform`` reads it."""
    _, height, width = config["input_size"]
    framing = _FRAMINGS.get(config["crop_mode"] or "center")
    if height != width or framing is None:
        raise InputError(f"{name} frames images in a way that regrade does not know: give --size")
    try:
        interpolation = Interpolation(config["interpolation"])
    except ValueError:
        raise InputError(
            f"{name} resizes images by {config['interpolation']}, which regrade does not know: give --size"
        ) from None
    short_side = math.floor(height / config["crop_pct"])
    return Preprocessing(
        height, short_side, framing, interpolation, mean=tuple(config["mean"]), std=tuple(config["std"])
    )


def _data_config(module: Any) -> Mapping[str, Any]:
    """The configuration of timm's own validation: at the size for testing, where the model takes other sizes."""
    import timm

    free = not module.pretrained_cfg.get("fixed_input_size", False)
    return timm.data.resolve_data_config({}, model=module, use_test_size=free)


def _class_space(width: int) -> ClassSpace | None:
    """Models of 1,000 classes are documented as models of ImageNet-1k; of others timm names no order."""
    space = imagenet_1k()
    return space if width == len(space) else None
