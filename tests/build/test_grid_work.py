"""The work on grids: qualification, the gate on controls, limits, returned tasks, exclusions, and publishing."""

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from grid_world import OPTIONS, answer_next, careful, make_grids, person, work_of
from hypothesis import given
from hypothesis import strategies as st
from running import assert_one_line, run, run_well

import regrade
from regrade.build.exchange import tile_name
from regrade.build.files import AnswerCollection, TaskCollection
from regrade.build.grid_files import GridOptions, SettingsCollection
from regrade.build.grid_progress import AnswerLog, candidate_agreement, grid_progress
from regrade.build.grid_work import Step
from regrade.build.qualification import control_images
from regrade.build.standing import ControlCount, WorkerState, count_controls, gate_event, standing_of
from regrade.build.tasks import GridTask, Tile, TileRole
from regrade.core import AlreadyStored, InputError, MismatchError, UnknownName
from regrade.core.panel import WorkerEvent
from regrade.ledger import LoggedWorkerEvent, Question, VoteContent


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    root = tmp_path_factory.mktemp("grids")
    workspace = make_grids(root, side=32)
    workspace.ledger.engine.dispose()
    return root / "W"


@pytest.fixture
def workspace(template, tmp_path):
    shutil.copytree(template, tmp_path / "W")
    workspace = regrade.open(tmp_path / "W")
    yield workspace
    workspace.ledger.engine.dispose()


@pytest.fixture
def opened(workspace):
    """Grids without a qualification, so that the first task is a real one."""
    workspace.build.open("shapes", qualification=0)
    return workspace


def workers(workspace):
    return person(workspace, "worker-0001"), person(workspace, "worker-0002")


def events(workspace, worker):
    work = work_of(workspace)
    return [event.event.value for event in workspace.ledger.workers.events(work.queue, worker)]


# Opening


def test_open_is_idempotent_and_settings_have_versions(workspace):
    first = workspace.build.open("shapes")
    assert (first.tasks, first.new, first.qualification_tasks, first.workers_per_task, first.version) == (6, 6, 2, 2, 0)
    again = workspace.build.open("shapes")
    assert (again.new, again.version) == (0, 0)
    changed = workspace.build.open("shapes", per_worker=3)
    assert (changed.new, changed.version) == (0, 1)
    kept = workspace.build.open("shapes", tries=1)
    settings = SettingsCollection(workspace.store.root).newest("shapes")
    assert (kept.version, settings.options.per_worker, settings.options.tries) == (2, 3, 1)
    assert workspace.build.open("shapes", per_worker=0).version == 3
    assert SettingsCollection(workspace.store.root).newest("shapes").options.per_worker is None


def test_open_says_if_there_are_fewer_workers_than_each_task_needs(workspace):
    assert workspace.build.open("shapes").notes == ()
    workspace.ledger.accounts.close(person(workspace, "worker-0001"))
    workspace.ledger.people.set_role(person(workspace, "worker-0002"), workspace.ledger.people.named("Rita").role)
    (note,) = workspace.build.open("shapes").notes
    assert note == ("each task needs 2 workers, and there is 1: add more with regrade build workers shapes --add 1")


def test_qualification_shows_images_of_known_class_that_are_no_controls(workspace):
    workspace.build.open("shapes", qualification=1, tries=2)
    settings, stored = (
        SettingsCollection(workspace.store.root).newest("shapes"),
        TaskCollection(workspace.store.root).read("shapes"),
    )
    images = [tile.image for task in settings.tasks for tile in task.tiles]
    assert len(images) == len(set(images))
    assert not control_images(stored) & set(images)
    reference = workspace.store.test_set("reference")
    for task in settings.tasks:
        assert task.count(TileRole.POSITIVE) == task.count(TileRole.NEGATIVE) >= 4
        for tile in task.tiles:
            label = reference.class_space.ids[reference.labels[reference.position(tile.image)]]
            assert (label == task.class_id) == (tile.role is TileRole.POSITIVE)
    more = workspace.build.open("shapes", tries=3)
    assert more.qualification_tasks == 3
    assert SettingsCollection(workspace.store.root).newest("shapes").tasks[:2] == settings.tasks


