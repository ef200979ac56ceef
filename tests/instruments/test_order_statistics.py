from __future__ import annotations

import itertools
from fractions import Fraction
from math import comb

import numpy as np
import pytest

from gpuutil_helpers.instruments.order_statistics import (
    FEWEST_FOR_AN_INTERVAL,
    OUTSIDE_OF_TWO,
    fewest_for_interval,
    fewest_for_percentile,
    median_interval,
    median_ranks,
    percentile,
)
from gpuutil_helpers.instruments.unavailable import Unavailable

PUBLISHED = {
    6: (1, 6),
    7: (1, 7),
    9: (2, 8),
    10: (2, 9),
    15: (4, 12),
    20: (6, 15),
    25: (8, 18),
    30: (10, 21),
    50: (18, 33),
    100: (40, 61),
}


@pytest.mark.parametrize(("n", "ranks"), PUBLISHED.items())
def test_ranks_equal_the_published_ones(n: int, ranks: tuple[int, int]) -> None:
    assert median_ranks(n) == ranks


@pytest.mark.parametrize("n", range(6))
def test_there_is_none_below_six_samples(n: int) -> None:
    assert median_ranks(n) is None


@pytest.mark.parametrize("n", [6, 8, 11, 13, 40, 333])
def test_ranks_are_the_narrowest_that_cover_95_percent(n: int) -> None:
    def coverage(low: int) -> Fraction:  # P(low-th smallest < median < the one opposite)
        return 1 - 2 * Fraction(sum(comb(n, i) for i in range(low)), 2**n)

    low, high = median_ranks(n)
    assert low + high == n + 1
    assert coverage(low) >= Fraction(95, 100) > coverage(low + 1)


def test_coverage_counted_over_every_order_of_heads_and_tails() -> None:
    n = 9
    low, high = median_ranks(n)
    below = [sum(coins) for coins in itertools.product((0, 1), repeat=n)]
    held = sum(low <= count < high for count in below)
    assert held / 2**n == pytest.approx(0.9609375)


def test_interval_takes_the_samples_of_these_ranks_whatever_their_order() -> None:
    samples = [9.0, 2.0, 7.0, 4.0, 1.0, 8.0, 3.0, 6.0, 5.0, 100.0]
    assert median_interval(samples) == (2.0, 9.0)


def test_interval_of_too_few_says_how_many_it_takes() -> None:
    interval = median_interval([1.0] * 5)
    assert isinstance(interval, Unavailable)
    assert "needs 6 samples or more and there are 5" in interval.reason


@pytest.mark.parametrize(("outside", "fewest"), [(20, 6), (OUTSIDE_OF_TWO, 7), (100, 8), (64, 7)])
def test_fewest_for_interval_is_the_first_that_has_ranks(outside: int, fewest: int) -> None:
    assert fewest_for_interval(outside) == fewest
    assert median_ranks(fewest, outside) == (1, fewest)
    assert median_ranks(fewest - 1, outside) is None


def test_the_usual_interval_needs_six() -> None:
    assert FEWEST_FOR_AN_INTERVAL == 6


@pytest.mark.parametrize("n", [7, 12, 40, 333])
def test_ranks_of_a_rarer_miss_are_the_narrowest_that_cover_it(n: int) -> None:
    low, high = median_ranks(n, OUTSIDE_OF_TWO)
    missed = [2 * Fraction(sum(comb(n, i) for i in range(k)), 2**n) for k in (low, low + 1)]
    assert low + high == n + 1
    assert missed[0] <= Fraction(1, 40) < missed[1]


def test_a_rarer_miss_takes_a_wider_interval_and_says_what_it_needs() -> None:
    samples = [float(i) for i in range(9)]
    assert median_interval(samples) == (1.0, 7.0)
    assert median_interval(samples, OUTSIDE_OF_TWO) == (0.0, 8.0)
    why = median_interval(samples[:6], OUTSIDE_OF_TWO)
    assert isinstance(why, Unavailable)
    assert "a 97.5 % interval of the median needs 7 samples or more and there are 6" in why.reason


def test_many_samples_are_quick_and_close_to_the_normal_approximation() -> None:
    low, _ = median_ranks(20_000)
    assert abs(low - (10_000 - 1.96 * 20_000**0.5 / 2)) < 2


@pytest.mark.parametrize(("p", "needed"), [(50, 6), (90, 36), (95, 72), (99, 368), (1, 368)])
def test_percentile_needs_enough_samples(p: float, needed: int) -> None:
    assert fewest_for_percentile(p) == needed
    generator = np.random.default_rng(0)
    enough = generator.random(needed).tolist()
    assert percentile(enough, p) == pytest.approx(np.percentile(enough, p), rel=1e-12)
    with pytest.raises(ValueError, match=f"needs {needed} samples or more"):
        percentile(enough[1:], p)


@pytest.mark.parametrize(
    ("p", "hint"),
    [
        (0.5, "Pass 50 "),
        (0.99, "Pass 99 "),
        (0, "smallest or largest"),
        (100, "smallest or largest"),
        (-1, "between 0 and 100"),
        (101, "between 0 and 100"),
        (float("nan"), "between 0 and 100"),
    ],
)
def test_percentile_refuses_what_it_cannot_mean(p: float, hint: str) -> None:
    with pytest.raises(ValueError, match=hint):
        percentile([float(i) for i in range(1000)], p)
