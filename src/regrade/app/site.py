"""The state that all pages share: workspace, ledger, sessions, images and caches."""

from __future__ import annotations

from fastapi import Request

from regrade.app.cache import RecentCache, test_set_stamp
from regrade.app.class_index import ClassIndex, class_index
from regrade.app.class_review import RevisionCache
from regrade.app.explore import Explorer
from regrade.app.grids import Grids, ProgressCache
from regrade.app.held_back import HoldingRules
from regrade.app.hidden_images import HiddenImages, HidingRules
from regrade.app.image_lookup import LabelIndex, ScoreCache, Suggestions
from regrade.app.images import ImageCache, UnseenImages
from regrade.app.neighbor_index import NeighborIndex
from regrade.app.pair_views import PairIndex
from regrade.app.selection_index import SelectionIndex
from regrade.app.sessions import Session, Sessions
from regrade.app.view_limits import ViewLimits
from regrade.core import ClassSpace, InputError, RegradeError, TestSet, UnknownName
from regrade.ledger import Item, Ledger, Person, Question, Queue
from regrade.studies import PanelAgreement
from regrade.workspace import Workspace

_CACHED_SPACE_NAMES = 1024  # test sets


class Site:
    """One workspace in the browser; a ``local`` site is for one person on this machine, who needs no account."""

    def __init__(self, workspace: Workspace, *, local: bool) -> None:
        self.workspace = workspace
        self.local = local
        self.ledger: Ledger = workspace.ledger
        self.accounts = self.ledger.accounts
        self.guide = self.ledger.guide
        self.reports = self.ledger.reports
        self.sessions = Sessions(self.accounts)
        self.explorer = Explorer(workspace)
        self.images = ImageCache(workspace.store, self.ledger.items, self.accounts.key(), test_set=self.test_set)
        self.hiding = HidingRules(workspace.store, self.ledger, test_set=self.test_set)
        self.holding = HoldingRules(workspace.store, self.ledger, self.hiding, test_set=self.test_set)
        self.scores = ScoreCache(workspace.store)
        self.suggestions = Suggestions(workspace.store)
        self.neighbors = NeighborIndex(workspace.store)
        self.selections = SelectionIndex(workspace.store)
        self.revisions = RevisionCache(workspace.store)
        self.attempts = self.ledger.attempts
        self.links = self.ledger.links
        self.views = ViewLimits()
        self.unseen = UnseenImages()
        self.pairs = PairIndex(workspace.store)
        self.grids = Grids(workspace.store, self.ledger, self.accounts.key())
        self.build_progress = ProgressCache(workspace.store)
        self._class_spaces: RecentCache[ClassSpace] = RecentCache(16)
        self._class_indexes: RecentCache[ClassIndex] = RecentCache(16)
        self._space_names: RecentCache[str] = RecentCache(_CACHED_SPACE_NAMES)
        self._label_indexes: RecentCache[LabelIndex] = RecentCache(16)
        self._agreements: RecentCache[PanelAgreement | None] = RecentCache(64)

    @property
    def name(self) -> str:
        """The name of the workspace's folder, for page headings."""
        return self.workspace.store.root.resolve().name

    def session_of(self, request: Request) -> Session | None:
        """The session of a request, or None if no one is signed in."""
        return self.sessions.session_of(request.cookies.get(self.sessions.cookie_name))

    def test_set(self, name: str) -> TestSet:
        """A test set, cached until its files change."""
        return self.explorer.test_set(name)

    def damaged_test_sets(self) -> frozenset[str]:
        """The test sets whose files cannot be read; pages skip them and show a note."""
        return frozenset(name for name in self.workspace.testsets.names() if not self._is_readable(name))

    def readable_test_sets(self) -> list[str]:
        """The test sets whose files can be read."""
        return [name for name in self.workspace.testsets.names() if self._is_readable(name)]

    def _is_readable(self, name: str) -> bool:
        """Whether a test set can be read; success is cached until its files change, failure is not."""
        try:
            self.space_of(name)
        except RegradeError:
            return False
        return True

    def space_of(self, test_set: str) -> str:
        """The name of a test set's class space."""
        stamp = test_set_stamp(self.workspace.store, test_set)
        return self._space_names.get(test_set, lambda: self.test_set(test_set).class_space.name, stamp=stamp)

    def class_space(self, name: str) -> ClassSpace:
        """A class space; an unknown name raises."""
        store = self.workspace.store
        if name not in (names := store.class_spaces.names()):
            raise UnknownName("class space", name, names)
        return self._class_spaces.get(name, lambda: store.class_spaces.read(name))

    def class_index(self, name: str) -> ClassIndex:
        """The index of all classes of a class space."""
        return self._class_indexes.get(name, lambda: class_index(self.class_space(name)))

    def label_index(self, test_set: str, labels: str) -> LabelIndex:
        """A label set of a test set, in the named version (default: the newest)."""
        full_name = self.explorer.labels_named(test_set, labels)
        return self._label_indexes.get(
            (test_set, full_name),
            lambda: LabelIndex(self.workspace.store.labels.read(self.test_set(test_set), full_name)),
        )

    def examined(self) -> frozenset[str]:
        """The test sets with an examination: none of their images is shown with its class to anyone."""
        return frozenset(self.hiding.test_sets(self.ledger.queues.examinations()))

    def hidden_from(self, person: Person) -> HiddenImages:
        """The images whose labels and predictions are hidden from a person now."""
        return self.hiding.hidden_from(person)

    def queue(self, queue_id: int, person: Person) -> Queue:
        """A queue that a person may work on, by its id."""
        return self.ledger.queues.for_person(person, queue_id)

    def item(self, queue_id: int, item_id: int, person: Person) -> tuple[Queue, Item]:
        """A queue that a person may work on, and its item; raises if it is held back from them."""
        queue, item = self.ledger.items.for_person(person, queue_id, item_id)
        self.holding.check(queue, item, person)
        return queue, item

    def agreement(self, queue: Queue, votes: tuple[int, int]) -> PanelAgreement | None:
        """The agreement of a queue's people on items where all have voted, or None if it is undefined.

        ``votes``, the number of standing votes and the id of the newest, tell when to compute it again.
        """
        return self._agreements.get(queue.id, lambda: self._agreement(queue), stamp=(queue, votes))

    def _agreement(self, queue: Queue) -> PanelAgreement | None:
        if queue.question is Question.SELECT:  # selections of 48 images are hardly ever equal
            return None
        try:
            return self.workspace.review.agreement(queue.name, revealed_only=True).panels[0]
        except InputError:
            return None
