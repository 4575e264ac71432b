"""Label versions from votes, their differences, and results under any version."""

import json

import pytest
from judging import people, queue_of, vote
from pets import IDS, LABELS, wide
from running import assert_one_line, run, run_on_terminal, run_well

import regrade

PLAIN = "image,class\n" + "".join(f"{image},{label}\n" for image, label in zip(IDS, LABELS, strict=True))


@pytest.fixture
def world(pets, tmp_path):
    """Two models, and labels in two versions: a panel decided that p2 is a cat too, and that p0 is a drawing."""
    (tmp_path / "second.csv").write_text(wide("cat", "dog", "bird", "cat", "frog", "deer"))
    run_well("import", "predictions", tmp_path / "second.csv", "-t", "pets", "-w", pets)
    (tmp_path / "own.csv").write_text(PLAIN)
    run_well("import", "labels", tmp_path / "own.csv", "-t", "pets", "--name", "own", "-w", pets)
    ledger = regrade.open(pets).ledger
    (ada,) = people(ledger, "Ada")
    pairs = [("p2", "cat"), ("p0", "dog"), ("p5", "deer")]
    queue = queue_of(ledger, "novel", pairs, test_set="pets", labels="own")
    for pair, answer in zip(pairs, ("correct", "problematic", "wrong"), strict=True):
        vote(ledger, queue, ada, pair, answer, reason="drawing")
    ledger.engine.dispose()
    run_well("review", "publish", "novel", "-w", pets)
    return pets


def diff(world, *arguments):
    return run_well("labels", "diff", *arguments, "-t", "pets", "-w", world)


def test_effect_on_every_model(world):
    data = json.loads(diff(world, "own@1", "own@2", "--json").out)
    assert data["counts"] == {"correct added": 1, "wrong added": 1, "image problematic": 1}
    first, second = data["models"]
    assert (first["model"], first["before"]["value"], first["after"]["value"]) == ("first", 4 / 6, 4 / 5)
    assert (first["difference"]["value"], first["difference"]["n"], first["left"]) == (1 / 5, 5, 1)
    assert (first["rank_before"], first["rank_after"]) == (1, 1)
    assert (second["model"], second["rank_before"], second["rank_after"]) == ("second", 1, 2)
    assert {(row["image"], row["class"], row["after"]) for row in data["pairs"]} == {
        ("p2", "cat", "correct"), ("p5", "deer", "wrong"), ("p0", None, "problematic: drawing"),
    }  # fmt: skip
    assert json.loads(diff(world, "own@1", "own", "--json").out) == data


def test_tables(world):
    shown = run_on_terminal("labels", "diff", "own@1", "own@2", "-t", "pets", "-w", world).out
    shown = " ".join(shown.split())
    assert "changed: 1 correct added, 1 wrong added, 1 image problematic" in shown
    assert "own@1 scores 6 images, own@2 5; the difference is over the 5 images that both score" in shown
    assert "correct added,1" in diff(world, "own@1", "own@2", "--show", "counts", "--csv").out
    assert "p2,cat,cat,unjudged,correct" in diff(world, "own@1", "own@2", "--show", "pairs", "--csv").out
    only = json.loads(diff(world, "own@1", "own@2", "--model", "second", "--json").out)
    assert [row["model"] for row in only["models"]] == ["second"]
    assert json.loads(diff(world, "own@2", "own@2", "--json").out)["counts"] == {}


def test_unknown_versions(world):
    assert_one_line(run("labels", "diff", "own@1", "own@9", "-t", "pets", "-w", world), "own@9")


class TestAnyVersion:
    """Every result can be computed under any version; a name alone is the newest."""

    def value(self, world, *arguments):
        return json.loads(run_well(*arguments, "-t", "pets", "-w", world, "--json").out)

    @pytest.mark.parametrize(("labels", "value"), [("own@1", 4 / 6), ("own@2", 4 / 5), ("own", 4 / 5)])
    def test_grade_and_compare(self, world, labels, value):
        rows = self.value(world, "grade", "-l", labels)["rows"]
        assert {row["model"]: row["multilabel"]["value"] for row in rows}["first"] == value
        ranks = self.value(world, "compare", "first", "second", "-l", labels)["ranks"]
        assert {row["model"]: row["accuracy"]["value"] for row in ranks}["first"] == value

    def test_people_and_mistakes(self, world, tmp_path):
        (tmp_path / "ada.csv").write_text("image,class\np0,cat\np1,dog\np2,cat\np3,cat\n")
        run_well("import", "people", tmp_path / "ada.csv", "-t", "pets", "--name", "Ada", "-w", world)
        for labels, value, version in (("own@1", 3 / 4, 1), ("own@2", 1, 2), ("own", 1, 2)):
            data = self.value(world, "study", "people", "-l", labels)
            assert data["labels_version"] == version
            row = next(item for item in data["rows"] if item["who"] == "person:Ada" and item["subset"] == "all")
            assert row["accuracy"]["value"] == value
            assert f"own@{version}" in json.dumps(
                self.value(world, "study", "mistakes", "--model", "first", "-l", labels)
            )

    def test_report(self, world):
        for name, labels, seen in (("old", ["own@1"], "pets against own@1"), ("new", [], "pets against own@2")):
            options = [part for version in labels for part in ("-l", version)]
            run_well("report", name, *options, "-w", world)
            assert seen in (world / "reports" / name / "index.html").read_text()
        assert_one_line(run("report", "none", "-l", "own@9", "-w", world), "own@9", "own@1")


def test_figure_and_findings(world, tmp_path):
    from regrade.studies import findings

    diff(world, "own@1", "own@2", "--figure", tmp_path / "f.svg")
    drawn = (tmp_path / "f.svg").read_text()
    assert "difference, in points" in drawn and "own@2" in drawn and "second" in drawn
    ws = regrade.open(world)
    first, second = findings(ws.study.label_change("own@1", "own@2", test_set="pets"))
    assert first.headline == "No difference in accuracy between own@1 and own@2 detected for any model on pets"
    assert "first changed by +20.0 points" in first.text and "from 66.7%" in first.text
    assert second.headline == "1 of 2 models changes its rank"
    assert second.text.endswith("first and second ranked first before, first now.")
    assert (
        findings(ws.study.label_change("own@2", "own@2", test_set="pets"))[0].headline == "own@2 and own@2 are the same"
    )
    none = ws.study.label_change("own@2", "own@2", test_set="pets", models=["first"])
    assert len(findings(none)) == 1


def test_slices_by_column_and_class(world):
    data = json.loads(diff(world, "own@1", "own@2", "--slice", "cat", "--model", "first", "--json").out)
    (part,) = data["slices"]
    assert (part["slice"], [row["model"] for row in part["models"]]) == ("cat", ["first"])
    assert_one_line(run("labels", "diff", "own@1", "own@2", "-t", "pets", "--slice", "cta", "-w", world), "cta", "cat")
