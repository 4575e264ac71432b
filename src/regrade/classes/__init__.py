"""Class spaces: ImageNet and its subsets, CIFAR-10, digits, and class spaces from files."""

from regrade.classes.definitions import definition
from regrade.classes.families import Superclasses, class_by_words, family, superclasses
from regrade.classes.files import class_map_from_file, class_space_as_json, class_space_from_file, class_space_from_json
from regrade.classes.registry import BUILT_IN, cifar_10, class_space, digits, imagenet_1k, imagenet_a, imagenet_r
from regrade.classes.vocabulary import Surroundings, Vocabulary, concepts_around, unit_rows, wordnet_nouns

__all__ = [
    "BUILT_IN",
    "Superclasses",
    "Surroundings",
    "Vocabulary",
    "cifar_10",
    "class_by_words",
    "class_map_from_file",
    "class_space",
    "class_space_as_json",
    "class_space_from_file",
    "class_space_from_json",
    "concepts_around",
    "definition",
    "digits",
    "family",
    "imagenet_1k",
    "imagenet_a",
    "imagenet_r",
    "superclasses",
    "unit_rows",
    "wordnet_nouns",
]
