"""The review of a build: queued revisions, decisions that carry over, exclusion, release and verification."""

import csv
import json
import shutil

import pytest
from build_world import WORKERS, make_build
from reviewing import add_reviewer, newest_images, publish, vote_on_open
from running import assert_one_line, run, run_well

from regrade.build.eligibility import Exclusion
from regrade.build.files import RevisionCollection
from regrade.build.review import BuildReview, BuildReviewCollection, ReviewDecision, anonymous_review
from regrade.build.steps.revisions import BUILD_REVISIONS, RevisionPart
from regrade.core import AlreadyStored, InputError, MismatchError, UnknownName
from regrade.core.panel import Fitness
from regrade.ledger import NewItem, Question, VoteContent

REASONS = ("drawing", "wrong class", "has a <watermark>, of a shop")


@pytest.fixture(scope="module")
def reviewed(tmp_path_factory):
    """Revision 0 with three images that Zoe Quill flagged, revision 1 with one, and revision 2 with none."""
    workspace = make_build(tmp_path_factory.mktemp("reviewed"))
    build = workspace.build
    build.sample("new", "matched-frequency", per_class=6)
    flagged = []
    for number, count in enumerate((3, 1, 0)):
        build.review("new")
        unseen = sorted(image for image in newest_images(workspace, "new") if image not in seen_images(workspace))
        chosen = dict(zip(unseen[:count], REASONS, strict=False))
        flagged.append(chosen)
        vote_on_open(workspace, "new", "Zoe Quill", chosen)
        publish(workspace, "new")
        if number < 2:
            build.sample("new", "matched-frequency", per_class=6, continue_from=number)
    workspace.flagged = flagged
    yield workspace
    workspace.ledger.engine.dispose()


@pytest.fixture
def workspace(tmp_path):
    """A build with one revision."""
    workspace = make_build(tmp_path)
    workspace.build.sample("new", "matched-frequency", per_class=6)
    return workspace


def seen_images(workspace):
    """The images with a published decision."""
    review = BuildReviewCollection(workspace.store.root).newest("new")
    return set() if review is None else {row.image for row in review.decisions}


def revision(workspace, number):
    return RevisionCollection(workspace.store.root).read("new", number)


