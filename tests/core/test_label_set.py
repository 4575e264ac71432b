import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regrade.core import InputError, LabelSet, LabelState, MismatchError, Unlisted

CLASSES, EXAMPLES = 4, 3


def label_set(judgments, covered=(True,) * EXAMPLES, reasons=("",) * EXAMPLES, unlisted=Unlisted.NOVEL):
    """A label set from {(example, class): state}."""
    pairs = np.array(list(judgments), dtype=int).reshape(-1, 2)
    states = np.array(list(judgments.values()), dtype=np.int8)
    return LabelSet(
        "labels",
        1,
        "images",
        CLASSES,
        pairs[:, 0],
        pairs[:, 1],
        states,
        np.array(covered),
        reasons,
        unlisted,
    )


JUDGED = {(2, 0): LabelState.UNCLEAR, (0, 1): LabelState.CORRECT, (0, 3): LabelState.WRONG}


def test_states_of_returns_the_judgments():
    assert label_set(JUDGED).states_of(np.array([1, 1, 0])).tolist() == [
        LabelState.CORRECT,
        LabelState.UNJUDGED,
        LabelState.UNCLEAR,
    ]


def test_unlisted_class_is_wrong_if_lists_are_complete():
    states = label_set(JUDGED, unlisted=Unlisted.WRONG).states_of(np.array([2, 1, 0]))
    assert states.tolist() == [LabelState.WRONG, LabelState.WRONG, LabelState.UNCLEAR]


@pytest.mark.parametrize("unlisted", Unlisted)
def test_missing_prediction_is_wrong(unlisted):
    states = label_set(JUDGED, unlisted=unlisted).states_of(np.array([-1, -1, -1]))
    assert states.tolist() == [LabelState.WRONG] * 3


def test_states_without_judgments_are_unjudged():
    assert label_set({}).states_of(np.array([0, 1, 3])).tolist() == [LabelState.UNJUDGED] * 3


@given(
    st.dictionaries(
        st.tuples(st.integers(0, EXAMPLES - 1), st.integers(0, CLASSES - 1)),
        st.sampled_from([LabelState.CORRECT, LabelState.UNCLEAR, LabelState.WRONG]),
    ),
    st.lists(st.integers(-1, CLASSES - 1), min_size=EXAMPLES, max_size=EXAMPLES),
)
def test_states_equal_a_plain_lookup(judgments, classes):
    def state(example, label):
        return LabelState.WRONG if label < 0 else judgments.get((example, label), LabelState.UNJUDGED)

    expected = [state(example, label) for example, label in enumerate(classes)]
    assert label_set(judgments).states_of(np.array(classes)).tolist() == expected


def test_scored_examples_are_covered_and_not_problematic():
    labels = label_set(JUDGED, covered=(True, True, False), reasons=("", "a drawing", ""))
    assert labels.problematic.tolist() == [False, True, False]
    assert labels.scored.tolist() == [True, False, False]
    assert len(labels) == 3


def test_label_set_rejects_repeated_judgments():
    twice = LabelState.CORRECT, LabelState.WRONG
    with pytest.raises(InputError, match="class 2 of example 1 is judged twice"):
        LabelSet(
            "labels", 1, "images", CLASSES, np.array([1, 1]), np.array([2, 2]), np.array(twice),
            np.ones(EXAMPLES, bool), ("",) * EXAMPLES, Unlisted.NOVEL,
        )  # fmt: skip


@pytest.mark.parametrize(
    ("pair", "what"),
    [((0, CLASSES), "class"), ((0, -1), "class"), ((EXAMPLES, 0), "example"), ((-1, 0), "example")],
)
def test_label_set_rejects_judgments_out_of_range(pair, what):
    with pytest.raises(InputError, match=f"a judged {what} is outside"):
        label_set({pair: LabelState.CORRECT})


def test_states_of_rejects_classes_out_of_range():
    with pytest.raises(MismatchError, match="has 4 classes, got class 5"):
        label_set({(1, 1): LabelState.CORRECT}).states_of(np.array([5, 0, 0]))


def test_label_set_requires_one_reason_per_example():
    with pytest.raises(MismatchError, match="3 examples, 2 reasons"):
        label_set(JUDGED, reasons=("", ""))


def test_the_digest_does_not_depend_on_the_order_of_the_judgments():
    backwards = dict(reversed(JUDGED.items()))
    assert label_set(JUDGED).digest == label_set(backwards).digest


def test_digest_changes_with_every_field():
    variants = [
        label_set({**JUDGED, (1, 1): LabelState.CORRECT}),
        label_set({**JUDGED, (0, 1): LabelState.UNCLEAR}),
        label_set(JUDGED, covered=(True, False, True)),
        label_set(JUDGED, reasons=("", "a drawing", "")),
        label_set(JUDGED, unlisted=Unlisted.WRONG),
    ]
    assert len({labels.digest for labels in [label_set(JUDGED), *variants]}) == 6
