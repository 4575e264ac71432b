import pytest

import regrade.classes
from regrade.classes import BUILT_IN, class_space
from regrade.core import UnknownName


@pytest.mark.parametrize(
    ("name", "size"),
    [("imagenet-1k", 1000), ("imagenet-a", 200), ("imagenet-r", 200), ("cifar-10", 10), ("digits", 10)],
)
def test_class_space_by_name(name, size):
    space = class_space(name)
    assert (space.name, len(space)) == (name, size)


def test_built_in_names():
    assert BUILT_IN == ("imagenet-1k", "imagenet-a", "imagenet-r", "cifar-10", "digits")


def test_class_space_suggests_similar_names():
    with pytest.raises(UnknownName, match="unknown class space 'imagenet1k'; did you mean imagenet-1k"):
        class_space("imagenet1k")


def test_public_names_are_sorted_and_exist():
    names = regrade.classes.__all__
    assert names == sorted(names)
    assert all(hasattr(regrade.classes, name) for name in names)