def test_too_few_reference_images_for_a_qualification_are_one_line(workspace):
    with pytest.raises(InputError, match=r"qualification tasks? of 60.*--qualification 0"):
        workspace.build.open("shapes", qualification=30)


def test_open_refuses_a_queue_of_another_kind(workspace):
    workspace.ledger.queues.create("shapes tasks", Question.JUDGE, test_set="pool")
    with pytest.raises(AlreadyStored, match="another queue 'shapes tasks'"):
        workspace.build.open("shapes")


def test_commands_open_list_add_and_decide(workspace, tmp_path):
    folder = ("-w", workspace.store.root)
    (tmp_path / "consent.txt").write_text("You may stop at any time.\n")
    run_well("build", "open", "shapes", "--consent", tmp_path / "consent.txt", "--min-control-accuracy", "75", *folder)
    options = SettingsCollection(workspace.store.root).newest("shapes").options
    assert (options.consent, options.lowest, options.warn_below) == ("You may stop at any time.", 0.75, 0.85)
    links = run_well(
        "build", "workers", "shapes", "--add", "2", "--address", "https://grids.example/", "--csv", *folder
    )
    rows = [line.split(",") for line in links.out.splitlines()]
    assert rows[0] == ["worker", "link"] and [row[0] for row in rows[1:]] == ["worker-0003", "worker-0004"]
    assert all(row[1].startswith("https://grids.example/work/") for row in rows[1:])
    assert_one_line(run("build", "workers", "shapes", "--pause", "worker-0003", *folder), "give a reason with --reason")
    run_well("build", "workers", "shapes", "--pause", "worker-0003", "--reason", "too fast", *folder)
    table = json.loads(run_well("build", "workers", "shapes", "--json", *folder).out)
    row = next(row for row in table["workers"] if row["worker"] == "worker-0003")
    assert row["standing"] == "paused" and "paused by Olga" in row["last_event"]
    token = rows[1][1].rpartition("/")[2]
    assert token not in json.dumps(table)


# Qualification


def test_a_careful_worker_qualifies_and_gets_a_task(workspace):
    workspace.build.open("shapes")
    work, (worker, _) = work_of(workspace), workers(workspace)
    assert work.next_step(worker).step is Step.QUALIFICATION
    task, outcome = answer_next(work, worker)
    assert outcome.feedback.passed and outcome.feedback.wrong == ()
    assert outcome.event.event is WorkerEvent.QUALIFIED
    assert work.next_step(worker).step is Step.TASK
    assert task in work.settings.tasks


def test_a_second_attempt_has_other_images_and_a_third_does_not_exist(workspace):
    workspace.build.open("shapes")
    work, (worker, _) = work_of(workspace), workers(workspace)
    first, outcome = answer_next(work, worker, wrong=20)
    assert (outcome.feedback.passed, outcome.feedback.tries_left, outcome.event) == (False, 1, None)
    assert len(outcome.feedback.wrong) == 20
    second, outcome = answer_next(work, worker, wrong=20)
    assert not {tile.image for tile in first.tiles} & {tile.image for tile in second.tiles}
    assert outcome.event.event is WorkerEvent.FAILED
    assert work.next_step(worker).step is Step.FAILED
    work.decide(worker, WorkerEvent.REINSTATED, by=person(workspace, "Olga"), reason="a broken screen")
    assert work.next_step(worker).step is Step.TASK


def test_the_qualification_event_follows_also_if_the_server_stopped_before_it(workspace):
    workspace.build.open("shapes")
    work, (worker, _) = work_of(workspace), workers(workspace)
    step = work.next_step(worker)
    workspace.ledger.votes.cast(step.item.id, worker, VoteContent("key-before-kill", careful(step.task)))
    assert work.next_step(worker).step is Step.TASK
    assert events(workspace, worker) == ["qualified"]


def test_a_qualification_task_cannot_be_returned_or_skipped(workspace):
    workspace.build.open("shapes")
    work, (worker, _) = work_of(workspace), workers(workspace)
    step = work.next_step(worker)
    with pytest.raises(InputError, match="cannot be returned"):
        work.give_back(worker, step.item.id)
    later = next(item for item in work.items.values() if item.example == work.settings.tasks[1].id)
    with pytest.raises(InputError, match="was not given to you"):
        work.submit(worker, later.id, key="key-too-early", answer=careful(work.settings.tasks[1]), seconds=1.0)


