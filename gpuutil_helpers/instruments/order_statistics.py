"""What sorted samples can say without assuming any distribution: pure functions of numbers.

The samples must be independent. Back-to-back timings on a machine that heats up or is shared are
not quite, so an interval from here is the least uncertainty there is, not the most.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from gpuutil_helpers.instruments.unavailable import Unavailable

OUTSIDE = 20  # an interval of 95 % misses once in twenty
OUTSIDE_OF_TWO = 40  # each of two intervals that are to hold at once
TAIL = 0.025  # what an interval of 95 % leaves out on either side


@lru_cache(maxsize=256)
def median_ranks(n: int, outside: int = OUTSIDE) -> tuple[int, int] | None:
    """Ranks (from 1) of the two sorted samples that bound the median with at least 95 %.

    `outside` is how rarely they may miss it: once in 20, or once in 40 for 97.5 %.

    Each sample falls below the true median with probability 1/2, like a coin. So the k-th smallest
    of n lies above the median exactly when fewer than k coins show heads. The pair (k, n + 1 - k)
    misses the median with probability 2 P(heads <= k - 1); k is the largest rank at which that is
    at most 1 / outside. Counted in whole numbers, hence exact. None below `fewest_for_interval`
    samples: even the smallest and the largest together then miss too often.

    Source: Hoefler and Belli, "Scientific benchmarking of parallel computing systems", SC15.
    """
    allowed = 2**n // (2 * outside)  # on either side, of all 2**n outcomes
    rank, ways, at_most = 0, 1, 1  # outcomes with exactly, and with at most, `rank` heads
    while at_most <= allowed:
        rank += 1
        ways = ways * (n - rank + 1) // rank
        at_most += ways
    return (rank, n + 1 - rank) if rank else None


def fewest_for_interval(outside: int = OUTSIDE) -> int:
    """Samples below which no interval of the median misses at most once in `outside`.

    All n samples lie on one side of the median with probability 2 / 2**n, which must be at most
    1 / outside. That makes 6 for 95 % and 7 for 97.5 %.
    """
    return (2 * outside - 1).bit_length()


FEWEST_FOR_AN_INTERVAL = fewest_for_interval()


def median_interval(
    samples: Sequence[float], outside: int = OUTSIDE
) -> tuple[float, float] | Unavailable:
    """The exact interval of the median, 95 % unless `outside` says else, in the samples' unit."""
    ranks = median_ranks(len(samples), outside)
    if ranks is None:
        fewest = fewest_for_interval(outside)
        return Unavailable(
            f"a {100 - 100 / outside:g} % interval of the median needs {fewest} samples or more "
            f"and there are {len(samples)}"
        )
    ordered = sorted(samples)
    return ordered[ranks[0] - 1], ordered[ranks[1] - 1]


def fewest_for_percentile(p: float) -> int:
    """Samples needed before the smallest and the largest hold percentile `p` between them.

    The same 95 % rule as for the median: all n samples lie below the percentile with probability
    (p / 100)**n, and above it with (1 - p / 100)**n. Both must be at most 2.5 %. That makes 6 for
    the median, 36 for p90, 368 for p99.
    """
    likelier_side = max(p, 100 - p) / 100
    return math.ceil(math.log(TAIL) / math.log(likelier_side))


def percentile(samples: Sequence[float], p: float) -> float:
    """Percentile `p` (in percent), linear between neighbours, as NumPy's default does it.

    Raises:
        ValueError: when `p` is a share in disguise, lies outside 0 to 100, or when there are too
            few samples to bracket it.
    """
    if 0 < p < 1:
        raise ValueError(
            f"A percentile is counted in percent and got {p:g}. Pass {100 * p:g} for the value "
            f"below which {100 * p:g} % of the samples lie."
        )
    if not 0 <= p <= 100:
        raise ValueError(f"A percentile lies between 0 and 100 and got {p:g}. Pass 50 or 90.")
    if p in (0, 100):
        raise ValueError(
            f"No number of samples can bracket percentile {p:g}. "
            "Use min(samples) or max(samples), and call it the smallest or largest one seen."
        )
    needed = fewest_for_percentile(p)
    if len(samples) < needed:
        raise ValueError(
            f"Percentile {p:g} needs {needed} samples or more and there are {len(samples)}. "
            "Take more samples, or ask for the median."
        )
    ordered = sorted(samples)
    position = (len(ordered) - 1) * p / 100
    below = math.floor(position)
    above = math.ceil(position)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])
