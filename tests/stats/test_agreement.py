import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from scipy.special import ndtri
from statsmodels.stats import inter_rater
from statsmodels.stats.inter_rater import cohens_kappa

from regrade.core import InputError, UndefinedError
from regrade.stats import covariance_interval, fleiss_kappa, kappa_interval, krippendorff_alpha, pairwise_agreement

quick = settings(deadline=None, max_examples=60, derandomize=True)
complete = arrays(np.int64, st.tuples(st.integers(2, 5), st.integers(2, 30)), elements=st.integers(0, 4))
partial = arrays(np.int64, st.tuples(st.integers(2, 5), st.integers(2, 30)), elements=st.integers(-1, 4))

# Krippendorff 2011, Computing Krippendorff's alpha-reliability, example C: four observers, twelve units
N = -1
PUBLISHED = np.array([
    [1, 2, 3, 3, 2, 1, 4, 1, 2, N, N, N],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, N, 3],
    [N, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, N],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, N],
])  # fmt: skip
TABLES = st.tuples(*[st.integers(0, 40)] * 4).filter(sum)


def test_kappa_by_hand():
    # 5 of 6 pairs agree; shares 5/12, 4/12, 3/12 give 50/144 by chance: (120 - 50) / (144 - 50)
    estimate = fleiss_kappa(np.array([[0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 2, 0]]))
    assert estimate.value == pytest.approx(70 / 94)
    assert estimate.low < estimate.value < estimate.high <= 1
    assert (estimate.n, estimate.method) == (6, "fleiss, adjusted delta 95%")


def test_kappa_interval_by_hand():
    # 20 images that agree and 2.5 imagined ones, 1.25 of which disagree; two classes, equally frequent
    observed, expected = 1.25 / 22.5, 1 / 2
    ratio = observed / expected
    # 21.25 images move the ratio by -observed / expected, 1.25 by (1 - observed) / expected, over 22.5
    error = np.sqrt(21.25 * observed**2 + 1.25 * (1 - observed) ** 2) / expected / 22.5
    estimate = fleiss_kappa(np.array([[0, 1] * 10, [0, 1] * 10]))
    assert (estimate.value, estimate.high) == (1, 1)
    assert estimate.low == pytest.approx(1 - ratio - stats.t.ppf(0.975, 19) * error)


def test_alpha_by_hand():
    # two agree on 0, two on 1, two differ: observed 1/3; by chance 1 - (3 * 2 + 3 * 2) / 30 = 3/5
    estimate = krippendorff_alpha(np.array([[0, 1, 0], [0, 1, 1]]))
    assert estimate.value == pytest.approx(1 - (1 / 3) / (3 / 5))


def test_alpha_matches_published_value():
    estimate = krippendorff_alpha(PUBLISHED)
    assert round(estimate.value, 3) == 0.743
    assert estimate.n == 11  # one unit has a single value


def test_pairwise_agreement_by_hand():
    # of the pairs 0-1, 0-2 and 1-2: 2, 1 and 1 of 2, 1 and 2 images with both answers
    answers = np.array([[0, 1, N], [0, 1, 2], [0, N, 3]])
    estimate = pairwise_agreement(answers)
    assert (estimate.value, estimate.n) == (pytest.approx(4 / 5), 3)


@given(answers=complete)
@quick
def test_kappa_agrees_with_another_implementation(answers):
    table, _ = inter_rater.aggregate_raters(answers.T)
    if table.shape[1] == 1:
        with pytest.raises(UndefinedError, match="one class"):
            fleiss_kappa(answers)
        return
    assert fleiss_kappa(answers).value == pytest.approx(inter_rater.fleiss_kappa(table), abs=1e-12)


