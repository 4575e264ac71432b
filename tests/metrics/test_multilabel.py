import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regrade.core import LabelSet, LabelState, MismatchError, Unlisted
from regrade.metrics import MultilabelRule, judge

CORRECT, UNCLEAR, WRONG = LabelState.CORRECT, LabelState.UNCLEAR, LabelState.WRONG
BOTH_RULES = pytest.mark.parametrize("rule", MultilabelRule)

# label -> classes that also count for it (Vasudevan et al. 2022)
COLLAPSED = {250: (248,), 249: (248,), 836: (837,), 837: (836,), 356: (357, 358, 359)}


def label_set(lists, *, covered=None, reasons=None, unlisted=Unlisted.NOVEL, class_count=1000):
    """A label set from one {class: state} mapping per image."""
    rows = [(image, label, state) for image, states in enumerate(lists) for label, state in states.items()]
    examples, classes, states = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    return LabelSet(
        "labels", 1, "images", class_count, examples, classes, states.astype(np.int8),
        np.ones(len(lists), bool) if covered is None else np.array(covered),
        tuple(reasons or [""] * len(lists)), unlisted,
    )  # fmt: skip


# correct twice (one not the original label), unclear, wrong, novel, problematic, not covered, no answer
LISTS = [
    {1: CORRECT, 2: CORRECT},
    {1: CORRECT, 2: CORRECT},
    {1: CORRECT, 3: UNCLEAR},
    {5: CORRECT, 4: WRONG},
    {5: CORRECT},
    {5: CORRECT},
    {5: CORRECT},
    {5: CORRECT},
]
ORIGINALS = np.array([1, 1, 1, 5, 5, 5, 5, 5])
PREDICTIONS = np.array([1, 2, 3, 4, 7, 5, 5, -1])
LABELS = label_set(LISTS, covered=[True] * 6 + [False, True], reasons=["", "", "", "", "", "a drawing", "", ""])


@pytest.mark.parametrize(("rule", "third"), [(MultilabelRule.IMAGES, False), (MultilabelRule.CLASSES, True)])
def test_judge_by_kind_of_prediction(rule, third):
    judged = judge(PREDICTIONS, LABELS, rule=rule, originals=ORIGINALS)
    assert judged.scored.tolist() == [True, True, True, True, True, False, False, True]
    assert judged.right.tolist() == [True, True, third, False, False, False, False, False]
    assert judged.novel.tolist() == [False, False, False, False, True, False, False, False]


@BOTH_RULES
def test_a_prediction_that_nobody_judged_is_not_right_even_if_it_is_the_original_label(rule):
    judged = judge(np.array([4]), label_set([{5: CORRECT}]), rule=rule, originals=np.array([4]))
    assert (judged.right.tolist(), judged.novel.tolist()) == ([False], [True])


@BOTH_RULES
def test_on_complete_lists_nothing_is_novel(rule):
    labels = label_set([{5: CORRECT}, {5: CORRECT, 6: CORRECT}, {}], unlisted=Unlisted.WRONG)
    judged = judge(np.array([4, 6, 1]), labels, rule=rule, originals=np.array([5, 5, 5]))
    assert judged.right.tolist() == [False, True, False]
    assert not judged.novel.any()


@BOTH_RULES
@pytest.mark.parametrize("unlisted", Unlisted)
def test_a_missing_answer_is_wrong_and_not_novel(rule, unlisted):
    # class 999 of the image before would have the same key as class -1 of this one
    labels = label_set([{999: CORRECT}, {5: CORRECT}], unlisted=unlisted)
    judged = judge(np.array([-1, -1]), labels, rule=rule, originals=np.array([999, 5]), collapsed=COLLAPSED)
    assert judged.scored.tolist() == [True, True]
    assert not judged.right.any()
    assert not judged.novel.any()


@BOTH_RULES
@pytest.mark.parametrize(
    ("label", "prediction", "counts"),
    [
        (250, 248, True),
        (249, 248, True),
        (248, 250, False),
        (248, 249, False),
        (250, 249, False),
        (836, 837, True),
        (837, 836, True),
        (356, 359, True),
        (359, 356, False),
    ],
)
def test_collapsed_classes_count_in_their_direction(rule, label, prediction, counts):
    labels = label_set([{label: CORRECT}])
    options = {"rule": rule, "originals": np.array([label])}
    with_collapsed = judge(np.array([prediction]), labels, collapsed=COLLAPSED, **options)
    assert with_collapsed.right.tolist() == [counts]
    assert with_collapsed.novel.tolist() == [not counts]
    without = judge(np.array([prediction]), labels, **options)
    assert (without.right.tolist(), without.novel.tolist()) == ([False], [True])


