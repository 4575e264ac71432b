"""A hash of the user's own code behind a model: its file, all it imports that is not installed, and files it names."""

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
    """The hash of a user's own code, empty where there is none; ``note`` says what of it cannot be hashed.

    Modules that it imports while it runs may be in its ``folder``.
    """

    hash: str = ""
    note: str = ""
    folder: Path | None = None


@dataclass(frozen=True)
class _Source:
    """A module by name: its file, None where it has none, and the module itself where it is loaded."""

    name: str
    path: Path | None
    module: ModuleType | None


def own_code(model: Any, modules: Iterable[ModuleType], name: str) -> OwnCode:
    """The code behind a user's function or object: the modules it comes from and all that they import, transitively.

    Its attribute ``files``, a path or several, names files that belong to it, such as weights. With an attribute
    ``weights_hash`` the user answers for all of it, and there is nothing to hash.
    """
    if getattr(model, "weights_hash", ""):
        return OwnCode()
    hashes, unknown = {}, []
    for source in _closure([_Source(module.__name__, _file(module), module) for module in modules]):
        content = _content(source)
        if content is None:
            unknown.append(source.name)
        else:
            hashes[source.name] = hashlib.sha256(content).hexdigest()
    hashes |= {f"file {path.name}": digest for path, digest in _stated_files(model, modules, name)}
    if not hashes:
        return OwnCode("", _note(unknown))
    lines = "".join(f"{key} {hashes[key]}\n" for key in sorted(hashes))
    return OwnCode(hashlib.sha256(lines.encode()).hexdigest(), _note(unknown))


def is_own(path: Path) -> bool:
    """Whether a file is the user's own: neither installed nor Python's or regrade's."""
    if _INSTALLED.intersection(path.parts) or any(path.is_relative_to(folder) for folder in _LIBRARY):
        return False
    return not path.is_relative_to(Path(__file__).parents[1])


def _closure(roots: Sequence[_Source]) -> list[_Source]:
    """The user's own modules among the roots and all that they import, sorted by name."""
    known: dict[str, _Source] = {}
    waiting = list(roots)
    while waiting:
        source = waiting.pop()
        own = source.path is None or is_own(source.path)
        if source.name not in known and own:
            known[source.name] = source
            waiting += _imports(source)
    return [known[name] for name in sorted(known)]


def _imports(source: _Source) -> Iterator[_Source]:
    """The modules that a module uses: those its source imports, wherever in it, and those its globals come from."""
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
    """The modules that a module's globals are, or come from."""
    for value in list(vars(module).values()) if module is not None else ():
        if isinstance(value, ModuleType):
            yield value.__name__
        elif isinstance(value, FunctionType | BuiltinFunctionType | type):
            yield str(value.__module__)
        else:
            yield str(type(value).__module__)


def _unloaded(name: str) -> Path | None:
    """The file of a module that is imported later, in a function for instance; None where there is no such module."""
    parent = name.rpartition(".")[0]
    if parent:
        paths = getattr(sys.modules.get(parent), "__path__", None)
        if paths is None:
            return None
        found = importlib.machinery.PathFinder.find_spec(name, paths)
    else:
        found = importlib.machinery.PathFinder.find_spec(name)
    return Path(found.origin) if found is not None and found.has_location and found.origin else None


def _file(module: ModuleType) -> Path | None:
    """The file of a module; None for a built-in one, a folder without a file, and code typed into a notebook."""
    file = getattr(module, "__file__", None)
    return Path(file) if isinstance(file, str) else None


def _content(source: _Source) -> bytes | None:
    """The content of a module's file, also one inside an archive; None where there is none."""
    if source.path is None:
        return None
    try:
        return source.path.read_bytes()
    except OSError:
        loader: Any = getattr(source.module, "__loader__", None)
        content = loader.get_data(str(source.path)) if hasattr(loader, "get_data") else None
        return content if isinstance(content, bytes) else None


def _stated_files(model: Any, modules: Iterable[ModuleType], name: str) -> Iterator[tuple[Path, str]]:
    """Files that a model names in its attribute ``files``, with their hashes; paths count from its own folder."""
    stated = getattr(model, "files", ())
    for file in (stated,) if isinstance(stated, str | Path) else stated:
        folders = [path.parent for module in modules if (path := _file(module)) is not None]
        path = next((folder / file for folder in (*folders, Path.cwd()) if (folder / file).is_file()), None)
        if path is None:
            raise InputError(f"{name}: its attribute files names {str(file)!r}, and there is no such file")
        with path.open("rb") as content:
            yield path, hashlib.file_digest(content, "sha256").hexdigest()


def _note(unknown: Sequence[str]) -> str:
    if not unknown:
        return ""
    return (
        f"the code of {', '.join(unknown)} is in no file, so that changes of it are not noticed: state an attribute "
        "weights_hash"
    )
