"""Interventions: the stored models that have a base model, each paired with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from regrade.core import InputError
from regrade.core.amounts import amount
from regrade.display.wording import listed
from regrade.studies.seeded_methods import MethodPair, SeededMethod, paired_methods, seeded_method


@dataclass(frozen=True)
class Interventions:
    """Interventions with their base models, in the order of the base models; ``notes`` say which were left out.

    ``standard`` are the stored models that are nobody's intervention, also not that of a model that is not stored.
    """

    pairs: tuple[MethodPair, ...]
    standard: tuple[str, ...]
    notes: tuple[str, ...]


def interventions(base_models: Mapping[str, str], stored: Sequence[str], *, where: str) -> Interventions:
    """Pair every model of ``base_models`` with its base model, if both are among the ``stored`` models.

    Names are models, patterns or trainings, as in `seeded_method`. Interventions and base models that are not stored
    are named in notes; if nothing can be compared, an error says how to describe models.
    """
    methods = {name: _method(name, stored) for name in dict.fromkeys((*base_models, *base_models.values()))}
    pairs, missing = list[MethodPair](), list[str]()
    for name, base in sorted(base_models.items(), key=lambda item: (item[1], item[0])):
        baseline, remedy = methods[base], methods[name]
        if remedy is not None and baseline is not None:
            pairs.append(paired_methods(baseline, remedy))
        elif remedy is not None:
            missing.append(f"{name} (base model {base})")
    absent = [name for name in base_models if methods[name] is None]
    if not pairs:
        raise InputError(_nothing_to_compare(missing, where))
    modified = {model for name in base_models if (method := methods[name]) for model in method.models.values()}
    standard = tuple(model for model in stored if model not in modified)
    return Interventions(tuple(pairs), standard, _notes(missing, absent, where))


def _method(name: str, stored: Sequence[str]) -> SeededMethod | None:
    try:
        return seeded_method(name, stored, where="")
    except InputError:  # an unknown name, or a pattern that matches no model
        return None


def _notes(missing: Sequence[str], absent: Sequence[str], where: str) -> tuple[str, ...]:
    notes = []
    if missing:
        notes.append(f"left out, since the base model has no predictions on {where}: {listed(missing, most=5)}")
    if absent:
        count = amount(len(absent), "described intervention")
        notes.append(f"{count} without predictions on {where}: {listed(absent)}")
    return tuple(notes)


def _nothing_to_compare(missing: Sequence[str], where: str) -> str:
    how = (
        "state base models with regrade models describe FILE.csv (columns model, base_model), or give --baseline and "
        "--remedy"
    )
    if missing:
        return f"no base model has predictions on {where}, needed for {listed(missing)}: predict with it, or {how}"
    return f"no model with predictions on {where} has a base model: {how}"
