from __future__ import annotations

from fractions import Fraction
from math import comb

import pytest

from gpuutil_helpers.instruments.measure import Flag, Measurement, Unavailable, compare

ONE_THREAD = {"threads": 1, "device": "cpu"}
TWO_THREADS = {"threads": 2, "device": "cpu"}


def times(name: str, *samples: float, **traits: object) -> Measurement:
    return Measurement(name, "s", samples, **{"controls": ONE_THREAD} | traits)


SLOW = times("before", *range(20, 40))
FAST = times("after", *range(5, 25))


def test_ratio_of_the_medians_first_over_second() -> None:
    compared = compare(SLOW, FAST)
    assert (compared.name, compared.ratio) == ("before / after", 29.5 / 14.5)


def test_bounds_are_the_far_ends_of_two_intervals_that_hold_at_once() -> None:
    n, outside = 20, Fraction(1, 40)

    def misses(rank: int) -> Fraction:
        return 2 * Fraction(sum(comb(n, heads) for heads in range(rank)), 2**n)

    assert misses(5) <= outside < misses(6)  # so the 5th smallest and the 5th largest
    compared = compare(SLOW, FAST)
    assert compared.interval == (24 / 20, 35 / 9)
    assert (compared.low, compared.high) == compared.interval


@pytest.mark.parametrize(
    ("a", "b", "verdict"),
    [
        (SLOW, FAST, "the first is larger"),
        (FAST, SLOW, "the first is smaller"),
        (SLOW, SLOW, "no detectable difference"),
        (times("a", *range(20, 40)), times("b", *range(17, 37)), "no detectable difference"),
        (times("a", *[2.0] * 6), times("b", *[1.0] * 6), "no detectable difference"),
    ],
)
def test_verdict(a: Measurement, b: Measurement, verdict: str) -> None:
    assert compare(a, b).verdict == verdict


def test_six_samples_bound_a_median_and_not_a_comparison() -> None:
    compared = compare(times("a", *[2.0] * 7), times("b", *[1.0] * 6))
    assert compared.interval == Unavailable(
        "a comparison needs 7 samples or more of each, and b has 6"
    )
    with pytest.raises(ValueError, match=r"b has 6\. Raise repeats"):
        _ = compared.low
    with pytest.raises(ValueError, match="Raise repeats"):
        _ = compared.high
    assert compare(times("a", *[2.0] * 7), times("b", *[1.0] * 7)).interval == (2.0, 2.0)


# ---- controls


def test_unequal_controls_are_refused_with_both_values() -> None:
    with pytest.raises(ValueError) as refused:
        compare(SLOW, times("after", *range(5, 25), controls=TWO_THREADS))
    assert str(refused.value) == (
        "before and after differ in more than was named: threads is 1 and 2. "
        "Make them equal, or name in differs what you changed on purpose."
    )


def test_a_control_that_was_named_may_differ_and_is_shown() -> None:
    compared = compare(SLOW, times("after", 5.0, controls=TWO_THREADS), differs=["threads"])
    assert compared.differs == {"threads": (1, 2)}
    assert "threads: 1 and 2" in str(compared)


def test_naming_one_does_not_let_another_differ() -> None:
    other = times("after", 5.0, controls={"threads": 2, "device": "cuda"})
    with pytest.raises(ValueError, match="device is cpu and cuda"):
        compare(SLOW, other, differs=["threads"])


@pytest.mark.parametrize("which", [0, 1])
def test_a_control_that_only_one_noted_differs(which: int) -> None:
    both = [SLOW, times("after", 5.0, controls=ONE_THREAD | {"batch": 32})]
    values = ("not noted", "32") if which == 0 else ("32", "not noted")
    with pytest.raises(ValueError, match="batch is {} and {}".format(*values)):
        compare(both[which], both[1 - which])


@pytest.mark.parametrize(
    ("named", "hint"),
    [("threads", "threads is named as changed, and is 1 in both"), ("color", "noted in neither")],
)
def test_a_control_named_as_changed_must_have_changed(named: str, hint: str) -> None:
    with pytest.raises(ValueError, match=hint):
        compare(SLOW, FAST, differs=[named])


# ---- what is no comparison


@pytest.mark.parametrize(
    ("a", "b", "options", "error", "hint"),
    [
        (SLOW, FAST.rate(1, "runs/s"), {}, ValueError, "in s and after in runs/s"),
        (SLOW, times("b", 1.0, 0.0), {}, ValueError, "samples above 0"),
        (times("a", -1.0), FAST, {}, ValueError, "samples above 0"),
        (SLOW, 14.5, {}, TypeError, "two measurements and got 14.5"),
        (SLOW, FAST, {"differs": "threads"}, TypeError, r'Pass \["threads"\]'),
    ],
)
def test_refuses(a, b, options, error, hint: str) -> None:
    with pytest.raises(error, match=hint):
        compare(a, b, **options)


def test_flags_of_both_are_kept_and_the_missing_turns_are_said() -> None:
    noisy, drift = Flag("noisy", "raise repeats"), Flag("drift", "measure in turns")
    compared = compare(times("a", 1.0, flags=(noisy,)), times("b", 1.0, flags=(noisy, drift)))
    assert [flag.name for flag in compared.flags] == ["not in turns", "noisy", "drift"]


def test_reads_as_a_sentence() -> None:
    assert str(compare(SLOW, FAST)) == (
        "before / after: 2.03 times (95 % interval 1.20 to 3.89): the first is larger; "
        "not measured in turns: what changed in between counts as a difference"
    )
    assert "(no interval)" in str(compare(times("a", 1.0), times("b", 1.0)))
