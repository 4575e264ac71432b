import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regrade.core import InputError, UndefinedError
from regrade.metrics import (
    ALEXNET_ERRORS,
    corruption_errors,
    effective_robustness,
    mean_corruption_error,
    relative_mean_corruption_error,
    relative_robustness,
)
from regrade.stats import Scale, fit_line

ACCURACIES = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=8)
# one model, two corruptions of two severities
ERRORS = np.array([[[0.2, 0.4], [0.5, 0.7]]])
REFERENCE = np.array([[0.5, 0.7], [0.7, 0.9]])

shares = st.floats(0.01, 1)


def test_effective_robustness_by_hand():
    got = effective_robustness([0.7, 0.8], [0.65, 0.6], expected=lambda x: np.asarray(x) - 0.1)
    assert got == pytest.approx([0.05, -0.1])


def test_relative_robustness_by_hand():
    assert relative_robustness([0.5, 0.4], [0.3, 0.45]) == pytest.approx([0.2, -0.05])


def test_effective_robustness_is_the_distance_from_the_logit_line():
    def logit(p):
        return math.log(p / (1 - p))

    def sigmoid(z):
        return 1 / (1 + math.exp(-z))

    standard = [0.55, 0.65, 0.75, 0.85]
    shifted = [sigmoid(0.9 * logit(x) - 0.6) for x in standard]
    line = fit_line(standard, shifted, scale=Scale.LOGIT)
    assert effective_robustness(standard, shifted, expected=line.predict) == pytest.approx([0] * 4, abs=1e-12)
    expected = 0.74 - sigmoid(0.9 * logit(0.76) - 0.6)
    assert effective_robustness([0.76], [0.74], expected=line.predict) == pytest.approx([expected])


@given(ACCURACIES)
@settings(deadline=None, max_examples=50)
def test_both_are_differences_model_by_model(pairs):
    first, second = zip(*pairs, strict=True)
    plain = [b - a for a, b in pairs]
    assert relative_robustness(second, first).tolist() == plain
    assert effective_robustness(first, second, expected=np.asarray).tolist() == plain
    assert (-relative_robustness(first, second)).tolist() == plain


def test_models_of_two_lists_must_be_the_same_number():
    with pytest.raises(ValueError, match="broadcast"):
        relative_robustness([0.1, 0.2, 0.3], [0.1, 0.2])


def test_by_hand():
    assert corruption_errors(ERRORS, REFERENCE) == pytest.approx(np.array([[0.6 / 1.2, 1.2 / 1.6]]))
    assert mean_corruption_error(ERRORS, REFERENCE) == pytest.approx([0.625])


def test_relative_by_hand():
    got = relative_mean_corruption_error(ERRORS, REFERENCE, clean=np.array([0.1]), reference_clean=0.4)
    assert got == pytest.approx([((0.6 - 0.2) / (1.2 - 0.8) + (1.2 - 0.2) / (1.6 - 0.8)) / 2])


@given(st.integers(1, 3), st.integers(1, 4), st.integers(1, 5), st.integers(0, 2**32 - 1), st.floats(0, 0.009))
@settings(deadline=None, max_examples=60)
def test_both_are_those_of_a_plain_loop_over_sums(models, corruptions, severities, seed, clean_error):
    rng = np.random.default_rng(seed)
    errors = rng.uniform(0, 1, (models, corruptions, severities))
    reference = rng.uniform(0.01, 1, (corruptions, severities))
    clean = rng.uniform(0, 1, models)

    def plain(model, own_clean, reference_clean):
        ratios = [
            (sum(errors[model, c]) - severities * own_clean) / (sum(reference[c]) - severities * reference_clean)
            for c in range(corruptions)
        ]
        return sum(ratios) / corruptions

    assert mean_corruption_error(errors, reference) == pytest.approx([plain(m, 0, 0) for m in range(models)])
    assert relative_mean_corruption_error(errors, reference, clean=clean, reference_clean=clean_error) == pytest.approx(
        [plain(m, clean[m], clean_error) for m in range(models)]
    )


def test_the_reference_may_come_as_means_over_severities():
    assert corruption_errors(ERRORS, REFERENCE.mean(axis=1)) == pytest.approx(corruption_errors(ERRORS, REFERENCE))


def test_reference_shape_is_unambiguous_for_square_errors():
    errors = np.array([[[0.1, 0.3], [0.6, 0.6]]])
    assert corruption_errors(errors, np.array([0.4, 0.8])) == pytest.approx(np.array([[0.5, 0.75]]))


def test_the_reference_itself_scores_one():
    alexnet = np.array(list(ALEXNET_ERRORS.values()))
    errors = np.repeat(alexnet[None, :, None], 5, axis=2)
    assert mean_corruption_error(errors, alexnet) == pytest.approx([1])
    assert relative_mean_corruption_error(
        errors, alexnet, clean=np.array([0.4348]), reference_clean=0.4348
    ) == pytest.approx([1])


def test_there_are_fifteen_corruptions_and_their_errors_cannot_be_changed():
    assert len(ALEXNET_ERRORS) == 15
    with pytest.raises(TypeError):
        ALEXNET_ERRORS["snow"] = 0.0


@given(shares, shares)
@settings(deadline=None, max_examples=30)
def test_it_grows_with_the_errors_and_not_with_their_unit(error, reference):
    errors, baseline = np.full((1, 3, 5), error), np.full((3, 5), reference)
    mce = mean_corruption_error(errors, baseline)
    assert mce == pytest.approx([error / reference])
    assert mean_corruption_error(100 * errors, 100 * baseline) == pytest.approx(mce)


def test_no_models_have_no_errors():
    assert mean_corruption_error(ERRORS[:0], REFERENCE).shape == (0,)


@pytest.mark.parametrize(
    ("errors", "reference"),
    [(ERRORS[0], REFERENCE), (ERRORS, REFERENCE[:1]), (ERRORS, REFERENCE[:, :1]), (ERRORS, np.array(0.5))],
)
def test_shapes_that_do_not_fit_are_refused(errors, reference):
    with pytest.raises(InputError):
        mean_corruption_error(errors, reference)


@pytest.mark.parametrize("shape", [(1, 0, 5), (1, 3, 0)])
def test_no_corruptions_or_severities_leave_it_undefined(shape):
    with pytest.raises(UndefinedError, match="at least one corruption"):
        mean_corruption_error(np.ones(shape), np.ones(shape[1:]))


def test_a_reference_without_errors_leaves_it_undefined():
    with pytest.raises(UndefinedError, match="makes no error"):
        mean_corruption_error(ERRORS, np.array([[0.0, 0.0], [0.7, 0.9]]))


@pytest.mark.parametrize(
    ("reference", "clean"),
    [(0.5, 0.5), (0.1, 0.1), (0.5, 0.6)],  # the mean of three 0.1 is not 0.1 to the last digit
)
def test_relative_mce_raises_if_reference_does_not_get_worse(reference, clean):
    errors, baseline = np.full((1, 2, 3), 0.5), np.full((2, 3), reference)
    with pytest.raises(UndefinedError, match="does not get worse"):
        relative_mean_corruption_error(errors, baseline, clean=np.array([0.2]), reference_clean=clean)
