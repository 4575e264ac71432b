"""Multi-label accuracy against top-1 and top-5: by hand, kinds of images, properties, and on published labels."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regrade.classes import class_space
from regrade.core import (
    ClassSpace,
    Hierarchy,
    InputError,
    LabelSet,
    LabelState,
    Predictions,
    TestSet,
    Ties,
    UndefinedError,
    Unlisted,
)
from regrade.metrics import MultilabelRule
from regrade.stats import paired_difference, proportion
from regrade.studies import MultilabelScoring, ReviewedLabels, Scoring, figure, findings
from regrade.studies.multilabel.analysis import multilabel
from regrade.studies.multilabel.kinds import ImageKind, Relation, RightLabels, kind_shares, relation_table
from regrade.studies.multilabel.result import MultilabelPart

CORRECT, UNCLEAR, WRONG = LabelState.CORRECT, LabelState.UNCLEAR, LabelState.WRONG
# pug and hound have the same parent, cup and mug are collapsed, cat and pug are in one group, tree is alone
LEMMAS = {"dog": ("dog",), "pug": ("pug",), "hound": ("hound",), "animal": ("animal",), "cat": ("cat",)}
ZOO = ClassSpace(
    "zoo",
    ("cat", "pug", "hound", "cup", "mug", "tree"),
    groups={"animals": (0, 1, 2)},
    hierarchy=Hierarchy({"pug": ("dog",), "hound": ("dog",), "dog": ("animal",), "cat": ("animal",)}, LEMMAS),
    collapsed={3: (4,)},
)
CAT, PUG, HOUND, CUP, MUG, TREE = range(6)
SET = TestSet("zoo", ZOO, tuple("abcdefgh"), np.array([CAT, PUG, CUP, TREE, CAT, CUP, PUG, TREE], dtype=np.int32))
STATES = {
    (0, CAT): CORRECT,
    (0, PUG): CORRECT,  # similar classes
    (1, PUG): CORRECT,
    (1, HOUND): CORRECT,  # one object, several names
    (2, CUP): CORRECT,
    (2, MUG): CORRECT,
    (2, TREE): CORRECT,  # several objects
    (3, TREE): CORRECT,
    (3, CUP): WRONG,
    (4, CAT): UNCLEAR,
    (4, PUG): CORRECT,
    (5, CUP): CORRECT,
    (6, PUG): WRONG,
    (6, CUP): CORRECT,
    (7, TREE): CORRECT,
    (7, CAT): CORRECT,
}  # fmt: skip - h is problematic


def labels(states=STATES, problems=(7,), *, rule=MultilabelRule.IMAGES, size=8):
    pairs = np.array(list(states), dtype=np.int64).reshape(-1, 2)
    judged = LabelSet(
        "own", 1, "zoo", 6, pairs[:, 0], pairs[:, 1], np.array(list(states.values()), dtype=np.int8),
        np.ones(size, dtype=bool), tuple("drawing" if n in problems else "" for n in range(size)), Unlisted.NOVEL,
    )  # fmt: skip
    return ReviewedLabels(MultilabelScoring(judged, rule, None))


def predicted(name, *best):
    """Predictions whose first class is given and whose others are the lowest ones."""
    ranked = [[c, *(index for index in range(6) if index != c)][:5] for c in best]
    return Predictions(name, "zoo", "zoo", np.array(ranked, dtype=np.int32))


FIRST = predicted("first", PUG, PUG, TREE, CUP, PUG, CUP, PUG, TREE)  # labels: a b c e f; top-1: b f g
SECOND = predicted("second", CAT, HOUND, CUP, CAT, CAT, MUG, CUP, CAT)  # labels: a b c g; top-1: a c e


def study(*models, judged=None, test_set=SET, **options):
    scored = [(model, Scoring(test_set)) for model in models]
    return multilabel(test_set, scored, judged or labels(), rng=np.random.default_rng(0), **options)


RESULT = study(FIRST, SECOND)


class TestByHand:
    def test_accuracies_on_the_seven_scored_images(self):
        first, second = RESULT["first"], RESULT["second"]
        assert (RESULT.images, RESULT.scored, RESULT.labels) == (7, 7, "own@1")
        assert (first.top1, first.multilabel) == (proportion(3, 7), proportion(5, 7))
        assert (second.top1, second.multilabel) == (proportion(3, 7), proportion(4, 7))
        assert (first.gained, first.lost, second.gained, second.lost) == (3, 1, 2, 1)
        assert [row.model for row in RESULT.rows] == ["first", "second"]

    def test_top5_holds_all_labels_but_one(self):
        # five of six classes are stored, so only a tree can be missing: d of both models, where it is not first
        assert RESULT["first"].top5 == RESULT["second"].top5 == proportion(6, 7)
        assert RESULT["first"].top5_change.value == pytest.approx(5 / 7 - 6 / 7)

    def test_changes_are_paired_and_simultaneous(self):
        bounds = paired_difference(3, 1, 7, confidence=1 - 0.05 / 2)
        change = RESULT["first"].change
        assert change.value == pytest.approx(2 / 7)
        assert (change.low, change.high) == (pytest.approx(float(bounds.low)), pytest.approx(float(bounds.high)))
        assert change.method == "paired score, 2 together 95%"

    def test_medians(self):
        assert RESULT.change.value == pytest.approx((2 / 7 + 1 / 7) / 2)
        assert RESULT.top5_change.value == pytest.approx((-1 / 7 - 2 / 7) / 2)

    def test_images_with_several_labels(self):
        assert RESULT.several == proportion(3, 7)
        assert RESULT.labels_each.value == pytest.approx(7 / 3)
        images = {row.kind: row.images for row in RESULT.kinds}
        assert images == {ImageKind.NAMES: 1, ImageKind.SIMILAR: 1, ImageKind.OBJECTS: 1, ImageKind.UNCLEAR: 1}

    def test_pairs_of_classes(self):
        pairs = {(pair.first, pair.second): (pair.images, pair.relation) for pair in RESULT.pairs}
        assert pairs == {
            ("cat", "pug"): (1, Relation.SAME_SUPERCLASS),
            ("pug", "hound"): (1, Relation.SAME_PARENT),
            ("cup", "mug"): (1, Relation.COLLAPSED),
            ("cup", "tree"): (1, Relation.UNRELATED),
            ("mug", "tree"): (1, Relation.UNRELATED),
        }

    def test_novel_predictions_count_as_wrong(self):
        assert (RESULT["first"].novel, RESULT["second"].novel) == (0, 2)  # d as a cat, f as a mug
        assert "novel predictions, which no one has judged, count as wrong: second 2" in RESULT.notes

    def test_unclear_classes_count_under_the_other_rule(self):
        result = study(FIRST, SECOND, judged=labels(rule=MultilabelRule.CLASSES))
        assert result["second"].multilabel == proportion(5, 7)
        assert result.several == RESULT.several

    def test_tables_and_json(self):
        assert set(MultilabelPart) - set(RESULT.parts) == {MultilabelPart.AMBIGUOUS}  # no class has ten images
        for part in RESULT.parts:
            table = RESULT.part(part)
            assert table.rows and str(table) and table.to_arrow().num_rows == len(table.rows)
        content = json.loads(json.dumps(RESULT.as_dict(), allow_nan=False))
        assert content["kinds"][0]["kind"] == "one object, several names"
        assert [column.heading for column in RESULT.table().columns][:4] == [
            "model", "top-1", "multi-label", "minus top-1",
        ]  # fmt: skip

    def test_findings_claim_nothing_of_seven_images(self):
        first, second = findings(RESULT)
        assert not first.kind.claims and "No median difference" in first.headline
        assert second.headline == "42.9% of the images have several right labels"


def test_median_of_many_images_is_claimed():
    many = TestSet("zoo", ZOO, tuple(map(str, range(400))), np.zeros(400, dtype=np.int32))
    states = {(n, c): CORRECT for n in range(400) for c in ((CAT, PUG) if n % 4 == 0 else (CAT,))}
    best = [PUG if n % 4 == 0 else CAT for n in range(400)]
    result = study(predicted("net", *best), judged=labels(states, (), size=400), test_set=many)
    assert result.change.value == 0.25 and result["net"].multilabel.value == 1
    assert findings(result)[0].headline == (
        "Multi-label accuracy is higher than top-1 accuracy in the median of 1 model on zoo under own@1"
    )
    drawn = figure(result).spec
    assert len(drawn["hconcat"]) == 2 and '"net"' in json.dumps(drawn)


def test_models_without_top5():
    short = Predictions("short", "zoo", "zoo", FIRST.classes[:, :1])
    result = study(short, SECOND)
    assert result["short"].top5 is None and result.top5_change.value == result["second"].top5_change.value
    assert "median of 1 model, multi-label minus top-5" in str(result)
    assert "over the 1 that have top-5" in findings(result)[0].text
    alone = study(short)
    assert alone.top5_change is None and "minus top-5" not in str(alone) and len(figure(alone).spec["hconcat"]) == 1


def test_ties_across_the_fifth_place_leave_top5_undefined():
    tied = Predictions("tied", "zoo", "zoo", FIRST.classes, scores=np.full((8, 5), 0.2), ties=Ties(
        np.arange(8), np.packbits(np.ones((8, 6), dtype=bool), axis=1)
    ))  # fmt: skip
    result = study(tied, SECOND)
    assert result["tied"].top5 is None and result["tied"].top1 == RESULT["first"].top1
    assert any("leave it to chance on images of tied 7" in note for note in result.notes)


def test_images_without_original_label_or_prediction_are_left_out():
    unlabeled = TestSet("zoo", ZOO, SET.ids, np.where(np.arange(8) == 0, -1, SET.labels).astype(np.int32))
    result = study(FIRST, SECOND, test_set=unlabeled)
    assert (result.images, result.scored) == (6, 7)
    assert any("1 are left out" in note for note in result.notes)


def test_labels_without_several():
    result = study(FIRST, judged=labels({(n, int(c)): CORRECT for n, c in enumerate(SET.labels)}, ()))
    assert result.several.value == 0 and result.labels_each is None and result.pairs == ()
    assert result.change.value == 0 and result.parts == (MultilabelPart.MODELS, MultilabelPart.KINDS)
    with pytest.raises(InputError, match="no image has several right labels under own@1"):
        result.part(MultilabelPart.PAIRS)


def test_kinds_are_unknown_if_nothing_relates_the_classes():
    plain = TestSet("zoo", ClassSpace("zoo", ZOO.ids), SET.ids, SET.labels)
    result = study(FIRST, SECOND, test_set=plain)
    assert [row.kind for row in result.kinds] == [ImageKind.UNCLEAR] and result.several == RESULT.several
    assert {pair.relation for pair in result.pairs} == {None} and result.part(MultilabelPart.PAIRS).rows
    assert "kinds of images with several labels are unknown" in str(result.part(MultilabelPart.KINDS))
    assert "automatic rule" not in findings(result)[1].text


def test_too_few_images_or_no_model_raise():
    with pytest.raises(InputError, match="no model has predictions on zoo"):
        study()
    with pytest.raises(UndefinedError, match="own@1 scores fewer than two images of zoo"):
        study(FIRST, judged=labels(problems=range(1, 8)))


def test_relations_prefer_the_closest():
    kinds = list(Relation)
    table = relation_table(ZOO)
    assert kinds[table[CUP, MUG]] is kinds[table[MUG, CUP]] is Relation.COLLAPSED
    assert kinds[table[PUG, HOUND]] is Relation.SAME_PARENT
    assert kinds[table[CAT, PUG]] is Relation.SAME_SUPERCLASS
    assert kinds[table[CAT, TREE]] is Relation.UNRELATED
    space = class_space("imagenet-1k")
    index = {name: space.names.index(name) for name in ("sunglasses (spectacles)", "breastplate", "cuirass", "monitor")}
    imagenet = relation_table(space)
    assert kinds[imagenet[index["breastplate"], index["cuirass"]]] is Relation.UNRELATED
    assert (imagenet == imagenet.T).all()


@given(st.lists(st.sets(st.integers(0, 5), max_size=6), min_size=1, max_size=12))
def test_every_image_with_several_labels_has_exactly_one_kind(rights):
    states = {(n, c): CORRECT for n, classes in enumerate(rights) for c in classes}
    size = len(rights)
    right = RightLabels.of(labels(states, (), size=size).scoring.labels, ZOO, np.ones(size, dtype=bool))
    images = {row.kind: row.images for row in kind_shares(right, confidence=0.95)}
    assert images[ImageKind.NAMES] + images[ImageKind.SIMILAR] + images[ImageKind.OBJECTS] == right.several.sum()
    assert images[ImageKind.UNCLEAR] == 0
    for weakest, closer in ((Relation.SAME_SUPERCLASS, Relation.SAME_PARENT), (Relation.UNRELATED, Relation.COLLAPSED)):
        assert (right.groups(weakest) <= right.groups(closer)).all()
    assert (right.groups(Relation.UNRELATED) == np.minimum(right.counts, 1)).all()
    assert len(right.pairs[0]) == sum(len(classes) * (len(classes) - 1) // 2 for classes in rights)


def test_real_labels_and_published_predictions(published):
    """The figures stated in docs/studies.md, for three of the 67 models; kinds are about the labels alone."""
    names = ["alexnet", "resnet50", "pnasnet_large_tf"]
    table = pq.read_table(published / "recht2019" / "imagenet-val.top5.parquet", columns=["image", "wnid", *names])
    space = class_space("imagenet-1k")
    originals = np.array([space.index_of[wnid] for wnid in table["wnid"].to_pylist()], dtype=np.int32)
    target = TestSet("imagenet-val", space, tuple(table["image"].to_pylist()), originals)
    lists = json.loads((published / "real" / "real.json").read_text())
    number = [int(image.removeprefix("ILSVRC2012_val_").partition(".")[0]) - 1 for image in target.ids]
    rights = [lists[n] for n in number]
    examples = np.repeat(np.arange(50_000), [len(right) for right in rights])
    classes = np.concatenate([np.array(right, dtype=np.int64) for right in rights])
    covered = np.array([bool(right) for right in rights])
    states = np.full(len(classes), CORRECT, dtype=np.int8)
    real = LabelSet("real", 1, target.name, 1000, examples, classes, states, covered, ("",) * 50_000, Unlisted.WRONG)
    models = [
        Predictions(name, target.name, space.name, np.array(table[name].to_pylist(), dtype=np.int32)) for name in names
    ]
    scored = [(model, Scoring(target)) for model in models]
    result = multilabel(target, scored, ReviewedLabels(MultilabelScoring(real)), rng=np.random.default_rng(0))
    assert (result.images, round(100 * result.several.value, 2)) == (46_837, 15.89)
    assert result.labels_each.value == pytest.approx(2.440, abs=5e-4)
    assert [row.images for row in result.kinds] == [953, 1_332, 5_158, 0]
    resnet = np.array([bool(covered[n]) and int(models[1].top1[n]) in rights[n] for n in range(50_000)])
    assert result["resnet50"].multilabel == proportion(int(resnet.sum()), 46_837)
