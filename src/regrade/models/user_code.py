"""Import a user's own function or object, named by its module or file."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from regrade.classes import class_space
from regrade.core import ClassSpace, InputError, UnknownName
from regrade.core.model_spec import Preprocessing
from regrade.models.failures import loading
from regrade.models.own_code import OwnCode, hash_own_code, is_own

_IMPORTED: dict[str, ModuleType] = {}  # the user's own modules imported so far


def user_object(place: str, *, prefix: str) -> Any:
    """The object that ``package.module:name`` or ``path/to/file.py:name`` names; failures are one-line errors.

    Modules are also searched in the working directory, after the installed ones.
    """
    source, colon, name = place.rpartition(":")
    if not colon or not source or not name:
        raise InputError(f"{prefix}:{place} should be {prefix}:package.module:name or {prefix}:path/to/file.py:name")
    module = _module_from_file(Path(source)) if source.endswith(".py") else _module(source)
    try:
        return getattr(module, name)
    except AttributeError:
        public = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
        raise UnknownName(f"function of {source}", name, public) from None


def call_user_function(function: Any, place: str, name: str) -> Any:
    """Call a user's function, named by ``place``, without arguments."""
    if not callable(function):
        raise InputError(f"{name} is a {type(function).__name__}, not a function")
    with importable_from(_folder(place)), loading(f"{name} raised"):
        return function()


@contextmanager
def importable_from(folder: Path | None) -> Iterator[None]:
    """While a user's code runs: modules in its folder can be imported, as when the code itself was imported."""
    if folder is None:
        yield
        return
    with _also_searched(folder), _recording_imports():
        yield


def _folder(place: str) -> Path:
    """The folder of modules that the code of a place may import: that of its file, or the working directory."""
    source = place.rpartition(":")[0]
    return Path(source).resolve().parent if source.endswith(".py") else Path.cwd()


def own_code_of(model: Any, place: str, name: str, *, parts: Iterable[Any] = ()) -> OwnCode:
    """Hash the user's own code of a function or object named by ``place``, and of the ``parts`` it creates."""
    source = place.rpartition(":")[0]
    file = Path(source) if source.endswith(".py") else None
    module_names = [_module_name(file) if file else source, *(_defined_in(part) for part in (model, *parts))]
    modules = [sys.modules[module] for module in dict.fromkeys(module_names) if module in sys.modules]
    with _also_searched(folder := _folder(place)):
        code = hash_own_code(model, [module for module in modules if _may_be_own(module)], name)
    return replace(code, folder=folder)


def _defined_in(value: Any) -> str:
    return str((value if isinstance(value, FunctionType | type) else type(value)).__module__)


def _may_be_own(module: ModuleType) -> bool:
    """Whether a module is the user's own; a module without a file is, unless it is built into Python."""
    file = getattr(module, "__file__", None)
    return is_own(Path(file)) if file else module.__name__ not in sys.builtin_module_names


def source_hash(model: Any) -> str:
    """Hash the source file of a user's function or object, to notice edits; empty if there is none."""
    try:
        file = inspect.getsourcefile(model if inspect.isroutine(model) else type(model))
    except TypeError:
        return ""
    return hashlib.sha256(Path(file).read_bytes()).hexdigest() if file and Path(file).is_file() else ""


def stated_class_space(model: Any, name: str) -> ClassSpace | None:
    """The attribute ``class_space`` of a user's function or object, a `ClassSpace` or its name; None if missing."""
    stated = getattr(model, "class_space", None)
    if isinstance(stated, str):
        return class_space(stated)
    if stated is None or isinstance(stated, ClassSpace):
        return stated
    raise InputError(f"{name}: its class_space is a {type(stated).__name__}, expected a ClassSpace or a name")


def stated_preprocessing(model: Any, name: str) -> Preprocessing | None:
    """The attribute ``preprocessing`` of a user's function or object; None if missing."""
    stated = getattr(model, "preprocessing", None)
    if stated is None or isinstance(stated, Preprocessing):
        return stated
    raise InputError(f"{name}: its preprocessing is a {type(stated).__name__}, expected a Preprocessing")


def _module(name: str) -> ModuleType:
    with _also_searched(Path.cwd()), loading(f"the module {name} cannot be imported"):
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
                raise InputError(
                    f"there is no module {name!r}, neither installed nor in {Path.cwd()}: "
                    "write path/to/file.py:name, or the module's full name"
                ) from error
            raise


def _module_from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise InputError(f"there is no file {path}")
    name = _module_name(path)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InputError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickle look there
    with _also_searched(path.resolve().parent), _fresh_imports(), loading(f"{path} cannot be imported"):
        spec.loader.exec_module(module)
    return module


def _module_name(path: Path) -> str:
    return f"regrade_user_code_{path.stem}"


@contextmanager
def _fresh_imports() -> Iterator[None]:
    """While a user's file is imported: it gets modules as they are on disk, not those that another file has imported.

    Those may be other modules of the same name, or may have been edited since.
    """
    for name, module in _IMPORTED.items():
        if sys.modules.get(name) is module:
            del sys.modules[name]
    _IMPORTED.clear()
    with _recording_imports():
        yield


@contextmanager
def _recording_imports() -> Iterator[None]:
    """Record which of the user's own modules are imported, so that the next file gets its own of the same name."""
    before = set(sys.modules)
    try:
        yield
    finally:
        for name in set(sys.modules) - before:
            file = getattr(sys.modules[name], "__file__", None)
            if file and file.endswith(".py") and is_own(Path(file)):
                _IMPORTED[name] = sys.modules[name]


@contextmanager
def _also_searched(folder: Path) -> Iterator[None]:
    """Search modules in a folder too, after the installed ones."""
    sys.path.append(str(folder))
    try:
        yield
    finally:
        with suppress(ValueError):  # the module has replaced the list
            sys.path.remove(str(folder))
