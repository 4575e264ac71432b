"""A study of confusion from what a workspace stores, and the hard set that it finds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from regrade.core import AlreadyStored, Checkpoints, InputError, Predictions, ScoreKind, SliceSet, TestSet
from regrade.core.arguments import refuse_text
from regrade.core.arrays import FloatArray
from regrade.store import Store, keep_slices
from regrade.studies import Confusion, HardRule, Scoring, UnlabeledInputs, confusion, scoring_for
from regrade.testsets import images_are_missing
from regrade.workspace.loading import ProgressCallback, chosen_models, scored_predictions
from regrade.workspace.test_set_adding import listed_in_catalog

_MEMBERS = "models"  # what an ensemble is called that is made up of models


@dataclass(frozen=True)
class KeptHardSet:
    """A hard set that was stored: as a test set of its own, and as a slice of the one that it comes from."""

    test_set: TestSet
    slices: SliceSet
    images: bool
    new: bool


def study_confusion(
    store: Store,
    test_set: TestSet,
    *,
    ensembles: Sequence[str],
    members: Sequence[str],
    models: Sequence[str],
    base: float,
    bin_width: float,
    hard: HardRule | None,
    unlabeled: str | None,
    seed: int,
    watch: ProgressCallback,
) -> Confusion:
    """Study the ensembles that are named, or the only one that is stored, or models as the members of one."""
    refuse_text(ensembles, "ensembles")
    chosen = _ensembles(store, test_set, ensembles, members)
    other = None
    if unlabeled is not None:
        there = store.test_set(unlabeled)
        if there.name == test_set.name:
            raise InputError(f"{unlabeled} cannot be learned on itself: name another set")
        first = _members(store, there, members) if members else store.checkpoints(there, chosen[0].ensemble)
        known = store.model_names(there.name)
        both = tuple(name for name in chosen_models(store, test_set, models) if name in known)
        scored = list(scored_predictions(store, there, both, watch=watch)) if both else []
        other = UnlabeledInputs(there, first, scored, _own(store, there, first))
    names = chosen_models(store, test_set, models)
    return confusion(
        test_set,
        chosen,
        scored_predictions(store, test_set, names, watch=watch) if names else (),
        rng=np.random.default_rng(seed),
        own=_own(store, test_set, chosen[0]),
        base=base,
        bin_width=bin_width,
        hard=hard,
        unlabeled=other,
        confidence=store.config.confidence,
    )


def keep_hard_set(store: Store, found: Confusion, name: str) -> KeptHardSet:
    """Store a study's hard set as a test set, with images where there are any, and as a slice of its source."""
    if found.hard is None:
        raise InputError("this study has no hard set: " + "; ".join(found.notes))
    if listed_in_catalog(name):
        raise InputError(f"{name} is a set of the catalog: call one that is made here by another name")
    source = store.test_set(found.test_set)
    test_set, slices = found.hard.as_test_set(source, name), found.hard.as_slices(name)
    with_images = store.has_images(source.name)
    with store.transaction():
        if store.has_test_set(name) and store.test_set(name).digest != test_set.digest:
            raise AlreadyStored(f"another test set is stored as {name!r}: choose another name")
        kept = keep_slices(store, slices)
        class_map = store.class_map(source)
        if with_images:
            positions = np.flatnonzero(found.hard.inside).tolist()
            images = store.images(source)
            locations = tuple(images.locations[position] for position in positions)
            kept_images = replace(images, locations=locations)
            stored = store.add_images(test_set, kept_images, class_map, is_missing=images_are_missing)
        else:
            stored = store.add_test_set(test_set, class_map)
    return KeptHardSet(test_set, slices, with_images, bool(stored.new or kept.new))


def _ensembles(store: Store, test_set: TestSet, names: Sequence[str], members: Sequence[str]) -> list[Checkpoints]:
    if members:
        return [_members(store, test_set, members), *(store.checkpoints(test_set, name) for name in names)]
    known = names or store.ensemble_names(test_set.name)
    if not names and len(known) != 1:
        there = f": there are {', '.join(known)}" if known else " yet: regrade import checkpoints"
        raise InputError(f"{'name an ensemble of' if known else 'there is no ensemble on'} {test_set.name}{there}")
    return [store.checkpoints(test_set, name) for name in known]


def _members(store: Store, test_set: TestSet, names: Sequence[str]) -> Checkpoints:
    """Models with full scores in the same classes as the members of an ensemble of one epoch."""
    found = [_with_scores(store.predictions(test_set, name)) for name in chosen_models(store, test_set, names)]
    if len({(one.class_space, one.score_kind) for one in found}) > 1:
        told = ", ".join(f"{one.model} {_kind(one).value} of {one.class_space}" for one in found)
        raise InputError(f"members of one ensemble need the same classes and the same kind of scores: {told}")
    first = found[0]

    def read(member: int, _epoch: int) -> FloatArray:
        scores = found[member].full_scores
        if scores is None:
            raise InputError(f"model {found[member].model} has no full scores")
        return scores

    space = store.class_space(first.class_space)
    return Checkpoints(
        found[0].model if len(found) == 1 else _MEMBERS,
        test_set.name,
        space.name,
        _kind(first),
        tuple(one.model for one in found),
        (1,),
        len(test_set),
        len(space),
        read,
    )


def _with_scores(predictions: Predictions) -> Predictions:
    if predictions.full_scores is None or predictions.score_kind is None:
        raise InputError(
            f"model {predictions.model!r} has no full scores on {predictions.test_set}: import them, or predict with "
            "--keep scores"
        )
    return predictions


def _kind(predictions: Predictions) -> ScoreKind:
    return predictions.score_kind or ScoreKind.LOGITS


def _own(store: Store, test_set: TestSet, checkpoints: Checkpoints) -> Scoring:
    """How the ensemble's own answers are scored: as any model's would be."""
    predicted = store.class_space(checkpoints.class_space)
    stored = store.class_map(test_set)
    fits = stored is not None and stored.source.digest == predicted.digest
    return scoring_for(test_set, predicted, class_map=stored if fits else None)
