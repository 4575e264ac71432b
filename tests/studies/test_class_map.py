"""The audit of a class map: errors by class, other maps on the same images, and what depends on the map."""

import json

import numpy as np
import pytest
from class_map_world import ACCEPTED, ELSEWHERE, class_map, make_workspace, objects, predicted_space, write_map
from hypothesis import given, settings
from hypothesis import strategies as st
from running import run, run_well

from regrade.core import ClassMap, ClassSpace, Hierarchy, InputError, MapRule, Predictions
from regrade.core import TestSet as ImageSet
from regrade.stats import clopper_pearson
from regrade.studies import MapEffect, figure, findings
from regrade.studies.class_map.alternatives import (
    NamedMap,
    ambiguous,
    first_class_only,
    omissions,
    systematic_maps,
    with_siblings,
)
from regrade.studies.class_map.analysis import class_map_audit
from regrade.studies.class_map.model_audit import AuditSetting
from regrade.studies.geography.group_frame import grouping

TREE = Hierarchy(
    {"a": ("x",), "b": ("x",), "c": ("x", "y"), "d": ("y",), "e": ("z",)},
    {concept: (concept,) for concept in "abcdexyz"},
)
SOURCE = ClassSpace("letters", tuple("abcde"), hierarchy=TREE)
OWN = ClassSpace("own", ("p", "q", "r"))


def mapped(*sources: str) -> ClassMap:
    entries = tuple(tuple(SOURCE.index(letter) for letter in entry) for entry in sources)
    return ClassMap(SOURCE, OWN, entries, MapRule.ANY_IN_TOP_K)


def letters(class_map: ClassMap) -> tuple[str, ...]:
    return tuple("".join(SOURCE.ids[index] for index in entry) for entry in class_map.sources)


class TestAlternatives:
    def test_first_class_only(self):
        assert letters(first_class_only(mapped("ba", "", "e"))) == ("b", "", "e")

    def test_siblings_share_a_parent_and_are_not_mapped_elsewhere(self):
        assert letters(with_siblings(mapped("a", "d", ""))) == ("abc", "dc", "")
        assert letters(with_siblings(mapped("a", "c", ""))) == ("ab", "cbd", "")

    def test_without_a_hierarchy_there_are_no_siblings(self):
        plain = ClassSpace("plain", tuple("abcde"))
        first = ClassMap(plain, OWN, ((0, 1), (), ()), MapRule.ANY_IN_TOP_K)
        assert with_siblings(first) is first
        assert [each.name for each in systematic_maps(first)] == ["first class only"]

    def test_maps_that_change_nothing_are_left_out(self):
        assert [each.name for each in systematic_maps(mapped("e", "", ""))] == []

    def test_every_class_that_leaves_another_one_is_left_out_once(self):
        first = mapped("aab", "c", "")
        assert [(each.target, each.source, letters(each.class_map)[0]) for each in omissions(first)] == [
            (0, 0, "b"),
            (0, 1, "aa"),
        ]

    def test_ambiguous_classes(self):
        assert ambiguous(mapped("ab", "b", "be")) == 1


def audit(right, alternative, *, regions="NNSS", labels=None, top=1, **options):
    """Predictions as letters, labels p; the first map accepts a, the alternative also the given letters."""
    n = len(right)
    labels = np.zeros(n, dtype=np.int32) if labels is None else np.array(labels, dtype=np.int32)
    test_set = ImageSet("set", OWN, tuple(map(str, range(n))), labels, {"region": tuple(regions)})
    classes = np.array([[SOURCE.index(letter)] for letter in right], dtype=np.int32)
    setting = AuditSetting(test_set, grouping(test_set, "region"), top=top, **options)
    alternatives = [NamedMap("wide", mapped("a" + alternative, "d", ""))] if alternative else []
    first = NamedMap("first", mapped("a", "d", ""))
    return class_map_audit([Predictions("m", "set", SOURCE.name, classes)], first, alternatives, setting)


