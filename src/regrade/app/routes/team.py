"""Team: who may come in and as what, whose queue is whose, and taking everything along."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import BaseModel, Field

from regrade.app.access import Owner, SiteHere
from regrade.app.number_parsing import Number, PathNumber
from regrade.app.pages import page
from regrade.app.plain_text import PlainText
from regrade.app.sessions import Session
from regrade.app.site import Site
from regrade.core import AlreadyStored, InputError, UnknownName
from regrade.core.arguments import member
from regrade.ledger import Person, Queue, Role
from regrade.ledger.row_files import rows_as_file
from regrade.ledger.schema import now_in_utc

router = APIRouter(prefix="/team", include_in_schema=False)
Preview = Annotated[PlainText, Form(max_length=4000)]
"""What an owner has seen of a change before they confirm it; empty where they have not seen it yet."""


class OverlapForm(BaseModel):
    """How many votes an item needs, and what the owner has seen of the change."""

    overlap: Number
    preview: Annotated[PlainText, Field(max_length=4000)] = ""


_MEDIA = {"csv": "text/csv", "json": "application/json", "parquet": "application/vnd.apache.parquet"}


@router.get("")
def team(request: Request, site: SiteHere, _: Owner) -> Response:
    """Everyone, their roles, and the queues."""
    return _shown(request, site)


@router.post("/people")
def add(
    request: Request,
    site: SiteHere,
    _: Owner,
    name: Annotated[PlainText, Form(max_length=80)],
    role: Annotated[str, Form(max_length=20)],
) -> Response:
    """Add someone and show their invitation, once."""
    try:
        person = site.ledger.add_person(name, member(Role, role))
    except (InputError, AlreadyStored) as error:
        return _shown(request, site, trouble=str(error), status=400)
    return _invited(request, site, person)


@router.post("/people/{person_id}/invite")
def invite(person_id: PathNumber, request: Request, site: SiteHere, _: Owner) -> Response:
    """A new invitation: for someone who lost theirs, or their password."""
    return _invited(request, site, _person(site, person_id))


@router.post("/people/{person_id}/role")
def change_role(person_id: PathNumber, site: SiteHere, _: Owner, role: Annotated[str, Form(max_length=20)]) -> Response:
    """Let someone do more, or less."""
    site.ledger.set_role(_person(site, person_id), member(Role, role))
    return RedirectResponse("/team", 303)


@router.post("/people/{person_id}/close")
def close(person_id: PathNumber, site: SiteHere, session: Owner) -> Response:
    """Let someone in no more; what they said stays."""
    _refuse_oneself(session, person_id)
    site.accounts.close(_person(site, person_id))
    return RedirectResponse("/team", 303)


@router.post("/people/{person_id}/sign-out")
def sign_out(person_id: PathNumber, site: SiteHere, _: Owner) -> Response:
    """Sign someone out of every browser; their password stays."""
    site.accounts.end_sessions(_person(site, person_id))
    return RedirectResponse("/team", 303)


@router.post("/queues/{queue_id}")
def assign(
    queue_id: PathNumber, site: SiteHere, _: Owner, people: Annotated[list[Number] | None, Form()] = None
) -> Response:
    """Give a queue to some people, or to everyone again."""
    site.ledger.assign(_queue(site, queue_id), [_person(site, number) for number in people or []])
    return RedirectResponse("/team", 303)


@router.post("/queues/{queue_id}/overlap")
def change_overlap(
    queue_id: PathNumber, request: Request, site: SiteHere, session: Owner, form: Annotated[OverlapForm, Form()]
) -> Response:
    """Change how many votes the items of a queue need; what that does is shown first."""
    queue = _queue(site, queue_id)
    words = site.ledger.change_overlap(queue, form.overlap, by=session.person, dry_run=True).in_words()
    if words != form.preview:
        heading = f"Change the votes of {queue.name}?"
        return _confirmed(request, form.preview, heading, [words], button="Change it", overlap=form.overlap)
    return _shown(request, site, told=site.ledger.change_overlap(queue, form.overlap, by=session.person).in_words())


@router.post("/queues/{queue_id}/publish")
def publish(queue_id: PathNumber, request: Request, site: SiteHere, _: Owner, preview: Preview = "") -> Response:
    """Turn what stands in a queue into labels, verdicts, reviews or rows that every study reads; it is shown first."""
    queue = _queue(site, queue_id)
    would = site.workspace.publish(queue.name, dry_run=True)
    words = [line for line in (would.in_words(), would.undecided_in_words()) if line]
    if words[0] != preview or not would.changes:
        return _confirmed(
            request, preview, f"Publish {queue.name}?", words, button="Publish" if would.changes else ""
        )  # fmt: skip
    return _shown(request, site, told=site.workspace.publish(queue.name).in_words())


def _confirmed(
    request: Request, preview: str, heading: str, words: list[str], *, button: str, **fields: int
) -> Response:
    """The page on which an owner confirms what the first line says; ``preview`` is what they saw of it before."""
    return page(
        request, "confirm.html", heading=heading, lines=words, preview=words[0], changed=bool(preview),
        action=request.url.path, fields=fields, button=button,
    )  # fmt: skip


@router.post("/reports/{report_id}/clear")
def clear_report(report_id: PathNumber, site: SiteHere, session: Owner) -> Response:
    """Give an item to the person again who could not read its image."""
    site.reports.clear(report_id, session.person)
    return RedirectResponse("/team", 303)


@router.get("/export.{form}")
def export(form: Literal["csv", "json", "parquet"], site: SiteHere, _: Owner) -> Response:
    """The whole ledger as one file, accounts left out."""
    content = rows_as_file(site.ledger.rows(), f".{form}")
    return Response(
        content, media_type=_MEDIA[form], headers={"Content-Disposition": f"attachment; filename=ledger.{form}"}
    )


def _invited(request: Request, site: Site, person: Person) -> Response:
    link = f"{request.base_url}join/{site.accounts.invite(person)}"
    return _shown(request, site, invitation=(person.name, link))


def _shown(
    request: Request,
    site: Site,
    *,
    trouble: str = "",
    told: str = "",
    invitation: tuple[str, str] | None = None,
    status: int = 200,
) -> Response:
    queues = [(one, {person.id for person in site.ledger.assigned(one)}) for one in site.ledger.queues()]
    return page(
        request, "team.html", status=status, members=site.accounts.members(), now=now_in_utc(), queues=queues,
        roles=[one.value for one in Role], trouble=trouble, told=told, invitation=invitation,
        reports=site.reports.open(),
    )  # fmt: skip


def _queue(site: Site, queue_id: int) -> Queue:
    found = next((one for one in site.ledger.queues() if one.id == queue_id), None)
    if found is None:
        raise UnknownName("queue", str(queue_id), None)
    return found


def _person(site: Site, person_id: int) -> Person:
    found = next((one for one in site.ledger.people() if one.id == person_id), None)
    if found is None:
        raise UnknownName("person", str(person_id), None)
    return found


def _refuse_oneself(session: Session, person_id: int) -> None:
    if session.person.id == person_id:
        raise InputError("you would lock yourself out: another owner can close your account")
