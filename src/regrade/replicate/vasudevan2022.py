"""Vasudevan et al. 2022, When does dough become a bagel?: mistakes, their categories, tests and comparisons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from regrade.classes import imagenet_1k
from regrade.core import (
    UNLABELED,
    FormatError,
    MistakeAnnotations,
    MistakeCategory,
    TestSet,
    hierarchy_distances,
)
from regrade.core.arrays import IntArray
from regrade.formats import MistakeFormat, read_mistake_file
from regrade.replicate.annotations import ANNOTATIONS, read_annotations
from regrade.replicate.cell import Cell, CellKind, Replication, printed_figure
from regrade.replicate.vasudevan2022_labels import AnnotatedMistakes
from regrade.stats import ChiSquare, chi_square
from regrade.studies.mistakes.categories import categories_of
from regrade.studies.mistakes.flow import change_between
from regrade.studies.mistakes.mistake_labels import reviewed_mistakes
from regrade.tables import read_json, texts

_PAPER = "vasudevan2022"
_VIT, _SOUPS, _NEW = "ViT-3B, ImageNet", "Greedy Soups, ImageNet", "ViT-3B, ImageNetV2"  # rows of Table 2
_FILES = {_VIT: "vit3b_mistakes.json", _SOUPS: "greedy_soups_mistakes.json"}
_PAIRS_FILE = "class_confusion_wnids.json"
_LABELS_FILE = Path("recht2019") / "imagenet-val.top5.parquet"
_SCORED_IMAGES = 18_692  # validation images with multi-label annotations that are not problematic
_CATEGORIES = (
    "Fine-grained (FG)",
    "FG w/ OOV",
    "Spurious",
    "Non-prototypical",
)  # columns of Table 2, in the order of MistakeCategory

_printed = partial(printed_figure, _PAPER)
_by_construction = partial(Cell, kind=CellKind.CONSTRUCTION)


@dataclass(frozen=True)
class _Counts:
    """The mistakes of a model by category, and the major ones among them."""

    categories: tuple[int, ...]
    major: int

    @property
    def total(self) -> int:
        return sum(self.categories)


_VIT_IN_TESTS = _Counts(
    (243, 54, 52, 31), 155
)  # 380 mistakes: the only counts near the released ones that reproduce the tests


def vasudevan2022(data: Path) -> Replication:
    """Recompute the paper's figures from its released mistakes and confused pairs."""
    released = _read_released(data)
    reviews = released.reviews
    counts = {row: _counted(review) for row, review in reviews.items()} | {_NEW: _new_images()}
    tests = _tests(counts[_VIT], counts)
    annotations = read_annotations(data)
    annotated = (
        None
        if annotations is None
        else AnnotatedMistakes(annotations, released.test_set.ids, reviews[_VIT], reviews[_SOUPS])
    )
    cells = (
        *_mistakes(counts),
        *_table_2(counts),
        *_test_cells(tests, "released mistakes"),
        *_test_cells(_tests(_VIT_IN_TESTS, counts), f"{_VIT_IN_TESTS.total} mistakes", CellKind.CONSTRUCTION),
        *_comparison(reviews),
        *_accuracies(counts),
        *_goblet_and_vase(data / _PAIRS_FILE),
        *_distances(released),
        *_resolved(counts[_VIT]),
        *_sums(),
        *(annotated.cells() if annotated else ()),
    )
    if annotated is None:
        return Replication.of(_PAPER, cells, _notes(released, tests), missing=ANNOTATIONS)
    return Replication.of(_PAPER, cells, (*_notes(released, tests), *annotated.notes(_SCORED_IMAGES)))


@dataclass(frozen=True)
class _Released:
    """The released mistakes of both models, and a test set of the images that either gets wrong."""

    test_set: TestSet
    reviews: Mapping[str, MistakeAnnotations]

    @property
    def labeled(self) -> bool:
        return bool((self.test_set.labels != UNLABELED).all())


