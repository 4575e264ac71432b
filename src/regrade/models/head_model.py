"""``head:NAME/seed-0``: the embeddings of a base model with a new last layer, and the files that contain it."""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from regrade.classes import class_space_as_json, class_space_from_json
from regrade.core import ClassSpace, DamagedFile, FormatError, InputError, MismatchError, ModelSpec, ScoreKind
from regrade.core.arrays import FloatArray
from regrade.models.description import describe_model
from regrade.models.model import Model, Settings
from regrade.models.trained_model import TRAINING

_FORMAT = 1
_DIGITS = 16  # of the SHA-256 of a file, in its name
_FILE = re.compile(rf"head-([0-9a-f]{{{_DIGITS}}})\.npz")


@dataclass(frozen=True, eq=False)
class LinearHead:
    """A last layer: ``weight`` (d, c) and ``bias`` (c,), in float32.

    A head that ``adds_to_base`` is added to the base model's logits; zeros are then the base model itself.
    """

    weight: FloatArray
    bias: FloatArray
    adds_to_base: bool

    def scores(self, embeddings: FloatArray, base_scores: FloatArray | None) -> FloatArray:
        """Shape (n, c): the scores for embeddings (n, d) and, if the head adds to them, the base model's scores.

        Both are rounded to half precision first, as they are stored, so that a head predicts what it was fitted on.
        """
        scores: FloatArray = _as_stored(embeddings) @ self.weight + self.bias
        if self.adds_to_base:
            assert base_scores is not None
            scores += _as_stored(base_scores)
        return scores


def _as_stored(values: FloatArray) -> FloatArray:
    with np.errstate(over="ignore"):
        return values.astype(np.float16).astype(np.float32)


@dataclass(frozen=True, eq=False)
class HeadFile:
    """A head with the base model it belongs to, the classes it predicts, and how it was fitted (plain values)."""

    head: LinearHead
    base: ModelSpec
    base_classes: ClassSpace
    class_space: ClassSpace
    training_set: str
    fit: Mapping[str, Any] = field(default_factory=dict)

    def spec(self, name: str, base: ModelSpec | None = None) -> ModelSpec:
        """The record of the model: that of the base model, by default the stored one, with this head."""
        own = hashlib.sha256()
        for part in (self.head.weight, self.head.bias):
            own.update(np.ascontiguousarray(part, dtype="<f4").data)
        own.update(f"{self.head.adds_to_base} {self.base.weights_hash}".encode())
        return replace(
            base or self.base,
            name=name,
            class_space=self.class_space.name,
            weights_hash=own.hexdigest(),
            training_data=self.training_set,
        )


def packed_head(file: HeadFile) -> tuple[str, bytes]:
    """The name of the file, which contains a hash, and its bytes: two arrays, and all else as JSON."""
    description = {
        "format": _FORMAT,
        "adds_to_base": file.head.adds_to_base,
        "base": {name: getattr(file.base, name) for name in ModelSpec.__slots__},
        "base_classes": class_space_as_json(file.base_classes),
        "class_space": class_space_as_json(file.class_space),
        "training_set": file.training_set,
        "fit": dict(file.fit),
    }
    buffer = io.BytesIO()
    weight, bias = (np.asarray(part, dtype=np.float32) for part in (file.head.weight, file.head.bias))
    np.savez(buffer, weight=weight, bias=bias, description=np.array(json.dumps(description)))
    data = buffer.getvalue()
    return f"head-{hashlib.sha256(data).hexdigest()[:_DIGITS]}.npz", data


def head_path(folder: Path) -> Path | None:
    """The file of the head in a folder, if there is one."""
    return next((path for path in sorted(folder.glob("head-*.npz")) if _FILE.fullmatch(path.name)), None)


def check_head_file(path: Path) -> None:
    """Raise if a file does not have the hash that is in its name."""
    match = _FILE.fullmatch(path.name)
    try:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None
    if match is None or not digest.startswith(match[1]):
        raise DamagedFile(f"{path} has changed since it was written: restore it, or remove it")


