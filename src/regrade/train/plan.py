"""The plan of an ensemble's training: everything that its results depend on, stored before the first epoch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from regrade.core import AlreadyStored, InputError
from regrade.models.head_model import check_head_file
from regrade.models.trained_model import TRAINING, NetworkDescription, check_network_file, network_files
from regrade.store import CheckedFile, Store, file_name, read_stored_json, replace_file, stored_json
from regrade.store.file_errors import write_errors
from regrade.store.locks import locked
from regrade.train.added_set import AddedSet
from regrade.train.grid import HyperparameterGrid
from regrade.train.hyperparameters import Hyperparameters
from regrade.train.remedy import GroupRemedy

_PLAN = "plan.json"
_HYPERPARAMETERS = "hyperparameters"


@dataclass(frozen=True)
class TrainingPlan:
    """What is trained, on what and how; ``every`` and ``keep_weights`` say which epochs are scored and kept.

    ``digests`` identify the versions of the training set and of the sets that are scored. A training may have parts,
    which are trained one after another: a ``fold`` of an ``added`` set, or a ``point`` of a ``grid``.
    """

    name: str
    network: NetworkDescription
    hyperparameters: Hyperparameters
    test_sets: tuple[str, ...]
    digests: dict[str, str]
    every: int = 1
    keep_weights: bool = False
    code_hash: str = ""
    remedy: GroupRemedy | None = None
    added: AddedSet | None = None
    grid: HyperparameterGrid | None = None
    fold: int | None = None
    point: int | None = None

    @property
    def part(self) -> str:
        """The name of the part, as in the names of its networks; empty if the training has no parts."""
        if self.fold is not None:
            return f"fold-{self.fold}"
        return "" if self.point is None else f"point-{self.point}"

    def network_name(self, seed: int) -> str:
        """The name of a member's network, without the prefix of its source: NAME/seed-0, or NAME/fold-0/seed-0."""
        return "/".join((self.name, *((self.part,) if self.part else ()), f"seed-{seed}"))

    def member_folder(self, root: Path, seed: int) -> Path:
        """The folder of a member."""
        return training_folder(root, self.name) / self.part / f"seed-{seed}"

    def is_scored(self, epoch: int) -> bool:
        """Whether scores are stored after an epoch; epoch 0 is the untrained network."""
        return epoch % self.every == 0

    def as_plain(self) -> dict[str, Any]:
        """The plan as plain values, in the order in which differences are reported."""
        settings = {
            key: value.value if isinstance(value, Enum) else value
            for key, value in asdict(self.hyperparameters).items()
        }
        rest = {key: getattr(self, key) for key in ("digests", "every", "keep_weights", "code_hash")}
        return {
            "network": self.network.as_plain(),
            _HYPERPARAMETERS: settings,
            "test_sets": list(self.test_sets),
            **rest,
            **({"remedy": self.remedy.as_plain()} if self.remedy else {}),
            **({"added": self.added.as_plain()} if self.added else {}),
            **({"tuning": self.grid.as_plain()} if self.grid else {}),
        }


def training_folder(root: Path, name: str) -> Path:
    """The folder of a training in a workspace."""
    if file_name(name) != name:
        raise InputError(f"{name!r} cannot name a training: use letters, digits, hyphens and dots")
    return root / TRAINING / name


def check_training_files(root: Path) -> Iterator[CheckedFile]:
    """Check the plans and the networks of all trainings of a workspace."""
    folder = root / TRAINING
    checks: dict[str, Callable[[Path], object]] = {
        f"*/{_PLAN}": read_stored_json,
        "*/seed-*/head-*.npz": check_head_file,
        "*/seed-*/*.pt": check_network_file,
        "*/*/seed-*/*.pt": check_network_file,
    }
    for pattern, check in checks.items():
        for path in sorted(folder.glob(pattern)):
            try:
                check(path)
                trouble = ""
            except InputError as error:
                trouble = str(error)
            yield CheckedFile(path.relative_to(root).as_posix(), path.stat().st_size, trouble)


def store_plan(store: Store, plan: TrainingPlan) -> None:
    """Store the plan of a training; raise if another one is stored under its name."""
    store_settings(store, plan.name, plan.as_plain())


def store_settings(store: Store, name: str, plain: dict[str, Any]) -> None:
    """Store the settings of a training as plain values; raise with the first that differs from the stored ones."""
    folder = training_folder(store.root, name)
    with write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with locked(folder):
        path = folder / _PLAN
        if path.is_file():
            _check_same(name, read_stored_json(path), plain, folder)
        else:
            replace_file(path, stored_json(plain, place=f"{TRAINING}/{name}/{_PLAN}"))


def refuse_incomplete(store: Store, name: str) -> None:
    """Raise if a member of a training has epochs left; other ensembles have no plan, and are not checked."""
    folder = training_folder(store.root, name)
    if not (folder / _PLAN).is_file():
        return
    stored = read_stored_json(folder / _PLAN)
    if _HYPERPARAMETERS not in stored:
        return  # the settings of a head
    epochs, command = stored[_HYPERPARAMETERS]["epochs"], stored.get("remedy", {}).get("method", "ensemble")
    for member in sorted(folder.glob("seed-*")):
        last = max(network_files(member, "state"), default=0)
        if last < epochs:
            raise InputError(
                f"{member.name} of {name} is after epoch {last} of {epochs}: train it to the end with regrade train "
                f"{command} {name}, or remove {member}"
            )


def _check_same(name: str, stored: dict[str, Any], own: dict[str, Any], folder: Path) -> None:
    """Raise with the first setting that differs."""
    before, now = _flat(stored), _flat(own)
    for key in dict.fromkeys((*now, *before)):
        if before.get(key) != now.get(key):
            shown = "" if isinstance(now.get(key), list | dict) else f" ({before.get(key)}, now {now.get(key)})"
            raise AlreadyStored(
                f"training {name} was started with other settings: {key.replace('_', ' ')}{shown}; choose another "
                f"name, or remove {folder} to start over"
            )


def _flat(plain: dict[str, Any]) -> dict[str, Any]:
    """The values with those of nested objects next to them; what is read from a file has lists for tuples."""
    flat: dict[str, Any] = {}
    for key, value in plain.items():
        if isinstance(value, dict) and key not in ("class_space", "digests", "sizes"):
            flat |= _flat(value)
        else:
            flat[key] = list(value) if isinstance(value, tuple) else value
    return flat
