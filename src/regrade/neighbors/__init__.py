"""Neighbors: images that are the same or nearly so, by pixels, structure, perceptual hash or features."""

from regrade.neighbors.collection import Collection
from regrade.neighbors.engines import NeighborEngine
from regrade.neighbors.image_search import WORTH_A_LOOK, image_pairs, unwatched
from regrade.neighbors.nearest import Metric, Nearest, nearest
from regrade.neighbors.perceptual_hash import perceptual_hashes
from regrade.neighbors.pixel_hash import pixel_hash
from regrade.neighbors.scaling import SIZE, block_means, scaled
from regrade.neighbors.search import NEIGHBORS, exact_pairs, feature_pairs, phash_pairs
from regrade.neighbors.signature_making import THUMBNAIL, Decoded, signatures
from regrade.neighbors.ssim import WINDOW, WindowMoments, dssim, squared_difference, window_moments
from regrade.neighbors.thresholds import default_cut

__all__ = [
    "NEIGHBORS",
    "SIZE",
    "THUMBNAIL",
    "WINDOW",
    "WORTH_A_LOOK",
    "Collection",
    "Decoded",
    "Metric",
    "Nearest",
    "NeighborEngine",
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
