"""Measured numbers as text: one form, hidden whole by one pattern, and nothing else hidden."""

from __future__ import annotations

import math
import random
import re

import numpy as np
import pytest
import torch

from gpuutil_helpers.course import lesson
from gpuutil_helpers.course.approximate import APPROXIMATE, UNITS, approx


def hidden(text: str) -> str:
    return re.sub(APPROXIMATE, "~HIDDEN", text)


def values() -> list[float]:
    random.seed(3)
    drawn = [random.choice((-1, 1)) * 10 ** random.uniform(-12, 15) for _ in range(60)]
    return [0, -0.0, 1, 9.99999, 99.96, 999999.5, 1e-4, 9.9999e-5, 1e-12, 1e15, *drawn]


@pytest.mark.parametrize("unit", ["", *UNITS])
def test_every_value_in_every_unit_is_hidden_whole(unit: str) -> None:
    for value in values():
        for digits in (1, 2, 3, 6):
            text = approx(value, unit, digits)
            assert re.fullmatch(APPROXIMATE, text), text
            line = f"2 workers wait: {text} of the 4 steps (n = 20) -> input-bound"
            told = "2 workers wait: ~HIDDEN of the 4 steps (n = 20) -> input-bound"
            assert hidden(line) == told
            assert hidden(f"({text} to {text}), measured") == "(~HIDDEN to ~HIDDEN), measured"
            assert hidden(f"It took {text}.") == "It took ~HIDDEN."


@pytest.mark.parametrize("digits", [1, 2, 3, 6])
def test_the_number_is_right_to_its_digits(digits: int) -> None:
    for value in values():
        shown = float(approx(value, "ms", digits).removeprefix("~").removesuffix(" ms"))
        assert math.isclose(shown, value, rel_tol=0.501 * 10 ** (1 - digits))


def test_examples() -> None:
    assert approx(61.4, "%", 2) == "~61 %"
    assert approx(1.2, "of the time") == "~1.20 of the time"
    assert approx(12345, "samples/s", 2) == "~12000 samples/s"
    assert approx(1234567, "B", 2) == "~1.2e6 B"
    assert approx(0.000123, "s") == "~0.000123 s"
    assert approx(0.0000123, "s") == "~1.23e-5 s"
    assert approx(-3.25, "points", 2) == "~-3.2 points"
    assert approx(99.96, "%") == "~100 %"
    assert approx(-0.0) == "~0"
    assert approx(np.float32(0.5), digits=1) == approx(torch.tensor(0.5), digits=1) == "~0.5"


@pytest.mark.parametrize(
    "exact",
    [
        "61 %, 268435456 bytes, 1.2 GB",
        "~1,200 B",
        "~61%",
        "~1.2.3 s",
        "~12x faster",
        "~1.2e",
        "~0x1f",
        "a~1 s",
        "C:/PROGRA~1/x",
        "~~5 s",
        "~ 5 s",
        "~five steps",
    ],
)
def test_what_is_not_a_measured_number_is_left_alone(exact: str) -> None:
    assert hidden(exact) == exact


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("~5 minus one", "~HIDDEN minus one"),
        ("~5 s/step", "~HIDDEN s/step"),
        ("~5 Bytes", "~HIDDEN Bytes"),
        ("~5 GB/h", "~HIDDEN GB/h"),
        ("~5 stepsize 3", "~HIDDEN stepsize 3"),
        ("~5 frames, exactly 7 s", "~HIDDEN frames, exactly 7 s"),
        ("~5 s 7 s", "~HIDDEN 7 s"),
    ],
)
def test_a_word_that_only_starts_like_a_unit_stays(text: str, left: str) -> None:
    assert hidden(text) == left


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 10**400, torch.tensor(math.nan)])
def test_no_number_without_end(value: object) -> None:
    with pytest.raises(ValueError, match=r"^the measured value is .*: give a .*number.*\.$"):
        approx(value, "ms")


@pytest.mark.parametrize(
    "value", ["0.5", True, np.True_, None, ..., [1.0], 1j, np.ones(1), torch.ones(2)]
)
def test_no_value_that_is_no_number(value: object) -> None:
    with pytest.raises(TypeError, match=r"^the measured value is .*: give a number, such as 0\.5"):
        approx(value, "ms")


@pytest.mark.parametrize("unit", ["sec", "msec", "KB", "S", " ms", "MS", "%%", "ms."])
def test_a_unit_that_is_none(unit: str) -> None:
    with pytest.raises(ValueError, match="does not start with a known one"):
        approx(1.0, unit)


def test_digits_and_units_of_the_wrong_kind() -> None:
    for digits in (0, 10, 2.0, True):
        with pytest.raises(ValueError, match=r"^digits is .*, 1 to 9\.$"):
            approx(1.0, "ms", digits)
    with pytest.raises(TypeError, match="the unit is None"):
        approx(1.0, None)


def test_lesson_gives_the_same_names() -> None:
    assert lesson.APPROXIMATE is APPROXIMATE
    assert lesson.UNITS is UNITS
    assert lesson.approx is approx