# Consent, limits, returned tasks


def test_consent_comes_first_and_a_new_text_needs_a_new_one(workspace, tmp_path):
    text = tmp_path / "consent.txt"
    for number in range(2):
        text.write_text(f"Version {number}")
        workspace.build.open("shapes", qualification=0, consent=text)
        work, (worker, _) = work_of(workspace), workers(workspace)
        assert work.next_step(worker).step is Step.CONSENT
        work.consent(worker)
        work.consent(worker)
        assert work.next_step(worker).step is Step.TASK
    assert events(workspace, worker) == ["consented", "consented"]


def test_an_answer_without_consent_is_refused(opened, tmp_path):
    work, (worker, _) = work_of(opened), workers(opened)
    step = work.next_step(worker)
    (tmp_path / "c.txt").write_text("New conditions")
    opened.build.open("shapes", consent=tmp_path / "c.txt")
    with pytest.raises(InputError, match="agree to the conditions"):
        work_of(opened).submit(worker, step.item.id, key="key-no-consent", answer=careful(step.task), seconds=1.0)


def test_a_worker_does_no_more_than_the_limit(workspace):
    workspace.build.open("shapes", qualification=0, per_worker=2)
    work, (worker, second) = work_of(workspace), workers(workspace)
    answer_next(work, worker)
    answer_next(work, worker)
    assert work.next_step(worker).step is Step.LIMIT
    assert work.next_step(second).step is Step.TASK


def test_a_returned_task_goes_to_others_and_comes_back_last(opened):
    work, (worker, second) = work_of(opened), workers(opened)
    first = work.next_step(worker).item
    work.give_back(worker, first.id)
    with pytest.raises(InputError, match="was not given to you, or you have answered or returned it"):
        work.give_back(worker, first.id)
    with pytest.raises(InputError, match="was returned, or was not given to you"):
        work.submit(worker, first.id, key="key-returned", answer=careful(work.task_of(first.id)), seconds=1.0)
    answered = {answer_next(work, worker)[0].id for _ in range(5)}
    assert first.example not in answered
    assert work.next_step(worker).step is Step.RETURNED
    opened.ledger.items.return_skipped(work.queue, worker)
    assert work.next_step(worker).item.id == first.id
    assert {answer_next(work, second)[0].id for _ in range(6)} > {first.example}


def test_the_last_worker_is_done(opened):
    work, (worker, _) = work_of(opened), workers(opened)
    for _ in range(6):
        answer_next(work, worker)
    assert work.next_step(worker).step is Step.DONE


# Answers


def test_an_answer_counts_once_and_is_not_changed(opened):
    work, (worker, second) = work_of(opened), workers(opened)
    step = work.next_step(worker)
    first, same = (
        work.submit(worker, step.item.id, key="key-number-1", answer=careful(step.task), seconds=9.0) for _ in range(2)
    )
    assert first.vote == same.vote
    with pytest.raises(AlreadyStored, match="answers are not changed"):
        work.submit(worker, step.item.id, key="key-number-2", answer=careful(step.task), seconds=9.0)
    with pytest.raises(InputError, match="was not given to you"):
        work.submit(second, step.item.id, key="key-number-3", answer=careful(step.task), seconds=9.0)
    with pytest.raises(UnknownName, match="unknown task '999'"):
        work.submit(second, 999, key="key-number-4", answer=careful(step.task), seconds=9.0)
    with pytest.raises(MismatchError, match="is about 2 of 48 tiles"):
        work.submit(second, work.next_step(second).item.id, key="key-number-5", answer="01", seconds=9.0)
    assert len(opened.ledger.selections.since(work.queue, 0)) == 1


def test_concurrent_answers_of_one_worker_count_once(opened):
    work, (worker, _) = work_of(opened), workers(opened)
    step = work.next_step(worker)

    def submit(number):
        try:
            return work.submit(worker, step.item.id, key=f"key-tab-{number}", answer=careful(step.task), seconds=1.0)
        except (AlreadyStored, InputError):
            return None

    with ThreadPoolExecutor(6) as pool:
        outcomes = list(pool.map(submit, range(6)))
    assert sum(outcome is not None for outcome in outcomes) == 1
    assert len(opened.ledger.selections.since(work.queue, 0)) == 1


