"""Explore with hostile names, class maps, people among models, and damaged predictions."""

from dataclasses import replace

import numpy as np
import pytest
from page_reader import parse_page

from regrade.app.cache import answers_stamp
from regrade.app.explore.answers import TOP_K, read_answers
from regrade.app.explore.explorer import Explorer
from regrade.core import PERSON_PREFIX, ClassMap, ClassSpace, MapRule, Predictions, TestSet
from regrade.store import PredictionSource, manifest_of

HOSTILE = "a/b?c#d%2Fe&f=g <script>alert(1)</script> 'i' \"j\" +k é 数"


def add_predictions(workspace, test_set, space, model, classes, **more):
    """Store predictions without scores."""
    predictions = Predictions(model, test_set.name, space.name, np.asarray(classes, dtype=np.int32), **more)
    workspace.store.add_predictions(
        test_set, [(predictions, manifest_of(predictions, test_set, space, PredictionSource()))], space
    )


@pytest.fixture
def hostile(workspace):
    """A test set in which every name is hostile."""
    space = ClassSpace(HOSTILE, tuple(f"{HOSTILE} {n}" for n in range(6)))
    ids = tuple(f"{HOSTILE} image {n}" for n in range(12))
    target = TestSet(HOSTILE, space, ids, np.arange(12) % 6, {"side": tuple(f"{HOSTILE}{n % 2}" for n in range(12))})
    for shift in (0, 1):
        classes = (target.labels[:, None] + np.arange(5) + shift * (np.arange(12)[:, None] < 4)) % 6
        add_predictions(workspace, target, space, f"{HOSTILE} {shift}", classes)
    return target


def test_hostile_names_are_escaped_and_links_work(hostile, visitor):
    rita = visitor("Rita")
    table = parse_page(rita.get("/explore", params={"set": HOSTILE}))
    assert "<script>alert" not in table.html
    wrong = parse_page(rita.get(table.to("/explore/images", model=f"{HOSTILE} 1", outcome="wrong")[0]))
    assert "4 images" in wrong.text
    assert "<script>alert" not in wrong.html
    image = parse_page(rita.get(wrong.to("/explore/image", set=HOSTILE)[0]))
    assert hostile.ids[0] in image.text
    assert "<script>alert" not in image.html
    class_page = parse_page(rita.get(image.to("/explore/class", **{"class": hostile.class_space.ids[0]})[0]))
    assert "2 images of" in class_page.text
    assert "<script>alert" not in class_page.html
    inside = parse_page(rita.get(image.to("/explore/images", slice=f"side={HOSTILE}0")[0]))
    assert "6 images" in inside.text


def test_comments_and_reasons_are_escaped(hostile, workspace, visitor):
    from judging import item_of, queue_of, vote

    ledger, pair = workspace.ledger, (hostile.ids[0], hostile.class_space.ids[1])
    queue = queue_of(ledger, "odd", [pair], test_set=HOSTILE)
    ledger.discussions.comment(item_of(ledger, queue, *pair), ledger.people.named("Rob"), "<script>alert(2)</script>")
    vote(ledger, queue, ledger.people.named("Rob"), pair, "wrong", reason="<img src=x onerror=alert(3)>")
    page = parse_page(visitor("Rita").get("/explore/image", params={"set": HOSTILE, "id": hostile.ids[0]}))
    assert "<script>alert(2)</script>" in page.text and "onerror=alert(3)" in page.text
    assert "<script>alert(2)" not in page.html and "<img src=x" not in page.html


@pytest.fixture
def photos(workspace):
    """Photos of three classes, predicted as ten digits, and the class map from digits to these classes."""
    digits = workspace.testsets.class_space("digits")
    kinds = ClassSpace("kinds", ("few", "some", "many"))
    target = TestSet("photos", kinds, tuple(f"photo {n}" for n in range(9)), np.arange(9) % 3)
    classes = np.column_stack([[1, 3, 9, 3, 4, 9, 2, 0, 9], np.full(9, 5)])
    add_predictions(workspace, target, digits, "mapped", classes)
    return target, ClassMap(digits, kinds, ((0, 1, 2, 4), (3, 4), ()), MapRule.ANY_IN_TOP_K)


def test_predictions_in_other_classes_use_the_class_map(photos, workspace, visitor):
    rita = visitor("Rita")
    assert "mapped is not shown: predictions in" in parse_page(rita.get("/explore?set=photos")).text
    workspace.store.add_test_set(*photos)
    row = workspace.grade("photos").rows[0]
    table = parse_page(rita.get("/explore?set=photos"))
    assert table.row("mapped")[2].startswith(f"{100 * row.top1.value:.1f}")
    assert table.row("mapped")[-1] == str(row.top1.n) == "6"
    wrong = parse_page(rita.get("/explore/images?set=photos&model=mapped&outcome=wrong"))
    assert "2 images of 9" in wrong.text
    kind = parse_page(rita.get("/explore/class?set=photos&class=few"))
    assert kind.row("some")[2:] == ["1", "1", "1"]
    assert kind.row("mapped")[4] == "3"
    image = parse_page(rita.get("/explore/image?set=photos&image=3"))
    assert image.row("mapped")[1:3] == ["wrong", "3"]


