"""What the images of a row of a grade are worth if they come in clusters, for the best of several models and tests."""

from __future__ import annotations

from dataclasses import dataclass

from regrade.core import Estimate
from regrade.core.arrays import BoolArray
from regrade.stats import EffectiveImages, effective_images, share_design_effect
from regrade.studies.image_clusters import ImageClusters, share_of


@dataclass(frozen=True)
class SliceDependence:
    """The design effect of the top-1 accuracy on a slice.

    ``rest`` is the accuracy on the images outside of it and ``rest_effect`` its design effect, if they were requested
    and there are any.
    """

    effect: float
    rest: Estimate | None = None
    rest_effect: float = 1.0


def images_worth(right: BoolArray, counted: BoolArray, clusters: ImageClusters | None) -> EffectiveImages | None:
    """What the images that count (n,) are worth to an accuracy; None without clusters or without images."""
    if clusters is None or not counted.any():
        return None
    numbers = clusters.numbers[counted]
    if (numbers == numbers[0]).all():
        return EffectiveImages(float(len(numbers)), 1)
    return effective_images(right[counted], numbers)


def slice_dependence(
    right: BoolArray, inside: BoolArray, clusters: ImageClusters | None, *, rest: BoolArray | None, confidence: float
) -> SliceDependence | None:
    """How images ``inside`` (n,) a slice, and those of the ``rest`` (n,), depend on each other; None without clusters.

    So it is None without an image inside.
    """
    if clusters is None or not inside.any():
        return None
    effect = share_design_effect(right[inside], clusters.numbers[inside])
    if rest is None or not rest.any():
        return SliceDependence(effect)
    return SliceDependence(
        effect,
        share_of(right, rest, clusters, confidence=confidence),
        share_design_effect(right[rest], clusters.numbers[rest]),
    )