def test_every_worker_sees_the_tiles_in_another_order(opened):
    work, (worker, second) = work_of(opened), workers(opened)
    task = work.next_step(worker).task
    assert task.order_for(worker.name) != task.order_for(second.name)
    assert set(task.order_for(worker.name)) == set(task.order_for(second.name)) == set(task.tiles)


# The gate


def test_the_gate_warns_then_pauses_and_a_warning_is_not_repeated(opened):
    work, (worker, _) = work_of(opened), workers(opened)
    outcomes = [answer_next(work, worker, wrong=3)[1].event for _ in range(4)]
    assert [outcome and outcome.event for outcome in outcomes] == [None, WorkerEvent.WARNED, None, WorkerEvent.PAUSED]
    assert outcomes[-1].reason == "12 of 24 controls right" and outcomes[-1].by is None
    assert work.next_step(worker).step is Step.PAUSED


def test_the_gate_excludes_a_worker_who_is_always_wrong(opened):
    work, (worker, _) = work_of(opened), workers(opened)
    assert answer_next(work, worker, wrong=6)[1].event.event is WorkerEvent.EXCLUDED
    assert work.next_step(worker).step is Step.EXCLUDED


def test_a_good_worker_is_left_alone(opened):
    work, (worker, _) = work_of(opened), workers(opened)
    assert [answer_next(work, worker, wrong=number % 2)[1].event for number in range(6)] == [None] * 6


def test_reinstatement_forgets_earlier_controls(opened):
    work, (worker, _) = work_of(opened), workers(opened)
    answer_next(work, worker, wrong=6)
    with pytest.raises(InputError, match="give a reason"):
        work.decide(worker, WorkerEvent.REINSTATED, by=person(opened, "Olga"), reason=" ")
    work.decide(worker, WorkerEvent.REINSTATED, by=person(opened, "Olga"), reason="the class was ambiguous")
    assert work.standing(worker).state is WorkerState.WORKING
    assert answer_next(work, worker)[1].event is None
    assert answer_next(work, worker, wrong=6)[1].event.event is WorkerEvent.WARNED
    with pytest.raises(InputError, match="worker-0002 is not paused or excluded"):
        work.decide(workers(opened)[1], WorkerEvent.REINSTATED, by=None, reason="no need")
    work.decide(worker, WorkerEvent.PAUSED, by=None, reason="lunch")
    with pytest.raises(AlreadyStored, match="worker-0001 is paused already"):
        work.decide(worker, WorkerEvent.PAUSED, by=None, reason="lunch")


def test_a_paused_worker_may_still_send_the_task_in_hand_and_an_excluded_one_may_not(opened):
    work, (worker, second) = work_of(opened), workers(opened)
    for person_, event in ((worker, WorkerEvent.PAUSED), (second, WorkerEvent.EXCLUDED)):
        step = work.next_step(person_)
        work.decide(person_, event, by=None, reason="by hand")
        if event is WorkerEvent.PAUSED:
            work.submit(person_, step.item.id, key="key-in-hand", answer=careful(step.task), seconds=1.0)
        else:
            with pytest.raises(InputError, match="your work on these tasks has ended"):
                work.submit(person_, step.item.id, key="key-too-late", answer=careful(step.task), seconds=1.0)
    assert [row.worker for row in opened.ledger.selections.since(work.queue, 0)] == [worker.name]


def test_tasks_of_excluded_workers_are_given_to_others(opened):
    work, (worker, second) = work_of(opened), workers(opened)
    third = opened.ledger.workers.add(1)[0].worker
    bad, _ = answer_next(work, worker, wrong=6)
    done = {answer_next(work, second)[0].id for _ in range(6)}
    assert bad.id in done
    assert bad.id in {answer_next(work, third)[0].id for _ in range(6)}
    work.decide(worker, WorkerEvent.REINSTATED, by=None, reason="it was our mistake")
    needed = {item.example: (item.needed, item.missing) for item in opened.ledger.selections.tasks(work.queue)}
    assert needed[bad.id] == (3, 0)  # it has three answers


