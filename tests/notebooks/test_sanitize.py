"""The sanitise file hides measured numbers and nothing else, and no mistake in it stays silent."""

from __future__ import annotations

import pytest
from nbval.plugin import get_sanitize_patterns

from gpuutil_helpers.course import lesson
from lane.places import SANITIZE
from lane.sanitize import faults, hide

TEXT = SANITIZE.read_text(encoding="utf-8")
NUMBERS = ("0", "7", "61", "-3", "0.5", "12.25", "1e-9", "3.4e12", "-2.5e-7", "12000")


def test_the_only_pattern_is_the_one_that_lessons_write():
    assert get_sanitize_patterns(TEXT) == [(lesson.APPROXIMATE, "~measured")]


def test_the_file_has_no_silent_mistake():
    assert faults(TEXT) == []


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("regex: ", "regex:", "line 5"),
        ("regex: ", "Regex: ", "line 5"),
        ("replace: ", "replace:", "line 6"),
        ("replace: ~measured", "", "line 5"),
        ("[measured]", "replace: ~measured", "line 4"),
        ("[measured]", "measured]", "line 4"),
        ("replace: ", "\nreplace: ", "line 5"),
        (r"(?:\.\d+)?", r"(?:\.\d+?", "line 5"),
        ("replace: ~measured", r"replace: \g<2>", "line 5"),
        ("regex: ", "regex: |", "line 5"),
        ("~measured", "~gemessen \u00b1", "ASCII"),
    ],
)
def test_a_mistake_in_the_file_is_found(old, new, fault):
    assert TEXT.count(old) == 1
    assert any(fault in found for found in faults(TEXT.replace(old, new)))


@pytest.mark.parametrize("unit", lesson.UNITS)
def test_a_measured_number_is_hidden_in_every_unit(unit):
    for number in NUMBERS:
        assert hide(f"a: ~{number} {unit} -> wait") == "a: ~measured -> wait"
        assert hide(f"from ~{number} {unit}, measured") == "from ~measured, measured"
        assert hide(f"it took ~{number} {unit}.") == "it took ~measured."


@pytest.mark.parametrize("number", NUMBERS)
def test_a_bare_measured_number_is_hidden(number):
    assert hide(f"share: ~{number}\nnext") == "share: ~measured\nnext"


@pytest.mark.parametrize("unit", lesson.UNITS)
@pytest.mark.parametrize("value", [0, 1, -4, 61.234, 1e-12, 6.02e23, 123456.0, 0.000123])
def test_whatever_say_prints_is_hidden(capsys, unit, value):
    lesson.say("read", value, unit, "memory sets the pace")
    assert hide(capsys.readouterr().out) == "read: ~measured -> memory sets the pace\n"


@pytest.mark.parametrize(
    "text",
    [
        "67108864 numbers; 4194304 numbers",
        "61 % of the step",
        "12.5 GB/s",
        "data wait: -> input-bound",
        "a holds: yes",
        "a holds: NO",
        "loss 2.302585",
        "about ~ 3 ms",
        "x~3 ms",
        "~~3~~ ms",
        "~three ms",
        "unavailable, because there is no GPU",
        "~/notes.jsonl",
        "~1,200 ms",
        "~1.2.3 ms",
    ],
)
def test_everything_else_is_compared(text):
    assert hide(text) == text


def test_verdicts_and_exact_numbers_beside_a_measured_one_are_compared():
    same = "wait: ~61 % of the step -> input-bound"
    assert hide(same) == hide("wait: ~7.5 % of the step -> input-bound")
    assert hide(same) != hide("wait: ~61 % of the step -> compute-bound")
    assert hide(same) != hide("wait: ~61 % of the epoch -> input-bound")
    assert hide("~1 ms, 20 pairs") != hide("~1 ms, 21 pairs")
    assert hide("~1 ms\n~2 ms") != hide("~1 ms\n2 ms")
    assert hide("~900 us") == hide("~1.1 ms")
