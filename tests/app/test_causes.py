"""The likely causes of a mistake: shown after the own answer, and not while the image is pending in another queue."""

import numpy as np
import pytest
from neighbor_world import add_digit_neighbors
from panel_votes import cast_votes, open_mistake_queue
from playwright.sync_api import expect
from work_page import answered, faint_texts, item_numbers, ready, saved

from regrade.build.files import AnswerBatch, AnswerCollection, TaskCollection
from regrade.build.frequencies import Assignment
from regrade.core import SliceSet
from regrade.core.test_set import SELECTION_FREQUENCY
from regrade.ledger import Mode, NewItem, Question

VOTE = {"answer": "spurious correlation", "severity": "major"}


@pytest.fixture
def queue(workspace):
    """Three of gamma's mistakes, for two people each, with stored nearest training images."""
    add_digit_neighbors(workspace)
    return open_mistake_queue(workspace, "grave", Question.MISTAKE, count=3, overlap=2, model="gamma")


def address_of(queue, item):
    return f"/api/queues/{queue.id}/items/{item}/causes"


def answer(client, queue, item, key="my-own-key"):
    return client.write(f"/api/queues/{queue.id}/votes", item=item, key=key, **VOTE)


def test_causes_are_shown_only_after_the_own_answer(workspace, queue, visitor):
    rita, item = visitor("Rita"), item_numbers(workspace, queue)[0]
    cast_votes(workspace, item, Rob=("fine-grained", "minor"))
    refused = rita.get(address_of(queue, item))
    assert refused.status_code == 400 and "answer first" in refused.json()["error"]
    answer(rita, queue, item)
    shown = rita.get(address_of(queue, item)).json()
    near = shown["neighbors"]
    assert near["training_set"] == "reference" and near["model"] == "gamma" and len(near["images"]) == 10
    assert [float(image["distance"]) for image in near["images"]] == sorted(
        float(image["distance"]) for image in near["images"]
    )
    assert len(shown["best"]) == 5 and shown["best"][0]["name"] == shown["name"]
    assert {name for row in shown["other_models"] for name in row["models"]} == {"alpha", "beta"}
    before = rita.get(f"/api/queues/{queue.id}/next").text + rita.get(f"/mistake/{queue.id}").text
    for image in near["images"]:
        assert image["image"] not in before and image["page"] not in before
    assert visitor("Rose").get(address_of(queue, item)).status_code == 400


def test_causes_show_the_nearest_training_images_with_their_labels(workspace, queue, visitor):
    rita, item = visitor("Rita"), item_numbers(workspace, queue)[0]
    answer(rita, queue, item)
    shown = rita.get(address_of(queue, item)).json()
    example = workspace.ledger.items.with_id(item).example
    sets = workspace.store.test_set("digits"), workspace.store.test_set("reference")
    neighbors = workspace.store.training_neighbors.read(sets, "gamma")
    nearest = neighbors.positions[sets[0].position(example)]
    labels = [sets[1].class_space.names[label] for label in sets[1].labels[nearest]]
    assert [image["label"] for image in shown["neighbors"]["images"]] == labels
    assert [image["is_predicted"] for image in shown["neighbors"]["images"]] == [
        label == shown["name"] for label in labels
    ]


def test_causes_are_withdrawn_with_the_answer(workspace, queue, visitor):
    rita, item = visitor("Rita"), item_numbers(workspace, queue)[0]
    answer(rita, queue, item)
    rita.write(f"/api/queues/{queue.id}/undo", item=item, key="undo-key", vote="my-own-key")
    assert rita.get(address_of(queue, item)).status_code == 400


def test_causes_are_withheld_while_the_image_is_pending_in_another_queue(workspace, queue, visitor):
    item = workspace.ledger.items.with_id(item_numbers(workspace, queue)[0])
    judged = workspace.ledger.queues.create("judged", Question.JUDGE, test_set="digits", labels="multi", overlap=1)
    workspace.ledger.items.add(judged, [NewItem(item.example, item.class_id)])
    rita = visitor("Rita")
    answer(rita, queue, item.id)
    shown = rita.get(address_of(queue, item.id)).json()
    assert "your other queues" in shown.pop("withheld")
    assert not any(shown.values())
    (judged_item,) = item_numbers(workspace, judged)
    rita.write(f"/api/queues/{judged.id}/votes", item=judged_item, key="other-key", answer="wrong")
    assert not rita.get(address_of(queue, item.id)).json()["withheld"]


