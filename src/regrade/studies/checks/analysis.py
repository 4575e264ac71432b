"""The methodology checks: what each looks for, why it matters, what to do, and the function that decides it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np

from regrade.core.amounts import amount
from regrade.core.test_set import SELECTION_FREQUENCY
from regrade.display.wording import listed
from regrade.stats import fisher_exact
from regrade.studies.checks.facts import Evaluation, LabelFacts, ModelFacts, SetFacts
from regrade.studies.checks.result import CheckRow, Methodology, MethodologyOutcome
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


@dataclass(frozen=True)
class Check:
    """A numbered check: what it looks for, why it matters, what to do, and where it is explained in pitfalls.md."""

    code: str
    title: str
    looks_for: str
    why: str
    advice: str
    anchor: str
    judge: Callable[[Evaluation], Judgment]

    @property
    def section(self) -> str:
        """The section of the documentation that explains it."""
        return f"pitfalls.md#{self.anchor}"


def check_methodology(evaluation: Evaluation) -> Methodology:
    """Run every check; those that were found come first, then those that passed, each in the order of their codes."""
    order = {outcome: place for place, outcome in enumerate(MethodologyOutcome)}
    rows = (_row(check, check.judge(evaluation)) for check in CHECKS)
    names = tuple(facts.name for facts in evaluation.sets)
    return Methodology(names, tuple(sorted(rows, key=lambda row: order[row.outcome])))


def _row(check: Check, judgment: Judgment) -> CheckRow:
    return CheckRow(
        check.code, judgment.outcome, check.title, judgment.detail, check.why, check.advice, check.section
    )  # fmt: skip


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


CHECKS = (
    Check(
        "RG001", "labels made from the graded models",
        "Predictions of some models were judged more often than those of others (Fisher's exact test, "
        "Bonferroni-corrected for all pairs of models of a label set).",
        "Errors of the judged models are forgiven, those of the others are not.",
        "Judge a random sample of the predictions of all models: regrade labels novel.",
        "labels-that-come-from-the-graded-models", labels_from_models,
    ),
    Check(
        "RG002", "new test set without selection frequencies",
        f"A new test set or the original has no column {SELECTION_FREQUENCY}.",
        "A drop cannot be separated from harder images.",
        "Measure selection frequencies of both sets (regrade build), or call the drop one of accuracy only.",
        "a-new-test-set-with-easier-or-harder-images", missing_frequencies,
    ),
    Check(
        "RG003", "images chosen by a graded model",
        "A slice was chosen because models fail on it, and a graded model took part, or it is not recorded which did.",
        "A model looks worse on images that were chosen by its own errors.",
        "Compare only models that took no part in choosing the images.",
        "slices-chosen-after-looking", chosen_by_models,
    ),
    Check(
        "RG004", "images in two sets, or twice in one",
        "Images whose decoded pixels are equal, in sets that were compared before.",
        "Images seen in training are easier, and repeated ones count several times.",
        "See the accuracy without them: regrade study leakage --show models.",
        "near-duplicates-in-the-training-set", equal_images,
    ),
    Check(
        "RG005", "ties across the fifth place",
        "Images on which the fifth and the sixth class have equal scores.",
        "Top-5 accuracy then is that expected under random ties, not that of a ranking.",
        "Store scores before rounding, or report top-1 only.",
        "ties-across-the-fifth-place", fifth_place_ties,
    ),
    Check(
        "RG006", "slices with few images",
        f"Slices of the report with fewer than {FEWEST_DRAWN} labeled images.",
        "Their intervals are too wide to compare slices.",
        "Join small slices, or add images to them.",
        "slices-with-few-images", small_slices,
    ),
    Check(
        "RG007", "classes without images",
        "Classes of the class space without a labeled image in the test set.",
        "Predictions of these classes are always wrong, and macro averages leave them out.",
        "Restrict predictions to the classes of the set: regrade grade --within.",
        "classes-without-images", empty_classes,
    ),
    Check(
        "RG008", "images that belong together",
        f"Group columns ({', '.join(CLUSTER_COLUMNS)}) with several images per value.",
        "Accuracies treat images as independent: their intervals are too short.",
        "Name the column: regrade grade --clusters COLUMN, and compare, gate, study geography (default: household).",
        "images-that-belong-together", clustered_images,
    ),
    Check(
        "RG009", "best of many models on one set",
        f"{MANY_MODELS} models or more are ranked on a set, and most of them on no other images.",
        "The best model was selected for its luck too.",
        "Confirm the best models on a second set; say how many you tried.",
        "the-best-of-many-models", best_of_many,
    ),
    Check(
        "RG010", "numbers in the order of text",
        "Classes named by numbers are in the order 0, 1, 10, 11, 2.",
        "A model that was trained in the order of numbers gets nearly all images wrong.",
        "Import class names or ids instead of indices, or check with --dry-run.",
        "classes-by-the-order-of-folders", numbers_as_text,
    ),
    Check(
        "RG011", "another model under the same name",
        "A model had other recorded weights or another preprocessing on another test set.",
        "A difference between test sets may be one between models.",
        "Predict both test sets again in the same way: regrade predict.",
        "another-model-under-the-same-name", changed_models,
    ),
    Check(
        "RG012", "models graded on different images",
        "A model has predictions for a part of the images, next to another model on the same set.",
        "A model without the hardest images looks better.",
        "Import the missing predictions, or compare on a slice that all models have.",
        "models-graded-on-different-images", different_images,
    ),
)  # fmt: skip
"""Every check, by its code; codes are never used again for another check."""
