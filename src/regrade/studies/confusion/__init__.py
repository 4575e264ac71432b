"""Study of confusion: which images confuse an ensemble, and are they hard for other models (Albiero et al. 2023)."""

from regrade.studies.confusion.agreement_line import agreement_lines
from regrade.studies.confusion.distribution import Distribution, ScoreBins, distribution
from regrade.studies.confusion.error_curve import ErrorCurve, ScoreBin, error_curve
from regrade.studies.confusion.expected_error import ExpectedError
from regrade.studies.confusion.graded_models import GradedModel
from regrade.studies.confusion.hard_set import HardRule, HardSet, hard_set
from regrade.studies.confusion.reduced_checkpoints import (
    STRIDES,
    RankAgreement,
    ReducedCheckpoints,
    fewer_checkpoints,
    rank_agreements,
)
from regrade.studies.confusion.result import ConfusedModel, Confusion, ConfusionPart, ScoredEnsemble, UnlabeledSet
from regrade.studies.confusion.study import BIN_WIDTH, confusion
from regrade.studies.confusion.transfer import Transfer, ranking_holds, transfer
from regrade.studies.confusion.unlabeled import UnlabeledInputs

__all__ = [
    "BIN_WIDTH",
    "STRIDES",
    "ConfusedModel",
    "Confusion",
    "ConfusionPart",
    "Distribution",
    "ErrorCurve",
    "ExpectedError",
    "GradedModel",
    "HardRule",
    "HardSet",
    "RankAgreement",
    "ReducedCheckpoints",
    "ScoreBin",
    "ScoreBins",
    "ScoredEnsemble",
    "Transfer",
    "UnlabeledInputs",
    "UnlabeledSet",
    "agreement_lines",
    "confusion",
    "distribution",
    "error_curve",
    "fewer_checkpoints",
    "hard_set",
    "rank_agreements",
    "ranking_holds",
    "transfer",
]
