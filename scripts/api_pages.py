"""The API reference as Markdown pages: every public name with its signature, its parameters and its docstring."""

from __future__ import annotations

import builtins
import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from regrade.store import Store
from regrade.workspace import Workspace

GROUPS = ("testsets", "models", "labels", "review", "study", "plan", "build", "train")
_WIDE = 100  # a longer signature has one line per parameter
_DEFAULT_REPR = re.compile(r"<(?:function|built-in function|bound method) ([\w.]+)[^>]*>|<(\w+\.\w+): [^>]*>")


def api_pages() -> dict[str, str]:
    """The text of every page by its name."""
    return {
        "index": _index(),
        "regrade": _module_page("regrade", "`regrade`: arrays, and the entry to a workspace", _TOP),
        "workspace": _workspace_page(),
        "stats": _module_page("regrade.stats", "`regrade.stats`: intervals and tests", _STATS),
        "metrics": _module_page("regrade.metrics", "`regrade.metrics`: numbers from arrays", _METRICS),
    }


_TOP = (
    "What `import regrade` offers. Arrays are lists, numpy, torch, pandas or Arrow objects ([examples](../python.md))."
)
_STATS = "Pure functions on arrays ([with worked examples](../stats.md)). Everything is imported from `regrade.stats`."
_METRICS = (
    "Pure functions on arrays ([with worked examples](../metrics.md)). Everything is imported from `regrade.metrics`."
)


def _index() -> str:
    rows = [
        "# Python reference\n",
        "| | |",
        "|---|---|",
        "| [`regrade`](regrade.md) | `grade`, `compare` and `report` on arrays; `open` and `init` for a workspace |",
        "| [`Workspace`](workspace.md) | everything that the command line does, by group |",
        "| [`regrade.stats`](stats.md) | intervals, tests, corrections, power, agreement |",
        "| [`regrade.metrics`](metrics.md) | top-k, multi-label, calibration, robustness, confusion scores |",
    ]
    return (
        "\n".join(rows)
        + "\n\nGenerated from the code: signatures, defaults and docstrings are those of this version.\n"
    )


def _module_page(module_name: str, title: str, introduction: str) -> str:
    module = importlib.import_module(module_name)
    names = [name for name in module.__all__ if not name.startswith("__")]
    documented = {name: getattr(module, name) for name in names}
    callables = {name: value for name, value in documented.items() if callable(value)}
    parts = [f"# {title}\n\n{introduction}\n", _contents(callables)]
    for name, value in callables.items():
        entry = _class_entry(name, value) if inspect.isclass(value) else _entry(name, value)
        parts.append(f"\n## `{name}`\n\n{entry}")
    return "\n".join(parts)


def _contents(values: dict[str, Any]) -> str:
    rows = [f"| [`{name}`](#{name.lower()}) | {_first_line(value)} |" for name, value in values.items()]
    return "\n".join(["| name | |", "|---|---|", *rows, ""])


def _workspace_page() -> str:
    own = [name for name in vars(Workspace) if not name.startswith("_") and callable(getattr(Workspace, name))]
    parts = ["# `Workspace`\n\n`ws = regrade.open(FOLDER)` or `regrade.init(FOLDER)` ([examples](../workspace.md)).\n"]
    parts += [f"\n### `ws.{name}`\n\n{_entry(name, getattr(Workspace, name))}" for name in own]
    for group, kind in _group_classes().items():
        parts.append(f"\n## `ws.{group}`\n\n{_docstring(kind)}\n")
        parts += [f"\n### `ws.{group}.{name}`\n\n{_entry(name, getattr(kind, name))}" for name in _public_methods(kind)]
    return "\n".join(parts)


def _group_classes() -> dict[str, type]:
    """The class of every group of a workspace, from a workspace without files."""
    workspace = Workspace(Store.__new__(Store))
    return {group: type(getattr(workspace, group)) for group in GROUPS}


def _public_methods(kind: type) -> Iterator[str]:
    for name, value in inspect.getmembers(kind, callable):
        if not name.startswith("_") and inspect.getdoc(value):
            yield name


def _entry(name: str, value: Any) -> str:
    return f"{_signature(name, value)}\n{_docstring(value)}\n{_parameters(value)}"


