"""Superclasses: of WordNet for ImageNet, groups for other spaces, none where there is nothing."""

import numpy as np

from regrade.classes import cifar_10, digits, imagenet_1k, imagenet_a, superclasses
from regrade.classes.superclasses import WORDNET_KINDS


def test_of_imagenet_against_its_own_groups():
    space = imagenet_1k()
    found = superclasses(space)
    assert found.names == tuple(WORDNET_KINDS) and "67 kinds" in found.rule
    for place, concept in enumerate(WORDNET_KINDS.values()):
        assert np.flatnonzero(found.members[:, place]).tolist() == space.group(concept).tolist()
        assert found.members[:, place].sum() >= 2  # a kind of one class would say nothing
    assert found.members.any(axis=1).sum() == 814


def test_classes_of_one_kind_share_it_and_others_do_not():
    space = imagenet_1k()
    shared = superclasses(space).shared
    at = {name: place for place, name in enumerate(space.names)}
    assert shared[at["beagle"], at["red fox"]] and shared[at["goldfinch"], at["ostrich"]]
    assert not shared[at["beagle"], at["tabby"]] and not shared[at["beagle"], at["sports car"]]
    assert shared[at["African elephant"], at["Indian elephant"]]
    assert shared.diagonal().all() and (shared == shared.T).all()


def test_a_class_without_a_kind_is_alone():
    space = imagenet_1k()
    found = superclasses(space)
    alone = np.flatnonzero(~found.members.any(axis=1))
    assert (found.shared[alone].sum(axis=1) == 1).all()


def test_a_subset_of_imagenet_keeps_them():
    space = imagenet_a()
    assert superclasses(space).members.sum() > 0 and len(superclasses(space).members) == 200


def test_other_spaces_have_their_groups_or_none():
    found = superclasses(cifar_10())
    assert (found.names, found.rule) == (("animals", "vehicles"), "the 2 groups of cifar-10")
    assert found.shared[0, 1] and not found.shared[0, 2]
    none = superclasses(digits())
    assert none.rule == "" and none.members.shape == (10, 0)
    assert (none.shared == np.eye(10, dtype=bool)).all()
