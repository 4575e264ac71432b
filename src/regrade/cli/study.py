"""regrade study: analyses from the literature on the predictions of a workspace."""

from __future__ import annotations

import typer

from regrade.cli.study_confusion import confusion
from regrade.cli.study_generalization import generalization
from regrade.cli.study_geography import geography
from regrade.cli.study_leakage import leakage
from regrade.cli.study_mistakes import mistakes
from regrade.cli.study_people import people
from regrade.cli.study_similarity import similarity

app = typer.Typer(
    help="Studies of the predictions in a workspace: generalization, similarity, mistakes, and others.",
    no_args_is_help=True,
)
app.command("confusion")(confusion)
app.command("generalization")(generalization)
app.command("geography")(geography)
app.command("leakage")(leakage)
app.command("mistakes")(mistakes)
app.command("people")(people)
app.command("similarity")(similarity)
