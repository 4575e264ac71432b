"""Damaged files of every format: one error line or a result with notes, and never a traceback or a warning.

Each run draws the same damage. ``REGRADE_MUTATIONS`` says how many files (default: 300); a failure names its case and
number, and `Case.mutated` gives the same bytes again.
"""

import os
import random
import shutil
import warnings
from pathlib import Path

import pytest
from mutated_files import CASES, Case, damage_folder, image_folder, ledger_rows, make_workspace, shelf, state
from mutations import Effect
from running import Ran, run, snapshot

NUMBER = int(os.environ.get("REGRADE_MUTATIONS", "300"))
OF_LIBRARIES = (" codec ", "Arrow", "Parquet magic", "straddl", "Python int", "Expected bytes", "thrift", "Expecting ",
                "CSV parse error", "Error -", "zip file", "BadZip", "bytes-like", "numpy", "cast")  # fmt: skip
PER_CASE = -(-NUMBER // (len(CASES) + 1))


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_workspace(tmp_path_factory.mktemp("base"))


class Bench:
    """A new workspace for every import, and the result of the undamaged file."""

    def __init__(self, base: Path, folder: Path) -> None:
        self.base, self.workspace = base, folder / "W"
        self.before = self.files(base)
        self.reset()

    @staticmethod
    def files(workspace: Path) -> dict[str, str]:
        """All files but the database, which changes when it is opened."""
        return {name: digest for name, digest in snapshot(workspace).items() if not name.startswith("ledger.sqlite")}

    def reset(self) -> None:
        shutil.rmtree(self.workspace, ignore_errors=True)
        shutil.copytree(self.base, self.workspace)

    def run(self, arguments: tuple[object, ...]) -> Ran:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            ran = run(*arguments)
        assert not caught, f"warning: {caught[0].message}"
        return ran

    def complaint(self, arguments: tuple[object, ...], whole: tuple[Ran, object] | None) -> str:
        """Why the outcome of an import is wrong, or an empty text; ``whole`` is the result of the undamaged file."""
        try:
            ran = self.run(arguments)
            result = state(self.workspace) if ran.code == 0 else None
        except Exception as error:
            self.reset()
            return f"{type(error).__name__}: {error}"
        if ran.code == 1:
            unchanged = self.files(self.workspace) == self.before
            if arguments[0] == "review":
                unchanged = unchanged and ledger_rows(self.workspace) == []
            if not unchanged:
                self.reset()
            if words := [word for word in OF_LIBRARIES if word in ran.err]:
                return f"words of a library, {words[0]!r}: {ran.err!r}"
            one_line = ran.out == "" and ran.err.startswith("error: ") and ran.err.count("\n") == 1
            return "" if one_line and unchanged and "Traceback" not in ran.err else f"{unchanged=} {ran.err!r}"
        self.reset()
        if ran.code:
            return f"exit code {ran.code}: {ran.err!r}"
        if whole is not None and result != whole[1] and ran.err == whole[0].err:
            return f"another result without a word: {ran.err!r}"
        return ""


def complete(case: Case, file: Path, workspace: Path, beside: dict[object, Path]) -> tuple[object, ...]:
    return tuple(beside.get(part, part) for part in case.arguments(file, workspace))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_import_rejects_or_explains_a_damaged_file(case: Case, base, tmp_path):
    bench = Bench(base, tmp_path)
    content = case.content(tmp_path)
    file = tmp_path / case.file
    arguments = complete(case, file, bench.workspace, shelf(tmp_path))
    file.write_bytes(content)
    ran = bench.run(arguments)
    assert ran.code == 0, ran.err
    whole = ran, state(bench.workspace)
    bench.reset()
    complaints = []
    for number in range(PER_CASE):
        damaged = case.mutated(content, number)
        file.write_bytes(damaged.content)
        complaint = bench.complaint(arguments, whole if damaged.effect is Effect.STRUCTURE else None)
        if complaint:
            complaints.append(f"{case.name} {number}, {damaged.what}: {complaint}")
    assert not complaints, "\n".join(complaints)


def test_add_rejects_or_explains_a_damaged_folder(base, tmp_path):
    bench = Bench(base, tmp_path)
    root = tmp_path / "images"
    arguments = ("testsets", "add", "zoo", root, "--classes", shelf(tmp_path)["ANIMALS"], "-w", bench.workspace)
    complaints = []
    for number in range(PER_CASE):
        shutil.rmtree(root, ignore_errors=True)
        what = damage_folder(image_folder(root), random.Random(number))
        if complaint := bench.complaint(arguments, None):
            complaints.append(f"{number}, {what}: {complaint}")
    assert not complaints, "\n".join(complaints)
