"""Ranks as the published tables print them: ties are broken by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from regrade.studies import ModelShift


def ranked_by_name(rows: Sequence[ModelShift]) -> dict[str, ModelShift]:
    """The models on one new set by name, with distinct ranks."""
    original = _ranks(rows, lambda row: row.original.value)
    new = _ranks(rows, lambda row: row.new.value)
    return {row.model: _ranked(row, original[row.model], new[row.model]) for row in rows}


def _ranks(rows: Sequence[ModelShift], accuracy: Callable[[ModelShift], float]) -> dict[str, int]:
    ordered = sorted(rows, key=lambda row: (-accuracy(row), row.model))
    return {row.model: rank for rank, row in enumerate(ordered, start=1)}


def _ranked(row: ModelShift, original: int, new: int) -> ModelShift:
    return replace(
        row,
        original_rank=original,
        original_rank_last=original,
        new_rank=new,
        new_rank_last=new,
        rank_change=original - new,
    )
