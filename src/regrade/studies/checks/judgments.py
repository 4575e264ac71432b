"""What each methodology check finds: one function per check, from the facts of an evaluation to a judgment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np

from regrade.core.amounts import amount
from regrade.core.test_set import SELECTION_FREQUENCY
from regrade.display.wording import listed
from regrade.stats import fisher_exact
from regrade.studies.checks.facts import Evaluation, LabelFacts, ModelFacts, SetFacts
from regrade.studies.checks.result import MethodologyOutcome
from regrade.studies.scoring import FEWEST_DRAWN

MANY_MODELS = 10
"""From so many models on one test set, the best of them is noticeably selected for its luck."""

CLUSTER_COLUMNS = ("household", "photographer", "patient", "person", "subject", "user", "video", "session")
"""Group columns whose values mark images that belong together."""

_LEVEL = 0.05  # of the test of judged shares, for all pairs of models and all label sets together
_TOP = 5  # places of top-5
_NAMED = 3  # items named in a sentence


@dataclass(frozen=True)
class Judgment:
    """An outcome with the sentence that explains it."""

    outcome: MethodologyOutcome
    detail: str


def _decided(signs: Sequence[str], *, passed: str, applies: bool, otherwise: str) -> Judgment:
    """FOUND with the signs, NOT_APPLICABLE with a reason if the check does not apply, or PASSED."""
    if not applies:
        return Judgment(MethodologyOutcome.NOT_APPLICABLE, otherwise)
    if not signs:
        return Judgment(MethodologyOutcome.PASSED, passed)
    more = len(signs) - _NAMED
    return Judgment(MethodologyOutcome.FOUND, "; ".join([*signs[:_NAMED], *([f"and {more} more"] if more > 0 else [])]))


def _named(names: Iterable[str]) -> str:
    """The first of some names, with the number of the others."""
    every = list(names)
    more = len(every) - _NAMED
    return listed([*every[:_NAMED], *([f"{more} more"] if more > 0 else [])]) if every else ""


def labels_from_models(evaluation: Evaluation) -> Judgment:
    """RG001: in a label set, the predictions of some models were judged more often than those of others."""
    judged = [labels for facts in evaluation.sets for labels in facts.labels if _comparable_models(labels)]
    every = [labels for facts in evaluation.sets for labels in facts.labels]
    complete = [labels.name for labels in every if labels.complete]
    reason = (
        f"the lists of {_named(complete)} are complete: what people were shown is not recorded"
        if complete
        else "no label set has judged predictions of two models"
    )
    return _decided(
        [sign for labels in judged if (sign := _judged_apart(labels, _LEVEL / len(judged)))],
        passed="; ".join(map(_judged_alike, judged)),
        applies=bool(judged),
        otherwise=reason,
    )


def _comparable_models(labels: LabelFacts) -> bool:
    """Whether predictions were judged, and two models have predictions to judge."""
    judged = labels.sampled or sum(labels.judged.values()) > 0
    return judged and not labels.complete and sum(map(bool, labels.to_judge.values())) > 1


def _judged_apart(labels: LabelFacts, level: float) -> str:
    """The two models whose shares of judged predictions differ most clearly; empty if no pair differs."""
    models = [] if labels.sampled else [model for model, count in labels.to_judge.items() if count]
    if not models:
        return ""
    pairs = list(combinations(models, 2))
    tests = {pair: _judged_test(labels, *pair) for pair in pairs}
    pair = min(pairs, key=lambda candidate: tests[candidate])
    if tests[pair] * len(pairs) > level:
        return ""
    more, fewer = sorted(pair, key=lambda model: -labels.judged[model] / labels.to_judge[model])
    return (
        f"{labels.name}: {_judged_share(labels, more)} were judged, and {_judged_share(labels, fewer)}; counted are "
        "predictions other than the original label"
    )


def _judged_share(labels: LabelFacts, model: str) -> str:
    return f"{labels.judged[model]:,} of {amount(labels.to_judge[model], 'prediction')} of {model}"


def _judged_alike(labels: LabelFacts) -> str:
    if labels.sampled:
        return f"{labels.name}: a random sample of the predictions that no one had judged was reviewed"
    return f"{labels.name}: no difference detected in how often predictions of different models were judged"


def _judged_test(labels: LabelFacts, first: str, second: str) -> float:
    return fisher_exact(labels.judged[first], labels.to_judge[first], labels.judged[second], labels.to_judge[second])


def missing_frequencies(evaluation: Evaluation) -> Judgment:
    """RG002: a new set or its original has no selection frequencies."""
    sets = {name: evaluation.set_named(name) for name in (evaluation.original, *evaluation.new)}
    without = [name for name, facts in sets.items() if SELECTION_FREQUENCY not in facts.test_set.group_columns]
    return _decided(
        [f"{_named(evaluation.new)} compared with {evaluation.original}: no {SELECTION_FREQUENCY} of {_named(without)}"]
        if without
        else [],
        passed=f"{_named(sets)} have the column {SELECTION_FREQUENCY}",
        applies=bool(evaluation.new),
        otherwise=f"no new test set is compared with {evaluation.original}",
    )


def chosen_by_models(evaluation: Evaluation) -> Judgment:
    """RG003: graded images were chosen because a graded model fails on them."""
    added = [(facts, slices) for facts in evaluation.sets for slices in facts.test_set.slice_sets]
    slices = [(facts, chosen) for facts, chosen in added if chosen.chosen_hard]
    graded = {model.name for facts in evaluation.sets for model in facts.models}
    signs = []
    for facts, chosen in slices:
        responsible = sorted(graded & set(chosen.chosen_by))
        if responsible:
            signs.append(f"{chosen.name} of {facts.name} was chosen by {_named(responsible)}, graded here too")
        elif not chosen.chosen_by:
            signs.append(f"{chosen.name} of {facts.name} was chosen to be hard, and it is not recorded by which models")
    return _decided(
        signs,
        passed=f"{_named(chosen.name for _, chosen in slices)}: chosen by models that are not graded here",
        applies=bool(slices),
        otherwise="no slice is marked as chosen because models fail on it",
    )


def equal_images(evaluation: Evaluation) -> Judgment:
    """RG004: images are in another set too, or twice in the same set."""
    signs = [
        f"{pair.test_set} has {amount(pair.equal, 'repeated image')}"
        if pair.test_set == pair.against
        else f"{pair.test_set} has {amount(pair.equal, 'image')} of {pair.against}"
        for pair in sorted(evaluation.compared, key=lambda pair: -pair.equal)
        if pair.equal
    ]
    names = dict.fromkeys(pair.test_set for pair in evaluation.compared)
    return _decided(
        signs,
        passed=f"no equal pixels in {amount(len(evaluation.compared), 'comparison')} of {_named(names)}",
        applies=bool(evaluation.compared),
        otherwise="images have not been compared: regrade study leakage",
    )


def fifth_place_ties(evaluation: Evaluation) -> Judgment:
    """RG005: classes tie across the fifth place."""
    stored = [
        (facts, model)
        for facts in evaluation.sets
        if len(facts.test_set.class_space) > _TOP
        for model in facts.models
        if model.tied is not None
    ]
    tied = sorted((entry for entry in stored if entry[1].tied), key=lambda entry: -(entry[1].tied or 0))
    return _decided(
        [f"{model.name} has ties on {model.tied:,} of {amount(model.images, 'image')} of {facts.name}"
         for facts, model in tied],
        passed=f"no ties across the fifth place in {amount(len(stored), 'prediction set')}",
        applies=bool(stored),
        otherwise="no model has five stored classes of more than five",
    )  # fmt: skip


def small_slices(evaluation: Evaluation) -> Judgment:
    """RG006: slices have few labeled images."""
    sliced = [facts for facts in evaluation.sets if facts.slices]
    small = [(facts.name, name, size) for facts in sliced for name, size in facts.slices.items() if size < FEWEST_DRAWN]
    return _decided(
        [f"{name} of {test_set} has {amount(size, 'labeled image')}" for test_set, name, size in small],
        passed=f"every slice of {_named(facts.name for facts in sliced)} has at least {FEWEST_DRAWN} labeled images",
        applies=bool(sliced),
        otherwise="no test set has slices or group columns with few values",
    )


def empty_classes(evaluation: Evaluation) -> Judgment:
    """RG007: classes that models can predict have no labeled image."""
    labeled = [facts for facts in evaluation.sets if facts.test_set.labeled.any()]
    signs = []
    for facts in labeled:
        classes, empty = len(facts.test_set.class_space), _empty_classes(facts)
        if empty:
            signs.append(f"{facts.name} has no labeled image of {empty:,} of its {amount(classes, 'class', 'classes')}")
    return _decided(
        signs,
        passed=f"every class of {_named(facts.name for facts in labeled)} has a labeled image",
        applies=bool(labeled),
        otherwise="no test set has labels",
    )


def _empty_classes(facts: SetFacts) -> int:
    labels = facts.test_set.labels[facts.test_set.labeled]
    return len(facts.test_set.class_space) - len(np.unique(labels))


def clustered_images(evaluation: Evaluation) -> Judgment:
    """RG008: several images come from one household, photographer or patient."""
    columns = [
        (facts, column, Counter(facts.test_set.group_columns[column]))
        for facts in evaluation.sets
        for column in CLUSTER_COLUMNS
        if column in facts.test_set.group_columns
    ]
    return _decided(
        [f"the {amount(len(facts.test_set), 'image')} of {facts.name} come from {len(values):,} values of {column}"
         for facts, column, values in columns if len(values) < len(facts.test_set)],
        passed=f"every image has its own {_named(column for _, column, _ in columns)}",
        applies=bool(columns),
        otherwise="no test set has a column such as household, photographer or patient",
    )  # fmt: skip


def best_of_many(evaluation: Evaluation) -> Judgment:
    """RG009: many models are ranked on one set, and most of them on no other images."""
    crowded = [facts for facts in evaluation.sets if len(facts.models) >= MANY_MODELS]
    alone = [facts for facts in crowded if not any(_confirms(evaluation, facts, second) for second in evaluation.sets)]
    return _decided(
        [f"{amount(len(facts.models), 'model')} are ranked on {facts.name}, and most of them on no other images"
         for facts in alone],
        passed=f"most models of {_named(facts.name for facts in crowded)} are graded on other images too",
        applies=bool(crowded),
        otherwise=f"no test set has {MANY_MODELS} models or more",
    )  # fmt: skip


def _confirms(evaluation: Evaluation, facts: SetFacts, second: SetFacts) -> bool:
    """Whether most models of a set are graded on a second set of other images."""
    if facts is second or frozenset((facts.name, second.name)) in evaluation.overlapping:
        return False
    common = {model.name for model in facts.models} & {model.name for model in second.models}
    return 2 * len(common) > len(facts.models)


def numbers_as_text(evaluation: Evaluation) -> Judgment:
    """RG010: classes that are named by numbers are in the order of text."""
    numbered = {facts.name: ids for facts in evaluation.sets if all(map(str.isdecimal, ids := _class_ids(facts)))}
    as_text = [name for name, ids in numbered.items() if _is_sorted(ids) and not _is_sorted([int(i) for i in ids])]
    return _decided(
        [f"the classes of {name} are in the order {', '.join(numbered[name][:4])} ..." for name in as_text],
        passed=f"the classes of {_named(numbered)} are not sorted as text",
        applies=bool(numbered),
        otherwise="no test set has classes that are named by numbers",
    )


def _class_ids(facts: SetFacts) -> tuple[str, ...]:
    return facts.test_set.class_space.ids


def _is_sorted(ids: Sequence[str] | Sequence[int]) -> bool:
    return all(first < second for first, second in pairwise(ids))  # type: ignore[operator]


def changed_models(evaluation: Evaluation) -> Judgment:
    """RG011: a model had other weights or another preprocessing on another test set."""
    recorded: dict[str, dict[str, ModelFacts]] = {}
    for facts in evaluation.sets:
        for model in facts.models:
            if model.weights or model.preprocessing:
                recorded.setdefault(model.name, {})[facts.name] = model
    repeated = {name: runs for name, runs in recorded.items() if len(runs) > 1}
    return _decided(
        [sign for name, runs in repeated.items() if (sign := _change(name, runs))],
        passed=f"{amount(len(repeated), 'model')} had the same recorded weights and preprocessing on every test set",
        applies=bool(repeated),
        otherwise="no model has a recorded preprocessing or weights on two test sets",
    )


def _change(model: str, runs: Mapping[str, ModelFacts]) -> str:
    """The first two sets on which a recorded setting of a model differs; empty if there are none."""
    for (first, run), (second, rerun) in combinations(runs.items(), 2):
        for what, before, after in (
            ("other weights", run.weights, rerun.weights),
            ("another preprocessing", run.preprocessing, rerun.preprocessing),
        ):
            if before and after and before != after:
                return f"{model} had {what} on {second} than on {first}"
    return ""


def different_images(evaluation: Evaluation) -> Judgment:
    """RG012: a model has predictions for a part of the images only."""
    compared = [facts for facts in evaluation.sets if len(facts.models) > 1]
    signs = []
    for facts in compared:
        size = len(facts.test_set)
        partial = [model for model in facts.models if model.images < size]
        signs += [f"{model.name} has {model.images:,} of {amount(size, 'image')} of {facts.name}" for model in partial]
    return _decided(
        signs,
        passed=f"all models have predictions for all images of {_named(facts.name for facts in compared)}",
        applies=bool(compared),
        otherwise="no test set has two models",
    )
