"""A pair of image and prediction that people categorized for one model is not asked again for the next one."""

from pathlib import Path

import pytest
from judging import item_of, people, queue_of, vote

import regrade
from regrade.core import InputError, MistakeCategory, ReusedFrom, Severity, UnknownName
from regrade.core.panel import NO_MISTAKE
from regrade.ledger import Question

FINE, SPURIOUS = (category.value for category in (MistakeCategory.FINE_GRAINED, MistakeCategory.SPURIOUS))
OWN = ("cat", "dog", "bird", "cat", "ship", "frog")
FIRST = ("dog", "cat", "cat", "cat", "ship", "frog")  # i0, i1, i2 wrong
NEXT = ("dog", "cat", "dog", "cat", "truck", "frog")  # the same on i0 and i1, another one on i2, and i4


def write(path: Path, heading, rows) -> Path:
    path.write_text("\n".join(",".join(row) for row in (heading, *rows)) + "\n")
    return path


def images_of(classes):
    return [(f"i{n}", name) for n, name in enumerate(classes)]


@pytest.fixture
def workspace(tmp_path):
    """Two models on six images, and labels that are complete."""
    workspace = regrade.init(tmp_path / "W")
    for model, answers in (("first", FIRST), ("next", NEXT)):
        rows = [(f"i{n}", label, answer) for n, (label, answer) in enumerate(zip(OWN, answers, strict=True))]
        file = write(tmp_path / f"{model}.csv", ("image", "label", model), rows)
        workspace.models.import_predictions(file, test_set="s", classes="cifar-10")
    file = write(tmp_path / "labels.csv", ("image", "class"), images_of(OWN))
    workspace.labels.import_file(file, test_set="s", name="own", complete=True)
    workspace.labels.import_file(file, test_set="s", name="others", complete=True)
    yield workspace
    workspace.ledger.engine.dispose()


@pytest.fixture
def decided(workspace):
    """The first model's queue: i0 dog is fine-grained and borderline, i1 cat no mistake, i2 is open."""
    workspace.review.queue_mistakes("s", labels="own", model="first", name="q", overlap=1)
    decide(workspace, "q", ("i0", "dog"), FINE, severity="borderline")
    decide(workspace, "q", ("i1", "cat"), NO_MISTAKE, reason="it is a cat")
    return workspace


def decide(workspace, queue, pair, answer, **more):
    (ada,) = people(workspace.ledger, "Ada")
    vote(workspace.ledger, workspace.ledger.queues.named(queue), ada, pair, answer, **more)


def import_review(workspace, tmp_path, model, rows):
    file = write(tmp_path / f"{model}-mistakes.csv", ("image", "prediction", "category", "severity"), rows)
    workspace.models.import_mistakes(file, test_set="s", model=model)


def queue_next(workspace, **options):
    return workspace.review.queue_mistakes("s", labels="own", model="next", **options)


def pairs_of_queue(workspace, name="mistakes s next"):
    return set(workspace.ledger.items.pairs(workspace.ledger.queues.named(name)))


def published(workspace, model="next"):
    review = workspace.store.mistakes.read(workspace.store.test_set("s"), model)
    names = workspace.store.test_set("s").class_space.names
    columns = (review.examples, review.classes, review.categories, review.severities, review.origins)
    return {
        (f"i{example}", names[predicted]): (category.value, severity, origin)
        for example, predicted, category, severity, origin in zip(*columns, strict=True)
    }


