"""regrade build compare: does a pool look like the reference set?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from regrade.build.comparison import (
    SIZES,
    ComparedProperty,
    ComparedValue,
    Conclusion,
    ImageSizes,
    ProfiledSet,
    compare_sets,
    in_classes_of,
)
from regrade.build.comparison_figure import comparison_figure
from regrade.build.pool_images import source_of
from regrade.core import Column, InputError, Table, Tabular, TestSet
from regrade.core.amounts import amount
from regrade.neighbors import no_progress
from regrade.store import Store
from regrade.studies.leakage.signatures import ImageProgress
from regrade.studies.study import Parts, Study, StudyOptions, option, seed_option
from regrade.testsets import image_headers


class ComparePart(Enum):
    """The tables of a comparison."""

    PROPERTIES = "properties"
    VALUES = "values"


@dataclass(frozen=True)
class PoolCompareOptions(StudyOptions):
    """The pool, the reference set, and whether image sizes are read."""

    pool: str = option("Test set with the candidates.", is_argument=True, metavar="POOL")
    reference: str = option("Test set to compare with.", metavar="SET")
    sizes: bool = option(
        "Compare image sizes, which reads the header of every image.", True, names=("--sizes/--no-sizes",)
    )
    seed: int = seed_option("the permutations")
    image_progress: ImageProgress = field(default=no_progress, kw_only=True, compare=False, repr=False)


@dataclass(frozen=True, repr=False)
class PoolComparison(Tabular):
    """The properties of a pool and a reference set, which of them differ, and their values."""

    pool: str
    reference: str
    pool_images: int
    reference_images: int
    confidence: float
    properties: tuple[ComparedProperty, ...]
    values: tuple[ComparedValue, ...]
    notes: tuple[str, ...]

    @property
    def parts(self) -> tuple[ComparePart, ...]:
        """The tables that have rows, the main one first."""
        return tuple(ComparePart) if self.values else (ComparePart.PROPERTIES,)

    def table(self) -> Table:
        """One row per property."""
        return self.part(ComparePart.PROPERTIES)

    def part(self, part: ComparePart) -> Table:
        """One of the tables."""
        return self._properties() if part is ComparePart.PROPERTIES else self._values()

    def _properties(self) -> Table:
        columns = (
            Column("property", "property"),
            Column("pool_images", f"{self.pool} images"),
            Column("reference_images", f"{self.reference} images"),
            Column("effect", "effect size", percent=False, digits=2),
            Column("critical_effect", "significant above", percent=False, digits=2),
            Column("holm", "p (Holm)", percent=False, digits=3, floor=0.001),
            Column("conclusion", "conclusion"),
        )
        compared = [row for row in self.properties if row.conclusion is not Conclusion.NOT_COMPARED]
        rows = tuple(
            (
                row.name,
                row.pool_images,
                row.reference_images,
                row.effect,
                row.critical_effect,
                row.holm,
                row.conclusion.value,
            )
            for row in compared
        )
        skipped = [f"{row.name}: not compared: {row.note}" for row in self.properties if row not in compared]
        note = (
            "effect size: Kolmogorov-Smirnov distance of dates, sizes and images per author, otherwise Cramér's V; p: "
            f"permutations, corrected for {amount(len(compared), 'property', 'properties')}"
        )
        notes = (*([note] if compared else []), *skipped, *self.notes)
        return Table(f"{self.pool} compared with {self.reference}", columns, rows, notes)

    def _values(self) -> Table:
        columns = (
            Column("property", "property"),
            Column("value", "value"),
            Column("pool", self.pool, percent=False, digits=0),
            Column("pool_share", "share (%)"),
            Column("reference", self.reference, percent=False, digits=0),
            Column("reference_share", "share (%)"),
        )
        rows = tuple(
            (row.name, row.value, row.pool, row.pool_share, row.reference, row.reference_share) for row in self.values
        )
        note = "shares of the images with the property, or of authors or classes"
        return Table(f"{self.pool} and {self.reference}: values", columns, rows, (note,))


def run(store: Store, options: PoolCompareOptions) -> PoolComparison:
    """Compare dates, image sizes, authors, licenses, keywords and classes of a pool with those of a reference set."""
    if options.pool == options.reference:
        raise InputError(f"--reference must differ from {options.pool}")
    pool, whole = store.test_set(options.pool), store.test_set(options.reference)
    reference = in_classes_of(pool, whole)
    sides = [_profiled(store, side, options) for side in (pool, reference)]
    comparison = compare_sets(*sides, rng=np.random.default_rng(options.seed), confidence=store.config.confidence)
    notes = comparison.notes
    if left_out := len(whole) - len(reference):
        notes = (f"{amount(left_out, 'image')} of {whole.name} left out: no candidate is of their classes", *notes)
    return PoolComparison(
        pool.name,
        reference.name,
        len(pool),
        len(reference),
        store.config.confidence,
        comparison.properties,
        comparison.values,
        notes,
    )


def _profiled(store: Store, test_set: TestSet, options: PoolCompareOptions) -> ProfiledSet:
    if not options.sizes or not store.images.has(test_set.name):
        return ProfiledSet(test_set)
    stored = store.test_set(test_set.name)
    source = store.images.read(stored)
    source = source_of(source, [source.locations[stored.position(image)] for image in test_set.ids])
    rows = list(options.image_progress(image_headers(source), len(test_set)))
    columns = (
        [np.nan if row is None else row.width for row in rows],
        [np.nan if row is None else row.height for row in rows],
        [np.nan if row is None or row.file_bytes is None else row.file_bytes for row in rows],
    )
    sizes: Mapping[str, np.ndarray] = {name: np.array(own, float) for name, own in zip(SIZES, columns, strict=True)}
    return ProfiledSet(test_set, ImageSizes(sizes, sum(row is None for row in rows)))


BUILD_COMPARE = Study(
    name="compare",
    question="Does the pool look like the reference set?",
    summary="Compare dates, image sizes, authors, licenses, keywords and classes of a pool with a reference set.",
    options=PoolCompareOptions,
    result=PoolComparison,
    run=run,
    figure=lambda result: comparison_figure(result.pool, result.reference, result.properties, result.values),
    parts=Parts(ComparePart, "Table to print. values: the counts, shares and quantiles of every property."),
)
