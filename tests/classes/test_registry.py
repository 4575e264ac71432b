import pytest

import regrade.classes
from regrade.classes import BUILT_IN, class_space
from regrade.core import UnknownName


@pytest.mark.parametrize(
    ("name", "size"),
    [("imagenet-1k", 1000), ("imagenet-a", 200), ("imagenet-r", 200), ("cifar-10", 10), ("digits", 10)],
)
def test_a_built_in_space_is_found_by_its_name(name, size):
    space = class_space(name)
    assert (space.name, len(space)) == (name, size)


def test_the_names_are_listed():
    assert BUILT_IN == ("imagenet-1k", "imagenet-a", "imagenet-r", "cifar-10", "digits")


def test_an_unknown_space_names_its_neighbors():
    with pytest.raises(UnknownName, match="unknown class space 'imagenet1k'; did you mean imagenet-1k"):
        class_space("imagenet1k")


def test_the_public_names_are_sorted_and_there():
    names = regrade.classes.__all__
    assert names == sorted(names)
    assert all(hasattr(regrade.classes, name) for name in names)
