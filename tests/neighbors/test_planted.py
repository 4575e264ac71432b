"""Planted near duplicates among photographs and textures: recall and precision of each distance, as in the docs."""

from pathlib import Path

import numpy as np
import pytest
from planted import CHANGES, photographs, textures

from regrade.core import Distance
from regrade.neighbors import (
    ImageCollection,
    compute_signatures,
    default_threshold,
    exact_pairs,
    image_pairs,
    phash_pairs,
)

PAGE = Path(__file__).parents[2] / "docs" / "neighbors.md"
DISTANCES = (Distance.EXACT, Distance.PIXELS, Distance.DSSIM, Distance.PHASH)


def collection(images):
    return ImageCollection(compute_signatures(images), images.__getitem__)


@pytest.fixture(scope="module")
def results():
    """Every change of every image compared with all images: recall per change, precision per distance."""
    originals = [*photographs(), *textures(20)]
    references = collection(originals)
    recall, right, wrong = {}, dict.fromkeys(DISTANCES, 0), dict.fromkeys(DISTANCES, 0)
    for name, change in CHANGES.items():
        changed = collection([np.ascontiguousarray(change(image)) for image in originals])
        thresholds = {distance: default_threshold(distance) for distance in (Distance.PIXELS, Distance.DSSIM)}
        pairs = [
            exact_pairs(changed.signatures, references.signatures),
            *image_pairs(changed, references, thresholds=thresholds),
            phash_pairs(changed.signatures, references.signatures, threshold=default_threshold(Distance.PHASH)),
        ]
        for near in pairs:
            same = near.first == near.second
            recall[name, near.distance] = len(np.unique(near.first[same])) / len(originals)
            right[near.distance] += int(same.sum())
            wrong[near.distance] += int((~same).sum())
    precision = {distance: right[distance] / (right[distance] + wrong[distance]) for distance in DISTANCES}
    return recall, precision


def table(recall, precision):
    def line(heading, shares):
        return f"| {heading} | " + " | ".join(f"{100 * share:.0f} %" for share in shares) + " |"

    lines = ["| change | " + " | ".join(distance.value for distance in DISTANCES) + " |"]
    lines.append("|---|" + "---:|" * len(DISTANCES))
    lines += [line(name, [recall[name, distance] for distance in DISTANCES]) for name in CHANGES]
    lines.append(line("**precision**", [precision[distance] for distance in DISTANCES]))
    return "\n".join(lines)


def test_recall_table_is_that_of_the_docs(results):
    drawn = table(*results)
    assert drawn in PAGE.read_text(), f"docs/neighbors.md should have\n{drawn}"


def test_default_thresholds_find_the_planted_duplicates(results):
    recall, precision = results
    assert all(value == 1 for value in precision.values())
    assert all(recall["the same pixels", distance] == 1 for distance in DISTANCES)
    for name in ("JPEG, quality 70", "60 % and back", "mirrored", "10 % brighter"):
        assert all(recall[name, distance] >= 0.95 for distance in DISTANCES[1:])
    assert recall["cropped by 2 %", Distance.DSSIM] >= 0.9 and recall["cropped by 2 %", Distance.PHASH] >= 0.95
    assert all(recall[name, Distance.EXACT] == 0 for name in list(CHANGES)[1:])
