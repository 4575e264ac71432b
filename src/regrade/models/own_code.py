"""Hash the user's own code of a model: its file, imported modules that are not installed, and files it names."""

from __future__ import annotations

import ast
import hashlib
import importlib.machinery
import importlib.util
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from regrade.core import InputError

_INSTALLED = frozenset({"site-packages", "dist-packages"})
_LIBRARY = tuple(Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib"))


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
