"""The review of a build by class, without a browser: progress, submitting a class, and what each role may see."""

import pytest
from class_review_world import BUILD, draw, items_of, open_review, removed_file
from page_reader import parse_page
from reviewing import publish, vote_on_open
from work_page import answers

from regrade.build.files import RevisionCollection
from regrade.ledger import NewItem, Question, VoteContent


@pytest.fixture
def queue(workspace):
    return open_review(workspace)


def images_of(workspace, class_id):
    """The images of a class in revision 0, sorted."""
    examples = RevisionCollection(workspace.store.root).read(BUILD, 0).sample.examples
    return sorted(image for image, label in examples if label == class_id)


def submit(client, queue, class_id="3", **votes):
    body = {"key": "a-random-key", "class_id": class_id, "seconds": 6.0, **votes}
    return client.write(f"/api/queues/{queue.id}/class-votes", **body)


def test_list_shows_the_progress_of_every_class(workspace, queue, visitor):
    rita = visitor("Rita")
    items = items_of(workspace, queue, "3")
    page = parse_page(rita.get(f"/review/{queue.id}"))
    assert page.row("3") == ["3", "3", "0", "0"]
    assert "Revision 0 of new has 30 images of 10 classes." in page.text
    assert "30 of 30 images left for you, in 10 classes." in page.text
    reply = submit(rita, queue, kept=items[:2], flagged=[{"item": items[2], "reason": "drawing"}])
    assert reply.json()["stored"] == 3
    shown = parse_page(rita.get(f"/review/{queue.id}?show=all"))
    assert shown.row("3") == ["3", "0", "3", "1"]
    assert "27 of 30 images left for you, in 9 classes." in shown.text
    assert f'href="/review/{queue.id}/3"' not in rita.get(f"/review/{queue.id}?show=open").text


def test_submitted_class_is_stored_with_reasons_and_time(workspace, queue, visitor):
    first, second, third = items_of(workspace, queue, "3")
    submit(visitor("Rita"), queue, kept=[first, third], flagged=[{"item": second, "reason": "a photo of a photo"}])
    rows = [row for row in workspace.ledger.rows() if row["kind"] == "vote"]
    assert sorted((row["answer"], row["reason"], row["seconds"]) for row in rows) == [
        ("keep", "", 2.0), ("keep", "", 2.0), ("problematic", "a photo of a photo", 2.0)
    ]  # fmt: skip
    assert len(workspace.ledger.decisions.of_queue(queue)) == 3


def test_submitting_twice_counts_once(workspace, queue, visitor):
    rita, items = visitor("Rita"), items_of(workspace, queue, "3")
    replies = [submit(rita, queue, kept=items).json() for _ in range(2)]
    assert replies[0] == replies[1]
    assert len([row for row in workspace.ledger.rows() if row["kind"] == "vote"]) == 3


def test_a_refused_vote_stores_no_part_of_the_class(workspace, queue, visitor):
    rita, items = visitor("Rita"), items_of(workspace, queue, "3")
    other_class = items_of(workspace, queue, "4")
    for votes, status in (
        ({"kept": items[:2], "flagged": [{"item": items[2], "reason": " "}]}, 400),
        ({"kept": [*items, other_class[0]]}, 404),
        ({"kept": [*items, items[0]], "flagged": [{"item": items[0], "reason": "drawing"}]}, 400),
        ({"kept": items, "changed": [{"item": items[0], "answer": "correct", "why": "x"}]}, 422),
        ({}, 400),
        ({"kept": items, "surprise": 1}, 422),
    ):
        assert submit(rita, queue, **votes).status_code == status, votes
    assert answers(workspace, "Rita") == {}


def test_changes_need_a_reason_and_keep_the_history(workspace, queue, visitor):
    rita, items = visitor("Rita"), items_of(workspace, queue, "3")
    submit(rita, queue, kept=items)
    change = {"item": items[0], "answer": "problematic", "reason": "edited"}
    assert submit(rita, queue, key="second-key", changed=[{**change, "why": " "}]).status_code == 400
    assert submit(rita, queue, key="second-key", changed=[{**change, "why": "seen again"}]).json()["stored"] == 1
    decided = {row.example: row.answer for row in workspace.ledger.decisions.of_queue(queue)}
    assert sorted(decided.values()) == ["keep", "keep", "problematic"]
    whys = [row["why"] for row in workspace.ledger.rows() if row["kind"] == "vote" and row["why"]]
    assert whys == ["seen again"]


def test_images_that_others_decided_are_reported(workspace, queue, visitor):
    items = items_of(workspace, queue, "3")
    submit(visitor("Rita"), queue, kept=items[:1])
    flagged = [{"item": item, "reason": "drawing"} for item in items]
    reply = submit(visitor("Rob"), queue, key="robs-own-key", flagged=flagged)
    assert (reply.json()["stored"], reply.json()["decided_before"]) == (2, items[:1])
    assert len(answers(workspace, "Rob")) == 2


