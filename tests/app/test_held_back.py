"""No kind of queue serves a person an image that they still have to label in an examination, by id or by content."""

import itertools
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from class_review_world import open_review
from grid_world import answer_next, careful, work_of
from judging import item_of
from pair_world import open_pair_queue
from PIL import Image

import regrade.app.routes
from regrade.build.tasks import TileRole
from regrade.core import InputError
from regrade.ledger import QUESTIONS, Mode, NewItem, Question, Queue
from regrade.workspace import Workspace

_keys = itertools.count()
LINE = "{} held back until you have labeled {} in 'exam'"


def key() -> str:
    return f"held-key-{next(_keys):05}"


def examination(workspace, test_set, ids, *, people=("Rita",), overlap=None):
    queue = workspace.ledger.queues.create(
        "exam", Question.LABEL, test_set=test_set, overlap=overlap or len(people) or 1
    )
    workspace.ledger.items.add(queue, [NewItem(example) for example in ids])
    workspace.ledger.queues.assign(queue, [workspace.ledger.people.named(name) for name in people])
    return queue


def answer_examination(workspace, visitor, name, queue):
    client = visitor(name)
    space = workspace.store.test_set(queue.test_set).class_space
    while (item := client.get(f"/api/queues/{queue.id}/next").json()["item"]) is not None:
        assert client.get(item["image"]).status_code == 200
        reply = client.write(f"/api/queues/{queue.id}/votes", item=item["id"], key=key(), answer=space.ids[0])
        assert reply.status_code == 200, reply.text


def renamed_copy(workspace, test_set, name, numbers):
    """A test set with some of the images under other names."""
    target = workspace.store.test_set(test_set)
    source = workspace.store.images.read(target)
    folder = workspace.store.root.parent / name
    for number in numbers:
        label = target.class_space.ids[target.labels[number]]
        path = folder / label / f"copied-{number}.bmp"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.open(f"{source.root}/{source.locations[number]}").convert("RGB").save(path)
    workspace.testsets.add(name, folder, classes=target.class_space.name)
    return workspace.store.test_set(name)


@dataclass(frozen=True)
class Kind:
    """A kind of queue about images of ``digits``: how to open one, and a valid answer."""

    open: Callable[[Workspace], Queue]
    answer: str
    severity: str | None = None


def _judge(workspace):
    return _about(workspace, Question.JUDGE, labels="multi")


def _mistake(workspace):
    return _about(workspace, Question.MISTAKE, labels="multi", model="beta")


def _training(workspace):
    return _about(workspace, Question.LABEL, mode=Mode.TRAINING)


def _about(workspace, question, **options):
    queue = workspace.ledger.queues.create("asking", question, test_set="digits", overlap=2, **options)
    target = workspace.store.test_set("digits")
    classes = ["" if question is Question.LABEL else str((int(label) + 1) % 10) for label in target.labels[:6]]
    workspace.ledger.items.add(queue, [NewItem(*pair) for pair in zip(target.ids[:6], classes, strict=True)])
    return queue


KINDS = {
    ("judge", Mode.EXAMINATION): Kind(_judge, "wrong"),
    ("mistake", Mode.EXAMINATION): Kind(_mistake, "fine-grained", severity="minor"),
    ("label", Mode.TRAINING): Kind(_training, "3"),
    ("pair", Mode.EXAMINATION): Kind(partial(open_pair_queue, count=6, overlap=2), "different"),
    ("review", Mode.EXAMINATION): Kind(partial(open_review, overlap=2), "keep"),
}
"""The kinds of queues whose items are served one by one; the grids of a build, ``select``, have a test of their own."""


def kinds_of_queues() -> Iterator[tuple[str, Mode]]:
    """Every registered question, and both modes of labeling, but not the examination itself."""
    for name, question in QUESTIONS.items():
        if question is Question.LABEL:
            yield name, Mode.TRAINING
        elif question is not Question.SELECT:
            yield name, Mode.EXAMINATION


def test_every_kind_of_queue_is_tested():
    assert set(kinds_of_queues()) == set(KINDS)


def served(client, queue) -> list[int]:
    """The ids of the items that a queue gives to a person who skips each of them."""
    items = []
    reply = client.get(f"/api/queues/{queue.id}/next").json()
    while reply["item"] is not None:
        items.append(reply["item"]["id"])
        for name in ("image", "second"):
            if reply["item"].get(name):
                assert client.get(reply["item"][name]).status_code == 200
        reply = client.write(f"/api/queues/{queue.id}/skip", item=items[-1]).json()
    assert client.write(f"/api/queues/{queue.id}/return-skipped").status_code == 200
    return items


def all_items(workspace, queue):
    images = workspace.ledger.items.images(queue)
    return {item_of(workspace.ledger, queue, image.example, image.class_id): image.example for image in images}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind[0])
