"""Renaming models, test sets and label sets: every stored file gets the new name, in one change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from regrade.core import (
    PERSON_PREFIX,
    AlreadyStored,
    DescribedModels,
    InputError,
    ModelAttributes,
    PairSearch,
    PairSide,
    StoreError,
    TestSet,
    UnknownName,
)
from regrade.core.label_set import without_version
from regrade.core.names import check_distinct_names
from regrade.store import FIRST_MODEL, Store, file_name, original_name
from regrade.store.renaming import rename_record, rewrite_metadata
from regrade.store.transaction import Transaction
from regrade.workspace.ledger import existing_ledger
from regrade.workspace.removal import (
    neighbors_in,
    refuse_published,
    refuse_test_set_in_use,
    refuse_unfinished_in_use,
    test_set_paths,
    trainings_with,
)

T = TypeVar("T")


@dataclass(frozen=True)
class Renamed:
    """A renamed model, test set or label set: both names, its test sets, and notes on what keeps the old name."""

    old: str
    new: str
    test_sets: tuple[str, ...]
    notes: tuple[str, ...] = ()


# Models


def rename_model(store: Store, old: str, new: str, *, test_set: str | None = None) -> Renamed:
    """Rename a model on one test set or on all that it has predictions on; what is stated about it follows.

    Raises if the new name is taken or too similar to another, or if a queue of the ledger is about the model.
    """
    _refuse_same(old, new)
    with store.transaction() as change:
        sets = store.test_sets.names() if test_set is None else (store.test_sets.read(test_set).name,)
        own = tuple(name for name in sets if store.predictions.has(name, old))
        if not own:
            raise _unknown_model(store, old, sets, where=test_set or "any test set")
        for name in own:
            _check_model_names(store, name, old, new)
        _refuse_queues_about_model(store, old, own)
        is_everywhere = all(name in own or not store.predictions.has(name, old) for name in store.test_sets.names())
        for name in own:
            _rename_on(change, store, name, old, new)
        _rename_neighbors_by(change, store, own, old, new)
        if is_everywhere:
            _rename_base_model(change, store, own, old, new)
        described = store.described_models.read()
        renamed = _renamed_descriptions(described, old, new, is_everywhere=is_everywhere)
        if renamed.digest != described.digest:
            store.described_models.put(change, renamed)
        notes = tuple(_model_notes(described, renamed, old, new))
    return Renamed(old, new, own, notes)


def _refuse_same(old: str, new: str) -> None:
    file_name(new)  # raises if it is no name of a file
    if old == new:
        raise InputError(f"the new name is the old one: {old}")


def _unknown_model(store: Store, name: str, sets: Sequence[str], *, where: str) -> UnknownName:
    candidates = sorted({model for test_set in sets for model in store.predictions.names(test_set)})
    return UnknownName(f"model on {where}", name, candidates, first=FIRST_MODEL)


def _check_model_names(store: Store, test_set: str, old: str, new: str) -> None:
    if old.startswith(PERSON_PREFIX) != new.startswith(PERSON_PREFIX):
        raise InputError(f"{PERSON_PREFIX} begins the names of people: {old!r} cannot be renamed to {new!r}")
    taken = [name for name in store.predictions.names(test_set) if name != old]
    if new in taken:
        raise AlreadyStored(f"predictions of {new!r} on {test_set} are stored: choose another name")
    if store.mistakes.has(test_set, new):
        raise AlreadyStored(f"a review of the mistakes of {new!r} on {test_set} is stored: choose another name")
    check_distinct_names("model or person", [new], taken)
    refuse_published(store, test_set, [old])


def _refuse_queues_about_model(store: Store, model: str, test_sets: Sequence[str]) -> None:
    with existing_ledger(store) as ledger:
        for queue in ledger.queues.all() if ledger is not None else ():
            if queue.model == model and queue.test_set in test_sets:
                raise StoreError(
                    f"{model} is not renamed: the ledger has queue {queue.name!r} about it, and votes are kept"
                )


def _rename_on(change: Transaction, store: Store, test_set: str, old: str, new: str) -> None:
    """Rename a model's predictions, the review of its mistakes, and the model where slices name it."""
    predictions, mistakes = store.predictions.path, store.mistakes.path
    rename_record(
        change,
        predictions(test_set, old),
        predictions(test_set, new),
        lambda meta: {**meta, "model": {**meta["model"], "name": new}},
    )
    if store.mistakes.has(test_set, old):
        rename_record(change, mistakes(test_set, old), mistakes(test_set, new), lambda meta: {**meta, "model": new})
    _rename_origins(change, store, store.test_sets.read(test_set), old, new)
    for slices in store.slices.read_all(store.test_sets.read(test_set)):
        if old in slices.chosen_by:
            chosen_by = [new if name == old else name for name in slices.chosen_by]
            path = store.slices.path(test_set, slices.name)
            rewrite_metadata(change, path, partial(_with_choosers, chosen_by))


