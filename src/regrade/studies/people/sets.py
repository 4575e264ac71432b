"""The same people and models on several test sets: accuracies, gaps to the first set, and the lead of people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from regrade.core import Estimate
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.stats import (
    agreeing_with_test,
    bonferroni_confidence,
    clustered_mean,
    difference_of_samples,
    fisher_exact,
    holm,
    independent_difference,
    interval_p_value,
    mark_simultaneous,
)
from regrade.stats.intervals import method_name
from regrade.studies.people.accuracy import LEAD, Contender, CorrectnessTable, Subset, accuracy_of
from regrade.studies.people.analysis import AnsweredImages
from regrade.studies.people.sets_result import PeopleOnSets, SetsRow

_ROUNDING = 1e-9  # a smaller difference of shares is none


def people_on_sets(
    answered: Sequence[AnsweredImages], *, notes: Iterable[str] = (), confidence: float = 0.95
) -> PeopleOnSets:
    """Compare the same people and models on two or more test sets of different images, the original first.

    Subsets without an image on one of the sets are left out. A gap is tested by Fisher's exact test; that of the mean
    of people, that of their lead and all gaps of a set with clusters of images by the smallest level at which the
    interval excludes 0. All gaps are corrected together, p-values by Holm and intervals by Bonferroni.
    """
    common, dropped = _common_parts(answered)
    sets = [_PartedSet.of(each, common) for each in answered]
    compared = [gap for name in common for new in sets[1:] for gap in _compared(sets[0], new, name)]
    return PeopleOnSets(
        tuple(each.answered.aligned.basis for each in sets),
        confidence,
        {each.name: {name: part.images for name, part in each.parts.items()} for each in sets},
        tuple(_tested(compared, confidence)),
        {each.name: each.answered.novel for each in sets if each.answered.novel},
        (*notes, *dropped, *(f"{each.name}: {note}" for each in sets for note in each.answered.notes)),
    )


@dataclass(frozen=True)
class _PartedSet:
    """One test set, with the subsets that all sets have by name."""

    answered: AnsweredImages
    table: CorrectnessTable
    parts: dict[str, Subset]

    @classmethod
    def of(cls, answered: AnsweredImages, common: Sequence[str]) -> _PartedSet:
        parts = {part.name: part for part in answered.parts if part.name in common}
        return cls(answered, replace(answered.table, subsets=len(common) - 1), parts)

    @property
    def name(self) -> str:
        return self.answered.test_set.name

    def samples(self, subset: str) -> Iterator[tuple[str, _Sample]]:
        """Everyone on a subset, by name; the lead of people over models comes last, where it has an interval."""
        part = self.parts[subset]
        clusters = self.table.clusters_of(part)
        for who, kind, right in self.table.contenders(part):
            yield who, _Sample(kind, right[:, part.inside], self.table.accuracy(right, part), clusters)
        lead = _lead(self.table)[part.inside]
        if _varies(lead, clusters):
            mean = _mean(lead, clusters, self.table.level(part))
            shown = mark_simultaneous(mean, self.table.tests(part), confidence=self.table.confidence)
            yield LEAD, _Sample(Contender.LEAD, lead[None], shown, clusters)


@dataclass(frozen=True)
class _Sample:
    """Whether one or several people or a model are right on images (r, n), and the accuracy as it is shown.

    For the lead of people over models, the values (1, n) are differences of shares. Images of one of the ``clusters``
    (n,) are dependent.
    """

    kind: Contender
    values: BoolArray | FloatArray
    shown: Estimate
    clusters: IntArray | None = None

    def minus(self, new: _Sample, confidence: float) -> Estimate:
        """The gap to a sample of another set."""
        if self._by_intervals(new):
            return difference_of_samples(self._mean(confidence), new._mean(confidence), confidence=confidence)
        counts = (self.values.sum(), self.values.size, new.values.sum(), new.values.size)
        bounds = independent_difference(*counts, confidence=confidence)
        value, smaller = self.shown.value - new.shown.value, min(self.values.size, new.values.size)
        return Estimate(value, float(bounds.low), float(bounds.high), smaller, method_name("newcombe", confidence))

    def p_value(self, new: _Sample) -> float:
        """The two-sided p-value of the gap."""
        if self._by_intervals(new):
            return interval_p_value(lambda level: self.minus(new, level))
        return fisher_exact(int(self.values.sum()), self.values.size, int(new.values.sum()), new.values.size)

    def _by_intervals(self, new: _Sample) -> bool:
        """Whether a gap follows from the intervals of both samples, instead of from counts of independent images."""
        in_clusters = self.clusters is not None or new.clusters is not None
        return in_clusters or self.kind in (Contender.MEAN, Contender.LEAD)

    def _mean(self, confidence: float) -> Estimate:
        if self.kind is Contender.LEAD:
            return _mean(self.values[0], self.clusters, confidence)
        return accuracy_of(np.asarray(self.values, dtype=bool), self.clusters, confidence=confidence)


@dataclass(frozen=True)
class _Compared:
    """One contender on a subset of the original and of a new set."""

    who: str
    subset: str
    new_set: str
    first: _Sample
    second: _Sample


def _common_parts(answered: Sequence[AnsweredImages]) -> tuple[list[str], list[str]]:
    """The subsets that have images on every set, in the order of the first one; and notes on the others.

    A subset that has all images of every set would only repeat the comparison on all of them.
    """
    by_set = {each.test_set.name: {part.name: part.images for part in each.parts} for each in answered}
    every = dict.fromkeys(name for names in by_set.values() for name in names)
    missing = {name: [each for each, names in by_set.items() if name not in names] for name in every}
    notes = [f"left out, without an image of {', '.join(sets)}: {name}" for name, sets in missing.items() if sets]
    largest = [next(iter(sizes.values()), 0) for sizes in by_set.values()]
    same = [name for name in [*every][1:] if [sizes.get(name) for sizes in by_set.values()] == largest]
    notes += [f"left out, since it has all images of every set: {name}" for name in same]
    return [name for name, sets in missing.items() if not sets and name not in same], notes


def _compared(original: _PartedSet, new: _PartedSet, subset: str) -> Iterator[_Compared]:
    """Everyone on a subset of both sets, in the order of their accuracy on all images of the original."""
    first, second = (dict(each.samples(subset)) for each in (original, new))
    accuracy = {who: float(right.mean()) for who, _, right in original.table.contenders(original.parts[subset])}
    for who in sorted(first.keys() & second.keys(), key=lambda who: (-accuracy.get(who, -1.0), who)):
        yield _Compared(who, subset, new.name, first[who], second[who])


def _tested(compared: Sequence[_Compared], confidence: float) -> Iterator[SetsRow]:
    """The gaps with intervals and tests, corrected for all of them together."""
    p_values = [gap.first.p_value(gap.second) for gap in compared]
    level = bonferroni_confidence(len(compared), confidence)
    for gap, p_value, adjusted in zip(compared, p_values, holm(p_values).tolist(), strict=True):
        marked = mark_simultaneous(gap.first.minus(gap.second, level), len(compared), confidence=confidence)
        difference = agreeing_with_test(marked, differs=adjusted <= 1 - confidence)
        shown = (gap.first.shown, gap.second.shown)
        named = (gap.who, gap.first.kind, gap.subset, gap.new_set)
        yield SetsRow(*named, *shown, difference, p_value, adjusted, 1 - confidence)


def _lead(table: CorrectnessTable) -> FloatArray:
    """Shape (n,): the share of people that are right minus that of models, on each image; 0 without models."""
    if table.is_person.all():
        return np.zeros(table.correct.shape[1])
    people, models = (table.correct[rows].mean(axis=0) for rows in (table.is_person, ~table.is_person))
    return np.asarray(people - models)


def _varies(lead: FloatArray, clusters: IntArray | None) -> bool:
    """Whether the lead (n,) differs between images, or between clusters of them, so that its mean has an interval."""
    off = lead - lead.mean()
    return bool((np.abs(off if clusters is None else np.bincount(clusters, off)) > _ROUNDING).any())


def _mean(values: FloatArray, clusters: IntArray | None, confidence: float) -> Estimate:
    """The mean of differences of shares (n,), which lie between -1 and 1."""
    members = np.arange(len(values)) if clusters is None else clusters
    mean = clustered_mean(values, members, confidence=confidence)[0]
    return replace(mean, low=max(mean.low, -1.0), high=min(mean.high, 1.0))