@given(st.integers(0, 60), st.integers(0, 60), st.sampled_from([0.6, 0.8, 0.9]))
def test_a_worker_at_the_lowest_accuracy_or_above_is_never_stopped_without_a_mistake(right, wrong, lowest):
    options = GridOptions(lowest=lowest, warn_below=0.95)
    event = gate_event(ControlCount(right, right + wrong), options, WorkerState.WORKING)
    if right >= lowest * (right + wrong):
        assert event in (None, WorkerEvent.WARNED)
    worse = gate_event(ControlCount(right, right + wrong + 30), options, WorkerState.WORKING)
    rank = [None, WorkerEvent.WARNED, WorkerEvent.PAUSED, WorkerEvent.EXCLUDED]
    assert rank.index(worse) >= rank.index(event)


def test_warning_must_come_before_pausing():
    with pytest.raises(InputError, match="--warn-below 70 is less than --min-control-accuracy 80"):
        GridOptions(warn_below=0.7)


def test_controls_are_counted_by_hand():
    roles = (TileRole.POSITIVE, TileRole.NEGATIVE, TileRole.CANDIDATE, TileRole.POSITIVE)
    task = GridTask("t", "c", tuple(Tile(str(number), role) for number, role in enumerate(roles)))
    assert count_controls(task, "1010") == ControlCount(2, 3)
    assert count_controls(task, "0100") == ControlCount(0, 3)


def logged(number, event):
    return LoggedWorkerEvent(number, 1, "w", event, "", None, datetime(2026, 1, number, tzinfo=UTC))


def test_standing_follows_the_log():
    log = [logged(1, WorkerEvent.CONSENTED), logged(2, WorkerEvent.FAILED), logged(3, WorkerEvent.REINSTATED)]
    assert standing_of([]).in_words() == "not begun"
    assert standing_of(log[:1]).state is WorkerState.WORKING and not standing_of(log[:1]).qualified
    assert standing_of(log[:2]).state is WorkerState.FAILED
    standing = standing_of(log)
    assert standing.qualified and standing.since == log[2].at and standing.last_id == 3


# Publishing, and answers from elsewhere


def test_publish_adds_new_answers_only_and_names_excluded_workers(opened):
    work, (worker, second) = work_of(opened), workers(opened)
    answer_next(work, second)
    assert opened.review.publish("shapes tasks").in_words().startswith("answers of build shapes: 1 answers")
    assert not opened.review.publish("shapes tasks").changes
    answer_next(work, worker, wrong=6)
    would = opened.review.publish("shapes tasks", dry_run=True)
    assert would.changes == {"answers": 1, "workers excluded": 1} and not would.written
    assert len(AnswerCollection(opened.store.root).read("shapes")) == 1
    opened.review.publish("shapes tasks")
    stored = AnswerCollection(opened.store.root).read("shapes")
    assert [(answer.worker, len(answer.selected), answer.seconds) for answer in stored].count(
        (second.name, 45, 20.0)
    ) == 1
    frequencies = opened.build.frequencies("shapes", min_answers=1)
    assert f"left out: {worker.name}" in frequencies.notes
    everyone = opened.build.frequencies("shapes", min_answers=1, include_excluded=True)
    assert not any(note.startswith("left out") for note in everyone.notes)
    assert int(everyone.images.assignments.sum()) == 2 * int(frequencies.images.assignments.sum()) == 96
    work.decide(worker, WorkerEvent.REINSTATED, by=None, reason="a second look")
    assert opened.review.publish("shapes tasks").changes == {"workers excluded": 0}
    assert not any(note.startswith("left out") for note in opened.build.frequencies("shapes").notes)


def test_a_draw_stores_who_was_left_out(opened):
    work, (worker, second) = work_of(opened), workers(opened)
    for _ in range(6):
        answer_next(work, second)
    answer_next(work, worker, wrong=6)
    opened.review.publish("shapes tasks")
    sample = opened.build.sample("shapes", strategy="top", per_class=2, min_answers=1, min_references=1)
    assert sample.left_out == (worker.name,)
    work.decide(worker, WorkerEvent.REINSTATED, by=None, reason="a second look")
    opened.review.publish("shapes tasks")
    revision = opened.build.revisions("shapes")
    assert revision is not None
    assert opened.build.sample("shapes", strategy="top", per_class=2, min_answers=1, min_references=1).left_out == ()


