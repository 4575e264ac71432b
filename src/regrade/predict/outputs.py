"""Checks of what a model returns for a batch, and its conversion to what is stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from regrade.core import ModelError, RegradeError, Ties, joined_ties
from regrade.core.arrays import FloatArray, IntArray
from regrade.models import Model
from regrade.models.failures import first_line
from regrade.store import Part


@dataclass(frozen=True)
class Outputs:
    """What a model returned for some examples, which are ``rows`` (n,) of a part.

    ``classes`` (n, k) are the best ones and ``top_scores`` (n, k) theirs, ``ties`` those across the last place, whose
    rows count from the first of these examples. All scores (n, c) and features (n, d) are optional.
    """

    examples: Sequence[str]
    rows: IntArray
    classes: IntArray
    top_scores: FloatArray
    ties: Ties | None = None
    scores: FloatArray | None = None
    features: FloatArray | None = None


ALONE = "leave out --together, so that one model is in memory at a time"
"""What to do if several models do not fit into the memory."""


class OutputCheck:
    """Checks the scores and features of one model; every error names the model and the examples."""

    def __init__(self, model: Model) -> None:
        self._name = model.spec.name
        self._space = model.class_space
        self._feature_width: int | None = None

    def scores(self, scores: FloatArray, examples: Sequence[str]) -> None:
        """Raise unless there is one score per class, and every example has a finite one."""
        self.shape(scores, np.issubdtype(scores.dtype, np.floating), len(examples), examples)
        self.finite(scores.max(axis=1), examples)  # -inf may rule out classes, but not all of them

    def shape(self, scores: Any, floating: bool, rows: int, examples: Sequence[str] = ()) -> None:
        """Raise unless scores, an array or a tensor, are one floating-point number per row and class."""
        name, space = self._name, self._space
        expected = (rows, len(space))
        if tuple(scores.shape) != expected or not floating:
            of = f" for {describe_examples(examples)}" if examples else ""
            raise ModelError(
                f"{name} returned {scores.dtype} of shape {tuple(scores.shape)}{of}: expected floating-point scores of "
                f"shape {expected}, one per class of {space.name}"
            )

    def finite(self, highest: FloatArray, examples: Sequence[str]) -> None:
        """Raise unless the highest score (n,) of every example is finite."""
        broken = np.flatnonzero(~np.isfinite(highest))
        if broken.size:
            raise ModelError(f"{self._name} returned scores that are not finite for example {examples[broken[0]]!r}")

    def features(self, features: FloatArray, examples: Sequence[str]) -> None:
        """Raise unless there is one row of finite features per example, always of the same width."""
        name, width = self._name, features.shape[-1] if features.ndim else 0
        expected = (len(examples), self._feature_width or max(width, 1))
        if features.shape != expected or not np.issubdtype(features.dtype, np.floating):
            raise ModelError(
                f"{name} returned features, {features.dtype} of shape {features.shape}, for "
                f"{describe_examples(examples)}: expected floating-point numbers of shape {expected}"
            )
        self._feature_width = width
        broken = np.flatnonzero(~np.isfinite(features).all(axis=1))
        if broken.size:
            raise ModelError(f"{name} returned features that are not finite for example {examples[broken[0]]!r}")

    def stored(self, outputs: Outputs, part: Part) -> Part:
        """A part with the outputs filled in."""
        rows = outputs.rows
        part.classes[rows] = outputs.classes
        part.scores[rows] = self.single_precision(outputs.top_scores, outputs.examples)
        if (ties := outputs.ties) is not None:
            part = replace(part, ties=joined_ties([(0, part.ties), (0, Ties(rows[ties.rows], ties.bits))]))
        if part.full_scores is not None and outputs.scores is not None:
            part.full_scores[rows] = self.half_precision(outputs.scores, "scores")
        if outputs.features is None:
            return part
        features = part.features
        if features is None:
            features = np.full((len(part), outputs.features.shape[1]), np.nan, dtype=np.float16)
        features[rows] = self.half_precision(outputs.features, "features")
        return replace(part, features=features)

    def single_precision(self, scores: FloatArray, examples: Sequence[str]) -> FloatArray:
        """The top scores in single precision, as stored; -inf is kept, but no finite score may become infinite."""
        with np.errstate(all="ignore"):
            single = scores.astype(np.float32)
        too_large = np.flatnonzero((np.isinf(single) & np.isfinite(scores)).any(axis=1))
        if too_large.size:
            raise ModelError(
                f"{self._name} returned scores too large for single precision for example "
                f"{examples[too_large[0]]!r}: scale them down"
            )
        return single

    def half_precision(self, values: FloatArray, what: str) -> FloatArray:
        """Scores or features in half precision, as stored."""
        if np.abs(values, where=np.isfinite(values), out=np.zeros_like(values)).max() > np.finfo(np.float16).max:
            name = self._name
            raise ModelError(f"{name} returned {what} too large for half precision: run it without --keep {what}")
        with np.errstate(all="ignore"):
            return values.astype(np.float16)


def describe_examples(examples: Sequence[str]) -> str:
    """One example by its id, several by their number, the first and the last."""
    if len(examples) == 1:
        return f"example {examples[0]!r}"
    return f"the {len(examples)} examples {examples[0]!r} to {examples[-1]!r}"


def shortage_message(name: str, models: int) -> str:
    """A model that does not fit into the memory, in which there are ``models`` of them, in one line."""
    return f"{name} does not fit into memory even with a batch of one" + (f": {ALONE}" if models > 1 else "")


def error_message(error: Exception, name: str, examples: Sequence[str]) -> str:
    """A model's error in one line with the examples; messages of adapters already name the model."""
    text = str(error).partition("\n")[0]
    if isinstance(error, RegradeError) and name in text:
        return f"{text} ({describe_examples(examples)})"
    return f"{name} failed on {describe_examples(examples)}: {first_line(error)}"
