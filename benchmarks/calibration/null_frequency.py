"""Null checks of `study frequency`: frequencies without a relation to accuracy, and sets without a change."""

from __future__ import annotations

import numpy as np

from benchmarks.calibration.checks import null_check
from benchmarks.calibration.worlds import correct_predictions, model_names
from regrade.core.arrays import FloatArray
from regrade.core.frequency_bins import EDGES, bin_names, frequency_bins
from regrade.studies import Frequency
from regrade.studies.frequency.analysis import FrequencySet, frequency_study
from regrade.studies.frequency.column import ImageFrequencies

_RISES = "frequency: accuracy rises or falls with frequency"
_CHANGE = "frequency: change at equal frequency"


@null_check(_RISES, case="frequencies at random, 10 models, 300 images")
def frequencies_at_random(rng: np.random.Generator) -> Frequency:
    return studied([_unrelated(rng, 300)])


@null_check(_RISES, case="frequencies at random, 2 images in the lowest bin, 1,000 in all")
def few_images_in_a_bin(rng: np.random.Generator) -> Frequency:
    part = _unrelated(rng, 1_000)
    part[1][:] = np.r_[0.1, 0.1, rng.uniform(0.8, 1, 998)]
    return studied([part])


@null_check(_CHANGE, case="a new set with lower frequencies, 10 models, 500 images of each")
def other_composition(rng: np.random.Generator) -> Frequency:
    return studied([_related(rng, 500, 5.0), _related(rng, 500, 2.0)])


@null_check(_CHANGE, case="3 new sets with lower frequencies, 10 models, 200 images of each")
def many_sets(rng: np.random.Generator) -> Frequency:
    return studied([_related(rng, 200, 5.0), *(_related(rng, 200, tilt) for tilt in (1.0, 2.0, 3.0))])


_Part = tuple[np.ndarray, FloatArray]


def _unrelated(rng: np.random.Generator, images: int) -> _Part:
    return correct_predictions(rng, rng.uniform(0.6, 0.9, 10), images=images), rng.beta(3, 1, images)


def _related(rng: np.random.Generator, images: int, tilt: float) -> _Part:
    """Accuracies that depend on the bin of the frequency alone; errors on an image are common to many models."""
    frequencies = rng.beta(tilt, 1, images)
    chances = 0.4 + 0.1 * np.array(frequency_bins(frequencies.tolist()))
    easy = rng.random(images) < chances
    return np.where(rng.random((10, images)) < 0.2, rng.random((10, images)) < chances, easy), frequencies


def studied(parts: list[_Part]) -> Frequency:
    sets = [
        FrequencySet(
            f"set {number}",
            right,
            np.ones(right.shape, dtype=bool),
            ImageFrequencies(tuple(bin_names(EDGES)), np.array(frequency_bins(frequencies.tolist()))),
        )
        for number, (right, frequencies) in enumerate(parts)
    ]
    return frequency_study(sets, model_names(10), EDGES)
