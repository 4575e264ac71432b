"""Sample-size planning: how many images or decisions a claim needs."""

from regrade.studies.plan.accuracy import plan_accuracy
from regrade.studies.plan.groups import GroupContrast, extreme_groups, plan_disparity
from regrade.studies.plan.pairs import (
    Contrast,
    assumed_ranking,
    contrasts_of,
    plan_difference,
    plan_rank,
    plan_ranks_of,
)
from regrade.studies.plan.result import Plan, PlanOptions, PlanRow
from regrade.studies.plan.review import ReviewedPair, plan_review, reviewed_pair

__all__ = [
    "Contrast",
    "GroupContrast",
    "Plan",
    "PlanOptions",
    "PlanRow",
    "ReviewedPair",
    "assumed_ranking",
    "contrasts_of",
    "extreme_groups",
    "plan_accuracy",
    "plan_difference",
    "plan_disparity",
    "plan_rank",
    "plan_ranks_of",
    "plan_review",
    "reviewed_pair",
]