class TestMaps:
    def test_values_by_hand(self):
        result = audit("aabaebbb", "b", regions="NNNNSSSS")
        first, wide = result.maps
        assert (first.accuracy.value, wide.accuracy.value) == (3 / 8, 7 / 8)
        assert (first.disparity.value, wide.disparity.value) == (0.75, 0.25)
        assert wide.change.value == 0.5 and wide.disparity_change.value == -0.5
        assert (first.best, first.worst, wide.best) == ("N", "S", "N")
        assert first.change is first.effect is None

    def test_accuracy_of_the_first_map_is_exact(self):
        accuracy = audit("aabaebbb", "", regions="NNNNSSSS").maps[0].accuracy
        bounds = clopper_pearson(3, 8)
        assert (accuracy.low, accuracy.high) == pytest.approx((float(bounds.low), float(bounds.high)))

    def test_another_group_if_the_order_changes_significantly(self):
        # north: a on 80 %, south: a on 20 % and b on 75 %
        result = audit("a" * 160 + "e" * 40 + "a" * 40 + "b" * 150 + "e" * 10, "b", regions="N" * 200 + "S" * 200)
        assert result.maps[1].effect is MapEffect.ANOTHER_GROUP
        assert findings(result)[0].kind.name == "class map: another best or worst group"
        assert "most often for S and least often for N" in findings(result)[0].text

    def test_another_disparity_if_only_its_size_changes(self):
        result = audit("a" * 160 + "e" * 40 + "a" * 40 + "b" * 80 + "e" * 80, "b", regions="N" * 200 + "S" * 200)
        row = result.maps[1]
        assert row.effect is MapEffect.DISPARITY and row.disparity_change.high < 0
        assert findings(result)[0].kind.name == "class map: another disparity"

    def test_same_groups_under_every_map(self):
        result = audit("a" * 180 + "b" * 20 + "a" * 80 + "b" * 20 + "e" * 100, "b", regions="N" * 200 + "S" * 200)
        assert result.maps[1].effect is MapEffect.SAME
        assert findings(result)[0].headline == "The best and the worst region are the same under every class map"

    def test_few_images_leave_it_open(self):
        assert audit("aabaebbb", "b", regions="NNNNSSSS").maps[1].effect is MapEffect.OPEN

    def test_images_that_an_alternative_does_not_score_are_left_out(self):
        labels, alternative = [0, 0, 0, 0, 1, 1], NamedMap("narrow", mapped("ab", "", ""))
        test_set = ImageSet("set", OWN, tuple("123456"), np.array(labels, dtype=np.int32), {"region": tuple("NSNSNS")})
        classes = np.array([[SOURCE.index(letter)] for letter in "aabbdd"], dtype=np.int32)
        predictions = Predictions("m", "set", SOURCE.name, classes)
        setting = AuditSetting(test_set, grouping(test_set, "region"))
        result = class_map_audit([predictions], NamedMap("first", mapped("a", "d", "")), [alternative], setting)
        first, narrow = result.maps
        assert (first.images, narrow.images) == (6, 4) and narrow.change.value == 0.5
        assert "narrow maps nothing to the classes of 2 images: compared on the rest" in result.notes

    def test_group_of_a_single_image_has_no_disparity(self):
        row = audit("aab", "b", regions="NNS").maps[1]
        assert row.disparity is row.disparity_change is row.effect is None and row.change is not None

    @settings(max_examples=25, deadline=None)
    @given(st.text("abe", min_size=4, max_size=30))
    def test_accepting_more_never_lowers_accuracy(self, text):
        result = audit(text, "b", regions=("NS" * len(text))[: len(text)])
        first, wide = result.maps
        assert wide.accuracy.value >= first.accuracy.value
        assert wide.change.value == pytest.approx(wide.accuracy.value - first.accuracy.value)
        assert wide.change.low <= wide.change.value <= wide.change.high
        if wide.disparity_change is not None:
            value = wide.disparity.value - first.disparity.value
            assert wide.disparity_change.value == pytest.approx(value)
            assert wide.disparity_change.low <= value + 1e-9 and value <= wide.disparity_change.high + 1e-9


class TestClasses:
    def test_errors_by_class(self):
        result = audit("aebbddaa", "", labels=[0, 0, 0, 0, 1, 1, 1, 1], regions="NSNSNSNS")
        p, q = result.classes
        assert (p.class_name, p.errors, p.share_of_errors.value) == ("p", 3, 0.6)
        assert p.wrong == (("b", 2), ("e", 1)) and q.wrong == (("a", 2),)
        assert (p.accuracy.value, q.accuracy.value) == (0.25, 0.5) and p.mapped == ("a",)
        bounds = clopper_pearson(3, 5, confidence=0.975)
        assert (p.share_of_errors.low, p.share_of_errors.high) == pytest.approx((float(bounds.low), float(bounds.high)))

    def test_without_an_error_there_is_no_share(self):
        (row,) = audit("aaaa", "").classes
        assert row.share_of_errors is None and row.errors == 0 and row.wrong == ()

    def test_finding_names_the_class_with_most_errors(self):
        result = audit("aebbddaa", "", labels=[0, 0, 0, 0, 1, 1, 1, 1], regions="NSNSNSNS")
        assert findings(result)[0].headline == "p has the most errors of m on set"


