"""The report on a workspace: its chapters, and what the missing ones require."""

import json
import shutil
from datetime import UTC, datetime

import numpy as np
import pytest
from report_world import CLASSES, HOSTILE, IMAGES, make_world

import regrade
from regrade.core import AlreadyStored, InputError, SliceSet, TestSet, UnknownName
from regrade.store import keep_slices
from regrade.studies import ReportData
from regrade.workspace import report_writing
from regrade.workspace.chapters import ReportMaterial


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return make_world(tmp_path_factory.mktemp("world"))


def material(workspace, test_sets=(), original=None):
    return ReportMaterial(ReportData(workspace.store, test_sets, original))


def kinds(workspace, *test_sets, original=None):
    return [chapter.title for chapter in material(workspace, test_sets, original).chapters]


class TestChapters:
    def test_chapters_of_a_full_workspace(self, world):
        assert kinds(world, original="old") == [
            "overview",
            "grade on old against many@1",
            "grade on new",
            "comparison on old",
            "comparison on old against many@1",
            "comparison on new",
            "generalization on old and new",
            "slices on old",
            "mistakes on old against many@1",
            "hardest on old",
            "hardest on new",
            "people on old against many@1",
            "multilabel on old against many@1",
            "similarity on old",
            "checks",
        ]

    def test_generalization_against_label_sets_that_both_test_sets_have(self, world, tmp_path):
        """With the chosen version on each set, and the people who answered on both."""
        workspace = regrade.open(shutil.copytree(world.store.root, tmp_path / "W"))
        new = workspace.store.test_set("new")
        lines = [f"{image},{CLASSES[label]}" for image, label in zip(new.ids, new.labels.tolist(), strict=True)]
        for rows in (lines[:100], lines):
            (tmp_path / "many.csv").write_text("\n".join(["image,label", *rows]) + "\n")
            workspace.labels.import_file(
                tmp_path / "many.csv", test_set="new", name="many", complete=True, new_version=True
            )
        (tmp_path / "people.csv").write_text("\n".join(["image,class", *lines[:50]]) + "\n")
        name = workspace.store.predictions.people_names("old")[0].removeprefix("person:")
        workspace.models.import_people(tmp_path / "people.csv", test_set="new", name=name)
        assert "generalization on old and new against many" in kinds(workspace, original="old")
        for labels, version in (((), 2), (("many@1",), 1)):
            chapters = ReportMaterial(ReportData(workspace.store, (), "old", labels)).chapters
            chapter = next(chapter for chapter in chapters if chapter.about == "old and new against many")
            result = chapter.compute()
            assert result.people is None
            assert result.measure.labels == {"old": "many@1", "new": f"many@{version}"}
            assert {row.new.n for row in result.rows} == {100 if version == 1 else 120}
        chapter = next(chapter for chapter in chapters if chapter.about == "old and new against many with people")
        result = chapter.compute()
        assert [row.person for row in result.people] == [f"person:{name}"]
        assert {row.new.n for row in result.rows} == {50}

    def test_chapters_of_one_test_set(self, world):
        assert kinds(world, "new") == [
            "grade on new",
            "comparison on new",
            "hardest on new",
            "similarity on new",
            "checks",
        ]

    def test_open_questions_say_what_they_require(self, world):
        questions = dict(material(world, ("new",)).open_questions())
        assert set(questions) == {
            "Does it hold on new data?",
            "How does accuracy vary by region?",
            "Are images harder that fewer people select?",
            "What goes with accuracy?",
            "Which mistakes are mistakes?",
            "Which images confuse models?",
            "Can new images be told from original ones?",
            "How do models compare with people?",
            "What does counting every right label change?",
            "Are images of one set in another?",
        }
        assert "regrade import labels" in questions["Which mistakes are mistakes?"]

    def test_generalization_requires_three_common_models(self, tmp_path):
        few = regrade.init(tmp_path / "W")
        for name, models in (("one", "abc"), ("two", "bcd")):
            few.store.add_test_set(TestSet(name, few.testsets.class_space("digits"), ("0", "1"), np.array([0, 1])))
            for model in models:
                few.models.add_predictions(model, np.eye(10)[:2] + 0.1, test_set=name)
        assert not any(title.startswith("generalization") for title in kinds(few))

    def test_generalization_requires_the_same_classes(self, tmp_path):
        apart = regrade.init(tmp_path / "W")
        for name, classes in (("one", "digits"), ("two", "cifar-10")):
            apart.store.add_test_set(TestSet(name, apart.testsets.class_space(classes), ("0", "1"), np.array([0, 1])))
            for model in "abc":
                apart.models.add_predictions(model, np.eye(10)[:2] + 0.1, test_set=name)
        assert not any(title.startswith("generalization") for title in kinds(apart))

    def test_sets_that_were_chosen_to_be_hard_are_not_new_sets(self, tmp_path):
        chosen = regrade.init(tmp_path / "W")
        for name, size in (("old", 500), ("hard", 20), ("new", 20)):
            ids, labels = tuple(f"{name} {number}" for number in range(size)), np.arange(size) % 10
            chosen.store.add_test_set(TestSet(name, chosen.testsets.class_space("digits"), ids, labels))
            for model in "abc":
                chosen.models.add_predictions(
                    model, np.full((size, 10), 0.05) + 0.5 * np.eye(10)[labels], test_set=name
                )
        inside = np.arange(500) < 20
        keep_slices(chosen.store, SliceSet("hard", "old", 500, {"hard": inside}, chosen_hard=True))
        report = material(chosen, original="old")
        assert {"generalization on old and new", "confidence on old"} <= {chapter.title for chapter in report.chapters}
        new = [chapter.compute().new for chapter in report.chapters if chapter.kind == "confidence"]
        assert new == [("new",)]
        assert not any("generalization" in title for title in kinds(chosen, "old", "hard", original="old"))
        assert material(chosen, ("hard", "new")).hard_sets_and_slices == ("hard",)  # also without the source

    def test_original_defaults_to_the_largest_set(self, tmp_path):
        sizes = regrade.init(tmp_path / "W")
        for name, size in (("small", 2), ("large", 4)):
            ids = tuple(str(number) for number in range(size))
            sizes.store.add_test_set(TestSet(name, sizes.testsets.class_space("digits"), ids, np.arange(size)))
            sizes.models.add_predictions("a", np.eye(10)[:size] + 0.1, test_set=name)
        assert ReportData(sizes.store).original.name == "large"
        assert ReportData(sizes.store, original="small").names == ("small", "large")

    def test_geography_and_slices_depend_on_group_columns(self, tmp_path):
        placed = regrade.init(tmp_path / "W")
        ids, labels = tuple(str(number) for number in range(8)), np.arange(8) % 10
        groups = {
            "region": ("Africa", "Asia") * 4, "light": ("day", "night") * 4, "same": ("x",) * 8, "each": ids * 1,
        }  # fmt: skip
        placed.store.add_test_set(TestSet("places", placed.testsets.class_space("digits"), ids, labels, groups))
        placed.models.add_predictions("a", np.eye(10)[:8] + 0.1, test_set="places")
        assert kinds(placed) == ["grade on places", "geography on places by region", "slices on places", "checks"]


