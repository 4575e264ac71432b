"""``torch:module:function``: a torch module that a user's function returns."""

from __future__ import annotations

from typing import Any

from regrade.core import InputError
from regrade.core.model_spec import Preprocessing
from regrade.models.description import describe_model
from regrade.models.model import Model, Settings
from regrade.models.score_checks import detect_score_kind
from regrade.models.torch_runtime import TorchModel, is_module, require_torch
from regrade.models.user_code import (
    call_user_function,
    own_code_of,
    stated_class_space,
    stated_preprocessing,
    user_object,
)


def load_torch(place: str, settings: Settings) -> Model:
    """Load the module that a user's function returns, alone or with its `Preprocessing`.

    The function's attribute ``class_space`` may state which classes the module predicts, and ``files`` which files
    belong to it.
    """
    name = f"torch:{place}"
    require_torch(name, "torch")
    function = user_object(place, prefix="torch")
    module, preprocessing = _module_and_preprocessing(call_user_function(function, place, name), name)
    description = describe_model(
        name,
        settings,
        class_space=stated_class_space(function, name),
        preprocessing=preprocessing or stated_preprocessing(function, name),
        code=own_code_of(function, place, name, parts=module.modules()),
    )
    model = TorchModel(module, description, settings)
    model.score_kind = detect_score_kind(model)
    return model


def _module_and_preprocessing(returned: Any, name: str) -> tuple[Any, Preprocessing | None]:
    module, preprocessing = returned if isinstance(returned, tuple) and len(returned) == 2 else (returned, None)
    if not is_module(module) or not (preprocessing is None or isinstance(preprocessing, Preprocessing)):
        raise InputError(
            f"{name} returned {_kind(returned)}, expected a torch.nn.Module or a pair of one and its Preprocessing"
        )
    return module, preprocessing


def _kind(returned: Any) -> str:
    if isinstance(returned, tuple):
        return f"({', '.join(type(part).__name__ for part in returned)})"
    return f"a {type(returned).__name__}"
