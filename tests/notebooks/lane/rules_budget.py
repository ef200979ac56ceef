"""Rules on the reader's time: minutes, words, terms, figures."""

from __future__ import annotations

import math
from collections.abc import Iterator

from . import reading, words
from .problems import Problem
from .reading import Lesson

CORE_MINUTES, CYCLE_MINUTES = 45, 15
CODE_CELLS, WORDS, TERMS, FIGURES, EXERCISES = 24, 800, 6, 3, 2
CELL_WORDS = 80


def core_minutes(lesson: Lesson) -> Iterator[Problem]:
    exact = reading.core_minutes(lesson)
    rounded = math.ceil(exact)
    if lesson.facts.get("core_minutes") != rounded:
        what = f"states {lesson.facts.get('core_minutes')} core minutes where {exact:.1f} come out"
        yield Problem(what, f"Set core_minutes to {rounded}, in the metadata and the opening")
    if rounded > CORE_MINUTES:
        yield Problem(f"needs {rounded} core minutes", f"Cut it to {CORE_MINUTES}: make extras")


def core_limits(lesson: Lesson) -> Iterator[Problem]:
    core = [cell for cell in lesson.cells if cell.core]
    code = [cell for cell in core if cell.is_code]
    found = (
        ("code cells", len(code), CODE_CELLS),
        ("words", reading.prose_words(core), WORDS),
        ("new terms", len(_core_terms(lesson)), TERMS),
        ("figures", sum(len(cell.pictures) for cell in code), FIGURES),
        ("exercises", len({c.exercise for c in code if c.exercise}), EXERCISES),
    )
    for what, count, limit in found:
        if count > limit:
            yield Problem(f"has {count} {what} in the core", f"At most {limit}: make extras")


def _core_terms(lesson: Lesson) -> list[str]:
    bold = {b.lower() for c in lesson.prose if c.core for b in words.bold(c.source)}
    return [term for term in lesson.facts.get("terms", []) if term.lower() in bold]


def cycle_minutes(lesson: Lesson) -> Iterator[Problem]:
    for number, cells in lesson.cycles.items():
        needed = reading.minutes([cell for cell in cells if cell.core])
        if needed > CYCLE_MINUTES:
            what = f"needs {needed:.1f} minutes for cycle {number}"
            yield Problem(what, f"Cut it to {CYCLE_MINUTES}")


def cell_words(lesson: Lesson) -> Iterator[Problem]:
    """A text cell has at most 80 words; tables, headings and folded text not counted."""
    for cell in lesson.prose:
        count = words.count(words.paragraphs(words.visible(cell.source)))
        if count > CELL_WORDS:
            yield Problem(f"has {count} words", f"Cut it to {CELL_WORDS}, or split it", cell)


RULES = (core_minutes, core_limits, cycle_minutes, cell_words)
