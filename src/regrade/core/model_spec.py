"""The provenance of a model's predictions."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A model's name, ``source:architecture.tag``, and everything that its predictions depend on.

    Unknown fields are empty; imported predictions often have only a name. ``code_hash`` covers the user's own code of a
    model, and ``code_note`` says which parts could not be hashed.
    """

    name: str
    class_space: str
    preprocessing: str = ""
    weights_hash: str = ""
    training_data: str = ""
    code_hash: str = ""
    code_note: str = ""
