"""Every exercise of every lesson: only the solution passes, each wrong answer gets its own hint."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from exercise_cases import CASES
from lane import exercises, reading
from lane.places import lessons

FOUND = [(path, number) for path in lessons() for number in sorted(reading.load(path).exercises)]


@cache
def tried(path: Path) -> dict[str, list[exercises.Attempt]]:
    """One kernel runs the lesson once and tries every answer at each exercise."""
    lesson = reading.load(path)
    return exercises.try_lesson(lesson, CASES.get(lesson.name[:2], {}))


def test_every_exercise_has_a_case_and_every_case_an_exercise():
    listed = {(lesson, number) for lesson, cases in CASES.items() for number in cases}
    assert {(path.name[:2], number) for path, number in FOUND} == listed


@pytest.mark.parametrize(("path", "number"), FOUND, ids=lambda v: getattr(v, "stem", v))
def test_only_the_solution_passes(path: Path, number: str):
    case = CASES.get(path.name[:2], {}).get(number)
    assert case is not None, f"exercise_cases.py says nothing of exercise {number} of {path.name}"
    assert exercises.complaints(number, case, tried(path)[number]) == []
