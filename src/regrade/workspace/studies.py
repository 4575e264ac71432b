"""The studies of a workspace, one method each."""

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
    """The study methods of a workspace."""

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
        progress: ProgressCallback = iter,
    ) -> Confusion:
        """Study which images confuse an ensemble during training, and whether they confuse other models too.

        The first of ``ensembles`` (default: the only stored one) scores the images; further ones are compared with it.
        Alternatively, ``members`` are models with stored full scores: an ensemble of one epoch. ``models`` (default:
        all) are compared with the scores. Hard images have a score of at least ``above``, or are the ``hardest`` N
        images, in total or ``per_class`` (default: a tenth). ``unlabeled`` is a test set with checkpoints of the same
        ensemble, for which the expected error is estimated. ``base`` is the base of the logarithm: 2 for bits.
        """
        has_rule = any(limit is not None for limit in (above, hardest)) or per_class
        return study_confusion(
            self.store,
            self.store.test_set(test_set),
            ensembles=ensembles,
            members=members,
            models=models,
            base=base,
            bin_width=bin_width,
            hard=HardRule(above, hardest, per_class) if has_rule else None,
            unlabeled=unlabeled,
            seed=seed,
            progress=progress,
        )

    def keep_hard_set(self, result: Confusion, name: str) -> KeptHardSet:
        """Store a study's hard images as a test set of their own and as a slice of the source test set."""
        return keep_hard_set(self.store, result, name)

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
        progress: ProgressCallback = iter,
    ) -> Generalization:
        """Study how accuracies on the ``original`` test set carry over to ``new`` ones.

        Lines are fitted to all models or to those in ``standard``; effective robustness is relative to the line on
        ``scale`` (linear, probit or logit). ``within`` and ``class_map`` are as in `grade`; if a new set has a part
        of the original's classes, the original is scored within these. ``bootstrap`` adds percentile intervals as in
        published studies, from resampled models with ``seed``.
        """
        pairs = set_pairs(
            self.store, original, new, models=models, within=within, class_map=class_map, progress=progress
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
        progress: ProgressCallback = iter,
    ) -> Geography:
        """Study accuracy by the groups of a column: region, country, income or any other.

        With ``original`` there are progress rates and the growth of the disparity, with ``standard`` progress gaps. A
        prediction is correct if the label is among the ``top`` classes. ``between`` names pairs of groups, ``clusters``
        the column of sampling clusters (default: ``household`` if present), ``parts`` the number of quantile groups
        of a numeric column, ``growth`` a strong and a weak model instead of the best and the worst quarter.
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
            progress=progress,
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
        progress: ProgressCallback = iter,
        image_progress: ImageProgress = unwatched,
    ) -> Leakage:
        """Find near duplicates ``against`` another test set or a folder, or within the test set itself.

        ``by`` names distances (exact, pixels, dssim, phash, and features of a ``model``) and ``near`` overrides their
        default thresholds. ``most`` limits the near duplicates listed per image. ``pairs`` is a .csv or .html file to
        write the pairs to, for people to judge.
        """
        target = None if pairs is None else Path(pairs)
        check_pairs_file(target)
        search = search_for(by, near or {}, most=most, size=size, engine=engine, model=model)
        search_result = study_leakage(
            self.store, test_set, against, search, progress=progress, image_progress=image_progress
        )
        if target is not None:
            write_pairs(search_result, target)
        return search_result.result

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
        progress: ProgressCallback = iter,
    ) -> Mistakes:
        """Study the models' mistakes under a label set: which of them are mistakes, their kind and their severity.

        Decisions on novel predictions count, and so does a later version of the labels, ``relabeled``. A model without
        predictions is studied by the review of its mistakes. ``against`` names the model that the others are compared
        with, ``other_sets`` test sets whose reviews are compared, ``least_major`` how many reviews make an image a
        major mistake (default: three of four), and ``pairs_from`` the labels that show which classes occur together
        (default: ``real`` if stored, otherwise ``labels``).
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
            progress=progress,
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
        progress: ProgressCallback = iter,
    ) -> People:
        """Compare people with models (default: all of both) on the images that all these people answered.

        With ``labels`` answers are scored against that label set. ``subsets`` are groups of classes such as ``objects``
        or ``without dogs``; an image is fast if the median person took at most ``fast_seconds``. ``seed`` draws the
        random sets of classes that subsets are compared with.
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
            progress=progress,
        )

    def similarity(
        self,
        test_set: str,
        *,
        models: Sequence[str] = (),
        labels: str | None = None,
        slice: str | None = None,
        progress: ProgressCallback = iter,
    ) -> Similarity:
        """Study the similarity of all pairs of models: whether they err on the same images, and clusters of models.

        ``models`` defaults to all models of the test set; ``labels`` and ``slice`` are as in `compare`.
        """
        target = self.store.test_set(test_set)
        return study_similarity(self.store, target, models, labels=labels, slice_name=slice, progress=progress)
