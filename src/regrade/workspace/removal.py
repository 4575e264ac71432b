"""What a removal removes: the records of models, of a test set or of a label set, and what forbids it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from regrade.build.files import TaskCollection
from regrade.core import PERSON_PREFIX, FormatError, InputError, StoreError, UnknownName
from regrade.core.amounts import amount
from regrade.core.names import model_pattern
from regrade.display.wording import listed
from regrade.models.trained_model import TRAINING
from regrade.store import FIRST_MODEL, Removal, RemovalPlan, Store, StoredRecord, original_name
from regrade.store.checked_files import read_meta, read_stored_json
from regrade.store.file_errors import filled_folders
from regrade.store.layout import place_of
from regrade.store.locks import is_free
from regrade.studies.seeded_methods import seeded_method
from regrade.workspace.ledger import existing_ledger

if TYPE_CHECKING:
    from regrade.ledger import Queue

_NAMED = 3  # the most test sets that a title lists
_UNFINISHED = ".partial"
_BY_TEST_SET = (
    "slices",
    "labels",
    "predictions",
    "checkpoints",
    "reviews",
    "mistakes",
    "pairs",
    "neighbors",
    "nearest",
    "audits",
)
"""The kinds of records with a folder for each test set."""


# Models


def plan_model_removal(
    store: Store, names: Sequence[str], *, test_set: str | None = None, ensembles: bool = False
) -> RemovalPlan:
    """Plan to remove the predictions of models, or the checkpoints of ensembles, on one test set or on all of them.

    A name is a model, a person, a pattern with ``*`` or a method with models ``NAME/seed-*``. A name that stands for
    nothing raises, and so do answers that were published from the ledger.
    """
    if not names:
        raise InputError("name at least one model to remove")
    sets = store.test_sets.names() if test_set is None else (store.test_sets.read(test_set).name,)
    kind = "checkpoints" if ensembles else "predictions"
    stored = {name: _stored_names(store, kind, name) for name in sets}
    chosen = {name: _chosen(names, stored[name], where=name) for name in sets}
    for name in names:
        if not any(_chosen([name], stored[place], where=place) for place in sets):
            raise _unknown(store, name, stored, where=test_set or "any test set", ensembles=ensembles)
    places = [place for name in sets for model in chosen[name] for place in _model_places(kind, name, model)]
    present = [store.root / place for place in places if (store.root / place).exists()]
    if not ensembles:
        present += neighbor_paths(store, chosen)
    for name in sets:
        refuse_published(store, name, chosen[name])
    refuse_unfinished_in_use(store, present)
    return RemovalPlan(
        _models_in_words(names, chosen, ensembles=ensembles),
        _command("models remove", *names, *(("-t", test_set) if test_set else ()), *(["--ensemble"] * ensembles)),
        tuple(StoredRecord.at(store.root, path) for path in present),
        {name: _digest(store, name) for name in sets if chosen[name]},
        () if ensembles else tuple(_model_notes(store, chosen)),
    )


def _stored_names(store: Store, kind: str, test_set: str) -> tuple[str, ...]:
    """The models or ensembles with files on a test set, also unfinished ones and those without a manifest."""
    bases = [(store.root / place).parent for place in _model_places(kind, test_set, "name")]
    return tuple(sorted({original_name(folder.name) for base in bases for folder in filled_folders(base)}))


def _model_places(kind: str, test_set: str, name: str) -> tuple[str, str]:
    """The places of finished and unfinished predictions of a model, or checkpoints of an ensemble."""
    stored = place_of(kind, test_set, name)
    below = stored.removeprefix(f"{kind}/")
    return stored, f"{_UNFINISHED}/.checkpoints/{below}" if kind == "checkpoints" else f"{_UNFINISHED}/{below}"


def neighbor_paths(store: Store, models: Mapping[str, Sequence[str]]) -> list[Path]:
    """The nearest training images by embeddings of these models, which are given by set; either of both sets counts."""
    path = store.training_neighbors.path
    return [
        path(test_set, training_set, model)
        for test_set in store.test_sets.names()
        for training_set, model in store.training_neighbors.searches(test_set)
        if any(model in models.get(name, ()) for name in (test_set, training_set))
    ]


def _chosen(names: Sequence[str], stored: Sequence[str], *, where: str) -> tuple[str, ...]:
    """The stored models that the names stand for; patterns do not match people."""
    models = [name for name in stored if not name.startswith(PERSON_PREFIX)]
    chosen: dict[str, None] = {}
    for name in names:
        if name in stored:
            chosen[name] = None
        elif any(model_pattern(name).fullmatch(model) for model in models):
            chosen |= dict.fromkeys(seeded_method(name, models, where=where).models.values())
    return tuple(chosen)


def _unknown(
    store: Store, name: str, stored: Mapping[str, Sequence[str]], *, where: str, ensembles: bool
) -> UnknownName:
    """The error for a name without a model or an ensemble."""
    candidates = sorted({model for present in stored.values() for model in present})
    if ensembles:
        return UnknownName(f"ensemble on {where}", name, candidates, first="regrade import checkpoints")
    is_ensemble = any(name in _stored_names(store, "checkpoints", test_set) for test_set in stored)
    hint = "; it is an ensemble: give --ensemble to remove its checkpoints" if is_ensemble else ""
    return UnknownName(f"model on {where}", name, candidates, hint=hint, first=FIRST_MODEL)


def refuse_published(store: Store, test_set: str, names: Iterable[str]) -> None:
    """Raise if one of these people has answers that were published from the ledger."""
    for name in names:
        if name.startswith(PERSON_PREFIX) and store.predictions.has(test_set, name):
            with suppress(FormatError):  # a damaged manifest, which can be removed
                if queues := store.predictions.manifest(test_set, name).queues:
                    raise StoreError(
                        f"the answers of {name} on {test_set} were published from queue {listed(queues)}: the ledger "
                        "has them, and publishing it again would store them again"
                    )


def refuse_unfinished_in_use(store: Store, paths: Iterable[Path]) -> None:
    """Raise if one of these paths is a folder of unfinished work that another process is doing."""
    for folder in paths:
        if folder.is_relative_to(store.root / _UNFINISHED) and not is_free(folder):
            raise StoreError(f"{folder} is locked by another process: wait until it ends")


def _models_in_words(names: Sequence[str], chosen: dict[str, tuple[str, ...]], *, ensembles: bool) -> str:
    """The names as they were given, how many models they stand for, and where."""
    sets = [name for name in chosen if chosen[name]]
    models = {model for name in sets for model in chosen[name]}
    count = "" if models == set(names) else f" ({amount(len(models), 'ensemble' if ensembles else 'model')})"
    return f"{listed(names)}{count} on {listed(sets) if len(sets) <= _NAMED else amount(len(sets), 'test set')}"


def _model_notes(store: Store, chosen: dict[str, tuple[str, ...]]) -> Iterator[str]:
    """What people or other models say about removed models, which stays."""
    models = list(dict.fromkeys(model for present in chosen.values() for model in present))
    reviewed = [f"{model} on {name}" for name in chosen for model in chosen[name] if store.mistakes.has(name, model)]
    if reviewed:
        yield f"people's review of the mistakes of {listed(reviewed)} stays"
    described = store.described_models.read().base_models if store.described_models.has("attributes") else {}
    for base in models:
        if derived := [name for name in described if described[name] == base and name not in models]:
            yield f"{base} is the base model of {listed(derived)}"
    if trained := [model for model in models if model.startswith("trained:")]:
        yield f"the training of {listed(trained)} stays: regrade predict stores these predictions again"


# Test sets


def plan_test_set_removal(store: Store, name: str) -> RemovalPlan:
    """Plan to remove everything that is stored under the name of a test set; images themselves are never removed.

    A queue of the ledger or a build that uses the test set raises.
    """
    _check_is_test_set(store, name)
    refuse_test_set_in_use(store, name, "removed")
    paths = (*test_set_paths(store, name), *neighbors_in(store, name))
    refuse_unfinished_in_use(store, paths)
    records = tuple(StoredRecord.at(store.root, path) for path in paths)
    return RemovalPlan(
        f"test set {name}", _command("testsets remove", name), records, {}, tuple(_test_set_notes(store, name))
    )


def _check_is_test_set(store: Store, name: str) -> None:
    """Raise if there is no test set of a name; one that cannot be read can be removed."""
    if not store.test_sets.has(name):
        store.test_sets.read(name)


def refuse_test_set_in_use(store: Store, name: str, what: str) -> None:
    """Raise if a queue of the ledger or a build uses a test set."""
    if queues := [repr(queue.name) for queue in _queues_on(store, name)]:
        raise StoreError(
            f"test set {name} is not {what}: the ledger has {_nouns('queue', queues)} about it, and votes are kept"
        )
    tasks = TaskCollection(store.root)
    builds = [build for build in tasks.builds() if name in _sets_of_build(tasks.path(build, "tasks"))]
    if builds:
        raise StoreError(f"test set {name} is not {what}: it is pool or reference of {_nouns('build', builds)}")


def _nouns(noun: str, names: Sequence[str]) -> str:
    return f"{noun if len(names) == 1 else noun + 's'} {listed(names)}"


def _sets_of_build(tasks: Path) -> tuple[str, str]:
    stated = read_meta(tasks)
    return stated["pool"], stated["reference"]


def _queues_on(store: Store, name: str) -> Iterator[Queue]:
    """The queues about images of a test set, or about pairs that have one of them."""
    compared = _compared_from(store, name)
    with existing_ledger(store) as ledger:
        if ledger is None:
            return
        for queue in ledger.queues.all():
            if name in ledger.items.test_sets(queue) or (queue.question.name == "pair" and queue.test_set in compared):
                yield queue


def _compared_from(store: Store, name: str) -> list[str]:
    """The other test sets with a search for near duplicates in this one."""
    return [owner for owner in store.test_sets.names() if owner != name and name in _compared_with(store, owner)]


def _compared_with(store: Store, test_set: str) -> set[str]:
    searches = (store.root / place_of("pairs", test_set, "search")).parent.glob("search-*")
    return {str(read_meta(path)["against"]) for path in searches}


def test_set_paths(store: Store, name: str) -> tuple[Path, ...]:
    """The files and folders of all records that are stored under the name of a test set."""
    root = store.root
    own = [root / place_of(kind, name) for kind in ("testsets", "images", "maps", "training_sets", "ladders")]
    own.append(root / place_of("builds", name, "pool"))
    folders = [(root / place_of(kind, name, "x")).parent for kind in _BY_TEST_SET]
    file = folders[0].name
    folders += [root / _UNFINISHED / part / file for part in ("", ".checkpoints", ".signatures")]
    inside = [path for folder in folders for path in sorted(folder.glob("*"))]
    return tuple(path for path in (*own, *inside) if path.exists())


def neighbors_in(store: Store, training_set: str) -> list[Path]:
    """The folders with the nearest images of other test sets in a training set."""
    folders = [store.training_neighbors.path(name, training_set, "x").parent for name in store.test_sets.names()]
    return [folder for folder in folders if folder.is_dir()]


def _test_set_notes(store: Store, name: str) -> Iterator[str]:
    """What was made with a test set and stays."""
    if trained := trainings_with(store, name):
        yield f"{_nouns('training', trained)} with this test set: kept"
    if store.ladders.has(name):
        yield "its ladder goes with it: a new one would not know which verdicts were told"
    if trained_on := store.training_sets.trained_on(name):
        yield f"{listed(trained_on)}: without a training set from then on"
    if owners := _compared_from(store, name):
        yield f"searches for its near duplicates in {listed(owners)} stay"
    if (store.root / place_of("images", name)).is_file():
        yield "the images themselves stay where they are"


def trainings_with(store: Store, name: str) -> list[str]:
    """The trainings that were made on a test set, or scored on it."""
    plans = sorted((store.root / TRAINING).glob("*/plan.json"))
    return [path.parent.name for path in plans if name in _sets_of_training(path)]


def _sets_of_training(plan: Path) -> dict[str, str]:
    with suppress(FormatError):
        return dict(read_stored_json(plan).get("digests", {}))
    return {}


# Label sets


def plan_label_removal(store: Store, name: str, test_set: str) -> RemovalPlan:
    """Plan to remove the newest version of a label set (``own@2``), or all versions (``own``), with their reviews.

    An older version raises, and so does a version that a queue of the ledger asks about.
    """
    full_names = _versions(store, name, test_set)
    with existing_ledger(store) as ledger:
        for queue in ledger.queues.all() if ledger is not None else ():
            if queue.test_set == test_set and queue.labels in (*full_names, name):
                raise StoreError(
                    f"labels {name} are not removed: the ledger has queue {queue.name!r} about them, and votes are kept"
                )
    places = [place_of(kind, test_set, full) for full in full_names for kind in ("labels", "reviews")]
    records = [StoredRecord.at(store.root, store.root / place) for place in places if (store.root / place).exists()]
    return RemovalPlan(
        f"labels {listed(full_names)} of {test_set}",
        _command("labels remove", name, "-t", test_set),
        tuple(records),
        {test_set: _digest(store, test_set)},
        tuple(_label_notes(store, full_names, test_set)),
    )


def _versions(store: Store, name: str, test_set: str) -> list[str]:
    """The versions to remove: all of a label set, or its newest one."""
    stored = store.labels.names(store.test_sets.read(test_set).name)
    if own := [full for full in stored if full.rpartition("@")[0] == name]:
        return own
    base = name.rpartition("@")[0]
    own = [full for full in stored if full.rpartition("@")[0] == base]
    if name not in own:
        raise UnknownName(f"label set of {test_set}", name, stored, first="regrade import labels")
    if name != own[-1]:
        raise InputError(
            f"{name} is not the newest version: remove {own[-1]} first, or all versions with the name {base}"
        )
    return [name]


def _label_notes(store: Store, full_names: Sequence[str], test_set: str) -> Iterator[str]:
    for full in full_names:
        with suppress(FormatError):
            if queues := read_meta(store.labels.path(test_set, full))["queues"]:
                yield f"{full} was published from queue {listed(queues)}: the ledger keeps these decisions"
    if reviewed := [full for full in full_names if (store.root / place_of("reviews", test_set, full)).exists()]:
        yield f"the review of the novel predictions under {listed(reviewed)} goes with them"


# All of them


def carry_out(store: Store, make_plan: Callable[[], RemovalPlan], expected: RemovalPlan | None = None) -> Removal:
    """Make a plan and move its records out of their places; raise if it is not the one that was shown before."""
    with store.transaction():
        plan = make_plan()
        if expected is not None and plan != expected:
            raise StoreError("the workspace was changed since this was shown, and nothing was removed: try again")
        return store.removals.remove(plan)


def _digest(store: Store, test_set: str) -> str:
    return str(read_meta(store.test_sets.path(test_set))["digest"])


def _command(command: str, *arguments: str) -> str:
    return f"regrade {command} {shlex.join(arguments)}"
