"""A label set to a file, with the authors of decisions as far as the ledger knows them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from regrade.core import LabelSet, LabelState, TestSet
from regrade.store import PRIVATE, Authors, LabelAuthors, LabelFormat, Store, labels_as_file, write_new_file
from regrade.workspace.label_publishing import PROBLEMATIC, decided_pairs, outcomes_of
from regrade.workspace.new_file import check_new_file

if TYPE_CHECKING:
    from regrade.ledger import Ledger


@dataclass(frozen=True)
class ExportedLabels:
    """What was written: the labels, and how many of their judgments have an author."""

    labels: LabelSet
    with_authors: int


def export_labels(
    store: Store, ledger: Callable[[], Ledger], test_set: TestSet, name: str, path: Path, *, form: LabelFormat
) -> ExportedLabels:
    """Write a label set to a new file that only its owner may read, since it may name authors.

    The ledger is asked only about labels that hold decisions.
    """
    check_new_file(path)
    labels = store.label_set(test_set, name)
    authors = _authors(ledger(), labels, test_set) if labels.queues else LabelAuthors()
    write_new_file(path, labels_as_file(labels, test_set, path.suffix, form=form, authors=authors), mode=PRIVATE)
    told = form is LabelFormat.PLAIN
    return ExportedLabels(labels, (len(authors.pairs) + len(authors.images)) * told)


def _authors(ledger: Ledger, labels: LabelSet, test_set: TestSet) -> LabelAuthors:
    """Who decided what these labels say; a decision that says something else by now is of another version."""
    columns = (labels.examples.tolist(), labels.classes.tolist(), labels.states.tolist())
    said = {(e, c): LabelState(s).name.lower() for e, c, s in zip(*columns, strict=True)}
    pairs, images = {}, {}
    for pair, one in decided_pairs(outcomes_of(ledger, labels.queues, test_set), test_set).outcomes.items():
        if said.get(pair) == one.answer:
            pairs[pair] = Authors(one.by, one.at)
        elif one.answer == PROBLEMATIC and labels.reasons[pair[0]]:
            images[pair[0]] = Authors(one.by, one.at)
    return LabelAuthors(pairs, images)
