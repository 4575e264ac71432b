"""Make files of predictions with the tools that people use, import each, and write the table of outcomes of the docs.

    python scripts/import_survey.py --timm CHECKOUT [--write]

CHECKOUT contains timm's scripts inference.py and validate.py, which are not part of its package. The packages timm,
torch, lightning, datasets, transformers, accelerate, clip-benchmark, open_clip_torch, scikit-learn and pandas must be
installed. With --write, docs/import-survey.md is written; without it, the table is printed.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import tempfile
from functools import partial
from pathlib import Path
from unittest import mock

from import_survey_files import ACCURACY, Case, World, array_cases, make_world

from regrade.cli import main as regrade_main

PAGE = Path(__file__).resolve().parent.parent / "docs" / "import-survey.md"
MARK = "<!-- survey -->"


def run_import(world: World, path: Path, *flags: str) -> tuple[bool, str]:
    """Whether a dry run of the import succeeds, and what it prints."""
    argv = ["regrade", "import", "predictions", str(path), "-t", "val", "--model", "m", "--dry-run", *flags]
    printed = io.StringIO()
    with (
        mock.patch.object(sys, "argv", [*argv, "-w", str(world.folder / "W")]),
        contextlib.redirect_stderr(printed),
    ):
        try:
            regrade_main()
        except SystemExit as stop:
            return stop.code in (0, None), printed.getvalue()
    return True, printed.getvalue()


def outcome(world: World, case: Case, folder: Path) -> str:
    """What happens to the file of a case; raise if it is not what the case expects."""
    path = case.make(folder)
    at_once, printed = run_import(world, path)
    if at_once:
        assert not case.flags and not case.refused, f"{case}: {printed}"
        assert case.untrained or ACCURACY in printed, f"{case}: {printed}"
        return "at once"
    assert printed.count("\n") == 1, f"{case}: {printed}"
    if case.refused:
        assert case.refused in printed, f"{case}: {printed}"
        return f"refused: the error says `{case.refused}`"
    assert case.flags and case.flags[0] in printed, f"{case}: {printed}"
    with_flags, again = run_import(world, path, *case.flags)
    assert with_flags and ACCURACY in again, f"{case}: {again}"
    return f"with `{' '.join(case.flags)}`, which the error names"


def survey(timm: Path) -> list[tuple[str, str, str]]:
    """Tool, options and outcome of every file."""
    from import_survey_tools import timm_predictions, tool_cases  # noqa: PLC0415, its tools may be missing

    rows = []
    with tempfile.TemporaryDirectory() as name:
        world = make_world(Path(name), partial(timm_predictions, timm))
        for number, case in enumerate((*tool_cases(world, timm), *array_cases(world))):
            folder = world.folder / f"case-{number}"
            folder.mkdir()
            rows.append((case.tool, case.options, outcome(world, case, folder)))
            sys.stderr.write(" | ".join(rows[-1]) + "\n")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--timm", type=Path, required=True, help="folder with timm's inference.py and validate.py")
    parser.add_argument("--write", action="store_true", help="write docs/import-survey.md")
    options = parser.parse_args()
    rows = survey(options.timm)
    table = "\n".join(f"| {tool} | {f'`{own}`' if own else 'default'} | {result} |" for tool, own, result in rows)
    if not options.write:
        sys.stdout.write(table + "\n")
        return
    before, _, after = PAGE.read_text().partition(MARK)
    after = after.partition(MARK)[2]
    PAGE.write_text(f"{before}{MARK}\n| tool | file | import |\n|---|---|---|\n{table}\n{MARK}{after}")


if __name__ == "__main__":
    main()