def slow_alpha(answers):
    """Krippendorff's alpha from the coincidence matrix."""
    units = [[int(value) for value in unit if value >= 0] for unit in answers.T]
    units = [unit for unit in units if len(unit) > 1]
    together = {}
    for unit in units:
        for i, first_class in enumerate(unit):
            for j, second_class in enumerate(unit):
                if i != j:
                    together[first_class, second_class] = together.get((first_class, second_class), 0) + 1 / (
                        len(unit) - 1
                    )
    totals = {}
    for (first_class, _), weight in together.items():
        totals[first_class] = totals.get(first_class, 0) + weight
    n = sum(totals.values())
    observed = (
        sum(weight for (first_class, second_class), weight in together.items() if first_class != second_class) / n
    )
    expected = sum(totals[a] * totals[b] for a in totals for b in totals if a != b) / (n * (n - 1))
    return 1 - observed / expected


@given(answers=partial)
@quick
def test_alpha_matches_coincidence_matrix(answers):
    units = (answers >= 0).sum(axis=0) >= 2
    values = answers[:, units]
    if units.sum() < 2 or len(np.unique(values[values >= 0])) < 2:
        with pytest.raises(UndefinedError):
            krippendorff_alpha(answers)
        return
    assert krippendorff_alpha(answers).value == pytest.approx(slow_alpha(answers), abs=1e-12)


@given(answers=complete, seed=st.integers(0, 1000))
@quick
def test_agreement_is_invariant_to_relabeling_and_order(answers, seed):
    if len(np.unique(answers)) < 2:
        return
    rng = np.random.default_rng(seed)
    shuffled = rng.permutation(5)[answers][rng.permutation(len(answers))][:, rng.permutation(answers.shape[1])]
    for measure in (fleiss_kappa, krippendorff_alpha, pairwise_agreement):
        plain, permuted = measure(answers), measure(shuffled)
        assert (plain.value, plain.low, plain.high) == pytest.approx(
            (permuted.value, permuted.low, permuted.high), abs=1e-9
        )


def test_full_agreement_has_an_interval_of_positive_width():
    answers = np.tile(np.arange(20) % 5, (3, 1))
    for measure in (fleiss_kappa, krippendorff_alpha):
        estimate = measure(answers)
        assert (estimate.value, estimate.high) == (1, 1)
        # 20 images without a disagreement: up to 16.8% may have one (exactly), where chance has about 80%
        assert estimate.low == pytest.approx(1 - 0.168 / 0.8, abs=0.02)


def simulated(rng, images, kind):
    """Images of varying difficulty: a person knows the class with the image's probability, and guesses otherwise.

    ``kind``: how many classes and people, the two numbers of the beta distribution, and the share left out.
    """
    classes, people, skill, missing = kind
    true = rng.integers(classes, size=images)
    agreed = rng.random((people, images)) < rng.beta(*skill, size=images)
    answers = np.where(agreed, true, rng.integers(classes, size=(people, images)))
    return np.where(rng.random((people, images)) < missing, -1, answers)


@pytest.mark.parametrize(
    ("measure", "images", "kind"),
    [
        (fleiss_kappa, 20, (3, 3, (2, 1), 0.0)),
        (fleiss_kappa, 200, (3, 2, (8, 2), 0.0)),
        (fleiss_kappa, 50, (1000, 5, (99, 1), 0.0)),
        (fleiss_kappa, 500, (1000, 5, (19, 1), 0.0)),
        (krippendorff_alpha, 30, (3, 2, (8, 2), 0.2)),
        (krippendorff_alpha, 200, (50, 5, (9, 1), 0.3)),
        (krippendorff_alpha, 500, (1000, 5, (19, 1), 0.2)),
        (pairwise_agreement, 50, (50, 5, (9, 1), 0.3)),
        (pairwise_agreement, 500, (1000, 5, (19, 1), 0.2)),
    ],
)
def test_intervals_cover(measure, images, kind):
    rng = np.random.default_rng(7)
    truth = measure(simulated(rng, 200_000, kind)).value
    estimates = [measure(simulated(rng, images, kind)) for _ in range(600)]
    assert np.mean([estimate.low <= truth <= estimate.high for estimate in estimates]) >= 0.925
    assert np.mean([estimate.high - estimate.low for estimate in estimates]) < 6 / np.sqrt(images)


