"""Tests of partial reviews with problematic images."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regrade.core.errors import InputError, UndefinedError
from regrade.stats import judgments_needed, partial_review, reviewed_accuracy

NAN = float("nan")
quick = settings(deadline=None, max_examples=60, derandomize=True)


def test_by_hand():
    # 6 known, 5 of them right; 4 novel, two judged: one right, one problematic
    # right: 5 + 4 * 1/2 = 7; problematic: 4 * 1/2 = 2; 7 of 8
    outcomes = [1, 1, 1, 1, 1, 0, 1, 0, NAN, NAN]
    novel = [0] * 6 + [1] * 4
    estimate = reviewed_accuracy(partial_review(outcomes, novel, problematic=[0] * 7 + [1, NAN, NAN]))
    assert estimate.value == pytest.approx(7 / 8)
    assert estimate.n == 9
    assert estimate.low < 7 / 8 < estimate.high


def test_problematic_images_with_settled_predictions_by_hand():
    # closed: 2 right. Listed and settled: right, right, wrong, right; the first is problematic, the second not.
    # Novel: right, wrong, two not judged. Right: 2 + (3 - 4 * 1/2) + 4 * 1/2 = 5; problematic: 4 * 1/2 = 2; 5 of 8
    outcomes = [1, 1, 1, 1, 0, 1, 1, 0, NAN, NAN]
    listed, novel = [0] * 2 + [1] * 8, [0] * 6 + [1] * 4
    problematic = [0, 0, 1, 0, NAN, NAN, 0, 0, NAN, NAN]
    review = partial_review(outcomes, novel, listed=listed, problematic=problematic)
    assert reviewed_accuracy(review).value == pytest.approx(5 / 8)
    assert review.left == 4


def test_weights_and_strata_by_hand():
    # strata a (novel, 0.2 and 0.2: one judged problematic) and b (settled, 0.3 right judged fine and 0.1 wrong)
    parts = {"strata": ["a", "a", "b", "b", "b"], "weights": [0.2, 0.2, 0.3, 0.1, 0.2], "listed": [1, 1, 1, 1, 0]}
    review = partial_review([0, NAN, 1, 0, 1], [1, 1, 0, 0, 0], problematic=[1, NAN, 0, NAN, 0], **parts)
    # right: 0.2 closed + 0.3 settled + 0 novel; problematic: all 0.4 of stratum a
    assert reviewed_accuracy(review).value == pytest.approx(0.5 / 0.6)


@given(
    right=st.lists(st.booleans(), min_size=2, max_size=40),
    bad=st.lists(st.booleans(), min_size=40, max_size=40),
    split=st.integers(0, 40),
    macro=st.booleans(),
)
@quick
def test_complete_review_is_the_accuracy_without_problematic_images(right, bad, split, macro):
    right, bad = np.array(right), np.array(bad[: len(right)])
    if bad.all():
        return
    places = np.arange(len(right))
    novel, listed = places >= split, places >= split // 2
    bad &= listed
    weights = np.where(places % 2, 3.0, 1.0) if macro else np.ones(len(right))
    outcomes = (right & ~bad).astype(float)
    estimate = reviewed_accuracy(
        partial_review(
            np.where(novel, outcomes, right),
            novel,
            strata=places % 3,
            weights=weights / weights.sum(),
            listed=listed,
            problematic=bad.astype(float),
        )
    )
    assert estimate.value == pytest.approx(np.average(right[~bad], weights=weights[~bad]))
    assert estimate.n == (~bad).sum()
    assert estimate.low <= estimate.value + 1e-9 and estimate.value <= estimate.high + 1e-9


def test_without_problematic_images_nothing_changes():
    rng = np.random.default_rng(0)
    novel, listed = np.arange(200) >= 150, np.arange(200) >= 50
    outcomes = (rng.random(200) < 0.8).astype(float)
    outcomes[170:] = NAN
    unknown = np.where(listed & (np.arange(200) % 2 == 0), np.nan, 0.0)
    plain = partial_review(outcomes, novel)
    same = partial_review(outcomes, novel, listed=listed, problematic=unknown)
    assert reviewed_accuracy(same) == reviewed_accuracy(plain)
    assert (same.left, judgments_needed(same, 0.06)) == (plain.left, judgments_needed(plain, 0.06))


def test_all_problematic_raises():
    with pytest.raises(UndefinedError, match="problematic"):
        reviewed_accuracy(partial_review([0, 0, NAN], [1, 1, 1], problematic=[1, 1, NAN]))


@pytest.mark.parametrize(
    ("problematic", "listed", "message"),
    [
        ([1, 0.5, NAN], None, "1, 0 or NaN"),
        ([1, 1, NAN], None, "only a listed image"),
        ([0, 1, NAN], [1, 1, 0], "only a listed image"),
        ([NAN, 1, NAN], None, "only a listed image"),
        ([0, 1, 1], None, "the same novel predictions"),
    ],
)
def test_partial_review_rejects_invalid_problematic(problematic, listed, message):
    with pytest.raises(InputError, match=message):
        partial_review([1, 0, NAN], [0, 1, 1], problematic=problematic, listed=listed)


TRIALS = 1000


def simulate(
    *,
    n=600,
    novel_share=0.2,
    listed_share=0.3,
    settled_rate=0.85,
    chances=(0.6,),
    bad=(0.1,),
    bad_settled=0.1,
    bad_right=0.5,
    judged=30,
    macro=False,
    only_found=False,
    seed=1,
):
    """How often the interval covers the accuracy of the population without its problematic images, and the bias.

    Of the settled images ``listed_share`` are listed, ``bad_settled`` of these problematic, and ``bad_right`` of those
    predicted rightly. The first ``judged`` of each stratum's listed images are judged, novel or not; where none of the
    novel ones is among them there is no estimate. With ``only_found`` no more than the problematic images that were
    found are left out.
    """
    rng = np.random.default_rng(seed)
    fair, chances = 1 - np.array(bad), np.array(chances)
    settled = (1 - novel_share) * (1 - listed_share * bad_settled)
    truth = (novel_share * np.mean(fair * chances) + settled * settled_rate) / (novel_share * fair.mean() + settled)
    covered, errors = [], []
    for _ in range(TRIALS):
        novel = rng.random(n) < novel_share
        listed = novel | (rng.random(n) < listed_share)
        strata = rng.integers(len(chances), size=n)
        problem = rng.random(n) < np.where(novel, 1 - fair[strata], np.where(listed, bad_settled, 0))
        chance = np.where(novel, chances[strata], np.where(problem, bad_right, settled_rate))
        right = (rng.random(n) < chance).astype(float)
        order = np.argsort(np.where(listed, rng.random(n), 2))
        seen = np.zeros(n, dtype=bool)
        for stratum in range(len(chances)):
            seen[order[listed[order] & (strata[order] == stratum)][:judged]] = True
        if not (seen & novel).any():
            continue
        classes = np.minimum(rng.integers(10, size=n), rng.integers(10, size=n))
        sizes = np.bincount(classes, weights=~(problem & seen), minlength=10)[classes]
        weights = np.where(sizes > 0, 1 / np.maximum(sizes, 1), 0) if macro else np.ones(n)
        outcomes = np.where(novel, np.where(seen, right * ~problem, np.nan), right)
        problematic = np.where(listed, np.where(seen, problem, np.nan), 0)
        parts = {"strata": strata, "weights": weights / weights.sum(), "listed": listed, "problematic": problematic}
        review = partial_review(outcomes, novel, **parts)
        if only_found:
            kept = problematic != 1
            review = partial_review(outcomes[kept], novel[kept], strata=strata[kept])
        estimate = reviewed_accuracy(review)
        covered.append(estimate.low <= truth <= estimate.high)
        errors.append(estimate.value - truth)
    return np.mean(covered), np.mean(errors), 4 * np.std(errors) / np.sqrt(len(errors))


DESIGNS = {
    "one stratum": {},
    "two strata": {"chances": (0.3, 0.9), "bad": (0.2, 0.05), "judged": 15},
    "few judged": {"judged": 8},
    "many problematic": {"bad": (0.4,), "bad_settled": 0.3},
    "all problematic ones were wrong": {"bad_right": 0.0, "bad_settled": 0.2},
    "over classes": {"macro": True},
    "over classes, many problematic": {"macro": True, "bad": (0.3,), "bad_settled": 0.3, "judged": 60},
    "rare": {"bad": (0.03,), "bad_settled": 0.02, "judged": 40},
    "mostly listed": {"listed_share": 0.8, "novel_share": 0.1, "judged": 60},
    "mostly listed, all problematic ones were wrong": {
        "listed_share": 0.8, "novel_share": 0.05, "judged": 60, "bad_right": 0.0, "settled_rate": 0.95,
    },
}  # fmt: skip


@pytest.mark.parametrize("design", DESIGNS)
def test_reviewed_accuracy_covers_and_is_unbiased(design):
    covered, bias, error = simulate(**DESIGNS[design])
    assert covered >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / TRIALS) - 0.005
    assert abs(bias) < error


def test_excluding_only_judged_problems_is_biased():
    """Unjudged images may be problematic too, and these are mostly predicted wrong."""
    design = {"listed_share": 0.8, "bad_right": 0.0, "bad_settled": 0.2, "settled_rate": 0.95}
    covered, bias, error = simulate(**design, only_found=True)
    assert bias < -0.05 - error and covered < 0.5
    _, bias, error = simulate(**design)
    assert abs(bias) < error < 0.01


def test_judgments_needed_reach_the_half_width():
    rng = np.random.default_rng(3)
    n = 3000
    novel, listed = np.arange(n) >= 2400, np.arange(n) >= 1500
    problem = listed & (rng.random(n) < 0.1)
    right = np.where(rng.random(n) < np.where(novel, 0.6, 0.9), 1.0, 0.0)
    order = rng.permutation(np.flatnonzero(listed))

    def review(judged):
        seen = np.isin(np.arange(n), order[:judged])
        outcomes = np.where(novel, np.where(seen, right * ~problem, np.nan), right)
        return partial_review(outcomes, novel, listed=listed, problematic=np.where(listed & ~seen, np.nan, problem))

    pilot = review(200)
    target = 0.8 * reviewed_accuracy(pilot).half_width
    more = judgments_needed(pilot, target)
    assert 0 < more < pilot.left == 1300
    assert reviewed_accuracy(review(200 + more)).half_width == pytest.approx(target, rel=0.1)