def test_the_next_class_is_one_with_open_images(workspace, queue, visitor):
    rita = visitor("Rita")
    following = submit(rita, queue, kept=items_of(workspace, queue, "3")).json()["following"]
    assert following == f"/review/{queue.id}/4"
    for number in range(10):
        if number != 3:
            class_id = str(number)
            reply = submit(rita, queue, class_id, key=f"key-of-{number}", kept=items_of(workspace, queue, class_id))
    assert reply.json()["following"] == f"/review/{queue.id}"
    assert "Nothing is left for you in this revision. Thank you." in parse_page(rita.get(f"/review/{queue.id}")).text


def test_people_begin_at_different_classes(workspace, visitor):
    from regrade.app.class_review import ReviewedClass, next_class

    queue, rows = open_review(workspace), [ReviewedClass(str(n), str(n), 3, 3, 0, 0) for n in range(1000)]
    people = workspace.ledger.people.all()
    assert len({next_class(rows, queue, person) for person in people}) == len(people)
    assert next_class(rows, queue, people[0], after="999") == "0"
    assert next_class([], queue, people[0]) is None
    assert visitor("Rob").get(f"/review/{queue.id}").status_code == 200


class TestWhatIsShown:
    def test_page_of_a_class_names_no_image_and_no_frequency(self, workspace, queue, visitor):
        text = visitor("Rita").get(f"/review/{queue.id}/3").text
        images = images_of(workspace, "3")
        assert text.count('class="tile"') == 3
        assert not any(image in text for image in images)
        assert "frequency" not in text

    def test_votes_of_others_are_shown_to_reviewers_only(self, workspace, queue, visitor):
        items = items_of(workspace, queue, "3")
        submit(visitor("Rita"), queue, kept=items[1:], flagged=[{"item": items[0], "reason": "drawing"}])
        reviewer, labeler = (visitor(name).get(f"/review/{queue.id}/3").text for name in ("Rob", "Leo"))
        assert 'data-by="Rita"' in reviewer
        assert 'data-reason="drawing"' in reviewer
        assert "Rita" not in labeler
        assert "drawing" not in labeler.replace('value="drawing"', "")
        assert labeler.count('data-state="others"') == 3

    def test_votes_on_incomplete_images_are_not_shown(self, workspace, visitor):
        queue = open_review(workspace, overlap=2)
        items = items_of(workspace, queue, "3")
        submit(visitor("Rita"), queue, flagged=[{"item": item, "reason": "edited"} for item in items])
        own, robs = (visitor(name).get(f"/review/{queue.id}/3").text for name in ("Rita", "Rob"))
        assert own.count('data-answer="problematic"') == 3
        assert robs.count('data-state="open"') == 3
        assert 'data-reason="edited"' not in robs
        assert parse_page(visitor("Rob").get(f"/review/{queue.id}?show=all")).row("3") == ["3", "3", "0", "0"]

    def test_labelers_can_review_and_see_the_queue_at_home(self, workspace, queue, visitor):
        leo = visitor("Leo")
        assert f'href="/review/{queue.id}"' in leo.get("/").text
        assert "To discuss" not in leo.get(f"/review/{queue.id}").text
        assert submit(leo, queue, kept=items_of(workspace, queue, "3", "Leo")).json()["stored"] == 3

    def test_images_still_to_be_labeled_are_not_shown(self, workspace, queue, visitor):
        image = images_of(workspace, "3")[0]
        exam = workspace.ledger.queues.create("exam", Question.LABEL, test_set="digits")
        workspace.ledger.items.add(exam, [NewItem(image)])
        text = visitor("Rita").get(f"/review/{queue.id}/3").text
        assert text.count('data-state="unlabeled"') == 1
        assert text.count("?side=320 1x") == 2

    def test_references_come_from_the_reference_set(self, app, workspace, queue, visitor):
        text = visitor("Rita").get(f"/review/{queue.id}/3").text
        reference = workspace.store.test_set("reference")
        addresses = {app.state.site.images.address("reference", position) for position in range(len(reference))}
        shown = [address for address in addresses if address in text]
        assert len(shown) == int((reference.labels == 3).sum())

    def test_pending_images_are_hidden_in_explore(self, workspace, queue, visitor):
        rita = visitor("Rita")
        image = images_of(workspace, "3")[0]
        address = f"/explore/image?set=digits&id={image}"
        assert "new review" in rita.get(address).text
        submit(rita, queue, kept=items_of(workspace, queue, "3"))
        assert "new review" in rita.get(address).text  # as one of the discussions of the image
        assert 'id="image"' in rita.get(address).text

    def test_unreadable_images_cannot_be_voted_on(self, workspace, queue, visitor):
        rita, items = visitor("Rita"), items_of(workspace, queue, "3")
        text = rita.get(f"/review/{queue.id}/3").text
        item = int(text.partition('data-item="')[2].partition('"')[0])
        address = text.partition('data-image="')[2].partition('"')[0]
        with removed_file(workspace, workspace.ledger.items.with_id(item).example):
            assert rita.get(f"{address}?side=320").status_code == 400
        refused = submit(rita, queue, kept=items)
        assert (refused.status_code, "could not be shown" in refused.text) == (400, True)
        assert submit(rita, queue, kept=[number for number in items if number != item]).json()["stored"] == 2
        assert rita.get(f"{address}?side=640").status_code == 200
        assert submit(rita, queue, key="second-key", kept=[item]).json()["stored"] == 1


