"""Drawing images of a test set at random for people to label: a number in all, or of each class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from regrade.classes import family
from regrade.core import InputError, TestSet
from regrade.core.amounts import amount
from regrade.core.arrays import BoolArray, IntArray
from regrade.ledger import Mode, NewItem, Person
from regrade.store import Store
from regrade.studies.leakage.signatures import ImageProgress
from regrade.workspace.image_contents import ImageContents
from regrade.workspace.seen_images import ImagesOfQueues


@dataclass(frozen=True)
class LabelDraw:
    """What is drawn from each test set: ``size`` images, or ``per_class`` of each class (default: all).

    ``family`` keeps images with a label in a family of classes. ``people`` are those who will answer; none stands for
    everyone.
    """

    size: int | None
    per_class: int | None
    family: str | None
    mode: Mode
    seed: int
    people: tuple[Person, ...] = ()

    def __post_init__(self) -> None:
        if self.size is not None and self.per_class is not None:
            raise InputError("give either a size or a number of images per class")
        if self.per_class is not None and self.per_class < 1:
            raise InputError(f"at least one image per class is drawn, got {self.per_class:,}")


@dataclass(frozen=True, eq=False)
class ExcludedImages:
    """What is not drawn: images that are ``queued`` or drawn already, and those ``seen`` by the named people."""

    queued: ImagesOfQueues
    seen: Mapping[str, ImagesOfQueues]

    def seen_by_id(self, test_set: TestSet) -> BoolArray:
        """Mask (n,) of the examples whose label or predictions one of the people has seen."""
        masks = [images.by_id(test_set) for images in self.seen.values()]
        return np.logical_or.reduce([np.zeros(len(test_set), dtype=bool), *masks])

    def has_seen(self, content: str | None) -> bool:
        """Whether one of the people has seen an image with these pixels."""
        return any(content in images.contents for images in self.seen.values())

    def with_drawn(self, sample: LabelSample) -> ExcludedImages:
        """Also the images of a sample: nobody labels an image twice."""
        ids = {sample.test_set.ids[position] for position, _ in sample.drawn}
        contents = frozenset(content for _, content in sample.drawn if content is not None)
        return replace(self, queued=self.queued.with_images(sample.test_set.name, ids, contents))


@dataclass(frozen=True, eq=False)
class LabelSample:
    """The images drawn from a test set with their content hashes, and how many were left out.

    Of the others, ``free`` images could be drawn. Label queues have ``taken`` images under the same ids and ``copies``
    under other names, ``people`` have ``seen`` some, and ``short`` says how many classes have too few images.
    """

    test_set: TestSet
    drawn: tuple[tuple[int, str | None], ...]
    free: int
    taken: int
    copies: int
    seen: int
    people: tuple[str, ...]
    short: str = ""

    def items(self, own: TestSet) -> list[NewItem]:
        """The items of a queue whose own test set is ``own``; see `regrade.ledger.image_mark`."""
        mark = "" if self.test_set.name == own.name else self.test_set.name
        return [NewItem(self.test_set.ids[position], mark, content=content) for position, content in self.drawn]

    def notes(self, among_several: bool) -> Iterator[str]:
        """What was drawn and what was left out."""
        prefix = f"{self.test_set.name}: " if among_several else ""
        yield f"{prefix}drawn at random: {len(self.drawn):,} of {amount(self.free, 'image')}"
        if self.short:
            yield prefix + self.short
        if self.taken and among_several:
            yield f"{prefix}left out, as label queues have the same images by id: {self.taken:,}"
        if self.copies:
            yield f"{prefix}left out as copies of what label queues ask about: {self.copies:,}"
        if self.seen:
            words = left_out(self.people, self.seen)
            yield f"{prefix}{words}; if models disagreed on these, the rest is easier than the test set"
        if unread := sum(content is None for _, content in self.drawn):
            yield f"{prefix}copies cannot be recognized of {amount(unread, 'image')} that cannot be read now"


def draw_sample(
    store: Store,
    test_set: TestSet,
    draw: LabelDraw,
    excluded: ExcludedImages,
    *,
    rng: np.random.Generator,
    progress: ImageProgress,
) -> LabelSample:
    """Draw images of a test set that are neither excluded nor copies of excluded images; raise if there are too few."""
    eligible = _eligible(test_set, draw)
    taken = eligible & excluded.queued.by_id(test_set)
    available = eligible & ~taken
    seen = available & excluded.seen_by_id(test_set)
    free = np.flatnonzero(available & ~seen)
    groups = [rng.permutation(members).tolist() for members in _groups(test_set, draw, eligible, free)]
    people = tuple(excluded.seen)
    _check_counts(test_set, draw, [len(group) for group in groups], left_out(people, int(seen.sum())))
    drawer = _Drawer(ImageContents(store, test_set), excluded, progress)
    chosen = drawer.draw(groups, draw.per_class or draw.size or len(free))
    counts = [len(group) for group in chosen]
    number_seen = int(seen.sum()) + drawer.seen
    possible = counts if draw.per_class is not None else [len(free) - drawer.copies - drawer.seen]
    _check_counts(test_set, draw, possible, left_out(people, number_seen))
    drawn = tuple(pair for group in chosen for pair in group)
    return LabelSample(
        test_set,
        drawn,
        free=len(free),
        taken=int(taken.sum()),
        copies=drawer.copies,
        seen=number_seen,
        people=people,
        short=_short_classes(draw, counts),
    )


def left_out(people: Sequence[str], seen: int) -> str:
    """How many images are left out because people have seen them; empty if there are none."""
    return f"left out, as {' or '.join(people)} saw their label or predictions: {seen:,}" if seen else ""


def _eligible(test_set: TestSet, draw: LabelDraw) -> BoolArray:
    """Mask (n,) of eligible images: those of the family, and those with a label where it matters."""
    eligible = np.ones(len(test_set), dtype=bool)
    if draw.family is not None:
        members = family(test_set.class_space, draw.family)
        eligible = np.isin(test_set.labels, members)
        if not eligible.any():
            raise InputError(f"no image of {test_set.name} has a label in the family {draw.family}")
    if draw.mode is Mode.TRAINING and not test_set.labeled.any():
        raise InputError(f"training shows the correct label, but no image of {test_set.name} has a label")
    if draw.per_class is not None and not test_set.labeled.any():
        raise InputError(f"images per class are drawn by label, but no image of {test_set.name} has a label")
    if draw.mode is Mode.TRAINING or draw.per_class is not None:
        eligible &= test_set.labeled
    return eligible


def _groups(test_set: TestSet, draw: LabelDraw, eligible: BoolArray, free: IntArray) -> list[IntArray]:
    """The images to draw from: all together, or by class."""
    if draw.per_class is None:
        return [free]
    labels = test_set.labels[free]
    return [free[labels == label] for label in np.unique(test_set.labels[eligible]).tolist()]


class _Drawer:
    """Draws images without copies of excluded ones, and counts those that it leaves out."""

    def __init__(self, contents: ImageContents, excluded: ExcludedImages, progress: ImageProgress) -> None:
        self._contents = contents
        self._excluded = excluded
        self._progress = progress
        self.copies = 0
        self.seen = 0

    def draw(self, groups: Sequence[Sequence[int]], target: int) -> list[list[tuple[int, str | None]]]:
        """The first ``target`` images of each group, in its order, whose content is not excluded."""
        chosen: list[list[tuple[int, str | None]]] = [[] for _ in groups]
        begin = [0] * len(groups)
        while True:
            ends = [start + target - len(own) for start, own in zip(begin, chosen, strict=True)]
            steps = [group[start:end] for group, start, end in zip(groups, begin, ends, strict=True)]
            if not any(steps):
                return chosen
            hashes = iter(self._contents.of([position for step in steps for position in step], self._progress))
            for number, step in enumerate(steps):
                begin[number] += len(step)
                pairs = [(position, next(hashes)) for position in step]
                chosen[number] += [pair for pair in pairs if self._is_free(pair[1])]

    def _is_free(self, content: str | None) -> bool:
        if content is not None and content in self._excluded.queued.contents:
            self.copies += 1
        elif content is not None and self._excluded.has_seen(content):
            self.seen += 1
        else:
            return True
        return False


def _check_counts(test_set: TestSet, draw: LabelDraw, counts: Sequence[int], left_out: str) -> None:
    """Raise if what is requested cannot be drawn from groups of these sizes."""
    largest = max(counts, default=0)
    reason = f" ({left_out})" if left_out else ""
    if draw.per_class is not None and largest < draw.per_class:
        raise InputError(
            f"no class of {test_set.name} has {amount(draw.per_class, 'image')} that can be drawn, the largest has "
            f"{largest:,}{reason}"
        )
    if not largest or (draw.size is not None and not 1 <= draw.size <= largest):
        requested = "" if draw.size is None else f", got a size of {draw.size:,}"
        raise InputError(f"{amount(largest, 'image')} of {test_set.name} can be drawn{requested}{reason}")


def _short_classes(draw: LabelDraw, counts: Sequence[int]) -> str:
    """How many classes have fewer images than requested; empty if none has."""
    short = [count for count in counts if draw.per_class is not None and count < draw.per_class]
    if not short:
        return ""
    return (
        f"classes with fewer than {amount(draw.per_class or 0, 'image')} to draw: {len(short):,} of {len(counts):,}; "
        f"drawn of them: {amount(sum(short), 'image')}"
    )
