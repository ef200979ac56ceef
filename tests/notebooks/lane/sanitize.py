"""nbval skips what it cannot read in a sanitise file, without a word. This does not."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nbval.plugin import get_sanitize_patterns

from .places import SANITIZE


def faults(text: str) -> list[str]:
    """What is wrong with a sanitise file, as sentences; empty where nothing is.

    nbval wants `regex: PATTERN` and, on the very next line, `replace: TEXT`.
    """
    found = list(_faults(text.splitlines()))
    if not text.isascii():
        found.append("The file is not ASCII, and nbval reads it in the encoding of the machine.")
    if "regex: " not in text:
        found.append("The file holds no pattern.")
    return found


def _faults(lines: list[str]) -> Iterator[str]:
    for number, (line, after) in enumerate(zip(lines, [*lines[1:], ""], strict=True), 1):
        before = lines[number - 2] if number > 1 else ""
        if line.startswith("regex: "):
            if not after.startswith("replace: "):
                yield f"line {number}: the next line is not 'replace: ...', so nbval skips it."
            yield from _pattern_faults(number, line.removeprefix("regex: "), after)
        elif line.startswith("replace: "):
            if not before.startswith("regex: "):
                yield f"line {number}: the line before is not 'regex: ...', so nbval skips it."
        elif line.strip() and not re.match(r"#|\[\w+\]$", line):
            yield f"line {number}: {line[:30]!r} is neither comment, section, regex nor replace."


def _pattern_faults(number: int, pattern: str, after: str) -> Iterator[str]:
    try:
        compiled = re.compile(pattern)
        compiled.sub(after.removeprefix("replace: "), "~1 ms")
    except (re.error, IndexError) as error:
        yield f"line {number}: the pattern or what replaces it does not work: {error}."
        return
    if compiled.search(""):
        yield f"line {number}: the pattern matches nothing at all, so it matches everywhere."


def hide(text: str) -> str:
    """`text` as nbval compares it, after the lane's own sanitise file."""
    for pattern, replacement in get_sanitize_patterns(SANITIZE.read_text(encoding="utf-8")):
        text = re.sub(pattern, replacement, text)
    return text
