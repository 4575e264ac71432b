"""A build on the digits of the app's tests: one collector selected everything, and three images are drawn per class."""

from collections.abc import Iterator
from contextlib import contextmanager

from regrade.build.files import AnswerBatch, AnswerCollection, TaskCollection
from regrade.build.frequencies import Assignment
from regrade.ledger import Queue
from regrade.workspace import Workspace

BUILD, PER_CLASS = "new", 3


def draw(workspace: Workspace, **options) -> None:
    """Draw the next revision."""
    workspace.build.sample(BUILD, "threshold", per_class=PER_CLASS, min_answers=1, lowest=1.0, **options)


def open_review(workspace: Workspace, overlap: int = 1) -> Queue:
    """A build with one revision of 30 images, and its review queue."""
    workspace.build.tasks(BUILD, "digits", "reference", workers=1, positives=0, negatives=0, annotated=0)
    tasks = TaskCollection(workspace.store.root).read(BUILD).tasks
    answers = [Assignment(task.id, "Cora", frozenset(tile.image for tile in task.tiles)) for task in tasks]
    AnswerCollection(workspace.store.root).add(AnswerBatch(BUILD, tuple(answers)), None)
    draw(workspace)
    workspace.build.review(BUILD, overlap=overlap)
    return workspace.ledger.queues.named(f"{BUILD} review")


def items_of(workspace: Workspace, queue: Queue, class_id: str, name: str = "Rita") -> list[int]:
    """The ids of the items of a class, in the order of the queue."""
    person = workspace.ledger.people.named(name)
    return [row.item.id for row in workspace.ledger.discussions.standings(queue, person, class_id=class_id)]


@contextmanager
def removed_file(workspace: Workspace, image: str) -> Iterator[None]:
    """Remove the file of an image for a while."""
    digits = workspace.store.test_set("digits")
    source = workspace.store.images.read(digits)
    path = source.path / source.locations[digits.position(image)]
    content = path.read_bytes()
    path.unlink()
    try:
        yield
    finally:
        path.write_bytes(content)
