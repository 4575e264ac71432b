"""What a panel's pages are told of one item; of others' votes and words nothing before all have voted."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from regrade.app.site import Site
from regrade.app.views import score_words
from regrade.core import UndefinedError
from regrade.core.panel import NO_MISTAKE
from regrade.ledger import Decision, Discussion, Discussions, Item, Person, Question, Queue, Vote, panel_decision


def panel_state(site: Site, queue: Queue, item: Item, viewer: Person) -> dict[str, Any]:
    """Everything that changes while people talk, as plain values; ``version`` is another when any of it is."""
    seen = Discussions(site.ledger.engine).seen_by(item.id, viewer)
    names = {one.id: one.name for one in site.ledger.people()}
    mine = next((one for one in seen.standing if one.person_id == viewer.id), None)
    state = {
        "open": seen.open,
        "missing": max(0, seen.item.missing),
        "mine": None if mine is None else _vote(mine, names),
        "reason_needed": mine is not None or (_has_voted(seen, viewer) and site.ledger.is_revealed(item.id, viewer)),
        "votes": [_vote(one, names) for one in seen.standing] if seen.open else [],
        "newest": max((one.id for one in seen.standing), default=None) if seen.open else None,
        "changes": _changes(seen, names),
        "comments": [
            {"id": one.id, "person": names[one.person_id], "text": one.text, "at": one.at.isoformat()}
            for one in seen.comments
        ],
        "decision": None if seen.decision is None else _decision(seen.decision, names),
        "past": [_decision(one, names) for one in seen.decisions if one is not seen.decision],
        "verdict": _verdict(queue, seen),
        "score": score_words(site, queue, item, all_voted=seen.open),
        "suggestion": site.suggestions.of(queue, item) if mine and queue.question is Question.MISTAKE else None,
        "again": seen.decision is not None and seen.decision.answer == NO_MISTAKE,
    }
    digest = hashlib.sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()
    return {"version": digest[:16], **state}


def _has_voted(seen: Discussion, viewer: Person) -> bool:
    return any(vote.person_id == viewer.id for vote in seen.votes)


def _vote(vote: Vote, names: Mapping[int, str]) -> dict[str, Any]:
    return {"person": names[vote.person_id], "answer": vote.answer, "severity": vote.severity, "reason": vote.reason}


def _changes(seen: Discussion, names: Mapping[int, str]) -> list[dict[str, Any]]:
    """Votes that took another's place since all had voted, oldest first; what came before is a slip of one's own."""
    before: dict[int, Vote] = {}
    opened, changes = False, []
    for one in seen.votes:
        replaced = before.get(one.person_id)
        if opened and replaced is not None:
            told = {"person": names[one.person_id], "before": _said(replaced), "after": _said(one)}
            changes.append({**told, "why": one.why, "at": one.at.isoformat()})
        before[one.person_id] = one
        opened = opened or sum(vote.answer is not None for vote in before.values()) >= seen.item.needed
    return changes


def _said(vote: Vote) -> str:
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


def _verdict(queue: Queue, seen: Discussion) -> dict[str, Any] | None:
    """What the votes would come to if they were locked now, or why they would not."""
    if not seen.open or seen.decision is not None or not seen.standing:
        return None
    try:
        found, severity = panel_decision(queue.question, [(one.answer or "", one.severity) for one in seen.standing])
    except UndefinedError as tie:
        return {"answer": None, "severity": None, "reached": None, "tie": str(tie)}
    return {"answer": found.answer, "severity": severity, "reached": found.reached.value, "tie": ""}
