"""regrade review: queues of items for people to review, and their results."""

from __future__ import annotations

import typer

from regrade.cli.review_agreement import agreement
from regrade.cli.review_files import backup, export, import_, restore, verify
from regrade.cli.review_list import assign, list_, overlap
from regrade.cli.review_publish import publish
from regrade.cli.review_queue import label, mistakes, people, queue

app = typer.Typer(help="Create review queues, follow their progress, and publish their results.", no_args_is_help=True)
app.command("queue")(queue)
app.command("people")(people)
app.command("mistakes")(mistakes)
app.command("label")(label)
app.command("list")(list_)
app.command("assign")(assign)
app.command("overlap")(overlap)
app.command("agreement")(agreement)
app.command("publish")(publish)
app.command("export")(export)
app.command("import")(import_)
app.command("backup")(backup)
app.command("restore")(restore)
app.command("verify")(verify)
