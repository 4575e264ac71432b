"""``transformers:ID``: the image classifiers of transformers, from its hub or a local folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from regrade.classes import imagenet_1k
from regrade.core import ClassSpace, Framing, InputError, Interpolation, MismatchError, Preprocessing
from regrade.models.description import statement
from regrade.models.failures import loading, needs
from regrade.models.model import Model, Settings
from regrade.models.score_checks import check_width
from regrade.models.torch_modules import logits_module
from regrade.models.torch_runtime import TorchModel, require_torch

_INTERPOLATIONS = {0: Interpolation.NEAREST, 2: Interpolation.BILINEAR, 3: Interpolation.BICUBIC}


def load_transformers(identifier: str, settings: Settings) -> Model:
    """An image classifier of transformers; its labels must be those of the class space, in the same order."""
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
    recipe = settings.preprocessing
    if recipe is None:
        with loading(f"{name} has no image processor that can be loaded: give --size"):
            processor = AutoImageProcessor.from_pretrained(identifier, local_files_only=local)
        recipe = processor_preprocessing(processor.to_dict(), name)
    known = statement(name, settings, class_space=_imagenet_if_named(labels), preprocessing=recipe)
    check_width(name, len(labels), len(known.class_space), known.class_space.name)
    if (index := first_other_label(labels, known.class_space)) is not None:
        raise MismatchError(
            f"{name} calls its class {index} {labels[index]!r}, in {known.class_space.name} it is "
            f"{known.class_space.ids[index]!r} ({known.class_space.names[index]}): give its own --classes"
        )
    return TorchModel(logits_module(module), known, settings)


def first_other_label(labels: list[str], space: ClassSpace) -> int | None:
    """The first class that a model calls by another name than the class space does; None where all agree.

    A label agrees when it is the class's id or display name, or when one of its words, separated by commas, is one
    of the class's. Case and underscores do not count.
    """
    for index, label in enumerate(labels):
        words = {_plain(word) for word in (label, *label.split(","))}
        known = {_plain(word) for word in (space.ids[index], space.names[index], *space.lemmas[index])}
        if not words & known:
            return index
    return None


def processor_preprocessing(config: Mapping[str, Any], name: str) -> Preprocessing:
    """The recipe that an image processor's configuration describes; a processor that does more is refused."""
    kind = str(config.get("image_processor_type", "")).removesuffix("Fast").removesuffix("Pil")
    framing_of = _FRAMINGS.get(kind)
    odd = config.get("rescale_offset") or config.get("do_reduce_labels") or not config.get("do_resize", True)
    interpolation = _INTERPOLATIONS.get(int(config.get("resample") or 2))
    if framing_of is None or odd or interpolation is None or not config.get("do_rescale", True):
        raise InputError(f"{name} prepares images by a {kind} in a way regrade does not know: give --size")
    framing, short_side, size = framing_of(config)
    normal = bool(config.get("do_normalize", True))
    mean = tuple(config["image_mean"]) if normal else (0.0,) * 3
    std = tuple(config["image_std"]) if normal else (1.0,) * 3
    if config.get("include_top"):
        std = tuple(value * own for value, own in zip(std, config["image_std"], strict=True))  # it divides once more
    return Preprocessing(size, short_side, framing, interpolation, mean, std)


def _plain_framing(config: Mapping[str, Any]) -> tuple[Framing, int, int]:
    """Resize to a shorter side or to a square, then crop the center if the processor does."""
    size = config["size"]
    shortest = size.get("shortest_edge")
    resized = shortest or _square(size)
    cropped = bool(config.get("do_center_crop", False))
    if shortest and not cropped:
        raise InputError("an image processor that keeps the shape of images: give --size")
    side = _square(config["crop_size"]) if cropped else resized
    return (Framing.RESIZE_THEN_CROP if shortest else Framing.STRETCH), resized, side


def _convnext_framing(config: Mapping[str, Any]) -> tuple[Framing, int, int]:
    """From 384 on the whole image is resized, below it a part of ``crop_pct`` is cropped."""
    side = config["size"]["shortest_edge"]
    if side >= 384:
        return Framing.STRETCH, side, side
    return Framing.RESIZE_THEN_CROP, int(side / config["crop_pct"]), side


_FRAMINGS: dict[str, Callable[[Mapping[str, Any]], tuple[Framing, int, int]]] = {
    "BeitImageProcessor": _plain_framing,
    "BitImageProcessor": _plain_framing,
    "CLIPImageProcessor": _plain_framing,
    "ConvNextImageProcessor": _convnext_framing,
    "DeiTImageProcessor": _plain_framing,
    "EfficientNetImageProcessor": _plain_framing,
    "MobileNetV1ImageProcessor": _plain_framing,
    "MobileNetV2ImageProcessor": _plain_framing,
    "SiglipImageProcessor": _plain_framing,
    "ViTImageProcessor": _plain_framing,
}


def _square(size: Mapping[str, int]) -> int:
    if size["height"] != size["width"]:
        raise InputError("an image processor whose images are not square: give --size")
    return size["height"]


def _imagenet_if_named(labels: list[str]) -> ClassSpace | None:
    space = imagenet_1k()
    return space if len(labels) == len(space) and first_other_label(labels, space) is None else None


def _plain(word: str) -> str:
    return word.strip().replace("_", " ").casefold()
