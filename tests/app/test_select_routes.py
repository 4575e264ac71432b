"""Grids over HTTP: links, what workers see, tiles that betray no control, answers, and the gate."""

import logging
import re
import shutil

import numpy as np
import pytest
from grid_world import answer_next, careful, person, work_of
from PIL import Image
from scipy.stats import binom
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from small_set import encoded

import regrade
from regrade.app import create_app
from regrade.build.files import BuildTasks, TaskCollection
from regrade.build.steps.tasks import images_by_class
from regrade.build.tasks import TaskOptions, TileRole, make_tasks
from regrade.core import ClassSpace, ImageSource, TestSet
from regrade.core.panel import WorkerEvent
from regrade.ledger import GuideText, Role

WORKER = "worker-0001"


@pytest.fixture
def workspace(grid_template, tmp_path):
    shutil.copytree(grid_template, tmp_path / "W")
    workspace = regrade.open(tmp_path / "W")
    workspace.build.open("shapes", qualification=0, contact="Ada, ada@example.org")
    yield workspace
    workspace.ledger.engine.dispose()


@pytest.fixture
def queue(workspace):
    return workspace.ledger.queues.named("shapes tasks")


def tasks_of(client, queue):
    return client.get(f"/api/queues/{queue.id}/task").json()


def names(tiles):
    return [address.rpartition("/")[2] for address in tiles]


def chosen_tiles(app, queue, worker, task, answer):
    """The names of the tiles that an answer in stored order selects."""
    grids = app.state.site.grids
    stored = grids.of(queue).work.task_of(task["id"])
    addresses = grids.tile_addresses(queue, worker, task["id"], stored)
    return names([address for address, digit in zip(addresses, answer, strict=True) if digit == "1"])


def submit(client, queue, task, selected, *, key="key-of-a-submit", seconds=12.5):
    return client.write(
        f"/api/queues/{queue.id}/selections", item=task["id"], key=key, selected=selected, seconds=seconds
    )


# Links


def test_a_link_signs_in_repeatedly_and_leads_to_the_task(workspace, queue, visitor):
    [link] = workspace.ledger.workers.add(1)
    for _ in range(8):  # more than the free attempts: right ones are not counted
        client = visitor()
        answer = client.get(f"/work/{link.token}")
        assert (answer.status_code, answer.headers["location"]) == (303, f"/select/{queue.id}")
        assert "regrade_" in answer.headers["set-cookie"] and "HttpOnly" in answer.headers["set-cookie"]
    again = client.get(f"/work/{link.token}")
    assert again.status_code == 303 and "set-cookie" not in again.headers
    page = client.get(f"/select/{queue.id}").text
    assert link.token not in page and "Sign out" in page


def test_unknown_and_ended_links_are_refused_and_guesses_have_to_wait(workspace, visitor):
    [link] = workspace.ledger.workers.add(1)
    workspace.ledger.workers.end_links(link.worker)
    client = visitor()
    answer = client.get(f"/work/{link.token}")
    assert answer.status_code == 404 and "ask the person who gave it to you" in answer.text
    answers = [client.get(f"/work/guess-{number}") for number in range(60)]
    assert answers[0].status_code == 404 and answers[-1].status_code == 429
    assert int(answers[-1].headers["Retry-After"]) >= 1


def test_a_link_does_not_end_the_session_of_an_owner(workspace, visitor):
    [link] = workspace.ledger.workers.add(1)
    owner = visitor("Olga")
    answer = owner.get(f"/work/{link.token}")
    assert answer.status_code == 409 and "private window" in answer.text
    assert owner.get("/builds").status_code == 200


def test_links_are_not_logged(workspace, visitor, caplog, monkeypatch):
    [link] = workspace.ledger.workers.add(1)
    monkeypatch.setattr("regrade.ledger.workers.Workers.holder", lambda *_: 1 / 0)
    with caplog.at_level(logging.WARNING):
        assert visitor().get(f"/work/{link.token}").status_code == 500
    assert caplog.text and link.token not in caplog.text


def test_a_worker_with_an_account_signs_in_by_password(workspace, visitor, queue):
    token = workspace.ledger.accounts.invite_new("Wanda", Role.WORKER).token
    client = visitor()
    client.post(f"/join/{token}", data={"password": "correct horse battery", "again": "correct horse battery"})
    assert client.get("/").headers["location"] == "/work"
    assert client.get(f"/select/{queue.id}").status_code == 200


# What workers see


