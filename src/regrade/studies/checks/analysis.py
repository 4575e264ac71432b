"""The methodology checks: what each looks for, why it matters, what to do, and the function that decides it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from regrade.core.test_set import SELECTION_FREQUENCY
from regrade.studies.checks.facts import Evaluation
from regrade.studies.checks.judgments import (
    CLUSTER_COLUMNS,
    MANY_MODELS,
    Judgment,
    best_of_many,
    changed_models,
    chosen_by_models,
    clustered_images,
    different_images,
    empty_classes,
    equal_images,
    fifth_place_ties,
    labels_from_models,
    missing_frequencies,
    numbers_as_text,
    small_slices,
)
from regrade.studies.checks.result import CheckRow, Methodology, MethodologyOutcome
from regrade.studies.scoring import FEWEST_DRAWN


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
        "Name the column: --clusters COLUMN, of grade, compare, gate, plan and the studies (default: household).",
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
