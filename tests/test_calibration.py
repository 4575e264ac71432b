"""Every claim has a null check and every interval a coverage check; small runs of both, which can fail."""

import ast
import importlib
import pkgutil
import sys
from enum import Enum
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import regrade
from benchmarks.calibration import COVERAGE_CHECKS, NULL_CHECKS, CoverageCheck, NullCheck
from benchmarks.calibration.checks import NOMINAL
from benchmarks.calibration.splits import most_false
from regrade import studies
from regrade.studies import finding_kinds, verdict_kinds

RUNS, DRAWS = 40, 400
ALARM = 1e-4
"""The chance that a check fails although the claim or the interval keeps its level."""


def test_every_claim_has_a_null_check():
    claims = {kind.name for kind in finding_kinds().values() if kind.claims}
    checked = {kind for check in NULL_CHECKS for kind in check.kinds}
    missing, outdated = sorted(claims - checked), sorted(checked - claims)
    assert not missing, f"add a @null_check for {missing} in a file benchmarks/calibration/null_*.py"
    assert not outdated, f"null checks of {outdated}: no finding of this kind is registered by claim(...)"


NO_VERDICTS = {
    "_Rates", "AgreementPart", "BenchmarkKind", "ClassesPart", "ClassMapPart", "ClassOrder", "ComparisonPart",
    "ConfidencePart", "ConformalScore", "ConfusionPart", "Contender", "FrequencyStudyPart", "GateRule", "GeographyPart",
    "ImageKind", "LabelChangePart", "LeakagePart", "LogBase", "MistakePart", "ModelAttribute", "ModelMeasure",
    "ModelTrendsPart", "MultilabelPart", "PeoplePart", "Relation", "RemedyMeasure", "ScoreRelation", "ShiftPart",
    "StateAfter", "StateBefore", "TriageKind",
}  # fmt: skip
"""Enums of studies that name a part, a kind or an order, and conclude nothing."""


def test_every_verdict_of_a_study_has_a_kind():
    modules = [importlib.import_module(m.name) for m in pkgutil.walk_packages(studies.__path__, "regrade.studies.")]
    defined = {
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Enum) and value.__module__ == module.__name__
    }
    members = {verdict for enum in defined if enum.__name__ not in NO_VERDICTS for verdict in enum}
    missing, outdated = members - set(verdict_kinds()), set(verdict_kinds()) - members
    assert not missing, f"register the kind of {missing} by register_verdicts; an enum without conclusions: NO_VERDICTS"
    assert not outdated, f"{outdated} are registered as verdicts, but not members of an enum of a study"
    assert {enum.__name__ for enum in defined} >= NO_VERDICTS


def test_every_claim_names_its_test():
    assert not [kind.name for kind in finding_kinds().values() if kind.claims and not kind.test]


def interval_makers() -> set[str]:
    """Every function that names the method of an interval, as package.module.function."""
    source = Path(regrade.__file__).parent
    makers = set()
    for path in sorted(source.rglob("*.py")):
        module = ".".join(path.relative_to(source).with_suffix("").parts)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name != "method_name" and _names_a_method(node):
                makers.add(f"{module}.{node.name}")
    return makers


def _names_a_method(function: ast.FunctionDef) -> bool:
    calls = (node for node in ast.walk(function) if isinstance(node, ast.Call))
    return any(isinstance(call.func, ast.Name) and call.func.id == "method_name" for call in calls)


def test_every_interval_has_a_coverage_check():
    checked, makers = {check.maker for check in COVERAGE_CHECKS}, interval_makers()
    missing, outdated = sorted(makers - checked), sorted(checked - makers)
    assert not missing, f"add a coverage_check(maker=...) for {missing} in a file benchmarks/calibration/coverage_*.py"
    assert not outdated, f"coverage checks of {outdated}: no such function calls method_name"


def called_functions(check: CoverageCheck) -> set[str]:
    """The functions of the package that a few draws call, as package.module.function."""
    source, called = Path(regrade.__file__).parent, set()

    def note(frame, event, _):
        if event == "call":
            called.add(frame.f_code)

    sys.setprofile(note)
    try:
        check.draw(np.random.default_rng(0), 5)
    finally:
        sys.setprofile(None)
    paths = ((Path(code.co_filename), code.co_name) for code in called)
    inside = ((path.relative_to(source), name) for path, name in paths if path.is_relative_to(source))
    return {".".join((*path.with_suffix("").parts, name)) for path, name in inside}


@pytest.mark.parametrize("check", COVERAGE_CHECKS, ids=lambda check: f"{check.interval}, {check.case}, {check.n}")
def test_coverage_check_calls_the_function_it_names(check: CoverageCheck):
    assert check.maker in called_functions(check)


@pytest.mark.parametrize(("splits", "tests"), [(200, 1), (200, 27), (1800, 3)])
def test_split_experiment_misses_its_aim_only_if_significant(splits: int, tests: int):
    most = round(splits * most_false(splits, tests) / 100)
    p_values = [stats.binomtest(count, splits, NOMINAL, alternative="greater").pvalue for count in (most, most + 1)]
    assert p_values[1] * tests <= NOMINAL < p_values[0] * tests


@pytest.mark.parametrize("check", NULL_CHECKS, ids=lambda check: f"{check.kinds[0]}, {check.case}")
def test_null_check(check: NullCheck):
    most = stats.binom.isf(ALARM, RUNS, NOMINAL)
    assert max(check.false_claims(RUNS, np.random.default_rng(0)).values()) <= most


@pytest.mark.parametrize("check", COVERAGE_CHECKS, ids=lambda check: f"{check.interval}, {check.case}, {check.n}")
def test_coverage_check(check: CoverageCheck):
    drawn = check.draw(np.random.default_rng(0), DRAWS)
    assert round(drawn.coverage * DRAWS) >= stats.binom.ppf(ALARM, DRAWS, check.least)
