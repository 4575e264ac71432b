"""Integrity check of a workspace: its files, its ledger, and the location of its images."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from regrade.core import Column, FormatError, RegradeError, StoreError, Table, Tabular
from regrade.core.amounts import amount
from regrade.store import CheckedFile, Store, broken_links, check_stored_file, first_published, stored_files
from regrade.studies.study import ProgressCallback
from regrade.testsets import images_are_missing
from regrade.train.plan import check_training_files
from regrade.workspace.ledger import ledger_problems


@dataclass(frozen=True)
class Problem:
    """A problem: its subject, and what is wrong."""

    subject: str
    trouble: str

    @property
    def part(self) -> str:
        """The part of the workspace with the problem."""
        return self.subject.partition("/")[0]


@dataclass(frozen=True)
class CheckedPart:
    """A part of a workspace: the number of checked files, and their size."""

    part: str
    files: int
    bytes: int


@dataclass(frozen=True)
class Verification(Tabular):
    """The checked parts, and the problems."""

    checked: tuple[CheckedPart, ...]
    problems: tuple[Problem, ...]

    @property
    def files(self) -> int:
        """How many files were checked."""
        return sum(part.files for part in self.checked)

    def table(self) -> Table:
        """One row per part of the workspace, with the problems as notes."""
        keys = ("part", "files", "bytes", "problems")
        counts = Counter(problem.part for problem in self.problems)
        rows = tuple((part.part, part.files, part.bytes, counts[part.part]) for part in self.checked)
        title = f"verified: {amount(len(self.problems), 'problem')}" if self.problems else "verified: no problems"
        notes = tuple(f"{problem.subject}: {problem.trouble}" for problem in self.problems)
        return Table(title, tuple(Column(key, key) for key in keys), rows, notes)


def verify_workspace(store: Store, *, progress: ProgressCallback) -> Verification:
    """Check every stored file, references between files, the ledger, and that images are at their location."""
    paths = {str(path): path for path in stored_files(store.root)}
    files = [result for name in progress(list(paths)) for result in check_stored_file(store.root, paths[name])]
    files += check_training_files(store.root)
    checked = [_part(name, list(group)) for name, group in groupby(sorted(files, key=_folder), key=_folder)]
    broken = broken_links(store.root, files, store.class_spaces.read)
    problems = [Problem(result.path, result.trouble) for result in (*files, *broken) if result.trouble]
    ledger_troubles = _ledger_problems(store, files)
    if ledger_troubles is not None:
        checked.append(CheckedPart("ledger", 1, 0))
        problems += [Problem("ledger", trouble) for trouble in ledger_troubles]
    reported = {problem.trouble for problem in problems}
    for name in store.test_sets.names():
        problems += _test_set_problems(store, name, reported)
    return Verification(tuple(checked), tuple(problems))


def _folder(file: CheckedFile) -> str:
    return file.path.partition("/")[0]


def _part(name: str, files: list[CheckedFile]) -> CheckedPart:
    return CheckedPart(name, len(files), sum(file.bytes for file in files))


def _ledger_problems(store: Store, files: Sequence[CheckedFile]) -> tuple[str, ...] | None:
    """The problems of the ledger; None if the workspace has no ledger."""
    try:
        return ledger_problems(store, lambda: first_published(files))
    except (StoreError, FormatError) as error:
        return (str(error),)


def _test_set_problems(store: Store, name: str, reported: Collection[str]) -> Iterator[Problem]:
    """Problems of a test set: it cannot be read, unless that is reported already, or its images are missing."""
    try:
        test_set = store.test_set(name)
        store.class_maps.read(test_set)
        source = store.images.read(test_set) if store.images.has(name) else None
    except RegradeError as error:
        if str(error) not in reported:
            yield Problem(f"testsets/{name}", str(error))
        return
    if source is not None and images_are_missing(source):
        yield Problem(f"images/{name}", f"its images are not at {source.path}")


def missing_images(store: Store) -> dict[str, Path]:
    """The test sets whose registered images are missing, with the expected path."""
    registered = (store.test_set(name) for name in store.test_sets.names() if store.images.has(name))
    sources = {test_set.name: store.images.read(test_set) for test_set in registered}
    return {name: source.path for name, source in sources.items() if images_are_missing(source)}