class TestRevisions:
    def test_list_shows_what_changed(self, workspace, queue, visitor):
        flagged = dict.fromkeys([images_of(workspace, "3")[0], images_of(workspace, "4")[0]], "wrong class")
        assert vote_on_open(workspace, BUILD, "Rita", flagged) == 30
        publish(workspace, BUILD)
        draw(workspace, continue_from=0)
        rita = visitor("Rita")
        before = parse_page(rita.get(f"/review/{queue.id}"))
        assert "2 images of this revision are not in this queue yet" in before.text
        workspace.build.review(BUILD)
        page = parse_page(rita.get(f"/review/{queue.id}"))
        assert "Revision 1 of new has 30 images of 10 classes." in page.text
        assert "Since revision 0, 2 were added and 2 removed." in page.text
        assert "Removed: wrong class" in page.text
        assert "2 of 30 images left for you" in page.text
        text = rita.get(f"/review/{queue.id}").text
        assert 'aria-label="Images added per revision: 1: 2"' in text

    def test_removed_images_are_not_asked_about(self, workspace, queue, visitor):
        image = images_of(workspace, "3")[0]
        (workspace.store.root / "list.txt").write_text(image)
        draw(workspace, continue_from=0, blacklist=workspace.store.root / "list.txt")
        workspace.build.review(BUILD)
        assert visitor("Rita").get(f"/review/{queue.id}/3").text.count('data-state="open"') == 3
        assert len(items_of(workspace, queue, "3")) == 4


def test_other_queues_and_unknown_classes_are_not_found(workspace, queue, visitor, judge_queue):
    rita = visitor("Rita")
    loose = workspace.ledger.queues.create("loose", Question.REVIEW, test_set="digits")
    for path in (f"{judge_queue.id}", f"{loose.id}", f"{queue.id}/12", "99"):
        assert rita.get(f"/review/{path}").status_code == 404, path
    assert submit(rita, judge_queue, kept=[1]).status_code == 404


def test_disputed_images_are_decided_by_the_panel(workspace, visitor):
    queue = open_review(workspace, overlap=2)
    items = items_of(workspace, queue, "3")
    rita, rob = visitor("Rita"), visitor("Rob")
    submit(rita, queue, kept=items)
    submit(rob, queue, key="robs-own-key", kept=items[1:], flagged=[{"item": items[0], "reason": "edited"}])
    listed = rita.get(f"/panel/{queue.id}").text
    assert f"/panel/{queue.id}/{items[0]}" in listed
    assert "Does this image belong in the test set?" in listed
    page = rita.get(f"/panel/{queue.id}/{items[0]}").text
    assert 'data-answer="keep"' in page and 'data-answer="problematic"' in page and 'data-answer="correct"' not in page
    state = rita.get(f"/api/panel/{queue.id}/{items[0]}").json()["state"]
    assert (state["verdict"]["answer"], state["score"]) == ("problematic", "")
    seen = state["newest"]
    assert rita.write(f"/api/panel/{queue.id}/{items[0]}/lock", seen=seen).status_code == 200
    assert workspace.ledger.decisions.current(items[0]).answer == "problematic"
    text = rita.get(f"/review/{queue.id}/3").text
    assert 'data-decision="problematic"' in text
    change = {"item": items[0], "answer": "problematic", "reason": "edited", "why": "agreed"}
    refused = submit(rita, queue, key="second-key", changed=[change])
    assert refused.status_code == 409


def test_votes_through_the_general_route_count_too(workspace, queue, visitor):
    """The outbox of other pages may send single votes."""
    item = items_of(workspace, queue, "3")[0]
    body = {"item": item, "key": "single-vote", "answer": "keep"}
    assert visitor("Rita").write(f"/api/queues/{queue.id}/votes", **body).status_code == 200
    rob = workspace.ledger.people.named("Rob")
    assert workspace.ledger.votes.cast_all(rob, {item: VoteContent("robs-own-key", "keep")}) == (item,)
