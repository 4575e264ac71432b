"""Neighbours: pictures that are the same or nearly so, by pixels, structure, perceptual hash or features."""

from regrade.neighbours.collection import Collection
from regrade.neighbours.cuts import default_cut
from regrade.neighbours.engines import Engine
from regrade.neighbours.nearest import Metric, Nearest, nearest
from regrade.neighbours.perceptual_hash import perceptual_hashes
from regrade.neighbours.picture_search import WORTH_A_LOOK, picture_pairs, unwatched
from regrade.neighbours.pixel_hash import pixel_hash
from regrade.neighbours.scaling import SIZE, block_means, scaled
from regrade.neighbours.search import NEIGHBOURS, exact_pairs, feature_pairs, phash_pairs
from regrade.neighbours.signing import THUMBNAIL, Decoded, signatures
from regrade.neighbours.ssim import WINDOW, WindowMoments, dssim, squared_difference, window_moments

__all__ = [
    "NEIGHBOURS",
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
    "nearest",
    "perceptual_hashes",
    "phash_pairs",
    "picture_pairs",
    "pixel_hash",
    "scaled",
    "signatures",
    "squared_difference",
    "unwatched",
    "window_moments",
]
