"""``torch:module:function``: a torch module that a user's function returns."""

from __future__ import annotations

from typing import Any

from regrade.core import InputError
from regrade.core.preprocessing import Preprocessing
from regrade.models.description import statement
from regrade.models.model import Model, Settings
from regrade.models.score_checks import proven_score_kind
from regrade.models.torch_runtime import TorchModel, is_module, require_torch
from regrade.models.user_code import called, code_behind, stated_class_space, stated_preprocessing, user_object


def load_torch(place: str, settings: Settings) -> Model:
    """The model of a function that returns a module, or a module and its `Preprocessing`.

    The function may say which classes the module predicts in an attribute ``class_space``, and which files belong to it
    in ``files``.
    """
    name = f"torch:{place}"
    require_torch(name, "torch")
    function = user_object(place, prefix="torch")
    module, preprocessing = _module_and_recipe(called(function, place, name), name)
    known = statement(
        name,
        settings,
        class_space=stated_class_space(function, name),
        preprocessing=preprocessing or stated_preprocessing(function, name),
        code=code_behind(function, place, name, parts=module.modules()),
    )
    model = TorchModel(module, known, settings)
    model.score_kind = proven_score_kind(model)
    return model


def _module_and_recipe(returned: Any, name: str) -> tuple[Any, Preprocessing | None]:
    module, recipe = returned if isinstance(returned, tuple) and len(returned) == 2 else (returned, None)
    if not is_module(module) or not (recipe is None or isinstance(recipe, Preprocessing)):
        raise InputError(
            f"{name} returned {_kind(returned)}, expected a torch.nn.Module or a pair of one and its Preprocessing"
        )
    return module, recipe


def _kind(thing: Any) -> str:
    if isinstance(thing, tuple):
        return f"({', '.join(type(part).__name__ for part in thing)})"
    return f"a {type(thing).__name__}"
