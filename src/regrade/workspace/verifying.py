"""Whether everything in a workspace is as it was written: files, where its images are, and the ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regrade.core import Column, StoreError, Table, Tabular
from regrade.core.amounts import amount
from regrade.store import CheckedFile, Store, check_stored_file, stored_files
from regrade.testsets import images_are_missing
from regrade.workspace.ledger_note import has_ledger, ledger_problems
from regrade.workspace.loading import Watch

if TYPE_CHECKING:
    from regrade.ledger import Ledger


@dataclass(frozen=True)
class Problem:
    """Something that is not as it should be: what it concerns, and what is wrong."""

    subject: str
    trouble: str

    @property
    def part(self) -> str:
        """The part of the workspace that it is in."""
        return self.subject.partition("/")[0]


@dataclass(frozen=True)
class CheckedPart:
    """One part of a workspace: how many files of it were checked, and their size."""

    part: str
    files: int
    bytes: int


@dataclass(frozen=True)
class Verification(Tabular):
    """What was checked, and what is damaged or cannot be found."""

    checked: tuple[CheckedPart, ...]
    problems: tuple[Problem, ...]

    @property
    def files(self) -> int:
        """How many files were checked."""
        return sum(part.files for part in self.checked)

    def table(self) -> Table:
        """One line per part of the workspace; the problems are told below it."""
        keys = ("part", "files", "bytes", "problems")
        counts = Counter(problem.part for problem in self.problems)
        rows = tuple((part.part, part.files, part.bytes, counts[part.part]) for part in self.checked)
        title = f"verified: {amount(len(self.problems), 'problem')}" if self.problems else "verified: no problems"
        notes = tuple(f"{problem.subject}: {problem.trouble}" for problem in self.problems)
        return Table(title, tuple(Column(key, key) for key in keys), rows, notes)

    def as_dict(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        return {
            "checked": [vars(part) for part in self.checked],
            "problems": [{"subject": problem.subject, "trouble": problem.trouble} for problem in self.problems],
        }


def verify_workspace(store: Store, ledger: Callable[[], Ledger], *, watch: Watch) -> Verification:
    """Check every stored file against its checksum, the ledger if there is one, and that images are where they were."""
    paths = {str(path): path for path in stored_files(store.root)}
    files = [result for name in watch(list(paths)) for result in check_stored_file(store.root, paths[name])]
    checked = [_part(name, list(group)) for name, group in groupby(sorted(files, key=_folder), key=_folder)]
    problems = [Problem(result.path, result.trouble) for result in files if result.trouble]
    if has_ledger(store):
        checked.append(CheckedPart("ledger", 1, 0))
        problems += [Problem("ledger", problem) for problem in _ledger_problems(store, ledger)]
    if not problems:  # a damaged file may be the one that says where images are
        missing = missing_images(store).items()
        problems += [Problem(f"pictures/{name}", f"its images are not at {path}") for name, path in missing]
    return Verification(tuple(checked), tuple(problems))


def _folder(file: CheckedFile) -> str:
    return file.path.partition("/")[0]


def _part(name: str, files: list[CheckedFile]) -> CheckedPart:
    return CheckedPart(name, len(files), sum(file.bytes for file in files))


def _ledger_problems(store: Store, ledger: Callable[[], Ledger]) -> tuple[str, ...]:
    try:
        return ledger_problems(store, ledger())
    except StoreError as error:
        return (str(error),)


def missing_images(store: Store) -> dict[str, Path]:
    """The test sets whose registered images cannot be found, and where they were."""
    registered = (store.test_set(name) for name in store.test_set_names() if store.has_pictures(name))
    sources = {test_set.name: store.pictures(test_set) for test_set in registered}
    return {name: source.path for name, source in sources.items() if images_are_missing(source)}