class TestFilling:
    def test_decided_pairs_are_not_asked_again(self, decided):
        done = queue_next(decided)
        assert pairs_of_queue(decided) == {("i2", "dog"), ("i4", "truck")}
        assert (done.reused, done.as_dict()["reused"]) == (1, 1)
        assert done.notes[1:] == (
            "categorized for other models, and not asked again: 1 (first 1)",
            "found to be no mistakes of other models, to be judged again there: 1",
        )

    def test_open_pairs_are_asked(self, workspace):
        workspace.review.queue_mistakes("s", labels="own", model="first", name="q")
        done = queue_next(workspace)
        assert len(pairs_of_queue(workspace)) == 4
        assert (done.reused, "reused" in done.as_dict()) == (None, False)

    def test_imported_reviews_are_reused(self, workspace, tmp_path):
        import_review(workspace, tmp_path, "vit", [("i0", "dog", "fine-grained", "major")])
        queue_next(workspace)
        assert pairs_of_queue(workspace) == {("i1", "cat"), ("i2", "dog"), ("i4", "truck")}

    def test_pair_that_reviews_dispute_is_asked_again(self, workspace, tmp_path):
        import_review(workspace, tmp_path, "vit", [("i0", "dog", "fine-grained", "minor")])
        import_review(workspace, tmp_path, "soup", [("i0", "dog", "fine-grained", "borderline")])
        done = queue_next(workspace)
        assert ("i0", "dog") in pairs_of_queue(workspace)
        assert "categorized differently for other models, and asked again: 1" in done.notes

    def test_queues_of_other_labels_are_not_reused(self, workspace):
        workspace.review.queue_mistakes("s", labels="others", model="first", name="q", overlap=1)
        decide(workspace, "q", ("i0", "dog"), FINE, severity="major")
        assert queue_next(workspace).reused is None

    def test_no_mistake_is_asked_once_its_class_was_judged_wrong(self, decided):
        queue = queue_of(decided.ledger, "judged", [("i1", "cat")], question=Question.JUDGE, test_set="s", labels="own")
        decide(decided, "judged", ("i1", "cat"), "wrong")
        queue_next(decided)
        assert ("i1", "cat") in pairs_of_queue(decided)
        assert queue.labels == "own"

    def test_no_mistake_judged_wrong_earlier_is_not_asked(self, workspace):
        queue_of(workspace.ledger, "judged", [("i1", "cat")], question=Question.JUDGE, test_set="s", labels="own")
        decide(workspace, "judged", ("i1", "cat"), "wrong")
        workspace.review.queue_mistakes("s", labels="own", model="first", name="q", overlap=1)
        decide(workspace, "q", ("i1", "cat"), NO_MISTAKE, reason="it is a cat")
        queue_next(workspace)
        assert ("i1", "cat") not in pairs_of_queue(workspace)

    def test_reopened_decision_is_not_reused(self, decided):
        (ada,) = people(decided.ledger, "Ada")
        decided.ledger.decisions.reopen(item_of(decided.ledger, decided.ledger.queues.named("q"), "i0", "dog"), ada,
                                        why="again")  # fmt: skip
        assert queue_next(decided).reused is None

    def test_a_queue_without_items_is_opened_if_everything_is_reused(self, workspace, tmp_path):
        rows = [(image, name, "fine-grained", "major") for image, name in images_of(NEXT)]
        import_review(workspace, tmp_path, "vit", [row for row, own in zip(rows, OWN, strict=True) if row[1] != own])
        done = queue_next(workspace)
        assert (done.added, done.items, done.reused) == (0, 0, 4)
        assert dict(workspace.review.publish("mistakes s next").changes) == {"added": 4}
        with pytest.raises(InputError, match="no mistake of next is left"):
            workspace.review.queue_mistakes("s", labels="own", model="next", name="another", slice="frog")


class TestSlice:
    def test_only_the_slice_is_queued(self, workspace):
        done = queue_next(workspace, slice="dog")
        assert pairs_of_queue(workspace) == {("i1", "cat")}
        assert done.notes[0] == "mistakes of next under own@1 in slice dog: 1, reviewed before: 0"
        queue_next(workspace)
        assert len(pairs_of_queue(workspace)) == 4

    def test_slice_without_mistakes(self, workspace):
        with pytest.raises(InputError, match="no mistake of next is left to review on s under own@1 in slice frog"):
            queue_next(workspace, slice="frog")

    def test_slice_without_images(self, workspace):
        with pytest.raises(InputError, match="slice 'deer' of s contains no images"):
            queue_next(workspace, slice="deer")

    def test_unknown_slice(self, workspace):
        with pytest.raises(UnknownName, match="did you mean ship"):
            queue_next(workspace, slice="shipp")


