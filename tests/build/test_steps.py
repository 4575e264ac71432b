"""The steps of a build: tasks, answers, frequencies and samples, stored once and repeatable."""

import csv
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from running import run, run_well

from regrade.build.exchange import tile_name
from regrade.build.files import AnswerBatch, AnswerCollection, RevisionCollection, TaskCollection
from regrade.build.frequencies import Assignment
from regrade.core import AlreadyStored, FormatError, InputError, MismatchError, UnknownName


class TestTasks:
    def test_tasks_are_stored_once_and_read_back(self, workspace):
        first = workspace.build.tasks("new", "pool", "reference", confused_by="model")
        again = workspace.build.tasks("new", "pool", "reference", confused_by="model")
        assert first == again
        assert first.compositions[0] == (6, 42, 3, 3)
        result = TaskCollection(workspace.store.root).read("new")
        assert (result.pool, result.reference, len(result.tasks)) == ("pool", "reference", first.tasks)
        with pytest.raises(AlreadyStored, match="build new has other tasks already"):
            workspace.build.tasks("new", "pool", "reference", confused_by="model", seed=1)

    def test_tasks_need_a_similar_class_for_negative_controls(self, workspace):
        with pytest.raises(InputError, match=r"has no hierarchy .* --confused-by, or set --negatives 0"):
            workspace.build.tasks("new", "pool", "reference")
        assert workspace.build.tasks("new", "pool", "reference", negatives=0).compositions[0] == (4, 45, 3, 0)

    def test_tasks_need_the_same_classes(self, workspace):
        workspace.testsets.add("digits", path_of_table(workspace), classes="digits")
        with pytest.raises(MismatchError, match=r"the classes of digits .* and reference .* differ"):
            workspace.build.tasks("new", "digits", "reference")

    def test_a_build_without_any_task_is_refused(self, workspace):
        with pytest.raises(InputError, match="no class has tasks: cat: 60 reference images for 61 positive controls"):
            workspace.build.tasks("new", "pool", "reference", tiles=100, positives=61, confused_by="model")


def path_of_table(workspace):
    path = workspace.store.root.parent / "digits.csv"
    path.write_text("id,label\na,1\nb,2\n")
    return path


class TestAnswers:
    def test_answers_are_added_once(self, answered, tmp_path):
        stored = AnswerCollection(answered.store.root).read("new")
        result = answered.build.answers("new", tmp_path / "answers.csv")
        assert (result.answers, result.new, result.workers) == (len(stored), 0, 15)
        assert result.complete_tasks == result.tasks
        assert AnswerCollection(answered.store.root).read("new") == stored

    def test_stored_answers_are_read_back(self, answered):
        answers = AnswerCollection(answered.store.root)
        batch = AnswerBatch(
            "new",
            (
                Assignment("1", "ada", frozenset({"a", "b"}), 2.5),
                Assignment("1", "bob", frozenset()),
                Assignment("2", "ada", frozenset({"a"})),
            ),
            "late.csv",
        )
        earlier = answers.read("new")
        [before] = answers.batches("new")
        answers.add(batch, None)
        [name] = set(answers.batches("new")) - {before}
        assert answers.read_batch("new", name) == batch
        assert sorted(answers.iterate("new"), key=repr) == sorted((*earlier, *batch.assignments), key=repr)
        answers.add(replace(batch, assignments=(Assignment("3", "bob", frozenset()),)), None)
        assert len(answers.read("new")) == len(earlier) + 4

    def test_a_different_answer_to_the_same_task_is_refused(self, answered, tmp_path):
        rows = list(csv.DictReader((tmp_path / "answers.csv").read_text().splitlines()))
        rows[0]["selected"] = "" if rows[0]["selected"] else rows[1]["selected"]
        with pytest.raises(
            InputError, match=f"worker '{rows[0]['worker']}' has answered task .* before, and differently"
        ):
            answered.build.answers("new", write(tmp_path / "changed.csv", rows[:1]))

    def test_a_task_answered_twice_in_a_file_is_refused(self, workspace, tmp_path):
        workspace.build.tasks("new", "pool", "reference", confused_by="model")
        task = TaskCollection(workspace.store.root).read("new").tasks[0]
        rows = [{"task": task.id, "worker": "ada", "selected": ""}] * 2
        with pytest.raises(InputError, match=r"worker 'ada' answered task .* twice"):
            workspace.build.answers("new", write(tmp_path / "twice.csv", rows))
        assert AnswerCollection(workspace.store.root).read("new") == ()

    @pytest.mark.parametrize(
        ("row", "error", "message"),
        [
            ({"task": "unknown"}, InputError, "unknown task 'unknown'"),
            ({"selected": "0123"}, InputError, "has no tile '0123'"),
            ({"worker": " "}, FormatError, "an answer has no worker"),
            ({"seconds": "-1"}, FormatError, "seconds must be finite and not negative"),
        ],
    )
    def test_answers_that_do_not_fit_are_refused(self, workspace, tmp_path, row, error, message):
        workspace.build.tasks("new", "pool", "reference", confused_by="model")
        stored = TaskCollection(workspace.store.root).read("new")
        task = stored.tasks[0]
        tile = tile_name(task, task.tiles[0].image, key=stored.digest)
        good = {"task": task.id, "worker": "ada", "selected": tile, "seconds": "3"}
        with pytest.raises(error, match=message):
            workspace.build.answers("new", write(tmp_path / "bad.csv", [good | row]))

    def test_steps_name_a_build_that_does_not_exist(self, workspace, tmp_path):
        path = write(tmp_path / "some.csv", [{"task": "a", "worker": "b", "selected": ""}])
        with pytest.raises(UnknownName, match=r"unknown build 'new'; there are none yet: .*regrade build tasks"):
            workspace.build.answers("new", path)


