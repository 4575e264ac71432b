"""Run the commands of the tutorials and of the gallery on the workspace of the demo, and compare what they print.

    python scripts/run_docs.py --workspace regrade-demo [--write]

With --write, the outputs in the pages, the figures of the gallery and the notebooks are replaced. A block of output
that ends with a line of three dots shows the beginning only, or nothing; the command must still succeed.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import nbformat
from nbclient import NotebookClient

from regrade.cli import main as regrade_main

DOCS = Path(__file__).resolve().parent.parent / "docs"
GALLERY = DOCS / "gallery.md"
PAGES = (*sorted((DOCS / "tutorials").glob("*.md")), GALLERY)
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))
_SHOWN_KINDS = {"text/plain", "text/html", "image/svg+xml"}
DEMO = "regrade-demo"
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)


@dataclass(frozen=True)
class Shown:
    """A command of a page, and the output that the page shows."""

    command: str
    output: str

    @property
    def is_shortened(self) -> bool:
        """Whether the page shows only the beginning of the output."""
        return self.output.endswith("...\n")

    def agrees(self, printed: str) -> bool:
        """Whether the output of the page is what was printed; widths of columns and the ends of lines do not count."""
        expected, actual = self.output.removesuffix("...\n").split(), printed.split()
        return expected == (actual[: len(expected)] if self.is_shortened else actual)


def commands_of(text: str) -> Iterator[Shown]:
    """The commands in the console blocks of a page."""
    for block in _BLOCK.finditer(text):
        for command in _COMMAND.finditer(block[1]):
            yield Shown(command[1], command[2])


def run_command(command: str) -> str:
    """What a command prints on standard output; it must succeed."""
    argv, printed, messages = shlex.split(command), io.StringIO(), io.StringIO()
    with mock.patch.object(sys, "argv", argv), mock.patch.object(sys.modules["__main__"], "__package__", None):
        try:
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(messages):
                regrade_main()
        except SystemExit as ended:
            if ended.code:
                raise RuntimeError(f"{command} failed: {messages.getvalue()}") from None
    return "\n".join(line.rstrip() for line in printed.getvalue().strip("\n").splitlines()) + "\n"


def differences(page: Path) -> Iterator[tuple[Shown, str]]:
    """Run the commands of a page in the current folder; yields those whose output differs, with what they printed."""
    for shown in commands_of(page.read_text(encoding="utf-8")):
        if shown.command == "regrade demo":
            continue
        printed = run_command(shown.command)
        if not shown.agrees(printed):
            yield shown, printed


def rewritten(text: str, differing: list[tuple[Shown, str]]) -> str:
    """A page with the outputs replaced."""
    for shown, printed in differing:
        output = "...\n" if shown.is_shortened else printed
        text = text.replace(f"$ {shown.command}\n{shown.output}", f"$ {shown.command}\n{output}")
    return text


def executed(path: Path) -> nbformat.NotebookNode:
    """A notebook with the outputs of a fresh run: text, tables and SVG."""
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(notebook, kernel_name="python3", resources={"metadata": {"path": folder}}).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        for output in cell.get("outputs", []):
            output["data"] = {kind: data for kind, data in output.get("data", {}).items() if kind in _SHOWN_KINDS}
    return notebook


def main() -> int:
    """Check or refresh every page; the exit code is 1 if an output differs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--workspace", type=Path, required=True, help="the workspace of a fresh run of regrade demo")
    parser.add_argument("--write", action="store_true", help="replace the outputs and the figures")
    arguments = parser.parse_args()
    failures = 0
    for page in PAGES:
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            shutil.copytree(arguments.workspace, DEMO)
            differing = list(differences(page))
            if arguments.write:
                page.write_text(rewritten(page.read_text(encoding="utf-8"), differing), encoding="utf-8")
                for figure in sorted(Path().glob("*.svg")):
                    shutil.copy(figure, DOCS / "figures" / "gallery" / figure.name)
        failures += len(differing)
        for shown, printed in differing:
            print(f"{page.name}: {shown.command}\n{printed}")
    for path in NOTEBOOKS if arguments.write else ():
        nbformat.write(executed(path), path)  # type: ignore[no-untyped-call]
    print(f"{failures} outputs {'replaced' if arguments.write else 'differ'}")
    return 0 if arguments.write else min(failures, 1)


if __name__ == "__main__":
    sys.exit(main())
