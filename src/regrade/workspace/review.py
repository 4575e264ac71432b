"""Review in a workspace: its ledger, its queues, and publishing the decisions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from regrade.core import Distance, InputError, MissingExtra, StratifyBy
from regrade.core.names import member
from regrade.neighbors import NEIGHBORS, SIZE
from regrade.neighbors import no_progress as unwatched
from regrade.store import Store, first_published_file
from regrade.studies import AGREEMENT, study_method
from regrade.studies.leakage.pair_search import search_pairs
from regrade.studies.leakage.search import search_for
from regrade.studies.leakage.signatures import ImageProgress
from regrade.studies.study import ProgressCallback
from regrade.workspace.ledger import (
    ImportedLedger,
    RestoredLedger,
    export_ledger,
    import_ledger,
    ledger_problems,
    open_ledger,
    prepare_writing,
    restore_ledger,
)
from regrade.workspace.queue_result import PublishResult, QueueResult
from regrade.workspace.review_publishing import publish_queue

if TYPE_CHECKING:
    from regrade.ledger import Item, Ledger, Mode, Person, Queue
    from regrade.workspace.added_classes import AddedClass
    from regrade.workspace.public_proposals import NewProposalLink, ProposalLinkState
    from regrade.workspace.review_sample import RunningReview


class Review:
    """Review in a workspace: its ledger, its queues, and publishing the decisions."""

    def __init__(self, store: Store) -> None:
        self.store = store

    @cached_property
    def ledger(self) -> Ledger:
        """The ledger named in regrade.toml, for writing; a ledger file is created on first use."""
        ledger = self.readable_ledger
        prepare_writing(self.store, ledger)
        return ledger

    @cached_property
    def readable_ledger(self) -> Ledger:
        """The ledger named in regrade.toml, for reading."""
        try:
            return open_ledger(self.store)
        except ModuleNotFoundError:
            raise MissingExtra("the ledger of judgments", "serve") from None

    # Queues

    @contextmanager
    def _locked_ledger(self) -> Iterator[Ledger]:
        """The ledger, locked against other processes that fill queues, so that nothing is queued twice."""
        with self.store.transaction(), self.ledger.queues.filling():
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
        progress: ProgressCallback = iter,
    ) -> QueueResult:
        """Put unjudged predictions into a queue; call it again after new models to add their predictions.

        Without ``size`` these are all novel predictions of ``models`` (default: all) that are in no other queue. With
        ``size`` they are the next predictions in the random order of `draw_review`, which estimate the rest. Each item
        needs ``overlap`` votes (default: one per reviewer, at most three).
        """
        target = self.store.test_set(test_set)
        if size is None and by is not None:
            raise InputError("by requires size")
        if size is not None and models:
            raise InputError("a sample is drawn from the predictions of all models: give either models or size")
        with self._locked_ledger() as ledger:
            from regrade.workspace.prediction_queues import queue_all_novel, queue_sample

            if size is None:
                return queue_all_novel(
                    self.store, ledger, target, labels, models=models, name=name, overlap=overlap, progress=progress
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
        progress: ProgressCallback = iter,
    ) -> QueueResult:
        """Put people's novel answers into a queue, mixed with predictions of random models, for blind review.

        Every image gets a person's answer and a model's prediction: a novel one if there is any, otherwise one that
        was judged before. Reviewers cannot tell them apart.
        """
        with self._locked_ledger() as ledger:
            from regrade.workspace.prediction_queues import queue_people

            return queue_people(
                self.store,
                ledger,
                test_set,
                labels,
                people=people,
                seed=seed,
                name=name,
                overlap=overlap,
                progress=progress,
            )

    def queue_audit(
        self,
        test_set: str,
        *,
        labels: str,
        size: int,
        models: Sequence[str] = (),
        seed: int = 0,
        name: str | None = None,
        overlap: int | None = None,
        progress: ProgressCallback = iter,
    ) -> QueueResult:
        """Put ``size`` labels that all models agree with into a queue, drawn at random: is each of them correct?

        No queue of predictions shows these images. Published, the decisions estimate how many such labels are wrong
        (`Labels.audit`), and correct those that were judged. Call it again to draw more. Each item needs ``overlap``
        votes (default: one per reviewer, at most three).
        """
        target = self.store.test_set(test_set)
        with self._locked_ledger() as ledger:
            from regrade.workspace.label_audit import queue_audit

            return queue_audit(
                self.store, ledger, target, labels, size=size, models=models, seed=seed, name=name, overlap=overlap,
                progress=progress,
            )  # fmt: skip

    def queue_mistakes(
        self,
        test_set: str,
        *,
        labels: str,
        model: str,
        slice: str | None = None,
        name: str | None = None,
        overlap: int | None = None,
    ) -> QueueResult:
        """Put a model's remaining mistakes into a queue, for people to give each a category and a severity.

        Unclear and collapsed classes are not mistakes, problematic images are left out, and novel predictions must be
        judged first. ``slice`` keeps only the images of a slice. Predictions that people categorized as mistakes of
        another model under these labels are not asked again: publishing the queue reuses what they said.
        """
        target = self.store.test_set(test_set)
        with self._locked_ledger() as ledger:
            from regrade.workspace.mistake_queue import queue_mistakes

            return queue_mistakes(
                self.store, ledger, target, labels, model=model, slice_name=slice, name=name, overlap=overlap
            )

    def queue_labels(
        self,
        test_set: str | Sequence[str],
        *,
        size: int | None = None,
        per_class: int | None = None,
        family: str | None = None,
        mode: Mode | str = "examination",
        seed: int = 0,
        people: Sequence[str] = (),
        name: str | None = None,
        overlap: int | None = None,
        progress: ImageProgress = unwatched,
    ) -> QueueResult:
        """Put images into a queue to be labeled, drawn at random: ``size``, ``per_class`` of each class, or all.

        Images of several test sets of the same classes are drawn from each of them and shuffled together. ``family``
        keeps images whose original label is in a family of classes, such as dogs. Each image needs ``overlap`` answers
        (default: one per person). In ``training`` people see the correct label, and nothing counts. A new queue is
        assigned to ``people`` (default: open to everyone). An examination has no image on which one of its people
        voted in training, or in a queue that shows labels or predictions.
        """
        names = [test_set] if isinstance(test_set, str) else test_set
        targets = [self.store.test_set(target) for target in names]
        with self._locked_ledger() as ledger:
            from regrade.ledger import Mode
            from regrade.workspace.label_draw import LabelDraw
            from regrade.workspace.label_queue import queue_labels

            assignees = tuple(ledger.people.named(person) for person in dict.fromkeys(people))
            draw = LabelDraw(size, per_class, family, member(Mode, mode), seed, assignees)
            return queue_labels(self.store, ledger, targets, draw, name=name, overlap=overlap, progress=progress)

    def assign(self, queue: str, people: Sequence[str] = ()) -> tuple[str, ...]:
        """Assign a queue to these people only, or open it to everyone, and return who it is for (empty: everyone).

        Raises if it is an examination and one of them has seen images of it, or training with images of an examination.
        """
        with self._locked_ledger() as ledger:
            from regrade.workspace.seen_images import check_disjoint, possible_examinees

            assigned = ledger.queues.named(queue)
            assignees = tuple(ledger.people.named(person) for person in dict.fromkeys(people))
            check_disjoint(self.store, ledger, assigned, assignees or possible_examinees(ledger, None))
            ledger.queues.assign(assigned, assignees)
            return tuple(person.name for person in ledger.queues.assigned(assigned))

    def queue_pairs(
        self,
        test_set: str,
        *,
        against: str | None = None,
        by: Sequence[Distance | str] = (),
        near: Mapping[str, float] | None = None,
        most: int = NEIGHBORS,
        size: int = SIZE,
        model: str | None = None,
        name: str | None = None,
        overlap: int | None = None,
        progress: ImageProgress = unwatched,
    ) -> QueueResult:
        """Put near duplicates of a test set in the set ``against``, or within it, into a queue for people to decide.

        ``by``, ``near``, ``most``, ``size`` and ``model`` are those of the study of leakage, which then counts the
        published decisions. Pairs with equal pixels need no decision, and those decided before are left out.
        """
        target = self.store.test_set(test_set)
        if against == test_set:
            raise InputError(f"--against must differ from {test_set}: leave it out to search within the test set")
        reference = None if against is None else self.store.test_set(against)
        search = search_for(by, near or {}, most=most, size=size, model=model)
        with_exact = replace(search, thresholds={Distance.EXACT: 0.0, **search.thresholds})
        searched = search_pairs(self.store, target, reference, with_exact, progress=progress)
        with self._locked_ledger() as ledger:
            from regrade.workspace.pair_queue import queue_pairs

            return queue_pairs(self.store, ledger, target, searched, name=name, overlap=overlap)

    def judge_again(self, queue: Queue, item: Item) -> Item:
        """Return the item that asks about the class of a mistake which the panel decided is not a mistake."""
        with self._locked_ledger() as ledger:
            from regrade.workspace.mistake_queue import judge_again

            return judge_again(ledger, queue, item)

    def add_class(self, queue: Queue, item: Item, class_id: str, *, by: Person, reason: str = "") -> AddedClass:
        """Add an item about a class that an item's image shows and nobody predicted, unless it is judged already.

        The item joins the queue; beside a random sample, it joins a queue of its own, since it was not drawn.
        """
        with self._locked_ledger() as ledger:
            from regrade.workspace.added_classes import add_class

            return add_class(self.store, ledger, queue, item, class_id, by=by, reason=reason)

    def propose_link(self, name: str, *, test_set: str, labels: str) -> NewProposalLink:
        """Create a link through which anyone can propose corrections of a label set, without an account.

        The proposals enter the queue ``proposals NAME``. An earlier link of the name ends.
        """
        with self._locked_ledger() as ledger:
            from regrade.workspace.public_proposals import new_proposal_link

            return new_proposal_link(self.store, ledger, name, test_set=test_set, labels=labels)

    def end_propose_link(self, name: str) -> bool:
        """End a link for proposals at once, and return whether it worked until now; its proposals stay."""
        ledger = self.ledger
        from regrade.workspace.public_proposals import proposal_link_named

        return ledger.proposals.end_link(proposal_link_named(ledger, name))

    def propose_links(self) -> tuple[ProposalLinkState, ...]:
        """The links for proposals, with the number of proposals and items that came through each."""
        ledger = self.readable_ledger
        from regrade.workspace.public_proposals import proposal_links

        return proposal_links(ledger)

    def fill_contents(self, *, progress: ImageProgress = unwatched) -> None:
        """Compute the missing content hashes of images in queues, for example of older ledgers."""
        ledger = self.ledger
        from regrade.workspace.image_contents import fill_contents

        for queue in ledger.queues.all():
            fill_contents(self.store, ledger, queue, progress=progress)

    # Progress

    agreement = study_method(AGREEMENT, data=lambda review: review)

    def running_review(self, queue: str) -> RunningReview | None:
        """Accuracies from a queue's decisions so far, valid at any stopping time; None unless the queue is a sample."""
        ledger = self.readable_ledger
        from regrade.workspace.review_sample import running_review

        judged = ledger.queues.named(queue)
        return running_review(self.store, ledger, judged, self.store.test_set(judged.test_set))

    # Publishing

    def publish(self, queue: str, *, dry_run: bool = False) -> PublishResult:
        """Write a queue's decisions to files that every study reads; idempotent.

        Judged classes become a new version of the label set, or decisions of its review if the queue is a sample;
        mistakes become a review of the model's mistakes; labels become the rows of people, except in training; kept
        and flagged images become a version of the review of their build; pairs become decisions that builds and the
        study of leakage read.
        ``dry_run`` only returns what would change.
        """
        return publish_queue(self.store, self.ledger, queue, dry_run=dry_run)

    def back_up(self, path: str | Path) -> None:
        """Copy a snapshot of the ledger to a new file that only its owner may read; voting can continue meanwhile."""
        self.readable_ledger.back_up(Path(path))

    def restore(self, path: str | Path, *, older: bool = False) -> RestoredLedger:
        """Replace the ledger by a backup; the present file is kept under another name, and no process may have it open.

        A backup without the published votes raises, unless ``older`` is set.
        """
        if "readable_ledger" in vars(self):
            self.readable_ledger.engine.dispose()
        for name in ("ledger", "readable_ledger"):
            vars(self).pop(name, None)
        try:
            return restore_ledger(self.store, Path(path), older=older)
        except ModuleNotFoundError:
            raise MissingExtra("the ledger of judgments", "serve") from None

    def problems(self) -> tuple[str, ...]:
        """Problems of the ledger: damage, rows changed outside regrade, missing protection."""
        return ledger_problems(self.store, lambda: first_published_file(self.store.root)) or ()

    def export(self, path: str | Path) -> dict[str, int]:
        """Write all votes, with author and time, to a CSV, JSON or Parquet file; return the number of rows by kind.

        Accounts, passwords and invitations are not exported.
        """
        return export_ledger(self.readable_ledger, Path(path))

    def import_file(self, path: str | Path) -> ImportedLedger:
        """Add the rows of an exported ledger in one transaction, and count the new votes."""
        return import_ledger(self.ledger, Path(path))