@pytest.mark.parametrize("by_content", [False, True], ids=["by id", "by content"])
def test_images_of_an_open_examination_are_served_by_no_queue(app, workspace, visitor, kind, by_content):
    queue, client = KINDS[kind].open(workspace), visitor("Rita")
    examples = all_items(workspace, queue)
    assert sorted(served(client, queue)) == sorted(examples)
    target = workspace.store.test_set("digits")
    numbers = sorted({target.position(example) for example in examples.values()})[:2]
    held_ids = {target.ids[number] for number in numbers}
    if by_content:
        exam = examination(workspace, "copy", renamed_copy(workspace, "digits", "copy", numbers).ids)
    else:
        exam = examination(workspace, "digits", [target.ids[number] for number in numbers])
    held = {item for item, example in examples.items() if example in held_ids}
    assert len(held) == 2 < len(examples)
    assert sorted(served(client, queue)) == sorted(examples.keys() - held)
    for item in held:
        place = f"/api/queues/{queue.id}"
        replies = [
            client.get(f"{place}/items/{item}"),
            client.write(f"{place}/votes", item=item, key=key(), answer=KINDS[kind].answer,
                         severity=KINDS[kind].severity),
            client.write(f"{place}/skip", item=item),
            client.write(f"{place}/undo", item=item, key=key()),
            client.get(app.state.site.images.address_in_queue("digits", target.position(examples[item]), queue.id)),
            client.get(app.state.site.images.address("digits", target.position(examples[item]))),
        ]  # fmt: skip
        assert [reply.status_code for reply in replies] == [403] * len(replies)
        assert replies[0].json() == {"error": "you still have to label this image in 'exam': label it there first"}
    assert LINE.format("2 items are", "their images") in client.get("/").text.replace("&#39;", "'")
    assert sorted(served(visitor("Rob"), queue)) == sorted(examples)  # who has no examination
    answer_examination(workspace, visitor, "Rita", exam)
    assert sorted(served(client, queue)) == sorted(examples)
    assert "held back" not in client.get("/").text


def test_second_image_of_a_pair_is_held_back(workspace, visitor):
    queue, client = open_pair_queue(workspace, count=3, overlap=2), visitor("Rita")
    examples = all_items(workspace, queue)
    examination(workspace, "reference", workspace.store.test_set("reference").ids[:1])
    first = item_of(workspace.ledger, queue, *pair_with_first(workspace))
    assert sorted(served(client, queue)) == sorted(examples.keys() - {first})
    assert client.get(f"/panel/{queue.id}/{first}").status_code == 403
    addresses = {}
    for voter in map(visitor, ("Rob", "Rose")):
        while (item := voter.get(f"/api/queues/{queue.id}/next").json()["item"]) is not None:
            addresses[item["id"]] = {item["image"], item["second"]}
            assert {voter.get(address).status_code for address in addresses[item["id"]]} == {200}
            voter.write(f"/api/queues/{queue.id}/votes", item=item["id"], key=key(), answer="different")
    assert addresses.keys() == examples.keys()
    pages = [client.get(f"/panel/{queue.id}?show=decided").text for client in (client, visitor("Rob"))]
    shown, decided = ({item for item, images in addresses.items() if any(i in page for i in images)} for page in pages)
    assert first in decided and shown == decided - {first} != set()


def pair_with_first(workspace):
    """The pair with the first image of the reference set."""
    pairs = workspace.store.pair_searches.pairs("digits").values()
    first = workspace.store.test_set("reference").ids[0]
    return next((pair.first.image, pair.key) for pair in pairs if pair.second.image == first)


def test_queue_says_what_it_holds_back_once_nothing_else_is_left(workspace, visitor, judge_queue):
    target, client = workspace.store.test_set("digits"), visitor("Rita")
    examination(workspace, "digits", [target.ids[0]])
    for _ in range(11):
        reply = client.get(f"/api/queues/{judge_queue.id}/next").json()
        assert reply["held"] == LINE.format("1 item is", "its image")
        assert client.get(reply["item"]["image"]).status_code == 200
        client.write(f"/api/queues/{judge_queue.id}/votes", item=reply["item"]["id"], key=key(), answer="wrong")
    reply = client.get(f"/api/queues/{judge_queue.id}/next").json()
    assert reply == {"item": None, "skipped": 0, "held": LINE.format("1 item is", "its image")}


def test_image_is_not_held_back_once_others_have_given_all_its_votes(workspace, visitor, judge_queue):
    """Otherwise it would be held back forever: the examination does not ask this person any more."""
    target, client = workspace.store.test_set("digits"), visitor("Rita")
    exam = examination(workspace, "digits", [target.ids[0]], people=("Rita", "Leo"), overlap=1)
    assert len(served(client, judge_queue)) == 11
    answer_examination(workspace, visitor, "Leo", exam)
    assert len(served(client, judge_queue)) == 12


def test_review_page_and_its_votes_hold_images_back(app, workspace, visitor):
    queue = open_review(workspace)
    target, item, example = workspace.store.test_set("digits"), *next(iter(all_items(workspace, queue).items()))
    class_id = target.class_space.ids[target.labels[target.position(example)]]
    examination(workspace, "digits", [example])
    client = visitor("Rita")
    address = app.state.site.images.address_in_queue("digits", target.position(example), queue.id)
    assert address not in client.get(f"/review/{queue.id}/{class_id}").text
    reply = client.write(f"/api/queues/{queue.id}/class-votes", key=key(), class_id=class_id, kept=[item])
    assert reply.status_code == 403


