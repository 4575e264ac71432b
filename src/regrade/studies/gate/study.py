"""The record of the gate: its options and their file, how its data are loaded, and the files it writes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from regrade.core import InputError, Ladder, TestSet
from regrade.stats import design_effect
from regrade.store import FIRST_MODEL
from regrade.studies.gate.analysis import GateSet, gate
from regrade.studies.gate.config import NO_FILE, GateFile, gate_file
from regrade.studies.gate.findings import gate_verdicts
from regrade.studies.gate.ladder import Discordant, Entrant, climb
from regrade.studies.gate.result import GateResult
from regrade.studies.gate.rules import GateRules
from regrade.studies.held_back import ladder_notes
from regrade.studies.image_basis import judge_predictions
from regrade.studies.image_clusters import cluster_column, clusters_option, image_clusters
from regrade.studies.loading import chosen_models, chosen_rows, reviewed_labels, scored_predictions
from regrade.studies.seeded_methods import SeededMethod, seeded_method
from regrade.studies.study import Output, Study, labels_option, option
from regrade.tables import read_toml

if TYPE_CHECKING:
    from regrade.store import Store

_STEP_SUMMARY = "GITHUB_STEP_SUMMARY"
_HOUSEHOLDS_ON_LADDER = (
    "images of one household are counted as dependent, which makes the error rate of a ladder approximate; what is "
    "required holds for independent images, and is more if models differ on whole households"
)


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
    clusters: str | None = clusters_option()
    ladder: bool = option(
        "Held-back test set: require a significantly higher accuracy than the best model submitted so far, and tell "
        "the verdict alone, so that the set does not wear out. --baseline is the first best model.",
        False,
    )
    config: str | Path | None = option(
        "TOML file with these options; options given here replace those of the file.", None, metavar="FILE.toml"
    )


def run(store: Store, options: GateOptions) -> GateResult:
    """Decide whether the ``candidate`` meets the rules on every test set: PASS, FAIL or INCONCLUSIVE.

    ``margin``, ``slice_margins`` and ``max_negative_flips`` compare it with the ``baseline`` on the same images.
    ``floors`` (a number, or numbers by slice, with "all" for all images), ``at_least`` and ``at_most`` (by metric) are
    thresholds of its own. Thresholds are fractions: a margin of 0.005 is half a point. ``config`` is a TOML file with
    the same options in percent, which those given here replace. ``clusters`` is the column of images that belong
    together (default: ``household`` if present): bounds are over clusters. ``ladder`` submits the candidate to the
    ladder of one test set instead, where it is compared with the best model so far.
    """
    if options.ladder:
        return submit_to_ladder(store, options)
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
    result = gate(sets, confidence=store.config.confidence)
    return replace(result, notes=(*result.notes, *ladder_notes(store, test_sets, "a gate without --ladder")))


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
        image_clusters(test_set, options.clusters or file.clusters_of(test_set.name)),
    )


def gate_models(candidate: SeededMethod, baseline: SeededMethod | None) -> tuple[str, ...]:
    """The models of a gate; a candidate that is its own baseline raises."""
    before = set() if baseline is None else set(baseline.models.values())
    if shared := sorted(before & set(candidate.models.values())):
        raise InputError(f"the candidate and the baseline must differ: {shared[0]} belongs to both")
    return (*candidate.models.values(), *(() if baseline is None else baseline.models.values()))


def submit_to_ladder(store: Store, options: GateOptions) -> GateResult:
    """Test the candidate against the best model of a test set's ladder, and record it before the verdict is told."""
    given = [name for name in ("labels", "clusters", "config") if getattr(options, name) is not None]
    if refused := [*options.chosen, *given]:
        written = [options.flags()[name].written(name) for name in refused]
        raise InputError(f"a ladder has one rule, so that it tells nothing else: leave out {', '.join(written)}")
    if options.candidate is None or len(options.test_sets) != 1:
        raise InputError("a ladder needs one candidate and one test set: regrade gate CANDIDATE -t NAME --ladder")
    test_set, candidate = store.test_set(options.test_sets[0]), options.candidate
    models = [name for name in (candidate, options.baseline) if name is not None]
    for model in chosen_models(store, test_set, models):
        manifest = store.predictions.manifest(test_set.name, model)
        if manifest.asked is not None:
            raise InputError(f"{model} has predictions on {manifest.asked:,} images only: a ladder needs all of them")
    with store.transaction():
        ladder = _ladder_of(store, test_set, options)
        digest = store.predictions.manifest(test_set.name, candidate).digest
        entrant = Entrant(candidate, digest, datetime.now(UTC).isoformat(timespec="seconds"))
        result = climb(ladder, entrant, lambda: _discordant(store, test_set, candidate, ladder))
        assert result.ladder is not None
        store.ladders.add(result.ladder, test_set)
    if cluster_column(test_set) is None:
        return result
    return replace(result, notes=(*result.notes, _HOUSEHOLDS_ON_LADDER))


def _ladder_of(store: Store, test_set: TestSet, options: GateOptions) -> Ladder:
    """The stored ladder of a test set, or a new one that begins with the baseline."""
    stored = store.ladders.read(test_set)
    if stored is None:
        if options.baseline is None:
            raise InputError(f"{test_set.name} has no ladder yet: name its first best model with --baseline")
        digest = store.predictions.manifest(test_set.name, options.baseline).digest
        return Ladder(test_set.name, options.baseline, digest, store.config.confidence)
    if options.baseline not in (None, stored.baseline):
        raise InputError(f"the ladder of {test_set.name} began with {stored.baseline}: leave out --baseline")
    return stored


def _discordant(store: Store, test_set: TestSet, candidate: str, ladder: Ladder) -> Discordant:
    """The images that only one of the candidate and the best model has right; effective counts with households."""
    models = (candidate, _model_of(store, test_set.name, ladder))
    scored = scored_predictions(store, test_set, models)
    new, best = (judge_predictions(*pair, None) for pair in scored)
    counted, clusters = new.counted & best.counted, image_clusters(test_set, None)
    right, previous = new.right[counted], best.right[counted]
    effect = 1 if clusters is None else design_effect(right, previous, clusters.numbers[counted])
    return Discordant(
        int((right & ~previous).sum()) / effect, int((previous & ~right).sum()) / effect, int(counted.sum())
    )


def _model_of(store: Store, test_set: str, ladder: Ladder) -> str:
    """The present name of the best model of a ladder, which may have been renamed."""
    names = store.predictions.model_names(test_set)
    for name in sorted(names, key=lambda name: name != ladder.best):
        if store.predictions.manifest(test_set, name).digest == ladder.best_digest:
            return name
    raise InputError(
        f"the predictions of {ladder.best}, the best model of the ladder of {test_set}, are no longer stored: import "
        "them again, or see regrade removed list"
    )


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
