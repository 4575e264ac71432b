"""The image lists of Explore: filters, paging and sorting, and the pages of an image and of a class."""

import itertools
import re

import numpy as np
import pytest
from judging import item_of, vote
from page_reader import parse_page

from regrade.ledger import NewItem, Question
from regrade.studies import EVERYTHING


def top1(workspace, model):
    target = workspace.store.test_set("digits")
    return workspace.store.predictions.read(target, model).top1, target.labels


def count(page):
    return int(re.search(r"([\d,]+) images?", page.text).group(1).replace(",", ""))


def test_images_filter_by_two_models(workspace, visitor):
    (alpha, labels), (gamma, _) = top1(workspace, "alpha"), top1(workspace, "gamma")
    page = parse_page(
        visitor("Rita").get("/explore/images?set=digits&model=gamma&outcome=wrong&other=alpha&other_outcome=right")
    )
    expected = np.flatnonzero((gamma != labels) & (alpha == labels))
    assert count(page) == len(expected) > 0
    shown = [int(address.rpartition("image=")[2]) for address in page.to("/explore/image")]
    assert list(dict.fromkeys(shown)) == expected.tolist()


def test_images_filter_by_label_and_prediction(workspace, visitor):
    gamma, labels = top1(workspace, "gamma")
    rita = visitor("Rita")
    for predicted, label in itertools.product((1, 2), (3, 4)):
        page = parse_page(rita.get(f"/explore/images?set=digits&model=gamma&predicted={predicted}&label={label}"))
        assert count(page) == int(((gamma == predicted) & (labels == label)).sum())
    assert count(parse_page(rita.get("/explore/images?set=digits&label=4"))) == int((labels == 4).sum())


def test_images_filter_without_a_model_matches_any_model(workspace, visitor):
    predictions = np.stack([top1(workspace, name)[0] for name in ("alpha", "beta", "gamma")])
    labels = top1(workspace, "alpha")[1]
    page = parse_page(visitor("Rita").get("/explore/images?set=digits&outcome=wrong&predicted=7"))
    assert count(page) == int(((predictions == 7) & (labels != 7)).any(axis=0).sum())


def test_every_filter_can_be_removed(visitor):
    rita = visitor("Rita")
    page = parse_page(rita.get("/explore/images?set=digits&model=gamma&outcome=wrong&label=3&labels=multi&find=0"))
    chips = [address for text, address in page.links if text.endswith("remove")]
    assert len(chips) == 4
    for address in chips:
        assert count(parse_page(rita.get(address))) >= count(page)
    emptied = parse_page(rita.get("/explore/images?set=digits"))
    assert count(emptied) == 60


def test_pages_list_every_image_once(workspace, visitor, tmp_path):
    (tmp_path / "many.csv").write_text("image,class\n" + "".join(f"image {n},{n % 10}\n" for n in range(130)))
    workspace.testsets.add("many", tmp_path / "many.csv", classes="digits")
    rita, addresses = visitor("Rita"), []
    for number in (1, 2, 3):
        page = parse_page(rita.get(f"/explore/images?set=many&page={number}"))
        addresses += page.to("/explore/image")
    assert len(dict.fromkeys(addresses)) == 130
    assert "page 3 of 3" in parse_page(rita.get("/explore/images?set=many&page=99")).text


def test_images_are_sorted_by_difficulty_and_confidence(workspace, visitor):
    rita = visitor("Rita")
    wrong = sum(
        (predicted != labels).astype(int)
        for predicted, labels in (top1(workspace, m) for m in ("alpha", "beta", "gamma"))
    )
    page = parse_page(rita.get("/explore/images?set=digits&order=hardest"))
    shown = [int(re.search(r"image=(\d+)", address).group(1)) for address in page.to("/explore/image")]
    assert [int(wrong[position]) for position in shown] == sorted(wrong.tolist(), reverse=True)
    scores = workspace.store.predictions.read(workspace.store.test_set("digits"), "alpha").scores[:, 0]
    page = parse_page(rita.get("/explore/images?set=digits&model=alpha&order=confident"))
    shown = [int(re.search(r"image=(\d+)", address).group(1)) for address in page.to("/explore/image")]
    assert (np.diff(scores[shown]) <= 0).all()
    assert rita.get("/explore/images?set=digits&order=confident").status_code == 400


def test_image_page_shows_all_predictions(workspace, visitor):
    rita = visitor("Rita")
    target = workspace.store.test_set("digits")
    page = parse_page(rita.get("/explore/image?set=digits&image=5&labels=multi"))
    for model in ("alpha", "beta", "gamma"):
        predictions = workspace.store.predictions.read(target, model)
        row = page.row(model)
        right = predictions.top1[5] == target.labels[5]
        assert row[1:4] == ["right" if right else "novel", str(predictions.top1[5]), f"{predictions.scores[5, 0]:.3f}"]
    assert target.ids[5] in page.text
    assert f"correct {target.class_space.names[target.labels[5]]}" in page.text
    assert len(page.images) >= 1
    assert parse_page(rita.get(f"/explore/image?set=digits&id={target.ids[5]}")).row("alpha")[2] == page.row("alpha")[2]


def test_image_page_links_to_the_next_filtered_image(workspace, visitor):
    gamma, labels = top1(workspace, "gamma")
    wrong = np.flatnonzero(gamma != labels).tolist()
    rita, at, seen_so_far = visitor("Rita"), wrong[0], []
    address = f"/explore/image?set=digits&model=gamma&outcome=wrong&image={at}"
    while address:
        page = parse_page(rita.get(address))
        seen_so_far.append(int(re.search(r"image=(\d+)", address).group(1)))
        address = next((to for text, to in page.links if text == "next →"), "")
    assert seen_so_far == wrong


