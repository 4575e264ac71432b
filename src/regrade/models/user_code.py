"""A user's own function or object, named by its module or file."""

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
from regrade.core.preprocessing import Preprocessing
from regrade.models.failures import loading
from regrade.models.own_code import OwnCode, is_own, own_code

_BROUGHT: dict[str, ModuleType] = {}  # the user's own modules that files have imported


def user_object(place: str, *, prefix: str) -> Any:
    """What ``package.module:name`` or ``path/to/file.py:name`` names; every failure is one line with the name.

    Modules are found in the working folder too, after all that is installed.
    """
    source, colon, name = place.rpartition(":")
    if not colon or not source or not name:
        raise InputError(f"{prefix}:{place} should be {prefix}:package.module:name or {prefix}:path/to/file.py:name")
    module = _module_from_file(Path(source)) if source.endswith(".py") else _module(source)
    try:
        return getattr(module, name)
    except AttributeError:
        public = [known for known, value in vars(module).items() if callable(value) and not known.startswith("_")]
        raise UnknownName(f"function of {source}", name, public) from None


def called(function: Any, place: str, name: str) -> Any:
    """What a user's function without arguments, which ``place`` names, returns."""
    if not callable(function):
        raise InputError(f"{name} is a {type(function).__name__}, not a function")
    with modules_found(_folder(place)), loading(f"{name} raised"):
        return function()


@contextmanager
def modules_found(folder: Path | None) -> Iterator[None]:
    """While a user's code runs: the modules in its folder can be imported, as they can while it is imported itself."""
    if folder is None:
        yield
        return
    with _also_found(folder), _noting_imports():
        yield


def _folder(place: str) -> Path:
    """Where the modules are that the code of a place may import: beside its file, or in the working folder."""
    source = place.rpartition(":")[0]
    return Path(source).resolve().parent if source.endswith(".py") else Path.cwd()


def code_behind(model: Any, place: str, name: str, *, parts: Iterable[Any] = ()) -> OwnCode:
    """The user's own code behind a function or object that ``place`` names, and behind ``parts`` of what it makes."""
    source = place.rpartition(":")[0]
    file = Path(source) if source.endswith(".py") else None
    named = [_module_name(file) if file else source, *(_defined_in(each) for each in (model, *parts))]
    modules = [sys.modules[each] for each in dict.fromkeys(named) if each in sys.modules]
    with _also_found(folder := _folder(place)):
        code = own_code(model, [module for module in modules if _may_be_own(module)], name)
    return replace(code, folder=folder)


def _defined_in(thing: Any) -> str:
    return str((thing if isinstance(thing, FunctionType | type) else type(thing)).__module__)


def _may_be_own(module: ModuleType) -> bool:
    """Whether a module is the user's own; one without a file is, unless it is part of Python."""
    file = getattr(module, "__file__", None)
    return is_own(Path(file)) if file else module.__name__ not in sys.builtin_module_names


def source_hash(thing: Any) -> str:
    """A hash of the file that a user's function or object comes from, so that edited code is noticed; empty without."""
    try:
        file = inspect.getsourcefile(thing if inspect.isroutine(thing) else type(thing))
    except TypeError:
        return ""
    return hashlib.sha256(Path(file).read_bytes()).hexdigest() if file and Path(file).is_file() else ""


def stated_class_space(thing: Any, name: str) -> ClassSpace | None:
    """The attribute ``class_space`` of a user's function or object, itself or a built-in one's name; None without."""
    stated = getattr(thing, "class_space", None)
    if isinstance(stated, str):
        return class_space(stated)
    if stated is None or isinstance(stated, ClassSpace):
        return stated
    raise InputError(f"{name}: its class_space is a {type(stated).__name__}, expected a ClassSpace or a name")


def stated_preprocessing(thing: Any, name: str) -> Preprocessing | None:
    """The attribute ``preprocessing`` of a user's function or object; None without."""
    stated = getattr(thing, "preprocessing", None)
    if stated is None or isinstance(stated, Preprocessing):
        return stated
    raise InputError(f"{name}: its preprocessing is a {type(stated).__name__}, expected a Preprocessing")


def _module(name: str) -> ModuleType:
    with _also_found(Path.cwd()), loading(f"the module {name} cannot be imported"):
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
                raise InputError(
                    f"there is no module {name!r}, neither installed nor in {Path.cwd()}: "
                    "give path/to/file.py:name, or the module as Python imports it"
                ) from error
            raise


def _module_from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise InputError(f"there is no file {path}")
    name = _module_name(path)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InputError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickle look there
    with _also_found(path.resolve().parent), _imports_of_its_own(), loading(f"{path} cannot be imported"):
        spec.loader.exec_module(module)
    return module


def _module_name(path: Path) -> str:
    return f"regrade_user_code_{path.stem}"


@contextmanager
def _imports_of_its_own() -> Iterator[None]:
    """While a user's file is imported: it gets modules as they are on disk, not those that another file has brought.

    Those may be of the same name beside the other file, or have been edited since.
    """
    for name, module in _BROUGHT.items():
        if sys.modules.get(name) is module:
            del sys.modules[name]
    _BROUGHT.clear()
    with _noting_imports():
        yield


@contextmanager
def _noting_imports() -> Iterator[None]:
    """Note which of the user's own modules are imported, for the next file to get its own of the same name."""
    before = set(sys.modules)
    try:
        yield
    finally:
        for name in set(sys.modules) - before:
            file = getattr(sys.modules[name], "__file__", None)
            if file and file.endswith(".py") and is_own(Path(file)):
                _BROUGHT[name] = sys.modules[name]


@contextmanager
def _also_found(folder: Path) -> Iterator[None]:
    """Modules in a folder are found too, after all that is installed."""
    sys.path.append(str(folder))
    try:
        yield
    finally:
        with suppress(ValueError):  # the module has put another list there
            sys.path.remove(str(folder))
