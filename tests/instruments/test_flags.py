from __future__ import annotations

import itertools
import random
from math import comb

import pytest

from gpuutil_helpers.instruments.flags import (
    Flag,
    flags_of_samples,
    flags_of_times,
    rank_sum_probability,
)


def names(flags: tuple[Flag, ...]) -> list[str]:
    return [flag.name for flag in flags]


def test_a_flag_reads_as_its_text() -> None:
    assert str(Flag("noisy", "raise repeats")) == "raise repeats"


def test_steady_samples_have_none() -> None:
    assert flags_of_times((1.0, 1.01) * 10, (1.0,), 1) == ()


# ---- drift between the first and the last third


def test_probability_equals_counting_every_order() -> None:
    first, second = (1.0, 4.0, 5.0), (2.0, 6.0, 7.0, 8.0)

    def below(chosen: tuple[float, ...]) -> int:
        others = [value for value in first + second if value not in chosen]
        return sum(a < b for a in chosen for b in others)

    seen = below(first)
    all_orders = list(itertools.combinations(first + second, len(first)))
    as_far = sum(below(order) >= seen for order in all_orders)
    assert len(all_orders) == comb(7, 3)
    assert rank_sum_probability(first, second) == pytest.approx(2 * as_far / len(all_orders))
    assert rank_sum_probability(second, first) == rank_sum_probability(first, second)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (range(5), range(5, 10), 2 / comb(10, 5)),  # every one below every one
        (range(8), range(8, 16), 2 / comb(16, 8)),
        ((1, 1, 1), (1, 1, 1), 1.0),  # nothing but ties
        ((1, 4), (2, 3), 1.0),
    ],
)
def test_probability_of_known_cases(first, second, expected: float) -> None:
    assert rank_sum_probability(tuple(first), tuple(second)) == pytest.approx(expected)


def rising(by: float, n: int) -> tuple[float, ...]:
    return tuple(1 + by * place / (n - 1) for place in range(n))


@pytest.mark.parametrize(("by", "n", "expected"), [
    (0.3, 15, ["drift"]),
    (-0.3, 15, ["drift"]),
    (0.3, 14, []),  # thirds of four: complete separation happens 3 times in 100 by chance
    (0.06, 30, []),  # from third to third it is 4 %, too little to mind
    (0.09, 30, ["drift"]),
    (0.3, 3000, ["drift"]),
])  # fmt: skip
def test_a_drift_is_flagged_from_a_size_to_mind_and_fifteen_samples(by, n, expected) -> None:
    assert [name for name in names(flags_of_samples(rising(by, n))) if name == "drift"] == expected


def test_the_flag_says_how_far_it_went_and_what_to_do() -> None:
    (flag,) = [
        f for f in flags_of_samples((1.0,) * 5 + (1.1,) * 5 + (1.2,) * 5) if f.name == "drift"
    ]
    assert flag.text == "drift: the last third reads 1.20 times the first: measure in turns"


def test_noise_without_a_drift_is_called_drift_at_most_once_in_a_hundred() -> None:
    source = random.Random(3)
    runs = [tuple(source.lognormvariate(0, 0.5) for _ in range(21)) for _ in range(2000)]
    wrong = sum("drift" in names(flags_of_samples(run)) for run in runs)
    assert wrong <= 30  # 1 % is 20; three standard deviations above it 33
    assert any("noisy" in names(flags_of_samples(run)) for run in runs)


def test_a_middle_that_bulges_is_no_drift() -> None:
    assert "drift" not in names(flags_of_samples((1.0,) * 5 + (9.0,) * 5 + (1.0,) * 5))


# ---- noise, few samples, short samples


@pytest.mark.parametrize(("half_width", "expected"), [(0.049, []), (0.051, ["noisy"])])
def test_noisy_from_an_interval_of_a_tenth_of_the_median(half_width, expected) -> None:
    samples = (1 - half_width, 1.0, 1 + half_width) * 4
    assert names(flags_of_samples(samples)) == expected


def test_one_outlier_is_not_noise() -> None:
    assert flags_of_samples((1.0,) * 11 + (50.0,)) == ()


def test_few_samples_is_said_instead_of_what_they_cannot_show() -> None:
    assert names(flags_of_samples((1.0, 2.0, 3.0, 4.0, 5.0))) == ["few samples"]


@pytest.mark.parametrize(("calls", "expected"), [(1, ["short samples"]), (9, []), (10, [])])
def test_a_sample_shorter_than_ten_microseconds(calls: int, expected: list[str]) -> None:
    assert names(flags_of_times((1.2e-6,) * 8, (), calls)) == expected


# ---- a first call much slower than the rest


def test_a_slow_first_call_in_the_warmup_is_left_out_and_said() -> None:
    (flag,) = flags_of_times((1.0,) * 8, (5.0, 1.0), 1)
    assert flag.name == "slow first call"
    assert flag.text == (
        "the first call took 5.0 times the median, left out as warm-up: report it apart"
    )


def test_a_slow_first_call_without_warmup_is_counted_and_said() -> None:
    (flag,) = flags_of_times((5.0,) + (1.0,) * 8, (), 1)
    assert flag.text == "the first call took 5.0 times the median, and counted: raise warmup"


@pytest.mark.parametrize("warmup", [(2.0,), (0.2, 9.0), ()])
def test_a_first_call_up_to_twice_the_median_is_ordinary(warmup) -> None:
    assert flags_of_times((1.0,) * 8, warmup, 1) == ()


def test_one_lonely_sample_is_no_slow_first_call() -> None:
    assert names(flags_of_times((1.0,), (), 1)) == ["few samples"]


def test_a_clock_that_shows_nothing_raises_nothing() -> None:
    found = names(flags_of_times((0.0,) * 20, (1.0,), 1))
    assert found == ["short samples", "slow first call"]
