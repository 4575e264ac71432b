"""Proposals for the team: the links, for owners, and what visitors wrote about an item, once a person has voted."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import BaseModel

from regrade.app.access import Owner, Reviewer, SiteDep
from regrade.app.forms import PathId, PlainText
from regrade.app.pages import page
from regrade.app.site import Site
from regrade.core import RegradeError, UnknownName
from regrade.ledger import Proposal

router = APIRouter(prefix="/team/proposals", include_in_schema=False)
api = APIRouter(prefix="/api/queues/{queue_id}", tags=["work"])


class ShownProposal(BaseModel):
    """What somebody proposed about an item."""

    by: str
    claim: str
    reason: str


@router.get("")
def links(request: Request, site: SiteDep, _: Owner) -> Response:
    """The page with all links."""
    return _links_page(request, site)


@router.post("")
def new_link(
    request: Request,
    site: SiteDep,
    _: Owner,
    name: Annotated[PlainText, Form(max_length=60)],
    test_set: Annotated[PlainText, Form(max_length=200)],
    labels: Annotated[PlainText, Form(max_length=200)],
) -> Response:
    """Create a link and show it, once."""
    try:
        created = site.workspace.review.propose_link(name.strip(), test_set=test_set, labels=labels)
    except RegradeError as error:
        entered = {"name": name, "test_set": test_set, "labels": labels}
        return _links_page(request, site, error_text=str(error), entered=entered, status=400)
    return _links_page(request, site, created=(name.strip(), f"{request.base_url}propose/{created.token}"))


@router.post("/{queue_id}/end")
def end_link(queue_id: PathId, site: SiteDep, _: Owner) -> Response:
    """End a link at once; its proposals stay."""
    queues = {link.queue.id: link.queue for link in site.ledger.proposals.links()}
    if queue_id not in queues:
        raise UnknownName("proposal link", str(queue_id), None)
    site.ledger.proposals.end_link(queues[queue_id])
    return RedirectResponse("/team/proposals", 303)


@api.get("/items/{item_id}/proposals")
def proposals(queue_id: PathId, item_id: PathId, site: SiteDep, session: Reviewer) -> list[ShownProposal]:
    """What visitors wrote about an item, once the person has voted; what colleagues wrote, once all have."""
    _, item = site.item(queue_id, item_id, session.person)
    seen = site.ledger.discussions.seen_by(item.id, session.person)
    has_voted = any(vote.person_id == session.person.id for vote in seen.standing)
    stored = site.ledger.proposals.of_item(item.id) if has_voted or seen.open else ()
    return [_shown(proposal) for proposal in stored if seen.open or proposal.person is None]


def _shown(proposal: Proposal) -> ShownProposal:
    return ShownProposal(by=proposal.by, claim=proposal.claim.value, reason=proposal.reason)


def _links_page(
    request: Request,
    site: Site,
    *,
    created: tuple[str, str] | None = None,
    error_text: str = "",
    entered: dict[str, str] | None = None,
    status: int = 200,
) -> Response:
    return page(
        request, "proposal_links.html", status=status, links=site.workspace.review.propose_links(), created=created,
        error_text=error_text, entered=entered or {}, choices=_label_sets(site),
    )  # fmt: skip


def _label_sets(site: Site) -> list[tuple[str, str]]:
    """The label sets of all test sets with images, as (test set, name)."""
    store = site.workspace.store
    with_images = [name for name in site.readable_test_sets() if store.images.has(name)]
    pairs = [(name, labels.partition("@")[0]) for name in with_images for labels in store.labels.names(name)]
    return list(dict.fromkeys(pairs))
