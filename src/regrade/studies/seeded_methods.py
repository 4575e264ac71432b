"""Methods of training: the stored models that a name stands for, and their seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from regrade.core import InputError, UnknownName
from regrade.core.names import model_pattern
from regrade.display.wording import listed

_MISSING = 3  # the most seeds that a message lists


@dataclass(frozen=True)
class SeededMethod:
    """A method by its ``name``, with its models by seed; the seed of a single model is empty."""

    name: str
    models: Mapping[str, str]


@dataclass(frozen=True)
class MethodPair:
    """A remedy and its baseline: ``rows`` are the pairs of models (baseline, remedy), one per seed."""

    baseline: SeededMethod
    remedy: SeededMethod
    rows: tuple[tuple[str, str], ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """How seeds were paired, where it limits what the intervals cover."""
        if len(self.rows) == 1:
            text = "a single pair of models: the interval is over images only, and says nothing about other seeds"
            return (f"{self.remedy.name}: {text}",)
        single = [method for method in (self.baseline, self.remedy) if len(method.models) == 1]
        return tuple(
            f"{method.name} is a single model, compared with each of {len(self.rows)} seeds: the interval does not "
            "cover what another seed of it would change"
            for method in single
        )


def pair_notes(pairs: Sequence[MethodPair]) -> tuple[str, ...]:
    """The notes of all pairs; those of several single pairs of models are one."""
    single = [pair.remedy.name for pair in pairs if len(pair.rows) == 1]
    if len(single) < 2:
        return tuple(note for pair in pairs for note in pair.notes)
    text = "single pairs of models: their intervals are over images only, and say nothing about other seeds"
    return (f"{listed(single)}: {text}", *(note for pair in pairs if len(pair.rows) > 1 for note in pair.notes))


def seeded_method(name: str, stored: Sequence[str], *, where: str, first: str = "") -> SeededMethod:
    """Return the models that a name stands for: a model, a pattern with ``*``, or a method (``NAME/seed-*``).

    The seed of a model is the part of its name that ``*`` matches. A name without a model raises, with suggestions;
    ``first`` is the command that adds the first model.
    """
    if name in stored:
        return SeededMethod(name, {"": name})
    expression = model_pattern(name)
    matches = [match for model in stored if (match := expression.fullmatch(model))]
    if matches:
        models = {"*".join(match.groups()): match.string for match in matches}
        if len(models) < len(matches):
            raise InputError(f"{name} is ambiguous on {where}: {listed([match.string for match in matches])}")
        return SeededMethod(name, models)
    if "*" in name and stored:
        raise InputError(f"no model on {where} matches {name!r}; there are {listed(stored)}")
    raise UnknownName(f"model on {where}", name, stored, first=first)


def paired_methods(baseline: SeededMethod, remedy: SeededMethod) -> MethodPair:
    """Pair the models of two methods by their seeds; a single model is compared with every seed of the other method.

    Methods with different seeds, or with a model in common, raise.
    """
    if shared := sorted({*baseline.models.values()} & {*remedy.models.values()}):
        raise InputError(f"the baseline and the remedy must differ: {shared[0]} belongs to both")
    before, after = baseline.models, remedy.models
    if len(before) == 1 or len(after) == 1:
        rows = tuple((b, r) for b in before.values() for r in after.values())
        return MethodPair(baseline, remedy, rows)
    if unpaired := sorted({*before} ^ {*after}):
        raise InputError(
            f"{baseline.name} and {remedy.name} have different seeds: {listed(unpaired, most=_MISSING)} only on one "
            "side; predict with the missing models, or name methods with the same seeds"
        )
    return MethodPair(baseline, remedy, tuple((before[seed], after[seed]) for seed in before))
