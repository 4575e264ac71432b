"""regrade review audit, regrade labels audit."""

import json

import pytest
from judging import people, vote
from running import assert_one_line, run, run_well, snapshot

import regrade

LABELS = "image,class,state\n" + "".join(
    f"p{n},{own},correct\n" for n, own in enumerate(("cat", "dog", "bird", "cat", "ship", "frog"))
)
ASK = ("-t", "pets", "-l", "own")


@pytest.fixture
def workspace(pets, tmp_path):
    """One model, which predicts the label on all images but p2 and p5."""
    file = tmp_path / "own.csv"
    file.write_text(LABELS)
    run_well("import", "labels", file, "-t", "pets", "--name", "own", "-w", pets)
    return pets


def decide(workspace, **answers):
    ledger = regrade.open(workspace).ledger
    (ada,) = people(ledger, "Ada")
    queue = ledger.queues.named("audit pets own@1")
    for pair in ledger.items.pairs(queue):
        vote(ledger, queue, ada, pair, answers.get(pair[0], "correct"))
    ledger.engine.dispose()


def test_audit_prints_the_share_of_wrong_labels(workspace):
    queued = run_well("review", "audit", *ASK, "--size", 4, "-w", workspace)
    assert "labels that all of 1 model predict: 4 of 6 scored images" in queued.out
    decide(workspace, p0="wrong")
    published = run_well("review", "publish", "audit pets own@1", "-w", workspace)
    assert "1 correct now wrong, 4 decisions of the audit" in published.err
    printed = run_well("labels", "audit", "-t", "pets", "-w", workspace).out
    assert "25.00 [25.00, 25.00]" in printed
    result = json.loads(run_well("labels", "audit", "-t", "pets", "--json", "-w", workspace).out)
    (audit,) = result["audits"]
    assert (audit["labels"], audit["models"], audit["population"], audit["decided"]) == ("own@1", ["first"], 4, 4)
    wrong = audit["outcomes"][0]
    assert (wrong["outcome"], wrong["count"], wrong["share"]["low"], wrong["labels_high"]) == ("wrong", 1, 0.25, 1)
    run_well("verify", "-w", workspace)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("review", "audit", *ASK, "--size", 5), "4 labels can still be drawn, got a size of 5"),
        (("review", "audit", "-t", "pets", "-l", "none", "--size", 1), "none"),
        (("review", "audit", *ASK, "--size", 1, "--model", "nobody"), "nobody"),
        (("labels", "audit", "-t", "pets"), "run regrade review audit"),
        (("labels", "audit", "-t", "pets", "--name", "x"), "x"),
    ],
)
def test_bad_input_is_one_line_and_changes_nothing(workspace, arguments, message):
    run_well("review", "list", "-w", workspace)
    before = snapshot(workspace)
    assert_one_line(run(*arguments, "-w", workspace), message)
    assert {path for path in snapshot(workspace) if "ledger" not in str(path)} == {
        path for path in before if "ledger" not in str(path)
    }
