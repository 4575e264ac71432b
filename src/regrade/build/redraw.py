"""Draw a revision again from frequencies and settings, to check that it follows from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from regrade.build.eligibility import Candidate, Eligibility, Exclusion
from regrade.build.samplers import DrawOptions, Sample
from regrade.build.steps.sample import DrawData, SampleOptions, drawn_sample


def sample_options(build: str, settings: Mapping[str, Any]) -> SampleOptions:
    """The options of a draw from the settings that are stored with a revision."""
    names = set(SampleOptions.flags()) - {"build", "blacklist"}
    return SampleOptions(build, **{name: value for name, value in settings.items() if name in names})


def redraw(
    options: SampleOptions,
    candidates: Sequence[Candidate],
    references: Sequence[Candidate],
    *,
    previous: frozenset[str],
    excluded: Mapping[tuple[str, str], Exclusion],
    keyword_counts: Mapping[str, Mapping[str, int]],
    scores: Mapping[str, float],
) -> Sample:
    """The sample that options and frequencies lead to.

    Images that were excluded by name, such as near-duplicates, are taken from ``excluded`` (by image and class);
    exclusions by frequency or number of answers are decided again. ``scores`` are the confusion scores of images, for
    draws that use them.
    """

    def named(reason: Exclusion) -> frozenset[str]:
        return frozenset(image for (image, _), own in excluded.items() if own is reason)

    eligibility = Eligibility(
        named(Exclusion.BLACKLISTED),
        named(Exclusion.NEAR_DUPLICATE),
        named(Exclusion.UNREVIEWED),
        options.min_answers,
    )
    draw = DrawOptions(options.per_class, options.seed, eligibility, previous)
    return drawn_sample(options, draw, candidates, references, DrawData(lambda: keyword_counts, lambda: scores))
