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

RAW_TIMES = 10

#: Question: the right letter, and where to read up.
READINESS = {
    "python": ("b", "the Python tutorial: More on Defining Functions"),
    "arrays": ("a", "NumPy: the absolute basics for beginners, the part on axis"),
    "gradient": ("c", "any text on gradient descent in one variable"),
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
    """Exercise 1: why a rate is too good, and the number that proves it.

    Args:
        source: the tensor that the colleague added up; its storage holds the truth.
        choice: 'a', 'b' or 'c'.
        bytes_held: the bytes that the storage of `source` holds.
    """
    if is_open(choice, bytes_held):
        not_answered("1", "give choice, one letter, and bytes_held, a number")
        return
    picked = letter(choice)
    held = source.untyped_storage().nbytes()
    claimed = source.numel() * source.element_size()
    if picked not in ("a", "b", "c"):
        not_yet("1", "choice takes a, b or c, in quotes: which one do you mean?")
    elif not is_number(bytes_held):
        not_yet("1", "bytes_held takes a plain number, such as 12: of which type is yours?")
    elif picked == "a":
        not_yet("1", "would a second core change what the source holds?")
    elif picked == "c":
        not_yet("1", "print hers.stride(): how many numbers lie between one row and the next?")
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
    raw_s: Sequence[float],
    *,
    n: object = ...,
    median: object = ...,
    low: object = ...,
    high: object = ...,
) -> None:
    """Exercise 2: median and 95 % interval of nine calls that follow one warm-up call.

    Args:
        raw_s: ten times in seconds in the order taken, the first of them the warm-up.
        n: how many of them count.
        median, low, high: the answer in seconds.

    Raises:
        ValueError: `raw_s` is not ten numbers.
    """
    if len(raw_s) != RAW_TIMES or not all(is_number(value) for value in raw_s):
        raise ValueError("raw must hold the ten times of the cell above: run that cell again.")
    if is_open(n, median, low, high):
        not_answered("2", "give n, a count, and median, low and high, in seconds")
        return
    if not all(is_number(value) for value in (n, median, low, high)):
        not_yet("2", "four plain numbers are wanted: what is the type of each of yours?")
        return
    counted = sorted(raw_s[1:])
    hint = (
        _unit_hint((low, median, high), counted)
        or _order_hint((low, median, high), list(raw_s), counted)
        or _median_hint(median, list(raw_s), counted)
        or _count_hint(n)
        or _interval_hint(low, high, counted)
    )
    if hint:
        not_yet("2", hint)
    else:
        yes("2", "and the warm-up is reported apart, not hidden in a mean")


def _same(answer: float, truth: float) -> bool:
    return math.isclose(answer, truth, rel_tol=1e-6)


def _unit_hint(answers: tuple[float, ...], counted: list[float]) -> str | None:
    truths = (counted[1], statistics.median(counted), counted[-2])
    scaled = (
        _same(answer, factor * truth)
        for answer, truth in zip(answers, truths, strict=True)
        for factor in (1e3, 1e6)
    )
    return "in which unit are the raw times, and in which is your report?" if any(scaled) else None


def _order_hint(answers: tuple[float, ...], raw: list[float], counted: list[float]) -> str | None:
    unsorted = raw[1:]
    places = (1, len(unsorted) // 2, -2)
    taken = all(_same(answer, unsorted[k]) for answer, k in zip(answers, places, strict=True))
    right = all(_same(answer, counted[k]) for answer, k in zip(answers, places, strict=True))
    if taken and not right:
        return "that is the middle of the order taken. The middle of which order is meant?"
    return None


def _count_hint(n: float) -> str | None:
    return None if n == RAW_TIMES - 1 else "how many calls came after the warm-up?"


def _median_hint(median: float, raw: list[float], counted: list[float]) -> str | None:
    truth = statistics.median(counted)
    if _same(median, truth):
        return None
    if _same(median, statistics.mean(counted)) or _same(median, statistics.mean(raw)):
        return "make one call a thousand times slower: does your middle move with it?"
    if _same(median, statistics.median(raw)):
        return "how many of your numbers did the first touch of the memory slow down?"
    if math.isclose(median, truth, rel_tol=0.02):
        return "close by, or rounded: which entry of raw is the median, to the last digit?"
    return "of 3, 9, 4 the median is 4. By which rule, and what does it give here?"


def _interval_hint(low: float, high: float, counted: list[float]) -> str | None:
    if _same(low, counted[1]) and _same(high, counted[-2]):
        return None
    if _same(low, counted[0]) and _same(high, counted[-1]):
        return "how far would one odd call move the ends of your interval?"
    if _same(low, counted[2]) and _same(high, counted[-1]):
        return "ranks count from 1, lists from 0: which place has rank 1?"
    if low > high:
        return "which of your two ends is the lower one?"
    return "for nine numbers, which two ranks does the table name?"
