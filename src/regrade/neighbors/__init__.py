"""Neighbors: images that are the same or nearly so, by pixels, structure, perceptual hash or features."""

from regrade.neighbors.collection import Collection
from regrade.neighbors.cuts import default_cut
from regrade.neighbors.engines import Engine
from regrade.neighbors.image_search import WORTH_A_LOOK, image_pairs, unwatched
from regrade.neighbors.nearest import Metric, Nearest, nearest
from regrade.neighbors.perceptual_hash import perceptual_hashes
from regrade.neighbors.pixel_hash import pixel_hash
from regrade.neighbors.scaling import SIZE, block_means, scaled
from regrade.neighbors.search import NEIGHBORS, exact_pairs, feature_pairs, phash_pairs
from regrade.neighbors.signing import THUMBNAIL, Decoded, signatures
from regrade.neighbors.ssim import WINDOW, WindowMoments, dssim, squared_difference, window_moments

__all__ = [
    "NEIGHBORS",
    "SIZE",
    "THUMBNAIL",
    "WINDOW",
    "WORTH_A_LOOK",
    "Collection",
    "Decoded",
    "Engine",
    "Metric",
    "Nearest",
    "WindowMoments",
    "block_means",
    "default_cut",
    "dssim",
    "exact_pairs",
    "feature_pairs",
    "image_pairs",
    "nearest",
    "perceptual_hashes",
    "phash_pairs",
    "pixel_hash",
    "scaled",
    "signatures",
    "squared_difference",
    "unwatched",
    "window_moments",
]
