"""The API of the panel pages: the state of an item, comments, locking and reopening a decision."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from regrade.app.forms import FormId, JsonId, PlainText, StrictForm, StrictRoute
from regrade.app.routes.panel import PanelItem, PanelItemDep, PanelQuestionDep
from regrade.app.site import Site
from regrade.app.views import score_text
from regrade.core import InputError, UndefinedError, UnknownName
from regrade.core.panel import NO_MISTAKE
from regrade.ledger import Decision, Discussion, Item, Person, Question, Queue, Vote, panel_decision

router = APIRouter(prefix="/api/panel/{queue_id}/{item_id}", tags=["panel"], route_class=StrictRoute)


class CommentForm(StrictForm):
    """A comment; its text may contain links to evidence."""

    text: Annotated[PlainText, Field(max_length=5000)]


class ExpertForm(StrictForm):
    """The expert to ask for one more vote, and what is in question."""

    expert: JsonId
    note: Annotated[PlainText, Field(max_length=1000)]


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


@router.post("/ask")
def ask(panel_item: PanelItemDep, form: ExpertForm) -> PanelState:
    """Ask an expert to vote on an item that the panel discusses."""
    ledger = panel_item.site.ledger
    expert = next((person for person in ledger.people.all() if person.id == form.expert), None)
    if expert is None:
        raise UnknownName("person", str(form.expert), None)
    ledger.experts.ask(panel_item.queue, panel_item.item.id, panel_item.person, expert, form.note)
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
def again(panel_item: PanelQuestionDep) -> Address:
    """Have a prediction judged again after a panel decided that it is not a mistake."""
    item = panel_item.site.workspace.review.judge_again(panel_item.queue, panel_item.item)
    return Address(address=f"/panel/{item.queue_id}/{item.id}")


def _state(panel_item: PanelItem) -> dict[str, Any]:
    return panel_state(panel_item.site, panel_item.queue, panel_item.item, panel_item.person)


def panel_state(site: Site, queue: Queue, item: Item, viewer: Person) -> dict[str, Any]:
    """Everything that may change during a discussion; ``version`` changes with any of it."""
    seen = site.ledger.discussions.seen_by(item.id, viewer)
    people = site.ledger.people.all()
    names = {person.id: person.name for person in people}
    mine = next((vote for vote in seen.standing if vote.person_id == viewer.id), None)
    state = {
        "open": seen.open,
        "missing": max(0, seen.item.missing),
        "mine": None if mine is None else _vote(mine, names),
        "reason_needed": mine is not None
        or (_has_voted(seen, viewer) and site.ledger.votes.is_revealed(item.id, viewer)),
        "votes": [_vote(vote, names) for vote in seen.standing] if seen.open else [],
        "experts": _experts(site, seen, people),
        "newest": max((vote.id for vote in seen.standing), default=None) if seen.open else None,
        "changes": _changes(seen, names),
        "comments": [
            {
                "id": comment.id,
                "person": names[comment.person_id],
                "text": comment.text,
                "at": comment.at.isoformat(),
            }
            for comment in seen.comments
        ],
        "decision": None if seen.decision is None else _decision(seen.decision, names),
        "past": [_decision(decision, names) for decision in seen.decisions if decision is not seen.decision],
        "verdict": _provisional_decision(queue, seen),
        "score": score_text(site, queue, item, all_voted=seen.open),
        "suggestion": site.suggestions.of(queue, item) if mine and queue.question is Question.MISTAKE else None,
        "again": seen.decision is not None and seen.decision.answer == NO_MISTAKE,
    }
    digest = hashlib.sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()
    return {"version": digest[:16], **state}


def _experts(site: Site, seen: Discussion, people: Sequence[Person]) -> list[dict[str, Any]]:
    """The experts who were asked about the item, once each, by the first person who asked, and whether they voted."""
    questions = site.ledger.experts.of_comments(seen.item, seen.comments, people)
    first = {question.expert.id: question for question in reversed(questions)}
    voters = {vote.person_id for vote in seen.standing}
    return [
        {
            "person": question.expert.name,
            "by": question.by.name,
            "at": question.at.isoformat(),
            "answered": question.expert.id in voters,
        }
        for question in sorted(first.values(), key=lambda question: question.at)
    ]


def _has_voted(seen: Discussion, viewer: Person) -> bool:
    return any(vote.person_id == viewer.id for vote in seen.votes)


def _vote(vote: Vote, names: Mapping[int, str]) -> dict[str, Any]:
    return {"person": names[vote.person_id], "answer": vote.answer, "severity": vote.severity, "reason": vote.reason}


def _changes(seen: Discussion, names: Mapping[int, str]) -> list[dict[str, Any]]:
    """Votes that replaced another one after all had voted, oldest first; earlier changes are not shown."""
    newest: dict[int, Vote] = {}
    opened, changes = False, []
    for vote in seen.votes:
        replaced = newest.get(vote.person_id)
        if opened and replaced is not None:
            change = {"person": names[vote.person_id], "before": _vote_text(replaced), "after": _vote_text(vote)}
            changes.append({**change, "why": vote.why, "at": vote.at.isoformat()})
        newest[vote.person_id] = vote
        opened = opened or sum(earlier.answer is not None for earlier in newest.values()) >= seen.item.needed
    return changes


def _vote_text(vote: Vote) -> str:
    return ", ".join(part for part in (vote.answer, vote.severity) if part)


def _decision(decision: Decision, names: Mapping[int, str]) -> dict[str, Any]:
    return {
        "answer": decision.answer,
        "severity": decision.severity,
        "reached": decision.reached,
        "person": None if decision.person_id is None else names[decision.person_id],
        "why": decision.why,
        "at": decision.at.isoformat(),
    }


def _provisional_decision(queue: Queue, seen: Discussion) -> dict[str, Any] | None:
    """The decision if the votes were locked now, or why they would be tied."""
    if not seen.open or seen.decision is not None or not seen.standing:
        return None
    try:
        decided = panel_decision(queue.question, [(vote.answer or "", vote.severity) for vote in seen.standing])
    except UndefinedError as tie:
        return {"answer": None, "severity": None, "reached": None, "tie": str(tie)}
    return {"answer": decided.answer, "severity": decided.severity, "reached": decided.reached.value, "tie": ""}
