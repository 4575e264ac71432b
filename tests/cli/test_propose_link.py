"""regrade team propose-link, propose-links and end-propose-link."""

import json

import pytest
from PIL import Image
from running import assert_one_line, run, run_well

import regrade
from regrade.core.panel import Claim, WorkerEvent
from regrade.ledger import NewItem, Question


@pytest.fixture
def workspace(tmp_path):
    for number, label in enumerate(("0", "1")):
        folder = tmp_path / "images" / label
        folder.mkdir(parents=True)
        Image.new("RGB", (8, 8), (100 * number, 0, 0)).save(folder / f"{number}.png")
    opened = regrade.init(tmp_path / "W")
    opened.testsets.add("s", tmp_path / "images", classes="digits")
    opened.labels.create("s", name="own")
    opened.ledger.engine.dispose()
    return tmp_path / "W"


ARGUMENTS = ("-t", "s", "-l", "own")


def test_link_is_printed_once_listed_and_ended(workspace):
    done = run_well("team", "propose-link", "val", *ARGUMENTS, "--address", "https://x.example/", "-w", workspace)
    assert done.out.startswith("https://x.example/propose/")
    token = done.out.strip().rsplit("/", 1)[1]
    listed = run_well("team", "propose-links", "--json", "-w", workspace).out
    assert token not in listed
    (link,) = json.loads(listed)["links"]
    assert (link["name"], link["test_set"], link["labels"], link["items"]) == ("val", "s", "own", 0)
    ledger = regrade.open(workspace).ledger
    assert ledger.proposals.queue_of_link(token).name == "proposals val"
    assert "has ended" in run_well("team", "end-propose-link", "val", "-w", workspace).err
    assert ledger.proposals.queue_of_link(token) is None
    ledger.engine.dispose()
    assert "had ended before" in run_well("team", "end-propose-link", "val", "-w", workspace).err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("propose-link", "val", "-t", "none", "-l", "own"), "none"),
        (("propose-link", "val", "-t", "s", "-l", "none"), "none"),
        (("propose-link", "", *ARGUMENTS), "is empty"),
        (("propose-link", "x" * 90, *ARGUMENTS), "1 to 80 characters"),
        (("end-propose-link", "none"), "regrade team propose-link"),
    ],
)
def test_bad_input_is_one_line(workspace, arguments, message):
    assert_one_line(run("team", *arguments, "-w", workspace), message)


def test_link_of_an_examined_test_set_is_refused(workspace):
    run_well("team", "add", "Leo", "--role", "labeler", "-w", workspace)
    run_well("review", "label", "-t", "s", "--name", "exam", "-w", workspace)
    assert_one_line(run("team", "propose-link", "val", *ARGUMENTS, "-w", workspace), "examination 'exam'")


def test_link_of_a_test_set_without_images_is_refused(pets):
    run_well("labels", "create", "-t", "pets", "-w", pets)
    assert_one_line(run("team", "propose-link", "val", "-t", "pets", "-l", "own", "-w", pets), "images of pets")


def test_export_and_import_count_proposals_and_worker_events(workspace, tmp_path):
    ledger = regrade.open(workspace).ledger
    queue = ledger.queues.create("novel", Question.JUDGE, test_set="s", labels="own")
    ledger.proposals.propose(queue, NewItem("0.png", "3"), Claim.MISSING, "a three")
    grids = ledger.queues.create("grids", Question.SELECT, test_set="s", build="b")
    [link] = ledger.workers.add(1)
    ledger.workers.log(grids, link.worker, WorkerEvent.CONSENTED)
    ledger.engine.dispose()
    counts = "1 event of a worker, 1 proposal"
    assert counts in run_well("review", "export", tmp_path / "all.json", "-w", workspace).err
    run_well("init", tmp_path / "copy")
    assert counts in run_well("review", "import", tmp_path / "all.json", "-w", tmp_path / "copy").err
