"""What a guard says when a lesson breaks a rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from .reading import Cell, Lesson


@dataclass(frozen=True)
class Problem:
    """What is wrong, what to do about it, and in which cell (None: in the notebook as a whole)."""

    wrong: str
    do: str
    cell: Cell | None = None


Rule = Callable[[Lesson], Iterable[Problem]]


def sentences(lesson: Lesson, rule: Rule) -> list[str]:
    """One readable line for each problem that `rule` finds."""
    return list(_lines(lesson, rule))


def _lines(lesson: Lesson, rule: Rule) -> Iterator[str]:
    for problem in rule(lesson):
        place = f"{lesson.name}, {problem.cell.place}" if problem.cell else lesson.name
        yield f"{place}: {problem.wrong}. {problem.do}."
