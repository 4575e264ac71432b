"""What a model is: the one record that says where its predictions come from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A model's name, ``source:architecture.tag``, and what its results depend on.

    Predictions that came as a file know little more than their name; what is not known is empty. ``code_hash`` covers
    the user's own code behind a model, and ``code_note`` says what of it could not be hashed.
    """

    name: str
    class_space: str
    preprocessing: str = ""
    weights_hash: str = ""
    training_data: str = ""
    code_hash: str = ""
    code_note: str = ""