def _rename_origins(change: Transaction, store: Store, test_set: TestSet, old: str, new: str) -> None:
    """Rename a model where reviews of other models' mistakes say that annotations come from its review."""
    for model in store.mistakes.names(test_set.name):
        review = store.mistakes.read(test_set, model)
        if model != old and any(origin.model == old for origin in review.origins if origin):
            renamed = (o and (replace(o, model=new) if o.model == old else o) for o in review.origins)
            store.mistakes.put(change, replace(review, reused=tuple(renamed)), test_set)


def _rename_neighbors_by(change: Transaction, store: Store, own: Sequence[str], old: str, new: str) -> None:
    """Rename a model where nearest training images were found by its embeddings, if it is renamed on both sets."""
    path = store.training_neighbors.path
    for test_set in own:
        for training_set, model in store.training_neighbors.searches(test_set):
            if model == old and training_set in own:
                source, final = (path(test_set, training_set, name) for name in (old, new))
                rename_record(change, source, final, lambda meta: {**meta, "model": new})


def _with_choosers(chosen_by: list[str], meta: dict[str, Any]) -> dict[str, Any]:
    return {**meta, "chosen_by": chosen_by}


def _rename_base_model(change: Transaction, store: Store, own: Sequence[str], old: str, new: str) -> None:
    """Rename a model where predictions of other models state it as their base model."""
    for test_set in store.test_sets.names():
        for model in store.predictions.names(test_set):
            is_renamed = model == old and test_set in own
            if not is_renamed and store.predictions.manifest(test_set, model).model.base_model == old:
                path = store.predictions.main_path(test_set, model)
                rewrite_metadata(change, path, lambda meta: {**meta, "model": {**meta["model"], "base_model": new}})


def _renamed_descriptions(described: DescribedModels, old: str, new: str, *, is_everywhere: bool) -> DescribedModels:
    """The attributes of all models after a renaming; the old name keeps its own while a test set has it.

    Other attributes of the new name that were stated before are kept.
    """
    by_name = _moved(described.by_name, old, new, is_everywhere=is_everywhere)
    derived = _moved(described.derived, old, new, is_everywhere=is_everywhere)
    if is_everywhere:
        by_name = {name: _with_base(stated, old, new) for name, stated in by_name.items()}
        derived = {
            name: {source: _with_base(row, old, new) for source, row in rows.items()} for name, rows in derived.items()
        }
    return DescribedModels(by_name, derived)


def _moved(rows: Mapping[str, T], old: str, new: str, *, is_everywhere: bool) -> dict[str, T]:
    """The rows by name, with that of the old name under the new one unless that has its own."""
    by_name = dict(rows)
    if old in by_name and new not in by_name:
        moved = {new: by_name[old]} if is_everywhere else {old: by_name[old], new: by_name[old]}
        parts = (moved if name == old else {name: row} for name, row in by_name.items())
        return {name: row for part in parts for name, row in part.items()}
    if old in by_name and is_everywhere and by_name[new] == by_name[old]:
        del by_name[old]
    return by_name


