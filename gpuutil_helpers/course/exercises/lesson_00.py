"""Checks of lesson 00: are you ready, a rate too good to be true, an honest report."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpuutil_helpers.course.exercises.answers import (
    is_number,
    is_open,
    letter,
    not_answered,
    not_yet,
    yes,
)

if TYPE_CHECKING:
    import torch

#: Question: the right letter, and where to read up.
READINESS = {
    "python": ("b", "the Python tutorial, section 4.9, Defining functions"),
    "arrays": ("a", "NumPy: the absolute basics for beginners, the part on axis"),
    "gradient": ("c", "lesson 01, first cycle, or any text on gradient descent in one variable"),
    "bytes": ("b", "data types in NumPy's user guide: float32 is 32 bits wide"),
    "kernel": ("c", "JupyterLab's guide, Notebooks: cells share one kernel and its memory"),
}


def check_readiness(**answers: object) -> None:
    """Compare five letters with the right ones; print one line, and a pointer for each miss.

    Args:
        answers: `python`, `arrays`, `gradient`, `bytes`, `kernel`, each 'a', 'b' or 'c'.

    Raises:
        TypeError: for a question that does not exist.
    """
    unknown = sorted(set(answers) - set(READINESS))
    if unknown:
        raise TypeError(f"no question is called {unknown[0]}; there are {', '.join(READINESS)}.")
    still_open = [name for name in READINESS if is_open(answers.get(name, ...))]
    if still_open:
        not_answered("ready", ", ".join(still_open))
        return
    missed = [name for name, (right, _) in READINESS.items() if letter(answers[name]) != right]
    if not missed:
        yes("ready", "all five")
    for name in missed:
        not_yet("ready", f"{name}. Read: {READINESS[name][1]}.")


def check_too_good(source: torch.Tensor, *, choice: object = ..., bytes_held: object = ...) -> None:
    """Exercise 1: why a copy's rate is too good, and the number that proves it.

    Args:
        source: the tensor that the colleague copied from; its storage holds the truth.
        choice: 'a', 'b' or 'c'.
        bytes_held: the bytes that the storage of `source` holds.
    """
    if is_open(choice, bytes_held):
        not_answered("1", "give choice, one letter, and bytes_held, a number")
        return
    picked = letter(choice)
    held = source.untyped_storage().nbytes()
    claimed = source.numel() * source.element_size()
    if picked not in ("a", "b", "c") or not is_number(bytes_held):
        not_yet("1", "choice is one letter in quotes, bytes_held a plain number: which one is not?")
    elif picked == "a":
        not_yet("1", "would a second core change what the source holds?")
    elif picked == "c":
        not_yet("1", "print source.stride(): what does a stride of 0 do to the next row?")
    elif bytes_held == claimed:
        not_yet("1", "that is what it claims to be. What does its storage hold?")
    elif bytes_held == held // source.element_size():
        not_yet("1", "so many numbers. How many bytes is one of them?")
    elif bytes_held != held:
        not_yet("1", "which method of a tensor gives its storage, and how long is that?")
    else:
        yes(
            "1", f"{claimed // held} rows share the same {held} bytes, so the cache served the rest"
        )


def check_report(
    raw_s: Sequence[float], *, median: object = ..., low: object = ..., high: object = ...
) -> None:
    """Exercise 2: median and 95 % interval of nine calls that follow one warm-up call.

    Args:
        raw_s: ten times in seconds in the order taken, the first of them the warm-up.
        median, low, high: the answer in seconds.
    """
    if is_open(median, low, high):
        not_answered("2", "give median, low and high, in seconds")
        return
    if not all(is_number(value) for value in (median, low, high)):
        not_yet("2", "three plain numbers are wanted: what is the type of each of yours?")
        return
    kept = sorted(raw_s[1:])
    hint = _median_hint(median, list(raw_s), kept) or _interval_hint(low, high, kept)
    if hint:
        not_yet("2", hint)
    else:
        yes("2", "and the warm-up is reported apart, not hidden in a mean")


def _same(answer: float, truth: float) -> bool:
    return math.isclose(answer, truth, rel_tol=1e-6)


def _median_hint(median: float, raw: list[float], kept: list[float]) -> str | None:
    if _same(median, statistics.median(kept)):
        return None
    if _same(median, statistics.mean(kept)) or _same(median, statistics.mean(raw)):
        return "make one call a thousand times slower: does your middle move with it?"
    if _same(median, statistics.median(raw)):
        return "how many of your numbers did the first touch of the memory slow down?"
    if _same(median, 1e3 * statistics.median(kept)):
        return "in which unit are the raw times, and in which is your report?"
    if _same(median, raw[1:][len(kept) // 2]):
        return "that is the middle of the order taken. The middle of which order is meant?"
    return "of 3, 9, 4 the median is 4. By which rule, and what does it give here?"


def _interval_hint(low: float, high: float, kept: list[float]) -> str | None:
    if _same(low, kept[1]) and _same(high, kept[-2]):
        return None
    if _same(low, kept[0]) and _same(high, kept[-1]):
        return "would a tenth call, an odd one, widen your interval? The table avoids that: how?"
    if _same(low, kept[2]) and _same(high, kept[-1]):
        return "ranks count from 1, lists from 0: which place has rank 1?"
    if low > high:
        return "which of your two ends is the lower one?"
    return "for nine numbers, which two ranks does the table name?"