@pytest.fixture(scope="module")
def with_seeds(tmp_path_factory):
    """A model of one test set, and two methods with two seeds on another; `with data` is nearly always right."""
    workspace, rng = regrade.init(tmp_path_factory.mktemp("seeds") / "W"), np.random.default_rng(0)
    classes = workspace.testsets.class_space("digits")
    labels = np.arange(60) % 10
    for name in ("usual", "follow-up"):
        workspace.store.add_test_set(TestSet(name, classes, tuple(f"{name} {i}" for i in range(60)), labels))
    workspace.models.add_predictions("model", np.eye(10)[labels], test_set="usual")
    for method, accuracy in (("plain", 0.3), ("with data", 0.95)):
        for seed in range(2):
            predicted = np.where(rng.random(60) < accuracy, labels, (labels + 1) % 10)
            workspace.models.add_predictions(f"{method}/seed-{seed}", np.eye(10)[predicted], test_set="follow-up")
    return workspace


class TestRemedies:
    def test_report_compares_methods_that_other_chapters_leave_out(self, with_seeds, tmp_path):
        written = with_seeds.report(
            out=tmp_path / "r", without=["plain", "with data/*"], baseline="plain", remedies=["with data"]
        )
        assert [section.anchor for section in written.report.sections] == [
            "grade-usual",
            "remedies-follow-up",
            "checks",
        ]
        remedies = written.report.sections[1]
        assert remedies.findings[0].headline == "with data raises accuracy on follow-up"
        assert "2 seeds, 60 images" in remedies.findings[0].text
        assert [row["model"]["name"] for row in written.report.provenance.data["predictions"]] == ["model"]

    def test_report_without_a_comparison_shows_every_model(self, with_seeds):
        assert kinds(with_seeds)[:3] == ["overview", "grade on follow-up", "grade on usual"]

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"without": ["modle"]}, "unknown model on any test set 'modle'; did you mean model\\?"),
            ({"without": ["nothing*"]}, "no model on any test set matches 'nothing\\*'"),
            ({"without": ["*"]}, "all models with predictions on follow-up, usual are left out"),
            ({"without": "model"}, "without"),
            ({"remedies": ["plain"]}, "--remedy requires --baseline"),
            ({"baseline": "plain"}, "--baseline requires --remedy"),
            ({"baseline": "model", "remedies": ["plain"]}, "no test set has predictions of all models of model and"),
        ],
    )
    def test_report_rejects_models_that_it_cannot_compare(self, with_seeds, options, message):
        with pytest.raises(InputError, match=message):
            with_seeds.report(**options)


