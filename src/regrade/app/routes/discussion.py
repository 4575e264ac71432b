"""The API of the panel pages: the state of an item, comments, locking and reopening a decision."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from regrade.app.forms import FormId, PlainText, StrictForm, StrictRoute
from regrade.app.panel_access import PanelItem, PanelItemDep
from regrade.app.panel_view import panel_state
from regrade.core import InputError

router = APIRouter(prefix="/api/panel/{queue_id}/{item_id}", tags=["panel"], route_class=StrictRoute)


class CommentForm(StrictForm):
    """A comment; its text may contain links to evidence."""

    text: Annotated[PlainText, Field(max_length=5000)]


class LockForm(StrictForm):
    """``seen`` is the newest vote on the page; if there is a newer one by now, nothing is locked."""

    seen: FormId
    why: Annotated[PlainText, Field(max_length=1000)] = ""


class ReopenForm(StrictForm):
    """The reason for taking a decision back."""

    why: Annotated[PlainText, Field(max_length=1000)]


class PanelState(BaseModel):
    """The state of an item, or None if it has not changed since the requested version."""

    state: dict[str, Any] | None


class Address(BaseModel):
    """The URL to go to."""

    address: str


@router.get("")
def state(panel_item: PanelItemDep, version: Annotated[str, Query(max_length=64)] = "") -> PanelState:
    """The state of an item, if it has changed since ``version``."""
    now = _state(panel_item)
    return PanelState(state=None if now["version"] == version else now)


@router.post("/comments")
def comment(panel_item: PanelItemDep, form: CommentForm) -> PanelState:
    """Add a comment; a comment that is sent twice in a row is stored once."""
    if panel_item.item.missing > 0:
        raise InputError("comments open once all have voted")
    panel_item.site.ledger.discussions.comment(panel_item.item.id, panel_item.person, form.text)
    return PanelState(state=_state(panel_item))


@router.post("/lock")
def lock(panel_item: PanelItemDep, form: LockForm) -> PanelState:
    """Lock the decision of the majority."""
    panel_item.site.ledger.decisions.lock(panel_item.item.id, panel_item.person, why=form.why, seen=form.seen)
    return PanelState(state=_state(panel_item))


@router.post("/reopen")
def reopen(panel_item: PanelItemDep, form: ReopenForm) -> PanelState:
    """Take a decision back, with a reason."""
    panel_item.site.ledger.decisions.reopen(panel_item.item.id, panel_item.person, why=form.why)
    return PanelState(state=_state(panel_item))


@router.post("/again")
def again(panel_item: PanelItemDep) -> Address:
    """Have a prediction judged again after a panel decided that it is not a mistake."""
    item = panel_item.site.workspace.judge_again(panel_item.queue, panel_item.item)
    return Address(address=f"/panel/{item.queue_id}/{item.id}")


def _state(panel_item: PanelItem) -> dict[str, Any]:
    return panel_state(panel_item.site, panel_item.queue, panel_item.item, panel_item.person)