def test_collapsed_classes_count_against_a_judgment_but_not_for_other_labels_of_the_image():
    labels = label_set([{250: CORRECT, 248: WRONG}, {250: CORRECT, 7: CORRECT}])
    judged = judge(
        np.array([248, 248]), labels, rule=MultilabelRule.CLASSES, originals=np.array([250, 7]),
        collapsed=COLLAPSED,
    )  # fmt: skip
    assert judged.right.tolist() == [True, False]


def test_collapsed_classes_do_not_bring_back_an_image_that_is_not_scored():
    labels = label_set([{250: CORRECT}] * 2, covered=[False, True], reasons=["", "a drawing"])
    judged = judge(
        np.array([248, 248]), labels, rule=MultilabelRule.CLASSES, originals=np.array([250, 250]),
        collapsed=COLLAPSED,
    )  # fmt: skip
    assert not (judged.right | judged.novel | judged.scored).any()


def test_a_collapsed_class_beyond_those_at_hand_is_not_taken_for_another():
    labels = label_set([{1: CORRECT}])
    options = {"rule": MultilabelRule.IMAGES, "originals": np.array([1]), "collapsed": {0: (5,)}}
    assert judge(np.array([2]), labels, **options).right.tolist() == [False]


@pytest.mark.parametrize("collapsed", [{}, {5: ()}])
def test_no_collapsed_classes_change_nothing(collapsed):
    rule = MultilabelRule.CLASSES
    plain = judge(PREDICTIONS, LABELS, rule=rule, originals=ORIGINALS)
    judged = judge(PREDICTIONS, LABELS, rule=rule, originals=ORIGINALS, collapsed=collapsed)
    assert judged.right.tolist() == plain.right.tolist()


@pytest.mark.parametrize("dtype", [np.uint16, np.int16])
def test_narrow_types_do_not_overflow(dtype):
    labels = label_set([{0: CORRECT}] * 70 + [{837: CORRECT}])
    predictions = np.array([0] * 70 + [836], dtype)
    originals = np.array([0] * 70 + [837], dtype)
    judged = judge(predictions, labels, rule=MultilabelRule.IMAGES, originals=originals, collapsed=COLLAPSED)
    assert judged.right.all()


CLASSES = 5
IMAGES = st.lists(
    st.tuples(
        st.dictionaries(st.integers(0, CLASSES - 1), st.sampled_from([CORRECT, UNCLEAR, WRONG])),
        st.integers(-1, CLASSES - 1),  # prediction
        st.integers(0, CLASSES - 1),  # original label
        st.booleans(),  # covered
        st.sampled_from(["", "", "", "a drawing"]),
    ),
    min_size=1,
    max_size=25,
)
ALSO = st.dictionaries(st.integers(0, CLASSES - 1), st.lists(st.integers(0, CLASSES - 1), max_size=2).map(tuple))


@given(IMAGES, ALSO, st.sampled_from(MultilabelRule), st.sampled_from(Unlisted))
@settings(deadline=None, max_examples=200)
def test_judging_is_a_plain_loop_over_images(images, also, rule, unlisted):
    lists, predictions, originals, covered, reasons = zip(*images, strict=True)
    labels = label_set(lists, covered=covered, reasons=reasons, unlisted=unlisted, class_count=CLASSES)
    judged = judge(np.array(predictions), labels, rule=rule, originals=np.array(originals), collapsed=also)
    accepted = {CORRECT} if rule is MultilabelRule.IMAGES else {CORRECT, UNCLEAR}
    by_class, novel = {}, []
    for class_states, prediction, original, is_covered, reason in images:
        counts = is_covered and not reason
        right = class_states.get(prediction) in accepted or prediction in also.get(original, ())
        unheard = prediction >= 0 and prediction not in class_states and unlisted is Unlisted.NOVEL
        novel.append(counts and unheard and not right)
        if counts:
            by_class.setdefault(original, []).append(right)
    assert judged.novel.tolist() == novel
    everything = [right for own in by_class.values() for right in own]
    assert judged.scored.sum() == len(everything)
    assert judged.right.sum() == sum(everything)


@pytest.mark.parametrize(("predictions", "originals"), [(7, 8), (8, 7), (1, 1)])
def test_judge_rejects_different_lengths(predictions, originals):
    with pytest.raises(MismatchError, match="must cover the same images"):
        judge(PREDICTIONS[:predictions], LABELS, rule=MultilabelRule.IMAGES, originals=ORIGINALS[:originals])


def test_a_prediction_of_another_class_space_is_refused():
    labels = label_set([{1: CORRECT}, {0: CORRECT}], class_count=3)
    with pytest.raises(MismatchError, match="has 3 classes, got class 3"):
        judge(np.array([3, 0]), labels, rule=MultilabelRule.IMAGES, originals=np.array([1, 0]))


def test_label_sets_over_different_class_spaces_have_different_digests():
    # example 1, class 0 of four classes and example 2, class 0 of two: the same key
    four = label_set([{}, {0: CORRECT}, {}], class_count=4)
    two = label_set([{}, {}, {0: CORRECT}], class_count=2)
    assert four.digest != two.digest
