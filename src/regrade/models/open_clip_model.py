"""``open_clip:NAME/WEIGHTS``: image-text models that classify by similarity to sentences about each class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from regrade.core import ClassSpace, CropMode, InputError, Interpolation, Preprocessing, UnknownName
from regrade.models.description import describe_model
from regrade.models.failures import loading, needs
from regrade.models.model import Model, Settings
from regrade.models.torch_runtime import TorchModel, zero_shot_module

_CROP_MODES = {"shortest": CropMode.RESIZE_THEN_CROP, "squash": CropMode.STRETCH}
_SCHEMES = ("hf-hub:", "local-dir:")

TEMPLATES = (
    "a photo of a {}.",
    "a photograph showing a {}.",
    "a close view of a {}.",
    "a {} seen from far away.",
    "a blurry picture of a {}.",
    "a bright picture of a {}.",
    "a dark picture of a {}.",
    "a picture of many {}.",
    "a drawing of a {}.",
    "a {} in its usual surroundings.",
)
"""Prompt templates; a class is the mean of the embeddings of its prompts (Radford et al. 2021, section 3.1.4).

The wording is part of a model's weights: any change of it changes the predictions.
"""


def load_open_clip(place: str, settings: Settings) -> Model:
    """Load a zero-shot model for the classes of the settings; WEIGHTS is a tag of open_clip or a file.

    ``hf-hub:OWNER/NAME`` and ``local-dir:FOLDER`` name both model and weights. Scores are logits: cosine similarity
    times the model's own scale.
    """
    name = f"open_clip:{place}"
    with needs("clip", name):
        import open_clip

    architecture, weights = _parts(place, name)
    if weights and architecture not in open_clip.list_models():
        raise UnknownName("open_clip model", architecture, open_clip.list_models())
    if settings.class_space is None:
        raise InputError(f"{name} can predict any classes: name them with --classes")
    with loading(f"{name} cannot be loaded"):
        encoder = open_clip.create_model(architecture, pretrained=weights or None, require_pretrained=True).eval()
        tokenizer = open_clip.get_tokenizer(architecture)
        words = class_words(settings.class_space)
        embeddings = open_clip.build_zero_shot_classifier(encoder, tokenizer, words, TEMPLATES)
        config = open_clip.get_model_preprocess_cfg(encoder)
    preprocessing = settings.preprocessing or open_clip_preprocessing(config, name)
    description = describe_model(name, settings, preprocessing=preprocessing)
    return TorchModel(zero_shot_module(encoder, embeddings), description, settings)


def open_clip_preprocessing(config: Mapping[str, Any], name: str) -> Preprocessing:
    """The preprocessing of an open_clip configuration, as its ``image_transform`` reads it."""
    size = config["size"]
    height, width = (size, size) if isinstance(size, int) else size
    crop_mode = _CROP_MODES.get(config.get("resize_mode", "shortest"))
    if height != width or crop_mode is None:
        raise InputError(f"{name} crops images in a way that regrade does not support: give --size")
    bilinear = config.get("interpolation") == "bilinear"
    interpolation = Interpolation.BILINEAR if bilinear else Interpolation.BICUBIC
    return Preprocessing(height, height, crop_mode, interpolation, tuple(config["mean"]), tuple(config["std"]))


def class_words(space: ClassSpace) -> tuple[str, ...]:
    """One readable name per class: its display name or, if that is the id, its first lemma."""
    words = (
        lemmas[0] if name == class_id else name
        for class_id, name, lemmas in zip(space.ids, space.names, space.lemmas, strict=True)
    )
    return tuple(word.replace("_", " ") for word in words)


def _parts(place: str, name: str) -> tuple[str, str]:
    if place.startswith(_SCHEMES):
        return place, ""
    architecture, slash, weights = place.partition("/")
    if not slash or not weights:
        raise InputError(f"{name} names no weights: write open_clip:NAME/WEIGHTS, such as open_clip:ViT-B-32/openai")
    return architecture, weights