class TestGrids:
    """Tasks of a build with a tile that the person still has to label: reviewers and labelers may do tasks, too."""

    @pytest.fixture
    def workspace(self, grid_template, tmp_path):
        shutil.copytree(grid_template, tmp_path / "W")
        workspace = regrade.open(tmp_path / "W")
        yield workspace
        workspace.ledger.engine.dispose()

    def tasks_of(self, client, queue):
        """The tasks that a person gets, by the ids of their items, and the page that they see in the end."""
        tasks = {}
        while (task := client.get(f"/api/queues/{queue.id}/task").json()["task"]) is not None:
            tasks[task["id"]] = task
            client.write(f"/api/queues/{queue.id}/return", item=task["id"])
        end = client.get(f"/select/{queue.id}").text
        client.write(f"/api/queues/{queue.id}/take-back")
        return tasks, end

    def test_tasks_with_images_of_an_open_examination_are_held_back(self, workspace, visitor):
        workspace.build.open("shapes", qualification=0)
        queue, client = workspace.ledger.queues.named("shapes tasks"), visitor("Rita")
        before, _ = self.tasks_of(client, queue)
        work = work_of(workspace)
        shows = {item.id: {tile.image for tile in work.task_of(item.id).tiles} for item in work.items.values()}
        assert before.keys() == shows.keys()
        tested = work.task_of(min(shows)).tiles[0]
        name = "pool" if tested.role is TileRole.CANDIDATE else "reference"
        examination(workspace, name, [tested.image])
        after, end = self.tasks_of(client, queue)
        held = {item for item, images in shows.items() if tested.image in images}
        assert held and after.keys() == shows.keys() - held
        assert "returned" in end
        item = min(held)
        tile = before[item]["tiles"][0]
        reply = client.write(f"/api/queues/{queue.id}/selections", item=item, key=key(), selected=[names_of(tile)])
        assert reply.status_code == 403
        statuses = {client.get(address).status_code for address in before[item]["tiles"]}
        assert statuses == {200, 403}
        for _ in after:
            item = client.get(f"/api/queues/{queue.id}/task").json()["task"]["id"]
            answer = careful(work.task_of(item))
            work.submit(workspace.ledger.people.named("Rita"), item, key=key(), answer=answer, seconds=1.0)
        assert client.get(f"/api/queues/{queue.id}/task").json() == {"step": "held", "task": None}
        line = LINE.format("1 item is", "its image") if len(held) == 1 else LINE.format("2 items are", "their images")
        assert line in client.get(f"/select/{queue.id}").text.replace("&#39;", "'")

    def test_qualification_is_held_back(self, workspace, visitor):
        workspace.build.open("shapes", qualification=1)
        queue, client = workspace.ledger.queues.named("shapes tasks"), visitor("Rita")
        task = client.get(f"/api/queues/{queue.id}/task").json()
        assert task["step"] == "qualification"
        tiles = work_of(workspace).task_of(task["task"]["id"]).tiles
        examination(workspace, "reference", [tiles[0].image])
        assert client.get(f"/api/queues/{queue.id}/task").json() == {"step": "held", "task": None}
        assert "you still have to label this image in" in client.get(f"/select/{queue.id}").text

    def test_images_of_the_qualification_count_as_seen(self, workspace):
        """Their feedback says which of them show the class."""
        workspace.build.open("shapes", qualification=1)
        rita, work = workspace.ledger.people.named("Rita"), work_of(workspace)
        task, _ = answer_next(work, rita)
        exam = examination(workspace, "reference", [task.tiles[0].image], people=())
        with pytest.raises(InputError, match="Rita has seen 1"):
            workspace.review.assign(exam.name, ["Rita"])

    def test_examples_of_a_class_leave_out_images_of_an_open_examination(self, workspace, visitor):
        workspace.build.open("shapes", qualification=0)
        queue, client = workspace.ledger.queues.named("shapes tasks"), visitor("Rita")
        before = client.get(f"/api/queues/{queue.id}/task").json()["task"]
        target = workspace.store.test_set("reference")
        shown = {tile.image for task in work_of(workspace).tasks.values() for tile in task.tiles}
        own = [n for n in range(len(target)) if target.class_space.ids[target.labels[n]] == before["class"]["id"]]
        free = [target.ids[number] for number in own if target.ids[number] not in shown]
        assert len(before["examples"]) >= 3
        examination(workspace, "reference", free)
        assert client.get(f"/api/queues/{queue.id}/task").json()["task"]["examples"] == []
        assert {client.get(address).status_code for address in before["examples"]} == {403}


def names_of(address):
    return address.rpartition("/")[2]


def test_no_route_gives_items_past_the_guard():
    """Items come from `Site.item` and `HoldingRules.next_item`, which hold images back."""
    folder = Path(regrade.app.routes.__file__).parent
    past = re.compile(r"items\.(next|for_person)\(|\.next_step\((?!.*give=)")
    assert [path.name for path in sorted(folder.glob("*.py")) if past.search(path.read_text())] == []