@pytest.mark.parametrize("mode", [Mode.EXAMINATION, Mode.TRAINING])
def test_training_images_that_people_have_to_label_are_not_shown(workspace, queue, visitor, mode):
    rita, item = visitor("Rita"), item_numbers(workspace, queue)[0]
    answer(rita, queue, item)
    everything = rita.get(address_of(queue, item)).json()["neighbors"]
    quiz = workspace.ledger.queues.create("quiz", Question.LABEL, test_set="reference", overlap=4, mode=mode)
    example = workspace.ledger.items.with_id(item).example
    sets = workspace.store.test_set("digits"), workspace.store.test_set("reference")
    nearest = int(workspace.store.training_neighbors.read(sets, "gamma").positions[sets[0].position(example), 0])
    workspace.ledger.items.add(quiz, [NewItem(sets[1].ids[nearest])])
    shown = rita.get(address_of(queue, item)).json()["neighbors"]
    if mode is Mode.TRAINING:
        assert shown["images"] == everything["images"][1:] and shown["hidden"] == 1
    else:
        assert shown["images"] == [] and shown["hidden"] == 10


def test_missing_neighbors_name_the_command_for_owners(workspace, visitor):
    queue = open_mistake_queue(workspace, "grave", Question.MISTAKE, count=1, overlap=2, model="gamma")
    (item,) = item_numbers(workspace, queue)
    for name in ("Rita", "Olga"):
        answer(visitor(name), queue, item, key=f"key-of-{name}")
    note = visitor("Olga").get(address_of(queue, item)).json()["neighbors"]["note"]
    assert "run regrade neighbors -t digits" in note
    assert "regrade" not in visitor("Rita").get(address_of(queue, item)).json()["neighbors"]["note"]


def test_outdated_neighbors_are_not_shown(workspace, queue, visitor):
    rita, olga, item = visitor("Rita"), visitor("Olga"), item_numbers(workspace, queue)[0]
    for client, key in ((rita, "key-of-rita"), (olga, "key-of-olga")):
        answer(client, queue, item, key=key)
    assert rita.get(address_of(queue, item)).json()["neighbors"]["images"]
    workspace.models.remove("gamma", test_set="reference")
    shown = olga.get(address_of(queue, item)).json()["neighbors"]
    assert shown["images"] == [] and "run regrade neighbors" in shown["note"]


def test_causes_are_for_queues_of_mistakes(workspace, judge_queue, visitor):
    item = item_numbers(workspace, judge_queue)[0]
    assert visitor("Rita").get(address_of(judge_queue, item)).status_code == 404
    assert visitor("Leo").get(address_of(judge_queue, item)).status_code == 403


@pytest.mark.usefixtures("queue")
def test_why_opens_by_keyboard_after_the_answer(server, page_of):
    page, bodies = page_of(server, "Rita"), []
    page.on("response", lambda response: bodies.append((response.url, response)))
    page.goto("/mistake/1")
    ready(page)
    expect(page.locator("#causes")).to_be_hidden()
    page.keyboard.press("w")
    expect(page.locator("#causes")).to_be_hidden()
    texts = [response.text() for url, response in bodies if "/images/" not in url]
    assert not [text for text in texts if "reference" in text and "embeddings of gamma" in text]
    assert not [url for url, _ in bodies if "/causes" in url]
    page.keyboard.press("3")
    answered(page, "a")
    saved(page)
    expect(page.locator("#causes")).to_be_visible()
    expect(page.locator("#causes-content")).to_be_empty()
    page.keyboard.press("w")
    expect(page.locator("#causes .nearest li")).to_have_count(10)
    expect(page.locator("#causes-content")).to_contain_text("From reference, by embeddings of gamma")
    expect(page.locator("#causes summary")).to_be_focused()
    assert faint_texts(page) == []
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    page.set_viewport_size({"width": 1280, "height": 800})
    page.keyboard.press("Enter")
    expect(page.locator("#causes .nearest")).to_be_hidden()
    page.keyboard.press("z")
    expect(page.locator("#causes")).to_be_hidden()
    for _ in range(3):
        ready(page)
        page.keyboard.press("3")
        answered(page, "a")
    expect(page.get_by_role("heading", name="All done")).to_be_visible()
    page.keyboard.press("w")
    expect(page.locator("#causes .nearest li")).to_have_count(10)


