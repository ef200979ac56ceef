"""Every lesson, and the tools' own sample, against every rule. `test_guard_rules` tests the rules.

A failure reads: file, cell, what is wrong, what to do.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from lane import guard, problems, reading, rules_course
from lane.places import SAMPLE, lessons

cached_lesson = cache(reading.load)


def test_there_are_lessons():
    assert lessons(), "notebooks/ holds no lesson, so nothing of the course is tested."


@pytest.mark.parametrize("rule", guard.RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("path", [*lessons(), SAMPLE], ids=lambda path: path.stem)
def test_a_lesson_keeps(path: Path, rule: problems.Rule):
    broken = problems.sentences(cached_lesson(path), rule)
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize("rule", rules_course.RULES, ids=lambda rule: rule.__name__)
def test_the_course_keeps(rule):
    broken = list(rule([cached_lesson(path) for path in lessons()]))
    assert not broken, "\n".join(broken)
