"""The images behind a number: filters, paging, two models, an image's page and a class's page."""

import itertools
import re

import numpy as np
import pytest
from judging import item_of, vote
from reading_pages import seen

from regrade.ledger import NewItem, Question
from regrade.studies import EVERYTHING


def top1(workspace, model):
    target = workspace.store.test_set("digits")
    return workspace.store.predictions(target, model).top1, target.labels


def count(page):
    return int(re.search(r"([\d,]+) images?", page.text).group(1).replace(",", ""))


def test_two_models_that_differ(workspace, visitor):
    (alpha, labels), (gamma, _) = top1(workspace, "alpha"), top1(workspace, "gamma")
    page = seen(
        visitor("Rita").get("/explore/images?set=digits&model=gamma&outcome=wrong&other=alpha&other_outcome=right")
    )
    expected = np.flatnonzero((gamma != labels) & (alpha == labels))
    assert count(page) == len(expected) > 0
    shown = [int(address.rpartition("image=")[2]) for address in page.to("/explore/image")]
    assert list(dict.fromkeys(shown)) == expected.tolist()


def test_classes_are_found_by_id_and_by_name(workspace, visitor):
    gamma, labels = top1(workspace, "gamma")
    rita = visitor("Rita")
    for said, label in itertools.product((1, 2), (3, 4)):
        page = seen(rita.get(f"/explore/images?set=digits&model=gamma&predicted={said}&label={label}"))
        assert count(page) == int(((gamma == said) & (labels == label)).sum())
    assert count(seen(rita.get("/explore/images?set=digits&label=4"))) == int((labels == 4).sum())


def test_without_a_model_one_answer_of_any_is_enough(workspace, visitor):
    all_of_them = np.stack([top1(workspace, name)[0] for name in ("alpha", "beta", "gamma")])
    labels = top1(workspace, "alpha")[1]
    page = seen(visitor("Rita").get("/explore/images?set=digits&outcome=wrong&predicted=7"))
    assert count(page) == int(((all_of_them == 7) & (labels != 7)).any(axis=0).sum())


def test_every_filter_can_be_taken_away(visitor):
    rita = visitor("Rita")
    page = seen(rita.get("/explore/images?set=digits&model=gamma&outcome=wrong&label=3&labels=multi&find=0"))
    chips = [address for text, address in page.links if text.endswith("remove")]
    assert len(chips) == 4
    for address in chips:
        assert count(seen(rita.get(address))) >= count(page)
    emptied = seen(rita.get("/explore/images?set=digits"))
    assert count(emptied) == 60


def test_pages_hold_every_image_once(workspace, visitor, tmp_path):
    (tmp_path / "many.csv").write_text("image,class\n" + "".join(f"image {n},{n % 10}\n" for n in range(130)))
    workspace.add_test_set("many", tmp_path / "many.csv", classes="digits")
    rita, found = visitor("Rita"), []
    for number in (1, 2, 3):
        page = seen(rita.get(f"/explore/images?set=many&page={number}"))
        found += [address for address in page.to("/explore/image")]
    assert len(dict.fromkeys(found)) == 130
    assert "page 3 of 3" in seen(rita.get("/explore/images?set=many&page=99")).text


def test_orders(workspace, visitor):
    rita = visitor("Rita")
    wrong = sum(
        (said != labels).astype(int) for said, labels in (top1(workspace, m) for m in ("alpha", "beta", "gamma"))
    )
    page = seen(rita.get("/explore/images?set=digits&order=hardest"))
    shown = [int(re.search(r"image=(\d+)", address).group(1)) for address in page.to("/explore/image")]
    assert [int(wrong[one]) for one in shown] == sorted(wrong.tolist(), reverse=True)
    scores = workspace.store.predictions(workspace.store.test_set("digits"), "alpha").scores[:, 0]
    page = seen(rita.get("/explore/images?set=digits&model=alpha&order=confident"))
    shown = [int(re.search(r"image=(\d+)", address).group(1)) for address in page.to("/explore/image")]
    assert (np.diff(scores[shown]) <= 0).all()
    assert rita.get("/explore/images?set=digits&order=confident").status_code == 400


def test_an_image_page_shows_what_everyone_says(workspace, visitor):
    rita = visitor("Rita")
    target = workspace.store.test_set("digits")
    page = seen(rita.get("/explore/image?set=digits&image=5&labels=multi"))
    for model in ("alpha", "beta", "gamma"):
        found = workspace.store.predictions(target, model)
        row = page.row(model)
        right = found.top1[5] == target.labels[5]
        assert row[1:4] == ["right" if right else "novel", str(found.top1[5]), f"{found.scores[5, 0]:.3f}"]
    assert target.ids[5] in page.text
    assert f"correct {target.class_space.names[target.labels[5]]}" in page.text
    assert len(page.images) >= 1
    assert seen(rita.get(f"/explore/image?set=digits&id={target.ids[5]}")).row("alpha")[2] == page.row("alpha")[2]


def test_an_image_page_goes_on_within_the_chosen(workspace, visitor):
    gamma, labels = top1(workspace, "gamma")
    wrong = np.flatnonzero(gamma != labels).tolist()
    rita, at, seen_so_far = visitor("Rita"), wrong[0], []
    address = f"/explore/image?set=digits&model=gamma&outcome=wrong&image={at}"
    while address:
        page = seen(rita.get(address))
        seen_so_far.append(int(re.search(r"image=(\d+)", address).group(1)))
        address = next((to for text, to in page.links if text == "next →"), "")
    assert seen_so_far == wrong


