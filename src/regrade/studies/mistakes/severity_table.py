"""The table of severities: right predictions and severe mistakes of every model on the same images."""

from __future__ import annotations

from collections.abc import Sequence

from regrade.core import Column, Table
from regrade.studies.mistakes.severity import ModelSeverity


def severity_table(title: str, rows: Sequence[ModelSeverity], slice_notes: Sequence[str]) -> Table:
    """Return one row per model; columns about novel predictions and about choosing the images only if there are any."""
    novel, chose = any(row.novel for row in rows), any(row.chose for row in rows)
    columns = [
        Column("model", "model"),
        Column("images", "images", detail=True),
        Column("right_images", "right"),
        Column("right", "right, in %"),
        *([Column("novel", "novel"), Column("right_at_most", "right at most")] if novel else []),
        Column("major", "major"),
        Column("borderline", "borderline", detail=True),
        Column("minor", "minor"),
        Column("open", "no severity"),
        Column("unanswered", "no prediction", detail=True),
        Column("major_at_least", "major at least"),
        Column("major_at_most", "major at most"),
        *([Column("chose", "chose the slice")] if chose else []),
    ]
    if not any(row.unanswered for row in rows):
        columns = [column for column in columns if column.key != "unanswered"]
    cells = tuple(
        tuple(
            ("yes" if row.chose else None) if column.key == "chose" else getattr(row, column.key) for column in columns
        )
        for row in rows
    )
    estimates = [row.right for row in rows if row.right] + [row.major_at_most for row in rows if row.major_at_most]
    methods = sorted({estimate.method for estimate in estimates})
    notes = [
        "right: correct or unclear; major, borderline and minor: mistakes that people gave a severity, in the review "
        "of this model, or of another one for the same prediction",
        "no severity: mistakes that nobody gave one, or on which reviews disagree; regrade review mistakes queues them",
        "major at least: none of these is major; at most: all of them"
        + (", and all novel predictions, are. Right at most: all novel predictions are right" if novel else " are"),
        *([f"intervals: {', '.join(methods)}"] if methods else []),
        *slice_notes,
    ]
    return Table(f"severity of mistakes on {title}, shares of the images in %", tuple(columns), cells, tuple(notes))
