"""``transformers:ID``: the image classifiers of transformers, from the hub or a local folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from regrade.classes import imagenet_1k
from regrade.core import ClassSpace, CropMode, InputError, Interpolation, MismatchError, Preprocessing
from regrade.models.description import check_width, describe_model
from regrade.models.failures import loading, needs
from regrade.models.model import Model, Settings
from regrade.models.torch_runtime import TorchModel, logits_module, require_torch

_INTERPOLATIONS = {0: Interpolation.NEAREST, 2: Interpolation.BILINEAR, 3: Interpolation.BICUBIC}


def load_transformers(identifier: str, settings: Settings) -> Model:
    """Load an image classifier of transformers; its labels must match the class space, in the same order."""
    name = f"transformers:{identifier}"
    require_torch(name, "transformers")
    with needs("transformers", name):
        import transformers
        from transformers import AutoImageProcessor, AutoModelForImageClassification

    transformers.utils.logging.disable_progress_bar()
    local = Path(identifier).is_dir()
    with loading(f"{name} cannot be loaded"):
        module = AutoModelForImageClassification.from_pretrained(identifier, local_files_only=local)
        labels = [str(module.config.id2label[index]) for index in range(module.config.num_labels)]
    preprocessing = settings.preprocessing
    if preprocessing is None:
        with loading(f"{name} has no image processor that can be loaded: give --size"):
            processor = AutoImageProcessor.from_pretrained(identifier, local_files_only=local)
        preprocessing = processor_preprocessing(processor.to_dict(), name)
    description = describe_model(name, settings, class_space=_imagenet_if_named(labels), preprocessing=preprocessing)
    space = description.class_space
    check_width(name, len(labels), len(space), space.name)
    if (index := first_mismatched_label(labels, space)) is not None:
        raise MismatchError(
            f"{name} calls its class {index} {labels[index]!r}, in {space.name} it is "
            f"{space.ids[index]!r} ({space.names[index]}): give its own --classes"
        )
    return TorchModel(logits_module(module), description, settings)


def first_mismatched_label(labels: list[str], space: ClassSpace) -> int | None:
    """Index of the first class whose label does not match the class space; None if all match.

    A label matches if it is the class's id or display name, or if one of its comma-separated words is one of the
    class's lemmas. Case and underscores are ignored.
    """
    for index, label in enumerate(labels):
        label_names = {_normalize(word) for word in (label, *label.split(","))}
        class_names = {_normalize(word) for word in (space.ids[index], space.names[index], *space.lemmas[index])}
        if not label_names & class_names:
            return index
    return None


def processor_preprocessing(config: Mapping[str, Any], name: str) -> Preprocessing:
    """The preprocessing of an image processor's configuration; raises for a processor that does more."""
    kind = str(config.get("image_processor_type", "")).removesuffix("Fast").removesuffix("Pil")
    read_crop = _CROP_MODES.get(kind)
    unsupported = config.get("rescale_offset") or config.get("do_reduce_labels") or not config.get("do_resize", True)
    interpolation = _INTERPOLATIONS.get(int(config.get("resample") or 2))
    if read_crop is None or unsupported or interpolation is None or not config.get("do_rescale", True):
        raise InputError(f"{name} prepares images by a {kind} in a way that regrade does not support: give --size")
    crop_mode, short_side, size = read_crop(config)
    normal = bool(config.get("do_normalize", True))
    mean = tuple(config["image_mean"]) if normal else (0.0,) * 3
    std = tuple(config["image_std"]) if normal else (1.0,) * 3
    if config.get("include_top"):
        std = tuple(value * own for value, own in zip(std, config["image_std"], strict=True))  # it divides twice
    return Preprocessing(size, short_side, crop_mode, interpolation, mean, std)


def _standard_crop(config: Mapping[str, Any]) -> tuple[CropMode, int, int]:
    """Resize the shorter side or to a square, then crop the center if the processor does."""
    size = config["size"]
    shortest = size.get("shortest_edge")
    resized = shortest or _square(size)
    cropped = bool(config.get("do_center_crop", False))
    if shortest and not cropped:
        raise InputError("the image processor keeps the aspect ratio of images: give --size")
    side = _square(config["crop_size"]) if cropped else resized
    return (CropMode.RESIZE_THEN_CROP if shortest else CropMode.STRETCH), resized, side


def _convnext_crop(config: Mapping[str, Any]) -> tuple[CropMode, int, int]:
    """From size 384 on the whole image is resized; below, its central ``crop_pct`` is cropped."""
    side = config["size"]["shortest_edge"]
    if side >= 384:
        return CropMode.STRETCH, side, side
    return CropMode.RESIZE_THEN_CROP, int(side / config["crop_pct"]), side


_CROP_MODES: dict[str, Callable[[Mapping[str, Any]], tuple[CropMode, int, int]]] = {
    "BeitImageProcessor": _standard_crop,
    "BitImageProcessor": _standard_crop,
    "CLIPImageProcessor": _standard_crop,
    "ConvNextImageProcessor": _convnext_crop,
    "DeiTImageProcessor": _standard_crop,
    "EfficientNetImageProcessor": _standard_crop,
    "MobileNetV1ImageProcessor": _standard_crop,
    "MobileNetV2ImageProcessor": _standard_crop,
    "SiglipImageProcessor": _standard_crop,
    "ViTImageProcessor": _standard_crop,
}


def _square(size: Mapping[str, int]) -> int:
    if size["height"] != size["width"]:
        raise InputError("the image processor makes images that are not square: give --size")
    return size["height"]


def _imagenet_if_named(labels: list[str]) -> ClassSpace | None:
    space = imagenet_1k()
    return space if len(labels) == len(space) and first_mismatched_label(labels, space) is None else None


def _normalize(word: str) -> str:
    return word.strip().replace("_", " ").casefold()
