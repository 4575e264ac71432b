"""Links through which anyone can propose corrections of a label set, and the queues that the proposals enter."""

from __future__ import annotations

from dataclasses import dataclass

from regrade.core import InputError, UnknownName
from regrade.core.amounts import ago
from regrade.core.label_set import without_version
from regrade.ledger import Ledger, ProposalLink, Question, Queue
from regrade.ledger.schema import now_in_utc
from regrade.store import Store
from regrade.workspace.queue_filling import QueueFiller

_PREFIX = "proposals "


@dataclass(frozen=True)
class NewProposalLink:
    """A new link: the queue that its proposals enter, and the token, which is not stored."""

    queue: Queue
    token: str


@dataclass(frozen=True)
class ProposalLinkState:
    """A link with the number of proposals and of items that came through it so far."""

    link: ProposalLink
    proposals: int
    items: int

    @property
    def name(self) -> str:
        """The name of the link."""
        return self.link.queue.name.removeprefix(_PREFIX)

    def in_words(self) -> str:
        """Whether it works, and since when."""
        if self.link.ended is not None:
            return f"ended {ago((now_in_utc() - self.link.ended).total_seconds())}"
        return f"created {ago((now_in_utc() - self.link.created).total_seconds())}"


def new_proposal_link(store: Store, ledger: Ledger, name: str, *, test_set: str, labels: str) -> NewProposalLink:
    """Create a link by name, with its queue if it is new; an earlier link of the name ends."""
    target = store.test_set(test_set)
    label_set = without_version(store.labels.read(target, labels).full_name)
    if not store.images.has(test_set):
        raise InputError(f"the images of {test_set} are not in the workspace, so that visitors could not see them")
    examinations = (queue for queue in ledger.queues.examinations() if test_set in ledger.items.test_sets(queue))
    if examination := next(examinations, None):
        raise InputError(
            f"images of {test_set} are labeled in the examination {examination.name!r}: nobody may see its labels"
        )
    if not name.strip():
        raise InputError("the name of a link must not be empty")
    filler = QueueFiller(ledger, _PREFIX + name, Question.JUDGE, target, label_set)
    if filler.queue is None:
        filler.add([])
    queue = ledger.queues.named(_PREFIX + name)
    return NewProposalLink(queue, ledger.proposals.new_link(queue))


def proposal_link_named(ledger: Ledger, name: str) -> Queue:
    """The queue of a link by the link's name; raises if there is none."""
    links = {link.queue.name.removeprefix(_PREFIX): link.queue for link in ledger.proposals.links()}
    if name not in links:
        raise UnknownName("proposal link", name, list(links), first="regrade team propose-link")
    return links[name]


def proposal_links(ledger: Ledger) -> tuple[ProposalLinkState, ...]:
    """All links with their numbers, oldest first."""
    links = ledger.proposals.links()
    sizes = ledger.queues.sizes([link.queue.id for link in links])
    return tuple(
        ProposalLinkState(link, ledger.proposals.count(link.queue), sizes.get(link.queue.id, 0)) for link in links
    )
