"""What a reader was asked to predict, and what counts as a guess and as a result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpuutil_helpers.course.checks import as_number, one_line, reason_unavailable, shown
from gpuutil_helpers.course.predictions import in_words, same_unit


@dataclass(frozen=True)
class Question:
    """A number in a unit, or one of named choices."""

    key: str
    unit: str | None = None
    choices: tuple[str, ...] = ()


def ask(key: str, unit: str | None, choices: Sequence[str] | None) -> Question:
    """A question, checked.

    Raises:
        TypeError, ValueError: the key or the unit is no text, the choices are fewer than two, not
            texts or not different, or a unit was given with choices.
    """
    one_line(key, "the key")
    if unit is not None and not isinstance(unit, str):
        raise TypeError(f"{key}: the unit is {shown(unit)}: give a text, such as 'ms'.")
    if choices is None:
        return Question(key, unit)
    listed = isinstance(choices, list | tuple)
    if not listed or not all(isinstance(choice, str) for choice in choices):
        raise TypeError(f"{key}: the choices are {shown(choices)}: give a list of texts.")
    if unit:
        raise ValueError(f"{key}: a choice has no unit: leave out {unit!r} or the choices.")
    if len({choice.strip().casefold() for choice in choices} - {""}) < max(2, len(choices)):
        raise ValueError(f"{key}: the choices are {choices!r}: give two or more different texts.")
    return Question(key, None, tuple(choices))


def checked_guess(question: Question, guess: object) -> float | str:
    """The guess as it is stored: a finite number, or a choice as the question spells it.

    Raises:
        TypeError, ValueError: it is neither.
    """
    if not question.choices:
        number = as_number(guess, f"{question.key}: the guess")
        return guess if type(guess) is int else number
    wanted = guess.strip().casefold() if isinstance(guess, str) else None
    for choice in question.choices:
        if choice.strip().casefold() == wanted:
            return choice
    raise ValueError(
        f"{question.key}: the guess {shown(guess)} is none of the choices: give one of "
        f"{', '.join(map(repr, question.choices))}."
    )


def result_fields(question: Question, result: object, unit: str | None) -> Mapping[str, object]:
    """A result as it is stored; `journal` says what each field holds.

    Args:
        question: what was asked; its unit None and its choices empty where nothing was.
        result: a `Measurement`, a finite number, a choice, or an unavailable reading.
        unit: in place of the result's own.

    Raises:
        TypeError, ValueError: `result` is none of these, or does not answer the question.
    """
    controls = getattr(result, "controls", None) or {}
    fields: dict[str, object] = {
        "controls": {str(name): str(value) for name, value in controls.items()},
        **{"name": question.key, "unit": "", "samples": [], "median": None, "low": None},
        **{"high": None, "choice": None, "unavailable": reason_unavailable(result)},
    }
    if fields["unavailable"] is not None:
        return fields | {"unit": unit or question.unit or ""}
    if isinstance(result, str) or question.choices:
        return fields | {"choice": _checked_choice(question, result)}
    fields["unit"] = _checked_unit(question, getattr(result, "unit", None), unit)
    if not (hasattr(result, "median") and hasattr(result, "samples")):
        return fields | {"median": as_number(result, f"{question.key}: the result")}
    return fields | _statistics(question.key, result)


def _statistics(key: str, measurement: object) -> dict[str, object]:
    interval = getattr(measurement, "interval", None)
    low, high = interval if isinstance(interval, tuple) else (None, None)
    what = f"{key}: a sample"
    return {
        "name": str(getattr(measurement, "name", key)),
        "samples": [as_number(sample, what) for sample in measurement.samples],
        "median": as_number(measurement.median, f"{key}: the median"),
        "low": None if low is None else as_number(low, what),
        "high": None if high is None else as_number(high, what),
    }


def _checked_choice(question: Question, result: object) -> str:
    if not isinstance(result, str):
        raise TypeError(
            f"{question.key} was asked as a choice: give the one that was seen, not "
            f"{type(result).__name__}: {', '.join(map(repr, question.choices))}."
        )
    if question.unit is not None:
        raise TypeError(f"{question.key} was asked as a number: give one, not {result!r}.")
    if question.choices and result not in question.choices:
        raise ValueError(
            f"{question.key}: the result {result!r} is none of the choices: give one of "
            f"{', '.join(map(repr, question.choices))}."
        )
    return one_line(result, f"{question.key}: the result")


def _checked_unit(question: Question, own: str | None, given: str | None) -> str:
    """The unit a result is kept in.

    Any two bare ratios are one unit; the words of the question are then taken for "times".
    """
    unit = given if given is not None else own
    if unit is None or question.unit is None:
        return unit or question.unit or ""
    if not same_unit(unit, question.unit):
        raise ValueError(
            f"{question.key} was asked in {question.unit!r} and measured in {unit!r}: convert the "
            "result, or ask in its unit."
        )
    return unit if given is not None else in_words(unit, question.unit)