def test_votes_stay_hidden_until_all_have_voted(workspace, visitor, judge_queue):
    ledger, target = workspace.ledger, workspace.store.test_set("digits")
    pair = (target.ids[0], str((int(target.labels[0]) + 1) % 10))
    people = [ledger.people.named(name) for name in ("Rita", "Rob", "Rose")]
    ledger.discussions.comment(item_of(ledger, judge_queue, *pair), people[0], "look at the loop")
    vote(ledger, judge_queue, people[0], pair, "correct")
    vote(ledger, judge_queue, people[1], pair, "wrong")
    address = "/explore/image?set=digits&image=0"
    blind = parse_page(visitor("Rose").get(address)).text
    assert "it is shown once you have answered" in blind
    assert "Rob wrong" not in blind and "Rita correct" not in blind and "look at the loop" not in blind
    own = parse_page(visitor("Rita").get(address)).text
    assert "Rita correct" in own and "Rob wrong" not in own
    vote(ledger, judge_queue, people[2], pair, "wrong")
    for name in ("Rose", "Olga"):
        text = parse_page(visitor(name).get(address)).text
        assert "Rob wrong" in text and "Rita correct" in text and "look at the loop" in text
    ledger.decisions.lock(item_of(ledger, judge_queue, *pair), people[1])
    assert "Decided: wrong" in parse_page(visitor("Rita").get(address)).text


def test_image_page_ignores_queues_of_other_test_sets(workspace, visitor):
    target = workspace.store.test_set("digits")
    queue = workspace.ledger.queues.create("elsewhere", Question.JUDGE, test_set="reference")
    workspace.ledger.items.add(queue, [NewItem(target.ids[0], "1")])
    assert "This image is in no queue" in parse_page(visitor("Rita").get("/explore/image?set=digits&image=0")).text


def test_class_page_shows_the_accuracy_on_the_class(workspace, visitor):
    page = parse_page(visitor("Rita").get("/explore/class?set=digits&class=3"))
    grade = workspace.grade("digits", slices=["3"])
    for row in grade.rows:
        if row.slice != EVERYTHING:
            shown = page.row(row.model)
            assert shown[2] == f"{100 * row.top1.value:.1f} [{100 * row.top1.low:.1f}, {100 * row.top1.high:.1f}]"
            assert shown[4] == str(row.top1.n)


@pytest.mark.parametrize("labels", ["", "multi@1"])
def test_confusions_link_to_their_images(workspace, visitor, labels):
    rita = visitor("Rita")
    page = parse_page(rita.get("/explore/class", params={"set": "digits", "class": "3", "labels": labels}))
    predictions = np.stack([top1(workspace, name)[0] for name in ("alpha", "beta", "gamma")])
    own = top1(workspace, "alpha")[1]
    outcome = "missed" if labels else "wrong"
    for address in page.to("/explore/images", label="3", outcome=outcome):
        predicted = int(re.search(r"predicted=(\d)", address).group(1)) if "predicted" in address else None
        if predicted is None:
            continue
        confused = (predictions == predicted) & (own == 3)
        row = next(row for row in page.rows if len(row) == 5 and row[0] == str(predicted))
        assert row[2:] == [str(confused.sum()), str(confused.any(axis=0).sum()), str(confused.any(axis=1).sum())]
        assert count(parse_page(rita.get(address))) == confused.any(axis=0).sum()
    predicted_as_it = page.to("/explore/images", predicted="3", outcome=outcome)
    assert len(predicted_as_it) > 0
    for address in predicted_as_it:
        label = int(re.search(r"label=(\d)", address).group(1))
        assert count(parse_page(rita.get(address))) == ((predictions == 3) & (own == label)).any(axis=0).sum()


def test_prediction_judged_correct_is_not_a_confusion(workspace, visitor, tmp_path):
    target = workspace.store.test_set("digits")
    predictions = {name: top1(workspace, name)[0] for name in ("alpha", "beta", "gamma")}
    pairs = {(n, int(target.labels[n])) for n in range(60)} | {(n, int(predictions["gamma"][n])) for n in range(60)}
    lines = [f"{target.ids[n]},{label}\n" for n, label in sorted(pairs)]
    (tmp_path / "wide.csv").write_text("image,class\n" + "".join(lines))
    workspace.labels.import_file(tmp_path / "wide.csv", test_set="digits", name="wide")
    rita, confused = visitor("Rita"), 0
    for label in range(10):
        page = parse_page(rita.get(f"/explore/class?set=digits&labels=wide&class={label}"))
        for taken, own in itertools.product((False, True), range(10)):
            pair = (
                {"label": str(own), "predicted": str(label)} if taken else {"label": str(label), "predicted": str(own)}
            )
            confusions = [
                n for name in predictions for n in range(60)
                if str(target.labels[n]) == pair["label"] and str(predictions[name][n]) == pair["predicted"]
                and own != label and (n, int(predictions[name][n])) not in pairs
            ]  # fmt: skip
            address = page.to("/explore/images", outcome="missed", **pair)
            assert bool(address) == bool(confusions)
            if confusions:
                assert count(parse_page(rita.get(address[0]))) == len(set(confusions))
            confused += len(confusions)
    assert confused > 0


def test_similar_images_are_shown_once_hashes_are_stored(workspace, visitor):
    rita = visitor("Rita")
    assert "regrade study leakage digits" in parse_page(rita.get("/explore/image?set=digits&image=0")).text
    workspace.study.leakage("digits", by=["phash"])
    page = parse_page(rita.get("/explore/image?set=digits&image=0"))
    assert "bits" in page.text
    assert not page.to("/explore/image", image="0")
