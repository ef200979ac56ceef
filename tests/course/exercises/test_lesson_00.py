"""The report is judged by the reader's own ten times, whatever they are."""

from __future__ import annotations

import pytest

from gpuutil_helpers.course.exercises.lesson_00 import check_report

RAW = [0.03, 0.0024, 0.0021, 0.0029, 0.0022, 0.0025, 0.0028, 0.0023, 0.0026, 0.0027]
COUNTED = sorted(RAW[1:])
RIGHT = {"n": 9, "median": COUNTED[4], "low": COUNTED[1], "high": COUNTED[7]}


def said(capsys: pytest.CaptureFixture, raw: list[float] = RAW, **changed: object) -> str:
    check_report(raw, **{**RIGHT, **changed})
    return capsys.readouterr().out


def test_the_report_of_nine_calls_passes(capsys):
    assert said(capsys).startswith("2: yes")


def test_a_list_left_unsorted_is_told_even_where_its_middle_is_right_by_chance(capsys):
    assert RAW[5] == COUNTED[4]
    assert "order taken" in said(capsys, median=RAW[5], low=RAW[2], high=RAW[8])


def test_the_places_of_ten_sorted_numbers_fail_by_their_count(capsys):
    ten = sorted(RAW)
    assert ten[1:9] == COUNTED[1:]  # the warm-up is the largest, so three places agree
    assert "after the warm-up" in said(capsys, n=10, median=ten[4], low=ten[1], high=ten[7])


def test_milliseconds_are_told_in_each_place(capsys):
    for name in ("median", "low", "high"):
        assert "in which unit" in said(capsys, **{name: 1e3 * RIGHT[name]})


@pytest.mark.parametrize("raw", [[], RAW[1:], [*RAW[:9], "slow"]])
def test_other_raw_times_are_refused_in_a_sentence(raw, capsys):
    with pytest.raises(ValueError, match="raw must hold the ten times"):
        said(capsys, raw)
