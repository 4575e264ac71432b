"""One run of regrade train head: check all inputs, fit what is missing, store predictions, grade."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from regrade.core import ClassSpace, InputError, MismatchError, TestSet
from regrade.models import Device
from regrade.models.torch_runtime import check_device
from regrade.store import FIRST_MODEL, Store
from regrade.studies.image_clusters import cluster_column
from regrade.studies.seeded_methods import seeded_method
from regrade.train.head.design import (
    MappedLabels,
    TrainingRows,
    check_folds,
    digest_of,
    mapped_labels,
    own_labels,
    training_rows,
)
from regrade.train.head.grading import HeadGrader
from regrade.train.head.inputs import StoredEmbeddings, check_width, read_embeddings, refuse_shared
from regrade.train.head.member import HeadMember
from regrade.train.head.result import PenaltyTrial, SeedFit, SetRole, TrainedHead
from regrade.train.head.splits import Balance
from regrade.train.plan import store_settings, training_folder
from regrade.train.remedy import groups_of_column
from regrade.train.steps.head import HeadOptions, HeadSolver


class HeadTraining:
    """The heads of one name, one per seed: inputs are checked when it is created, and nothing is stored before."""

    def __init__(self, store: Store, options: HeadOptions) -> None:
        self.store, self.options = store, options
        _check_options(options)
        training_folder(store.root, options.name)
        self.training_set = store.test_set(options.on)
        self.groups = None if options.by is None else groups_of_column(self.training_set, options.by)
        self.clusters = cluster_column(self.training_set, options.clusters)
        self.bases = _bases(store, options)
        self.base_classes = self._base_classes()
        self.sets = list(self._sets())
        for seed in self.bases:
            self._check_inputs(seed)

    @property
    def penalties(self) -> tuple[float, ...]:
        """The penalties from strong to weak."""
        return tuple(sorted(set(self.options.l2), reverse=True))

    @property
    def classes(self) -> ClassSpace:
        """The classes that the heads predict."""
        return self.base_classes if self.options.keep_classes else self.training_set.class_space

    def run(self) -> TrainedHead:
        """Fit, store and grade."""
        store_settings(self.store, self.options.name, self._settings())
        fits, new, notes = [], 0, list[str]()
        for seed, base in self.bases.items():
            member = HeadMember(self, seed, base)
            new += not member.is_fitted
            fits.append(SeedFit(seed, member.name, base, *_trials(member.file.fit)))
            member.store_predictions()
            notes += member.data.notes
        pairs = tuple((fit.base, fit.model) for fit in fits)
        options = self.options
        mapped = self.training_set.class_space.digest
        grader = HeadGrader(self.store, pairs, options.by, self.clusters, options.class_map, mapped)
        graded = grader.grade(self.sets)
        return TrainedHead(
            options.name,
            options.model,
            self.training_set.name,
            int(member.file.fit["images"]),
            self.classes.name,
            options.keep_classes,
            options.solver.value,
            options.balance.value,
            options.by,
            self.clusters,
            options.folds,
            float(member.file.fit["scale"]),
            {} if self.groups is None else dict(zip(self.groups.names, self.groups.sizes, strict=True)),
            tuple(fits),
            new,
            graded.rows,
            tuple(dict.fromkeys((*notes, *graded.notes, *self._original_note()))),
        )

    def read(self, test_set: TestSet, base: str) -> StoredEmbeddings:
        """The embeddings of a base model on a set."""
        return read_embeddings(self.store, test_set, base, needs_scores=self.options.keep_classes)

    def rows(self, stored: StoredEmbeddings) -> TrainingRows:
        """What a head of a base model is fitted on."""
        return training_rows(stored, self.targets, self.classes, clusters=self.clusters, groups=self.groups)

    @cached_property
    def targets(self) -> MappedLabels:
        """What the heads should predict; the same for all base models, which have the same classes."""
        if not self.options.keep_classes:
            return own_labels(self.training_set)
        same = self.base_classes.digest == self.training_set.class_space.digest
        path = None if same else self.options.class_map
        return mapped_labels(self.store, self.training_set, next(iter(self.bases.values())), path)

    def _check_inputs(self, seed: int) -> None:
        base = self.bases[seed]
        training = self.read(self.training_set, base)
        data, predicts_itself = self.rows(training), any(role is SetRole.TRAINING for _, role in self.sets)
        nested = (len(self.penalties) > 1) + predicts_itself
        check_folds(data, self.options.folds, nested=nested, clusters=self.clusters)
        for test_set, role in self.sets:
            if role is SetRole.TRAINING:
                continue
            stored = self.read(test_set, base)
            check_width(training, stored)
            if not self.options.allow_shared:
                refuse_shared(training, stored, self.clusters)

    def _base_classes(self) -> ClassSpace:
        """The classes of the base models, which must be the same."""
        spaces = {base: self.read(self.training_set, base).manifest for base in dict.fromkeys(self.bases.values())}
        first, *rest = spaces.items()
        for base, manifest in rest:
            if manifest.class_space_digest != first[1].class_space_digest:
                raise MismatchError(f"{first[0]} and {base} predict different classes: fit a head for each alone")
        return self.store.class_spaces.read(first[1].class_space)

    def _sets(self) -> Iterator[tuple[TestSet, SetRole]]:
        """All sets that are graded, each once."""
        names = list(dict.fromkeys(self.options.test_sets))
        original = self._original()
        if original is not None and original not in names:
            names.append(original)
        if not names:
            raise InputError("no set to grade: give -t SET, or the training set itself for predictions out of fold")
        for name in names:
            test_set = self.store.test_set(name)
            if name == self.training_set.name:
                yield self.training_set, SetRole.TRAINING
            else:
                is_named = name in self.options.test_sets and name != self.options.original
                yield test_set, SetRole.TEST if is_named else SetRole.ORIGINAL

    def _original(self) -> str | None:
        """The original set: the given one, or the first with the base model's classes and stored embeddings."""
        if self.options.original is not None:
            return self.options.original
        base = next(iter(self.bases.values()))
        candidates = [*dict.fromkeys(self.options.test_sets), *self.store.test_sets.names()]
        return next((name for name in candidates if name != self.options.on and self._is_original(name, base)), None)

    def _is_original(self, name: str, base: str) -> bool:
        if not self.store.predictions.has(name, base) or not self.store.predictions.manifest(name, base).features:
            return False
        return self.store.test_sets.read(name).class_space.digest == self.base_classes.digest

    def _original_note(self) -> tuple[str, ...]:
        if self._original() is not None:
            return ()
        base = next(iter(self.bases.values()))
        return (
            f"accuracy on the original classes {self.base_classes.name}: not defined, {base} has no embeddings on "
            f"another set of these classes; run regrade predict {base} -t SET --keep features, then give --original",
        )

    def _settings(self) -> dict[str, Any]:
        """Everything that a head depends on, besides its seed, in the order in which differences are reported."""
        options = self.options
        adam = {"epochs": options.epochs, "batch": options.batch, "learning_rate": options.learning_rate}
        return {
            "method": "head",
            "training_set": options.on,
            "digests": {options.on: self.training_set.digest},
            "base_model": options.model,
            "keep_classes": options.keep_classes,
            "class_map": None if self.targets.class_map is None else self.targets.class_map.digest,
            "balance": options.balance.value,
            "column_of_groups": options.by,
            "members": None if self.groups is None else digest_of(self.groups.members),
            "column_of_clusters": self.clusters,
            "folds": options.folds,
            "l2": list(self.penalties),
            "solver": options.solver.value,
            **(adam if options.solver is HeadSolver.ADAM else {"tolerance": options.tolerance}),
        }