@pytest.mark.parametrize(("measure", "missing"), [(fleiss_kappa, 0.0), (krippendorff_alpha, 0.3)])
def test_standard_error_matches_the_jackknife(measure, missing):
    """One class is far more frequent, so the expected agreement varies with the images too."""
    rng = np.random.default_rng(3)
    true = (rng.random(600) < 0.03).astype(np.int64)
    answers = np.where(rng.random((5, 600)) < 0.99, true, 1 - true)
    answers = np.where(rng.random(answers.shape) < missing, -1, answers)
    answers = answers[:, (answers >= 0).sum(axis=0) >= 2]
    estimate, n = measure(answers), answers.shape[1]
    left = np.array([measure(np.delete(answers, image, axis=1)).value for image in range(n)])
    jackknife = np.sqrt((n - 1) / n * ((left - left.mean()) ** 2).sum())
    spread = (estimate.high - estimate.low) / 2 / stats.t.ppf(0.975, n - 1)
    assert spread == pytest.approx(jackknife, rel=0.1)


def clustered_answers(rng, runs, *, images, people, shares, kappa):
    """Answers (runs, people, images) with known kappa: each image has its own class probabilities (Dirichlet)."""
    own = rng.dirichlet(np.asarray(shares) * (1 - kappa) / kappa, size=(runs, images))
    return (rng.random((runs, people, images, 1)) > own.cumsum(axis=-1)[:, None, :, :-1]).sum(axis=-1)


@pytest.mark.parametrize("measure", [fleiss_kappa, krippendorff_alpha])
@pytest.mark.parametrize(
    ("people", "shares", "kappa"),
    [
        (2, (0.5, 0.5), 0.3),
        (2, (0.9, 0.1), 0.6),
        (3, (0.95, 0.05), 0.9),
        (5, (0.85, 0.05, 0.05, 0.05), 0.3),
    ],
)
def test_intervals_cover_with_ten_images_and_skewed_classes(measure, people, shares, kappa):
    rng = np.random.default_rng(5)
    drawn = clustered_answers(rng, 400, images=10, people=people, shares=shares, kappa=kappa)
    estimates = [measure(answers) for answers in drawn if np.ptp(answers)]
    covered = sum(estimate.low <= kappa <= estimate.high for estimate in estimates)
    assert covered >= stats.binom.ppf(1e-4, len(estimates), 0.93)


@given(answers=partial)
@quick
def test_intervals_contain_the_value_and_have_a_width(answers):
    try:
        estimate = krippendorff_alpha(answers)
    except UndefinedError:
        return
    assert -1 <= estimate.low <= estimate.value <= estimate.high <= 1
    assert estimate.high - estimate.low > 0.05


def test_a_higher_confidence_is_wider():
    narrow, wide = (krippendorff_alpha(PUBLISHED, confidence=level) for level in (0.8, 0.95))
    assert wide.low < narrow.low < narrow.high < wide.high


@pytest.mark.parametrize("measure", [fleiss_kappa, krippendorff_alpha, pairwise_agreement])
def test_agreement_raises_if_undefined(measure):
    with pytest.raises(UndefinedError, match="two people or more"):
        measure(np.array([[1, 2, 3]]))
    with pytest.raises(UndefinedError):
        measure(np.array([[1], [1]]))
    with pytest.raises(UndefinedError):
        measure(np.zeros((2, 0), dtype=np.int64))


def test_fleiss_kappa_rejects_missing_answers():
    with pytest.raises(InputError, match="krippendorff_alpha allows gaps"):
        fleiss_kappa(PUBLISHED)


def added(confidence: float) -> float:
    """Images added to each cell."""
    return ndtri(0.5 + confidence / 2) ** 2 / 4