def test_class_mapped_to_several_classes_counts_as_the_right_one(photos, workspace, visitor):
    workspace.store.add_test_set(*photos)
    page = parse_page(visitor("Rita").get("/explore/images?set=photos&label=some&predicted=some"))
    assert "2 images of 9" in page.text


def test_models_are_scored_within_a_subset_of_classes(workspace, visitor):
    digits = workspace.testsets.class_space("digits")
    few = ClassSpace("few digits", ("7", "1"))
    target = TestSet("few", few, ("a", "b", "c", "d"), np.array([0, 1, 0, 0]))
    add_predictions(workspace, target, digits, "whole", [[3, 7], [3, 1], [1, 7], [3, 1]])
    rita = visitor("Rita")
    accuracy = workspace.grade("few").rows[0].top1
    assert parse_page(rita.get("/explore?set=few")).row("whole")[2].startswith(f"{100 * accuracy.value:.1f}")
    assert "2 images of 4" in parse_page(rita.get("/explore/images?set=few&model=whole&outcome=right")).text
    assert parse_page(rita.get("/explore/class?set=few&class=7")).row("1")[2:] == ["2", "2", "1"]


def test_people_are_shown_only_on_images_they_were_asked_about(workspace, visitor, tmp_path):
    target = workspace.store.test_set("digits")
    lines = [f"{target.ids[n]},{target.class_space.ids[target.labels[n] if n else 9]}\n" for n in range(20)]
    (tmp_path / "ann.csv").write_text("image,class\n" + "".join(lines))
    workspace.models.import_people(tmp_path / "ann.csv", test_set="digits", name="Ann")
    rita = visitor("Rita")
    row = parse_page(rita.get("/explore?set=digits")).row("Ann person")
    graded = next(row for row in workspace.grade("digits").rows if row.model == f"{PERSON_PREFIX}Ann")
    assert row[2].startswith(f"{100 * graded.top1.value:.1f}")
    assert row[-1] == "20"
    assert "Ann person" in [row[0] for row in parse_page(rita.get("/explore/image?set=digits&image=0")).rows if row]
    assert "Ann person" not in [
        row[0] for row in parse_page(rita.get("/explore/image?set=digits&image=30")).rows if row
    ]


def test_damaged_predictions_hide_only_their_model(workspace, visitor):
    folder = workspace.store.predictions.path("digits", "beta")
    (folder / "topk.parquet").write_bytes(b"nothing")
    page = parse_page(visitor("Rita").get("/explore?set=digits"))
    assert [row[0] for row in page.rows[1:]] == ["alpha", "gamma"]
    assert "beta is not shown" in page.text


def test_explorer_reads_only_changed_predictions(workspace, monkeypatch):
    explorer = Explorer(workspace)
    before = explorer.view("digits", "").answers
    target = workspace.store.test_set("digits")
    workspace.models.add_predictions("delta", np.eye(10)[target.labels], test_set="digits")
    read = []
    original = workspace.store.predictions.read
    monkeypatch.setattr(workspace.store.predictions, "read", lambda of, name: read.append(name) or original(of, name))
    after = explorer.view("digits", "").answers
    assert read == ["delta"]
    assert explorer.view("digits", "").answers is after
    for name in before.place_of:
        assert (after.classes[after.place(name)] == before.classes[before.place(name)]).all()
        assert (after.own[after.place(name)] == before.own[before.place(name)]).all()
    assert (after.own[after.place("delta")] == 1).all()


def test_top_5_is_undefined_for_fewer_stored_classes(workspace):
    target = workspace.store.test_set("digits")
    add_predictions(workspace, target, target.class_space, "short", target.labels[:, None])
    explorer = Explorer(workspace)
    view = explorer.view("digits", "")
    assert view.answers.classes.shape[2] == TOP_K
    row = next(row for row in explorer.grade(view, "").rows if row.model == "short")
    assert row.top5 is None
    assert row.top1.value == 1
    from_files = [replace(row, calibration_error=None) for row in workspace.grade("digits").rows]  # scores are not kept
    assert {row.model: row for row in explorer.grade(view, "").rows} == {row.model: row for row in from_files}


def test_explorer_caches_are_bounded(workspace):
    explorer = Explorer(workspace)
    target = workspace.store.test_set("digits")
    for n in range(6):
        copy = replace(target, name=f"copy {n}")
        add_predictions(workspace, copy, copy.class_space, "alpha", target.labels[:, None])
        explorer.view(copy.name, "")
    assert len(explorer._answers) == 4
    assert len(explorer._views) <= 8


def test_read_answers_without_models_is_empty(workspace):
    target = workspace.store.test_set("reference")
    answers = read_answers(workspace.store, target, answers_stamp(workspace.store, "reference"), None)
    assert answers.rows == ()
    assert answers.classes.shape == (0, 120, TOP_K)
