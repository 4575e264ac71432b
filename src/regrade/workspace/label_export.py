"""Write a label set to a file, with the authors of the decisions in the ledger."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from regrade.core import LabelSet, LabelState, TestSet
from regrade.formats import Authors, LabelAuthors, LabelFormat, labels_as_file
from regrade.store import PRIVATE, Store, write_new_file
from regrade.workspace.label_publishing import PROBLEMATIC, decided_pairs, decisions_of
from regrade.workspace.new_file import check_new_file

if TYPE_CHECKING:
    from regrade.ledger import Ledger


@dataclass(frozen=True)
class ExportedLabels:
    """The exported labels, and how many of their judgments have an author."""

    labels: LabelSet
    with_authors: int


def export_labels(
    store: Store, ledger: Callable[[], Ledger], test_set: TestSet, name: str, path: Path, *, form: LabelFormat
) -> ExportedLabels:
    """Write a label set to a new file that only its owner may read, since it may name authors.

    The ledger is read only if the labels contain decisions of queues.
    """
    check_new_file(path)
    labels = store.label_set(test_set, name)
    authors = _authors(ledger(), labels, test_set) if labels.queues else LabelAuthors()
    write_new_file(path, labels_as_file(labels, test_set, path.suffix, form=form, authors=authors), mode=PRIVATE)
    with_authors = form is LabelFormat.PLAIN
    return ExportedLabels(labels, (len(authors.pairs) + len(authors.images)) * with_authors)


def _authors(ledger: Ledger, labels: LabelSet, test_set: TestSet) -> LabelAuthors:
    """The authors of these labels; decisions that differ from the labels belong to another version and are skipped."""
    columns = (labels.examples.tolist(), labels.classes.tolist(), labels.states.tolist())
    states = {(e, c): LabelState(s).name.lower() for e, c, s in zip(*columns, strict=True)}
    pairs, images = {}, {}
    for pair, decision in decided_pairs(decisions_of(ledger, labels.queues, test_set), test_set).decisions.items():
        if states.get(pair) == decision.answer:
            pairs[pair] = Authors(decision.by, decision.at)
        elif decision.answer == PROBLEMATIC and labels.reasons[pair[0]]:
            images[pair[0]] = Authors(decision.by, decision.at)
    return LabelAuthors(pairs, images)