def _read_released(data: Path) -> _Released:
    images: dict[str, None] = {}
    for file in _FILES.values():
        content = read_json(data / file)
        if not isinstance(content, dict):
            raise FormatError(f"{data / file}: expected a JSON object from image to mistake")
        images |= dict.fromkeys(content)
    test_set = TestSet("imagenet-val", imagenet_1k(), tuple(images), _original_labels(tuple(images), data))
    reviews = {
        row: read_mistake_file(data / file, test_set, form=MistakeFormat.VASUDEVAN2022, model=row).review
        for row, file in _FILES.items()
    }
    return _Released(test_set, reviews)


def _original_labels(images: Sequence[str], data: Path) -> IntArray:
    """The original labels, from the files of recht2019 in the next folder; the paper's files do not have them."""
    path = data.resolve().parent / _LABELS_FILE
    if not path.is_file():
        return np.full(len(images), UNLABELED)
    table = pq.read_table(path, columns=["image", "wnid"])
    label_of = dict(zip(texts(table, "image"), texts(table, "wnid"), strict=True))
    return np.array([imagenet_1k().index(label_of[image]) for image in images])


def _counted(review: MistakeAnnotations) -> _Counts:
    categories = tuple(int(review.of_category(category).sum()) for category in MistakeCategory)
    return _Counts(categories, int(review.major.sum()))


def _new_images() -> _Counts:
    """ViT-3B's mistakes on ImageNetV2, which were not released: the counts that give the printed percentages."""
    total = _printed("Section 4.2 text", "ImageNetV2 mistakes left for category and severity", "number").value
    columns = [f"Categories, {name}" for name in _CATEGORIES] + ["Severities, Major"]
    *categories, major = (round(_printed("Table 2", _NEW, column).value * total / 100) for column in columns)
    return _Counts(tuple(categories), major)


def _mistakes(counts: Mapping[str, _Counts]) -> Iterator[Cell]:
    vit, soups = counts[_VIT], counts[_SOUPS]
    yield Cell(_printed("Section 4 text", "ViT-3B mistakes on the re-labeled set", "number"), vit.total)
    yield Cell(_printed("Figure 1 caption", "mistakes after re-evaluation", "number"), vit.total)
    yield Cell(_printed("Figure 1 caption", "major errors", "number"), vit.major)
    yield Cell(_printed("Section 4.3 text", "Greedy Soups errors in the end", "number"), soups.total)
    fine_grained = vit.categories[0] + vit.categories[1]
    for row, count in (
        ("errors fine-grained in nature (in-vocabulary or OOV)", fine_grained),
        ("errors categorized as spurious correlation", vit.categories[2]),
        ("errors assessed as major", vit.major),
    ):
        yield Cell(_printed("Section 4.1 text", row, "share"), 100 * count / vit.total)


def _table_2(counts: Mapping[str, _Counts]) -> Iterator[Cell]:
    for row, mistakes in counts.items():
        kind, basis = (CellKind.CONSTRUCTION, "whole counts of 53") if row == _NEW else (CellKind.DATA, "")
        for column, count in zip(_CATEGORIES, mistakes.categories, strict=True):
            yield Cell(_printed("Table 2", row, f"Categories, {column}"), 100 * count / mistakes.total, basis, kind)
        for column, count in (("Major", mistakes.major), ("Minor", mistakes.total - mistakes.major)):
            yield Cell(_printed("Table 2", row, f"Severities, {column}"), 100 * count / mistakes.total, basis, kind)


_TestName = tuple[str, str]  # section, row


