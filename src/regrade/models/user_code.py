"""A user's own function or object: imported by its module or file, and its code hashed."""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.machinery
import importlib.util
import inspect
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from regrade.classes import class_space
from regrade.core import ClassSpace, InputError, UnknownName
from regrade.core.model_spec import Preprocessing
from regrade.models.failures import loading

_IMPORTED: dict[str, ModuleType] = {}  # the user's own modules imported so far
_INSTALLED = frozenset({"site-packages", "dist-packages"})
_LIBRARY = tuple(Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib"))


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


@dataclass(frozen=True)
class OwnCode:
    """The hash of a user's own code, empty if there is none; ``note`` names the modules that cannot be hashed.

    Modules that it imports at run time may be in its ``folder``.
    """

    hash: str = ""
    note: str = ""
    folder: Path | None = None


@dataclass(frozen=True)
class _Source:
    """A module's name, its file (None if it has none), and the module itself if it is loaded."""

    name: str
    path: Path | None
    module: ModuleType | None


def hash_own_code(model: Any, modules: Iterable[ModuleType], name: str) -> OwnCode:
    """Hash the code of a user's function or object: its ``modules`` and the modules they import, transitively.

    Its attribute ``files``, a path or several, names files that belong to it, such as weights. An object with an
    attribute ``weights_hash`` is not hashed: the user states its version.
    """
    if getattr(model, "weights_hash", ""):
        return OwnCode()
    hashes, unhashed = {}, []
    for source in _closure([_Source(module.__name__, _file(module), module) for module in modules]):
        content = _content(source)
        if content is None:
            unhashed.append(source.name)
        else:
            hashes[source.name] = hashlib.sha256(content).hexdigest()
    hashes |= {f"file {path.name}": digest for path, digest in _stated_files(model, modules, name)}
    if not hashes:
        return OwnCode("", _note(unhashed))
    lines = "".join(f"{key} {hashes[key]}\n" for key in sorted(hashes))
    return OwnCode(hashlib.sha256(lines.encode()).hexdigest(), _note(unhashed))


def is_own(path: Path) -> bool:
    """Whether a file is the user's own: not installed, not part of Python, not part of regrade."""
    if _INSTALLED.intersection(path.parts) or any(path.is_relative_to(folder) for folder in _LIBRARY):
        return False
    return not path.is_relative_to(Path(__file__).parents[1])


def _closure(roots: Sequence[_Source]) -> list[_Source]:
    """The user's own modules among the roots and all modules they import, sorted by name."""
    sources: dict[str, _Source] = {}
    waiting = list(roots)
    while waiting:
        source = waiting.pop()
        own = source.path is None or is_own(source.path)
        if source.name not in sources and own:
            sources[source.name] = source
            waiting += _imports(source)
    return [sources[name] for name in sorted(sources)]


def _imports(source: _Source) -> Iterator[_Source]:
    """The modules that a module uses: those imported anywhere in its source, and those that define its globals."""
    names = dict.fromkeys([*_imported_names(source), *_names_of_globals(source.module)])
    for name in names:
        module = sys.modules.get(name)
        if module is not None and (path := _file(module)) is not None:
            yield _Source(name, path, module)
        elif module is None and (path := _unloaded(name)) is not None:
            yield _Source(name, path, None)


def _imported_names(source: _Source) -> Iterator[str]:
    content = _content(source)
    if content is None or source.path is None or source.path.suffix != ".py":
        return
    package = source.name if source.path.name == "__init__.py" else source.name.rpartition(".")[0]
    for node in ast.walk(ast.parse(content)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _with_parents(alias.name)
        elif isinstance(node, ast.ImportFrom) and (package or not node.level):
            relative = "." * node.level + (node.module or "")
            base = importlib.util.resolve_name(relative, package) if node.level else relative
            yield from _with_parents(base)
            yield from (f"{base}.{alias.name}" for alias in node.names)


def _with_parents(name: str) -> Iterator[str]:
    parts = name.split(".")
    return (".".join(parts[: count + 1]) for count in range(len(parts)))


def _names_of_globals(module: ModuleType | None) -> Iterator[str]:
    """Names of the modules that a module's globals are, or are defined in."""
    for value in list(vars(module).values()) if module is not None else ():
        if isinstance(value, ModuleType):
            yield value.__name__
        elif isinstance(value, FunctionType | BuiltinFunctionType | type):
            yield str(value.__module__)
        else:
            yield str(type(value).__module__)


def _unloaded(name: str) -> Path | None:
    """The file of a module that is not loaded yet, e.g. one imported in a function; None if there is no such module."""
    parent = name.rpartition(".")[0]
    if parent:
        paths = getattr(sys.modules.get(parent), "__path__", None)
        if paths is None:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, paths)
    else:
        spec = importlib.machinery.PathFinder.find_spec(name)
    return Path(spec.origin) if spec is not None and spec.has_location and spec.origin else None


def _file(module: ModuleType) -> Path | None:
    """The file of a module; None for a built-in module, a namespace package, and code typed into a notebook."""
    file = getattr(module, "__file__", None)
    return Path(file) if isinstance(file, str) else None


def _content(source: _Source) -> bytes | None:
    """The content of a module's file, which may be inside an archive; None if there is none."""
    if source.path is None:
        return None
    try:
        return source.path.read_bytes()
    except OSError:
        loader: Any = getattr(source.module, "__loader__", None)
        content = loader.get_data(str(source.path)) if hasattr(loader, "get_data") else None
        return content if isinstance(content, bytes) else None


def _stated_files(model: Any, modules: Iterable[ModuleType], name: str) -> Iterator[tuple[Path, str]]:
    """Files named in a model's attribute ``files``, with their hashes; paths are relative to the module's folder."""
    stated = getattr(model, "files", ())
    for file in (stated,) if isinstance(stated, str | Path) else stated:
        folders = [path.parent for module in modules if (path := _file(module)) is not None]
        path = next((folder / file for folder in (*folders, Path.cwd()) if (folder / file).is_file()), None)
        if path is None:
            raise InputError(f"{name}: its attribute files names {str(file)!r}, which does not exist")
        with path.open("rb") as content:
            yield path, hashlib.file_digest(content, "sha256").hexdigest()


def _note(unhashed: Sequence[str]) -> str:
    if not unhashed:
        return ""
    return (
        f"the code of {', '.join(unhashed)} is not in a file, so changes to it are not noticed: set an attribute "
        "weights_hash"
    )
