"""The reader's lab notes: predictions, results, decisions, debugging notes. Nothing is filled in.

A stub that still holds `...` stores nothing and says so. What is stored goes, line by line, into
one file for the whole course; its format stands in `journal`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import EllipsisType
from typing import TYPE_CHECKING

from gpuutil_helpers.course import journal, predictions, questions, tables
from gpuutil_helpers.course.checks import one_line, shown
from gpuutil_helpers.course.predictions import Measured
from gpuutil_helpers.course.questions import Question
from gpuutil_helpers.files import artifacts_dir

if TYPE_CHECKING:
    from pandas import DataFrame

Text = str | EllipsisType
"""What the reader writes, or the `...` that stands there until then."""


class LabNotes:
    """The notes of one lesson, in a file that all lessons share.

    Args:
        lesson: the lesson's two digits, such as "00".
        path: the file; without it, `notes.jsonl` in the artifacts folder.

    Raises:
        ValueError: `lesson` is not two digits in quotes.
    """

    def __init__(self, lesson: str, path: str | Path | None = None) -> None:
        if not isinstance(lesson, str) or not re.fullmatch("[0-9]{2}", lesson):
            raise ValueError(
                f"the lesson is {shown(lesson)}: give its two digits in quotes, such as '00'."
            )
        self.lesson = lesson
        self.path = Path(path) if path is not None else artifacts_dir() / "notes.jsonl"
        self._asked: dict[str, Question] = {}
        self._told = ""

    def __repr__(self) -> str:
        return f"LabNotes({self.lesson!r})"

    def predict(
        self,
        key: str,
        guess: float | Text,
        unit: str | None = None,
        choices: Sequence[str] | None = None,
        why: Text = "",
    ) -> None:
        """Store a guess before the measurement; `...` stores nothing.

        The last guess before the first measurement is the one that counts. A later one is stored
        and said to be late. The same guess again is not stored twice.

        Args:
            key: what is guessed; `measured` uses the same.
            guess: a finite number, or one of `choices`.
            unit: of the number, such as "ms" or "of the time".
            choices: the named choices, at least two; then `guess` is one of them.
            why: the reader's reason.

        Raises:
            TypeError, ValueError: the guess is neither; nothing is stored.
        """
        question = questions.ask(key, unit, choices)
        self._asked[key] = question
        if guess is ...:
            stored, _ = predictions.last_guess(self._history(key))
            kept = "no prediction yet" if stored is None else f"{_in_unit(stored)} is stored"
            print(f"{key}: {kept}")
            return
        fields = {
            "guess": questions.checked_guess(question, guess),
            "unit": unit or "",
            "choices": list(question.choices),
            "why": _written(why, "why"),
        }
        history = self._history(key)
        if not predictions.is_repeated(history, fields):
            self._append("prediction", key, fields)
        print(_receipt(key, fields, history))

    def measured(self, key: str, result: object, unit: str | None = None) -> Measured:
        """Store a result; return it with the guess and the earlier results of the same key.

        Args:
            key: as in `predict`; without a prediction the result stands alone.
            result: a `Measurement`, a finite number, the choice that was seen, or an unavailable
                reading.
            unit: of the result, in place of its own. Bare ratios ("times", "of the time") count
                as one unit, and take the words of the question.

        Raises:
            TypeError, ValueError: `result` is none of these, or does not answer what `predict`
                asked; nothing is stored.
        """
        one_line(key, "the key")
        history = self._history(key)
        guess, _ = predictions.last_guess(history)
        question = self._asked.get(key, Question(key))
        if unit is None and key not in self._asked and guess and not hasattr(result, "unit"):
            unit = guess["unit"]  # A plain number, in a kernel that has not asked yet.
        fields = questions.result_fields(question, result, unit)
        self._append("measurement", key, fields)
        measured = predictions.beside(history, {"key": key, **fields})
        if guess is not None and measured.guess is None:
            print(
                f"{key}: your guess {_in_unit(guess)} cannot be compared with a result in "
                f"{measured.unit or 'no unit'}"
            )
        return measured

    def decide(
        self,
        key: str,
        decision: Text = ...,
        because: Text = ...,
        gives_up: Text = ...,
        would_change_if: Text = ...,
        next_step: Text = ...,
    ) -> None:
        """Store a decision; while a part of it is missing, name the missing parts and store none.

        Args:
            key: what is decided.
            decision: what the reader chooses.
            because: the measurement it rests on.
            gives_up: what the choice costs.
            would_change_if: what would turn it.
            next_step: what to do or measure next.

        Raises:
            TypeError: a part is no text; nothing is stored.
        """
        one_line(key, "the key")
        parts = {
            **{"decision": decision, "because": because, "gives_up": gives_up},
            **{"would_change_if": would_change_if, "next_step": next_step},
        }
        self._keep(
            "decision", key, parts, pending=f"{key}: not decided yet", done=f"{key}: decided"
        )

    def debug(
        self,
        symptom: Text = ...,
        evidence: Text = ...,
        hypothesis: Text = ...,
        experiment: Text = ...,
        outcome: Text = ...,
    ) -> None:
        """Store a debugging note; while a part is missing, name the missing parts and store none.

        Args:
            symptom: what went wrong, as seen.
            evidence: what was measured of it.
            hypothesis: the cause suspected.
            experiment: the one change that tests it.
            outcome: what the change did.

        Raises:
            TypeError: a part is no text; nothing is stored.
        """
        parts = {
            **{"symptom": symptom, "evidence": evidence, "hypothesis": hypothesis},
            **{"experiment": experiment, "outcome": outcome},
        }
        name = "debugging note"
        self._keep("debugging", "debugging", parts, pending=f"{name}: not complete yet", done=name)

    def records(self, kind: str | None = None) -> tuple[Mapping[str, object], ...]:
        """The lines of all lessons as stored, or those of one kind; `journal` names the kinds.

        Raises:
            ValueError: there is no such kind.
        """
        if kind is not None and kind not in journal.KINDS:
            raise ValueError(f"the kind is {kind!r}: give one of {', '.join(journal.KINDS)}.")
        read = journal.read(self.path)
        told = journal.what_was_left_out(read)
        if told != self._told:
            self._told = told
            if told:
                print(f"{self.path.name}: {told}")
        return tuple(record for record in read.records if kind in (None, record["kind"]))

    def table(self) -> DataFrame:
        """Every note of every lesson, in the order written; see `tables.notes_table`."""
        return tables.notes_table(self.records())

    def calibration(self) -> DataFrame:
        """Guesses made in time beside what was measured; see `tables.calibration_table`."""
        return tables.calibration_table(self.records())

    def _keep(
        self, kind: str, key: str, parts: Mapping[str, Text], *, pending: str, done: str
    ) -> None:
        written = {name: _written(text, name) for name, text in parts.items()}
        missing = [name for name, text in written.items() if not text]
        if missing:
            print(f"{pending}: {', '.join(missing)}")
            return
        same_key = [
            record
            for record in self.records(kind)
            if (record["lesson"], record["key"]) == (self.lesson, key)
        ]
        if not same_key or any(same_key[-1][name] != text for name, text in written.items()):
            self._append(kind, key, written)
        print(f"{done}: {' '.join(next(iter(written.values())).split())}")

    def _append(self, kind: str, key: str, fields: Mapping[str, object]) -> None:
        journal.append(self.path, {"kind": kind, "lesson": self.lesson, "key": key, **fields})

    def _history(self, key: str) -> tuple[Mapping[str, object], ...]:
        return predictions.of_key(self.records(), self.lesson, key)


def _receipt(
    key: str, guess: Mapping[str, object], history: tuple[Mapping[str, object], ...]
) -> str:
    """What `predict` prints of a guess, given what was stored before it."""
    if not predictions.is_late(history, guess):
        reason = "" if guess["why"] else ", without a reason"
        return f"{key}: your guess {_in_unit(guess)} is stored{reason}"
    counted, late = predictions.last_guess(history)
    other = "" if counted is None or late else f"; {_in_unit(counted)}, made before it, counts"
    return (
        f"{key}: your guess {_in_unit(guess)} came after the measurement and does not count{other}"
    )


def _in_unit(guess: Mapping[str, object]) -> str:
    return f"{guess['guess']} {guess['unit']}".rstrip()


def _written(text: Text, name: str) -> str:
    """The text, stripped; empty while the stub's dots stand there, in quotes or not."""
    if text is ...:
        return ""
    if not isinstance(text, str):
        raise TypeError(
            f"{name} is {shown(text)}: write a text in quotes, or leave the three dots."
        )
    return text.strip() if text.strip(" \t\r\n.\u2026") else ""