def write(path, rows):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


class TestFrequencies:
    def test_frequencies_show_groups_workers_classes_and_images(self, answered):
        result = answered.build.frequencies("new")
        groups = {group.name: group for group in result.groups}
        assert groups["candidates"].images == groups["candidates"].annotated == 180
        assert groups["reference images"].mean.value > groups["candidates"].mean.value
        assert groups["negative controls"].mean.value < 0.25
        assert sum(groups["candidates"].counts) == 180
        standings = Counter(row.standing.value for row in result.workers)
        assert standings["excluded"] == 2
        assert {row.class_id for row in result.classes} == {"cat", "dog"}
        for part in result.parts:
            assert len(result.part(part).rows) > 0
        assert "worker-001, worker-002; see --show workers" in result.notes[0]

    def test_workers_can_be_left_out_by_name_and_by_their_controls(self, answered):
        counted = answered.build.frequencies("new")
        named = answered.build.frequencies("new", exclude_workers=["worker-001"])
        gated = answered.build.frequencies("new", lowest_control_accuracy=0.8)
        left_out = [
            {row.quality.worker for row in result.workers if row.left_out} for result in (counted, named, gated)
        ]
        assert left_out == [set(), {"worker-001"}, {"worker-001", "worker-002"}]
        assert gated.groups[1].mean.value > counted.groups[1].mean.value
        with pytest.raises(UnknownName, match="worker 'nobody'"):
            answered.build.frequencies("new", exclude_workers=["nobody"])

    def test_frequencies_without_answers_name_the_next_command(self, workspace):
        workspace.build.tasks("new", "pool", "reference", confused_by="model")
        with pytest.raises(InputError, match="has no answers yet: import them with regrade build answers new FILE"):
            workspace.build.frequencies("new")


