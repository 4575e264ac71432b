"""What people decide: the ledger of a workspace, its queues, and what comes of the verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from regrade.core import InputError, MissingExtra
from regrade.core.arguments import member
from regrade.metrics import MultilabelRule
from regrade.neighbors import no_progress as unwatched
from regrade.store import LabelFormat, Store
from regrade.studies import LabelChange, PanelAgreement, StratifyBy
from regrade.workspace.label_diff_loader import compare_labels
from regrade.workspace.label_export import ExportedLabels, export_labels
from regrade.workspace.ledger_files import ImportedLedger, export_ledger, import_ledger
from regrade.workspace.ledger_note import ledger_problems, open_ledger, prepare_writing
from regrade.workspace.ledger_restore import RestoredLedger, restore_ledger
from regrade.workspace.loading import ProgressCallback
from regrade.workspace.publish_result import PublishResult
from regrade.workspace.queue_result import QueueResult
from regrade.workspace.review_publishing import publish_queue
from regrade.workspace.signature_loader import ImageProgress

if TYPE_CHECKING:
    from regrade.ledger import Item, Ledger, Mode, Queue
    from regrade.workspace.running_review import RunningReview


class Judgments:
    """The part of a workspace that people fill, vote by vote."""

    store: Store

    @cached_property
    def ledger(self) -> Ledger:
        """The ledger that regrade.toml names, to be written to; created if it is a file that never was."""
        ledger = self.readable_ledger
        prepare_writing(self.store, ledger)
        return ledger

    @cached_property
    def readable_ledger(self) -> Ledger:
        """The ledger as it is, for whoever only reads it."""
        try:
            return open_ledger(self.store)
        except ModuleNotFoundError:
            raise MissingExtra("the ledger of judgments", "serve") from None

    # What is asked

    @contextmanager
    def _filling(self) -> Iterator[Ledger]:
        """The ledger, while no one else fills queues: what is not asked yet is then asked once."""
        with self.store.transaction(), self.ledger.filling():
            yield self.ledger

    def queue_novel(
        self,
        test_set: str,
        *,
        labels: str,
        models: Sequence[str] = (),
        size: int | None = None,
        by: StratifyBy | str | None = None,
        seed: int = 0,
        name: str | None = None,
        overlap: int | None = None,
        watch: ProgressCallback = iter,
    ) -> QueueResult:
        """Put what no one has judged into a queue: again after new models, and only what is new is added.

        Without ``size`` that is every novel prediction of the models, all unless some are named, that no other queue
        asks about. With it, it is the next so many of the random order of `draw_review`, whose verdicts speak for the
        rest. Each is for ``overlap`` people: as many as there are reviewers, three at most, unless told.
        """
        target = self.store.test_set(test_set)
        if size is None and by is not None:
            raise InputError("by speaks of a sample: give its size too")
        if size is not None and models:
            raise InputError("a sample is of what all models predict: leave out either models or size")
        with self._filling() as ledger:
            from regrade.workspace.judge_queue import queue_all_novel, queue_sample

            if size is None:
                return queue_all_novel(
                    self.store, ledger, target, labels, models=models, name=name, overlap=overlap, watch=watch
                )
            strata = None if by is None else member(StratifyBy, by)
            return queue_sample(
                self.store, ledger, target, labels, size=size, by=strata, seed=seed, name=name, overlap=overlap
            )

    def queue_people(
        self,
        test_set: str,
        *,
        labels: str,
        people: Sequence[str] = (),
        seed: int = 0,
        name: str | None = None,
        overlap: int | None = None,
        watch: ProgressCallback = iter,
    ) -> QueueResult:
        """Put people's novel answers into a queue, and random models' among them, so that they are judged blind.

        Every image has an answer of a person and one of a model: a novel one where there is any, else one that was
        judged before. Nothing in the queue tells them apart.
        """
        with self._filling() as ledger:
            from regrade.workspace.blind_queue import queue_people

            return queue_people(
                self.store, ledger, test_set, labels, persons=people, seed=seed, name=name, overlap=overlap, watch=watch
            )

    def queue_mistakes(
        self, test_set: str, *, labels: str, model: str, name: str | None = None, overlap: int | None = None
    ) -> QueueResult:
        """Put the mistakes of a model that remain into a queue, for people to say of what kind each is and how grave.

        Unclear and collapsed classes are no mistakes, problematic images are left out, and what is novel has to be
        judged first.
        """
        target = self.store.test_set(test_set)
        with self._filling() as ledger:
            from regrade.workspace.mistake_queue import queue_mistakes

            return queue_mistakes(self.store, ledger, target, labels, model=model, name=name, overlap=overlap)

    def queue_labels(
        self,
        test_set: str,
        *,
        size: int | None = None,
        family: str | None = None,
        mode: Mode | str = "examination",
        seed: int = 0,
        name: str | None = None,
        overlap: int | None = None,
        watch: ImageProgress = unwatched,
    ) -> QueueResult:
        """Put images into a queue to be labeled, drawn at random: ``size`` of them, or all.

        ``family`` keeps those whose own label is of a family of classes, such as dogs. Each is for everyone unless
        ``overlap`` says for how many. In ``training`` people are told what is right, and nothing is counted.
        """
        target = self.store.test_set(test_set)
        with self._filling() as ledger:
            from regrade.ledger import Mode
            from regrade.workspace.label_queue import queue_labels

            chosen = member(Mode, mode)
            return queue_labels(
                self.store, ledger, target, size=size, of_family=family, mode=chosen, seed=seed, name=name,
                overlap=overlap, watch=watch,
            )  # fmt: skip

    def judge_again(self, queue: Queue, item: Item) -> Item:
        """Have a class judged again whose mistake a panel has found to be none: the item that asks about it."""
        with self._filling() as ledger:
            from regrade.workspace.second_review import judge_again

            return judge_again(ledger, queue, item)

    def fill_contents(self, *, watch: ImageProgress = unwatched) -> None:
        """Read the images of label queues whose contents the ledger does not have, such as an older one's, once."""
        ledger = self.ledger
        from regrade.ledger import Question
        from regrade.workspace.image_contents import fill_contents

        for queue in ledger.queues():
            if queue.question is Question.LABEL:
                fill_contents(self.store, ledger, queue, watch=watch)

    # How far it is

    def agreement(self, queue: str, *, revealed_only: bool = False) -> PanelAgreement:
        """How far the people of a queue agree, from what each said before anyone could see what the others say.

        ``revealed_only``: on items that all have voted on, which is what those who still vote may know.
        """
        ledger = self.readable_ledger
        from regrade.workspace.agreement_loader import study_agreement

        confidence = self.store.config.confidence
        return study_agreement(ledger, ledger.queue(queue), confidence=confidence, revealed_only=revealed_only)

    def running_review(self, queue: str) -> RunningReview | None:
        """Accuracies by the decisions of a queue so far, valid at any stopping point; none unless drawn at random."""
        ledger = self.readable_ledger
        from regrade.workspace.running_review import running_review

        judged = ledger.queue(queue)
        return running_review(self.store, ledger, judged, self.store.test_set(judged.test_set))

    # What comes of it

    def publish(self, queue: str, *, dry_run: bool = False) -> PublishResult:
        """Turn what stands in a queue into files that every study reads; again, and nothing new is no change.

        Judged classes become a new version of the label set, or verdicts of its review if they were drawn at random;
        mistakes a review of the model's; labels, unless in training, the rows of people. ``dry_run`` only tells what
        would change.
        """
        return publish_queue(self.store, self.ledger, queue, dry_run=dry_run)

    def label_change(
        self,
        before: str,
        after: str,
        *,
        test_set: str,
        models: Sequence[str] = (),
        rule: MultilabelRule | str | None = None,
        watch: ProgressCallback = iter,
    ) -> LabelChange:
        """What changed between two versions of labels, such as ``own@1`` and ``own@2``, and what it did to every model.

        All models of the test set, or the models and people that are named.
        """
        target = self.store.test_set(test_set)
        return compare_labels(self.store, target, before, after, models=models, rule=rule, watch=watch)

    # Taking it along

    def back_up_ledger(self, path: str | Path) -> None:
        """Copy the ledger, as it is at one moment, to a new file that only its owner may read; voting goes on."""
        self.readable_ledger.back_up(Path(path))

    def restore_ledger(self, path: str | Path, *, older: bool = False) -> RestoredLedger:
        """Put a backup in the place of the ledger, which is set aside; no process may have it open.

        A backup that lacks votes which were published raises, unless ``older`` accepts that.
        """
        if "readable_ledger" in vars(self):
            self.readable_ledger.engine.dispose()
        for name in ("ledger", "readable_ledger"):
            vars(self).pop(name, None)
        try:
            return restore_ledger(self.store, Path(path), older=older)
        except ModuleNotFoundError:
            raise MissingExtra("the ledger of judgments", "serve") from None

    def ledger_problems(self) -> tuple[str, ...]:
        """What is wrong with the ledger: damage, rows that were changed past it, missing protection."""
        return ledger_problems(self.store) or ()

    def export_ledger(self, path: str | Path) -> dict[str, int]:
        """Write all that people said, with who and when, as CSV, JSON or Parquet; count the rows by kind.

        Accounts, passwords and invitations stay.
        """
        return export_ledger(self.readable_ledger, Path(path))

    def import_ledger(self, path: str | Path) -> ImportedLedger:
        """Add what an exported ledger holds, all of it or nothing, and say how many votes are new."""
        return import_ledger(self.ledger, Path(path))

    def export_labels(
        self, name: str, path: str | Path, *, test_set: str, form: LabelFormat | str = LabelFormat.PLAIN
    ) -> ExportedLabels:
        """Write a label set to a file that `import_labels` reads as the same labels.

        Plain files (CSV, JSON, Parquet) say who decided what and when, as far as the ledger knows.
        """
        target = self.store.test_set(test_set)
        chosen = member(LabelFormat, form)
        return export_labels(self.store, lambda: self.readable_ledger, target, name, Path(path), form=chosen)