class TestErrors:
    def test_report_rejects_an_empty_workspace(self, tmp_path):
        with pytest.raises(InputError, match="there is nothing to report yet: run regrade import predictions"):
            regrade.init(tmp_path / "W").report()
        assert not (tmp_path / "W" / "reports").exists()

    def test_report_rejects_a_test_set_without_predictions(self, tmp_path):
        bare = regrade.init(tmp_path / "W")
        bare.store.add_test_set(TestSet("bare", bare.testsets.class_space("digits"), ("0",), np.array([0])))
        with pytest.raises(InputError, match="no model has predictions on bare yet"):
            bare.report()

    def test_report_rejects_an_unknown_test_set(self, world):
        with pytest.raises(UnknownName, match="unknown test set 'odl'"):
            world.report(test_sets=["odl"])

    def test_report_rejects_an_original_outside_the_report(self, world):
        with pytest.raises(InputError, match="old is not among the test sets of this report: new"):
            world.report(test_sets=["new"], original="old")

    def test_report_rejects_a_string_of_names(self, world):
        with pytest.raises(InputError, match="test_sets"):
            world.report(test_sets="new")

    def test_report_shows_a_failed_chapter(self, world, monkeypatch, tmp_path):
        def refuse(*_, **__):
            raise InputError("no two models are alike")

        monkeypatch.setattr("regrade.studies.similarity.study.similarity", refuse)
        written = world.report(out=tmp_path / "r", test_sets=["new"])
        failed = next(section for section in written.report.sections if section.trouble)
        assert failed.anchor == "similarity-new"
        assert failed.trouble == "This could not be answered: no two models are alike."
        assert failed.trouble in written.page.read_text()

    def test_report_rejects_an_existing_folder_early(self, world, monkeypatch, tmp_path):
        (tmp_path / "r").mkdir()
        fail = lambda *_, **__: pytest.fail("graded before the check")  # noqa: E731
        monkeypatch.setattr("regrade.studies.grade.study.grade", fail)
        with pytest.raises(AlreadyStored):
            world.report(out=tmp_path / "r")


