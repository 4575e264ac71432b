"""Small class spaces: CIFAR-10 and digits."""

from __future__ import annotations

from regrade.core import ClassSpace

_CIFAR_10 = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


def cifar_10() -> ClassSpace:
    """Return the ten classes of CIFAR-10 (Krizhevsky 2009), in the order of its labels."""
    return ClassSpace("cifar-10", _CIFAR_10, groups={"animals": (2, 3, 4, 5, 6, 7), "vehicles": (0, 1, 8, 9)})


def digits() -> ClassSpace:
    """Return the ten digits; the id of each class is the digit."""
    return ClassSpace("digits", tuple("0123456789"))
