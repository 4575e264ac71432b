"""Study of geography: how accuracy and progress vary by region, country or income (Richards et al. 2023)."""

from regrade.studies.geography.grouping import Grouping, grouping
from regrade.studies.geography.growth import DisparityGrowth, GrowthVerdict
from regrade.studies.geography.progress import BenchmarkKind, Progress, ProgressGap, ProgressRate
from regrade.studies.geography.result import Disparity, Geography, GeographyPart, GroupSize, ModelByGroup
from regrade.studies.geography.study import geography

__all__ = [
    "BenchmarkKind",
    "Disparity",
    "DisparityGrowth",
    "Geography",
    "GeographyPart",
    "GroupSize",
    "Grouping",
    "GrowthVerdict",
    "ModelByGroup",
    "Progress",
    "ProgressGap",
    "ProgressRate",
    "geography",
    "grouping",
]