def test_home_of_a_worker_is_their_work(visitor, queue):
    client = visitor(WORKER)
    assert client.get("/").headers["location"] == "/work"
    page = client.get("/work").text
    assert f'href="/select/{queue.id}"' in page and "<strong>6</strong> left" in page
    assert not re.search(r'href="/(guide|explore|team|builds)', page)


@pytest.mark.parametrize(
    "address", ["/guide", "/explore", "/team", "/builds", "/builds/shapes", "/images/abc", "/label/1"]
)
def test_other_pages_are_closed_to_workers(visitor, address):
    assert visitor(WORKER).get(address).status_code == 403


def test_consent_is_asked_first(workspace, visitor, queue, tmp_path):
    (tmp_path / "consent.txt").write_text("You <b>may</b> stop at any time.")
    workspace.build.open("shapes", consent=tmp_path / "consent.txt")
    client = visitor(WORKER)
    page = client.get(f"/select/{queue.id}").text
    assert "You &lt;b&gt;may&lt;/b&gt; stop" in page and "I agree" in page
    assert tasks_of(client, queue) == {"step": "consent", "task": None}
    assert client.submit(f"/select/{queue.id}/consent").headers["location"] == f"/select/{queue.id}"
    assert tasks_of(client, queue)["step"] == "task"


def test_a_task_names_its_class_and_nothing_else(workspace, visitor, queue):
    text = GuideText("Look at **corners**.", ("round",), (("reference", "reference-000-0.png"),), ("s2",))
    for class_id in ("s1", "s2", "s3"):
        workspace.ledger.guide.write("shapes", class_id, text, person(workspace, "Olga"), replaces=None)
    answer = visitor(WORKER).get(f"/api/queues/{queue.id}/task")
    task = answer.json()["task"]
    assert task["class"]["name"] in ("circle", "star", "triangle")
    assert task["wikipedia"].endswith(f"search={task['class']['name']}")
    assert task["guide"]["html"] == "<p>Look at <strong>corners</strong>.</p>\n" and task["guide"]["traits"] == [
        "round"
    ]
    assert len(task["tiles"]) == 48 and len(set(task["tiles"])) == 48 and len(task["examples"]) == 8
    assert not re.search(r"positive|negative|candidate|control|pool|reference|\.png", answer.text)


def test_examples_are_in_no_task(app, queue):
    grids = app.state.site.grids.of(queue)
    tasks = (*grids.work.stored.tasks, *grids.work.settings.tasks)
    shown = {tile.image for task in tasks for tile in task.tiles}
    examples = [tile.image for class_id in ("s1", "s2", "s3") for tile in grids.examples(class_id)]
    assert len(examples) == 24 and not shown & set(examples)


def test_tiles_have_other_urls_and_another_order_for_each_worker(app, workspace, visitor, queue):
    first, second = visitor(WORKER), visitor("worker-0002")
    task = tasks_of(first, queue)["task"]
    assert tasks_of(first, queue)["task"] == task  # stays reserved
    stored = app.state.site.grids.of(queue).work.task_of(task["id"])
    of_second = app.state.site.grids.tile_addresses(queue, person(workspace, "worker-0002"), task["id"], stored)
    assert not set(of_second) & set(task["tiles"])
    assert first.get(task["tiles"][0]).status_code == 200
    assert second.get(task["tiles"][0]).status_code == 404
    assert visitor().get(task["tiles"][0]).status_code == 401
    own = app.state.site.grids.tile_addresses(queue, person(workspace, WORKER), task["id"], stored)
    assert sorted(own) == sorted(task["tiles"]) and own != task["tiles"]


def test_the_qualification_leads_to_the_page_of_the_tasks(workspace, visitor, queue):
    workspace.build.open("shapes", qualification=1)
    qualification = workspace.ledger.queues.named("shapes qualification")
    client = visitor(WORKER)
    assert client.get(f"/select/{qualification.id}").headers["location"] == f"/select/{queue.id}"
    assert qualification.name not in visitor("Olga").get("/").text
    assert qualification.name not in visitor("Olga").get("/team").text
    assert client.get(f"/api/queues/{qualification.id}/task").status_code == 404


# Tiles betray no control


