"""regrade train ensemble: train a network several times, and store its scores after every epoch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import Enum

from regrade.core import AlreadyStored, InputError, TestSet
from regrade.core.names import member
from regrade.models import Device, Precision
from regrade.models.networks import network_code, with_absolute_path
from regrade.models.torch_runtime import check_device, require_torch
from regrade.models.trained_model import NetworkDescription
from regrade.store import Store
from regrade.studies.study import Study, StudyOptions, option
from regrade.train.added_set import AddedSet, check_new_set
from regrade.train.cross_training import train_folds
from regrade.train.figure import learning_curves
from regrade.train.hyperparameters import Hyperparameters, Optimizer
from regrade.train.member import ensemble_writer
from regrade.train.member_predictions import MemberPredictions, refuse_stored_predictions
from regrade.train.parallel import (
    EpochProgress,
    MemberWorker,
    TrainedCurves,
    default_jobs,
    no_epoch_progress,
    train_members,
)
from regrade.train.plan import TrainingPlan, store_plan, training_folder
from regrade.train.remedy import GroupRemedy
from regrade.train.result import TrainedEnsemble, trained_ensemble, trained_member
from regrade.train.training_data import DataOptions, TrainingData, read_training_data

FOLDS = 5
"""The default number of folds."""

_SEEDS = (0, 1, 2)
_DEFAULTS = Hyperparameters()


class KeptPart(Enum):
    """What is kept besides the scores."""

    WEIGHTS = "weights"
    """The weights of every scored epoch."""
    FEATURES = "features"
    """The input of the last layer after the last epoch, on all test sets."""


def parse_kept(texts: Sequence[str]) -> tuple[KeptPart, ...]:
    """Kept parts from the command line, each alone or several separated by commas."""
    return tuple(member(KeptPart, part.strip()) for text in texts for part in text.split(","))


def parse_seeds(texts: Sequence[str]) -> tuple[int, ...]:
    """Seeds from the command line, each alone or several separated by commas."""
    parts = [part.strip() for text in texts for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise InputError(f"a seed is a whole number from 0 on, got {', '.join(texts)}")
    return tuple(int(part) for part in parts) or _SEEDS


@dataclass(frozen=True)
class EnsembleOptions(StudyOptions):
    """The network, the training set, the test sets that are scored, and how the members are trained."""

    name: str = option("Name of the ensemble.", is_argument=True, metavar="NAME")
    on: str = option("Training set: any stored test set with images and labels.", metavar="SET")
    network: str = option(
        "mlp, cnn, resnet20, resnet56, random-features, timm:NAME, torchvision:NAME, or torch:FILE.py:FUNCTION, a "
        "function of the number of classes that returns a module.",
        "resnet20",
    )
    seeds: Sequence[int] = option(
        "Seed of a member; several may be separated by commas. May be repeated (default: 0, 1 and 2).",
        _SEEDS,
        names=("--seed", "--seeds"),
        kind=list[str],
        parse=parse_seeds,
    )
    test_sets: Sequence[str] = option(
        "Test set that is scored; it may be the training set. May be repeated.", (), names=("--test-set", "-t")
    )
    epochs: int = option("Number of epochs.", _DEFAULTS.epochs, minimum=1)
    batch: int = option("Images per batch.", _DEFAULTS.batch, minimum=2)
    optimizer: Optimizer = option("Optimizer.", _DEFAULTS.optimizer)
    learning_rate: float = option("Largest learning rate.", _DEFAULTS.learning_rate, positive=True)
    momentum: float = option("Nesterov momentum of sgd.", _DEFAULTS.momentum)
    weight_decay: float = option("Weight decay.", _DEFAULTS.weight_decay)
    warm_up: float = option("Epochs over which the learning rate rises, before it falls to 0.", _DEFAULTS.warm_up)
    label_smoothing: float = option("Label smoothing.", _DEFAULTS.label_smoothing)
    crop: int = option("Padding in pixels before a random crop; 0: no crop.", _DEFAULTS.crop, minimum=0)
    flip: bool = option("Mirror images at random.", _DEFAULTS.flip, names=("--flip/--no-flip",))
    precision: Precision = option("Numeric precision: fp32 or bf16.", _DEFAULTS.precision)
    compile: bool = option("Compile the network with torch first; needs a C++ compiler.", False)
    device: Device = option("Device: cpu or cuda.", Device.CPU)
    every: int = option("Store the scores of every N-th epoch, from the untrained network on.", 1, minimum=1)
    size: int | None = option(
        "Input size of the network in pixels (default: that of the first image).", None, minimum=1
    )
    channels: int | None = option("1 (gray) or 3 (color) (default: as the first image).", None)
    keep: Sequence[KeptPart] = option(
        "weights: those of every scored epoch, not only of the last; features: embeddings on the test sets after the "
        "last epoch, for regrade train head. May be repeated, or separated by commas.",
        (),
        names=("--keep",),
        kind=list[str],
        parse=parse_kept,
    )
    jobs: int | None = option(
        "Members that are trained at the same time (default: one per CPU core, or all on a GPU).", None, minimum=1
    )
    allow_shared: bool = option("Allow test images that are also in the training set.", False)
    finish: bool = option(
        "Store the scores when all seeds are trained; --no-finish leaves that to regrade train finish.",
        True,
        names=("--finish/--no-finish",),
    )
    epoch_progress: EpochProgress = field(default=no_epoch_progress, kw_only=True, compare=False, repr=False)

    def keeps(self, part: KeptPart) -> bool:
        """Whether a part is kept."""
        return part in [member(KeptPart, kept) for kept in self.keep]

    def hyperparameters(self) -> Hyperparameters:
        """The settings of the training loop."""
        return Hyperparameters(
            **{item.name: getattr(self, item.name) for item in fields(Hyperparameters) if hasattr(self, item.name)}
        )


@dataclass(frozen=True)
class AddingOptions(EnsembleOptions):
    """The options of an ensemble, and a test set whose images are added to its training set."""

    add: str | None = option(
        "Test set whose images are added to the training set, all but one fold at a time; it is scored on the fold "
        "that was left out.",
        None,
        metavar="SET",
    )
    folds: int = option("Number of folds of --add.", FOLDS, minimum=2)
    clusters: str | None = option(
        "Column of --add: its groups of images stay in one fold (default: household, if there is such a column).",
        None,
        metavar="COLUMN",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.add is None:
            if self.folds != FOLDS or self.clusters is not None:
                raise InputError("--folds and --clusters belong to --add")
        else:
            refuse_epoch_options(self, "--add")


def refuse_epoch_options(options: EnsembleOptions, written: str) -> None:
    """Raise if options concern scores after epochs, which a training with several networks per seed does not store."""
    if options.every != 1 or options.keep or not options.finish:
        raise InputError(
            f"{written} stores predictions of the last epoch only: leave out --every, --keep and --no-finish"
        )


def run(store: Store, options: AddingOptions) -> TrainedEnsemble:
    """Train a network once per seed, and store its scores on test sets after every epoch.

    The state after every epoch is kept in ``training/NAME``: a run that was stopped goes on where it was, on a CPU with
    the results that it would have had. The members are models, ``trained:NAME/seed-0``, and their predictions of the
    last epoch are stored. With ``add``, each member is trained ``folds`` times, and its predictions on the added set
    are by networks that never saw the image.
    """
    if options.add is None:
        return train_ensemble(store, options)
    sets = chosen_sets(store, options)
    new = check_new_set(options.add, sets.training_set.name, sets.by_name, written="--add")
    plan, data = planned(store, options, sets, added=new.name)
    added = AddedSet.of(new, data.sets[new.name].hashes, folds=options.folds, clusters=options.clusters)
    plan = replace(plan, added=added, every=plan.hyperparameters.epochs)
    begin(store, plan, sets.seeds, replace(plan, fold=0))
    predictions = MemberPredictions(store, plan, data, options.device)
    return train_folds(predictions, sets.seeds, lambda part: train_part(store, options, part, data))


def train_ensemble(
    store: Store, options: EnsembleOptions, remedy_of: Callable[[TestSet], GroupRemedy | None] = lambda _: None
) -> TrainedEnsemble:
    """Train an ensemble; ``remedy_of`` returns what its training does with groups of the images of a training set."""
    sets = chosen_sets(store, options)
    remedy = remedy_of(sets.training_set)
    plan, data = planned(store, options, sets)
    plan = replace(plan, remedy=remedy)
    begin(store, plan, sets.seeds, plan)
    trained = train_part(store, options, plan, data)
    keep_features = options.keeps(KeptPart.FEATURES)
    MemberPredictions(store, plan, data, options.device, keep_features).add_all(sets.seeds)
    if options.finish:
        for name in plan.test_sets:
            if not store.ensembles.has(name, plan.name):
                ensemble_writer(store, plan.name, name, plan.network.class_space).finish()
    confidence = store.config.confidence
    members = [
        trained_member(curve, data.training_set, plan.test_sets, confidence) for curve in trained.curves.values()
    ]
    stored = tuple(name for name in plan.test_sets if store.ensembles.has(name, plan.name))
    return trained_ensemble(plan, data, trained, members, stored)


@dataclass(frozen=True)
class TrainingSets:
    """The training set, the test sets that are scored, and the seeds of a training."""

    training_set: TestSet
    test_sets: tuple[TestSet, ...]
    seeds: tuple[int, ...]

    @property
    def by_name(self) -> dict[str, TestSet]:
        """The test sets by name."""
        return {test_set.name: test_set for test_set in self.test_sets}


def chosen_sets(store: Store, options: EnsembleOptions) -> TrainingSets:
    """The sets and seeds that options name; raise if the device is missing, or if the ensemble is finished."""
    require_torch("regrade train", "torch")
    options.hyperparameters()
    _check_device(options.device)
    training_folder(store.root, options.name)
    test_sets = tuple(store.test_set(name) for name in dict.fromkeys(options.test_sets))
    return TrainingSets(store.test_set(options.on), test_sets, _seeds(store, options, test_sets))


def planned(
    store: Store, options: EnsembleOptions, sets: TrainingSets, *, added: str | None = None
) -> tuple[TrainingPlan, TrainingData]:
    """Read the images, and return the plan; ``added`` is the set whose images are added to the training set."""
    reading = DataOptions(options.size, options.channels, options.allow_shared, added)
    data = read_training_data(store, sets.training_set, sets.test_sets, reading)
    return _plan(options, options.hyperparameters(), data, (sets.training_set, *sets.test_sets)), data


def begin(store: Store, plan: TrainingPlan, seeds: Sequence[int], first: TrainingPlan) -> None:
    """Store the plan; raise if another one has the name, or if members have predictions and no network of ``first``.

    ``first`` is the part that is trained first, or the plan itself.
    """
    refuse_stored_predictions(store, plan, {seed: first.member_folder(store.root, seed) for seed in seeds})
    store_plan(store, plan)


def train_part(store: Store, options: EnsembleOptions, plan: TrainingPlan, data: TrainingData) -> TrainedCurves:
    """Train all members of a training, or of one part of it."""
    seeds = tuple(dict.fromkeys(options.seeds))
    jobs = options.jobs or default_jobs(options.device, len(seeds))
    worker = MemberWorker(store.root.absolute(), plan, data, options.device)
    return train_members(worker, seeds, jobs=min(jobs, len(seeds)), progress=options.epoch_progress)


def _check_device(device: Device) -> None:
    if device is Device.MPS:
        raise InputError("a training runs on cpu or cuda, not on mps")
    check_device(device)


def _seeds(store: Store, options: EnsembleOptions, test_sets: Sequence[TestSet]) -> tuple[int, ...]:
    """The seeds; raise if the ensemble is finished with others, or was not trained here."""
    seeds = tuple(dict.fromkeys(options.seeds))
    if not seeds or min(seeds) < 0:
        raise InputError(f"a seed is a whole number from 0 on, got {', '.join(map(str, seeds)) or 'none'}")
    folder = training_folder(store.root, options.name)
    for test_set in test_sets:
        if not store.ensembles.has(test_set.name, options.name):
            continue
        members = store.ensembles.manifest(test_set.name, options.name).members
        if set(members) != {str(seed) for seed in seeds} or not folder.is_dir():
            raise AlreadyStored(
                f"ensemble {options.name} on {test_set.name} is finished with the seeds {', '.join(members)}: choose "
                f"another name, or run {store.ensembles.removal_command(test_set.name, options.name)} first"
            )
    return seeds


def _plan(
    options: EnsembleOptions, hyperparameters: Hyperparameters, data: TrainingData, sets: Sequence[TestSet]
) -> TrainingPlan:
    architecture = with_absolute_path(options.network)
    network = NetworkDescription(architecture, data.class_space, data.preprocessing, data.training_set)
    return TrainingPlan(
        options.name,
        network,
        hyperparameters,
        tuple(test_set.name for test_set in sets[1:]),
        {test_set.name: test_set.digest for test_set in sets},
        options.every,
        options.keeps(KeptPart.WEIGHTS),
        network_code(architecture, network.new_network()).hash,
    )


TRAIN_ENSEMBLE = Study(
    name="ensemble",
    question="How does a network learn?",
    summary="Train a network once per seed, and store its scores on test sets after every epoch; stopped runs resume.",
    options=AddingOptions,
    result=TrainedEnsemble,
    run=run,
    figure=learning_curves,
)