def test_maps_that_accept_the_same_raise():
    with pytest.raises(InputError, match="wide accepts the same classes as first: leave it out"):
        audit("aabb", "a")


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return make_workspace(tmp_path_factory.mktemp("maps") / "study")


class TestCommand:
    def test_default_maps_groups_and_households(self, study):
        result = study.study.class_map("objects")
        assert [row.map for row in result.of_model("strong")] == ["the stored map", "first class only", "siblings too"]
        assert (result.by, result.clusters) == ("region", "household")
        assert len({row.class_name for row in result.classes}) == 5  # spices are mapped to nothing
        assert len(result.omissions) == 2 * 12
        assert result.maps[0].images == 600 and result.maps[0].accuracy.method.startswith("clustered")

    def test_omissions_agree_with_grading_under_that_map(self, study, tmp_path):
        path = write_map(tmp_path / "without.csv", {**ACCEPTED, "chair": ("folding chair",)})
        graded = {row.model: row.top1.value for row in study.grade("objects", class_map=path).rows}
        audited = study.study.class_map("objects")
        before = {row.model: row.accuracy.value for row in audited.maps if row.map == "the stored map"}
        for row in audited.omissions:
            if row.left_out == "rocking chair":
                assert row.change.value == pytest.approx(graded[row.model] - before[row.model])

    def test_alternative_file(self, study, tmp_path):
        path = write_map(tmp_path / "strict.csv", {**ACCEPTED, "pot": ("Dutch oven",)})
        ran = run_well("study", "class-map", "-t", "objects", "--alternative", path, "-w", study.store.root, "--json")
        maps = [row["map"] for row in json.loads(ran.out)["maps"] if row["model"] == "weak"]
        assert maps == ["the stored map", "strict.csv", "first class only", "siblings too"]

    def test_alternative_equal_to_a_systematic_map_is_shown_once(self, study, tmp_path):
        path = write_map(tmp_path / "one.csv", {own: entry[:1] for own, entry in ACCEPTED.items()})
        result = study.study.class_map("objects", alternatives=[path])
        assert [row.map for row in result.of_model("weak")] == ["the stored map", "one.csv", "siblings too"]

    @pytest.mark.parametrize(
        ("accepted", "message"),
        [({}, ": maps no class"), (ACCEPTED, " accepts the same classes as the stored map")],
    )
    def test_useless_alternatives_are_one_line(self, study, tmp_path, accepted, message):
        path = write_map(tmp_path / "alternative.csv", accepted)
        ran = run("study", "class-map", "-t", "objects", "--alternative", path, "-w", study.store.root)
        assert ran.code == 1 and len(ran.err.strip().splitlines()) == 1
        assert f"alternative.csv{message}" in ran.err

    def test_unknown_class_names_file_and_line(self, study, tmp_path):
        path = tmp_path / "typo.csv"
        path.write_text("target,source\nstove,n99999999\n")
        ran = run("study", "class-map", "-t", "objects", "--map", path, "-w", study.store.root)
        assert ran.code == 1 and "typo.csv: line 2: unknown class id of objects 'n99999999'" in ran.err

    def test_set_without_a_map_says_so(self, study):
        space, n = predicted_space(), 4
        study.store.add_test_set(ImageSet("direct", space, tuple("abcd"), np.zeros(n, dtype=np.int32)))
        study.models.add_predictions("m", np.eye(len(space))[:n], test_set="direct")
        with pytest.raises(InputError, match="all models predict the classes of direct: there is no class map"):
            study.study.class_map("direct")
        with pytest.raises(InputError, match="no model has predictions on"):
            study.store.add_test_set(ImageSet("bare", space, tuple("abcd"), np.zeros(n, dtype=np.int32)))
            study.study.class_map("bare")

    def test_figure_and_tables(self, study):
        result = study.study.class_map("objects")
        assert figure(result).alt.startswith(
            "Whether the conclusion depends on the class map is open. Accuracies of strong"
        )
        assert [table.title.split(",")[0] for table in map(result.part, result.parts)] == [
            "objects by region under the stored map and other maps",
            "errors on objects by region by class",
            "objects by region: the stored map without one accepted class",
        ]

    def test_report_has_a_chapter(self, study):
        study.report("maps", force=True)
        page = (study.store.root / "reports" / "maps" / "index.html").read_text()
        assert "Does the conclusion depend on the class map?" in page


def test_world_is_as_described():
    assert class_map().source.names[predicted_space().resolve(ELSEWHERE)] == ELSEWHERE
    assert len(set(objects().group_columns["household"])) == 180