def test_votes_stay_hidden_until_all_have_voted(workspace, visitor, judge_queue):
    ledger, target = workspace.ledger, workspace.store.test_set("digits")
    pair = (target.ids[0], str((int(target.labels[0]) + 1) % 10))
    people = [ledger.person(name) for name in ("Rita", "Rob", "Rose")]
    ledger.comment(item_of(ledger, judge_queue, *pair), people[0], "look at the loop")
    vote(ledger, judge_queue, people[0], pair, "correct")
    vote(ledger, judge_queue, people[1], pair, "wrong")
    address = "/explore/image?set=digits&image=0"
    blind = seen(visitor("Rose").get(address)).text
    assert "it is shown once you have answered" in blind
    assert "Rob wrong" not in blind and "Rita correct" not in blind and "look at the loop" not in blind
    own = seen(visitor("Rita").get(address)).text
    assert "Rita correct" in own and "Rob wrong" not in own
    vote(ledger, judge_queue, people[2], pair, "wrong")
    for name in ("Rose", "Olga"):
        text = seen(visitor(name).get(address)).text
        assert "Rob wrong" in text and "Rita correct" in text and "look at the loop" in text
    ledger.lock(item_of(ledger, judge_queue, *pair), people[1])
    assert "Decided: wrong" in seen(visitor("Rita").get(address)).text


def test_queues_of_other_sets_do_not_show(workspace, visitor):
    target = workspace.store.test_set("digits")
    queue = workspace.ledger.open_queue("elsewhere", Question.JUDGE, test_set="reference")
    workspace.ledger.add_items(queue, [NewItem(target.ids[0], "1")])
    assert "This image is in no queue" in seen(visitor("Rita").get("/explore/image?set=digits&image=0")).text


def test_a_class_page_shows_the_grade_on_it(workspace, visitor):
    page = seen(visitor("Rita").get("/explore/class?set=digits&class=3"))
    grade = workspace.grade("digits", slices=["3"])
    for row in grade.rows:
        if row.slice != EVERYTHING:
            shown = page.row(row.model)
            assert shown[2] == f"{100 * row.top1.value:.1f} [{100 * row.top1.low:.1f}, {100 * row.top1.high:.1f}]"
            assert shown[4] == str(row.top1.n)


@pytest.mark.parametrize("labels", ["", "multi@1"])
def test_confusions_lead_to_their_images(workspace, visitor, labels):
    rita = visitor("Rita")
    page = seen(rita.get("/explore/class", params={"set": "digits", "class": "3", "labels": labels}))
    said = np.stack([top1(workspace, name)[0] for name in ("alpha", "beta", "gamma")])
    own = top1(workspace, "alpha")[1]
    outcome = "missed" if labels else "wrong"
    for address in page.to("/explore/images", label="3", outcome=outcome):
        predicted = int(re.search(r"predicted=(\d)", address).group(1)) if "predicted" in address else None
        if predicted is None:
            continue
        here = (said == predicted) & (own == 3)
        row = next(row for row in page.rows if len(row) == 5 and row[0] == str(predicted))
        assert row[2:] == [str(here.sum()), str(here.any(axis=0).sum()), str(here.any(axis=1).sum())]
        assert count(seen(rita.get(address))) == here.any(axis=0).sum()
    taken_for_it = page.to("/explore/images", predicted="3", outcome=outcome)
    assert len(taken_for_it) > 0
    for address in taken_for_it:
        label = int(re.search(r"label=(\d)", address).group(1))
        assert count(seen(rita.get(address))) == ((said == 3) & (own == label)).any(axis=0).sum()


def test_an_answer_that_people_found_right_is_no_confusion(workspace, visitor, tmp_path):
    target = workspace.store.test_set("digits")
    said = {name: top1(workspace, name)[0] for name in ("alpha", "beta", "gamma")}
    pairs = {(n, int(target.labels[n])) for n in range(60)} | {(n, int(said["gamma"][n])) for n in range(60)}
    lines = [f"{target.ids[n]},{label}\n" for n, label in sorted(pairs)]
    (tmp_path / "wide.csv").write_text("image,class\n" + "".join(lines))
    workspace.import_labels(tmp_path / "wide.csv", test_set="digits", name="wide")
    rita, confused = visitor("Rita"), 0
    for label in range(10):
        page = seen(rita.get(f"/explore/class?set=digits&labels=wide&class={label}"))
        for taken, own in itertools.product((False, True), range(10)):
            pair = (
                {"label": str(own), "predicted": str(label)} if taken else {"label": str(label), "predicted": str(own)}
            )
            here = [
                n for name in said for n in range(60)
                if str(target.labels[n]) == pair["label"] and str(said[name][n]) == pair["predicted"]
                and own != label and (n, int(said[name][n])) not in pairs
            ]  # fmt: skip
            address = page.to("/explore/images", outcome="missed", **pair)
            assert bool(address) == bool(here)
            if here:
                assert count(seen(rita.get(address[0]))) == len(set(here))
            confused += len(here)
    assert confused > 0


def test_near_images_are_shown_once_they_are_known(workspace, visitor):
    rita = visitor("Rita")
    assert "regrade study leakage digits" in seen(rita.get("/explore/image?set=digits&image=0")).text
    workspace.leakage("digits", by=["phash"])
    page = seen(rita.get("/explore/image?set=digits&image=0"))
    assert "bits" in page.text
    assert not page.to("/explore/image", image="0")
