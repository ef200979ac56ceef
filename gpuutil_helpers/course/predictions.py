"""Guess and measurement side by side, from the lines of the notes in the order written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gpuutil_helpers.course.approximate import approx

Record = Mapping[str, object]


@dataclass(frozen=True)
class Earlier:
    """A result of the same key from before: numbers in the same unit, or a choice."""

    median: float | None
    low: float | None
    high: float | None
    samples: tuple[float, ...]
    choice: str | None
    time: str


@dataclass(frozen=True)
class Measured:
    """A measured result with the reader's guess beside it; what a figure needs to draw both.

    A prediction of a number has `median`, `samples` and, from six samples on, `low` and `high`
    (the interval of the median), all in `unit`. A prediction among choices has `choice` and no
    numbers. A reading that could not be had has neither, and `unavailable` says why.
    """

    key: str
    guess: float | str | None = None
    unit: str = ""
    why: str = ""
    samples: tuple[float, ...] = ()
    median: float | None = None
    low: float | None = None
    high: float | None = None
    earlier: tuple[Earlier, ...] = ()
    choice: str | None = None
    choices: tuple[str, ...] = ()
    unavailable: str | None = None
    late: bool = False
    """Whether the guess was made after the first measurement; it then counts for nothing."""

    @property
    def result(self) -> float | str | None:
        """What was measured, a number or a choice; None where it is unavailable."""
        return self.median if self.choice is None else self.choice

    def sentence(self, name: str = "") -> str:
        """The result with its interval, then the guess; `name` stands for the key."""
        if self.choice is not None:
            found = self.choice
        elif self.median is None:
            return f"{name or self.key}: unavailable, because {self.unavailable}; {self._guessed()}"
        else:
            found = approx(self.median, self.unit)
            if self.low is not None:
                found += f" (95 % interval {approx(self.low)} to {approx(self.high)})"
        return f"{name or self.key}: {found}, measured here; {self._guessed()}"

    def _guessed(self) -> str:
        if self.guess is None:
            return "you made no prediction"
        words = f"you predicted {self.guess} {self.unit}".rstrip()
        return f"{words}, after it was measured" if self.late else words

    @property
    def ratio(self) -> float | None:
        """Guess / median; None without a guess, for a choice, or where the median is 0."""
        if not isinstance(self.guess, (int, float)) or not self.median:
            return None
        return self.guess / self.median

    @property
    def within(self) -> bool | None:
        """Whether the guess lies in the interval; None without a guess or an interval."""
        if not isinstance(self.guess, (int, float)) or self.low is None or self.high is None:
            return None
        return self.low <= self.guess <= self.high

    @property
    def right(self) -> bool | None:
        """Whether the guessed choice was measured; None for numbers or without a guess."""
        if not isinstance(self.guess, str) or self.choice is None:
            return None
        return self.guess == self.choice


def of_key(records: Iterable[Record], lesson: str, key: str) -> tuple[Record, ...]:
    """The predictions and measurements of one key of one lesson."""
    return tuple(
        record
        for record in records
        if record["kind"] in ("prediction", "measurement")
        and (record["lesson"], record["key"]) == (lesson, key)
    )


def has_result(record: Record) -> bool:
    """Whether this line is a measurement that saw something; an unavailable one showed nothing."""
    return record["kind"] == "measurement" and record["unavailable"] is None


def late_predictions(records: Iterable[Record]) -> tuple[Record, ...]:
    """The predictions that stand after the first measurement of their key."""
    seen: set[tuple[object, object]] = set()
    late = []
    for record in records:
        key = (record["lesson"], record["key"])
        if has_result(record):
            seen.add(key)
        elif record["kind"] == "prediction" and key in seen:
            late.append(record)
    return tuple(late)


def last_guess(history: Iterable[Record]) -> tuple[Record | None, bool]:
    """The prediction that counts, and whether it is late.

    The last one before the first measurement counts. If there is none, the last one of all is
    given, as late.
    """
    history = tuple(history)
    late = late_predictions(history)
    predictions = [record for record in history if record["kind"] == "prediction"]
    in_time = [record for record in predictions if not any(record is other for other in late)]
    if in_time:
        return in_time[-1], False
    return (predictions[-1], True) if predictions else (None, False)


def in_words(unit: str, asked: str) -> str:
    """The unit to show: a bare ratio takes the words of what was asked, such as "of the time"."""
    return asked if unit in ("", "times") and asked and _is_ratio(asked) else unit


def is_repeated(history: Iterable[Record], guess: Record) -> bool:
    """Whether storing this guess would add nothing: a cell that was run again.

    Before the first measurement a new reason is new; after it, only a new guess is.
    """
    history = tuple(history)
    stored = [record for record in history if record["kind"] == "prediction"]
    if any(map(has_result, history)):
        return any(_same_guess(record, guess) for record in stored)
    return bool(stored) and _same_guess(stored[-1], guess) and stored[-1]["why"] == guess["why"]


def is_late(history: Iterable[Record], guess: Record) -> bool:
    """Whether this guess comes after the first measurement and is not the one that counts."""
    history = tuple(history)
    counted, late = last_guess(history)
    counts = counted is not None and not late and _same_guess(counted, guess)
    return not counts and any(map(has_result, history))


def _same_guess(record: Record, other: Record) -> bool:
    return (record["guess"], record["unit"]) == (other["guess"], other["unit"])


def same_unit(first: str, second: str) -> bool:
    """Whether numbers in the two units may stand side by side. All bare ratios may."""
    return first == second or (_is_ratio(first) and _is_ratio(second))


def _is_ratio(unit: str) -> bool:
    return unit in ("", "times") or unit.startswith("of ")


def beside(history: Iterable[Record], now: Record) -> Measured:
    """The measurement `now` with the guess and the results that came before it."""
    history = tuple(history)
    guess, late = last_guess(history)
    if guess is not None and not _comparable(guess, now):
        guess, late = None, False
    return Measured(
        key=now["key"],
        guess=None if guess is None else guess["guess"],
        unit=now["unit"] if guess is None else in_words(now["unit"], guess["unit"]),
        why="" if guess is None else guess["why"],
        samples=tuple(now["samples"]),
        median=now["median"],
        low=now["low"],
        high=now["high"],
        earlier=tuple(
            Earlier(
                median=record["median"],
                low=record["low"],
                high=record["high"],
                samples=tuple(record["samples"]),
                choice=record["choice"],
                time=record["time"],
            )
            for record in history
            if has_result(record) and _alike(record, now)
        ),
        choice=now["choice"],
        choices=() if guess is None else tuple(guess["choices"]),
        unavailable=now["unavailable"],
        late=late,
    )


def calibrated(records: Iterable[Record]) -> list[tuple[Record, Measured]]:
    """For each key guessed in time: its first measurement, beside the guess that counts."""
    records = tuple(records)
    pairs = []
    for first in _first_results(records):
        history = of_key(records, first["lesson"], first["key"])
        before = history[: next(i for i, record in enumerate(history) if record is first)]
        measured = beside(before, first)
        if measured.guess is not None:
            pairs.append((first, measured))
    return pairs


def _first_results(records: Iterable[Record]) -> list[Record]:
    first: dict[tuple[object, object], Record] = {}
    for record in records:
        if has_result(record):
            first.setdefault((record["lesson"], record["key"]), record)
    return list(first.values())


def _comparable(guess: Record, now: Record) -> bool:
    if now["unavailable"] is not None:
        return True
    if isinstance(guess["guess"], str):
        return now["choice"] is not None
    return now["choice"] is None and same_unit(guess["unit"], now["unit"])


def _alike(record: Record, now: Record) -> bool:
    """Whether the two may stand side by side: same kind, unit and controls (machine, threads)."""
    return (
        (record["choice"] is None) == (now["choice"] is None)
        and same_unit(record["unit"], now["unit"])
        and (record.get("controls") or {}) == (now.get("controls") or {})
    )
