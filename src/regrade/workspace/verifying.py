"""Whether everything in a workspace is as it was written: files, where its images are, and the ledger."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regrade.core import Column, StoreError, Table, Tabular
from regrade.core.amounts import amount
from regrade.store import Store, check_stored_file, stored_files
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


@dataclass(frozen=True)
class Verification(Tabular):
    """What was checked, what is damaged, and what could not be found."""

    files: int
    bytes: int
    problems: tuple[Problem, ...]
    notes: tuple[str, ...] = ()

    def table(self) -> Table:
        """One line per problem."""
        columns = (Column("subject", "what"), Column("trouble", "what is wrong"))
        rows = tuple((problem.subject, problem.trouble) for problem in self.problems)
        checked = f"{amount(self.files, 'file')} ({self.bytes / 1e6:,.1f} MB)"
        if not rows:
            return Table(f"{checked} checked: all as they were written", (), (), self.notes)
        return Table(f"{checked} checked: {amount(len(rows), 'problem')}", columns, rows, self.notes)

    def as_dict(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        return {
            "files": self.files,
            "bytes": self.bytes,
            "problems": [vars(problem) for problem in self.problems],
            "notes": list(self.notes),
        }


def verify_workspace(store: Store, ledger: Callable[[], Ledger], *, watch: Watch) -> Verification:
    """Check every stored file against its checksum, the ledger if there is one, and that images are where they were."""
    paths = {str(path): path for path in stored_files(store.root)}
    checked = [result for name in watch(list(paths)) for result in check_stored_file(store.root, paths[name])]
    problems = [Problem(result.path, result.trouble) for result in checked if result.trouble]
    if has_ledger(store):
        problems += [Problem("ledger", problem) for problem in _ledger_problems(store, ledger)]
    if not problems:  # a damaged file may be the one that says where images are
        missing = missing_images(store).items()
        problems += [Problem(f"images of {name}", f"they are not at {path}") for name, path in missing]
    return Verification(len(checked), sum(result.bytes for result in checked), tuple(problems))


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
