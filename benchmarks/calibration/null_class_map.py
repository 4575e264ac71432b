"""Null checks of `study class-map`: another map that changes no disparity, or that makes all regions equal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import special

from benchmarks.calibration.checks import null_check
from regrade.core import ClassMap, ClassSpace, MapRule, Predictions, TestSet
from regrade.studies import ClassMapAudit
from regrade.studies.class_map.alternatives import NamedMap
from regrade.studies.class_map.analysis import class_map_audit
from regrade.studies.class_map.model_audit import AuditSetting
from regrade.studies.geography.group_frame import grouping
from regrade.studies.image_clusters import image_clusters

_PREDICTED = ClassSpace("predicted", ("first", "second", "elsewhere", "rare"))
_OWN = ClassSpace("own", ("object",))
_DEPENDS = ("class map: another best or worst group", "class map: another disparity")
_SAME = ("class map: the same best and worst group", "class map: the same best and worst group under every map")


@null_check(*_DEPENDS, case="a second class that is predicted equally often in 4 regions, 200 images each")
def equal_gain(rng: np.random.Generator) -> ClassMapAudit:
    return audited(rng, first=(0.5, 0.55, 0.65, 0.7), second=(0.15,) * 4, images=200)


@null_check(*_DEPENDS, case="a second class that is predicted equally often in 4 regions, households of 4 images")
def equal_gain_in_households(rng: np.random.Generator) -> ClassMapAudit:
    return audited(rng, first=(0.5, 0.55, 0.65, 0.7), second=(0.15,) * 4, images=400, household=4)


@null_check(_DEPENDS[0], *_SAME, case="a second class makes 4 different regions equal, 400 images each")
def made_equal(rng: np.random.Generator) -> ClassMapAudit:
    return audited(rng, first=(0.5, 0.6, 0.7, 0.8), second=(0.35, 0.25, 0.15, 0.05), images=400)


@null_check(_DEPENDS[0], *_SAME, case="a second class makes 3 equal regions different, households of 4 images")
def made_different(rng: np.random.Generator) -> ClassMapAudit:
    return audited(rng, first=(0.5,) * 3, second=(0.1, 0.25, 0.4), images=400, household=4)


def audited(
    rng: np.random.Generator,
    *,
    first: Sequence[float],
    second: Sequence[float],
    images: int,
    household: int = 1,
) -> ClassMapAudit:
    """The audit of a map to the first class, with a second class accepted too, and with a rare third one."""
    region = np.repeat(np.arange(len(first)), images)
    homes = np.arange(len(region)) // household
    hidden = (rng.standard_normal(homes.max() + 1)[homes] + rng.standard_normal(len(homes))) / np.sqrt(2)
    drawn = special.ndtr(hidden if household > 1 else rng.standard_normal(len(homes)))
    lowest = np.array(first)[region]
    classes = np.where(drawn < lowest, 0, np.where(drawn < lowest + np.array(second)[region], 1, 2))
    columns = {"region": tuple(f"region {place}" for place in region)}
    columns |= {"household": tuple(map(str, homes))} if household > 1 else {}
    ids = tuple(map(str, range(len(region))))
    test_set = TestSet("objects", _OWN, ids, np.zeros(len(region), dtype=np.int32), columns)
    setting = AuditSetting(test_set, grouping(test_set, "region"), image_clusters(test_set, None))
    predictions = Predictions("model", "objects", _PREDICTED.name, classes[:, None].astype(np.int32))
    maps = [NamedMap(name, _mapped(*entry)) for name, entry in {"a": (0,), "b": (0, 1), "c": (0, 3)}.items()]
    return class_map_audit([predictions], maps[0], maps[1:2] if len(first) > 3 else maps[1:], setting)


def _mapped(*accepted: int) -> ClassMap:
    return ClassMap(_PREDICTED, _OWN, (accepted,), MapRule.ANY_IN_TOP_K)
