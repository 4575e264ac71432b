"""All estimates in the result of a study, to compare two results or to see that none was left out."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass

import numpy as np

from regrade.core import Estimate


def all_estimates(result):
    """All estimates of a result, in order."""
    if isinstance(result, Estimate):
        return [result]
    if is_dataclass(result):
        return [part for field in fields(result) for part in all_estimates(getattr(result, field.name))]
    if isinstance(result, Mapping):
        return [part for value in result.values() for part in all_estimates(value)]
    return [part for item in result for part in all_estimates(item)] if isinstance(result, tuple | list) else []


def bounds(result):
    """Shape (e, 3): the value and both bounds of each estimate."""
    return np.array([(part.value, part.low, part.high) for part in all_estimates(result)])
