"""Neighbors: near and exact duplicates among images, by pixels, structure, perceptual hash or features."""

from regrade.neighbors.confirmation import (
    CONFIRMED_DIFFERENCE,
    CONFIRMED_SMALL_DIFFERENCE,
    TINY_SIDE,
    Decoder,
    relative_difference,
    with_confirmation,
)
from regrade.neighbors.engines import NeighborEngine
from regrade.neighbors.image_search import (
    PHASH_CANDIDATE_BITS,
    WINDOW,
    ImageCollection,
    WindowMoments,
    dssim,
    image_pairs,
    no_progress,
    squared_difference,
    window_moments,
)
from regrade.neighbors.nearest import Metric, Nearest, nearest
from regrade.neighbors.search import NEIGHBORS, default_threshold, exact_pairs, feature_pairs, phash_pairs
from regrade.neighbors.signatures import (
    SIZE,
    SMALL_SIDE,
    THUMBNAIL,
    Decoded,
    block_means,
    compute_signatures,
    perceptual_hashes,
    pixel_hash,
    scaled,
)

__all__ = [
    "CONFIRMED_DIFFERENCE",
    "CONFIRMED_SMALL_DIFFERENCE",
    "NEIGHBORS",
    "PHASH_CANDIDATE_BITS",
    "SIZE",
    "SMALL_SIDE",
    "THUMBNAIL",
    "TINY_SIDE",
    "WINDOW",
    "Decoded",
    "Decoder",
    "ImageCollection",
    "Metric",
    "Nearest",
    "NeighborEngine",
    "WindowMoments",
    "block_means",
    "compute_signatures",
    "default_threshold",
    "dssim",
    "exact_pairs",
    "feature_pairs",
    "image_pairs",
    "nearest",
    "no_progress",
    "perceptual_hashes",
    "phash_pairs",
    "pixel_hash",
    "relative_difference",
    "scaled",
    "squared_difference",
    "window_moments",
    "with_confirmation",
]
