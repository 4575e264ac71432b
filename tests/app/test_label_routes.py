"""The API of the Label page: only images in an examination, feedback after the answer in training."""

import pytest

from regrade.ledger import Mode, NewItem, Question

KEY = "0123456789abcdef"


@pytest.fixture
def exam(workspace):
    workspace.review.queue_labels("digits", size=12, name="exam")
    return workspace.ledger.queues.named("exam")


def training(workspace, *, labels="", test_set="digits"):
    queue = workspace.ledger.queues.create(
        "learn", Question.LABEL, test_set=test_set, labels=labels, mode=Mode.TRAINING, overlap=5
    )
    workspace.ledger.items.add(queue, [NewItem(workspace.store.test_set(test_set).ids[0])])
    return queue


def test_examination_shows_only_the_image(exam, visitor):
    leo, rita = visitor("Leo"), visitor("Rita")
    for number in range(6):
        item = leo.get(f"/api/queues/{exam.id}/next").json()["item"]
        assert set(item) == {"id", "image"}
        theirs = {"item": item["id"], "key": f"{KEY}-rita-{number}", "answer": "3"}
        assert rita.write(f"/api/queues/{exam.id}/votes", **theirs).json()["feedback"] is None
        reply = leo.write(f"/api/queues/{exam.id}/votes", item=item["id"], key=f"{KEY}{number}", answer="3", seconds=2)
        assert reply.status_code == 200
        assert {name for name, value in reply.json().items() if value is not None} == {"vote"}
    last = leo.get(f"/api/queues/{exam.id}/last").json()
    assert (set(last["item"]), last["item"]["id"], last["revealed"]) == ({"id", "image"}, item["id"], False)
    undone = leo.write(f"/api/queues/{exam.id}/undo", key=f"{KEY}undo", item=item["id"]).json()["item"]
    assert undone == item


def test_label_page_reveals_no_image_id_model_or_answer(workspace, exam, visitor):
    leo, rita = visitor("Leo"), visitor("Rita")
    item = leo.get(f"/api/queues/{exam.id}/next").json()["item"]
    rita.write(f"/api/queues/{exam.id}/votes", item=item["id"], key=f"{KEY}rita", answer="3")
    addresses = [
        f"/label/{exam.id}", f"/api/queues/{exam.id}/next", f"/api/queues/{exam.id}/references?class_id=3",
        "/api/classes/digits", f"/api/guide/digits/3?queue={exam.id}", "/guide", "/guide/digits/3",
    ]  # fmt: skip
    example = workspace.ledger.items.with_id(item["id"]).example
    for address in addresses:
        answer = leo.get(address)
        assert answer.status_code == 200, address
        assert not [word for word in ("alpha", "beta", "gamma", "Rita", example, ".png") if word in answer.text], (
            address
        )


def test_references_exclude_examined_test_sets(workspace, exam, visitor):
    leo = visitor("Leo")
    address = f"/api/queues/{exam.id}/references?class_id=3"
    shown = leo.get(address).json()
    reference = workspace.store.test_set("reference")
    assert len(shown) == (reference.labels == 3).sum() > 0
    workspace.review.queue_labels("reference", size=5, name="another exam")
    assert leo.get(address).json() == []
    assert 'src="/images/' not in leo.get("/guide/digits/3").text


def test_training_gives_feedback_only_after_the_answer(workspace, visitor):
    queue, leo = training(workspace), visitor("Leo")
    item = leo.get(f"/api/queues/{queue.id}/next").json()["item"]
    assert set(item) == {"id", "image"}
    true = str(workspace.store.test_set("digits").labels[0])
    wrong = str((int(true) + 1) % 10)
    feedback = leo.write(f"/api/queues/{queue.id}/votes", item=item["id"], key=KEY, answer=wrong).json()["feedback"]
    assert feedback == {"outcome": "wrong", "right": [true]}
    again = leo.write(f"/api/queues/{queue.id}/votes", item=item["id"], key=KEY, answer=wrong).json()["feedback"]
    assert again == feedback
    assert leo.write(f"/api/queues/{queue.id}/undo", key=f"{KEY}u", item=item["id"]).json()["item"] == item
    right = leo.write(f"/api/queues/{queue.id}/votes", item=item["id"], key=f"{KEY}2", answer=true).json()["feedback"]
    assert right == {"outcome": "right", "right": [true]}


@pytest.mark.parametrize(("answer", "outcome"), [("1", "right"), ("2", "right"), ("3", "unclear"), ("4", "wrong")])
def test_training_uses_the_label_set_of_the_queue(workspace, visitor, tmp_path, answer, outcome):
    example = workspace.store.test_set("digits").ids[0]
    rows = [
        f"{example},{class_id},{state}" for class_id, state in (("1", "correct"), ("2", "correct"), ("3", "unclear"))
    ]
    (tmp_path / "more.csv").write_text("\n".join(["image,class,state", *rows]) + "\n")
    workspace.labels.import_file(tmp_path / "more.csv", test_set="digits", name="more")
    queue, leo = training(workspace, labels="more@1"), visitor("Leo")
    item = leo.get(f"/api/queues/{queue.id}/next").json()["item"]
    feedback = leo.write(f"/api/queues/{queue.id}/votes", item=item["id"], key=KEY, answer=answer).json()["feedback"]
    assert feedback == {"outcome": outcome, "right": ["1", "2"]}


def test_answer_must_be_a_class_of_the_test_set(exam, visitor):
    leo = visitor("Leo")
    item = leo.get(f"/api/queues/{exam.id}/next").json()["item"]
    for answer, status in (("11", 404), ("", 422), ("<script>", 404)):
        sent = leo.write(f"/api/queues/{exam.id}/votes", item=item["id"], key=KEY, answer=answer)
        assert sent.status_code == status


def test_label_page_rejects_other_kinds_of_queues(judge_queue, exam, visitor):
    assert visitor("Rita").get(f"/label/{judge_queue.id}").status_code == 404
    assert visitor("Leo").get(f"/label/{judge_queue.id}").status_code == 404
    for name in ("Leo", "Rita", "Olga"):
        assert visitor(name).get(f"/label/{exam.id}").status_code == 200
    assert visitor().get(f"/label/{exam.id}").headers["location"] == f"/sign-in?next=/label/{exam.id}"


def test_class_index_is_cached_by_etag(visitor):
    leo = visitor("Leo")
    first = leo.get("/api/classes/imagenet-1k")
    assert len(first.content) < 150_000
    index = first.json()
    assert [index["classes"][134][0], index["classes"][134][1]] == ["n02012849", "crane (wading bird)"]
    assert index["tree"][0][3] == 1000
    again = leo.get("/api/classes/imagenet-1k", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert leo.get("/api/classes/imagenet-1k", headers={"If-None-Match": '"other"'}).status_code == 200
    assert leo.get("/api/classes/none").status_code == 404
    assert leo.get(f"/api/classes/{'a' * 400}").status_code == 404
    assert visitor().get("/api/classes/digits").status_code == 401