def test_why_is_part_of_the_panel_after_the_own_vote(workspace, queue, server, page_of):
    item = item_numbers(workspace, queue)[0]
    page = page_of(server, "Rita", width=360, height=740)
    page.goto(f"/panel/{queue.id}/{item}")
    expect(page.locator("body[data-version][data-ready]")).to_have_count(1)
    expect(page.locator("#causes")).to_be_hidden()
    cast_votes(workspace, item, Rita=("spurious correlation", "major"))
    page.reload()
    page.locator("#causes summary").click()
    expect(page.locator("#causes .nearest li")).to_have_count(10)
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


class TestFacts:
    """What is stored about an image besides predictions."""

    def facts(self, client, queue, item):
        answer(client, queue, item)
        return [(fact["heading"], fact["text"]) for fact in client.get(address_of(queue, item)).json()["facts"]]

    @pytest.fixture
    def plain(self, workspace):
        return open_mistake_queue(workspace, "grave", Question.MISTAKE, count=1, overlap=2, model="gamma")

    def test_confusion_score_is_that_of_the_study(self, workspace, plain, visitor, tmp_path):
        scores = np.random.default_rng(3).random((2, 3, 60, 10))
        np.save(tmp_path / "scores.npy", scores / scores.sum(axis=-1, keepdims=True))
        workspace.models.import_checkpoints(
            tmp_path / "scores.npy", test_set="digits", ensemble="net", kind="probabilities"
        )
        (item,) = item_numbers(workspace, plain)
        position = workspace.store.test_set("digits").position(workspace.ledger.items.with_id(item).example)
        expected = workspace.study.confusion("digits").scores[position]
        assert self.facts(visitor("Rita"), plain, item) == [
            ("Confusion score", f"{expected:.2f} of at most 3.32 bits, by net")
        ]

    def test_people_are_counted_by_class_if_they_were_asked(self, workspace, plain, visitor, tmp_path):
        (item,) = item_numbers(workspace, plain)
        example = workspace.ledger.items.with_id(item).example
        target = workspace.store.test_set("digits")
        rows = [f"{name},{example},{answered}" for name, answered in (("Ada", 3), ("Ben", 3), ("Cid", 8))]
        other_image = next(image for image in target.ids if image != example)
        (tmp_path / "people.csv").write_text("\n".join(["person,image,class", *rows, f"Dot,{other_image},1"]) + "\n")
        workspace.models.import_people(tmp_path / "people.csv", test_set="digits")
        assert self.facts(visitor("Rita"), plain, item) == [("People", "2 answered 3, 1 answered 8")]

    def test_selection_frequency_of_a_frozen_set_and_of_builds(self, workspace, plain, visitor):
        (item,) = item_numbers(workspace, plain)
        example, target = workspace.ledger.items.with_id(item).example, workspace.store.test_set("digits")
        column = tuple("0.6 to 0.8" if image == example else "0 to 0.2" for image in target.ids)
        slices = SliceSet(SELECTION_FREQUENCY, "digits", 60, columns={SELECTION_FREQUENCY: column})
        workspace.store.slices.add(slices, target)
        workspace.build.tasks("new", "digits", "reference", workers=3, positives=0, negatives=0)
        tasks = TaskCollection(workspace.store.root).read("new").tasks
        (task,) = [task for task in tasks if example in {tile.image for tile in task.tiles}]
        answers = [Assignment(task.id, f"w{n}", frozenset([example] if n else [])) for n in range(3)]
        AnswerCollection(workspace.store.root).add(AnswerBatch("new", tuple(answers)), None)
        assert self.facts(visitor("Rita"), plain, item) == [
            ("Selection frequency", "0.6 to 0.8"),
            ("Selection frequency", f"67% of 3 workers select it for {task.class_id} (build new)"),
        ]
