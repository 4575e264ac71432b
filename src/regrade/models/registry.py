"""Models by name: a prefix says which adapter loads the rest."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from typing import TypeAlias

from regrade.core import InputError, UnknownName
from regrade.models.failures import loading
from regrade.models.lite_model import load_lite
from regrade.models.model import Model, Settings
from regrade.models.onnx_model import load_onnx
from regrade.models.open_clip_model import load_open_clip
from regrade.models.python_model import load_python
from regrade.models.timm_model import load_timm
from regrade.models.torch_model import load_torch
from regrade.models.torchvision_model import load_torchvision
from regrade.models.transformers_model import load_transformers

ENTRY_POINTS = "regrade.models"
"""The entry-point group in which third parties offer adapters: the prefix, and a callable (rest, settings) -> Model."""

Adapter: TypeAlias = Callable[[str, Settings], Model]

_BUILT_IN: dict[str, Adapter] = {
    "lite": load_lite,
    "onnx": load_onnx,
    "open_clip": load_open_clip,
    "python": load_python,
    "timm": load_timm,
    "torch": load_torch,
    "torchvision": load_torchvision,
    "transformers": load_transformers,
}


def prefixes() -> tuple[str, ...]:
    """All prefixes a model's name may have, third parties' included, sorted."""
    return tuple(sorted({*_BUILT_IN, *_offered()}))


def load_model(name: str, settings: Settings) -> Model:
    """The model of a name ``prefix:rest``, loaded and ready; anything that is wrong with it raises `RegradeError`."""
    prefix, colon, rest = name.partition(":")
    if not colon or not rest:
        raise InputError(f"{name!r} is no model: give PREFIX:NAME, where the prefix is one of {', '.join(prefixes())}")
    adapter = _adapter(prefix)
    with loading(f"{name} cannot be loaded"):
        model = adapter(rest, settings)
        if not isinstance(model, Model):
            raise InputError(f"the adapter of {prefix!r} returned a {type(model).__name__} for {name}, not a Model")
        _ = model.card  # an adapter of a third party may have left a field out
    return model


def _adapter(prefix: str) -> Adapter:
    if prefix in _BUILT_IN:
        return _BUILT_IN[prefix]
    offered = _offered()
    if prefix not in offered:
        raise UnknownName("model prefix", prefix, prefixes())
    with loading(f"the adapter of {prefix!r} ({offered[prefix].value}) cannot be loaded"):
        adapter: Adapter = offered[prefix].load()
    return adapter


def _offered() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=ENTRY_POINTS)}
