"""regrade train ensemble: train a network several times, and store its scores after every epoch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import Enum

from regrade.core import AlreadyStored, InputError, TestSet
from regrade.models import Device, Precision
from regrade.models.networks import network_code, with_absolute_path
from regrade.models.torch_runtime import check_device, require_torch
from regrade.models.trained_model import NetworkDescription
from regrade.store import Store
from regrade.studies.study import Study, StudyOptions, option
from regrade.train.figure import learning_curves
from regrade.train.hyperparameters import Hyperparameters, Optimizer
from regrade.train.member import ensemble_writer
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
from regrade.train.result import TrainedEnsemble, trained_member
from regrade.train.training_data import DataOptions, TrainingData, read_training_data

_SEEDS = (0, 1, 2)
_DEFAULTS = Hyperparameters()


class KeptPart(Enum):
    """What is kept of every scored epoch, besides the scores."""

    WEIGHTS = "weights"


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
    keep: KeptPart | None = option("weights: keep the weights of every scored epoch, not only the last.", None)
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

    def hyperparameters(self) -> Hyperparameters:
        """The settings of the training loop."""
        return Hyperparameters(
            **{item.name: getattr(self, item.name) for item in fields(Hyperparameters) if hasattr(self, item.name)}
        )


def run(store: Store, options: EnsembleOptions) -> TrainedEnsemble:
    """Train a network once per seed, and store its scores on test sets after every epoch.

    The state after every epoch is kept in ``training/NAME``: a run that was stopped goes on where it was, on a CPU with
    the results that it would have had. The members are models, ``trained:NAME/seed-0``.
    """
    return train_ensemble(store, options)


def train_ensemble(
    store: Store, options: EnsembleOptions, remedy_of: Callable[[TestSet], GroupRemedy | None] = lambda _: None
) -> TrainedEnsemble:
    """Train an ensemble; ``remedy_of`` returns what its training does with groups of the images of a training set."""
    require_torch("regrade train", "torch")
    hyperparameters = options.hyperparameters()
    _check_device(options.device)
    training_folder(store.root, options.name)
    training_set = store.test_set(options.on)
    test_sets = [store.test_set(name) for name in dict.fromkeys(options.test_sets)]
    seeds = _seeds(store, options, test_sets)
    remedy = remedy_of(training_set)
    data = read_training_data(
        store, training_set, test_sets, DataOptions(options.size, options.channels, options.allow_shared)
    )
    plan = replace(_plan(options, hyperparameters, data, (training_set, *test_sets)), remedy=remedy)
    store_plan(store, plan)
    jobs = options.jobs or default_jobs(options.device, len(seeds))
    worker = MemberWorker(store.root.absolute(), plan, data, options.device)
    trained = train_members(worker, seeds, jobs=min(jobs, len(seeds)), progress=options.epoch_progress)
    if options.finish:
        for name in plan.test_sets:
            if not store.ensembles.has(name, plan.name):
                ensemble_writer(store, plan.name, name, plan.network.class_space).finish()
    return _result(store, plan, data, trained)


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
                f"another name, or remove {store.ensembles.path(test_set.name, options.name)} first"
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
        options.keep is KeptPart.WEIGHTS,
        network_code(architecture, network.new_network()).hash,
    )


def _result(store: Store, plan: TrainingPlan, data: TrainingData, trained: TrainedCurves) -> TrainedEnsemble:
    confidence = store.config.confidence
    return TrainedEnsemble(
        plan.name,
        plan.network.architecture,
        data.training_set,
        len(data.sets[data.training_set].labels),
        plan.test_sets,
        tuple(name for name in plan.test_sets if store.ensembles.has(name, plan.name)),
        trained.new_epochs,
        tuple(
            trained_member(curve, data.training_set, plan.test_sets, confidence) for curve in trained.curves.values()
        ),
        tuple(trained.curves.values()),
        {} if plan.remedy is None else dict(zip(plan.remedy.groups.names, plan.remedy.groups.sizes, strict=True)),
    )


TRAIN_ENSEMBLE = Study(
    name="ensemble",
    question="How does a network learn?",
    summary="Train a network once per seed, and store its scores on test sets after every epoch; stopped runs resume.",
    options=EnsembleOptions,
    result=TrainedEnsemble,
    run=run,
    figure=learning_curves,
)
