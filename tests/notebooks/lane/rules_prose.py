"""Rules on the words: the lint."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator

from . import words
from .problems import Problem
from .reading import Cell, Lesson

AVERAGE_WORDS, MOST_WORDS = 17, 35
BANNED = (
    r"in this lesson",
    "we will|we['\u2019]ll",
    "let['\u2019]s|let us",
    r"note that",
    r"as we can see",
    r"simply",
    r"just",
    r"obviously",
    r"important(?:ly)?",
    r"crucial(?:ly)?",
    r"powerful(?:ly)?",
    r"div(?:e|es|ed|ing)",
    r"leverag(?:e|es|ed|ing)",
    r"explor(?:e|es|ed|ing|ation)",
    r"congratulations|well done|great job|good job|awesome|amazing|exciting",
)
_BANNED = re.compile(rf"\b(?:{'|'.join(BANNED)})\b", re.IGNORECASE)
_EMOJI = re.compile(
    "[\U0001f000-\U0001faff\U00002600-\U000027bf\U00002b00-\U00002bff\U0000fe0f\U0000231a\U0000231b]"
)

_WORD_NUMBERS = (
    "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|"
    "fifty|sixty|ninety|hundred|thousand|million"
)
_NUMBER = rf"(?:~?\d[\d,.]*(?:e[-+]?\d+)?|\b(?:{_WORD_NUMBERS})\b)"
_UNIT = (
    r"(?:ns|µs|μs|us|ms|s|secs?|(?:milli|micro|nano)?seconds?|min|minutes?|h|hours?|"
    r"[A-Za-z]+/s|[A-Za-z]+ (?:per|a|each|every) second|[KMGTP]?FLOPS|[KMG]?Hz|fps|W|watts?)"
)
_TIME_OR_RATE = re.compile(rf"{_NUMBER}[\s-]?{_UNIT}(?![\w/])")
_RATIO = re.compile(
    rf"(?:{_NUMBER}\s?(?:times|x|\u00d7|fold)|\b(?:twice|double|thrice))\s?"
    r"(?:as\s)?(?:faster|slower|quicker|longer|fast|slow|quick|long|the (?:speed|time|rate))\b",
    re.IGNORECASE,
)
_SHARE = re.compile(rf"{_NUMBER}\s?(?:%|percent)(?!\s(?:confidence\s)?interval)", re.IGNORECASE)
_SPEED = re.compile(
    r"\b(?:faster|slower|speed|speedup|time|utili[sz]ation|busy|idle|wait\w*|throughput|latency)\b",
    re.IGNORECASE,
)
_GIVEN = re.compile(
    r"\b(?:published|recorded|reports?|reported|claims?|claimed|suppose|colleague|by definition)\b"
    r"|=|\*\*Core\*\* \d+ minutes|^Accept when",
    re.IGNORECASE,
)


def banned_words(lesson: Lesson) -> Iterator[Problem]:
    """In text cells (fenced code apart) and in the comments of code cells."""
    for cell in lesson.cells:
        text = "\n".join(_comments(cell)) if cell.is_code else words.everything(cell.source)
        for found in sorted({m.group().lower() for m in _BANNED.finditer(" ".join(text.split()))}):
            yield Problem(f"says {found!r}", "Say it without", cell)


def emoji(lesson: Lesson) -> Iterator[Problem]:
    for cell in lesson.cells:
        found = _EMOJI.search(cell.source)
        if found:
            yield Problem(f"has the emoji or sign {found.group()!r}", "Use a word", cell)


def sentence_lengths(lesson: Lesson) -> Iterator[Problem]:
    lengths = []
    for cell in lesson.prose:
        for sentence in words.sentences(cell.source):
            lengths.append(words.sentence_length(sentence))
            if lengths[-1] > MOST_WORDS:
                what = f"has a sentence of {lengths[-1]} words ({sentence[:50]}...)"
                yield Problem(what, f"Split it: at most {MOST_WORDS}", cell)
    if lengths and sum(lengths) / len(lengths) > AVERAGE_WORDS:
        average = sum(lengths) / len(lengths)
        yield Problem(f"has {average:.1f} words a sentence", f"At most {AVERAGE_WORDS} on average")


def machine_numbers(lesson: Lesson) -> Iterator[Problem]:
    """No time, rate or speed ratio in prose, unless it is labelled as given."""
    for cell in lesson.prose:
        for statement in words.statements(cell.source):
            found = machine_number(statement)
            if found:
                what = f"says {found!r}, which another machine will not show"
                yield Problem(what, "Let a cell measure it, or label it as published", cell)


def machine_number(statement: str) -> str | None:
    """The number in a statement that depends on the machine, if there is one.

    A statement that defines a unit (with =) or says whose number it is (published, recorded,
    reports, claims, suppose) has none; nor has the threshold in the contract's Accept row.
    """
    if _GIVEN.search(statement):
        return None
    found = _TIME_OR_RATE.search(statement) or _RATIO.search(statement)
    if found is None and _SPEED.search(statement):
        found = _SHARE.search(statement)
    return found.group() if found else None


def terms(lesson: Lesson) -> Iterator[Problem]:
    """Each term is bold once, where it is defined; bold small letters are for terms alone."""
    listed = [term.lower() for term in lesson.facts.get("terms", [])]
    plurals = {f"{term}s": term for term in listed}
    places = [(b, c) for c in lesson.prose for b in words.bold(c.source)]
    for term in listed:
        times = sum(plurals.get(b.lower(), b.lower()) == term for b, _ in places)
        if times != 1:
            what = f"has its term {term!r} in bold {times} times"
            yield Problem(what, "Make it bold once, where it is defined")
    for text, cell in places:
        if text[:1].islower() and text.lower() not in {*listed, *plurals}:
            what = f"has {text!r} in bold, which is not among the metadata's terms"
            yield Problem(what, "Add it to terms, or use italics", cell)


def _comments(cell: Cell) -> Iterator[str]:
    try:
        for token in tokenize.generate_tokens(io.StringIO(cell.source).readline):
            if token.type == tokenize.COMMENT:
                yield token.string
    except (tokenize.TokenError, SyntaxError):
        return


RULES = (banned_words, emoji, sentence_lengths, machine_numbers, terms)
