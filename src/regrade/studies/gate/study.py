"""The record of the gate: its options and their file, how its data are loaded, and the files it writes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from regrade.core import InputError
from regrade.store import FIRST_MODEL, Store
from regrade.studies.gate.analysis import GateSet, gate
from regrade.studies.gate.config import NO_FILE, GateFile, gate_file
from regrade.studies.gate.findings import gate_verdicts
from regrade.studies.gate.result import GateResult
from regrade.studies.gate.rules import GateRules
from regrade.studies.loading import chosen_rows, reviewed_labels, scored_predictions
from regrade.studies.seeded_methods import SeededMethod, seeded_method
from regrade.studies.study import Output, Study, labels_option, option
from regrade.tables import read_toml

_STEP_SUMMARY = "GITHUB_STEP_SUMMARY"


@dataclass(frozen=True)
class GateOptions(GateRules):
    """The candidate, its baseline, and the test sets; the rules are those of `GateRules`."""

    candidate: str | None = option(
        "Model that must meet the rules, or a pattern with * for its seeds, e.g. 'resnet50-s*'.",
        None,
        is_argument=True,
    )
    test_sets: Sequence[str] = option("Name of a test set. May be repeated.", (), names=("--test-set", "-t"))
    baseline: str | None = option("Model, or pattern of seeds, that the candidate is compared with.", None)
    labels: str | None = labels_option("Score top-1 against this label set: NAME (newest version) or NAME@VERSION.")
    config: str | Path | None = option(
        "TOML file with these options; options given here replace those of the file.", None, metavar="FILE.toml"
    )


def run(store: Store, options: GateOptions) -> GateResult:
    """Decide whether the ``candidate`` meets the rules on every test set: PASS, FAIL or INCONCLUSIVE.

    ``margin``, ``slice_margins`` and ``max_negative_flips`` compare it with the ``baseline`` on the same images.
    ``floors`` (a number, or numbers by slice, with "all" for all images), ``at_least`` and ``at_most`` (by metric) are
    thresholds of its own. Thresholds are fractions: a margin of 0.005 is half a point. ``config`` is a TOML file with
    the same options in percent, which those given here replace.
    """
    file = NO_FILE if options.config is None else gate_file(read_toml(Path(options.config)), str(options.config))
    options = replace(
        options,
        candidate=options.candidate or file.candidate,
        baseline=options.baseline or file.baseline,
        test_sets=options.test_sets or file.test_sets,
    )
    test_sets = options.test_sets
    if options.candidate is None:
        raise InputError("name the candidate: regrade gate CANDIDATE, or candidate in the file of --config")
    if not test_sets:
        raise InputError("name the test sets: -t NAME, or test_sets in the file of --config")
    if len(set(test_sets)) < len(test_sets):
        raise InputError("a test set is named twice")
    sets = [_gate_set(store, name, file, options) for name in test_sets]
    return gate(sets, confidence=store.config.confidence)


def _gate_set(store: Store, name: str, file: GateFile, options: GateOptions) -> GateSet:
    test_set = store.test_set(name)
    stored = chosen_rows(store, test_set, ())
    named, compared = (
        None if method is None else seeded_method(method, stored, where=test_set.name, first=FIRST_MODEL)
        for method in (options.candidate, options.baseline)
    )
    assert named is not None
    models = gate_models(named, compared)
    labels = options.labels or file.labels_of(test_set.name)
    scored = scored_predictions(store, test_set, models, progress=options.progress)
    return GateSet(
        test_set,
        GateRules(**{**file.rules_of(name), **options.chosen}),
        dict(zip(models, scored, strict=True)),
        named,
        compared,
        None if labels is None else reviewed_labels(store, test_set, labels),
    )


def gate_models(candidate: SeededMethod, baseline: SeededMethod | None) -> tuple[str, ...]:
    """The models of a gate; a candidate that is its own baseline raises."""
    before = set() if baseline is None else set(baseline.models.values())
    if shared := sorted(before & set(candidate.models.values())):
        raise InputError(f"the candidate and the baseline must differ: {shared[0]} belongs to both")
    return (*candidate.models.values(), *(() if baseline is None else baseline.models.values()))


def _write_summary(_: Store, result: GateResult, path: str) -> str:
    """Write the Markdown summary; it is appended to the summary of a step of GitHub Actions, which is shared."""
    mode = "a" if os.environ.get(_STEP_SUMMARY) == path else "w"
    with Path(path).open(mode, encoding="utf-8") as file:
        file.write(result.markdown())
    return f"summary: {path}"


def _write_junit(_: Store, result: GateResult, path: str) -> str:
    Path(path).write_text(result.junit(), encoding="utf-8")
    return f"JUnit: {path}"


GATE = Study(
    name="gate",
    question="Does a candidate model meet the rules?",
    summary="Decide whether a candidate model may replace a baseline: PASS, FAIL or INCONCLUSIVE, for continuous "
    "integration.\n\nExit codes: 0 PASS, 1 FAIL, 2 INCONCLUSIVE, 3 no verdict because of an error or wrong usage.",
    options=GateOptions,
    result=GateResult,
    run=run,
    verdicts=gate_verdicts,
    outputs=(
        Output(
            "summary",
            "FILE.md",
            "Also write a Markdown summary; an old file is replaced, but $GITHUB_STEP_SUMMARY is appended to.",
            _write_summary,
        ),
        Output("junit", "FILE.xml", "Also write JUnit XML, with a test case per rule.", _write_junit),
    ),
    exit_code=lambda result: result.verdict.exit_code,
    head=None,
)
