"""The interim accuracy on a queue's page: for owners, up to date, and only for random samples."""

import pytest
from panel_votes import cast_votes
from playwright.sync_api import expect
from work_page import faint_texts, item_numbers

from regrade.ledger import Mode, NewItem, Question

LABEL = "valid at any stopping point"


@pytest.fixture
def sampled(workspace):
    """A queue of twelve novel predictions drawn at random, one vote each."""
    workspace.review.queue_novel("digits", labels="multi", size=12, overlap=1)
    return next(queue for queue in workspace.ledger.queues.all() if queue.question is Question.JUDGE)


def vote_on(workspace, queue, count, answer="correct"):
    """Vote on the open items among the first ``count`` items of a queue."""
    done = workspace.ledger.queues.progress(queue).by_person.get("Rita", 0)
    for item in item_numbers(workspace, queue)[done:count]:
        cast_votes(workspace, item, Rita=answer)


def interval_of(workspace, queue, model):
    return next(row.anytime for row in workspace.review.running_review(queue.name).rows if row.model == model)


def test_owner_sees_accuracies_that_follow_the_decisions(workspace, sampled, visitor):
    owner = visitor("Olga")
    row = '<th scope="row">gamma</th>'
    assert row not in owner.get(f"/panel/{sampled.id}").text  # none of gamma's predictions is decided
    vote_on(workspace, sampled, 6)
    first = interval_of(workspace, sampled, "gamma")
    text = owner.get(f"/panel/{sampled.id}").text
    assert LABEL in text and row in text and f"{100 * first.low:.1f} to {100 * first.high:.1f}" in text
    vote_on(workspace, sampled, 12)
    later = interval_of(workspace, sampled, "gamma")
    assert first.low < later.low <= later.high <= first.high


def test_running_review_is_the_grade_once_published(workspace, sampled):
    vote_on(workspace, sampled, 12)
    running = workspace.review.running_review(sampled.name)
    workspace.review.publish(sampled.name)
    published = {row.model: row.anytime for row in workspace.grade("digits", labels="multi").rows}
    assert running.models == 3 and {row.model: row.anytime for row in running.rows} == published


@pytest.mark.parametrize("viewer", ["Rita", "Rob"])
def test_running_review_is_hidden_from_reviewers(workspace, sampled, visitor, viewer):
    vote_on(workspace, sampled, 12)
    for address in (f"/panel/{sampled.id}", f"/panel/{sampled.id}?show=decided", f"/judge/{sampled.id}", "/"):
        assert LABEL not in visitor(viewer).get(address).text


def test_running_review_is_hidden_from_an_owner_with_an_open_examination(workspace, sampled, visitor):
    vote_on(workspace, sampled, 12)
    ledger, target = workspace.ledger, workspace.store.test_set("digits")
    queue = ledger.queues.create("exam", Question.LABEL, test_set="digits", overlap=2, mode=Mode.EXAMINATION)
    ledger.items.add(queue, [NewItem(target.ids[0])])
    assert LABEL not in visitor("Olga").get(f"/panel/{sampled.id}").text


def test_running_review_needs_a_random_sample(workspace, judge_queue, visitor):
    for item in item_numbers(workspace, judge_queue):
        cast_votes(workspace, item, Rita="correct", Rob="correct")
    assert workspace.review.running_review(judge_queue.name) is None
    assert LABEL not in visitor("Olga").get(f"/panel/{judge_queue.id}").text


def test_owner_sees_the_running_review_in_a_browser(workspace, sampled, server, page_of):
    vote_on(workspace, sampled, 6)
    page = page_of(server, "Olga")
    page.goto(f"/panel/{sampled.id}")
    card, rows = page.locator("#running"), page.locator("#running tbody tr")
    expect(card.locator("summary")).to_have_text("Accuracy so far, valid at any stopping point")
    estimate = interval_of(workspace, sampled, "gamma")
    bounds = f"{100 * estimate.low:.1f} to {100 * estimate.high:.1f}"
    expect(rows.filter(has_text="gamma").locator("td")).to_have_text([f"{100 * estimate.value:.1f}", bounds])
    expect(rows.filter(has_text="alpha").locator("td").last).to_have_text("exact: all decided")
    assert not faint_texts(page)
    card.locator("summary").press("Enter")
    expect(rows.first).to_be_hidden()
