"""regrade review: what people are asked, by whom, and how far they agree."""

from __future__ import annotations

import typer

from regrade.cli.review_agreement import agreement
from regrade.cli.review_files import backup, export, import_, restore, verify
from regrade.cli.review_list import assign, list_, overlap
from regrade.cli.review_publish import publish
from regrade.cli.review_queue import label, mistakes, people, queue

app = typer.Typer(help="Queues of what people are to judge or label, and what comes of it.", no_args_is_help=True)
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
