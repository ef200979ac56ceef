from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

from gpuutil_helpers.instruments.measure import Flag, Measurement, Unavailable

NOISY = Flag("noisy", "raise repeats")


def times(*samples: float, **traits: object) -> Measurement:
    return Measurement("x.sum", "s", samples, **traits)


TEN_MS = times(*(value / 1000 for value in (12, 11, 13, 15, 14, 19, 18, 17, 16, 20)))


def test_statistics_of_ten_samples_worked_by_hand() -> None:
    assert TEN_MS.n == 10
    assert TEN_MS.median == pytest.approx(0.0155)
    assert TEN_MS.interval == (TEN_MS.low, TEN_MS.high) == (0.012, 0.019)
    assert TEN_MS.iqr == pytest.approx(0.0045)  # 17.75 - 13.25
    assert TEN_MS.percentile(50) == pytest.approx(TEN_MS.median)


def test_warmup_is_kept_and_counts_for_nothing() -> None:
    measured = times(1.0, 1.0, 1.0, warmup=(50.0, 20.0))
    assert measured.warmup == (50.0, 20.0)
    assert (measured.n, measured.median) == (3, 1.0)


def test_one_outlier_moves_neither_median_nor_interval() -> None:
    calm, hit = times(*range(1, 21)), times(*range(1, 20), 1000)
    assert (hit.median, hit.interval) == (calm.median, calm.interval)


def test_below_six_samples_the_ends_are_refused_in_a_sentence() -> None:
    few = times(1, 2, 3, 4, 5)
    assert isinstance(few.interval, Unavailable)
    for end in ("low", "high"):
        with pytest.raises(ValueError, match=r"needs 6 samples or more and there are 5.*repeats"):
            getattr(few, end)


def test_below_four_samples_there_is_no_iqr() -> None:
    assert isinstance(times(1, 2, 3).iqr, Unavailable)
    assert times(1, 2, 3, 4).iqr == 1.5


def test_the_tail_of_twenty_samples_is_refused() -> None:
    with pytest.raises(ValueError, match="Percentile 99 needs 368 samples"):
        times(*range(1, 21)).percentile(99)


@pytest.mark.parametrize(
    ("unit", "expected"), [("GB/s", 4.0), ("GiB/s", 4e9 / 2**30), ("MB/s", 4000.0), ("rows/s", 4e9)]
)
def test_rate_divides_the_amount_by_each_sample(unit: str, expected: float) -> None:
    measured = times(0.5, 0.25, 1.0, warmup=(2.0,), flags=(NOISY,), controls={"threads": 1})
    rate = measured.rate(2e9, unit=unit)
    assert rate.unit == unit
    assert rate.samples == pytest.approx((expected, 2 * expected, expected / 2))
    assert rate.warmup == pytest.approx((expected / 4,))
    assert (rate.flags, rate.controls) == ((NOISY,), {"threads": 1})


def test_rate_turns_the_interval_around() -> None:
    rate = TEN_MS.rate(1, unit="answers/s")
    assert rate.interval == pytest.approx((1 / TEN_MS.high, 1 / TEN_MS.low))


@pytest.mark.parametrize(
    ("measured", "amount", "error", "hint"),
    [
        (TEN_MS, 0, ValueError, "above 0"),
        (TEN_MS, -1, ValueError, "above 0"),
        (TEN_MS, math.nan, ValueError, "above 0"),
        (TEN_MS, math.inf, ValueError, "above 0"),
        (TEN_MS, True, TypeError, "must be a number"),
        (TEN_MS, "8", TypeError, "must be a number"),
        (TEN_MS, None, TypeError, "must be a number"),
        (times(1.0, 0.0), 8, ValueError, "took 0 s on this clock. Raise calls"),
        (TEN_MS.rate(1, "runs/s"), 8, ValueError, "needs seconds"),
    ],
)
def test_rate_refuses(measured, amount, error, hint) -> None:
    with pytest.raises(error, match=hint):
        measured.rate(amount, unit="GB/s")


def test_rate_takes_numpy_numbers() -> None:
    assert times(2.0).rate(np.int64(8), "B/s").samples == (4.0,)


@pytest.mark.parametrize(
    ("measured", "text"),
    [
        (TEN_MS, "x.sum: 15.5 ms (95 % interval 12.0 to 19.0 ms, n = 10)"),
        (times(3e-6), "x.sum: 3.00 us (no interval, n = 1)"),
        (times(2.0, flags=(NOISY,)), "x.sum: 2.00 s (no interval, n = 1); raise repeats"),
        (TEN_MS.rate(1e8, "GB/s"), "x.sum: 6.46 GB/s (95 % interval 5.26 to 8.33 GB/s, n = 10)"),
        (Measurement("a / b", "times", (0.0621,)), "a / b: 0.0621 times (no interval, n = 1)"),
    ],
)
def test_reads_as_a_sentence(measured: Measurement, text: str) -> None:
    assert str(measured) == text
    assert repr(measured) == text  # the last line of a cell shows this, not every sample


@pytest.mark.parametrize("samples", [(), (1.0, math.nan), (math.inf,)])
def test_needs_finite_samples(samples) -> None:
    with pytest.raises(ValueError, match=r"x\.sum: a measurement needs finite samples"):
        times(*samples)


def test_an_unavailable_sample_gives_its_reason() -> None:
    with pytest.raises(TypeError, match="no sensor"):
        times(1.0, Unavailable("no sensor"))


def test_keeps_plain_floats_and_pickles() -> None:
    measured = Measurement("t", "s", np.arange(1, 4), controls={"threads": 1})
    assert measured.samples == (1.0, 2.0, 3.0)
    assert {type(value) for value in measured.samples} == {float}
    assert pickle.loads(pickle.dumps(measured)) == measured


def test_a_flag_is_asked_for_by_name() -> None:
    assert times(1.0, flags=(NOISY,)).has("noisy")
    assert not times(1.0, flags=(NOISY,)).has("drift")
