"""Confusion study on the data of a workspace, and storing its hard set."""

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

_MEMBERS = "models"  # name of an ensemble whose members are models


@dataclass(frozen=True)
class KeptHardSet:
    """A stored hard set: a test set of its own and a slice of the source test set."""

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
    progress: ProgressCallback,
) -> Confusion:
    """Study the named ensembles, the only stored one, or an ensemble whose members are models."""
    refuse_text(ensembles, "ensembles")
    chosen = _ensembles(store, test_set, ensembles, members)
    without_labels = None
    if unlabeled is not None:
        target = store.test_set(unlabeled)
        if target.name == test_set.name:
            raise InputError(f"unlabeled must differ from the labeled set: {unlabeled} is both")
        first = _members(store, target, members) if members else store.checkpoints(target, chosen[0].ensemble)
        stored_models = store.model_names(target.name)
        both = tuple(name for name in chosen_models(store, test_set, models) if name in stored_models)
        scored = list(scored_predictions(store, target, both, progress=progress)) if both else []
        without_labels = UnlabeledInputs(target, first, scored, _ensemble_scoring(store, target, first))
    names = chosen_models(store, test_set, models)
    return confusion(
        test_set,
        chosen,
        scored_predictions(store, test_set, names, progress=progress) if names else (),
        rng=np.random.default_rng(seed),
        own=_ensemble_scoring(store, test_set, chosen[0]),
        base=base,
        bin_width=bin_width,
        hard=hard,
        unlabeled=without_labels,
        confidence=store.config.confidence,
    )


def keep_hard_set(store: Store, result: Confusion, name: str) -> KeptHardSet:
    """Store a study's hard set as a test set, with images if there are any, and as a slice of its source."""
    if result.hard is None:
        raise InputError("this study has no hard set: " + "; ".join(result.notes))
    if listed_in_catalog(name):
        raise InputError(f"{name} is the name of a test set in the catalog: choose another name")
    source = store.test_set(result.test_set)
    test_set, slices = result.hard.as_test_set(source, name), result.hard.as_slices(name)
    with_images = store.has_images(source.name)
    with store.transaction():
        if store.has_test_set(name) and store.test_set(name).digest != test_set.digest:
            raise AlreadyStored(f"a different test set is stored as {name!r}: choose another name")
        kept = keep_slices(store, slices)
        class_map = store.class_map(source)
        if with_images:
            positions = np.flatnonzero(result.hard.inside).tolist()
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
    stored_names = names or store.ensemble_names(test_set.name)
    if not names and len(stored_names) != 1:
        hint = f": stored are {', '.join(stored_names)}" if stored_names else " yet: run regrade import checkpoints"
        raise InputError(
            f"{'name an ensemble of' if stored_names else 'there is no ensemble on'} {test_set.name}{hint}"
        )
    return [store.checkpoints(test_set, name) for name in stored_names]


def _members(store: Store, test_set: TestSet, names: Sequence[str]) -> Checkpoints:
    """An ensemble of one epoch whose members are models with full scores in the same classes."""
    members = [_with_scores(store.predictions(test_set, name)) for name in chosen_models(store, test_set, names)]
    if len({(member.class_space, member.score_kind) for member in members}) > 1:
        described = ", ".join(f"{member.model} {_kind(member).value} of {member.class_space}" for member in members)
        raise InputError(f"members of one ensemble need the same classes and the same kind of scores: {described}")
    first = members[0]

    def read(member: int, _epoch: int) -> FloatArray:
        scores = members[member].full_scores
        if scores is None:
            raise InputError(f"model {members[member].model} has no full scores")
        return scores

    space = store.class_space(first.class_space)
    return Checkpoints(
        members[0].model if len(members) == 1 else _MEMBERS,
        test_set.name,
        space.name,
        _kind(first),
        tuple(member.model for member in members),
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


def _ensemble_scoring(store: Store, test_set: TestSet, checkpoints: Checkpoints) -> Scoring:
    """The scoring of the ensemble's own predictions: the same as for any model."""
    predicted = store.class_space(checkpoints.class_space)
    stored = store.class_map(test_set)
    fits = stored is not None and stored.source.digest == predicted.digest
    return scoring_for(test_set, predicted, class_map=stored if fits else None)
