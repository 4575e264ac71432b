import itertools
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from regrade.core.errors import InputError, UndefinedError
from regrade.stats import clopper_pearson, judgments_needed, partial_review, reviewed_accuracy
from regrade.stats.intervals import exact_bounds

quick = settings(deadline=None, max_examples=60, derandomize=True)
NAN = float("nan")


def hide(truth, novel, strata, judged, rng):
    """Outcomes with only ``judged`` of the novel predictions of each stratum judged, chosen at random."""
    outcomes = np.where(novel, np.nan, truth)
    for stratum in np.unique(strata[novel]):
        members = rng.permutation(np.flatnonzero(novel & (strata == stratum)))[:judged]
        outcomes[members] = truth[members]
    return outcomes


def four_standard_errors(values):
    return 4 * np.std(values) / np.sqrt(len(values))


def test_by_hand():
    # 6 known, 5 of them right; 4 novel, two judged, one right: (5 + 4 * 1/2) / 10
    review = partial_review([1, 1, 1, 1, 1, 0, 1, 0, NAN, NAN], [0] * 6 + [1] * 4)
    estimate = reviewed_accuracy(review)
    assert estimate.value == pytest.approx(0.7)
    assert (estimate.n, estimate.method) == (10, "stratified review 95%")
    assert review.judged.tolist() == [False] * 6 + [True, True, False, False]
    # one right and one wrong added: spread (1/2 + 1/2) / 3 hundredths, variance 16 (1 - 1/2) / 2 * that
    variance = 16 * 0.5 * (1 / 3) / 2 / 100
    share = 8 / 12
    images = share * (1 - share) / 10
    # nine degrees of freedom for the images, one for the judgments
    freedom = (images + variance) ** 2 / (images**2 / 9 + variance**2 / 1)
    assert freedom == pytest.approx(5.434, abs=5e-4)
    size = share * (1 - share) / (images + variance) * (2.262157 / stats.t(freedom).ppf(0.975)) ** 2
    expected = exact_bounds(np.array(0.7 * size), np.array(size), confidence=0.95)
    assert [estimate.low, estimate.high] == pytest.approx([float(expected.low), float(expected.high)])


def test_with_strata_weights_and_a_proxy_by_hand():
    # stratum a: weights 0.1, 0.3 with one judged right; stratum b: weight 0.2 judged wrong
    review = partial_review([1, NAN, 1, 0], [0, 1, 1, 1], strata=["b", "a", "a", "b"], weights=[0.4, 0.1, 0.3, 0.2])
    # too few judgments for the proxy; expansion: 0.4 + 2 * 0.3 * 1 + 0
    assert reviewed_accuracy(review).value == pytest.approx(1.0)
    reordered = partial_review([1, 1, NAN, 0], [0, 1, 1, 1], strata=["b", "a", "a", "b"], weights=[0.4, 0.1, 0.3, 0.2])
    assert reviewed_accuracy(reordered).value == pytest.approx(0.4 + 2 * 0.1)


@given(right=st.lists(st.booleans(), min_size=1, max_size=300), confidence=st.floats(0.5, 0.999))
@quick
def test_without_novel_predictions_it_is_the_plain_proportion(right, confidence):
    estimate = reviewed_accuracy(partial_review(right, np.zeros(len(right))), confidence=confidence)
    plain = clopper_pearson(sum(right), len(right), confidence=confidence)
    assert estimate.value == pytest.approx(np.mean(right))
    assert [estimate.low, estimate.high] == pytest.approx([float(plain.low), float(plain.high)], abs=1e-9)


@given(
    settled=st.lists(st.booleans(), min_size=1, max_size=50),
    novel=st.lists(st.booleans(), min_size=1, max_size=50),
)
@quick
def test_with_everything_judged_it_is_the_plain_proportion(settled, novel):
    right = settled + novel
    members = np.arange(len(right)) >= len(settled)
    strata = np.arange(len(right)) % 3
    estimate = reviewed_accuracy(partial_review(right, members, strata=strata))
    plain = clopper_pearson(sum(right), len(right))
    assert estimate.value == pytest.approx(np.mean(right))
    assert [estimate.low, estimate.high] == pytest.approx([float(plain.low), float(plain.high)], abs=1e-6)


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 80),
    judged=st.integers(1, 10),
    rate=st.floats(0, 1),
)
@quick
def test_the_interval_lies_inside_and_holds_the_value(seed, n, judged, rate):
    rng = np.random.default_rng(seed)
    truth, novel, strata = rng.random(n) < rate, rng.random(n) < 0.5, rng.integers(3, size=n)
    novel[0] = True
    weights = rng.random(n)
    outcomes = hide(truth.astype(float), novel, strata, judged, rng)
    review = partial_review(outcomes, novel, strata=strata, weights=weights / weights.sum(), proxy=rng.random(n))
    estimate = reviewed_accuracy(review)
    assert 0 <= estimate.low <= estimate.value + 1e-9
    assert estimate.value <= estimate.high + 1e-9
    assert estimate.high <= 1
    assert estimate.high - estimate.low > 0.01