def _with_base(stated: ModelAttributes, old: str, new: str) -> ModelAttributes:
    return replace(stated, base_model=new) if stated.base_model == old else stated


def _model_notes(before: DescribedModels, after: DescribedModels, old: str, new: str) -> Iterator[str]:
    if before.of(old) != before.of(new) and before.of(old) != after.of(new):
        yield f"what is stated about {new} differs from what was stated about {old}: see regrade models list"
    if old.startswith("trained:"):
        yield f"its training keeps its name: regrade train stores predictions as {old} again"


# Test sets


def rename_test_set(store: Store, old: str, new: str) -> Renamed:
    """Rename a test set with everything that is stored under its name.

    Raises if the new name is taken or too similar to another, if a queue of the ledger or a build uses the test set, or
    if people decided on pairs of its images.
    """
    _refuse_same(old, new)
    with store.transaction() as change:
        target = store.test_set(old)
        taken = [name for name in store.test_sets.names() if name != old]
        if new in taken or any(path.exists() for path in test_set_paths(store, new)):
            raise AlreadyStored(f"something is stored as test set {new!r}: choose another name")
        check_distinct_names("test set", [new], taken)
        refuse_test_set_in_use(store, old, "renamed")
        refuse_unfinished_in_use(store, test_set_paths(store, old))
        _refuse_pair_decisions(store, old)
        frames = _frame_digests(store, old, new)
        for path in test_set_paths(store, old):
            if path.relative_to(store.root).parts[0] == "pairs":
                continue
            edit = partial(_edited, old, new, frames.get(path, {}))
            rename_record(change, path, _new_path(store.root, path, old, new), edit)
        _rename_searches(change, store, old, new)
        for folder in neighbors_in(store, old):
            rename_record(change, folder, folder.with_name(file_name(new)), lambda meta: {**meta, "training_set": new})
        for owner in store.training_sets.trained_on(old):
            path = store.training_sets.path(owner)
            rewrite_metadata(change, path, lambda meta: {**meta, "training_set": new})
        notes = tuple(
            f"training {name} knows it as {old}: continuing it needs the old name"
            for name in trainings_with(store, old)
        )
    return Renamed(old, new, (target.name,), notes)


def _new_path(root: Path, path: Path, old: str, new: str) -> Path:
    """The path of a record under the new name of its test set."""
    parts = list(path.relative_to(root).parts)
    index = 2 if parts[1] in (".checkpoints", ".signatures") else 1
    parts[index] = file_name(new) + parts[index].removeprefix(file_name(old))
    return root.joinpath(*parts)


def _edited(old: str, new: str, digests: Mapping[str, str], meta: dict[str, Any]) -> dict[str, Any]:
    """The metadata of a file with the new name of its test set, and with the new digest of its frame."""
    names = {"test_set": new} if meta.get("test_set") == old else {}
    return {**meta, **names, **_with_digests(digests, meta)}


def _with_digests(digests: Mapping[str, str], meta: Mapping[str, Any]) -> dict[str, str]:
    """The entries of a file's metadata that contain the digest of a frame, with its new digest."""
    return {key: digests[meta[key]] for key in ("frame", "digest") if meta.get(key) in digests}


def _frame_digests(store: Store, old: str, new: str) -> dict[Path, dict[str, str]]:
    """The new digest of each review's frame by its present one, by folder: it contains the name of the test set."""
    folders = (path for path in test_set_paths(store, old) if path.relative_to(store.root).parts[0] == "reviews")
    target = store.test_set(old)
    return {folder: _new_digests(store, target, original_name(folder.name), test_set=new) for folder in folders}


def _new_digests(store: Store, target: TestSet, full: str, /, **names: str) -> dict[str, str]:
    """The digest of the frame of a review under other ``names``, by the present one."""
    frame = store.reviews.read(target, store.labels.read(target, full))
    return {} if frame is None else {frame.digest: replace(frame, **names).digest}  # type: ignore[arg-type]


