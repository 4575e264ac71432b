"""The likely causes of a mistake: shown after the own answer, and not while the image is pending in another queue."""

import pytest
from neighbor_world import add_digit_neighbors
from panel_votes import cast_votes, open_mistake_queue
from playwright.sync_api import expect
from work_page import answered, faint_texts, item_numbers, ready, saved

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