def test_cohens_kappa_by_hand():
    """40 both right, 10 and 5 only one, 45 neither, and one more image in each cell: 41, 11, 6, 46 of 104.

    With one more image a cell the confidence is that of two standard errors.
    """
    first, second = 52 / 104, 47 / 104
    kappa = 2 * (41 * 46 - 11 * 6) / 104**2 / (first * (1 - second) + second * (1 - first))
    assert kappa == pytest.approx(0.6731, abs=1e-4)
    # Fleiss, Cohen and Everitt 1969, equation 13
    chance = first * second + (1 - first) * (1 - second)
    alike = (41 * (1 - (first + second) * (1 - kappa)) ** 2 + 46 * (1 - (2 - first - second) * (1 - kappa)) ** 2) / 104
    unlike = (1 - kappa) ** 2 * (11 * (second + 1 - first) ** 2 + 6 * (first + 1 - second) ** 2) / 104
    error = np.sqrt((alike + unlike - (kappa - chance * (1 - kappa)) ** 2) / 104) / (1 - chance)
    bounds = kappa_interval(40, 10, 5, 100, confidence=0.9544997361036416)
    assert (float(bounds.low), float(bounds.high)) == pytest.approx((kappa - 2 * error, kappa + 2 * error), abs=1e-9)


def test_covariance_by_hand():
    """Each is right on 2 of 4 images, both on 1, neither on 1: 2 of 8 in each cell, so the covariance is 0."""
    bounds = covariance_interval(1, 1, 1, 4, confidence=0.9544997361036416)
    assert (float(bounds.low), float(bounds.high)) == pytest.approx((-2 * 0.25 / np.sqrt(8), 2 * 0.25 / np.sqrt(8)))


@given(TABLES, st.sampled_from([0.8, 0.95, 0.99]))
def test_kappa_against_statsmodels(table, confidence):
    both, only_first, only_second, neither = table
    more = added(confidence)
    oracle = cohens_kappa(np.array([[both + more, only_first + more], [only_second + more, neither + more]]))
    reach = ndtri(0.5 + confidence / 2) * oracle.std_kappa
    bounds = kappa_interval(both, only_first, only_second, sum(table), confidence=confidence)
    if both == sum(table) or neither == sum(table):
        assert np.isnan(bounds.low) and np.isnan(bounds.high)
        return
    assert float(bounds.low) == pytest.approx(max(oracle.kappa - reach, -1), abs=1e-9)
    assert float(bounds.high) == pytest.approx(min(oracle.kappa + reach, 1), abs=1e-9)


@given(TABLES)
def test_covariance_against_the_moments_of_the_images(table):
    both, only_first, only_second, neither = table
    more = added(0.95)
    weights = np.array([both, only_first, only_second, neither]) + more
    x, y = np.array([1, 1, 0, 0]), np.array([1, 0, 1, 0])
    products = (x - np.average(x, weights=weights)) * (y - np.average(y, weights=weights))
    center = np.average(products, weights=weights)
    error = np.sqrt(np.average((products - center) ** 2, weights=weights) / weights.sum())
    bounds = covariance_interval(both, only_first, only_second, sum(table))
    reach = ndtri(0.975) * error
    assert (float(bounds.low), float(bounds.high)) == pytest.approx((center - reach, center + reach), abs=1e-12)


@given(TABLES)
def test_intervals_are_symmetric_in_models_and_correctness(table):
    both, only_first, only_second, neither = table
    n = sum(table)
    for interval in (kappa_interval, covariance_interval):
        bounds = [
            (float(bounds.low), float(bounds.high))
            for bounds in (
                interval(both, only_first, only_second, n),
                interval(both, only_second, only_first, n),
                interval(neither, only_first, only_second, n),
            )
        ]
        assert bounds[1] == pytest.approx(bounds[0], nan_ok=True)
        assert bounds[2] == pytest.approx(bounds[0], nan_ok=True)


