"""A revision with everything it was drawn from: the pool, the reference set, the answers and the settings."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from regrade.build.eligibility import Candidate
from regrade.build.files import RevisionCollection, StoredRevision
from regrade.build.frequencies import SelectionFrequencies
from regrade.build.redraw import redraw, sample_options
from regrade.build.samplers import Sample
from regrade.build.steps.frequencies import LoadedAnswers, load_answers
from regrade.build.steps.revisions import read_revisions
from regrade.build.steps.sample import SampleOptions, keywords_of, reference_keywords, scores_for
from regrade.core import TestSet
from regrade.store import Store


@dataclass(frozen=True, eq=False)
class DrawnRevision:
    """A stored revision, and the answers without those of the workers that were left out of it."""

    store: Store
    revision: StoredRevision
    loaded: LoadedAnswers

    @property
    def sample(self) -> Sample:
        """What was drawn."""
        return self.revision.sample

    @cached_property
    def images(self) -> tuple[str, ...]:
        """The drawn images."""
        return tuple(image for image, _ in self.sample.examples)

    @cached_property
    def pool(self) -> TestSet:
        """The pool."""
        return self.store.test_set(self.loaded.tasks.pool)

    @cached_property
    def reference(self) -> TestSet:
        """The reference set, from which controls were drawn."""
        return self.store.test_set(self.loaded.tasks.reference)

    @cached_property
    def settings(self) -> SampleOptions:
        """The options of the draw."""
        return sample_options(self.revision.build, self.revision.settings)

    @cached_property
    def frequencies(self) -> SelectionFrequencies:
        """The frequencies of all images."""
        return self.loaded.frequencies()

    @cached_property
    def candidates(self) -> list[Candidate]:
        """All candidates."""
        return self.frequencies.candidates(keywords_of(self.pool, self.settings))

    @cached_property
    def annotated(self) -> list[Candidate]:
        """The reference images with enough answers."""
        fewest = max(self.settings.min_answers, 1)
        return [image for image in self.frequencies.references() if image.assignments >= fewest]

    def chosen(self, sample: Sample) -> list[Candidate]:
        """The candidates of a sample."""
        by_entry = {(candidate.image, candidate.class_id): candidate for candidate in self.candidates}
        return [by_entry[example] for example in sample.examples]

    def draw(self, options: SampleOptions, previous: frozenset[str] = frozenset()) -> Sample:
        """What these options draw from the candidates of the revision; nothing is stored."""
        excluded = {(image, of.class_id): why for of in self.sample.classes for image, why in of.excluded.items()}
        return redraw(
            options,
            self.candidates,
            self.frequencies.references(),
            previous=previous,
            excluded=excluded,
            keyword_counts=reference_keywords(self.reference, options),
            scores=scores_for(self.store, self.pool, options),
        )

    def draw_again(self) -> Sample:
        """What the settings of the revision draw from the answers that are stored now."""
        before = self.settings.continue_from
        previous: frozenset[str] = frozenset()
        if before is not None:
            examples = RevisionCollection(self.store.root).read(self.revision.build, before).sample.examples
            previous = frozenset(image for image, _ in examples)
        return self.draw(self.settings, previous)


def drawn_revision(store: Store, build: str, number: int | None) -> DrawnRevision:
    """Read a revision of a build (default: the last one)."""
    if number is None:
        revision = read_revisions(store, build)[-1]
    else:
        revision = RevisionCollection(store.root).read(build, number)
    return DrawnRevision(
        store, revision, load_answers(store, build, excluded=revision.settings.get("exclude_workers", ()))
    )


def mean_frequency_of(images: list[Candidate]) -> float | None:
    """The mean observed frequency of images; None without any."""
    return float(np.mean([image.frequency for image in images])) if images else None