def read_head_file(path: Path) -> HeadFile:
    """Read a head; raise if the file has changed since it was written."""
    check_head_file(path)
    try:
        with np.load(path, allow_pickle=False) as content:
            stated = json.loads(str(content["description"]))
            weight, bias = content["weight"], content["bias"]
        if stated["format"] > _FORMAT:
            raise FormatError(f"{path} was written by a newer version of regrade")
        return HeadFile(
            LinearHead(weight, bias, stated["adds_to_base"]),
            ModelSpec(**stated["base"]),
            class_space_from_json(stated["base_classes"]),
            class_space_from_json(stated["class_space"]),
            stated["training_set"],
            stated["fit"],
        )
    except (KeyError, TypeError, AttributeError, ValueError, OSError, zipfile.BadZipFile) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"{path} is not a file of regrade train head") from None


class HeadModel(Model):
    """A base model whose last layer is replaced: it runs as the base model does, and has its embeddings."""

    def __init__(self, name: str, file: HeadFile, base: Model) -> None:
        self.base, self.file = base, file
        self.spec = file.spec(name, base.spec)
        self.class_space = file.class_space
        self.preprocessing = base.preprocessing
        self.score_kind = ScoreKind.LOGITS
        self.runtime = f"{base.runtime}, head"
        self.takes_pixels = base.takes_pixels

    def scores(self, batch: FloatArray) -> FloatArray:
        """Scores (n, c) of the head."""
        return self.scores_and_features(batch)[0]

    def scores_and_features(self, batch: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Scores (n, c) of the head, and the base model's embeddings (n, d)."""
        base_scores, features = map(np.asarray, self.base.scores_and_features(batch))
        width = len(self.file.head.weight)
        if features.shape[1] != width:
            raise MismatchError(
                f"{self.file.base.name} has embeddings of {features.shape[1]} numbers, and {self.spec.name} needs "
                f"{width}: it was fitted on another version of the model"
            )
        return self.file.head.scores(features, base_scores), features

    def stacked(self, inputs: Sequence[FloatArray]) -> FloatArray:
        """Stack inputs as the base model does."""
        return self.base.stacked(inputs)

    def peak_memory(self, batch: FloatArray) -> int | None:
        """Bytes that a batch of the base model needs."""
        return self.base.peak_memory(batch)

    def free_memory(self) -> int | None:
        """Free bytes of the base model's device."""
        return self.base.free_memory()


def load_head(place: str, settings: Settings, load: Callable[[str, Settings], Model]) -> Model:
    """Load a head, ``NAME/seed-0`` in the workspace of the settings or the path of its folder, and its base model."""
    name = f"head:{place}"
    file = read_head_file(_file_of(place, settings.workspace))
    base = load(file.base.name, replace(settings, class_space=file.base_classes))
    describe_model(name, settings, class_space=file.class_space, preprocessing=base.preprocessing)
    if file.base.weights_hash and base.spec.weights_hash != file.base.weights_hash:
        raise MismatchError(f"{name} was fitted on other weights of {file.base.name}: fit it again")
    if file.head.adds_to_base and base.score_kind is ScoreKind.PROBABILITIES:
        raise MismatchError(f"{name} adds to logits, and {file.base.name} gives probabilities")
    return HeadModel(name, file, base)


def _file_of(place: str, workspace: Path | None) -> Path:
    folder = Path(place)
    places = [folder] if workspace is None else [workspace / TRAINING / folder, folder]
    for candidate in places:
        if path := head_path(candidate):
            return path
        if members := sorted(path.parent.name for path in candidate.glob("seed-*/head-*.npz")):
            raise InputError(f"head:{place} needs a seed: write head:{place}/{members[0]}")
    searched = " or ".join(str(candidate) for candidate in places)
    raise InputError(f"head:{place} has no file in {searched}: fit it with regrade train head")
