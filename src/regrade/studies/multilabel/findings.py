"""Findings of a study of multi-label accuracy: the median change from top-1, and images with several right labels."""

from __future__ import annotations

from regrade.core import Estimate
from regrade.core.amounts import amount
from regrade.display.finding import Finding, claim, no_claim
from regrade.display.wording import plain, points, share
from regrade.studies.multilabel.result import Multilabel

_TEST = "Interval of the median change over models, on other images, compared with 0."
_CHANGES = claim("multilabel: median accuracy differs from top-1", _TEST)
_NO_CHANGE = no_claim("multilabel: no median change from top-1 is detected", _TEST)
_IMAGES = no_claim("multilabel: share of images with several right labels")


def multilabel_findings(result: Multilabel) -> tuple[Finding, ...]:
    """The median changes from top-1 and top-5, and how many images have several right labels."""
    return (_change(result), _several(result))


def _change(result: Multilabel) -> Finding:
    models = amount(len(result.rows), "model")
    text = f"The median change of {models} from top-1 to multi-label accuracy is {points(result.change)}"
    if result.top5_change:
        of = "" if result.with_top5 == len(result.rows) else f", over the {result.with_top5:,} that have top-5"
        text += f"; from top-5 it is {points(result.top5_change)}{of}"
    text += "."
    if not _excludes_zero(result.change):
        headline = f"No median difference between multi-label and top-1 accuracy detected on {result.title}"
        return Finding(_NO_CHANGE, headline, text, 0.35)
    direction = "higher" if result.change.value > 0 else "lower"
    headline = f"Multi-label accuracy is {direction} than top-1 accuracy in the median of {models} on {result.title}"
    return Finding(_CHANGES, headline, text, 0.5)


def _several(result: Multilabel) -> Finding:
    each = f", {plain(result.labels_each)} on average" if result.labels_each else ""
    text = f"{share(result.several)} of {result.scored:,} scored images have several right labels{each}."
    if len(result.kinds) > 1:
        kinds = [f"{row.kind.value} {share(row.share)}" for row in result.kinds]
        text += f" By an automatic rule from the classes: {'; '.join(kinds)}."
    return Finding(_IMAGES, f"{100 * result.several.value:.1f}% of the images have several right labels", text, 0.35)


def _excludes_zero(estimate: Estimate) -> bool:
    return estimate.low > 0 or estimate.high < 0