def _refuse_pair_decisions(store: Store, name: str) -> None:
    for owner in store.test_sets.names():
        if any(
            name in (owner, decision.first.test_set, decision.second.test_set)
            for decision in store.pair_decisions.read(store.test_sets.read(owner))
        ):
            raise StoreError(f"test set {name} is not renamed: people decided on pairs of its images")


def _rename_searches(change: Transaction, store: Store, old: str, new: str) -> None:
    """Rename the test set in all searches for near duplicates, whose digests contain its name."""
    for owner in store.test_sets.names():
        for number, search in store.pair_searches.numbered(owner):
            if old not in (search.test_set, search.against):
                continue
            renamed = _renamed_search(search, old, new)
            path = store.pair_searches.path(*store.pair_searches.names_of(renamed, number))
            change.replace_at(path, partial(store.pair_searches.write, renamed, number))
            if owner == old:
                change.remove(store.pair_searches.path(*store.pair_searches.names_of(search, number)))


def _renamed_search(search: PairSearch, old: str, new: str) -> PairSearch:
    def renamed(name: str) -> str:
        return new if name == old else name

    def side(present: PairSide) -> PairSide:
        return replace(present, test_set=renamed(present.test_set))

    pairs = tuple(replace(pair, first=side(pair.first), second=side(pair.second)) for pair in search.pairs)
    return replace(search, test_set=renamed(search.test_set), against=renamed(search.against), pairs=pairs)


# Label sets


def rename_labels(store: Store, old: str, new: str, *, test_set: str) -> Renamed:
    """Rename all versions of a label set, with the reviews of the novel predictions under them.

    Raises if the new name is taken or too similar to another, or if a queue of the ledger is about the label set.
    """
    _refuse_same(old, new)
    with store.transaction() as change:
        target = store.test_set(test_set)
        names = {full: full.rpartition("@")[0] for full in store.labels.names(test_set)}
        if "@" in old + new:
            raise InputError("all versions of a label set are renamed together: give names without a version")
        if old not in names.values():
            raise UnknownName(
                f"label set of {test_set}", old, sorted(set(names.values())), first="regrade import labels"
            )
        if new in names.values():
            raise AlreadyStored(f"labels {new!r} of {test_set} are stored: choose another name")
        check_distinct_names("label set", [new], set(names.values()) - {old})
        _refuse_queues_about_labels(store, old, test_set)
        for full in (full for full, name in names.items() if name == old):
            _rename_version(change, store, target, full, new)
    return Renamed(old, new, (test_set,))


def _refuse_queues_about_labels(store: Store, name: str, test_set: str) -> None:
    with existing_ledger(store) as ledger:
        for queue in ledger.queues.all() if ledger is not None else ():
            if queue.test_set == test_set and queue.labels and without_version(queue.labels) == name:
                raise StoreError(
                    f"labels {name} are not renamed: the ledger has queue {queue.name!r} about them, and votes are kept"
                )


def _rename_version(change: Transaction, store: Store, test_set: TestSet, full: str, new: str) -> None:
    """Rename a version of a label set, and its review."""
    new_full = f"{new}@{full.rpartition('@')[2]}"
    labels, reviews = store.labels.path, store.reviews.path
    if reviews(test_set.name, full).is_dir():
        digests = _new_digests(store, test_set, full, labels=new_full)
        edit = partial(_with_labels, full, new_full, digests)
        rename_record(change, reviews(test_set.name, full), reviews(test_set.name, new_full), edit)
    rename_record(
        change, labels(test_set.name, full), labels(test_set.name, new_full), lambda meta: {**meta, "name": new}
    )


def _with_labels(old: str, new: str, digests: Mapping[str, str], meta: dict[str, Any]) -> dict[str, Any]:
    names = {"labels": new} if meta.get("labels") == old else {}
    return {**meta, **names, **_with_digests(digests, meta)}
