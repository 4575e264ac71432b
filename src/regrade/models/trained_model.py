"""``trained:NAME/seed-0``: networks that `regrade train` has trained, and the files that contain them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from regrade.classes import class_space_as_json, class_space_from_json
from regrade.core import ClassSpace, CropMode, DamagedFile, FormatError, InputError, Interpolation, MismatchError
from regrade.core.model_spec import Preprocessing
from regrade.models.description import describe_model
from regrade.models.model import Model, Settings
from regrade.models.networks import network_code, new_network
from regrade.models.torch_runtime import TorchModel, packed_weights, read_weights, require_torch

TRAINING = "training"
"""The folder of a workspace with one folder per training, and in it one per member."""

_FORMAT = 1
_DIGITS = 16  # of the SHA-256 of a file, in its name
_FILE = re.compile(rf"(?:state|weights)-(\d+)-([0-9a-f]{{{_DIGITS}}})\.pt")
_EPOCH = re.compile(r"epoch-(\d+)")


@dataclass(frozen=True)
class NetworkDescription:
    """What a trained network is: its architecture, the classes it predicts, its preprocessing and its training set."""

    architecture: str
    class_space: ClassSpace
    preprocessing: Preprocessing
    training_set: str = ""

    def new_network(self) -> Any:
        """An untrained network of the same architecture, with torch's global random state."""
        channels, size = self.preprocessing.channels, self.preprocessing.size
        return new_network(self.architecture, channels=channels, size=size, classes=len(self.class_space))

    def as_plain(self) -> dict[str, Any]:
        """The description as plain values, which `described` reads."""
        plain = asdict(self.preprocessing)
        plain |= {
            "crop_mode": self.preprocessing.crop_mode.name,
            "interpolation": self.preprocessing.interpolation.name,
        }
        return {
            "architecture": self.architecture,
            "class_space": class_space_as_json(self.class_space),
            "preprocessing": plain,
            "training_set": self.training_set,
        }


def described(plain: Mapping[str, Any]) -> NetworkDescription:
    """The description that these plain values state."""
    stated = dict(plain["preprocessing"])
    stated |= {"crop_mode": CropMode[stated["crop_mode"]], "interpolation": Interpolation[stated["interpolation"]]}
    stated |= {"mean": tuple(stated["mean"]), "std": tuple(stated["std"])}
    return NetworkDescription(
        plain["architecture"],
        class_space_from_json(plain["class_space"]),
        Preprocessing(**stated),
        plain["training_set"],
    )


def packed_network(description: NetworkDescription, content: Mapping[str, Any]) -> tuple[str, bytes]:
    """The end of the file's name, which contains a hash, and the bytes of a network after ``content["epoch"]`` epochs.

    ``content`` has the weights as ``network``, and whatever else its training needs: tensors and plain values.
    """
    data = packed_weights({**content, "format": _FORMAT, "description": description.as_plain()})
    return f"{content['epoch']:04}-{hashlib.sha256(data).hexdigest()[:_DIGITS]}.pt", data


def network_files(folder: Path, kind: str = "*") -> dict[int, Path]:
    """The files of networks in the folder of a member by epoch, ascending; ``kind`` is ``state`` or ``weights``."""
    matches = ((_FILE.fullmatch(path.name), path) for path in sorted(folder.glob(f"{kind}-*.pt")))
    by_epoch = {int(match[1]): path for match, path in matches if match}
    return dict(sorted(by_epoch.items()))


def check_network_file(path: Path) -> None:
    """Raise if a file does not have the hash that is in its name."""
    match = _FILE.fullmatch(path.name)
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None
    if match is None or not digest.startswith(match[2]):
        raise DamagedFile(f"{path} has changed since it was written: restore it, or remove it")


def read_network_file(path: Path) -> tuple[NetworkDescription, Mapping[str, Any]]:
    """The description and the content of a file; raise if the file has changed since it was written."""
    check_network_file(path)
    content = read_weights(path)
    try:
        if content["format"] > _FORMAT:
            raise FormatError(f"{path} was written by a newer version of regrade")
        return described(content["description"]), content
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"{path} is not a file of regrade train") from None


def load_weights(network: Any, weights: Mapping[str, Any], *, name: str, architecture: str) -> None:
    """Load weights into a network; raise if they are those of another architecture."""
    own = {key: tuple(value.shape) for key, value in network.state_dict().items()}
    stored = {key: tuple(value.shape) for key, value in weights.items()}
    if own != stored:
        key = next(key for key in (*own, *stored) if own.get(key) != stored.get(key))
        shapes = " and ".join(str(shapes.get(key, "missing")) for shapes in (stored, own))
        raise MismatchError(f"{name} does not contain the weights of {architecture}: {key} is {shapes}")
    network.load_state_dict(weights)


def load_trained(place: str, settings: Settings) -> Model:
    """Load a member of a training: ``NAME/seed-0`` in the workspace of the settings, or the path of its folder.

    ``/epoch-N`` after it chooses an epoch of which the weights were kept; the default is the last one.
    """
    name = f"trained:{place}"
    require_torch(name, "torch")
    path = _file_of(place, settings.workspace)
    description, content = read_network_file(path)
    network = description.new_network()
    load_weights(network, content["network"], name=str(path), architecture=description.architecture)
    model = describe_model(
        name,
        settings,
        class_space=description.class_space,
        preprocessing=description.preprocessing,
        code=network_code(description.architecture, network),
    )
    return TorchModel(network, model, settings, training_data=description.training_set)


def _file_of(place: str, workspace: Path | None) -> Path:
    """The file of the chosen epoch."""
    folder, epoch = Path(place), None
    if match := _EPOCH.fullmatch(folder.name):
        folder, epoch = folder.parent, int(match[1])
    places = [folder] if workspace is None else [workspace / TRAINING / folder, folder]
    files = next((files for candidate in places if (files := network_files(candidate))), None)
    if files is None:
        _refuse_several(folder, places)
        searched = " or ".join(str(candidate) for candidate in places)
        raise InputError(f"trained:{place} has no files in {searched}: train it with regrade train ensemble")
    if epoch is None:
        return list(files.values())[-1]
    if epoch not in files:
        kept = ", ".join(str(number) for number in files)
        raise InputError(f"trained:{place}: the weights of this epoch were not kept; there are {kept}")
    return files[epoch]


def _refuse_several(folder: Path, places: Sequence[Path]) -> None:
    """Raise if a member has a network per fold or per point of a grid: its predictions are stored, it cannot be run."""
    for place in places:
        parts = [path.parent.name for path in sorted(place.parent.glob(f"*/{place.name}")) if network_files(path)]
        if parts:
            raise InputError(
                f"trained:{folder} has {len(parts)} networks: name one, such as trained:{folder.parent}/{parts[0]}/"
                f"{folder.name}"
            )
