"""Published accuracies, to detect a model that is not run as its authors ran it."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from regrade.core import Estimate, FormatError, InputError
from regrade.core.errors import not_utf8

TOLERANCE = 0.005
"""How far outside the interval a published accuracy may lie: half a point, for differences of decoders and resizers."""


@dataclass(frozen=True)
class PublishedAccuracies:
    """Published top-1 accuracies on one test set, between 0 and 1, by model name.

    A model that was published at several input sizes has one value for each.
    """

    test_set: str
    source: str
    top1: Mapping[str, tuple[float, ...]]


LITE_PUBLISHED = PublishedAccuracies(
    "imagenet-val",
    "github.com/tensorflow/tpu, models/official/efficientnet/lite/README.md",
    {"lite:efficientnet_lite0": (0.751,), "lite:efficientnet_lite1": (0.767,), "lite:efficientnet_lite2": (0.776,)},
)
"""The fp32 accuracies that the authors of the ``lite:`` models publish."""


def read_published_accuracies(path: str | Path, *, test_set: str, prefix: str = "timm") -> PublishedAccuracies:
    """Read a CSV file in the format of timm's results: columns ``model`` and ``top1``, the latter in percent.

    Models are named ``prefix:model``, or ``model`` if the prefix is empty.
    """
    path = Path(path)
    full_prefix = f"{prefix}:" if prefix else ""
    top1: dict[str, tuple[float, ...]] = {}
    try:
        rows = csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig"), newline=""))
        for row in rows:
            name, value = _accuracy(row, rows.line_num)
            top1[full_prefix + name] = (*top1.get(full_prefix + name, ()), value)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise FormatError(f"{path} {not_utf8(error)}") from None
    except csv.Error:
        raise FormatError(
            f"{path}: line {rows.line_num} is not valid CSV: a cell is too long, or a quote is missing"
        ) from None
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from error
    if not top1:
        raise FormatError(f"{path}: has no rows; expected the columns model and top1")
    return PublishedAccuracies(test_set, path.name, top1)


def published_warning(name: str, accuracy: Estimate, published_accuracies: PublishedAccuracies) -> str:
    """A warning if no published accuracy lies within the interval widened by `TOLERANCE`, else the empty string.

    A model without a published accuracy gives no warning.
    """
    published = published_accuracies.top1.get(name, ())
    if not published or any(accuracy.low - TOLERANCE <= value <= accuracy.high + TOLERANCE for value in published):
        return ""
    values = " or ".join(f"{100 * value:.1f}" for value in published)
    return (
        f"{name}: top-1 on {published_accuracies.test_set} is {accuracy}, published is {values} "
        f"({published_accuracies.source}): check preprocessing, class order and labels"
    )


def _accuracy(row: dict[str | None, str | None], line: int) -> tuple[str, float]:
    name, text = row.get("model"), row.get("top1")
    if not name or text is None:
        raise FormatError(f"line {line} has no model or no top1; the first line must name both columns")
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 100:
        raise FormatError(f"line {line}: top1 is {text!r}, expected percent from 0 to 100")
    return name, value / 100