class TestWrittenReport:
    def test_report_default_name_is_the_date(self, world, monkeypatch):
        class Clock(datetime):
            @classmethod
            def now(cls, tz=None):
                return cls(2026, 3, 1, 12, tzinfo=tz)

        def make_folder(_, folder, **__):
            folder.mkdir(parents=True)
            return folder

        monkeypatch.setattr(report_writing, "datetime", Clock)
        monkeypatch.setattr(report_writing, "write_report", make_folder)
        monkeypatch.setattr(ReportMaterial, "chapters", ())
        names = [world.report().page.name for _ in range(3)]
        assert names == ["2026-03-01", "2026-03-01-2", "2026-03-01-3"]

    def test_report_results_have_provenance(self, written):
        results = json.loads((written.page.parent / "results.json").read_text())
        provenance = results["behind"]
        assert provenance["settings"]["confidence"] == "95%"
        assert provenance["settings"]["regrade"] == regrade.__version__
        images = {row["test_set"]: row["images"] for row in provenance["test_sets"]}
        assert images == {"old": IMAGES, "far": 200, "new": IMAGES}
        assert [row["labels"] for row in provenance["label_sets"]] == ["many@1"]
        assert all(
            len(row["digest"]) == 64 for part in ("test_sets", "label_sets", "predictions") for row in provenance[part]
        )
        named = {(row["model"]["name"], row["test_set"]) for row in provenance["predictions"]}
        assert {("good", "old"), ("good", "new"), ("person:Ada", "old"), (HOSTILE, "new")} <= named
        assert datetime.fromisoformat(results["created"]).tzinfo == UTC

    def test_every_section_has_tables_figures_and_findings(self, written):
        for section in written.report.sections:
            assert section.trouble == ""
            assert section.tables or section.gallery
            if section.result is not None and section.anchor != "checks":
                assert section.figures
                assert section.findings or section.anchor == "slices-old"

    def test_page_counts_the_checks_that_were_found(self, written):
        (checked,) = [section.result for section in written.report.sections if section.anchor == "checks"]
        line = f"{len(checked.found)} of 12 methodology checks found a pitfall: {', '.join(checked.found)}."
        assert f'{line} <a href="#checks">' in written.page.read_text()

    def test_report_has_every_kind_of_chapter(self, written):
        assert {section.anchor for section in written.report.sections} >= {
            "overview", "grade-old-against-many-1", "comparison-new", "generalization-old-and-2-new-sets", "slices-old",
            "geography-far-by-country", "models-far-compared-with-old", "frequency-far",
            "mistakes-old-against-many-1", "hardest-old", "confusion-old", "people-old-against-many-1",
            "similarity-old", "leakage-old-against-new", "checks",
        }  # fmt: skip
        assert [question for question, _ in written.report.open_questions] == [
            "Can new images be told from original ones?"  # no embeddings are stored
        ]

    def test_report_has_no_repeated_findings(self, written):
        findings = [finding for section in written.report.sections for finding in section.findings]
        assert len(findings) == len(set(findings))

    def test_gallery_shows_the_hardest_images_first(self, written):
        gallery = next(section.gallery for section in written.report.sections if section.anchor == "hardest-old")
        missed = [int(tile.missed.split()[0]) for tile in gallery.tiles]
        assert missed == sorted(missed, reverse=True)
        assert len(gallery.tiles) == 24
        assert gallery.tiles[0].jpeg.startswith(b"\xff\xd8")
        assert gallery.tiles[0].size == (32, 24)


