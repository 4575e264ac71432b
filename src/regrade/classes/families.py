"""Families of classes: superclasses, and classes looked up by the words for them.

A confusion of two classes with the same superclass is a fine-grained mistake. The superclasses of ImageNet are our
choice: the WordNet concepts in the list below, which are everyday categories (bird, musical instrument, furniture). A
class belongs to every listed concept above it; some classes have no superclass. The superclasses of other class spaces
are their named groups.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regrade.core import ClassSpace, InputError, UnknownName
from regrade.core.arrays import BoolArray, IntArray

WORDNET_KINDS = {
    # animals and fungi
    "canine": "n02083346", "feline": "n02120997", "bear": "n02131653", "procyonid": "n02507649",
    "mustelid": "n02441326", "primate": "n02469914", "rodent": "n02329401", "leporid": "n02323902",
    "ungulate": "n02370806", "elephant": "n02503517", "marsupial": "n01874434", "aquatic mammal": "n02062017",
    "bird": "n01503061", "snake": "n01726692", "lizard": "n01674464", "turtle": "n01662784",
    "crocodilian": "n01696633", "salamander": "n01629276", "frog": "n01639765", "fish": "n02512053",
    "insect": "n02159955", "arachnid": "n01769347", "crustacean": "n01974773", "mollusk": "n01940736",
    "coelenterate": "n01909422", "echinoderm": "n02316707", "fungus": "n12992868",
    # vehicles, buildings, places
    "wheeled vehicle": "n04576211", "public transport": "n04019101", "watercraft": "n04530566",
    "aircraft": "n02686568", "building": "n02913152", "shop or other establishment": "n03297735",
    "bridge": "n02898711", "roof": "n04105068", "barrier": "n02796623", "geological formation": "n09287968",
    # household objects
    "furniture": "n03405725", "home appliance": "n03528263", "kitchen utensil": "n03621049", "tableware": "n04381994",
    "vessel": "n04531098", "box": "n02883344", "bag": "n02773037", "fabric": "n03309808", "toiletry": "n04447443",
    "source of light": "n04263760",
    # clothing
    "clothing": "n03051540", "footwear": "n03380867", "armor": "n02739668",
    # instruments and equipment
    "musical instrument": "n03800933", "measuring instrument": "n03733925", "optical instrument": "n03852280",
    "camera": "n02942699", "computer": "n03082979", "electronic equipment": "n03278248", "tool": "n04451818",
    "writing implement": "n04608567", "fastener": "n03323703", "weapon": "n04565375", "ball": "n02778669",
    "sports equipment": "n04285146",
    # food
    "fruit": "n13134947", "vegetable": "n07707451", "dish": "n07557434", "baked goods": "n07622061",
    "beverage": "n07881800",
}  # fmt: skip
"""The superclasses of ImageNet and their WordNet 3.0 concepts."""


def family(space: ClassSpace, name: str) -> IntArray:
    """The classes of a family, ascending; plural words are also tried in the singular.

    A family is a group of the class space, a superclass, a class, or the classes below a concept of its hierarchy, by
    id or by any of its words. An ambiguous word raises an error that lists the possible concepts.

    >>> from regrade.classes import class_space
    >>> len(family(class_space("imagenet-1k"), "terriers"))
    26
    """
    for word in (name, name.removesuffix("s")):
        if (classes := _named(space, word)) is not None:
            return classes
    kinds = superclasses(space).names
    words = [] if space.hierarchy is None else [word for lemmas in space.hierarchy.lemmas.values() for word in lemmas]
    raise UnknownName(f"family of {space.name}", name, dict.fromkeys([*space.groups, *kinds, *words, *space.ids]))


def _named(space: ClassSpace, word: str) -> IntArray | None:
    try:
        return space.group(word)
    except UnknownName:
        kinds = superclasses(space)
    if word in kinds.names:
        return np.flatnonzero(kinds.members[:, kinds.names.index(word)])
    return _below_word(space, word)


def _below_word(space: ClassSpace, word: str) -> IntArray | None:
    """The classes below the concept with a word, if there is one."""
    lemmas = {} if space.hierarchy is None else space.hierarchy.lemmas
    concepts = [concept for concept, words in lemmas.items() if word.casefold() in (own.casefold() for own in words)]
    below = {concept: tuple(space.group(concept).tolist()) for concept in concepts}
    below = {concept: classes for concept, classes in below.items() if classes}
    if len(set(below.values())) > 1:
        raise InputError(f"{word!r} is ambiguous: give one of {', '.join(below)}")
    return next((np.array(classes) for classes in below.values()), None)


def class_by_words(space: ClassSpace, words: str) -> int:
    """Return the index of the class with this list of words, as in the class descriptions of ILSVRC.

    The whole list must match, since single words are shared. Unknown and ambiguous descriptions raise.

    >>> from regrade.classes import imagenet_1k
    >>> class_by_words(imagenet_1k(), "laptop, laptop computer")
    620
    """
    matches = [index for index, lemmas in enumerate(space.lemmas) if ", ".join(lemmas) == words]
    if not matches:
        raise UnknownName(f"description of a class of {space.name}", words, [", ".join(own) for own in space.lemmas])
    if len(matches) > 1:
        ids = " or ".join(space.ids[index] for index in matches)
        raise InputError(f"the description {words!r} could mean {ids} of {space.name}")
    return matches[0]


@dataclass(frozen=True, eq=False)
class Superclasses:
    """The superclasses (s,) and their ``members`` (c, s); ``rule`` describes their origin."""

    names: tuple[str, ...]
    members: BoolArray
    rule: str

    @property
    def shared(self) -> BoolArray:
        """Shape (c, c): whether two classes share a superclass; every class shares one with itself."""
        counts = self.members.astype(np.float32)
        return np.asarray((counts @ counts.T > 0) | np.eye(len(counts), dtype=bool))


def superclasses(space: ClassSpace) -> Superclasses:
    """The superclasses of a class space: those of WordNet, otherwise its named groups; there may be none."""
    hierarchy = space.hierarchy
    kinds = {name: concept for name, concept in WORDNET_KINDS.items() if hierarchy and concept in hierarchy.lemmas}
    if hierarchy is None or not kinds:
        return _groups(space)
    above = [hierarchy.ancestors(class_id) for class_id in space.ids]
    members = np.array([[concept in own for concept in kinds.values()] for own in above], dtype=bool)
    return Superclasses(tuple(kinds), members, f"{len(kinds)} kinds of things in WordNet")


def _groups(space: ClassSpace) -> Superclasses:
    members = np.zeros((len(space), len(space.groups)), dtype=bool)
    for place, group in enumerate(space.groups):
        members[space.group(group), place] = True
    rule = f"the {len(space.groups)} groups of {space.name}" if space.groups else ""
    return Superclasses(tuple(space.groups), members, rule)
