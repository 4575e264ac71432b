"""Team: accounts and roles, assignment of queues, publishing, and export of the ledger."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import BaseModel, Field

from regrade.app.access import Owner, SiteDep
from regrade.app.forms import FormId, PathId, PlainText
from regrade.app.pages import page
from regrade.app.sessions import Session
from regrade.app.site import Site
from regrade.build.grid_work import is_qualification
from regrade.core import AlreadyStored, InputError, UnknownName
from regrade.core.names import member
from regrade.ledger import AccountState, Member, Person, Queue, Role
from regrade.ledger.row_files import rows_as_file
from regrade.ledger.schema import now_in_utc

router = APIRouter(prefix="/team", include_in_schema=False)
Preview = Annotated[PlainText, Form(max_length=4000)]
"""The preview of a change that the owner has seen; empty before the first look."""


class OverlapForm(BaseModel):
    """The number of votes per item, and the preview that the owner has seen."""

    overlap: FormId
    preview: Annotated[PlainText, Field(max_length=4000)] = ""


_MEDIA = {"csv": "text/csv", "json": "application/json", "parquet": "application/vnd.apache.parquet"}


@router.get("")
def team(request: Request, site: SiteDep, _: Owner) -> Response:
    """The page with all people, their roles, and the queues."""
    return _team_page(request, site)


@router.post("/people")
def add(
    request: Request,
    site: SiteDep,
    _: Owner,
    name: Annotated[PlainText, Form(max_length=80)],
    role: Annotated[str, Form(max_length=20)],
) -> Response:
    """Add a person and show their invitation, once."""
    try:
        invited = site.accounts.invite_new(name, member(Role, role))
    except (InputError, AlreadyStored) as error:
        return _team_page(request, site, error_text=str(error), status=400)
    return _invitation_page(request, site, invited.person, invited.token)


@router.post("/people/{person_id}/invite")
def invite(person_id: PathId, request: Request, site: SiteDep, _: Owner) -> Response:
    """Create a new invitation, for a person who lost theirs or their password."""
    person = _person(site, person_id)
    return _invitation_page(request, site, person, site.accounts.invite(person))


@router.post("/people/{person_id}/role")
def change_role(person_id: PathId, site: SiteDep, _: Owner, role: Annotated[str, Form(max_length=20)]) -> Response:
    """Change a person's role."""
    site.ledger.people.set_role(_person(site, person_id), member(Role, role))
    return RedirectResponse("/team", 303)


@router.post("/people/{person_id}/close")
def close(person_id: PathId, site: SiteDep, session: Owner) -> Response:
    """Close an account; the person's votes stay."""
    _check_not_self(session, person_id)
    site.accounts.close(_person(site, person_id))
    return RedirectResponse("/team", 303)


@router.post("/people/{person_id}/sign-out")
def sign_out(person_id: PathId, site: SiteDep, _: Owner) -> Response:
    """Sign a person out of every browser; their password stays."""
    site.accounts.end_sessions(_person(site, person_id))
    return RedirectResponse("/team", 303)


@router.post("/queues/{queue_id}")
def assign(
    queue_id: PathId, site: SiteDep, _: Owner, people: Annotated[list[FormId] | None, Form()] = None
) -> Response:
    """Assign a queue to some people, or to everyone."""
    names = [_person(site, number).name for number in people or []]
    site.workspace.review.assign(_queue(site, queue_id).name, names)
    return RedirectResponse("/team", 303)


@router.post("/queues/{queue_id}/overlap")
def change_overlap(
    queue_id: PathId, request: Request, site: SiteDep, session: Owner, form: Annotated[OverlapForm, Form()]
) -> Response:
    """Change how many votes the items of a queue need, after a preview."""
    queue = _queue(site, queue_id)
    words = site.ledger.queues.change_overlap(queue, form.overlap, by=session.person, dry_run=True).in_words()
    if words != form.preview:
        heading = f"Change the number of votes of {queue.name}?"
        return _confirmation_page(request, form.preview, heading, [words], button="Change it", overlap=form.overlap)
    return _team_page(
        request, site, message=site.ledger.queues.change_overlap(queue, form.overlap, by=session.person).in_words()
    )


@router.post("/queues/{queue_id}/publish")
def publish(queue_id: PathId, request: Request, site: SiteDep, _: Owner, preview: Preview = "") -> Response:
    """Publish the decisions of a queue as labels, reviews, mistake annotations or answers, after a preview."""
    queue = _queue(site, queue_id)
    would = site.workspace.review.publish(queue.name, dry_run=True)
    words = [line for line in (would.in_words(), would.undecided_in_words()) if line]
    if words[0] != preview or not would.changes:
        return _confirmation_page(
            request, preview, f"Publish {queue.name}?", words, button="Publish" if would.changes else ""
        )  # fmt: skip
    return _team_page(request, site, message=site.workspace.review.publish(queue.name).in_words())


def _confirmation_page(
    request: Request, preview: str, heading: str, words: list[str], *, button: str, **fields: int
) -> Response:
    """The page on which an owner confirms a change; ``preview`` is the preview that they saw before."""
    return page(
        request, "confirm.html", heading=heading, lines=words, preview=words[0], changed=bool(preview),
        action=request.url.path, fields=fields, button=button,
    )  # fmt: skip


@router.post("/reports/{report_id}/clear")
def clear_report(report_id: PathId, site: SiteDep, session: Owner) -> Response:
    """Clear a report, so that the person gets the item with the unreadable image again."""
    site.reports.clear(report_id, session.person)
    return RedirectResponse("/team", 303)


@router.get("/export.{form}")
def export(form: Literal["csv", "json", "parquet"], site: SiteDep, _: Owner) -> Response:
    """The whole ledger as one file, without accounts."""
    content = rows_as_file(site.ledger.rows(), f".{form}")
    return Response(
        content, media_type=_MEDIA[form], headers={"Content-Disposition": f"attachment; filename=ledger.{form}"}
    )


def _invitation_page(request: Request, site: Site, person: Person, token: str) -> Response:
    link = f"{request.base_url}join/{token}"
    return _team_page(request, site, invitation=(person.name, link))


def _team_page(
    request: Request,
    site: Site,
    *,
    error_text: str = "",
    message: str = "",
    invitation: tuple[str, str] | None = None,
    status: int = 200,
) -> Response:
    queues = [
        (queue, {person.id for person in site.ledger.queues.assigned(queue)})
        for queue in site.ledger.queues.all()
        if not is_qualification(queue)
    ]
    everyone = site.accounts.members()
    members = [member for member in everyone if not _has_link_only(member)]
    return page(
        request, "team.html", status=status, members=members, linked_workers=len(everyone) - len(members),
        now=now_in_utc(), queues=queues,
        roles=[role.value for role in Role], error_text=error_text, message=message, invitation=invitation,
        reports=site.reports.open(),
    )  # fmt: skip


def _has_link_only(member: Member) -> bool:
    """Whether a worker has no account; there may be hundreds, and the pages of builds list them."""
    return member.person.role is Role.WORKER and member.state is AccountState.NONE


def _queue(site: Site, queue_id: int) -> Queue:
    queue = next((queue for queue in site.ledger.queues.all() if queue.id == queue_id), None)
    if queue is None:
        raise UnknownName("queue", str(queue_id), None)
    return queue


def _person(site: Site, person_id: int) -> Person:
    person = next((person for person in site.ledger.people.all() if person.id == person_id), None)
    if person is None:
        raise UnknownName("person", str(person_id), None)
    return person


def _check_not_self(session: Session, person_id: int) -> None:
    if session.person.id == person_id:
        raise InputError("you cannot close your own account: ask another owner")