def _tests(vit: _Counts, counts: Mapping[str, _Counts]) -> dict[_TestName, ChiSquare]:
    """The tests of ViT-3B's mistakes against those of Greedy Soups and against those on ImageNetV2."""
    tests = {}
    for section, compared, mistakes in (
        ("Section 4.3 text", "ViT-3B against Greedy Soups", counts[_SOUPS]),
        ("Section 4.2 text", "ImageNet against ImageNetV2", counts[_NEW]),
    ):
        severities = [[group.major, group.total - group.major] for group in (vit, mistakes)]
        tests[section, f"chi-square test, mistake severity, {compared}"] = chi_square(severities)
        categories = [vit.categories, mistakes.categories]
        tests[section, f"chi-square test, mistake category, {compared}"] = chi_square(categories)
    return tests


def _test_cells(tests: Mapping[_TestName, ChiSquare], basis: str, kind: CellKind = CellKind.DATA) -> Iterator[Cell]:
    """The figures of tests; those from printed percentages of ImageNetV2 are by construction."""
    for (section, row), test in tests.items():
        how = CellKind.CONSTRUCTION if row.endswith("ImageNetV2") else kind
        yield from _test_figures(section, row, test, basis, how)


def _test_figures(section: str, row: str, test: ChiSquare, basis: str, kind: CellKind) -> Iterator[Cell]:
    yield _by_construction(_printed(section, row, "degrees of freedom"), test.freedom, basis)
    for column, value in (("N", test.n), ("chi-square", test.statistic), ("p-value", test.p_value)):
        yield Cell(_printed(section, row, column), value, basis, kind)


def _comparison(reviews: Mapping[str, MistakeAnnotations]) -> Iterator[Cell]:
    vit, soups = (reviewed_mistakes(reviews[row]) for row in (_VIT, _SOUPS))
    change = change_between(soups, vit, confidence=0.95)
    for row, count in (
        ("ViT-3B mistakes corrected by Greedy Soups", change.fixed),
        ("Greedy Soups mistakes where ViT-3B was correct", change.new),
        ("common mistakes with a different prediction", change.different),
    ):
        yield Cell(_printed("Section 4.3 text", row, "number"), count)


def _accuracies(counts: Mapping[str, _Counts]) -> Iterator[Cell]:
    for figure, row in (
        (_printed("Table 1", "ViT-3B", "All, MLA Re-labeled"), _VIT),
        (_printed("Section 4.3 text", "Greedy Soups", "MLA in the end"), _SOUPS),
    ):
        yield Cell(figure, 100 * (1 - counts[row].total / _SCORED_IMAGES), f"mean over {_SCORED_IMAGES:,} images")


def _goblet_and_vase(path: Path) -> Iterator[Cell]:
    listed = read_json(path)
    if not (isinstance(listed, list) and all(isinstance(row, list) and len(row) == 3 for row in listed)):
        raise FormatError(f"{path}: expected a list of [class, class, count]")
    space = imagenet_1k()
    goblet, vase = (space.names.index(name) for name in ("goblet", "vase"))
    pair = {space.ids[goblet], space.ids[vase]}
    mistakes = sum(count for *classes, count in listed if set(classes) == pair)
    yield Cell(_printed("Section 4.1 text", "model mistakes for goblet and vase", "number"), mistakes)
    distance = int(hierarchy_distances(space)[goblet, vase])
    yield Cell(_printed("Section 4.1 text", "hierarchy distance of goblet and vase", "distance"), distance, "max steps")


def _distances(released: _Released) -> Iterator[Cell]:
    """The percentage of fine-grained mistakes by distance from the original label, if labels are available."""
    if not released.labeled:
        return
    review = released.reviews[_VIT]
    distances = hierarchy_distances(released.test_set.class_space)
    at = distances[review.classes, released.test_set.labels[review.examples]]
    fine_grained = review.of_category(MistakeCategory.FINE_GRAINED)
    for distance in (1, 3):
        figure = _printed(
            "Section 4.1 text", f"errors at hierarchy distance {distance} assessed as fine-grained", "share"
        )
        yield Cell(figure, 100 * float(fine_grained[at == distance].mean()), "max steps")


def _count(section: str, row: str, column: str = "number") -> int:
    return int(_printed(f"Section {section} text", row, column).value)


