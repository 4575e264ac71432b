"""Findings of a similarity study: shared errors, and clusters of models."""

from __future__ import annotations

import numpy as np

from regrade.core.amounts import amount
from regrade.display.finding import Finding, claim, no_claim
from regrade.display.wording import listed, plain, points, share
from regrade.studies.similarity.result import Similarity

_PAIR_TEST = (
    "Interval over images or households of the observed share minus that of independent models, compared with 0."
)
_PAIRS_TEST = (
    "Intervals over images or households of the observed share minus that of independent models, Bonferroni-corrected "
    "for all pairs, compared with 0."
)
_SAME_IMAGES = claim("similarity: two err on the same images", _PAIR_TEST)
_OTHER_IMAGES = claim("similarity: two err on different images", _PAIR_TEST)
_NOT_SHOWN = no_claim("similarity: two are not shown to share errors", _PAIR_TEST)
_SHARED = claim("similarity: most pairs share errors", _PAIRS_TEST)
_SOME_SHARED = claim("similarity: some pairs share errors", _PAIRS_TEST)
_NOT_SHARED = no_claim("similarity: no pair is shown to share errors", _PAIRS_TEST)
_NO_GROUPS = no_claim("similarity: no near copies")
_GROUPS = no_claim("similarity: groups")


def similarity_findings(result: Similarity) -> tuple[Finding, ...]:
    """For two models their shared errors; for more, the number of pairs with shared errors, and clusters."""
    return (_pair(result),) if len(result.models) == 2 else (_shared(result), _clusters(result))


def _pair(result: Similarity) -> Finding:
    (pair,) = result.pairs
    kappa = "" if pair.kappa is None else f" Error consistency (kappa) is {plain(pair.kappa)}."
    text = (
        f"{pair.second} alone is right on {share(pair.dominance)} of {amount(result.basis.images, 'image')}, where "
        f"independent models of these accuracies would give {100 * pair.independent:.1f}%: a difference of "
        f"{points(pair.excess)}.{kappa}"
    )
    names, would = f"{pair.first} and {pair.second}", "more often than independent models would"
    if pair.excess.high < 0:
        return Finding(_SAME_IMAGES, f"{names} err on the same images {would}", text, 0.45)
    if pair.excess.low > 0:
        return Finding(_OTHER_IMAGES, f"{names} err on different images {would}", text, 0.5)
    return Finding(_NOT_SHOWN, f"No evidence that {names} err on the same images {would}", text, 0.35)


def shared_errors(result: Similarity) -> int:
    """How many pairs share errors more often than independent models would, by simultaneous intervals."""
    pairs = np.triu_indices(len(result.models), k=1)
    return int((result.excess.high[pairs] < 0).sum())


def _shared(result: Similarity) -> Finding:
    pairs = np.triu_indices(len(result.models), k=1)
    count, same, fewer = len(pairs[0]), shared_errors(result), int((result.excess.low[pairs] > 0).sum())
    observed, expected = (100 * float(np.median(part[pairs])) for part in (result.dominance.value, result.independent))
    which_pairs = f"All {count:,} pairs" if same == count else f"{same:,} of {count:,} pairs"
    less, verb = f", and {fewer:,} less often" if fewer else "", "misses" if same == 1 else "miss"
    text = (
        f"{which_pairs} {'shares' if same == 1 else 'share'} errors more often than independent models would{less}. "
        f"Only the weaker of two models is right on {observed:.1f}% of images (median over pairs), where independent "
        f"errors would give {expected:.1f}%."
    )
    on, would = result.basis.title, "more often than independent models would"
    if same > count / 2:
        which = "All" if same == count else "Most"
        return Finding(_SHARED, f"{which} pairs of models miss the same images of {on} {would}", text, 0.5)
    if same:
        return Finding(_SOME_SHARED, f"{which_pairs} of models {verb} the same images of {on} {would}", text, 0.4)
    headline = f"No evidence that any two models miss the same images of {on} {would}"
    return Finding(_NOT_SHARED, headline, text, 0.4)


def _clusters(result: Similarity) -> Finding:
    groups = sorted(result.groups, key=len, reverse=True)
    models, largest = len(result.models), groups[0]
    rule = f"with a mean error consistency of at least {result.alike:g}"
    if len(largest) == 1:
        return Finding(
            _NO_GROUPS,
            f"No two of {models:,} models reach an error consistency of {result.alike:g}",
            f"There are no clusters of models {rule} on {result.basis.title}.",
            0.3,
        )
    single = sum(len(group) == 1 for group in groups)
    alone = f"; {amount(single, 'cluster')} {'has' if single == 1 else 'have'} only one model" if single else ""
    text = (
        f"Clusters of models {rule}; the largest is {listed(largest)}{alone}. Clusters describe these images and are "
        "not tested."
    )
    return Finding(
        _GROUPS,
        f"{models:,} models form {amount(len(groups), 'cluster')} by error consistency on {result.basis.title}",
        text,
        0.35,
    )