def test_intervals_broadcast():
    counts = np.array([[40, 30], [10, 2]])
    bounds = kappa_interval(counts, 5, 3, 100)
    for place in np.ndindex(2, 2):
        single = kappa_interval(int(counts[place]), 5, 3, 100)
        assert (bounds.low[place], bounds.high[place]) == (single.low, single.high)


def test_models_that_never_differ_are_not_certain_to_be_the_same():
    bounds = kappa_interval(15, 0, 0, 20)
    assert float(bounds.high) == 1
    assert 0.4 < float(bounds.low) < 0.9
    assert float(kappa_interval(1500, 0, 0, 2000).low) > 0.98


@pytest.mark.parametrize("images", [1, 2, 7, 20])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_intervals_contain_the_value(images, confidence):
    """Added images move the center away from an extreme value: the interval still contains it."""
    counts = [(a, b, c) for a in range(images + 1) for b in range(images + 1 - a) for c in range(images + 1 - a - b)]
    both, only_first, only_second = np.array(counts).T
    first, second = (both + only_first) / images, (both + only_second) / images
    covariance = both / images - first * second
    bounds = covariance_interval(both, only_first, only_second, images, confidence=confidence)
    assert ((bounds.low <= covariance) & (covariance <= bounds.high)).all()
    chance = first * (1 - second) + second * (1 - first)
    bounds = kappa_interval(both, only_first, only_second, images, confidence=confidence)
    defined = chance > 0
    assert (np.isnan(bounds.low) == ~defined).all()
    kappa = 2 * covariance[defined] / chance[defined]
    assert ((bounds.low[defined] - 1e-12 <= kappa) & (kappa <= bounds.high[defined] + 1e-12)).all()


@pytest.mark.parametrize("interval", [kappa_interval, covariance_interval])
def test_intervals_raise_for_invalid_counts(interval):
    with pytest.raises(UndefinedError, match="at least one image"):
        interval(0, 0, 0, 0)
    for counts in ((5, 3, 3, 10), (-1, 3, 3, 10), (1, 3, -1, 10)):
        with pytest.raises(InputError, match="counts of images"):
            interval(*counts)


TRUTHS = [
    (first, second, kappa)
    for first, second in ((0.5, 0.5), (0.7, 0.8), (0.9, 0.9), (0.97, 0.97), (0.95, 0.99))
    for kappa in (0.0, 0.2, 0.5, 0.7, 0.9)
]


@pytest.mark.parametrize(
    ("images", "least_kappa", "least_covariance"), [(20, 0.94, 0.90), (200, 0.94, 0.93), (5000, 0.94, 0.94)]
)
def test_kappa_and_covariance_intervals_cover(images, least_kappa, least_covariance):
    rng = np.random.default_rng(0)
    draws = 4000
    slack = 3 * np.sqrt(0.05 * 0.95 / draws)
    for first, second, kappa in TRUTHS:
        covariance = kappa * (first * (1 - second) + second * (1 - first)) / 2
        both = first * second + covariance
        cells = np.array([both, first - both, second - both, 1 - first - second + both])
        if (cells < 0).any():
            continue
        tables = rng.multinomial(images, cells, size=draws).T
        bounds = kappa_interval(*tables[:3], images)
        held = (bounds.low <= kappa + 1e-12) & (kappa - 1e-12 <= bounds.high) | np.isnan(bounds.low)
        assert held.mean() >= least_kappa - slack, (first, second, kappa)
        bounds = covariance_interval(*tables[:3], images)
        held = (bounds.low <= covariance + 1e-12) & (covariance - 1e-12 <= bounds.high)
        assert held.mean() >= least_covariance - slack, (first, second, kappa)


@pytest.mark.parametrize("measure", [fleiss_kappa, krippendorff_alpha])
def test_a_confidence_below_80_percent_is_rejected(measure):
    answers = np.array([[0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 2, 0]])
    assert measure(answers, confidence=0.8).low < measure(answers).value
    with pytest.raises(InputError, match=r"at least 0\.8, got 0\.79"):
        measure(answers, confidence=0.79)