def test_all_judged_right_has_an_interval_of_positive_width():
    # 9,900 known right and 50 of 100 novel ones judged right: about 1 - 3.7/5000, not [0, 1]
    outcomes = np.r_[np.ones(9950), np.full(50, NAN)]
    estimate = reviewed_accuracy(partial_review(outcomes, np.arange(10_000) >= 9900))
    assert estimate.value == pytest.approx(1)
    assert estimate.high == 1
    assert 0.998 < estimate.low < 0.9997
    wrong = reviewed_accuracy(partial_review(1 - outcomes, np.arange(10_000) >= 9900))
    assert [wrong.low, wrong.high] == pytest.approx([0, 1 - estimate.low], abs=1e-9)


def test_one_judgment_is_taken_and_leaves_a_wide_interval():
    outcomes = np.r_[np.ones(60), 1, np.full(39, NAN)]
    single = reviewed_accuracy(partial_review(outcomes, np.arange(100) >= 60))
    assert single.value == pytest.approx(1)
    assert single.low < 0.75
    outcomes[61:80] = 1
    twenty = reviewed_accuracy(partial_review(outcomes, np.arange(100) >= 60))
    assert twenty.low > single.low + 0.1


def test_a_stratum_without_judgments_enters_with_its_whole_range():
    outcomes, novel = np.r_[np.ones(80), np.full(20, NAN)], np.arange(100) >= 70
    strata = (np.arange(100) >= 80).astype(int)
    estimate = reviewed_accuracy(partial_review(outcomes, novel, strata=strata))
    assert estimate.value == pytest.approx(0.9)
    # the plain interval of 90 of 100, and a tenth to either side
    plain = clopper_pearson(90, 100)
    assert estimate.low == pytest.approx(float(plain.low) - 0.1, abs=1e-6)
    assert estimate.high == 1


def test_no_judgment_at_all_raises():
    review = partial_review([1, 0, NAN], [0, 0, 1])
    with pytest.raises(UndefinedError, match="none of the novel"):
        reviewed_accuracy(review)


@pytest.fixture(scope="module")
def population():
    """A fixed test set: 400 images, 150 novel in three strata, macro weights, an informative proxy."""
    rng = np.random.default_rng(11)
    n = 400
    novel = rng.random(n) < 0.4
    strata = rng.integers(3, size=n)
    chance = np.clip(rng.normal(np.array([0.2, 0.6, 0.9])[strata], 0.25), 0.02, 0.98)
    truth = (rng.random(n) < np.where(novel, chance, 0.9)).astype(float)
    classes = rng.integers(20, size=n) ** 2 // 20  # of very different sizes
    weights = 1 / np.bincount(classes)[classes]
    return truth, novel, strata, weights / weights.sum(), chance


@pytest.mark.parametrize("with_strata", [False, True])
@pytest.mark.parametrize("with_weights", [False, True])
@pytest.mark.parametrize("with_proxy", [False, True])
def test_is_unbiased_over_the_choice_of_judgments(population, with_strata, with_weights, with_proxy):
    truth, novel, strata, weights, proxy = population
    strata = strata if with_strata else np.zeros_like(strata)
    parts = {
        "strata": strata,
        "weights": weights if with_weights else None,
        "proxy": proxy if with_proxy else None,
    }
    rng = np.random.default_rng(0)
    target = (truth * weights).sum() if with_weights else truth.mean()
    judged = 15 if with_strata else 45
    estimates = [
        reviewed_accuracy(partial_review(hide(truth, novel, strata, judged, rng), novel, **parts)).value
        for _ in range(1500)
    ]
    # the proxy's weight comes from the same judgments: a bias of the second order, a thousandth here
    tolerance = four_standard_errors(estimates) + (0.001 if with_proxy else 0)
    assert np.mean(estimates) == pytest.approx(target, abs=tolerance)
    assert four_standard_errors(estimates) < 0.005


