"""Label sets of a workspace, and the review of predictions that they do not judge."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from regrade.core import (
    StratifyBy,
    Unlisted,
)
from regrade.core.names import member
from regrade.formats import LabelFormat
from regrade.store import AddedDecisions, Removal, RemovalPlan, Store
from regrade.studies import LABEL_AUDIT, Novel, study_method
from regrade.studies.study import ProgressCallback
from regrade.tables import Columns
from regrade.workspace.imports import (
    ImportedLabels,
    create_labels,
    import_decisions,
    import_labels,
)
from regrade.workspace.label_publishing import ExportedLabels, export_labels
from regrade.workspace.removal import carry_out, plan_label_removal
from regrade.workspace.renaming import Renamed, rename_labels
from regrade.workspace.review_sample import DrawnReview, all_novel, draw_next, drawn_unjudged, review_of_labels

if TYPE_CHECKING:
    from regrade.ledger import Ledger


class Labels:
    """Label sets of a workspace, and the review of predictions that they do not judge."""

    def __init__(self, store: Store, ledger: Callable[[], Ledger]) -> None:
        self.store = store
        self._ledger = ledger

    def names(self, test_set: str) -> tuple[str, ...]:
        """The label sets of a test set, as ``name@version``."""
        return self.store.labels.names(self.store.test_set(test_set).name)

    def import_file(
        self,
        path: str | Path,
        *,
        test_set: str,
        name: str,
        form: LabelFormat | str = LabelFormat.PLAIN,
        complete: bool = False,
        new_version: bool = False,
        columns: Columns | None = None,
    ) -> ImportedLabels:
        """Import labels; with ``complete``, every class that a plain file does not list for an image is wrong."""
        return import_labels(
            self.store,
            Path(path),
            test_set=test_set,
            form=member(LabelFormat, form),
            name=name,
            unlisted=Unlisted.WRONG if complete else Unlisted.NOVEL,
            new_version=new_version,
            columns=columns,
        )

    def create(self, test_set: str, *, name: str) -> ImportedLabels:
        """Create a label set from the original labels: each is correct, and no other class is judged yet."""
        return create_labels(self.store, test_set=test_set, name=name)

    def plan_removal(self, name: str, *, test_set: str) -> RemovalPlan:
        """Return what `remove` would remove; nothing changes."""
        return plan_label_removal(self.store, name, test_set)

    def remove(self, name: str, *, test_set: str, expected: RemovalPlan | None = None) -> Removal:
        """Remove the newest version of a label set (``own@2``) or all versions (``own``); see ``removed.restore``.

        Reviews of novel predictions under these labels go with them. A version that a queue of the ledger asks about
        raises. Raises if ``expected``, a plan from `plan_removal`, no longer holds.
        """
        return carry_out(self.store, lambda: self.plan_removal(name, test_set=test_set), expected)

    def rename(self, old: str, new: str, *, test_set: str) -> Renamed:
        """Rename all versions of a label set, with their reviews of novel predictions.

        Labels that a queue of the ledger asks about raise, and so does a name that is taken or too similar to another.
        """
        return rename_labels(self.store, old, new, test_set=test_set)

    def novel(
        self, test_set: str, *, labels: str, models: Sequence[str] = (), progress: ProgressCallback = iter
    ) -> Novel:
        """Every prediction that is judged neither in the label set nor in its review."""
        target = self.store.test_set(test_set)
        novel_predictions = all_novel(self.store, target, labels, models, progress)
        return novel_predictions.without_judged(review_of_labels(self.store, target, labels))

    def draw_sample(
        self, test_set: str, *, labels: str, size: int, by: StratifyBy | str | None = None, seed: int = 0
    ) -> DrawnReview:
        """Draw the next ``size`` novel predictions in random order, for people to judge.

        The first call fixes the order, stratified ``by`` (default: votes); later calls continue in it.
        """
        strata = None if by is None else member(StratifyBy, by)
        return draw_next(self.store, self.store.test_set(test_set), labels, size=size, by=strata, seed=seed)

    def drawn_sample(self, test_set: str, *, labels: str) -> DrawnReview:
        """The predictions that were drawn for review and are not judged yet, in random order."""
        return drawn_unjudged(self.store, self.store.test_set(test_set), labels)

    def import_decisions(
        self, path: str | Path, *, test_set: str, labels: str, correct: str = "", columns: Columns | None = None
    ) -> AddedDecisions:
        """Import people's decisions on drawn predictions, and count the new ones.

        A decision that differs from a stored one raises, unless ``correct`` gives the reason for the correction.
        """
        return import_decisions(
            self.store, Path(path), test_set=test_set, labels=labels, correction=correct, columns=columns
        )

    audit = study_method(LABEL_AUDIT)

    def export(
        self, name: str, path: str | Path, *, test_set: str, form: LabelFormat | str = LabelFormat.PLAIN
    ) -> ExportedLabels:
        """Write a label set to a file from which `import_file` reads the same labels.

        Plain files (CSV, JSON, Parquet) also contain author and time of each decision in the ledger.
        """
        target = self.store.test_set(test_set)
        chosen = member(LabelFormat, form)
        return export_labels(self.store, self._ledger, target, name, Path(path), form=chosen)