def _trials(fit: Any) -> tuple[PenaltyTrial, tuple[PenaltyTrial, ...]]:
    return PenaltyTrial(**fit["chosen"]), tuple(PenaltyTrial(**trial) for trial in fit["path"])


def _check_options(options: HeadOptions) -> None:
    if options.device is Device.MPS:
        raise InputError("a head is fitted on cpu or cuda, not on mps")
    check_device(options.device)
    if options.balance is Balance.GROUP and options.by is None:
        raise InputError("--balance group requires --by, the column of the groups")
    if not options.l2:
        raise InputError("--l2 needs at least one penalty")


def _bases(store: Store, options: HeadOptions) -> dict[int, str]:
    """The base model of each seed."""
    stored = store.predictions.model_names(options.on)
    if options.model in stored or (":" in options.model and "*" not in options.model):
        return {seed: options.model for seed in options.seeds or (0,)}
    method = seeded_method(options.model, stored, where=options.on, first=FIRST_MODEL)
    if options.seeds:
        raise InputError("--seed belongs to a single base model: here the seeds are those of the base models")
    if odd := [seed for seed in method.models if not seed.isdecimal()]:
        raise InputError(f"* in {options.model} must stand for a seed, a whole number; it matches {odd[0]!r}")
    return {int(seed): model for seed, model in method.models.items()}