def _class_entry(name: str, kind: type) -> str:
    """A class: its constructor or fields, and its methods."""
    if issubclass(kind, Enum):
        members = "\n".join(f"- `{member.name}`: `{member.value!r}`" for member in kind)
        return f"{_docstring(kind)}\n\n{members}\n"
    if is_dataclass(kind):
        shown = "\n".join(f"{field.name}: {_type(field.type)}" for field in fields(kind))
        return f"```python\n{name}\n```\n\n{_docstring(kind)}\n\n```python\n{shown}\n```\n{_methods(kind)}"
    if name in {"Workspace", "RegradeError", "Estimate"}:
        link = "\n\nIts methods are on a [page of their own](workspace.md)." if name == "Workspace" else ""
        return _docstring(kind) + link + "\n"
    return f"{_signature(name, kind)}\n{_docstring(kind)}\n{_methods(kind)}"


def _methods(kind: type) -> str:
    own = [name for name, value in vars(kind).items() if inspect.isfunction(value) and not name.startswith("_")]
    documented = [name for name in own if inspect.getdoc(getattr(kind, name))]
    return "".join(f"\n**`.{name}`** {_first_line(getattr(kind, name))}\n" for name in documented)


def _signature(name: str, value: Callable[..., Any]) -> str:
    """The signature as a block of code, without the object itself."""
    try:
        signature = inspect.signature(value)
    except (ValueError, TypeError):
        return ""
    parameters = [text for text in map(_parameter, _own_parameters(signature)) if text]
    parameters = _with_separator(signature, parameters)
    returned = (
        "" if signature.return_annotation is inspect.Signature.empty else f" -> {_type(signature.return_annotation)}"
    )
    line = f"{name}({', '.join(parameters)}){returned}"
    if len(line) > _WIDE:
        line = f"{name}(\n" + "".join(f"    {parameter},\n" for parameter in parameters) + f"){returned}"
    return f"```python\n{line}\n```\n"


def _own_parameters(signature: inspect.Signature) -> list[inspect.Parameter]:
    return [parameter for parameter in signature.parameters.values() if parameter.name != "self"]


def _with_separator(signature: inspect.Signature, texts: list[str]) -> list[str]:
    """The parameters with a star before the first that is given by name only."""
    kinds = [parameter.kind for parameter in _own_parameters(signature)]
    if inspect.Parameter.KEYWORD_ONLY not in kinds or inspect.Parameter.VAR_POSITIONAL in kinds:
        return texts
    first = kinds.index(inspect.Parameter.KEYWORD_ONLY)
    return [*texts[:first], "*", *texts[first:]]


def _parameter(parameter: inspect.Parameter) -> str:
    star = (
        "*" if parameter.kind is parameter.VAR_POSITIONAL else "**" if parameter.kind is parameter.VAR_KEYWORD else ""
    )
    annotation = "" if parameter.annotation is parameter.empty else f": {_type(parameter.annotation)}"
    default = "" if parameter.default is parameter.empty else f" = {_default(parameter.default)}"
    return f"{star}{parameter.name}{annotation}{default}"


def _type(annotation: Any) -> str:
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    return text.strip("'\"")


def _default(value: Any) -> str:
    if value is builtins.iter:
        return "no progress"
    return _DEFAULT_REPR.sub(lambda match: match[1] or match[2], repr(value))


def _parameters(value: Any) -> str:
    """What the options of a study mean, as a table; other parameters are explained in the docstring."""
    study = getattr(value, "study", None)
    if study is None:
        return ""
    rows = [
        f"| `{name}` | {flag.help.replace('|', chr(92) + '|')} |" for name, flag in study.option_class.flags().items()
    ]
    return "\n".join(["\n| parameter | meaning |", "|---|---|", *rows, ""]) if rows else ""


def _first_line(value: Any) -> str:
    return " ".join((inspect.getdoc(value) or "").split("\n\n")[0].split()).replace("|", "\\|")


def _docstring(value: Any) -> str:
    """A docstring as Markdown: examples become blocks of code."""
    text = inspect.getdoc(value) or ""
    blocks = []
    for block in text.split("\n\n"):
        lines = inspect.cleandoc(block)
        blocks.append(f"```pycon\n{lines}\n```" if lines.startswith(">>>") else block)
    return "\n\n".join(blocks).replace("```\n\n```pycon\n", "") + "\n"
