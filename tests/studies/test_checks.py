"""Methodology checks: each is found, passes and does not apply; facts come from a workspace; docs list them."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from running import assert_one_line, run, run_well

import regrade
from regrade.core import ClassSpace, SliceSet, TestSet
from regrade.stats import fisher_exact
from regrade.studies import CHECKS, MethodologyOutcome
from regrade.studies.checks.analysis import check_methodology
from regrade.studies.checks.facts import ComparedImages, Evaluation, LabelFacts, ModelFacts, SetFacts
from regrade.studies.checks.findings import checks_findings

DOCS = Path(__file__).parents[2] / "docs"
FOUND, PASSED, NOT_APPLICABLE = MethodologyOutcome


def lettered(name="val", *, classes="abcdefg", images=28, labels=None, **groups):
    space = ClassSpace("letters", tuple(classes))
    chosen = np.arange(images) % len(space) if labels is None else np.asarray(labels)
    return TestSet(name, space, tuple(f"{name}-{n}" for n in range(len(chosen))), chosen.astype(np.int32), groups)


def one_set(*models, **fields):
    """A test set of 28 images in seven classes, and an evaluation of these models on it."""
    return Evaluation((SetFacts(fields.pop("test_set", lettered()), models, **fields),), "val")


def two_sets(first, second, models=(), **fields):
    sets = (SetFacts(first, models), SetFacts(second, models))
    return Evaluation(sets, first.name, (second.name,), **fields)


def labeled(judged, to_judge, **fields):
    return one_set(labels=(LabelFacts("own@1", fields.pop("complete", False), to_judge, judged, **fields),))


def hard(chosen_by):
    chosen = SliceSet("worst", "val", 28, {"worst": np.arange(28) < 9}, chosen_hard=True, chosen_by=chosen_by)
    return one_set(ModelFacts("net", 28), test_set=replace(lettered(), slice_sets=(chosen,)))


def compared(*pairs):
    return Evaluation((SetFacts(lettered()),), "val", compared=tuple(ComparedImages(*pair) for pair in pairs))


def models(count):
    return tuple(ModelFacts(f"m{number}", 28) for number in range(count))


def run_twice(**changed):
    run = ModelFacts("net", 28, weights="abc", preprocessing="crop 224")
    return Evaluation((SetFacts(lettered(), (run,)), SetFacts(lettered("new"), (replace(run, **changed),))), "val")


def frequencies(name):
    return lettered(name, selection_frequency=("0.6 to 0.8",) * 28)


def numbered(*classes):
    return one_set(test_set=lettered(classes=classes, images=48))


SPLIT, REST = {"known": 90, "new": 40}, {"known": 100, "new": 100}
CASES = {
    "RG001": (
        (labeled(SPLIT, REST), "own@1: 90 of 100 predictions of known were judged, and 40 of 100 predictions of new"),
        (labeled({"known": 90, "new": 85}, REST), "no difference detected"),
        (labeled({}, REST, complete=True), "the lists of own@1 are complete"),
    ),
    "RG002": (
        (two_sets(lettered(), frequencies("new")), "new compared with val: no selection_frequency of val"),
        (two_sets(frequencies("val"), frequencies("new")), "val and new have"),
        (one_set(), "no new test set is compared with val"),
    ),
    "RG003": (
        (hard(("net", "tree")), "worst of val was chosen by net, graded here too"),
        (hard(("tree",)), "worst: chosen by models that are not graded here"),
        (one_set(), "no slice is marked"),
    ),
    "RG004": (
        (compared(("val", "train", 3), ("val", "val", 7)), "val has 7 repeated images; val has 3 images of train"),
        (compared(("val", "train", 0)), "no equal pixels in 1 comparison of val"),
        (one_set(), "images have not been compared"),
    ),
    "RG005": (
        (one_set(ModelFacts("tree", 28, 12), ModelFacts("net", 28, 0)), "tree has ties on 12 of 28 images of val"),
        (one_set(ModelFacts("net", 28, 0)), "no ties"),
        (one_set(ModelFacts("net", 28, None)), "no model has five stored classes"),
    ),
    "RG006": (
        (one_set(slices={"light=dark": 19, "light=day": 20}), "light=dark of val has 19 labeled images"),
        (one_set(slices={"light=dark": 20}), "every slice of val has at least 20"),
        (one_set(), "no test set has slices"),
    ),
    "RG007": (
        (one_set(test_set=lettered(labels=[0, 1, 2, 2, -1])), "val has no labeled image of 4 of its 7 classes"),
        (one_set(), "every class of val"),
        (one_set(test_set=lettered(labels=[-1, -1])), "no test set has labels"),
    ),
    "RG008": (
        (one_set(test_set=lettered(household=("h1", "h2") * 14)), "28 images of val come from 2 values of household"),
        (one_set(test_set=lettered(patient=tuple(map(str, range(28))))), "every image has its own patient"),
        (one_set(), "no test set has a column"),
    ),
    "RG009": (
        (one_set(*models(10)), "10 models are ranked on val"),
        (two_sets(lettered(), lettered("new"), models(10)), "most models of val and new"),
        (one_set(*models(9)), "no test set has 10 models"),
    ),
    "RG010": (
        (numbered(*sorted(map(str, range(12)))), "the classes of val are in the order 0, 1, 10, 11 ..."),
        (numbered(*map(str, range(12))), "the classes of val are not sorted as text"),
        (one_set(), "no test set has classes that are named by numbers"),
    ),
    "RG011": (
        (run_twice(preprocessing="crop 256"), "net had another preprocessing on new than on val"),
        (run_twice(), "1 model had the same"),
        (one_set(ModelFacts("net", 28, weights="abc")), "no model has a recorded preprocessing"),
    ),
    "RG012": (
        (one_set(ModelFacts("a", 28), ModelFacts("b", 20)), "b has 20 of 28 images of val"),
        (one_set(*models(2)), "all models have predictions for all images of val"),
        (one_set(ModelFacts("b", 20)), "no test set has two models"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("code", CASES)
@pytest.mark.parametrize("outcome", MethodologyOutcome)
def test_check_has_the_outcome(code, outcome):
    evaluation, detail = CASES[code][list(MethodologyOutcome).index(outcome)]
    row = check_methodology(evaluation)[code]
    assert (row.outcome, detail in row.detail) == (outcome, True), row.detail


def test_every_check_has_a_case_and_a_code_of_its_own():
    assert [check.code for check in CHECKS] == list(CASES)


def test_found_checks_come_first_and_say_what_to_do():
    result = check_methodology(CASES["RG012"][0][0])
    assert [row.code for row in result][:1] == ["RG012"]
    assert result.found == ("RG012",)
    first, second, *_ = result.table().records()
    assert first["detail"] == f"{result['RG012'].detail}. {result['RG012'].advice}"
    assert second["detail"] == result[1].detail
    assert result.summary == "12 checks: 1 found, 1 passed, 10 not applicable"


class TestJudgedShares:
    def test_threshold_is_that_of_fishers_test_for_all_pairs(self):
        def outcome(judged, more_models):
            judged_of = {"a": 60, "b": judged} | {f"m{n}": 60 for n in range(more_models)}
            return check_methodology(labeled(judged_of, dict.fromkeys(judged_of, 100)))["RG001"].outcome

        assert 0.025 < fisher_exact(60, 100, 45, 100) < 0.05
        assert (outcome(45, 0), outcome(45, 2)) == (FOUND, PASSED)

    def test_sample_of_unjudged_predictions_passes(self):
        row = check_methodology(labeled(SPLIT, REST, sampled=True))["RG001"]
        assert (row.outcome, "a random sample" in row.detail) == (PASSED, True)

    def test_finding_is_stated_only_if_found(self):
        (finding,) = checks_findings(check_methodology(labeled(SPLIT, REST)))
        assert "40 of 100 predictions of new" in finding.text
        assert not checks_findings(check_methodology(labeled({"known": 9, "new": 9}, REST)))


def test_hard_slice_without_recorded_models_is_found():
    row = check_methodology(hard(()))["RG003"]
    assert (row.outcome, "not recorded" in row.detail) == (FOUND, True)


def test_second_set_of_the_same_images_does_not_confirm_a_ranking():
    overlapping = frozenset({frozenset({"val", "new"})})
    evaluation = two_sets(lettered(), lettered("new"), models(10), overlapping=overlapping)
    assert check_methodology(evaluation)["RG009"].outcome is FOUND


def test_long_lists_are_shortened():
    partial = [ModelFacts(f"m{number}", 20) for number in range(5)]
    assert check_methodology(one_set(*partial))["RG012"].detail.endswith("m2 has 20 of 28 images of val; and 2 more")


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    """Two sets of twelve images, each with a repeated image, and one image in both; two models, one with ties."""
    folder, rng = tmp_path_factory.mktemp("checks"), np.random.default_rng(0)
    workspace = regrade.init(folder / "W")
    for name in ("val", "train"):
        images = [rng.integers(0, 255, (24, 24, 3)).astype(np.uint8) for _ in range(12)]
        images[5] = images[3]
        for number, pixels in enumerate(images):
            (folder / name / "cat").mkdir(parents=True, exist_ok=True)
            shared = images[0] * 0 + 9 if number == 0 else pixels
            Image.fromarray(shared.astype(np.uint8)).save(folder / name / "cat" / f"{name}{number:02}.png")
        workspace.testsets.add(name, folder / name, classes="cifar-10")
    cat = workspace.store.test_set("val").labels
    for model, scores in {"tree": np.eye(10)[cat], "net": rng.random((12, 10))}.items():
        workspace.models.add_predictions(model, scores, test_set="val")
    workspace.study.leakage("val", against="train", by=("exact", "phash"))
    return workspace


class TestWorkspace:
    def test_facts_come_from_the_stored_data(self, workspace):
        result = workspace.study.checks()
        details = {row.code: row.detail for row in result if row.outcome is FOUND}
        assert details["RG004"] == "val has 1 repeated image; val has 1 image of train"
        assert details["RG005"] == "tree has ties on 12 of 12 images of val"
        assert details["RG007"] == "val has no labeled image of 9 of its 10 classes"
        assert result.test_sets == ("val",)

    def test_labels_are_compared_by_what_was_judged(self, workspace, tmp_path):
        val = workspace.store.test_set("val")
        predicted = workspace.store.predictions.read(val, "net").top1
        rows = [f"{image},cat,correct" for image in val.ids]
        rows += [
            f"{image},{val.class_space.names[top]},wrong"
            for image, top in zip(val.ids, predicted.tolist(), strict=True)
            if val.class_space.names[top] != "cat"
        ]
        (tmp_path / "judged.csv").write_text("\n".join(["image,label,state", *rows]) + "\n")
        workspace.labels.import_file(tmp_path / "judged.csv", test_set="val", name="judged")
        workspace.models.add_predictions("new", np.eye(10)[np.full(12, 9)], test_set="val")
        row = workspace.study.checks()["RG001"]
        differing = int((predicted != val.labels).sum())
        assert row.outcome is FOUND
        assert f"{differing} of {differing} predictions of net were judged" in row.detail

    def test_command_prints_a_table_and_json(self, workspace):
        folder = workspace.store.root
        assert "RG005" in run_well("study", "checks", "-w", folder).out
        row = json.loads(run_well("study", "checks", "--json", "-w", folder).out)["rows"][0]
        assert row["outcome"] == "found"
        assert row["section"].startswith("pitfalls.md#")
        assert_one_line(run("study", "checks", "-t", "absent", "-w", folder), "absent")


def anchor(section):
    title = section.partition("\n")[0].removeprefix("## ").lower()
    return re.sub(r"[^a-z0-9 -]", "", title).replace(" ", "-")


class TestDocs:
    def test_table_of_the_documentation_lists_every_check(self):
        page = (DOCS / "studies.md").read_text()
        rows = [f"| [{check.code}]({check.section}) | {check.title} | {check.looks_for} |" for check in CHECKS]
        assert re.findall(r"^\| \[RG.*$", page, re.M) == rows

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.code)
    def test_pitfall_names_its_check(self, check):
        sections = re.split(r"^(?=## )", (DOCS / "pitfalls.md").read_text(), flags=re.M)
        (section,) = [part for part in sections if anchor(part) == check.anchor]
        assert f"[{check.code}](studies.md#checks)" in section
