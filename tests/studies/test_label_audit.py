"""Which labels all models agree with, and what an audit of some of them says about all."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regrade.core import InputError, LabelState
from regrade.stats import finite_share
from regrade.studies import AgreedLabels, agreed_labels, audit_result, new_audit

SPACE = SimpleNamespace(name="abc")
SET = SimpleNamespace(class_space=SPACE)


def predicted(*classes, model="one", class_space="abc"):
    return SimpleNamespace(model=model, class_space=class_space, top1=np.array(classes))


class Labels:
    """Labels by image: the state of each judged class; images without any are not scored."""

    def __init__(self, *states, problematic=()):
        self.states = states
        self.scored = np.array([bool(judged) and number not in problematic for number, judged in enumerate(states)])

    def states_of(self, classes):
        pairs = zip(self.states, classes.tolist(), strict=True)
        return np.array([judged.get(predicted_class, LabelState.UNJUDGED) for judged, predicted_class in pairs])


CORRECT, WRONG, UNCLEAR = LabelState.CORRECT, LabelState.WRONG, LabelState.UNCLEAR


def test_agreed_labels_by_hand():
    """Agreed: image 0. Image 1: another class. 2: unclear. 3: two correct classes. 4: problematic. 5: no labels."""
    labels = Labels(
        {0: CORRECT}, {1: CORRECT}, {0: UNCLEAR}, {0: CORRECT, 1: CORRECT}, {0: CORRECT}, {}, problematic=[4]
    )
    agreed = agreed_labels(SET, [predicted(0, 1, 0, 0, 0, 0), predicted(0, 0, 0, 1, 0, 0)], labels)
    assert (agreed.examples.tolist(), agreed.classes.tolist(), agreed.split, agreed.scored) == ([0], [0], 1, 4)


@given(st.data())
def test_agreed_labels_match_a_slow_reference(data):
    images, models = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 3))
    states = st.sampled_from([CORRECT, WRONG, UNCLEAR])
    labels = Labels(*data.draw(st.lists(st.dictionaries(st.integers(0, 2), states), min_size=images, max_size=images)))
    classes = st.lists(st.integers(-1, 2), min_size=images, max_size=images)
    rows = [data.draw(classes) for _ in range(models)]
    agreed = agreed_labels(SET, [predicted(*row) for row in rows], labels)
    slow = [
        (image, rows[0][image])
        for image in range(images)
        if labels.scored[image] and all(row[image] == rows[0][image] for row in rows)
        and labels.states[image].get(rows[0][image]) is CORRECT
    ]  # fmt: skip
    assert list(zip(agreed.examples.tolist(), agreed.classes.tolist(), strict=True)) == slow


def test_model_of_other_classes_is_one_clear_line():
    with pytest.raises(InputError, match=r"^two predicts classes of xyz, .* with --model$"):
        agreed_labels(SET, [predicted(0), predicted(0, model="two", class_space="xyz")], Labels({0: CORRECT}))


def test_audit_without_models_is_an_error():
    with pytest.raises(InputError, match="at least one model"):
        agreed_labels(SET, [], Labels({0: CORRECT}))


def audit_of(size, drawn, states, seed=0):
    agreed = AgreedLabels(np.arange(size), np.zeros(size, dtype=np.int64), 0, size)
    rng = np.random.default_rng(seed)
    audit = new_audit(agreed, queue="q", test_set="s", labels="own@1", models=("one",), rng=rng).draw(drawn)
    padded = [*states, *[LabelState.UNJUDGED] * (size - len(states))]
    return type(audit)(
        "q", "s", "own@1", ("one",), audit.examples, audit.classes, drawn, np.array(padded, dtype=np.int8)
    )


@settings(deadline=None)
@given(st.data())
def test_outcomes_are_shares_of_the_drawn_labels(data):
    size = data.draw(st.integers(1, 60))
    drawn = data.draw(st.integers(1, size))
    states = data.draw(st.lists(st.sampled_from(list(LabelState)), min_size=drawn, max_size=drawn))
    result = audit_result(audit_of(size, drawn, states), confidence=0.95)
    decided = sum(state is not LabelState.UNJUDGED for state in states)
    assert (result.population, result.drawn, result.decided) == (size, drawn, decided)
    for outcome in result.outcomes:
        count = sum(state.name.lower() == outcome.outcome for state in states)
        assert outcome.count == count
        if not decided:
            assert outcome.share is None and outcome.labels_low is None
            continue
        assert outcome.share == finite_share(count, drawn, size, unknown=drawn - decided)
        assert count <= outcome.labels_low <= outcome.labels_high <= size


def test_random_order_draws_every_label_equally_often():
    """Each of 10 labels is among the first 3 in 30% of 2,000 random orders, within 5 standard errors."""
    first = np.concatenate([audit_of(10, 3, [], seed=seed).examples[:3] for seed in range(2_000)])
    shares = np.bincount(first, minlength=10) / 2_000
    assert np.abs(shares - 0.3).max() < 5 * np.sqrt(0.3 * 0.7 / 2_000)


def test_audit_continues_only_with_the_same_order():
    audit = audit_of(10, 3, [])
    assert audit.draw(2).continues(audit) and not audit.continues(audit.draw(2))
    assert not audit_of(10, 5, [], seed=1).continues(audit)
    assert audit.digest != audit.draw(1).digest
