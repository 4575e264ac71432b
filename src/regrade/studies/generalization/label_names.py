"""The label set of each test set, from NAME and SET=NAME."""

from __future__ import annotations

from collections.abc import Sequence

from regrade.core import InputError, UnknownName


def label_sets(texts: Sequence[str], test_sets: Sequence[str]) -> dict[str, str]:
    """Label sets by the name of the test set: SET=NAME for one of them, NAME for all others.

    A test set without a label set raises, since accuracies under different kinds of labels are not comparable.

    >>> label_sets(["many", "new=many@2"], ["old", "new"])
    {'old': 'many', 'new': 'many@2'}
    """
    named = _named(texts)
    everywhere = named.pop("", None)
    for name in named:
        if name not in test_sets:
            raise UnknownName("test set of labels", name, test_sets)
    if everywhere is None and (missing := next((name for name in test_sets if name not in named), None)):
        raise InputError(
            f"no label set is named for {missing}: all sets are scored against labels, or none; add {missing}=NAME"
        )
    return {name: named.get(name, str(everywhere)) for name in test_sets}


def _named(texts: Sequence[str]) -> dict[str, str]:
    """Label sets by the name of the test set; the name for all others is empty."""
    named: dict[str, str] = {}
    for text in texts:
        test_set, equals, labels = text.rpartition("=")
        if not labels or (equals and not test_set):
            raise InputError(f"labels must be NAME or SET=NAME, got {text!r}")
        if test_set in named:
            raise InputError(f"labels are given twice for {test_set or 'all sets'}")
        named[test_set] = labels
    return named
