"""Hostile names, predictions in other classes, people beside models, and damaged answers."""

from dataclasses import replace

import numpy as np
import pytest
from reading_pages import seen

from regrade.app.explore.answer_table import KEPT, read_answers
from regrade.app.explore.explorer import Explorer
from regrade.app.explore.stamps import answers_stamp
from regrade.core import PERSON_PREFIX, ClassMap, ClassSpace, MapRule, Predictions, TestSet
from regrade.store import PredictionSource, manifest_of

HOSTILE = "a/b?c#d%2Fe&f=g <script>alert(1)</script> 'i' \"j\" +k é 数"


def stored(workspace, test_set, space, model, classes, **more):
    """Predictions of best classes alone."""
    found = Predictions(model, test_set.name, space.name, np.asarray(classes, dtype=np.int32), **more)
    workspace.store.add_predictions(test_set, [(found, manifest_of(found, test_set, space, PredictionSource()))], space)


@pytest.fixture
def hostile(workspace):
    """A set whose every name tries to be something else."""
    space = ClassSpace(HOSTILE, tuple(f"{HOSTILE} {n}" for n in range(6)))
    ids = tuple(f"{HOSTILE} image {n}" for n in range(12))
    target = TestSet(HOSTILE, space, ids, np.arange(12) % 6, {"side": tuple(f"{HOSTILE}{n % 2}" for n in range(12))})
    for shift in (0, 1):
        classes = (target.labels[:, None] + np.arange(5) + shift * (np.arange(12)[:, None] < 4)) % 6
        stored(workspace, target, space, f"{HOSTILE} {shift}", classes)
    return target


def test_hostile_names_lead_from_the_table_to_the_image_and_the_class(hostile, visitor):
    rita = visitor("Rita")
    table = seen(rita.get("/explore", params={"set": HOSTILE}))
    assert "<script>alert" not in table.html
    wrong = seen(rita.get(table.to("/explore/images", model=f"{HOSTILE} 1", outcome="wrong")[0]))
    assert "4 images" in wrong.text
    assert "<script>alert" not in wrong.html
    image = seen(rita.get(wrong.to("/explore/image", set=HOSTILE)[0]))
    assert hostile.ids[0] in image.text
    assert "<script>alert" not in image.html
    one_class = seen(rita.get(image.to("/explore/class", **{"class": hostile.class_space.ids[0]})[0]))
    assert "2 images of" in one_class.text
    assert "<script>alert" not in one_class.html
    inside = seen(rita.get(image.to("/explore/images", slice=f"side={HOSTILE}0")[0]))
    assert "6 images" in inside.text


def test_what_people_wrote_is_text(hostile, workspace, visitor):
    from judging import item_of, queue_of, vote

    ledger, pair = workspace.ledger, (hostile.ids[0], hostile.class_space.ids[1])
    queue = queue_of(ledger, "odd", [pair], test_set=HOSTILE)
    ledger.comment(item_of(ledger, queue, *pair), ledger.person("Rob"), "<script>alert(2)</script>")
    vote(ledger, queue, ledger.person("Rob"), pair, "wrong", reason="<img src=x onerror=alert(3)>")
    page = seen(visitor("Rita").get("/explore/image", params={"set": HOSTILE, "id": hostile.ids[0]}))
    assert "<script>alert(2)</script>" in page.text and "onerror=alert(3)" in page.text
    assert "<script>alert(2)" not in page.html and "<img src=x" not in page.html


@pytest.fixture
def photos(workspace):
    """Photos of three kinds, predicted in ten digits, and the map that says which digits stand for which kind."""
    digits = workspace.class_space("digits")
    kinds = ClassSpace("kinds", ("few", "some", "many"))
    target = TestSet("photos", kinds, tuple(f"photo {n}" for n in range(9)), np.arange(9) % 3)
    classes = np.column_stack([[1, 3, 9, 3, 4, 9, 2, 0, 9], np.full(9, 5)])
    stored(workspace, target, digits, "mapped", classes)
    return target, ClassMap(digits, kinds, ((0, 1, 2, 4), (3, 4), ()), MapRule.ANY_IN_TOP_K)


def test_predictions_in_other_classes_are_scored_through_their_map(photos, workspace, visitor):
    rita = visitor("Rita")
    assert "mapped is not shown: predictions in" in seen(rita.get("/explore?set=photos")).text
    workspace.store.add_test_set(*photos)
    found = workspace.grade("photos").rows[0]
    table = seen(rita.get("/explore?set=photos"))
    assert table.row("mapped")[2].startswith(f"{100 * found.top1.value:.1f}")
    assert table.row("mapped")[-1] == str(found.top1.n) == "6"
    wrong = seen(rita.get("/explore/images?set=photos&model=mapped&outcome=wrong"))
    assert "2 images of 9" in wrong.text
    kind = seen(rita.get("/explore/class?set=photos&class=few"))
    assert kind.row("some")[2:] == ["1", "1", "1"]
    assert kind.row("mapped")[4] == "3"
    image = seen(rita.get("/explore/image?set=photos&image=3"))
    assert image.row("mapped")[1:3] == ["wrong", "3"]