TRIALS = 1000
ERROR = 3 * np.sqrt(0.95 * 0.05 / TRIALS)


def simulate(
    *,
    n=500,
    novel_share=0.2,
    settled_rate=0.9,
    chances=(0.5,),
    judged=20,
    proxy_strength=None,
    macro=False,
    trials=TRIALS,
    seed=1,
):
    """How often the interval covers the accuracy of the whole population, and its mean half-width."""
    rng = np.random.default_rng(seed)
    truth_of_all = (1 - novel_share) * settled_rate + novel_share * np.mean(chances)
    covered, widths, values = [], [], []
    for _ in range(trials):
        novel = rng.random(n) < novel_share
        strata = rng.integers(len(chances), size=n)
        chance = np.array(chances)[strata]
        proxy = None
        if proxy_strength is not None:
            proxy = chance = rng.beta(proxy_strength * chance, proxy_strength * (1 - chance))
        truth = (rng.random(n) < np.where(novel, chance, settled_rate)).astype(float)
        classes = np.minimum(rng.integers(10, size=n), rng.integers(10, size=n))
        weights = 1 / np.bincount(classes, minlength=10)[classes] if macro else np.ones(n)
        estimate = reviewed_accuracy(
            partial_review(
                hide(truth, novel, strata, judged, rng), novel, strata=strata, weights=weights / weights.sum(),
                proxy=proxy,
            )
        )  # fmt: skip
        covered.append(estimate.low <= truth_of_all <= estimate.high)
        widths.append(estimate.half_width)
        values.append(estimate.value)
    return np.mean(covered), np.mean(widths), np.mean(values) - truth_of_all, four_standard_errors(values)


DESIGNS = {
    "one stratum": {},
    "three strata": {"chances": (0.2, 0.8, 0.95), "judged": 10},
    "two judged in each of three": {"chances": (0.2, 0.8, 0.95), "judged": 2},
    "macro weights": {"macro": True, "judged": 30},
    "macro weights and strata": {"macro": True, "chances": (0.3, 0.9), "judged": 15},
    "proxy": {"proxy_strength": 0.5, "judged": 30, "novel_share": 0.4},
    "proxy of strata": {"proxy_strength": 1.0, "chances": (0.3, 0.8), "judged": 15, "novel_share": 0.4},
    "useless proxy": {"proxy_strength": 1000.0, "judged": 30, "novel_share": 0.4},
    "near one": {"settled_rate": 0.99, "chances": (0.97,), "novel_share": 0.05, "judged": 8},
    "known all right": {"settled_rate": 1.0, "chances": (0.98,), "novel_share": 0.1, "judged": 10},
    "mostly novel": {"novel_share": 0.9, "chances": (0.9,), "judged": 40},
    "one judged": {"judged": 1},
    "five judged that carry much": {"novel_share": 0.3, "chances": (0.3,), "settled_rate": 0.8, "judged": 5, "n": 300},
    "ten judged of many": {"novel_share": 0.6, "chances": (0.8,), "settled_rate": 0.8, "judged": 10, "n": 2000},
}


@pytest.mark.parametrize("design", DESIGNS)
def test_covers_the_choice_of_images_and_of_judgments(design):
    covered, _, bias, error = simulate(**DESIGNS[design])
    assert covered >= 0.95 - ERROR
    assert abs(bias) < error + (0.001 if "proxy" in design else 0)


@pytest.mark.parametrize("judged", [3, 5, 10])
@pytest.mark.parametrize("chances", [(0.2, 0.5, 0.8), (0.6, 0.85, 0.95)])
def test_few_judgments_in_three_strata_cover(chances, judged):
    covered, *_ = simulate(novel_share=0.3, settled_rate=0.85, chances=chances, judged=judged)
    assert covered >= 0.95 - ERROR


@pytest.mark.parametrize("judged", [5, 30])
@pytest.mark.parametrize("chances", [(0.5,), (0.6, 0.85, 0.95)])
def test_few_judgments_with_a_proxy_cover(chances, judged):
    covered, *_ = simulate(novel_share=0.3, settled_rate=0.85, chances=chances, judged=judged, proxy_strength=1.0)
    assert covered >= 0.95 - ERROR


IMAGES, NOVEL = 210, 90
KNOWN = stats.binom(IMAGES, 0.8)
COUNTS = np.arange(int(KNOWN.ppf(1e-4)), int(KNOWN.ppf(1 - 1e-4)) + 1)