class TestSample:
    @pytest.mark.parametrize("strategy", ["matched-frequency", "threshold", "top", "keyword-matched"])
    def test_samples_are_numbered_revisions(self, answered, strategy):
        first = answered.build.sample("new", strategy, per_class=8, lowest=0.5)
        second = answered.build.sample("new", strategy, per_class=8, lowest=0.5, seed=1, continue_from=0)
        assert (first.revision, second.revision) == (0, 1)
        assert (first.images, first.classes, first.problems) == (16, 2, ())
        stored = [RevisionCollection(answered.store.root).read("new", number) for number in (0, 1)]
        assert {image for image, _ in stored[0].sample.examples} == {image for image, _ in stored[1].sample.examples}
        assert stored[1].settings["continue_from"] == 0

    def test_a_stored_revision_is_the_sample_that_was_drawn(self, answered):
        answered.build.sample("new", "matched-frequency", per_class=8)
        revision = RevisionCollection(answered.store.root).read("new", 0)
        assert Counter(class_id for _, class_id in revision.sample.examples) == {"cat": 8, "dog": 8}
        assert [of_class.class_id for of_class in revision.sample.classes] == ["cat", "dog"]
        assert all(sum(of_class.targets.values()) == 8 for of_class in revision.sample.classes)
        with pytest.raises(UnknownName, match="revision of new '7'"):
            RevisionCollection(answered.store.root).read("new", 7)

    def test_a_blacklist_excludes_images_for_the_next_revision(self, answered, tmp_path):
        answered.build.sample("new", "top", per_class=5)
        drawn = RevisionCollection(answered.store.root).read("new", 0).sample.examples
        path = tmp_path / "blacklist.txt"
        path.write_text(drawn[0][0] + "\n")
        again = answered.build.sample("new", "top", per_class=5, blacklist=path)
        assert again.excluded == {"blacklisted": 1}
        images = {image for image, _ in RevisionCollection(answered.store.root).read("new", 1).sample.examples}
        assert drawn[0][0] not in images
        path.write_text("no such image\n")
        with pytest.raises(UnknownName, match="image of pool 'no such image'"):
            answered.build.sample("new", "top", blacklist=path)

    def test_strategies_differ_as_in_the_paper(self, answered):
        means = {
            strategy: answered.build.sample("new", strategy, per_class=15).drawn_frequency
            for strategy in ("matched-frequency", "threshold", "top")
        }
        assert means["top"] > means["threshold"] > 0.7
        assert means["top"] > means["matched-frequency"]

    def test_models_get_a_predicted_accuracy(self, answered):
        result = answered.build.sample("new", "matched-frequency", per_class=15)
        [forecast] = result.models
        assert forecast.model == "model"
        assert forecast.predicted.low <= forecast.reference.value <= forecast.predicted.high
        assert len(result.part(result.parts[1]).rows) == 1

    def test_a_target_is_met_and_its_absence_is_an_error(self, answered):
        result = answered.build.sample("new", "target-frequency", per_class=15, target=0.8)
        assert result.drawn_frequency == pytest.approx(0.8, abs=0.03)
        with pytest.raises(InputError, match="target-frequency needs --target"):
            answered.build.sample("new", "target-frequency")
        with pytest.raises(InputError, match="target-confusion needs --ensemble"):
            answered.build.sample("new", "target-confusion", target=1.0)

    def test_target_confusion_uses_the_scores_of_an_ensemble(self, answered):
        pool = answered.store.test_set("pool")
        rng = np.random.default_rng(0)
        scores = rng.normal(size=(2, 3, len(pool), 2)) * np.linspace(0.1, 3, len(pool))[:, None]
        add_checkpoints(answered, scores)
        result = answered.build.sample("new", "target-confusion", per_class=15, target=0.8, ensemble="small")
        assert (result.images, result.problems) == (30, ())

    def test_a_corrected_sample_is_close_to_the_reference_images(self, answered):
        naive = answered.build.sample("new", "matched-frequency", per_class=15)
        corrected = answered.build.sample("new", "matched-frequency", per_class=15, debias=True)
        assert corrected.drawn_frequency > naive.drawn_frequency
        assert abs(corrected.estimated_difference.value) < abs(naive.estimated_difference.value)

    def test_incomplete_classes_are_named(self, answered):
        result = answered.build.sample("new", "threshold", per_class=85, lowest=0.9)
        assert len(result.problems) == 2
        assert "more images with a selection frequency of 0.9 or more needed" in result.problems[0]

    @pytest.mark.parametrize("text", ["cat", "cat=much", "=0.5x"])
    def test_overrides_are_class_and_share(self, answered, text):
        with pytest.raises(InputError, match="an override is CLASS=SHARE"):
            answered.build.sample("new", "threshold", overrides=[text])


def add_checkpoints(workspace, scores):
    """Store the scores (members, epochs, n, c) of an ensemble."""
    path = workspace.store.root.parent / "scores.npy"
    np.save(path, scores.astype(np.float32))
    workspace.models.import_checkpoints(path, test_set="pool", ensemble="small", kind="logits")


def test_damaged_files_of_a_build_are_noticed(answered):
    answered.build.sample("new", "top", per_class=5)
    assert answered.verify().problems == ()
    for path in sorted((answered.store.root / "builds" / "new").iterdir()):
        content, place = path.read_bytes(), path.relative_to(answered.store.root).as_posix()
        path.write_bytes(content[:-40] + bytes([content[-40] ^ 1]) + content[-39:])
        assert [problem.subject for problem in answered.verify().problems] == [place]
        path.write_bytes(content)


def test_a_build_from_the_command_line(workspace, monkeypatch):
    monkeypatch.chdir(workspace.store.root)
    result = run_well("build", "tasks", "new", "--pool", "pool", "--reference", "reference", "--confused-by", "model")
    assert "6" in result.out
    assert run("build", "frequencies", "new").code == 1
    simulated = run_well("build", "simulate", "--workers", "3", "--workers", "6", "--classes", "4", "--json")
    assert '"naive_bias"' in simulated.out
