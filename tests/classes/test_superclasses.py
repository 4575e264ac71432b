"""Superclasses of ImageNet and of other class spaces."""

import numpy as np

from regrade.classes import cifar_10, digits, imagenet_1k, imagenet_a, superclasses
from regrade.classes.superclasses import WORDNET_KINDS


def test_superclasses_of_imagenet_match_its_groups():
    space = imagenet_1k()
    kinds = superclasses(space)
    assert kinds.names == tuple(WORDNET_KINDS) and "67 kinds" in kinds.rule
    for place, concept in enumerate(WORDNET_KINDS.values()):
        assert np.flatnonzero(kinds.members[:, place]).tolist() == space.group(concept).tolist()
        assert kinds.members[:, place].sum() >= 2  # a superclass of one class would be useless
    assert kinds.members.any(axis=1).sum() == 814


def test_shared_superclasses():
    space = imagenet_1k()
    shared = superclasses(space).shared
    at = {name: place for place, name in enumerate(space.names)}
    assert shared[at["beagle"], at["red fox"]] and shared[at["goldfinch"], at["ostrich"]]
    assert not shared[at["beagle"], at["tabby"]] and not shared[at["beagle"], at["sports car"]]
    assert shared[at["African elephant"], at["Indian elephant"]]
    assert shared.diagonal().all() and (shared == shared.T).all()


def test_class_without_a_superclass_shares_none():
    space = imagenet_1k()
    kinds = superclasses(space)
    alone = np.flatnonzero(~kinds.members.any(axis=1))
    assert (kinds.shared[alone].sum(axis=1) == 1).all()


def test_subset_keeps_superclasses():
    space = imagenet_a()
    assert superclasses(space).members.sum() > 0 and len(superclasses(space).members) == 200


def test_superclasses_of_other_spaces_are_their_groups():
    kinds = superclasses(cifar_10())
    assert (kinds.names, kinds.rule) == (("animals", "vehicles"), "the 2 groups of cifar-10")
    assert kinds.shared[0, 1] and not kinds.shared[0, 2]
    none = superclasses(digits())
    assert none.rule == "" and none.members.shape == (10, 0)
    assert (none.shared == np.eye(10, dtype=bool)).all()
