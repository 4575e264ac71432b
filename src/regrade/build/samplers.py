"""Draw a test set from candidates by a stated strategy: matched frequencies, a threshold, the top, or keywords.

Recht et al. 2019, Section 3 and Appendix; every draw depends on the seed and the candidates alone, not on their order.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from regrade.build.eligibility import Candidate, Eligibility, Exclusion
from regrade.core import InputError
from regrade.core.frequency_bins import EDGES, bin_names, frequency_bins

MIN_REFERENCE_IMAGES = 20
"""The number of annotated reference images that a class needs for its histogram."""
LOWEST = 0.7
"""The lowest selection frequency of the strategy ``threshold`` in Recht et al. 2019."""


class Strategy(StrEnum):
    """How images are chosen among the eligible candidates of a class."""

    MATCHED_FREQUENCY = "matched-frequency"
    THRESHOLD = "threshold"
    TOP = "top"
    KEYWORD_MATCHED = "keyword-matched"
    TARGET_FREQUENCY = "target-frequency"
    TARGET_CONFUSION = "target-confusion"


@dataclass(frozen=True)
class ClassSample:
    """The images drawn for one class.

    ``targets`` is the intended number of images per bin or keyword, where the strategy has them; ``borrowed`` maps an
    image that was taken from a higher bin to the bin it stands for; ``problems`` say why the class is incomplete.
    """

    class_id: str
    images: tuple[str, ...]
    excluded: Mapping[str, Exclusion] = field(default_factory=dict)
    targets: Mapping[str, int] = field(default_factory=dict)
    borrowed: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sample:
    """A drawn test set: pairs of image and class in random order, and what was done for each class."""

    strategy: Strategy
    seed: int
    examples: tuple[tuple[str, str], ...]
    classes: tuple[ClassSample, ...]

    @property
    def problems(self) -> tuple[str, ...]:
        """Why the sample is not a valid test set; empty if it is one."""
        times = Counter(image for image, _ in self.examples)
        shared = [f"image {image!r} was drawn for {count} classes" for image, count in times.items() if count > 1]
        return (
            *(f"{drawn.class_id}: {problem}" for drawn in self.classes for problem in drawn.problems),
            *sorted(shared),
        )

    def exclusions(self) -> Counter[Exclusion]:
        """The number of excluded candidates per reason."""
        return Counter(reason for drawn in self.classes for reason in drawn.excluded.values())


@dataclass(frozen=True)
class DrawOptions:
    """What all strategies share: the number of images per class, the seed, the rules, and an earlier revision.

    Images of ``previous`` that are still eligible are kept.
    """

    per_class: int = 10
    seed: int = 0
    eligibility: Eligibility = field(default_factory=Eligibility)
    previous: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if self.per_class < 1:
            raise InputError(f"a sample needs at least one image per class, got {self.per_class}")


def largest_remainder(counts: Sequence[int], total: int) -> list[int]:
    """Divide ``total`` in proportion to counts: floors first, the rest to the largest fractions, ties to later ones.

    >>> largest_remainder([1, 1, 2], 10)
    [2, 3, 5]
    """
    weight = sum(counts)
    if weight == 0:
        raise InputError("a total cannot be divided in proportion to counts that are all 0")
    floors = [total * count // weight for count in counts]
    by_fraction = sorted(range(len(counts)), key=lambda i: (total * counts[i] % weight, i), reverse=True)
    for i in by_fraction[: total - sum(floors)]:
        floors[i] += 1
    return floors


def matched_frequency(
    candidates: Iterable[Candidate],
    references: Iterable[Candidate],
    options: DrawOptions,
    *,
    edges: Sequence[float] = EDGES,
    borrow_upward: bool = True,
    min_references: int = MIN_REFERENCE_IMAGES,
) -> Sample:
    """Draw images whose selection frequencies are distributed as those of the reference images of the class.

    ``references`` are images of the original test set with their own answers. A bin with too few candidates borrows
    from the next higher bins if ``borrow_upward``, and never from lower ones.
    """
    generator = random.Random(options.seed)
    reference_counts = bin_counts(references, options.eligibility.min_assignments, edges)
    drawn = []
    for class_id, members in by_class(candidates, reference_counts):
        eligible, excluded = options.eligibility.divide(members)
        counts = reference_counts.get(class_id, [0])
        if sum(counts) < max(min_references, 1):
            problem = f"{sum(counts)} annotated reference images, at least {max(min_references, 1)} are needed"
            drawn.append(ClassSample(class_id, (), excluded, problems=(problem,)))
            continue
        targets = dict(zip(bin_names(edges), largest_remainder(counts, options.per_class), strict=True))
        filled = _fill_bins(_images_per_bin(eligible, edges), targets, options, generator)
        borrowed = _borrow(filled, targets, options, generator) if borrow_upward else {}
        images = [*(image for bin_ in filled for image in bin_.drawn), *borrowed]
        problems = _short_bins(filled, targets, borrowed)
        drawn.append(ClassSample(class_id, tuple(images), excluded, targets, borrowed, problems))
    return collect(Strategy.MATCHED_FREQUENCY, drawn, options, generator)


def threshold(
    candidates: Iterable[Candidate],
    options: DrawOptions,
    *,
    lowest: float = LOWEST,
    overrides: Mapping[str, float] | None = None,
) -> Sample:
    """Draw images at random among those with a selection frequency of at least ``lowest``.

    ``overrides`` maps a class to its own lowest frequency, for classes with too few candidates.
    """
    generator = random.Random(options.seed)
    drawn = []
    for class_id, members in by_class(candidates, overrides or ()):
        own_lowest = (overrides or {}).get(class_id, lowest)
        eligible, excluded = options.eligibility.divide(members, threshold=own_lowest)
        images = _keep_then_draw([candidate.image for candidate in eligible], options.per_class, options, generator)
        problems = missing(options.per_class - len(images), f"with a selection frequency of {own_lowest:g} or more")
        drawn.append(ClassSample(class_id, tuple(images), excluded, problems=problems))
    return collect(Strategy.THRESHOLD, drawn, options, generator)


def top(candidates: Iterable[Candidate], options: DrawOptions) -> Sample:
    """Take the images with the highest selection frequencies.

    Among equal frequencies, images with more answers come first, then those of the previous revision, then the
    greatest name.
    """
    generator = random.Random(options.seed)
    drawn = []
    for class_id, members in by_class(candidates):
        eligible, excluded = options.eligibility.divide(members)
        eligible.sort(key=lambda c: (c.frequency, c.assignments, c.image in options.previous, c.image), reverse=True)
        images = tuple(candidate.image for candidate in eligible[: options.per_class])
        problems = missing(options.per_class - len(images), "that are eligible")
        drawn.append(ClassSample(class_id, images, excluded, problems=problems))
    return collect(Strategy.TOP, drawn, options, generator)


def keyword_matched(
    candidates: Iterable[Candidate],
    keyword_counts: Mapping[str, Mapping[str, int]],
    options: DrawOptions,
    *,
    keywords_per_class: int = 25,
    lowest: float = 0.0,
) -> Sample:
    """Draw images whose keywords are distributed as those of the reference images (CIFAR-10.1).

    ``keyword_counts`` maps a class to the number of its reference images per keyword; only the most frequent keywords
    of a class are used. A keyword that belongs to several classes has a target in each. Images with a selection
    frequency below ``lowest`` are not drawn; with one answer each, these are the images that were not collected.
    """
    generator = random.Random(options.seed)
    drawn = []
    for class_id, members in by_class(candidates, keyword_counts):
        eligible, excluded = options.eligibility.divide(members, threshold=lowest)
        targets = keyword_targets(keyword_counts.get(class_id, {}), options.per_class, keywords_per_class)
        images: list[str] = []
        problems: list[str] = []
        for keyword, target in targets.items():
            available = [candidate.image for candidate in eligible if candidate.keyword == keyword]
            chosen = _keep_then_draw(available, target, options, generator)
            images += chosen
            problems += missing(target - len(chosen), f"with the keyword {keyword!r}")
        if not targets:
            problems.append("no keywords of reference images are known")
        drawn.append(ClassSample(class_id, tuple(images), excluded, targets, problems=tuple(problems)))
    return collect(Strategy.KEYWORD_MATCHED, drawn, options, generator)


def keyword_targets(counts: Mapping[str, int], total: int, keywords: int) -> dict[str, int]:
    """The number of images per keyword, in proportion to the counts of the most frequent keywords.

    Ties, both for the last keyword and for the last image, go to the keyword that comes first in the alphabet.

    >>> keyword_targets({"dog": 6, "puppy": 3, "hound": 3, "cur": 1}, total=10, keywords=3)
    {'dog': 5, 'hound': 3, 'puppy': 2}
    """
    frequent = sorted(counts, key=lambda keyword: (-counts[keyword], keyword))[:keywords]
    if not any(counts[keyword] for keyword in frequent):
        return {}
    targets = largest_remainder([counts[keyword] for keyword in reversed(frequent)], total)
    return dict(zip(frequent, reversed(targets), strict=True))


@dataclass(frozen=True)
class _Bin:
    """The images of a bin that were drawn, and those that are left."""

    drawn: list[str]
    left: list[str]


def _images_per_bin(eligible: Sequence[Candidate], edges: Sequence[float]) -> list[list[str]]:
    images: list[list[str]] = [[] for _ in range(len(edges) + 1)]
    bins = frequency_bins([candidate.frequency for candidate in eligible], edges)
    for candidate, number in zip(eligible, bins, strict=True):
        images[number].append(candidate.image)
    return images


def _fill_bins(
    images: Sequence[list[str]], targets: Mapping[str, int], options: DrawOptions, generator: random.Random
) -> list[_Bin]:
    """Draw the targets of all bins from their own images, as far as there are enough."""
    filled = []
    for available, target in zip(images, targets.values(), strict=True):
        drawn = _keep_then_draw(available, target, options, generator)
        filled.append(_Bin(drawn, [image for image in available if image not in set(drawn)]))
    return filled


def _borrow(
    filled: Sequence[_Bin], targets: Mapping[str, int], options: DrawOptions, generator: random.Random
) -> dict[str, str]:
    """Take missing images from the next higher bin that has one left, those of the previous revision first."""
    borrowed = {}
    for number, (name, target) in enumerate(targets.items()):
        for _ in range(target - len(filled[number].drawn)):
            source = next((bin_.left for bin_ in filled[number + 1 :] if bin_.left), None)
            if source is None:
                break
            image = generator.choice([image for image in source if image in options.previous] or source)
            source.remove(image)
            borrowed[image] = name
    return borrowed


def _short_bins(filled: Sequence[_Bin], targets: Mapping[str, int], borrowed: Mapping[str, str]) -> tuple[str, ...]:
    taken = Counter(borrowed.values())
    return tuple(
        problem
        for bin_, (name, target) in zip(filled, targets.items(), strict=True)
        for problem in missing(target - len(bin_.drawn) - taken[name], f"with a selection frequency in {name}")
    )


def _keep_then_draw(images: list[str], target: int, options: DrawOptions, generator: random.Random) -> list[str]:
    """The images of the previous revision, at most ``target`` of them, and new ones at random up to it."""
    kept = [image for image in images if image in options.previous]
    if len(kept) > target:
        return generator.sample(kept, target)
    new = [image for image in images if image not in options.previous]
    return kept + generator.sample(new, min(target - len(kept), len(new)))


def missing(count: int, which: str) -> tuple[str, ...]:
    """The problem that so many images are lacking; empty if none are."""
    return (f"{count} more image{'s' * (count > 1)} {which} needed",) if count > 0 else ()


def bin_counts(
    images: Iterable[Candidate], min_assignments: int, edges: Sequence[float] = EDGES
) -> dict[str, list[int]]:
    """The number of annotated images per class and bin."""
    annotated = [image for image in images if image.assignments >= max(min_assignments, 1)]
    counts: dict[str, list[int]] = defaultdict(lambda: [0] * (len(edges) + 1))
    for image, number in zip(annotated, frequency_bins([row.frequency for row in annotated], edges), strict=True):
        counts[image.class_id][number] += 1
    return counts


def by_class(candidates: Iterable[Candidate], classes: Collection[str] = ()) -> list[tuple[str, list[Candidate]]]:
    """The candidates of each class in the order of class ids; an image twice in a class raises."""
    members: dict[str, list[Candidate]] = {class_id: [] for class_id in classes}
    for candidate in candidates:
        members.setdefault(candidate.class_id, []).append(candidate)
    for class_id, own in members.items():
        image, count = next(iter(Counter(candidate.image for candidate in own).most_common(1)), ("", 0))
        if count > 1:
            raise InputError(f"image {image!r} is listed {count} times as a candidate of class {class_id}")
    return sorted(members.items())


def collect(strategy: Strategy, drawn: Sequence[ClassSample], options: DrawOptions, generator: random.Random) -> Sample:
    """Collect the classes and shuffle their images."""
    examples = [(image, of_class.class_id) for of_class in drawn for image in of_class.images]
    generator.shuffle(examples)
    return Sample(strategy, options.seed, tuple(examples), tuple(drawn))