def rows(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


class TestQueue:
    def test_a_revision_is_queued_once(self, workspace):
        first = workspace.build.review("new")
        assert (first.queue, first.overlap, first.total("new"), first.total("open")) == ("new review", 1, 18, 18)
        queue = workspace.ledger.queues.named("new review")
        assert (queue.question, queue.test_set, queue.build) == (Question.REVIEW, "pool", "new")
        assert set(workspace.ledger.items.pairs(queue)) == set(revision(workspace, 0).sample.examples)
        again = workspace.build.review("new")
        assert (again.total("new"), again.total("images"), again.total("open")) == (0, 18, 18)

    def test_decisions_carry_over_to_the_next_revision(self, reviewed):
        numbers = [row.to_review for row in reviewed.build.revisions("new").revisions]
        assert numbers == [18, 3, 1]
        result = reviewed.build.review("new")
        assert (result.total("new"), result.total("kept"), result.total("open")) == (0, 18, 0)
        assert result.revision == 2
        first = reviewed.build.review("new", revision=0)
        assert (first.total("images"), first.total("kept"), first.total("flagged")) == (18, 15, 3)

    def test_unpublished_decisions_are_noted(self, workspace):
        workspace.build.review("new")
        vote_on_open(workspace, "new", "Ann")
        noted = workspace.build.review("new").notes
        assert any("not published yet: 18 decisions; run regrade review publish 'new review'" in note for note in noted)
        publish(workspace, "new")
        assert not any("not published" in note for note in workspace.build.review("new").notes)

    def test_a_queue_of_another_kind_with_its_name_is_refused(self, workspace):
        workspace.ledger.queues.create("new review", Question.REVIEW, test_set="reference", build="new")
        with pytest.raises(MismatchError, match="exists, and is not the review of new"):
            workspace.build.review("new")

    def test_the_number_of_votes_is_changed_elsewhere(self, workspace):
        assert workspace.build.review("new", overlap=2).overlap == 2
        assert workspace.build.review("new").overlap == 2
        with pytest.raises(InputError, match="need 2 votes each: change that with regrade review overlap"):
            workspace.build.review("new", overlap=1)

    def test_unknown_builds_and_revisions_are_refused(self, workspace):
        with pytest.raises(UnknownName, match="unknown build 'neu'"):
            workspace.build.review("neu")
        with pytest.raises(UnknownName, match="revision of new"):
            workspace.build.review("new", revision=4)

    def test_two_votes_that_differ_leave_an_image_open(self, workspace):
        workspace.build.review("new", overlap=2)
        image = min(newest_images(workspace, "new"))
        vote_on_open(workspace, "new", "Ann")
        vote_on_open(workspace, "new", "Ben", {image: "drawing"})
        result = workspace.build.review("new")
        assert (result.total("kept"), result.total("flagged"), result.total("open")) == (17, 0, 1)
        assert publish(workspace, "new").of["to discuss"] == 1
        with pytest.raises(InputError, match="nobody reviewed 1 image"):
            workspace.build.freeze("new", "fresh")


class TestVerifiers:
    def test_people_who_answered_tasks_cannot_verify(self, workspace):
        add_reviewer(workspace, WORKERS[0])
        with pytest.raises(InputError, match=f"{WORKERS[0]} answered selection tasks of new: the images have to be"):
            workspace.build.review("new", verified_by=[WORKERS[0]])
        assert [queue.name for queue in workspace.ledger.queues.all()] == []

    def test_people_who_answered_tasks_in_the_app_cannot_verify(self, workspace):
        ann = add_reviewer(workspace, "Ann")
        grids = workspace.ledger.queues.create("grids", Question.SELECT, test_set="pool", build="new")
        workspace.ledger.items.add(grids, [NewItem("task-1", "n01")])
        item = workspace.ledger.items.next(grids, ann)
        workspace.ledger.votes.cast(item.id, ann, VoteContent("a-selection", "0101"))
        with pytest.raises(InputError, match="Ann answered selection tasks of new"):
            workspace.build.review("new", verified_by=["Ann"])

    def test_the_queue_is_assigned_to_the_verifiers(self, workspace):
        add_reviewer(workspace, "Ann")
        add_reviewer(workspace, "Ben")
        assert workspace.build.review("new", verified_by=["Ben"]).assigned == ("Ben",)
        assert workspace.build.review("new").assigned == ("Ben",)
        queue = workspace.ledger.queues.named("new review")
        assert queue not in workspace.ledger.queues.open_to(workspace.ledger.people.named("Ann"))
        with pytest.raises(UnknownName, match="Carl"):
            workspace.build.review("new", verified_by=["Carl"])

    def test_publishing_notes_reviewers_who_collected(self, workspace):
        workspace.build.review("new")
        vote_on_open(workspace, "new", WORKERS[1])
        assert publish(workspace, "new").notes == (f"answered selection tasks of the build as well: {WORKERS[1]}",)


class TestPublishing:
    def test_every_publication_is_a_version_with_all_decisions(self, reviewed):
        reviews = BuildReviewCollection(reviewed.store.root)
        assert reviews.versions("new") == [0, 1, 2, 3]
        assert [len(reviews.read("new", version).decisions) for version in (0, 1, 2, 3)] == [0, 18, 21, 22]
        newest = reviews.newest("new")
        assert newest.flagged == {**reviewed.flagged[0], **reviewed.flagged[1]}
        assert {row.by for row in newest.decisions} == {("Zoe Quill",)}
        assert all(row.at.endswith("+00:00") for row in newest.decisions)
        assert publish(reviewed, "new").changes == {}
        assert reviews.versions("new") == [0, 1, 2, 3]

    def test_changed_and_withdrawn_decisions_are_counted(self, workspace):
        workspace.build.review("new")
        image, second = sorted(newest_images(workspace, "new"))[:2]
        vote_on_open(workspace, "new", "Ann", {image: "drawing"})
        assert publish(workspace, "new").changes == {"kept": 17, "flagged": 1}
        ann, ledger = workspace.ledger.people.named("Ann"), workspace.ledger
        items = {row.item.example: row.item.id for row in ledger.discussions.standings(
            ledger.queues.named("new review"), ann)}  # fmt: skip
        ledger.votes.cast_all(ann, {items[image]: VoteContent("a-change-of-mind", "keep", why="it is a photograph")})
        ledger.votes.retract(items[second], ann, key="taken-back", why="a slip")
        assert workspace.review.publish("new review", dry_run=True).changes == {"changed": 1, "taken back": 1}
        assert publish(workspace, "new").changes == {"changed": 1, "taken back": 1}
        assert BuildReviewCollection(workspace.store.root).newest("new").flagged == {}

    def test_a_review_without_a_build_is_refused(self, workspace):
        workspace.ledger.queues.create("loose", Question.REVIEW, test_set="pool")
        with pytest.raises(InputError, match="not part of a build: fill it with regrade build review"):
            workspace.review.publish("loose")

    def test_a_version_is_not_overwritten(self, reviewed):
        reviews = BuildReviewCollection(reviewed.store.root)
        decision = ReviewDecision("pool-000", "n01", Fitness.KEEP, "", ("x",), "")
        with pytest.raises(AlreadyStored, match="version 1 of the review of new has other decisions already"):
            reviews.add(BuildReview("new", 1, "new review", (decision,)), None)


class TestSampling:
    def test_flagged_images_are_not_drawn_again(self, reviewed):
        flagged = set(reviewed.flagged[0])
        for number in (1, 2):
            sample = revision(reviewed, number).sample
            assert not flagged & {image for image, _ in sample.examples}
            blacklisted = {
                image for c in sample.classes for image, why in c.excluded.items() if why is Exclusion.BLACKLISTED
            }
            assert flagged <= blacklisted
        kept = {image for image, _ in revision(reviewed, 0).sample.examples} - flagged
        assert kept <= {image for image, _ in revision(reviewed, 1).sample.examples}

    def test_a_sample_states_how_many_images_are_reviewed(self, workspace):
        workspace.build.review("new")
        image = min(newest_images(workspace, "new"))
        vote_on_open(workspace, "new", "Ann", {image: "drawing"})
        assert workspace.build.sample("new", "top", per_class=6).reviewed == 0  # not published
        publish(workspace, "new")
        result = workspace.build.sample("new", "matched-frequency", per_class=6, continue_from=0)
        assert result.reviewed == 17
        assert ("images reviewed before", 17) in result.table().rows
        assert "images reviewed before" not in str(make_report_without_review(workspace))

    def test_the_review_is_added_to_a_blacklist_file(self, workspace, tmp_path):
        workspace.build.review("new")
        first, second, *_ = sorted(newest_images(workspace, "new"))
        vote_on_open(workspace, "new", "Ann", {first: "drawing"})
        publish(workspace, "new")
        (tmp_path / "list.txt").write_text(second)
        workspace.build.sample(
            "new", "matched-frequency", per_class=6, continue_from=0, blacklist=tmp_path / "list.txt"
        )
        assert revision(workspace, 1).settings["blacklist"] == [first, second]
        assert revision(workspace, 1).settings["review"] == 1
        result = workspace.build.revisions("new")
        assert {image: reason for _, image, _, reason in result.part(RevisionPart.EXCLUDED).rows} == {
            first: "drawing", second: ""
        }  # fmt: skip
        assert {image: reason for kind, _, image, reason in result.part(RevisionPart.CHANGES).rows
                if kind == "removed"} == {first: "drawing", second: "blacklisted"}  # fmt: skip


def make_report_without_review(workspace):
    from dataclasses import replace

    return replace(workspace.build.sample("new", "top", per_class=2), reviewed=None)


class TestRevisions:
    def test_revisions_count_reviewed_and_flagged_images(self, reviewed):
        result = reviewed.build.revisions("new")
        counts = [(row.to_review, row.reviewed, row.flagged) for row in result.revisions]
        assert counts == [(18, 18, 3), (3, 18, 1), (1, 18, 0)]
        columns = [column.key for column in result.table().columns]
        assert columns[6:9] == ["to_review", "reviewed", "flagged"]

    def test_builds_without_a_review_have_no_such_columns(self, workspace):
        result = workspace.build.revisions("new")
        assert "reviewed" not in [column.key for column in result.table().columns]
        assert result.revisions[0].to_review is None

    def test_removals_have_the_reason_of_the_reviewer(self, reviewed):
        result = reviewed.build.revisions("new", first=0, second=1)
        removed = {image: reason for kind, _, image, reason in result.part(RevisionPart.CHANGES).rows
                   if kind == "removed"}  # fmt: skip
        assert removed == reviewed.flagged[0]
        excluded = {image: (rule, reason) for _, image, rule, reason in result.part(RevisionPart.EXCLUDED).rows}
        assert excluded == {image: ("blacklisted", reason) for image, reason in reviewed.flagged[0].items()}

    def test_the_curve_has_the_images_to_review(self, reviewed):
        figure = BUILD_REVISIONS.figure(reviewed.build.revisions("new"))
        assert figure.alt.endswith("Added per revision: 3, 1. To review: 3, 1.")

    def test_commands_print_reasons(self, reviewed):
        root = reviewed.store.root
        shown = run_well("build", "revisions", "new", "--show", "excluded", "-w", root).out
        assert all(reason in shown for reason in REASONS)
        data = json.loads(run_well("build", "revisions", "new", "--from", "0", "--to", "1", "--json", "-w", root).out)
        assert data["removal_reasons"] == reviewed.flagged[0]
        queued = run_well("build", "review", "new", "-w", root).out
        assert "new, revision 2, in queue 'new review': 0 new images, 18 decided before, 0 open" in queued
        data = json.loads(run_well("build", "review", "new", "--json", "-w", root).out)
        assert (data["images"], data["new"], data["open"], data["queue"]) == (18, 0, 0, "new review")
        assert_one_line(run("build", "review", "new", "--verified-by", "nobody", "-w", root))


class TestFreezing:
    def test_flagged_and_unreviewed_images_are_refused(self, reviewed, tmp_path):
        with pytest.raises(InputError, match=r"revision 1 of new cannot be frozen: 1 image flagged .* --from 1"):
            reviewed.build.freeze("new", "fresh", revision=1, unreviewed=True, out=tmp_path / "x")
        bare = make_build(tmp_path)
        bare.build.sample("new", "matched-frequency", per_class=6)
        bare.build.review("new")
        with pytest.raises(InputError, match="nobody reviewed 18 images of it; queue them with regrade build review"):
            bare.build.freeze("new", "fresh")
        bare.build.freeze("new", "fresh", unreviewed=True, unchecked_duplicates=True)
        text = (bare.store.root / "releases" / "fresh" / "datasheet.md").read_text()
        assert "images of this set that nobody reviewed: 18" in text

    def test_a_build_without_a_review_needs_none(self, workspace):
        workspace.build.freeze("new", "fresh", unchecked_duplicates=True)
        folder = workspace.store.root / "releases" / "fresh"
        assert not (folder / "reviews.csv").exists()
        assert "## Review" not in (folder / "datasheet.md").read_text()

    def test_the_release_has_the_decisions_without_names(self, release, reviewed):
        decisions = rows(release / "reviews.csv")
        flagged = {row["image"]: row["reason"] for row in decisions if row["decision"] == "problematic"}
        assert flagged == {**reviewed.flagged[0], **reviewed.flagged[1]}
        assert {row["reviewers"] for row in decisions} == {"reviewer-1"}
        assert len(decisions) == 22
        text = (release / "datasheet.md").read_text()
        assert "images of this set that nobody reviewed: 0" in text
        assert "because of 'drawing': 2" in text
        for path in release.rglob("*"):
            if path.is_file():
                assert b"Quill" not in path.read_bytes(), path

    def test_the_release_is_verified(self, release, reviewed):
        result = reviewed.build.verify(release)
        assert result.sound
        details = {check.subject: check.detail for check in result.checks}
        assert details["review"] == "18 of 18 images kept by reviewers, none found to be problematic"

    @pytest.mark.parametrize(
        ("edit", "subject"),
        [
            (("keep,,", "problematic,drawing,"), "manifest.csv"),
            (("\npool-", "\npoll-"), "reviews.csv"),
            (("problematic,", "keep,"), "datasheet.md"),
            (("keep", "maybe"), "tables"),
        ],
    )
    def test_changed_decisions_are_detected(self, release, reviewed, tmp_path, edit, subject):
        folder = tmp_path / "changed"
        shutil.copytree(release, folder)
        text = (folder / "reviews.csv").read_text()
        if subject == "manifest.csv":  # of an image of the set
            image = rows(folder / "manifest.csv")[0]["image"]
            line = next(line for line in text.splitlines() if line.startswith(f"{image},"))
            changed = text.replace(line, line.replace(*edit))
        else:
            changed = text.replace(*edit, 1)
        assert changed != text
        (folder / "reviews.csv").write_text(changed)
        failed = {check.subject for check in reviewed.build.verify(folder).failures}
        assert subject in failed
        assert "reviews.csv" in failed  # its checksum

    def test_a_missing_review_is_detected(self, release, reviewed, tmp_path):
        folder = tmp_path / "without"
        shutil.copytree(release, folder)
        (folder / "reviews.csv").unlink()
        listed = (folder / "checksums.txt").read_text().splitlines(keepends=True)
        (folder / "checksums.txt").write_text("".join(line for line in listed if "reviews.csv" not in line))
        failures = reviewed.build.verify(folder).failures
        assert any("although the set was drawn after a review" in check.detail for check in failures)


@pytest.fixture(scope="module")
def release(reviewed, tmp_path_factory):
    """The folder of the release of revision 2."""
    folder = tmp_path_factory.mktemp("released") / "fresh"
    reviewed.build.freeze("new", "fresh", out=folder, unchecked_duplicates=True)
    return folder


def test_anonymous_names_do_not_depend_on_names():
    def review(*names):
        by = dict(zip("abc", names, strict=True))
        decisions = [
            ReviewDecision(f"{n}.jpg", "cat", Fitness.KEEP, "", (by["a"],), "2026-01-01") for n in range(3)
        ]  # fmt: skip
        decisions += [
            ReviewDecision("7.jpg", "cat", Fitness.PROBLEMATIC, "drawing", (by["b"], by["c"]), "2026-01-02"),
            ReviewDecision("8.jpg", "cat", Fitness.KEEP, "", (by["c"],), "2026-01-02"),
        ]
        return BuildReview("v2", 1, "q", tuple(decisions))

    released = anonymous_review(review("Zoe", "Ann", "Bob"))
    assert released == anonymous_review(review("Ann", "Zoe", "Abe"))
    assert [row.by for row in released] == [("reviewer-1",)] * 3 + [("reviewer-2", "reviewer-3"), ("reviewer-2",)]
    assert {row.at for row in released} == {""}
