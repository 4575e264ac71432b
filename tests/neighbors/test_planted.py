"""Planted twins among photographs and textures: what each distance finds at its usual cut, as the docs say it."""

from pathlib import Path

import numpy as np
import pytest
from planted import CHANGES, photographs, textures

from regrade.core import Distance
from regrade.neighbors import Collection, default_cut, exact_pairs, image_pairs, phash_pairs, signatures

PAGE = Path(__file__).parents[2] / "docs" / "neighbors.md"
WAYS = (Distance.EXACT, Distance.PIXELS, Distance.DSSIM, Distance.PHASH)


def collection(images):
    return Collection(signatures(images), images.__getitem__)


@pytest.fixture(scope="module")
def found():
    """Every change of every image against all images: recall of each change, precision of each distance."""
    originals = [*photographs(), *textures(20)]
    known = collection(originals)
    recall, right, wrong = {}, dict.fromkeys(WAYS, 0), dict.fromkeys(WAYS, 0)
    for name, change in CHANGES.items():
        changed = collection([np.ascontiguousarray(change(one)) for one in originals])
        cuts = {one: default_cut(one) for one in (Distance.PIXELS, Distance.DSSIM)}
        pairs = [
            exact_pairs(changed.signatures, known.signatures),
            *image_pairs(changed, known, cuts=cuts),
            phash_pairs(changed.signatures, known.signatures, cut=default_cut(Distance.PHASH)),
        ]
        for one in pairs:
            same = one.first == one.second
            recall[name, one.distance] = len(np.unique(one.first[same])) / len(originals)
            right[one.distance] += int(same.sum())
            wrong[one.distance] += int((~same).sum())
    precision = {one: right[one] / (right[one] + wrong[one]) for one in WAYS}
    return recall, precision


def table(recall, precision):
    lines = ["| change | " + " | ".join(one.value for one in WAYS) + " |", "|---|" + "---:|" * len(WAYS)]
    for name in CHANGES:
        lines.append(f"| {name} | " + " | ".join(f"{100 * recall[name, one]:.0f} %" for one in WAYS) + " |")
    lines.append("| **precision** | " + " | ".join(f"{100 * precision[one]:.0f} %" for one in WAYS) + " |")
    return "\n".join(lines)


def test_the_table_of_the_docs(found):
    drawn = table(*found)
    assert drawn in PAGE.read_text(), f"docs/neighbors.md should have\n{drawn}"


def test_what_must_be_found(found):
    recall, precision = found
    assert all(value == 1 for value in precision.values())
    assert all(recall["the same pixels", one] == 1 for one in WAYS)
    for name in ("JPEG, quality 70", "60 % and back", "mirrored", "10 % brighter"):
        assert all(recall[name, one] >= 0.95 for one in WAYS[1:])
    assert recall["cropped by 2 %", Distance.DSSIM] >= 0.9 and recall["cropped by 2 %", Distance.PHASH] >= 0.95
    assert all(recall[name, Distance.EXACT] == 0 for name in list(CHANGES)[1:])