class TestPublishing:
    def test_reused_rows_have_their_origin(self, decided):
        queue_next(decided, overlap=1)
        decide(decided, "mistakes s next", ("i4", "truck"), SPURIOUS, severity="major")
        done = decided.review.publish("mistakes s next")
        assert dict(done.changes) == {"added": 2}
        assert "reused from the reviews of other models: 1 (first 1)" in done.notes
        assert published(decided) == {
            ("i4", "truck"): (SPURIOUS, Severity.MAJOR, None),
            ("i0", "dog"): (FINE, Severity.BORDERLINE, ReusedFrom("first", "q")),
        }
        assert decided.review.publish("mistakes s next").changes == {}

    def test_a_changed_decision_changes_the_reused_row(self, decided):
        queue_next(decided)
        decided.review.publish("mistakes s next")
        (ada,) = people(decided.ledger, "Ada")
        item = item_of(decided.ledger, decided.ledger.queues.named("q"), "i0", "dog")
        decided.ledger.decisions.reopen(item, ada, why="graver")
        assert dict(decided.review.publish("mistakes s next").changes) == {"taken back": 1}
        vote(decided.ledger, decided.ledger.queues.named("q"), ada, ("i0", "dog"), FINE, severity="major", why="graver")
        decided.review.publish("mistakes s next")
        assert published(decided)["i0", "dog"][1] is Severity.MAJOR

    def test_own_decision_wins(self, workspace):
        """Both queues ask about i0; the second panel sees it differently."""
        workspace.review.queue_mistakes("s", labels="own", model="first", name="q", overlap=1)
        queue_next(workspace, overlap=1)
        decide(workspace, "q", ("i0", "dog"), FINE, severity="major")
        workspace.review.publish("mistakes s next")
        assert published(workspace)["i0", "dog"] == (FINE, Severity.MAJOR, ReusedFrom("first", "q"))
        decide(workspace, "mistakes s next", ("i0", "dog"), SPURIOUS, severity="minor")
        assert dict(workspace.review.publish("mistakes s next").changes) == {"changed": 1}
        assert published(workspace)["i0", "dog"] == (SPURIOUS, Severity.MINOR, None)

    def test_own_no_mistake_wins(self, workspace):
        workspace.review.queue_mistakes("s", labels="own", model="first", name="q", overlap=1)
        queue_next(workspace, overlap=1)
        decide(workspace, "q", ("i0", "dog"), FINE, severity="major")
        decide(workspace, "mistakes s next", ("i0", "dog"), NO_MISTAKE, reason="a dog")
        assert workspace.review.publish("mistakes s next").changes == {}

    def test_what_newer_labels_accept_is_taken_back(self, decided, tmp_path):
        queue_next(decided)
        decided.review.publish("mistakes s next")
        file = write(tmp_path / "newer.csv", ("image", "class"), [*images_of(OWN), ("i0", "dog")])
        decided.labels.import_file(file, test_set="s", name="own", complete=True, new_version=True)
        assert dict(decided.review.publish("mistakes s next").changes) == {"taken back": 1}

    def test_reused_rows_stay_without_the_predictions(self, decided):
        queue_next(decided)
        decided.review.publish("mistakes s next")
        decided.store.predictions.remove("s", "next")
        assert decided.review.publish("mistakes s next").changes == {}
        assert len(published(decided)) == 1

    def test_a_renamed_model_is_renamed_as_origin(self, workspace, tmp_path):
        import_review(workspace, tmp_path, "first", [("i0", "dog", "fine-grained", "major")])
        queue_next(workspace)
        workspace.review.publish("mistakes s next")
        workspace.models.rename("first", "earlier")
        assert published(workspace)["i0", "dog"][2] == ReusedFrom("earlier")
        assert workspace.review.publish("mistakes s next").changes == {}
        assert workspace.verify().problems == ()

    def test_reused_rows_are_no_source_themselves(self, decided, tmp_path):
        """The third model reuses what people said about the first one, not the copy in the review of the second."""
        queue_next(decided)
        decided.review.publish("mistakes s next")
        queue = decided.ledger.queues.named("q")
        (ada,) = people(decided.ledger, "Ada")
        decided.ledger.decisions.reopen(item_of(decided.ledger, queue, "i0", "dog"), ada, why="again")
        file = write(tmp_path / "third.csv", ("image", "third"), images_of(FIRST))
        decided.models.import_predictions(file, test_set="s")
        assert decided.review.queue_mistakes("s", labels="own", model="third").reused is None