def test_the_qualification_is_not_published(workspace):
    workspace.build.open("shapes")
    answer_next(work_of(workspace), workers(workspace)[0])
    with pytest.raises(InputError, match="is a qualification"):
        workspace.review.publish("shapes qualification")
    assert not workspace.review.publish("shapes tasks").changes


def outside_answers(workspace, path, names, task):
    stored = TaskCollection(workspace.store.root).read("shapes")
    tile = tile_name(task, task.tiles[0].image, key=stored.digest)
    rows = [{"task": task.id, "worker": name, "selected": [tile]} for name in names]
    path.write_text(json.dumps(rows))
    return path


def test_answers_of_other_platforms_count_for_their_tasks(opened, tmp_path):
    task = work_of(opened).stored.tasks[0]
    opened.build.answers("shapes", outside_answers(opened, tmp_path / "a.json", ["A1", "A2"], task))
    opened.build.open("shapes")
    work, (worker, _) = work_of(opened), workers(opened)
    assert task.id not in {answer_next(work, worker)[0].id for _ in range(5)}
    assert work.next_step(worker).step is Step.DONE
    opened.review.publish("shapes tasks")
    assert len(AnswerCollection(opened.store.root).read("shapes")) == 7
    opened.build.open("shapes")  # published answers are not counted twice
    assert {item.missing for item in opened.ledger.selections.tasks(work.queue)} == {0, 1}


def test_a_build_answered_elsewhere_before_it_is_opened_needs_nothing(workspace, tmp_path):
    task = TaskCollection(workspace.store.root).read("shapes").tasks[0]
    workspace.build.answers("shapes", outside_answers(workspace, tmp_path / "a.json", ["A1"], task))
    workspace.build.open("shapes", qualification=0)
    needed = {item.example: item.needed for item in workspace.ledger.selections.tasks(work_of(workspace).queue)}
    assert needed.pop(task.id) == OPTIONS.workers - 1 and set(needed.values()) == {OPTIONS.workers}


def test_a_worker_with_another_answer_from_elsewhere_is_one_line(opened, tmp_path):
    work, (worker, _) = work_of(opened), workers(opened)
    task, _ = answer_next(work, worker)
    opened.build.answers("shapes", outside_answers(opened, tmp_path / "a.json", [worker.name], task))
    with pytest.raises(InputError, match=r"has answered task .* before, and differently"):
        opened.review.publish("shapes tasks")


# Progress


def test_progress_counts_tasks_workers_speed_and_classes(opened):
    work, (worker, second) = work_of(opened), workers(opened)
    for wrong in (0, 1):
        answer_next(work, worker, wrong=wrong)
    returned = work.next_step(second).item
    work.give_back(second, returned.id)
    now = datetime.now(UTC)
    log = AnswerLog(work)
    progress = grid_progress(work, log, now=now)
    assert (progress.tasks, progress.complete, progress.answers, progress.missing) == (6, 0, 2, 10)
    (row,) = progress.workers
    assert (row.worker, row.tasks, row.seconds) == (worker.name, 2, 20.0)
    assert (row.control_accuracy.value, row.control_accuracy.n) == (11 / 12, 12)
    assert progress.per_hour == 120.0 and progress.hours_left == 10 / 120
    assert sum(of_class.returned for of_class in progress.classes) == 1
    assert sum(of_class.missing for of_class in progress.lagging) == 10
    later = grid_progress(work, log, now=now + timedelta(hours=2))
    assert later.per_hour == 0.0 and later.hours_left is None
    answer_next(work, second)
    assert len(log.refresh()) == 3


def test_agreement_is_that_of_the_answers_to_candidates(opened):
    work, people = work_of(opened), workers(opened)
    for item in opened.ledger.selections.tasks(work.queue):
        task = work.task_of(item.id)
        half = [digit if tile.role is not TileRole.CANDIDATE else "01"[place % 2] for place, (digit, tile) in
                enumerate(zip(careful(task), task.tiles, strict=True))]  # fmt: skip
        for worker in people:
            opened.ledger.votes.cast(item.id, worker, VoteContent(f"key-{worker.name}-{item.id}", "".join(half)))
    log = AnswerLog(work)
    agreement = candidate_agreement(work, log)
    assert agreement.value == 1.0 and agreement.n == 252
    assert grid_progress(work, log, now=datetime.now(UTC)).complete == 6
