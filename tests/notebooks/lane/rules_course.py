"""Rules on all lessons together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from . import words
from .reading import Lesson

HEADING_USES = 2


def repeated_headings(lessons: Sequence[Lesson]) -> Iterator[str]:
    """No heading stands in more than two notebooks."""
    for heading, names in _places(
        (h, lesson) for lesson in lessons for c in lesson.prose for h in words.headings(c.source)
    ).items():
        if len(names) > HEADING_USES:
            yield f"The heading {heading!r} stands in {', '.join(names)}. Reword it in one of them."


def repeated_terms(lessons: Sequence[Lesson]) -> Iterator[str]:
    """A term is defined in one lesson; later ones use it."""
    for term, names in _places(
        (term, lesson) for lesson in lessons for term in lesson.facts.get("terms", [])
    ).items():
        if len(names) > 1:
            yield f"The term {term!r} is defined in {', '.join(names)}. Define it in the first."


def repeated_numbers(lessons: Sequence[Lesson]) -> Iterator[str]:
    for number, names in _places((lesson.name[:2], lesson) for lesson in lessons).items():
        if len(names) > 1:
            yield f"The number {number} belongs to {', '.join(names)}. Renumber one of them."


def _places(found: Iterator[tuple[str, Lesson]]) -> dict[str, list[str]]:
    places: dict[str, list[str]] = {}
    for text, lesson in found:
        names = places.setdefault(text.lower(), [])
        if lesson.name not in names:
            names.append(lesson.name)
    return places


RULES = (repeated_headings, repeated_terms, repeated_numbers)
