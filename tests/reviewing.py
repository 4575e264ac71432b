"""Simulated reviewers of a build: they keep every open image of the newest revision but those with a reason to flag."""

from collections.abc import Mapping
from itertools import count

from regrade.build.files import RevisionCollection
from regrade.ledger import Role, VoteContent
from regrade.workspace import Workspace

_keys = count()


def add_reviewer(workspace: Workspace, name: str):
    """A reviewer, who may exist."""
    people = workspace.ledger.people
    return next((person for person in people.all() if person.name == name), None) or people.add(name, Role.REVIEWER)


def newest_images(workspace: Workspace, build: str) -> dict[str, str]:
    """The class of each image of the newest revision."""
    revisions = RevisionCollection(workspace.store.root)
    return dict(revisions.read(build, revisions.numbers(build)[-1]).sample.examples)


def vote_on_open(workspace: Workspace, build: str, name: str, flagged: Mapping[str, str] | None = None) -> int:
    """Vote on every image of the newest revision that is open for a person, and return how many there were."""
    ledger, images = workspace.ledger, newest_images(workspace, build)
    person, queue = add_reviewer(workspace, name), ledger.queues.named(f"{build} review")
    open_items = [row.item for row in ledger.discussions.standings(queue, person) if row.open]
    contents = {}
    for item in open_items:
        if item.example in images:
            reason = (flagged or {}).get(item.example, "")
            answer = "problematic" if reason else "keep"
            contents[item.id] = VoteContent(f"review-key-{next(_keys)}", answer, reason=reason)
    ledger.votes.cast_all(person, contents)
    return len(contents)


def publish(workspace: Workspace, build: str):
    """Publish the review of a build."""
    return workspace.review.publish(f"{build} review")