def test_a_class_that_stands_for_several_counts_as_the_right_one(photos, workspace, visitor):
    workspace.store.add_test_set(*photos)
    page = seen(visitor("Rita").get("/explore/images?set=photos&label=some&predicted=some"))
    assert "2 images of 9" in page.text


def test_models_scored_within_fewer_classes(workspace, visitor):
    digits = workspace.class_space("digits")
    few = ClassSpace("few digits", ("7", "1"))
    target = TestSet("few", few, ("a", "b", "c", "d"), np.array([0, 1, 0, 0]))
    stored(workspace, target, digits, "whole", [[3, 7], [3, 1], [1, 7], [3, 1]])
    rita = visitor("Rita")
    found = workspace.grade("few").rows[0].top1
    assert seen(rita.get("/explore?set=few")).row("whole")[2].startswith(f"{100 * found.value:.1f}")
    assert "2 images of 4" in seen(rita.get("/explore/images?set=few&model=whole&outcome=right")).text
    assert seen(rita.get("/explore/class?set=few&class=7")).row("1")[2:] == ["2", "2", "1"]


def test_people_are_shown_as_people_on_what_they_were_asked(workspace, visitor, tmp_path):
    target = workspace.store.test_set("digits")
    lines = [f"{target.ids[n]},{target.class_space.ids[target.labels[n] if n else 9]}\n" for n in range(20)]
    (tmp_path / "ann.csv").write_text("image,class\n" + "".join(lines))
    workspace.import_people(tmp_path / "ann.csv", test_set="digits", name="Ann")
    rita = visitor("Rita")
    row = seen(rita.get("/explore?set=digits")).row("Ann person")
    found = next(one for one in workspace.grade("digits").rows if one.model == f"{PERSON_PREFIX}Ann")
    assert row[2].startswith(f"{100 * found.top1.value:.1f}")
    assert row[-1] == "20"
    assert "Ann person" in [row[0] for row in seen(rita.get("/explore/image?set=digits&image=0")).rows if row]
    assert "Ann person" not in [row[0] for row in seen(rita.get("/explore/image?set=digits&image=30")).rows if row]


def test_one_damaged_model_hides_no_other(workspace, visitor):
    folder = workspace.store.prediction_folder("digits", "beta")
    (folder / "topk.parquet").write_bytes(b"nothing")
    page = seen(visitor("Rita").get("/explore?set=digits"))
    assert [row[0] for row in page.rows[1:]] == ["alpha", "gamma"]
    assert "beta is not shown" in page.text


def test_answers_that_stay_are_taken_over_and_new_ones_read(workspace, monkeypatch):
    explorer = Explorer(workspace)
    before = explorer.view("digits", "").answers
    target = workspace.store.test_set("digits")
    workspace.add_predictions("delta", np.eye(10)[target.labels], test_set="digits")
    read = []
    original = type(workspace.store).predictions
    monkeypatch.setattr(
        type(workspace.store), "predictions", lambda self, of, name: read.append(name) or original(self, of, name)
    )
    after = explorer.view("digits", "").answers
    assert read == ["delta"]
    assert explorer.view("digits", "").answers is after
    for name in before.place_of:
        assert (after.classes[after.place(name)] == before.classes[before.place(name)]).all()
        assert (after.own[after.place(name)] == before.own[before.place(name)]).all()
    assert (after.own[after.place("delta")] == 1).all()


def test_fewer_classes_than_are_kept_leave_the_best_five_undefined(workspace):
    target = workspace.store.test_set("digits")
    stored(workspace, target, target.class_space, "short", target.labels[:, None])
    explorer = Explorer(workspace)
    view = explorer.view("digits", "")
    assert view.answers.classes.shape[2] == KEPT
    row = next(row for row in explorer.grade(view, "").rows if row.model == "short")
    assert row.top5 is None
    assert row.top1.value == 1
    from_files = [replace(row, calibration_error=None) for row in workspace.grade("digits").rows]  # scores are not kept
    assert {row.model: row for row in explorer.grade(view, "").rows} == {row.model: row for row in from_files}


def test_what_is_kept_is_bounded(workspace):
    explorer = Explorer(workspace)
    target = workspace.store.test_set("digits")
    for n in range(6):
        other = replace(target, name=f"copy {n}")
        stored(workspace, other, other.class_space, "alpha", target.labels[:, None])
        explorer.view(other.name, "")
    assert len(explorer._answers._kept) == 4
    assert len(explorer._views._kept) <= 8


def test_reading_nothing(workspace):
    target = workspace.store.test_set("reference")
    found = read_answers(workspace.store, target, answers_stamp(workspace.store, "reference"), None)
    assert found.rows == ()
    assert found.classes.shape == (0, 120, KEPT)
