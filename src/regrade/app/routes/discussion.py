"""What the panel's pages call: how an item stands, a comment, locking a verdict and opening it again."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from regrade.app.forms import StrictForm, StrictRoute
from regrade.app.number_parsing import Number
from regrade.app.panel_access import PanelItem, SubjectHere
from regrade.app.panel_view import panel_state
from regrade.app.plain_text import PlainText
from regrade.core import InputError

router = APIRouter(prefix="/api/panel/{queue_id}/{item_id}", tags=["panel"], route_class=StrictRoute)


class CommentForm(StrictForm):
    """What someone says, with links to evidence in its text."""

    text: Annotated[PlainText, Field(max_length=5000)]


class LockForm(StrictForm):
    """``seen`` is the newest vote on the page: where another one stands by now, nothing is locked."""

    seen: Number
    why: Annotated[PlainText, Field(max_length=1000)] = ""


class ReopenForm(StrictForm):
    """Why a decision is taken back."""

    why: Annotated[PlainText, Field(max_length=1000)]


class PanelState(BaseModel):
    """How an item stands; nothing where it is as it was at the version that was asked with."""

    state: dict[str, Any] | None


class Address(BaseModel):
    """Where to go."""

    address: str


@router.get("")
def state(subject: SubjectHere, version: Annotated[str, Query(max_length=64)] = "") -> PanelState:
    """How an item stands, if that has changed since ``version``."""
    now = _state(subject)
    return PanelState(state=None if now["version"] == version else now)


@router.post("/comments")
def comment(subject: SubjectHere, form: CommentForm) -> PanelState:
    """Say something; the same words at once a second time are said once."""
    if subject.item.missing > 0:
        raise InputError("the discussion opens once all have voted")
    subject.site.ledger.comment(subject.item.id, subject.person, form.text)
    return PanelState(state=_state(subject))


@router.post("/lock")
def lock(subject: SubjectHere, form: LockForm) -> PanelState:
    """Decide by what most say."""
    subject.site.ledger.lock(subject.item.id, subject.person, why=form.why, seen=form.seen)
    return PanelState(state=_state(subject))


@router.post("/reopen")
def reopen(subject: SubjectHere, form: ReopenForm) -> PanelState:
    """Take a decision back, with a reason."""
    subject.site.ledger.reopen(subject.item.id, subject.person, why=form.why)
    return PanelState(state=_state(subject))


@router.post("/again")
def again(subject: SubjectHere) -> Address:
    """Have a class judged again whose mistake was found to be none."""
    asked = subject.site.workspace.judge_again(subject.queue, subject.item)
    return Address(address=f"/panel/{asked.queue_id}/{asked.id}")


def _state(subject: PanelItem) -> dict[str, Any]:
    return panel_state(subject.site, subject.queue, subject.item, subject.person)
