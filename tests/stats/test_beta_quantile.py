"""Tests of beta quantiles: against exact sums in 40 digits, known values, and scipy."""

from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from regrade.stats.beta_quantile import beta_quantile

SHARES = (2.5e-5, 0.0005, 0.025, 0.25, 0.75, 0.975, 0.9995, 1 - 2.5e-5)


def exact_share(k, n, x):
    """The share of a beta distribution below x, P(X >= k) of a binomial one; its parameters are k and n - k + 1."""
    x = Decimal(x)
    term = (1 - x) ** n
    share = Decimal(0)
    for j in range(n + 1):
        share += term if j >= k else 0
        term *= x * (n - j) / ((1 - x) * (j + 1))
    return share


@pytest.mark.parametrize(("k", "n"), [(40, 1000), (500, 1000), (950, 1000), (41, 3000), (1234, 3000), (2960, 3000)])
def test_beta_quantile_encloses_the_exact_one(k, n):
    quantiles = beta_quantile(np.full(len(SHARES) * 3, k), n - k + 1, np.repeat(SHARES, 3))[::3]
    with localcontext() as context:
        context.prec = 40
        for share, quantile in zip(SHARES, quantiles.tolist(), strict=True):
            below, above = (exact_share(k, n, Decimal(quantile) * (1 + sign * Decimal("1e-12"))) for sign in (-1, 1))
            assert below < Decimal(share) < above


@pytest.mark.parametrize(
    ("a", "b", "share", "expected"),
    [
        (1000, 99_001, 0.975, 0.0106258066442520916),
        (190_000, 1_634_839, 0.025, 0.103676061292227579),
        (82_671, 9_917_330, 2.5e-5, 0.00815147862502516638),
        (8_134_495, 1_865_506, 1 - 2.5e-5, 0.813948694684512345),
        (500, 501, 0.0005, 0.447629419858604217),
        (40, 9_999_961, 0.975, 5.33142457080259232e-6),
        (9_999_900, 101, 0.025, 0.999987837333772768),
    ],
)
def test_beta_quantile_of_large_parameters(a, b, share, expected):
    """Values of a continued fraction in 40 digits (mpmath); scipy's are up to 7e-11 away."""
    quantiles = beta_quantile(np.full(30, a), b, share)
    assert quantiles == pytest.approx(np.full(30, expected), rel=1e-13, abs=0)


@pytest.mark.parametrize("n", [1000, 3000, 10_000, 100_000, 1_000_000, 10_000_000])
def test_beta_quantile_is_near_that_of_scipy(n):
    """Over a wide grid of counts and shares, to scipy's error; the share below each, too, as x rounds."""
    k = np.unique(np.concatenate([np.geomspace(1, n, 120), n - np.geomspace(1, n - 1, 120)]).astype(int))
    k, shares = (values.ravel() for values in np.meshgrid(k, SHARES))
    quantiles = beta_quantile(k, n - k + 1, shares)
    np.testing.assert_allclose(quantiles, special.betaincinv(k, n - k + 1.0, shares), rtol=2e-7, atol=0)
    own = np.minimum(k, n - k + 1) >= 40
    np.testing.assert_allclose(
        special.betainc(k, n - k + 1.0, quantiles)[own], shares[own], rtol=1e-8, atol=0
    )  # x rounds
    assert np.array_equal(quantiles[~own], special.betaincinv(k, n - k + 1.0, shares)[~own])


@given(
    st.lists(st.tuples(st.floats(0.1, 1e6), st.floats(0.1, 1e6), st.floats(1e-12, 1 - 1e-12)), min_size=1, max_size=60)
)
def test_beta_quantile_of_any_parameters(rows):
    a, b, share = np.array(rows).T
    quantiles = beta_quantile(a, b, share)
    np.testing.assert_allclose(quantiles, special.betaincinv(a, b, share), rtol=2e-7, atol=1e-300)


def test_beta_quantile_keeps_shapes():
    assert beta_quantile(3, 4, 0.5).shape == ()
    assert beta_quantile(np.full((5, 1), 3), np.full(40, 4), 0.5).shape == (5, 40)
    assert beta_quantile([], [], 0.5).shape == (0,)
