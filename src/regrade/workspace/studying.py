"""The studies that can be asked of a workspace, one method each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from regrade.core import ClassSpace
from regrade.core.arguments import member, refuse_text
from regrade.metrics import MultilabelRule
from regrade.stats import Scale
from regrade.store import Store
from regrade.studies import FAST_SECONDS, Generalization, Mistakes, People, Similarity, generalization
from regrade.workspace.generalizing import set_pairs
from regrade.workspace.likening import study_similarity
from regrade.workspace.loading import Watch
from regrade.workspace.mistaking import study_mistakes
from regrade.workspace.peopling import study_people


class Studies:
    """What a workspace's predictions show together."""

    store: Store

    def generalization(
        self,
        original: str,
        new: Sequence[str],
        *,
        models: Sequence[str] = (),
        scale: Scale | str = Scale.LOGIT,
        standard: Sequence[str] = (),
        within: str | ClassSpace | None = None,
        class_map: str | Path | None = None,
        seed: int = 0,
        watch: Watch = iter,
    ) -> Generalization:
        """Study whether accuracies on the ``original`` test set hold on ``new`` ones.

        The lines go through all models or those named ``standard``; effective robustness is against the line on
        ``scale`` (linear, probit or logit). ``within`` and ``class_map`` are as in `grade`; a new set in a part of
        the original's classes is held against the original among these. ``seed`` draws models for the intervals.
        """
        pairs = set_pairs(
            self.store, original, new, models=models, within=within, class_map=class_map, watch=watch
        )  # fmt: skip
        return generalization(
            pairs,
            rng=np.random.default_rng(seed),
            scale=member(Scale, scale),
            standard=standard,
            confidence=self.store.config.confidence,
        )

    def mistakes(
        self,
        test_set: str,
        *,
        labels: str,
        relabeled: str | None = None,
        collapsed: bool = False,
        models: Sequence[str] = (),
        against: str | None = None,
        other_sets: Sequence[str] = (),
        least_major: int | None = None,
        pairs_from: str | None = None,
        watch: Watch = iter,
    ) -> Mistakes:
        """Study the models' mistakes under a label set: which are any, of what kind, how grave, and whose.

        Verdicts on what was novel count, and so does a later version of the labels, ``relabeled``. A model without
        predictions stands for the review of its mistakes. ``against`` names the model that the others are held
        against, ``other_sets`` test sets whose reviews are compared, ``least_major`` how many reviews make an image a
        major mistake (three of four), and ``pairs_from`` the labels that show which classes occur together (``real``,
        or else the labels).
        """
        return study_mistakes(
            self.store,
            self.store.test_set(test_set),
            labels=labels,
            relabeled=relabeled,
            collapsed=collapsed,
            models=models,
            against=against,
            other_sets=other_sets,
            least_major=least_major,
            pairs_from=pairs_from,
            watch=watch,
        )

    def people(
        self,
        test_set: str,
        *,
        people: Sequence[str] = (),
        models: Sequence[str] = (),
        labels: str | None = None,
        rule: MultilabelRule | str | None = None,
        collapsed: bool = False,
        subsets: Sequence[str] = (),
        fast_seconds: float = FAST_SECONDS,
        seed: int = 0,
        watch: Watch = iter,
    ) -> People:
        """Hold people against models on the images that all these people were asked about, all of either unless named.

        With ``labels`` right means right under that label set. ``subsets`` are groups of classes such as ``objects``
        or ``without dogs``; an image is fast where the median person took at most ``fast_seconds``. ``seed`` draws
        the random sets of classes that subsets are held against.
        """
        refuse_text(subsets, "subsets")
        return study_people(
            self.store,
            self.store.test_set(test_set),
            persons=people,
            models=models,
            labels=labels,
            rule=rule,
            collapsed=collapsed,
            subsets=subsets,
            fast_seconds=fast_seconds,
            seed=seed,
            watch=watch,
        )

    def similarity(
        self,
        test_set: str,
        *,
        models: Sequence[str] = (),
        labels: str | None = None,
        slice: str | None = None,
        watch: Watch = iter,
    ) -> Similarity:
        """How alike all pairs of models are: do they err on the same images, and which belong together?

        All models of the test set unless ``models`` names some; ``labels`` and ``slice`` are as in `compare`.
        """
        target = self.store.test_set(test_set)
        return study_similarity(self.store, target, models, labels=labels, slice_name=slice, watch=watch)