@pytest.fixture(scope="module")
def mixed(tmp_path_factory, visitors_of):
    """A build of 12 tasks, as a worker gets it: candidates are small PNG files and controls are large JPEGs."""
    root, rng = tmp_path_factory.mktemp("mixed"), np.random.default_rng(5)
    workspace = regrade.init(root / "W")
    space = ClassSpace("animals", ("n1", "n2"), ("dog", "cat"))

    def add(name, suffix, make):
        (root / name).mkdir()
        ids = tuple(f"{name}-{number:03}{suffix}" for number in range(120))
        for example in ids:
            (root / name / example).write_bytes(make())
        test_set = TestSet(name, space, ids, np.arange(120, dtype=np.int32) % 2)
        workspace.store.add_images(test_set, ImageSource("folder", str(root / name), ids))
        return test_set

    def texture(side):
        size = ((side, side * 3 // 4), (side * 3 // 4, side), (side, side))[rng.integers(3)]
        return Image.fromarray(rng.integers(0, 256, (9, 9, 3), dtype=np.uint8)).resize(size, Image.Resampling.BICUBIC)

    pool = add("pool", ".png", lambda: encoded(texture(96), "PNG"))
    reference = add("reference", ".jpeg", lambda: encoded(texture(400), "JPEG", quality=70, comment="reference"))
    options = TaskOptions(tiles=20, positives=5, negatives=5, workers=1, annotated_references=0)
    plan = make_tasks(images_by_class(pool), images_by_class(reference), {"n1": "n2", "n2": "n1"}, options)
    TaskCollection(workspace.store.root).add(
        BuildTasks("b", pool.name, pool.digest, reference.name, reference.digest, options, plan.tasks), None
    )
    workspace.build.open("b", qualification=0, size=64)
    worker = workspace.ledger.workers.add(1)[0].worker
    app = create_app(workspace, local=False)
    client = visitors_of(app, workspace)(worker.name)
    queue = workspace.ledger.queues.named("b tasks")
    tiles, work = [], app.state.site.grids.of(queue).work
    while (task := tasks_of(client, queue)["task"]) is not None:
        stored = work.task_of(task["id"])
        for number, address in enumerate(task["tiles"]):
            position = app.state.site.grids.position(queue, worker, task["id"], address.rpartition("/")[2])
            tiles.append((stored.tiles[position], number, address, client.get(address)))
        work.submit(worker, task["id"], key=f"key-{task['id']}-mixed", answer=careful(stored), seconds=1.0)
    assert len(tiles) == 240
    yield root, tiles
    workspace.ledger.engine.dispose()


def features_of(content, address, number, headers):
    """What a response tells without a look at its image: size, first bytes, URL, place in the grid, and headers."""
    name = [ord(letter) for letter in address.rpartition("/")[2].ljust(40)[:40]]
    texts = sorted(f"{key}: {value}" for key, value in headers.items() if key.lower() != "content-length")
    return [len(content), *content[:640].ljust(640), *name, number, len(texts), hash("\n".join(texts)) % 10_000]


def correct_guesses(features, is_control, images):
    """The best number of correct cross-validated guesses of two classifiers."""
    classifiers = (
        make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        RandomForestClassifier(100, min_samples_leaf=5, random_state=0),
    )
    values, folds = np.array(features, dtype=np.float64), GroupKFold(5)
    guesses = (cross_val_predict(each, values, is_control, groups=images, cv=folds) for each in classifiers)
    return max(int((guess == is_control).sum()) for guess in guesses)


def test_a_classifier_on_responses_separates_controls_no_better_than_chance(mixed):
    root, tiles = mixed
    is_control = np.array([tile.role is not TileRole.CANDIDATE for tile, *_ in tiles])
    images = [tile.image for tile, *_ in tiles]
    served = [features_of(answer.content, address, number, answer.headers) for _, number, address, answer in tiles]
    assert correct_guesses(served, is_control, images) <= binom.ppf(0.9999, len(tiles), 0.5)
    folder = {True: "reference", False: "pool"}
    originals = [
        features_of((root / folder[bool(control)] / tile.image).read_bytes(), address, number, {})
        for control, (tile, number, address, _) in zip(is_control, tiles, strict=True)
    ]
    assert correct_guesses(originals, is_control, images) == len(tiles)  # so that the test can fail


def test_all_tiles_have_the_same_headers(mixed):
    _, tiles = mixed
    headers = [{key.lower(): value for key, value in answer.headers.items()} for *_, answer in tiles]
    assert len({tuple(sorted(header.items())) for header in headers}) == 1  # also in length: files are filled up
    assert headers[0]["content-type"] == "image/jpeg"
    assert not {"etag", "last-modified", "date"} & set(headers[0])


# Answers


def test_a_selection_is_stored_in_the_order_of_the_task(app, workspace, visitor, queue):
    client, worker = visitor(WORKER), person(workspace, WORKER)
    task = tasks_of(client, queue)["task"]
    answer = careful(app.state.site.grids.of(queue).work.task_of(task["id"]))
    selected = chosen_tiles(app, queue, worker, task, answer)
    for _ in range(2):
        assert submit(client, queue, task, selected).json()["vote"] == 1
    [stored] = workspace.ledger.selections.since(queue, 0)
    assert (stored.answer, stored.seconds, stored.worker) == (answer, 12.5, WORKER)
    assert tasks_of(client, queue)["task"]["id"] != task["id"]
    workspace.review.publish("shapes tasks")
    assert "nothing new" in workspace.review.publish("shapes tasks").in_words()


def test_bad_selections_are_one_clear_line_each(workspace, visitor, queue):
    client, second = visitor(WORKER), visitor("worker-0002")
    task = tasks_of(client, queue)["task"]
    mine = names(task["tiles"])
    theirs = tasks_of(second, queue)["task"]
    cases = [
        (submit(client, queue, task, ["nonsense"]), 404, "unknown tile of this task 'nonsense'"),
        (submit(client, queue, task, names(theirs["tiles"])[:1]), 404, "unknown tile of this task"),
        (submit(second, queue, task, []), 400, "this task was returned, or was not given to you"),
        (submit(client, queue, {"id": 999}, []), 404, "unknown task '999'"),
        (submit(client, queue, task, mine[:1], seconds=-1.0), 422, "seconds"),
        (client.write(f"/api/queues/{queue.id}/selections", item=task["id"], key="key-of-a-submit"), 422, "selected"),
    ]
    for answer, status, words in cases:
        assert answer.status_code == status and words in answer.json()["error"], answer.text
    assert submit(client, queue, task, mine[:3]).status_code == 200
    twice = submit(client, queue, task, mine[:3], key="another-key-of-it")
    assert (twice.status_code, twice.json()["error"]) == (
        409,
        "you have answered this before, and answers are not changed",
    )
    changed = submit(client, queue, task, mine[:4])
    assert changed.status_code == 409 and "already used for another vote" in changed.json()["error"]
    assert len(workspace.ledger.selections.since(queue, 0)) == 1


def test_a_returned_task_is_offered_to_others(visitor, queue):
    client = visitor(WORKER)
    task = tasks_of(client, queue)["task"]
    following = client.write(f"/api/queues/{queue.id}/return", item=task["id"]).json()
    assert following["step"] == "task" and following["task"]["id"] != task["id"]
    assert client.write(f"/api/queues/{queue.id}/return", item=task["id"]).status_code == 400


def test_an_image_that_cannot_be_shown_accepts_no_answer(app, workspace, visitor, queue):
    client = visitor(WORKER)
    task = tasks_of(client, queue)["task"]
    grids = app.state.site.grids.of(queue)
    position = app.state.site.grids.position(queue, person(workspace, WORKER), task["id"], names(task["tiles"])[0])
    place = grids.images.of(grids.work.task_of(task["id"]).tiles[position])
    file = place.source.path / place.source.locations[place.position]
    content = file.read_bytes()
    try:
        file.write_bytes(b"<html>404</html>")
        answer = client.get(task["tiles"][0])
        assert answer.status_code == 400 and client.get(task["tiles"][1]).status_code == 200
        refused = submit(client, queue, task, [])
        assert refused.status_code == 400 and "could not be shown to you: return the task" in refused.json()["error"]
        client.write(f"/api/queues/{queue.id}/return", item=task["id"], unreadable=True)
        assert "an image of this task cannot be shown" in visitor("Olga").get("/team").text
    finally:
        file.write_bytes(content)
    assert client.get(task["tiles"][0]).status_code == 200


# Qualification and gate


def test_feedback_marks_the_wrong_tiles_of_a_qualification(app, workspace, visitor, queue):
    workspace.build.open("shapes", qualification=1)
    client, worker = visitor(WORKER), person(workspace, WORKER)
    step = tasks_of(client, queue)
    task = step["task"]
    assert step["step"] == "qualification" and task["qualification"]
    stored = app.state.site.grids.of(queue).work.task_of(task["id"])
    selected = chosen_tiles(app, queue, worker, task, careful(stored, wrong=2))
    feedback = submit(client, queue, task, selected).json()["feedback"]
    assert (feedback["right"], feedback["controls"], feedback["passed"]) == (
        len(stored.tiles) - 2,
        len(stored.tiles),
        True,
    )
    wrong = {mark["tile"].rpartition("/")[2]: mark["shows"] for mark in feedback["wrong"]}
    assert all((name not in selected) == shows for name, shows in wrong.items()) and len(wrong) == 2
    assert submit(client, queue, task, selected).json()["feedback"] == feedback
    assert tasks_of(client, queue)["step"] == "task"
    assert client.write(f"/api/queues/{queue.id}/return", item=task["id"]).status_code == 400


def wrong_answer(app, workspace, client, queue, *, wrong, key):
    task = tasks_of(client, queue)["task"]
    stored = app.state.site.grids.of(queue).work.task_of(task["id"])
    selected = chosen_tiles(app, queue, person(workspace, WORKER), task, careful(stored, wrong=wrong))
    return submit(client, queue, task, selected, key=key).json()


def test_a_worker_is_warned_once_and_then_paused(app, workspace, visitor, queue):
    client = visitor(WORKER)
    replies = [wrong_answer(app, workspace, client, queue, wrong=3, key=f"key-wrong-{n}") for n in range(4)]
    assert [bool(reply["message"]) for reply in replies] == [False, True, False, False]
    assert "not right" in replies[1]["message"]
    assert tasks_of(client, queue) == {"step": "paused", "task": None}
    page = client.get(f"/select/{queue.id}").text
    assert "Your work is paused" in page and "Ada, ada@example.org" in page and "12 of 24" not in page
    assert "paused" in client.get("/work").text
    events = [event.event for event in workspace.ledger.workers.events(queue)]
    assert events == [WorkerEvent.WARNED, WorkerEvent.PAUSED]


def test_answers_after_exclusion_are_refused_and_earlier_ones_stay(app, workspace, visitor, queue):
    client = visitor(WORKER)
    wrong_answer(app, workspace, client, queue, wrong=0, key="key-good-one")
    task = tasks_of(client, queue)["task"]
    work_of(workspace).decide(
        person(workspace, WORKER), WorkerEvent.EXCLUDED, by=person(workspace, "Olga"), reason="no one is there"
    )
    refused = submit(client, queue, task, [])
    assert refused.status_code == 400 and "your work on these tasks has ended" in refused.json()["error"]
    assert "no one is there" in client.get(f"/select/{queue.id}").text
    assert len(workspace.ledger.selections.since(queue, 0)) == 1


# The pages of owners


def test_progress_page_shows_workers_and_decides(workspace, visitor, queue):
    work = work_of(workspace)
    worker = person(workspace, WORKER)
    for _ in range(3):
        answer_next(work, worker)
    owner = visitor("Olga")
    assert "shapes" in owner.get("/builds").text
    page = owner.get("/builds/shapes").text
    assert WORKER in page and "100%" in page and "12 missing" not in page and "9 missing" in page
    refused = owner.submit("/builds/shapes", worker=str(worker.id), action="pause", reason=" ")
    assert refused.status_code == 400 and "give a reason" in refused.text.lower()
    for action, state in (("pause", "paused"), ("exclude", "excluded"), ("reinstate", "working")):
        answer = owner.submit("/builds/shapes", worker=str(worker.id), action=action, reason="by hand")
        assert answer.status_code == 303
        assert f'<b class="state {state}">' in owner.get("/builds/shapes").text
    again = owner.submit("/builds/shapes", worker=str(worker.id), action="reinstate", reason="again")
    assert again.status_code == 400 and "is not paused or excluded" in again.text
    logged = [(event.event.value, event.by) for event in workspace.ledger.workers.events(queue)]
    assert logged == [("paused", "Olga"), ("excluded", "Olga"), ("reinstated", "Olga")]
    assert owner.get("/builds/unknown").status_code == 404
    assert owner.submit("/builds/shapes", worker="999", action="pause", reason="x").status_code == 404


def test_generic_pages_handle_grids(workspace, visitor, queue):
    answer_next(work_of(workspace), person(workspace, WORKER))
    owner = visitor("Olga")
    assert 'href="/select/' in owner.get("/").text and "Krippendorff" not in owner.get("/").text
    assert "2 workers with links" in owner.get("/team").text
    assert owner.get(f"/panel/{queue.id}").status_code == 404
    assert owner.get(f"/api/queues/{queue.id}/next").status_code == 404
    assert owner.get("/explore?set=pool").status_code == 200
    with pytest.raises(regrade.core.InputError, match="on the page of build shapes"):
        workspace.review.agreement("shapes tasks")
    with pytest.raises(regrade.core.InputError, match="there is no queue yet"):
        workspace.review.agreement()