class TestHardestImages:
    def make(self, tmp_path, answers):
        from PIL import Image

        workspace = regrade.init(tmp_path / "W")
        for number in range(3):
            (tmp_path / "P" / "cat").mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (400, 100), (80 * number, 0, 0)).save(tmp_path / "P" / "cat" / f"{number}.png")
        workspace.testsets.add("cats", tmp_path / "P", classes="cifar-10")
        for model, classes in answers.items():
            workspace.models.add_predictions(model, np.eye(10)[classes] + 0.01, test_set="cats")
        return workspace

    def images(self, workspace, labels=None):
        from regrade.workspace.chapters import hardest_images

        return hardest_images(workspace.store, workspace.store.test_set("cats"), labels=labels)

    def test_hardest_images_order_and_counts(self, tmp_path):
        """Cats are class 3. Both models miss images 0 (as different classes) and 1; one misses image 2."""
        gallery = self.images(self.make(tmp_path, {"a": [5, 5, 5], "b": [4, 5, 3]}))
        assert [tile.image for tile in gallery.tiles] == ["1.png", "0.png", "2.png"]
        assert [tile.predicted for tile in gallery.tiles] == [
            "taken for dog (2)",
            "taken for deer (1), dog (1)",
            "taken for dog (1)",
        ]
        assert [tile.missed for tile in gallery.tiles] == ["2 of 2 models wrong"] * 2 + ["1 of 2 models wrong"]
        assert gallery.title == "2 images of cats are missed by every model; the hardest 3 are shown"
        assert gallery.tiles[0].size == (192, 48)

    def test_hardest_images_count_a_model_where_it_has_a_prediction(self, tmp_path):
        """Model b has a prediction on image 1 only, and every model is wrong on all three images."""
        workspace = self.make(tmp_path, {"a": [5, 5, 5]})
        (tmp_path / "b.csv").write_text("image,prediction\n1.png,dog\n")
        workspace.models.import_predictions(tmp_path / "b.csv", test_set="cats", model="b", partial=True)
        gallery = self.images(workspace)
        assert {tile.image: tile.missed for tile in gallery.tiles} == {
            "1.png": "2 of 2 models wrong", "0.png": "1 of 1 model wrong", "2.png": "1 of 1 model wrong",
        }  # fmt: skip
        assert gallery.title == "3 images of cats are missed by every model; the hardest 3 are shown"
        assert "predictions on some of the images only: b 1 of 3 images of cats" in gallery.notes

    def test_hardest_images_use_decisions_of_the_review(self, tmp_path):
        """All three are predicted as dogs, unjudged at first; then one is decided correct and one problematic."""
        workspace = self.make(tmp_path, {"a": [5, 5, 5]})
        (tmp_path / "labels.csv").write_text("image,label\n" + "".join(f"{n}.png,cat\n" for n in range(3)))
        workspace.labels.import_file(tmp_path / "labels.csv", test_set="cats", name="open")
        before = self.images(workspace, "open")
        assert len(before.tiles) == 3
        assert "novel: predictions that no one has judged; they count as wrong here" in before.notes
        workspace.labels.draw_sample("cats", labels="open", size=3)
        verdicts = "0.png,dog,correct\n1.png,dog,wrong\n2.png,dog,problematic\n"
        (tmp_path / "verdicts.csv").write_text("image,class,verdict\n" + verdicts)
        workspace.labels.import_decisions(tmp_path / "verdicts.csv", test_set="cats", labels="open")
        after = self.images(workspace, "open")
        assert [tile.image for tile in after.tiles] == ["1.png"]
        assert not any(note.startswith("novel") for note in after.notes)

    def test_hardest_images_require_a_wrong_prediction(self, tmp_path):
        with pytest.raises(InputError, match="no model is wrong on any image of cats"):
            self.images(self.make(tmp_path, {"a": [3, 3, 3]}))

    def test_hardest_images_skip_and_count_unreadable_images(self, tmp_path):
        workspace = self.make(tmp_path, {"a": [5, 5, 5]})
        (tmp_path / "P" / "cat" / "0.png").write_bytes(b"no image")
        gallery = self.images(workspace)
        assert [tile.image for tile in gallery.tiles] == ["1.png", "2.png"]
        assert "left out, as they cannot be read: 1 image" in gallery.notes
        for number in (1, 2):
            (tmp_path / "P" / "cat" / f"{number}.png").unlink()
        with pytest.raises(InputError, match="none of the 3 images that models get wrong most often can be read"):
            self.images(workspace)