@cache
def all_intervals(judged):
    """The bounds for every number of judged (rows) and of known predictions (columns, ``COUNTS``) that may be right."""
    novel = np.arange(IMAGES + NOVEL) >= IMAGES
    verdicts = [
        np.r_[np.ones(good), np.zeros(judged - good), np.full(NOVEL - judged, NAN)] for good in range(judged + 1)
    ]
    outcomes = [[np.r_[np.arange(IMAGES) < count, row] for count in COUNTS] for row in verdicts]
    estimates = [[reviewed_accuracy(partial_review(values, novel)) for values in row] for row in outcomes]
    return np.array([[(estimate.low, estimate.high) for estimate in row] for row in estimates])


def exact_coverage(judged, chance):
    """The chance to cover, summed over how many known and how many judged predictions may be right."""
    truth = (KNOWN.mean() + NOVEL * chance) / (IMAGES + NOVEL)
    low, high = np.moveaxis(all_intervals(judged), -1, 0)
    covered = (low <= truth) & (truth <= high)
    return stats.binom(judged, chance).pmf(np.arange(judged + 1)) @ covered @ KNOWN.pmf(COUNTS)


@pytest.mark.parametrize("judged", [1, 3, 5, 10, 30])
@pytest.mark.parametrize("chance", [0.3, 0.5, 0.8, 0.95])
def test_few_judgments_cover_as_often_as_many(judged, chance):
    covered = exact_coverage(judged, chance)
    assert covered > 0.94  # verdicts come whole: with five of ninety judged, one changes the accuracy by six points
    if judged == 30:
        assert covered < 0.98


def test_an_informative_proxy_narrows_and_a_useless_one_does_not_widen_much():
    design = {"novel_share": 0.4, "judged": 40, "trials": 300}
    _, plain, *_ = simulate(**design)
    _, informed, *_ = simulate(**design, proxy_strength=0.3)
    _, useless, *_ = simulate(**design, proxy_strength=1000.0)
    assert informed < 0.85 * plain
    assert useless < 1.03 * plain


def test_negatively_correlated_proxy_is_ignored(population):
    truth, novel, strata, _, proxy = population
    outcomes = hide(truth, novel, strata, 20, np.random.default_rng(0))
    assert reviewed_accuracy(partial_review(outcomes, novel, proxy=1 - proxy)) == reviewed_accuracy(
        partial_review(outcomes, novel)
    )


def test_proxy_is_used_from_twenty_judgments(population):
    truth, novel, _, _, proxy = population
    strata = np.zeros(len(truth))
    for judged, followed in ((19, False), (20, True)):
        outcomes = hide(truth, novel, strata, judged, np.random.default_rng(0))
        guided = reviewed_accuracy(partial_review(outcomes, novel, proxy=proxy))
        assert (guided != reviewed_accuracy(partial_review(outcomes, novel))) == followed


# How many more judgments -------------------------------------------------------------------------


