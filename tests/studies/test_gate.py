"""Gates on arrays: verdicts by hand, bounds against another package, and what is not decided."""

import dataclasses
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hostile_markdown import HOSTILE
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from scipy import stats

import regrade
from regrade.core import ClassSpace, InputError, LabelSet, LabelState, Predictions, TestSet, Unlisted
from regrade.stats import corrected_difference
from regrade.studies import GateRule, GateVerdict
from regrade.studies.gate.analysis import GateSet, gate
from regrade.studies.gate.rules import GateRules
from regrade.studies.multilabel_grade import ReviewedLabels
from regrade.studies.scoring import MultilabelScoring, Scoring
from regrade.studies.seeded_methods import SeededMethod

PASS, FAIL, INCONCLUSIVE = GateVerdict.PASS, GateVerdict.FAIL, GateVerdict.INCONCLUSIVE


def predictions(both: int, candidate: int, baseline: int, neither: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels of class 1, and predictions of which these are right."""
    counts = (both, candidate, baseline, neither)
    right = [
        np.repeat([1, first, second], count)
        for count, first, second in zip(counts, (1, 1, 0, 0), (1, 0, 1, 0), strict=True)
    ]
    rows = np.concatenate([row.reshape(3, -1) for row in right], axis=1)
    return rows[0], rows[1], rows[2]


def verdicts(result) -> list[str]:
    return [row.verdict.value for row in result.rows]


def test_gate_bounds_are_one_sided_and_only_that_of_fail_is_corrected():
    result = regrade.gate(*predictions(700, 80, 70, 150), floors=0.75, max_negative_flips=0.1)
    flips, accuracy = result.rows
    # 780 of 1,000 are right, and 70 are negative flips: Clopper-Pearson bounds from the beta distribution
    assert accuracy.measured.low == pytest.approx(stats.beta.ppf(0.05, 780, 221))
    assert accuracy.measured.high == pytest.approx(stats.beta.ppf(1 - 0.05 / 2, 781, 220))
    assert flips.measured.high == pytest.approx(stats.beta.ppf(0.95, 71, 930))
    assert flips.measured.low == pytest.approx(stats.beta.ppf(0.05 / 2, 70, 931))
    assert (result.verdict, result.passed, verdicts(result)) == (PASS, True, ["PASS", "PASS"])
    (flip,) = result.flips
    assert (flip.negative, flip.positive, flip.images) == (70, 80, 1000)


@pytest.mark.parametrize(
    ("counts", "margin", "verdict"),
    [
        ((900, 50, 50, 0), 0.03, PASS),
        ((900, 50, 50, 0), 0.01, INCONCLUSIVE),
        ((850, 20, 130, 0), 0.01, FAIL),
        ((850, 130, 20, 0), 0.0, PASS),
        ((1000, 0, 0, 0), 0.005, PASS),
        ((100, 0, 0, 0), 0.005, INCONCLUSIVE),
        ((1000, 0, 0, 0), 0.0, INCONCLUSIVE),
    ],
)
def test_gate_of_a_margin(counts, margin, verdict):
    assert regrade.gate(*predictions(*counts), margin=margin).verdict is verdict


@settings(deadline=None, max_examples=60, derandomize=True)
@given(st.tuples(*[st.integers(0, 60)] * 4).filter(any), st.floats(0, 0.2), st.floats(0, 1), st.floats(0, 1))
def test_verdicts_agree_with_the_bounds_and_with_each_other(counts, margin, floor, flips):
    result = regrade.gate(*predictions(*counts), margin=margin, floors=floor, max_negative_flips=flips)
    for row in result.rows:
        low, high, threshold = row.measured.low, row.measured.high, row.threshold
        assert low <= row.measured.value <= high
        sides = (
            (high <= threshold, low > threshold)
            if row.kind is GateRule.NEGATIVE_FLIPS
            else (
                low > threshold if row.threshold <= 0 and row.kind is not GateRule.ACCURACY else low >= threshold,
                high < threshold,
            )
        )
        assert not all(sides)
        assert row.verdict is (PASS if sides[0] else FAIL if sides[1] else INCONCLUSIVE)
        assert (row.reason == "") == (row.verdict is PASS)
    assert result.verdict is GateVerdict.of([row.verdict for row in result.rows])
    assert result.verdict.exit_code == [PASS, FAIL, INCONCLUSIVE].index(result.verdict)


def test_gate_fails_if_a_rule_fails_although_another_is_inconclusive():
    result = regrade.gate(*predictions(40, 0, 0, 60), margin=0.01, floors=0.9)
    assert (verdicts(result), result.verdict) == (["INCONCLUSIVE", "FAIL"], FAIL)


def test_gate_rules_of_slices():
    y_true, candidate, baseline = predictions(80, 10, 10, 0)
    groups = {"region": ["Asia"] * 50 + ["Africa"] * 50}
    result = regrade.gate(
        y_true,
        candidate,
        baseline,
        slice_margins={"region=Asia": 0.2},
        floors={"region": 0.5, "all": 0.7},
        groups=groups,
    )
    assert [(row.label(), row.images) for row in result.rows] == [
        ("not worse on region=Asia", 50),
        ("accuracy on region=Africa", 50),
        ("accuracy on region=Asia", 50),
        ("accuracy", 100),
    ]
    assert result["accuracy", "test set", "all"].threshold == 0.7


def test_gate_says_that_a_slice_is_too_small_and_how_many_images_would_do():
    y_true, candidate, baseline = predictions(40, 0, 0, 0)
    result = regrade.gate(y_true, candidate, baseline, margin=0.01, floors=0.99)
    difference, floor = result.rows
    assert difference.reason.startswith("40 images cannot show it, even if both models were right on the same images")
    assert floor.reason.startswith("40 images cannot show it, even if all were right; about 299 images")
    assert floor.images_needed == 299
    for images, verdict in ((298, INCONCLUSIVE), (299, PASS)):
        assert regrade.gate(np.ones(images, int), np.ones(images, int), floors=0.99).verdict is verdict


def test_gate_of_seeds_is_over_seeds_and_images():
    rng = np.random.default_rng(0)
    y_true = np.ones(2000, int)
    seeds = {str(seed): (rng.random(2000) < 0.9).astype(int) for seed in range(4)}
    before = {str(seed): (rng.random(2000) < 0.85).astype(int) for seed in range(4)}
    result = regrade.gate(y_true, seeds, before, require_better=True, floors=0.85, max_negative_flips=0.2)
    (pair,) = regrade.compare(
        y_true,
        {**{f"c{k}": v for k, v in seeds.items()}, **{f"b{k}": v for k, v in before.items()}},
        replicates=["c*", "b*"],
        confidence=0.9,
    ).methods
    assert result.rows[0].measured.low == pytest.approx(pair.difference.low)
    assert (result.verdict, result.rows[0].kind) == (PASS, GateRule.BETTER)
    narrow = regrade.gate(y_true, seeds, floors=float(np.mean(list(seeds.values()))))
    assert (narrow.verdict, narrow.rows[0].reason) == (INCONCLUSIVE, "these seeds and images do not decide")
    assert result.flips[0].negative == sum(
        int(((b == 1) & (c == 0)).sum()) for c, b in zip(seeds.values(), before.values(), strict=True)
    )


def gate_set(
    rules: GateRules, rows: dict[str, list[int]], *, covered: dict[str, np.ndarray] | None = None, **more
) -> GateSet:
    """A test set of two classes whose images are of the first, with predicted classes by model."""
    space = ClassSpace("space", ("right", "wrong", "maybe"))
    images = len(next(iter(rows.values())))
    test_set = TestSet("set", space, tuple(map(str, range(images))), np.zeros(images, dtype=np.int32))
    loaded = {
        model: (
            Predictions(
                model, "set", "space", np.array(classes, np.int32)[:, None], covered=(covered or {}).get(model)
            ),
            Scoring(test_set),
        )
        for model, classes in rows.items()
    }
    baseline = SeededMethod("old", {"": "old"}) if "old" in rows else None
    return GateSet(test_set, rules, loaded, SeededMethod("new", {"": "new"}), baseline, **more)


def test_gate_is_inconclusive_where_predictions_are_missing_unless_that_is_accepted():
    rows = {"new": [0] * 400, "old": [0] * 300 + [-1] * 100}
    covered = {"old": np.arange(400) < 300}
    strict, accepted = (
        gate([gate_set(GateRules(margin=0.05, min_coverage=least), rows, covered=covered)]) for least in (None, 0.7)
    )
    assert [(row.kind, row.verdict.value, row.images) for row in strict.rows] == [
        (GateRule.COVERAGE, "INCONCLUSIVE", 400),
        (GateRule.NOT_WORSE, "PASS", 300),
    ]
    assert "--min-coverage" in strict.rows[0].reason
    assert (strict.verdict, accepted.verdict) == (INCONCLUSIVE, PASS)
    assert strict.rows[1].measured == accepted.rows[1].measured  # coverage is known: it needs no correction


def test_gate_of_models_without_a_common_image_is_inconclusive():
    covered = {"new": np.arange(40) < 20, "old": np.arange(40) >= 20}
    rows = {model: np.where(inside, 0, -1).tolist() for model, inside in covered.items()}
    result = gate([gate_set(GateRules(margin=0.05), rows, covered=covered)])
    assert verdicts(result) == ["INCONCLUSIVE", "INCONCLUSIVE"] and result.flips == ()
    assert result.rows[1].reason == "no image counts for both models" and result.rows[1].measured is None


def test_gate_metrics_have_thresholds_of_their_own_and_need_scores():
    rng = np.random.default_rng(0)
    y_true = rng.integers(0, 3, 900)
    scores = rng.normal(size=(900, 3)) + 3 * np.eye(3)[y_true]
    result = regrade.gate(y_true, scores, at_least={"balanced-accuracy": 0.9}, at_most={"nll": 0.5, "ece": 0.3})
    graded = regrade.grade(y_true, scores, metrics=["nll"], confidence=0.9).rows[0].values["nll"]
    assert verdicts(result) == ["PASS"] * 3
    assert result["nll"].measured.high == pytest.approx(graded.high)
    classes_only = regrade.gate(y_true, scores.argmax(axis=1), at_most={"ece": 0.1})
    assert classes_only.verdict is INCONCLUSIVE and "no scores" in classes_only.rows[0].reason


def test_gate_draws_ties_across_the_fifth_place_at_random():
    y_true = np.arange(400) % 20
    tied = np.where(np.eye(20)[y_true - y_true % 2], 1.0, 0.0)  # right for even classes; odd ones tie with 18 others
    measured = regrade.gate(y_true, tied, at_least={"top-5": 0.6}).rows[0].measured
    assert measured.value == pytest.approx((1 + 4 / 19) / 2)
    assert measured.low < 0.6 < measured.high and "betting" in measured.method


def test_gate_counts_what_no_one_has_judged_against_pass_and_against_fail():
    images = np.arange(1000)
    judged = (np.tile(images, 2), np.repeat([0, 1], 1000), np.repeat([LabelState.CORRECT, LabelState.WRONG], 1000))
    labels = LabelSet("own", 1, "set", 3, *judged, np.ones(1000, bool), ("",) * 1000, Unlisted.NOVEL)
    # class 2 is judged for no image: the candidate predicts it for 100 images, the baseline for 60 of the same
    rows = {"new": [0] * 900 + [2] * 100, "old": [0] * 900 + [2] * 60 + [1] * 40}
    rules = GateRules(margin=0.03, max_negative_flips=0.01, floors=0.95)
    result = gate([gate_set(rules, rows, labels=ReviewedLabels(MultilabelScoring(labels)))])
    difference, flips, accuracy = result.rows
    bounds = [
        corrected_difference(gained, 0, 1000, confidence=1 - 2 * level) for gained, level in ((0, 0.05), (40, 0.05 / 3))
    ]
    assert (difference.measured.low, difference.measured.high) == pytest.approx((bounds[0].low, bounds[1].high))
    assert (accuracy.measured.value, accuracy.measured.high) == (0.9, 1.0)
    assert (flips.measured.value, verdicts(result)) == (0, ["PASS", "PASS", "INCONCLUSIVE"])
    assert "no one has judged" in result.notes[-1] and "regrade labels novel" in accuracy.reason
    # other predictions that no one has judged may be flips: 60 images on which only the baseline may be right
    rows["new"] = [0] * 900 + [1] * 100
    worse = gate([gate_set(rules, rows, labels=ReviewedLabels(MultilabelScoring(labels)))])
    assert worse.rows[0].measured.low == pytest.approx(corrected_difference(0, 60, 1000, confidence=0.9).low)
    assert worse.rows[1].measured.high == pytest.approx(stats.beta.ppf(0.95, 61, 940))
    assert worse.flips[0].negative == 0


def test_gate_refuses_rules_without_meaning():
    y_true, candidate, baseline = predictions(10, 1, 1, 0)
    for rules, message in (
        ({}, "at least one rule"),
        ({"margin": 0.5}, "between 0 and 20 points, got 50"),
        ({"margin": -0.01}, "between 0 and 20 points, got -1"),
        ({"margin": float("nan")}, "finite"),
        ({"floors": 75}, "'all' must lie between 0 and 100 percent, got 7500"),
        ({"floors": {"dogs": 0.5}}, "unknown slice"),
        ({"at_most": {"eec": 0.1}}, "did you mean adaptive-ece, ece"),
        ({"at_least": {"top-5": 0.9}}, "top-5"),
        ({"margin": 0.01, "require_better": True}, "either"),
        ({"floors": {"all": True}}, "must be a number"),
    ):
        with pytest.raises(InputError, match=message):
            regrade.gate(y_true, candidate, baseline, **rules)
    with pytest.raises(InputError, match="name it with --baseline"):
        regrade.gate(y_true, candidate, margin=0.01)
    with pytest.raises(InputError, match="confidence of a gate must lie between"):
        regrade.gate(y_true, candidate, floors=0.5, confidence=0.4)


@pytest.fixture(scope="module")
def hostile_result():
    result = regrade.gate(*predictions(100, 20, 20, 0), margin=0.01, floors=0.5, at_most={"ece": 0.1})
    return [
        dataclasses.replace(
            result,
            candidate=name,
            baseline="a|b`c",
            rows=tuple(dataclasses.replace(row, slice=name, test_set=name, reason=name) for row in result.rows),
        )
        for name in (*HOSTILE, "@everyone", "https://evil.example", "www.evil.example", "a\nb", "``x`", " ", "a|b")
    ]


def test_markdown_of_a_gate_contains_hostile_names_as_code_only(hostile_result):
    parser = MarkdownIt("commonmark").enable("table")
    for result in hostile_result:
        text = result.markdown()
        tokens = [token for outer in parser.parse(text) for token in (outer, *(outer.children or ()))]
        kinds = {token.type for token in tokens}
        assert not kinds & {"html_block", "html_inline", "link_open", "image", "fence", "code_block"}
        assert sum(token.type == "tr_open" for token in tokens) == 1 + len(result.rows)
        assert sum(token.type == "td_open" for token in tokens) == 5 * len(result.rows)
        outside = " ".join(token.content for token in tokens if token.type == "text")
        assert "@everyone" not in outside
        assert any(token.type == "code_inline" and token.content == "a|b`c" for token in tokens)


def test_junit_of_a_gate_has_a_case_per_rule(hostile_result):
    for result in hostile_result:
        root = ET.fromstring(result.junit())
        suite = root.find("testsuite")
        cases = suite.findall("testcase")
        failures = [case.find("failure") for case in cases]
        assert [None if failure is None else failure.get("type") for failure in failures] == [
            None if verdict == "PASS" else verdict for verdict in verdicts(result)
        ]
        assert (suite.get("tests"), suite.get("failures")) == (
            str(len(cases)),
            str(sum(f is not None for f in failures)),
        )
        assert root.get("tests") == suite.get("tests")
        name = result.rows[0].slice
        if name.isprintable():
            assert cases[0].get("name") == f"not worse on {name}" and failures[0].text == name


def test_gate_is_a_frozen_record_of_rows():
    result = regrade.gate(*predictions(100, 20, 20, 0), margin=0.01, floors=0.5)
    assert len(result) == 2 and result["not worse"] is result.rows[0]
    content = result.as_dict()
    assert content["verdict"] == "INCONCLUSIVE" and content["rows"][1]["verdict"] == "PASS"
    assert content["rows"][0]["threshold"] == -0.01 and content["rows"][1]["required"] == "≥ 50.00"
    assert "gate: INCONCLUSIVE – candidate against baseline on test set" in str(result)
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.verdict = PASS
