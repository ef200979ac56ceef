"""Reasons to distrust a result, carried with it as data: pure functions of the samples.

A flag never hides or changes a number. Its `name` is for programs, its `text` for people.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from gpuutil_helpers.instruments.order_statistics import FEWEST_FOR_AN_INTERVAL, median_interval
from gpuutil_helpers.instruments.unavailable import Unavailable

SHORTEST_TRUSTED_S = 10e-6
SLOW_FIRST_CALL = 2.0  # times the median
WIDEST_INTERVAL = 0.10  # of the median
SMALLEST_DRIFT = 0.05  # of the first third's median
DRIFT_BY_CHANCE = 0.01  # how often samples without any drift may be called drifting
FEWEST_FOR_DRIFT = 15  # thirds of five: below that even complete separation is too likely
LARGEST_THIRD = 20  # samples of a third that are ranked; more add time and no meaning


@dataclass(frozen=True)
class Flag:
    """One reason to distrust a result.

    Attributes:
        name: "few samples", "short samples", "drift", "noisy", "slow first call", or
            "not in turns" for a comparison.
        text: what was seen and what to do, in a few words.
    """

    name: str
    text: str

    def __str__(self) -> str:
        return self.text


def flags_of_times(
    samples: Sequence[float], warmup: Sequence[float], calls: int
) -> tuple[Flag, ...]:
    """Flags of seconds per call, `calls` of them in each sample, in the order taken."""
    found = [*flags_of_samples(samples)]
    if statistics.median(samples) * calls < SHORTEST_TRUSTED_S:
        text = "a sample is so short that reading the clock is part of it: raise calls"
        found.append(Flag("short samples", text))
    slow = _slow_first_call(samples, warmup)
    return (*found, slow) if slow else tuple(found)


def flags_of_samples(samples: Sequence[float]) -> tuple[Flag, ...]:
    """Flags of any quantity above 0: too few samples, drift, noise."""
    if len(samples) < FEWEST_FOR_AN_INTERVAL:
        text = f"fewer than {FEWEST_FOR_AN_INTERVAL} samples: raise repeats"
        return (Flag("few samples", text),)
    return tuple(flag for flag in (_drift(samples), _noisy(samples)) if flag)


def rank_sum_probability(first: Sequence[float], second: Sequence[float]) -> float:
    """How often two sets from one source differ in rank at least as much as these, two-sided.

    The rank-sum test of Mann and Whitney (1947), counted exactly and without any assumption about
    the distribution. Equal values count half, rounded towards "no difference".
    """
    m, n = len(first), len(second)
    below = sum((a < b) + 0.5 * (a == b) for a in first for b in second)
    least = math.ceil(min(below, m * n - below))
    ways = sum(_orders(m, n)[: least + 1])
    return min(1.0, 2 * ways / math.comb(m + n, m))


@lru_cache(maxsize=1024)
def _orders(m: int, n: int) -> tuple[int, ...]:
    """In how many orders of m and n things u pairs stand in order, for u = 0 to m n.

    The last thing is of the first kind, and then it stands behind all n of the second, or it is
    of the second kind: counts(m, n, u) = counts(m - 1, n, u - n) + counts(m, n - 1, u).
    """
    if m == 0 or n == 0:
        return (1,)
    counts = [0] * (m * n + 1)
    for u, ways in enumerate(_orders(m - 1, n)):
        counts[u + n] += ways
    for u, ways in enumerate(_orders(m, n - 1)):
        counts[u] += ways
    return tuple(counts)


def _drift(samples: Sequence[float]) -> Flag | None:
    """Whether the last third differs from the first by more than chance and by a size to mind."""
    if len(samples) < FEWEST_FOR_DRIFT:
        return None
    third = len(samples) // 3
    first, last = _thinned(samples[:third]), _thinned(samples[-third:])
    before, after = statistics.median(first), statistics.median(last)
    if before <= 0 or abs(after / before - 1) <= SMALLEST_DRIFT:
        return None
    if rank_sum_probability(first, last) > DRIFT_BY_CHANCE:
        return None
    text = f"drift: the last third reads {after / before:.2f} times the first: measure in turns"
    return Flag("drift", text)


def _thinned(values: Sequence[float]) -> list[float]:
    """At most LARGEST_THIRD of the values, evenly spaced."""
    step = max(1, len(values) / LARGEST_THIRD)
    return [values[int(step * place)] for place in range(min(len(values), LARGEST_THIRD))]


def _noisy(samples: Sequence[float]) -> Flag | None:
    interval, median = median_interval(samples), statistics.median(samples)
    if isinstance(interval, Unavailable) or median <= 0:
        return None
    if interval[1] - interval[0] <= WIDEST_INTERVAL * median:
        return None
    text = f"noisy: the interval is over {WIDEST_INTERVAL:.0%} of the median wide: raise repeats"
    return Flag("noisy", text)


def _slow_first_call(samples: Sequence[float], warmup: Sequence[float]) -> Flag | None:
    first, median = (*warmup, *samples)[0], statistics.median(samples)
    if len(warmup) + len(samples) < 2 or first <= SLOW_FIRST_CALL * median:
        return None
    what = "left out as warm-up: report it apart" if warmup else "and counted: raise warmup"
    times = f"{first / median:.1f} times the median" if median > 0 else "far above the median"
    return Flag("slow first call", f"the first call took {times}, {what}")