def _resolved(vit: _Counts) -> Iterator[Cell]:
    """Mistakes that the review resolved: tests and percentages from printed counts and the released mistakes."""
    row = "ImageNet mistakes problematic or correct"
    right, mistakes = _count("4.2", row, "numerator"), _count("4.2", row, "denominator")
    right_new = _count("4.2", "sampled ImageNetV2 predictions correct or with problematic labels")
    sampled = _count("4.2", "ImageNetV2 errors sampled")
    test = chi_square([[right, mistakes - right], [right_new, sampled - right_new]])
    test_row = "chi-square test, correct or problematic, ImageNet against ImageNetV2"
    yield from _test_figures("Section 4.2 text", test_row, test, "printed counts", CellKind.CONSTRUCTION)
    yield _by_construction(_printed("Section 4.2 text", row, "share"), 100 * right / mistakes, "printed counts")
    resolved = mistakes - vit.total
    for where, row, column, ours in (
        ("Section 4 text", "correct or unclear, or ground truth incorrect or problematic", "number", resolved),
        ("Section 4 text", "initial mistakes determined to be correct", "share", 100 * resolved / mistakes),
        ("Figure 1 caption", "original mistakes determined to be correct", "number", resolved),
    ):
        yield _by_construction(_printed(where, row, column), ours, "676 less the released")


def _sums() -> Iterator[Cell]:
    """Sums and percentages of printed counts."""
    remaining = _count("3.1", "initial mistakes") - _count(
        "3.1", "novel predictions deemed correct (or ground truth incorrect)"
    )
    overturned = sum(_count("4.3", f"novel predictions {outcome}") for outcome in ("problematic", "correct"))
    novel = "novel predictions problematic or correct"
    kinds = ("fine-grained", "spurious correlation", "out-of-vocabulary", "non-prototypical")
    duplicates = "validation images that are exact duplicates in the training set"
    validation = _count("2", "ImageNet validation images")
    for section, row, column, ours in (
        ("3.1", "remaining mistakes after the panel review", "number", remaining),
        ("4.3", novel, "share", 100 * overturned / _count("4.3", novel, "denominator")),
        ("4.5", duplicates, "share", 100 * _count("4.5", duplicates) / validation),
        (
            "5.1",
            "major mistakes selected (ImageNet-M)",
            "number",
            sum(_count("5.1", f"ImageNet-M: {kind} failures") for kind in kinds),
        ),
    ):
        yield _by_construction(_printed(f"Section {section} text", row, column), ours, "printed counts")


def _paired_notes(reviews: Mapping[str, MistakeAnnotations]) -> Iterator[str]:
    """The paired tests of two models on the same images, which the paper tests as independent samples."""
    pair = [reviews[row] for row in (_VIT, _SOUPS)]
    for test in categories_of(pair, home=pair[0].test_set, confidence=0.95).tests:
        if test.test is not None and test.paired is not None:
            yield (
                f"{test.of}, ViT-3B against Greedy Soups, released mistakes: p = {test.test.p_value:.4f} by the "
                f"paper's test for independent samples, p = {test.paired.p_value:.4f} by the paired test, as "
                f"{test.paired.shared:,} of {test.paired.images:,} images are mistakes of both"
            )


def _notes(released: _Released, tests: Mapping[_TestName, ChiSquare]) -> tuple[str, ...]:
    labels = (
        ""
        if released.labeled
        else f"hierarchy distances need the images' own labels: no {_LABELS_FILE} beside the data"
    )
    return (
        "counts of ImageNetV2 and of resolved mistakes were printed, not released",
        f"accuracies are means over the {_SCORED_IMAGES:,} images that are not problematic, the paper's over classes",
        "chi-square: Pearson's; Yates' correction would give none of the printed values",
        *_paired_notes(released.reviews),
        *(f"{row}: {test.warning}" for (_, row), test in tests.items() if test.warning),
        *([labels] if labels else []),
    )
