"""The figures that Richards et al. 2023 print, as far as they could be checked."""

from __future__ import annotations

PROGRESS_RATIO = 2.5
"""How many times as fast progress on standard test sets is as on geographic ones."""

TIMES_DISPARITY = 3.0
"""How many times the weakest models' disparity that of the best is, at the least."""

CLIP_DISPARITIES = (7.0, 20.0)
"""The least and the largest disparity of CLIP models, in points."""

RETRAINING = {"GeoDE": (11.5, -3.2), "Dollar Street": (53.4, -11.7)}
"""What retraining the last layer on Dollar Street changes, in points: accuracy, and disparity."""

LEAST_REDUCTION = 2 / 3
"""By what share retraining reduces disparity, at the least."""

GEODE = {
    "Africa": 2_049, "Europe": 1_885, "SouthEastAsia": 1_743, "Americas": 1_611, "EastAsia": 1_586, "WestAsia": 1_459,
}  # fmt: skip
"""The images of each region in the released list of GeoDE with ImageNet classes."""

GEODE_IMAGES, GEODE_OBJECTS, GEODE_REGIONS = 10_333, 34, 6
"""The images, the mapped objects and the regions of that list."""

DOLLAR_STREET_COUNTRIES = 54
"""The countries of Dollar Street; a summary of the paper calls them regions."""