def one_review(judged=30, n=1000, seed=0):
    rng = np.random.default_rng(seed)
    novel = np.arange(n) >= 0.7 * n
    strata = np.arange(n) % 2
    truth = (rng.random(n) < np.where(novel, np.where(strata, 0.9, 0.5), 0.85)).astype(float)
    outcomes = hide(truth, novel, strata, judged // 2, rng)
    return truth, partial_review(outcomes, novel, strata=strata)


def test_more_judgments_for_a_narrower_interval():
    _, review = one_review()
    needed = [judgments_needed(review, width) for width in (0.5, 0.045, 0.04, 0.035, 0.03)]
    assert needed[0] == 0
    assert all(fewer < more for fewer, more in itertools.pairwise(needed))
    assert judgments_needed(review, 0.04, confidence=0.99) > needed[2]


def test_judgments_needed_is_none_with_too_few_images():
    _, review = one_review()
    assert judgments_needed(review, 0.01) is None
    # without anything to judge the interval is what it is
    right = [1, 0] * 50
    width = float(clopper_pearson(50, 100).high - clopper_pearson(50, 100).low) / 2
    settled = partial_review(right, np.zeros(100))
    assert judgments_needed(settled, width + 1e-9) == 0
    assert judgments_needed(settled, width - 1e-9) is None


def test_judgments_needed_limit_is_the_complete_review():
    truth, review = one_review()
    value = reviewed_accuracy(review).value
    right = round(value * 1000)
    width = float(clopper_pearson(right, 1000).high - clopper_pearson(right, 1000).low) / 2
    assert judgments_needed(review, width * 1.001) == pytest.approx(270, abs=3)
    assert judgments_needed(review, width * 0.99) is None
    assert truth.shape == (1000,)


def judge_as_planned(review, truth, more, rng):
    """The review after ``more`` judgments, drawn at random from all that are left."""
    outcomes = review.outcomes.copy()
    chosen = rng.permutation(np.flatnonzero(np.isnan(outcomes)))[:more]
    outcomes[chosen] = truth[chosen]
    return partial_review(outcomes, review.novel, strata=review.strata)


@pytest.mark.parametrize("target", [0.033, 0.031, 0.029])
def test_judgments_needed_reach_the_half_width(target):
    ratios, planned = [], []
    for seed in range(80):
        truth, review = one_review(judged=80, seed=seed)
        more = judgments_needed(review, target)
        after = judge_as_planned(review, truth, more, np.random.default_rng(seed))
        if more:
            ratios.append(reviewed_accuracy(after).half_width / target)
            planned.append(more)
    assert len(planned) > 50
    assert np.mean(planned) > 10  # something is left to plan
    assert np.mean(ratios) == pytest.approx(1, abs=0.015)
    assert np.quantile(ratios, 0.9) < 1.05  # the pilot judgments are themselves a sample


def test_planning_before_the_first_judgment():
    outcomes = np.r_[np.ones(500), np.full(500, NAN)]
    review = partial_review(outcomes, np.isnan(outcomes))
    needed = judgments_needed(review, 0.05)
    # planned for the worst, a half right: z^2 / 4 * (1/1000 + 1/4 * (1/m - 1/500)) = 0.05^2
    variance = (0.05 / 1.96) ** 2 - 0.25 / 1000
    assert needed == pytest.approx(1 / (variance / 0.25 / 0.25 + 1 / 500), rel=0.1)
    assert judgments_needed(review, 0.02) is None


def test_stratum_without_weight_needs_no_judgments():
    review = partial_review([1, 0, 1, 0, NAN, NAN], [0, 0, 0, 0, 1, 1], weights=[0.25] * 4 + [0, 0])
    assert judgments_needed(review, 0.45) == 0


def test_short_enough_interval_needs_no_judgments():
    for left in (2, 10):
        outcomes = np.r_[np.tile([1.0, 0.0], 45), np.full(left, NAN)]
        places = np.arange(len(outcomes))
        review = partial_review(outcomes, places >= 80, strata=places >= 90)
        width = reviewed_accuracy(review).half_width
        assert judgments_needed(review, width + 1e-9) == 0
        assert judgments_needed(review, width - 1e-9) > 0


def test_judgments_needed_rejects_half_width_0():
    _, review = one_review()
    for wrong in (0, -0.1):
        with pytest.raises(InputError, match="half-width"):
            judgments_needed(review, wrong)
    with pytest.raises(InputError, match="confidence"):
        judgments_needed(review, 0.1, confidence=95)
    with pytest.raises(InputError, match="confidence"):
        reviewed_accuracy(review, confidence=95)


@pytest.mark.parametrize(
    ("outcomes", "novel", "parts", "message"),
    [
        ([1, 0, 1], [0, 0], {}, "length 3"),
        ([1, 0], [0, 0], {"strata": [1]}, "length 2"),
        ([1, 0], [0, 0], {"weights": [1.0]}, "length 2"),
        ([1, 0], [0, 0], {"proxy": [1.0, 0.5, 0.2]}, "length 2"),
        ([1, NAN], [0, 0], {}, "not novel"),
        ([1, 0.5], [0, 0], {}, "right"),
        ([NAN, 2], [1, 1], {}, "right"),
        ([float("inf")], [0], {}, "right"),
        ([1, 0], [0, 0], {"weights": [1, 1]}, "sum to 1"),
        ([1, 0], [0, 0], {"weights": [1.5, -0.5]}, "at least 0"),
        ([1, 0], [0, 0], {"weights": [NAN, 0.5]}, "at least 0"),
        ([1, 0], [0, 0], {"proxy": [0.5, 1.5]}, "proxy"),
        ([1, 0], [0, 0], {"proxy": [0.5, NAN]}, "proxy"),
    ],
)
def test_partial_review_rejects_invalid_parts(outcomes, novel, parts, message):
    with pytest.raises(InputError, match=message):
        partial_review(outcomes, novel, **parts)


def test_no_images_have_no_accuracy():
    with pytest.raises(UndefinedError, match="at least one image"):
        partial_review([], [])
