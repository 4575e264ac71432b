"""Models by name: the prefix of a name selects the adapter that loads the model."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from typing import TypeAlias

from regrade.core import InputError, UnknownName
from regrade.models.devices import gpu_names
from regrade.models.failures import loading
from regrade.models.head_model import load_head
from regrade.models.lite_model import load_lite
from regrade.models.model import Device, Model, Settings
from regrade.models.onnx_model import load_onnx, onnxruntime_uses_gpu
from regrade.models.open_clip_model import load_open_clip
from regrade.models.timm_model import load_timm
from regrade.models.torch_runtime import torch_uses_gpu
from regrade.models.torchvision_model import load_torchvision
from regrade.models.trained_model import load_trained
from regrade.models.transformers_model import load_transformers
from regrade.models.user_model import load_python, load_torch

ENTRY_POINTS = "regrade.models"
"""The entry-point group for third-party adapters: the prefix, and a callable (rest, settings) -> Model."""

Adapter: TypeAlias = Callable[[str, Settings], Model]


def _load_head(place: str, settings: Settings) -> Model:
    return load_head(place, settings, load_model)


_BUILT_IN: dict[str, Adapter] = {
    "head": _load_head,
    "lite": load_lite,
    "onnx": load_onnx,
    "open_clip": load_open_clip,
    "python": load_python,
    "timm": load_timm,
    "torch": load_torch,
    "torchvision": load_torchvision,
    "trained": load_trained,
    "transformers": load_transformers,
}


def prefixes() -> tuple[str, ...]:
    """All prefixes of model names, including those of third parties, sorted."""
    return tuple(sorted({*_BUILT_IN, *_third_party()}))


def load_model(name: str, settings: Settings) -> Model:
    """Load the model of a name ``prefix:rest``; any problem with it raises `RegradeError`."""
    prefix, colon, rest = name.partition(":")
    if not colon or not rest:
        raise InputError(
            f"{name!r} is not a model name: write PREFIX:NAME, where the prefix is one of {', '.join(prefixes())}"
        )
    adapter = _adapter(prefix)
    with loading(f"{name} cannot be loaded"):
        model = adapter(rest, settings)
        if not isinstance(model, Model):
            raise InputError(f"the adapter of {prefix!r} returned a {type(model).__name__} for {name}, not a Model")
        _ = model.metadata  # raises if a third-party adapter has left out a field
    return model


def default_device(model: str) -> Device:
    """The GPU if there is one that the runtime of a model (``PREFIX:NAME``) can use, otherwise the CPU."""
    uses_gpu = onnxruntime_uses_gpu if model.startswith("onnx:") else torch_uses_gpu
    return Device.CUDA if gpu_names() and uses_gpu() else Device.CPU


def _adapter(prefix: str) -> Adapter:
    if prefix in _BUILT_IN:
        return _BUILT_IN[prefix]
    third_party = _third_party()
    if prefix not in third_party:
        raise UnknownName("model prefix", prefix, prefixes())
    with loading(f"the adapter of {prefix!r} ({third_party[prefix].value}) cannot be loaded"):
        adapter: Adapter = third_party[prefix].load()
    return adapter


def _third_party() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=ENTRY_POINTS)}
