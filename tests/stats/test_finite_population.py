"""The share of a finite list from a random part of it: by hand, against exact counting, and for lists of any size."""

from fractions import Fraction
from math import ceil, comb, floor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regrade.core import InputError, UndefinedError
from regrade.stats import clopper_pearson, finite_share


def test_share_by_hand():
    """Of 6 items, 4 are drawn and 1 has the property.

    With 1 such item among the 6, it is drawn in 4 of 6 cases, so that 1 is plausible. At most 3 have it, since 3 drawn
    ones do not; and with 3, one is drawn in C(3,1) C(3,3) / C(6,4) = 3/15 of the cases, more than 2.5%.
    """
    share = finite_share(1, 4, 6)
    assert (share.value, share.low, share.high, share.n) == pytest.approx((1 / 4, 1 / 6, 3 / 6, 4))
    assert share.method == "exact, finite population 95%"


def exact_bounds(count: int, drawn: int, population: int, *, unknown: int, tail: Fraction) -> tuple[int, int]:
    """The bounds by counting the samples for every possible number of items with the property."""

    def chance(total: int, counts: range) -> Fraction:
        ways = sum(comb(total, k) * comb(population - total, drawn - k) for k in counts)
        return Fraction(ways, comb(population, drawn))

    plausible = [
        total
        for total in range(population + 1)
        if chance(total, range(count, drawn + 1)) >= tail and chance(total, range(count + unknown + 1)) >= tail
    ]
    return min(plausible), max(plausible)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_bounds_match_exact_counting(data):
    population = data.draw(st.integers(1, 40))
    drawn = data.draw(st.integers(1, population))
    unknown = data.draw(st.integers(0, drawn - 1))
    count = data.draw(st.integers(0, drawn - unknown))
    share = finite_share(count, drawn, population, unknown=unknown, confidence=0.9)
    bounds = exact_bounds(count, drawn, population, unknown=unknown, tail=Fraction(1, 20))
    assert (ceil(share.low * population - 1e-9), floor(share.high * population + 1e-9)) == bounds


@settings(deadline=None)
@given(st.data())
def test_bounds_contain_the_value_and_every_completion(data):
    population = data.draw(st.integers(1, 2_000))
    drawn = data.draw(st.integers(1, population))
    unknown = data.draw(st.integers(0, drawn - 1))
    count = data.draw(st.integers(0, drawn - unknown))
    share = finite_share(count, drawn, population, unknown=unknown)
    assert 0 <= share.low <= share.value <= share.high <= 1
    for more in (0, unknown):
        completed = finite_share(count + more, drawn, population)
        assert share.low <= completed.low + 1e-12 and completed.high <= share.high + 1e-12


@given(st.integers(1, 200), st.data())
def test_bounds_of_a_complete_list_are_its_share(population, data):
    count = data.draw(st.integers(0, population))
    share = finite_share(count, population, population)
    assert share.value == share.low == share.high == count / population


@pytest.mark.parametrize("count", [1, 99])
def test_bounds_contain_the_value_if_all_items_but_one_are_drawn(count):
    """Of 101 items, 99 or 100 have the property; the one left without it has a chance of 2/101, which excludes 99."""
    share = finite_share(count, 100, 101)
    assert share.low <= share.value == count / 100 <= share.high


def test_bounds_of_a_long_list_approach_clopper_and_pearson():
    share, binomial = finite_share(7, 200, 10_000_000), clopper_pearson(7, 200)
    assert (share.low, share.high) == pytest.approx((float(binomial.low), float(binomial.high)), abs=1e-5)


@pytest.mark.parametrize("counts", [(-1, 4, 6), (5, 4, 6), (1, 7, 6), (3, 4, 6, 2), (0, 4, 6, -1)])
def test_contradicting_counts_raise(counts):
    count, drawn, population, *unknown = counts
    with pytest.raises(InputError, match="contradict"):
        finite_share(count, drawn, population, unknown=sum(unknown))


def test_share_without_known_items_is_undefined():
    with pytest.raises(UndefinedError, match="at least one"):
        finite_share(0, 3, 6, unknown=3)
