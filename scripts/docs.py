"""Keep the docs true: write the parts that come from the code, or check that they are up to date.

Run `python scripts/docs.py` to check (as `make check` does) and `python scripts/docs.py --write` to refresh.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import typer

from regrade.cli.app import app

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PACKAGES = (
    "core",
    "classes",
    "stats",
    "metrics",
    "tables",
    "store",
    "testsets",
    "models",
    "executors",
    "neighbors",
    "predict",
    "ledger",
    "studies",
    "report",
    "workspace",
    "replicate",
    "demo",
)
README_LINES = 120
CLI_HEADING = """\
# The command line

Written by `scripts/docs.py` from the commands themselves. Every table prints for people; `--json`, `--csv`,
`--markdown` and `--latex` print it for programs and papers. Exit codes: 0 done, 1 expected trouble (one line on
standard error), 2 wrong usage, 3 an image could not be read or a test set is not sound, 130 stopped by Ctrl-C.
"""
NAMES = re.compile(r"(<!-- names -->\n).*?(<!-- /names -->)", re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")


def main(arguments: list[str]) -> int:
    """Refresh or check; the exit code is the number of complaints, at most 1."""
    write = "--write" in arguments
    complaints = [complaint for name in PACKAGES for complaint in package_page(name, write=write)]
    complaints += cli_page(write=write)
    complaints += [complaint for page in [ROOT / "README.md", *DOCS.rglob("*.md")] for complaint in links(page)]
    if (lines := (ROOT / "README.md").read_text().count("\n")) >= README_LINES:
        complaints.append(f"README.md has {lines} lines: it should stay under {README_LINES}")
    for complaint in complaints:
        print(complaint)
    print(f"docs: {len(complaints)} complaints")
    return min(len(complaints), 1)


def package_page(name: str, *, write: bool) -> list[str]:
    """Complaints about a package's page: it must exist and list every public name with its meaning."""
    page = DOCS / f"{name}.md"
    if not page.is_file():
        return [f"docs/{name}.md is missing: every package has a page"]
    module = importlib.import_module(f"regrade.{name}")
    listing = "\n".join(f"- `{public}`: {meaning(module, public)}" for public in public_names(module))
    return refreshed(page, NAMES.sub(lambda m: f"{m[1]}{listing}\n{m[2]}", page.read_text()), write=write)


def public_names(module: ModuleType) -> list[str]:
    """The names a module lists as public, or those it defines itself."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return [str(name) for name in listed]
    return [name for name, value in vars(module).items() if is_own(module, name, value)]


def is_own(module: ModuleType, name: str, value: object) -> bool:
    """Whether a module defines a public name itself."""
    return not name.startswith("_") and getattr(value, "__module__", "") == module.__name__


def meaning(module: ModuleType, name: str) -> str:
    """The first sentence of what is said about a public name."""
    value = getattr(module, name)
    described = inspect.isclass(value) or inspect.isroutine(value)
    text = inspect.getdoc(value) if described else constant_meaning(module, name)
    if not text or (described and text.startswith(f"{name}(")):
        raise SystemExit(f"{module.__name__}.{name} has no docstring")
    return " ".join(text.split("\n\n")[0].split())


def constant_meaning(module: ModuleType, name: str) -> str:
    """The string below a constant's definition, wherever in the package it is defined."""
    for source in Path(str(module.__file__)).parent.rglob("*.py"):
        found = re.search(rf'^{name}\b.*?^"""(.*?)"""', source.read_text(), re.DOTALL | re.MULTILINE)
        if found:
            return found[1]
        if re.search(rf"^{name} = ", source.read_text(), re.MULTILINE):
            return f"a constant of `{source.stem}`."
    return ""


def cli_page(*, write: bool) -> list[str]:
    """Complaints about the reference of the command line."""
    commands = "".join(described("regrade", typer.main.get_command(app)))
    return refreshed(DOCS / "cli.md", CLI_HEADING + commands, write=write)


def described(path: str, command: Any) -> list[str]:
    """The reference of a command and of all commands below it."""
    if hasattr(command, "commands"):
        return [part for name in command.commands for part in described(f"{path} {name}", command.commands[name])]
    help_text = "\n\n".join(" ".join(p.split()) for p in (command.help or "").split("\n\n"))
    rows = [f"| {spelled(parameter)} | {parameter_help(parameter)} |" for parameter in command.params]
    return [f"\n## `{path}`\n\n{help_text}\n\n| option | meaning |\n|---|---|\n", "\n".join(rows), "\n"]


def spelled(parameter: Any) -> str:
    """How a parameter is written."""
    if parameter.param_type_name == "argument":
        return f"`{(parameter.name or '').upper()}`"
    return ", ".join(f"`{option}`" for option in parameter.opts)


def parameter_help(parameter: Any) -> str:
    """What a parameter means."""
    text = str(getattr(parameter, "help", "") or "").replace("|", r"\|")
    return text + (" Required." if parameter.required else "")


def refreshed(page: Path, text: str, *, write: bool) -> list[str]:
    """Write a page if asked to; otherwise complain where it differs from what it should be."""
    if write:
        page.write_text(text)
    if page.is_file() and page.read_text() == text:
        return []
    return [f"{page.relative_to(ROOT)} is out of date: run python scripts/docs.py --write"]


def links(page: Path) -> list[str]:
    """Complaints about links to files that are not there."""
    targets = LINK.findall(page.read_text())
    missing = [target for target in targets if not (page.parent / target).exists()]
    return [f"{page.relative_to(ROOT)} links to {target}, which is not there" for target in missing]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
