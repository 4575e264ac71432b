"""Superclasses: a confusion of two classes with the same superclass is a fine-grained mistake.

The superclasses of ImageNet are our choice: the WordNet concepts in the list below, which are everyday categories
(bird, musical instrument, furniture). A class belongs to every listed concept above it; some classes have no
superclass. The superclasses of other class spaces are their named groups.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regrade.core import ClassSpace
from regrade.core.arrays import BoolArray

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
