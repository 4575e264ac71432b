"""Matching images to the examples of an existing test set."""

import numpy as np
import pytest

from regrade.classes import class_space
from regrade.core import UNLABELED, MismatchError, TestSet
from regrade.testsets import ReaderResult, locations_for

CIFAR = class_space("cifar-10")


def known(*ids: str, labels: tuple[int, ...] = (3, 5, 8)) -> TestSet:
    return TestSet("pets", CIFAR, ids, np.array(labels[: len(ids)], dtype=np.int32))


def found(*ids: str, labels: tuple[int, ...] | None = None) -> ReaderResult:
    return ReaderResult(ids, None if labels is None else np.array(labels), tuple(f"at {i}" for i in ids))


@pytest.mark.parametrize(
    ("ids", "images"),
    [
        (("a", "b", "c"), ("a", "b", "c")),
        (("a", "b", "c"), ("a.png", "b.JPEG", "c.webp")),
        (("a.JPEG", "b.JPEG", "c.JPEG"), ("a", "b", "c")),
        (("a.JPEG", "b.JPEG", "c.JPEG"), ("a.png", "b.png", "c.png")),
        (("a", "b", "c"), ("n01/a.png", "n02/b.png", "n03/c.png")),
        (("val/a.png", "val/b.png", "val/c.png"), ("a.png", "b.png", "c.png")),
        (("n01/1.png", "n02/1.png", "n02/2.png"), ("n01/1.png", "n02/1.png", "n02/2.png")),
        (("n01/1", "n02/1", "n02/2"), ("n01/1.png", "n02/1.png", "n02/2.png")),
        (("a.png", "a.jpg", "b.png"), ("a.png", "a.jpg", "b.png")),
        (("v1.0", "v1.1", "v1.2"), ("v1.0.png", "v1.1.png", "v1.2.png")),
    ],
)
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_locations_match_ids_with_and_without_extension(ids, images, order):
    shuffled = found(*(images[place] for place in order), labels=tuple((3, 5, 8)[place] for place in order))
    assert locations_for(known(*ids), shuffled) == tuple(f"at {image}" for image in images)


def test_locations_rejects_a_missing_image():
    with pytest.raises(MismatchError, match="2 of the 3 examples of pets have no image, for example 'b'"):
        locations_for(known("a", "b", "c"), found("a.png"))


def test_locations_rejects_an_extra_image():
    with pytest.raises(MismatchError, match=r"1 images belong to no example of pets, for example 'x\.png'"):
        locations_for(known("a", "b"), found("a.png", "x.png", "b.png"))


def test_locations_reports_many_extra_images_quickly():
    many = found(*(f"{k}.png" for k in range(100_000)))
    with pytest.raises(MismatchError, match="99,997 images belong to no example"):
        locations_for(known("0", "1", "2"), many)


def test_locations_rejects_different_labels():
    with pytest.raises(MismatchError, match=r"1 images have another label than in test set pets.*'b'"):
        locations_for(known("a", "b"), found("b.png", "a.png", labels=(4, 3)))


def test_locations_accepts_any_label_for_unlabeled_examples():
    assert locations_for(known("a", "b", labels=(3, UNLABELED)), found("a", "b", labels=(3, 7))) == ("at a", "at b")


@pytest.mark.parametrize(
    ("ids", "images"),
    [(("a", "b"), ("a.png", "a.jpg", "b.png")), (("1", "2"), ("n01/1.png", "n02/1.png", "n02/2.png"))],
)
def test_locations_rejects_two_images_for_one_id(ids, images):
    with pytest.raises(MismatchError, match="several images match the same id"):
        locations_for(known(*ids), found(*images))


def test_locations_never_share_an_image():
    with pytest.raises(MismatchError, match=r"no image|several"):
        locations_for(known("n01/1", "n02/1"), found("1.png"))
