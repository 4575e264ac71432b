"""The studies that can be asked of a workspace, one method each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from regrade.core import ClassSpace, Distance
from regrade.core.arguments import member, refuse_text
from regrade.metrics import MultilabelRule
from regrade.neighbors import NEIGHBORS, SIZE, NeighborEngine
from regrade.neighbors import no_progress as unwatched
from regrade.stats import Scale
from regrade.store import Store
from regrade.studies import (
    DRAWS,
    FAST_SECONDS,
    Confusion,
    Generalization,
    Geography,
    HardRule,
    Leakage,
    Mistakes,
    People,
    Similarity,
    generalization,
)
from regrade.workspace.confusion_loader import KeptHardSet, keep_hard_set, study_confusion
from regrade.workspace.generalization_loader import set_pairs
from regrade.workspace.geography_loader import study_geography
from regrade.workspace.leakage_loader import check_pairs_file, search_for, study_leakage, write_pairs
from regrade.workspace.loading import ProgressCallback
from regrade.workspace.mistakes_loader import study_mistakes
from regrade.workspace.people_loader import study_people
from regrade.workspace.signature_loader import ImageProgress
from regrade.workspace.similarity_loader import study_similarity


class Studies:
    """What a workspace's predictions show together."""

    store: Store

    def confusion(
        self,
        test_set: str,
        *,
        ensembles: Sequence[str] = (),
        members: Sequence[str] = (),
        models: Sequence[str] = (),
        base: float = 2.0,
        bin_width: float = 0.1,
        above: float | None = None,
        hardest: int | None = None,
        per_class: bool = False,
        unlabeled: str | None = None,
        seed: int = 0,
        watch: ProgressCallback = iter,
    ) -> Confusion:
        """Study which images confuse an ensemble while it is trained, and whether they confuse other models too.

        The first of ``ensembles`` scores the images, the only one that is stored unless named; others are compared with
        it. Or ``members`` are models whose full scores are stored: an ensemble of one epoch. ``models`` are held
        against the scores, all unless some are named. Hard images have a score of ``above`` or more, or are the
        ``hardest`` so many, ``per_class`` or in all; a tenth unless told. ``unlabeled`` is a test set with checkpoints
        of the same ensemble, whose error is to be expected. ``base`` is that of the logarithm: 2 for bits.
        """
        chosen = any(each is not None for each in (above, hardest)) or per_class
        return study_confusion(
            self.store,
            self.store.test_set(test_set),
            ensembles=ensembles,
            members=members,
            models=models,
            base=base,
            bin_width=bin_width,
            hard=HardRule(above, hardest, per_class) if chosen else None,
            unlabeled=unlabeled,
            seed=seed,
            watch=watch,
        )

    def keep_hard_set(self, found: Confusion, name: str) -> KeptHardSet:
        """Store a study's hard images as a test set of their own, and as a slice of the set that they come from."""
        return keep_hard_set(self.store, found, name)

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
        bootstrap: bool = False,
        seed: int = 0,
        watch: ProgressCallback = iter,
    ) -> Generalization:
        """Study whether accuracies on the ``original`` test set hold on ``new`` ones.

        The lines go through all models or those named ``standard``; effective robustness is against the line on
        ``scale`` (linear, probit or logit). ``within`` and ``class_map`` are as in `grade`; a new set in a part of
        the original's classes is held against the original among these. ``bootstrap`` adds the percentile
        intervals of published lines, over draws of models from ``seed``.
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
            draws=DRAWS if bootstrap else 0,
        )

    def geography(
        self,
        test_set: str,
        *,
        by: str,
        original: str | None = None,
        standard: Sequence[str] = (),
        models: Sequence[str] = (),
        top: int = 1,
        between: Sequence[tuple[str, str]] = (),
        clusters: str | None = None,
        parts: int | None = None,
        growth: tuple[str, str] | None = None,
        class_map: str | Path | None = None,
        seed: int = 0,
        watch: ProgressCallback = iter,
    ) -> Geography:
        """Study models by the groups of a column: region, country, income or any other.

        With the ``original`` test set there are progress rates and the disparity's growth, and with ``standard`` ones
        progress gaps. An answer is right if the label is among the best ``top``. ``between`` names pairs of groups,
        ``clusters`` the column of what was drawn together (``household`` where there is one), ``parts`` into how many
        numbers are cut, ``growth`` a strong and a weak model instead of the best and the weakest quarter.
        """
        return study_geography(
            self.store,
            self.store.test_set(test_set),
            by=by,
            original=original,
            standard=standard,
            models=models,
            top=top,
            between=between,
            clusters=clusters,
            parts=parts,
            growth=growth,
            class_map=class_map,
            seed=seed,
            watch=watch,
        )

    def leakage(
        self,
        test_set: str,
        *,
        against: str | Path | None = None,
        by: Sequence[Distance | str] = (),
        near: Mapping[str, float] | None = None,
        model: str | None = None,
        most: int = NEIGHBORS,
        size: int = SIZE,
        engine: NeighborEngine | str = NeighborEngine.NUMPY,
        pairs: str | Path | None = None,
        watch: ProgressCallback = iter,
        watch_images: ImageProgress = unwatched,
    ) -> Leakage:
        """Study which images have twins ``against`` another test set or a folder, or within the test set itself.

        ``by`` names distances (exact, pixels, dssim, phash, and features where a ``model`` is named whose they are) and
        ``near`` their cuts where they are not the usual ones. A image lists at most so many twins. ``pairs`` is a
        .csv or .html file to write the pairs to, for people to judge.
        """
        target = None if pairs is None else Path(pairs)
        check_pairs_file(target)
        search = search_for(by, near or {}, most=most, size=size, engine=engine, model=model)
        found = study_leakage(self.store, test_set, against, search, watch=watch, watch_images=watch_images)
        if target is not None:
            write_pairs(found, target)
        return found.result

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
        watch: ProgressCallback = iter,
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
        watch: ProgressCallback = iter,
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
        watch: ProgressCallback = iter,
    ) -> Similarity:
        """How alike all pairs of models are: do they err on the same images, and which belong together?

        All models of the test set unless ``models`` names some; ``labels`` and ``slice`` are as in `compare`.
        """
        target = self.store.test_set(test_set)
        return study_similarity(self.store, target, models, labels=labels, slice_name=slice, watch=watch)
