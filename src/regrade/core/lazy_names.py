"""Public names of a large package that are imported when first asked for, so that commands start quickly (PEP 562)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module


def lazy_names(
    package: dict[str, object], homes: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """The ``__getattr__`` and ``__dir__`` of a package, given its globals and the names in each of its modules.

    The names of a module are separated by spaces. Type checkers need the same imports below ``TYPE_CHECKING``;
    ``tests/test_public_names.py`` compares them. A name must not be that of a module of the package.
    """
    home = {name: module for module, names in homes.items() for name in names.split()}

    def imported(name: str) -> object:
        if name not in home:
            raise AttributeError(f"module {package['__name__']!r} has no attribute {name!r}")
        value = package[name] = getattr(import_module(home[name]), name)
        return value

    return imported, lambda: sorted(home)
