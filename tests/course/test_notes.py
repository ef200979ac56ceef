"""The reader's notes: what is stored, what is refused, which guess counts, what the tables say."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

from gpuutil_helpers.course.notes import LabNotes
from gpuutil_helpers.files import artifacts_dir
from gpuutil_helpers.instruments.measurement import Measurement
from gpuutil_helpers.instruments.unavailable import Unavailable

KEY = "every sixteenth"


@pytest.fixture
def notes(tmp_path: Path) -> LabNotes:
    return LabNotes("00", tmp_path / "artifacts" / "notes.jsonl")


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]):
    """What was printed since the last call."""
    return lambda: capsys.readouterr().out


def reopened(notes: LabNotes, lesson: str = "00") -> LabNotes:
    """The notes as a new kernel sees them."""
    return LabNotes(lesson, notes.path)


def stored(notes: LabNotes) -> list[dict]:
    if not notes.path.exists():
        return []
    return [json.loads(line) for line in notes.path.read_text(encoding="utf-8").splitlines()]


def measurement(*samples: float, unit: str = "times") -> Measurement:
    return Measurement("first / second", unit, samples, (), "interleaved pairs", {})


SEVEN = measurement(1.3, 1.1, 1.2, 1.25, 1.15, 1.22, 1.18)


# What a prediction may be


def test_an_unanswered_stub_stores_nothing(notes: LabNotes, printed) -> None:
    notes.predict(KEY, ..., unit="of the time", why=...)
    notes.predict("which", ..., choices=("memory", "arithmetic"))
    assert printed() == f"{KEY}: no prediction yet\nwhich: no prediction yet\n"
    assert not notes.path.exists()


def test_a_number_is_stored_with_its_unit_and_reason(notes: LabNotes, printed) -> None:
    notes.predict(KEY, 0.1, unit="of the time", why=" fewer additions, größer ")
    assert printed() == f"{KEY}: your guess 0.1 of the time is stored\n"
    (record,) = stored(notes)
    assert (record["kind"], record["lesson"], record["key"]) == ("prediction", "00", KEY)
    assert (record["guess"], record["unit"]) == (0.1, "of the time")
    assert record["why"] == "fewer additions, größer"


@pytest.mark.parametrize(
    ("guess", "text"),
    [(3, "3"), (np.float64(0.5), "0.5"), (torch.tensor(2), "2.0"), (-1.5, "-1.5")],
)
def test_numbers_of_any_library_count(notes: LabNotes, printed, guess: object, text: str) -> None:
    notes.predict(KEY, guess, unit="ms", why="so")
    assert printed() == f"{KEY}: your guess {text} ms is stored\n"


@pytest.mark.parametrize("why", [..., "", " ", "...", "…", " . . . "])
def test_a_guess_without_a_reason_says_so(notes: LabNotes, printed, why: object) -> None:
    notes.predict(KEY, 0.1, why=why)
    assert printed() == f"{KEY}: your guess 0.1 is stored, without a reason\n"
    assert stored(notes)[0]["why"] == ""


@pytest.mark.parametrize(
    "guess",
    [
        *("0.1", "", "half", True, False, None, [0.1], {}, 1j, np.array([0.1]), torch.ones(3)),
        *(math.nan, math.inf, -math.inf, np.float32("nan"), 10**400, np.True_),
    ],
)
def test_a_guess_that_is_no_number(notes: LabNotes, printed, guess: object) -> None:
    notes.predict("before", 1, why="so")
    before = notes.path.read_bytes()
    printed()
    with pytest.raises((TypeError, ValueError), match=f"^{KEY}: the guess is .*: give a .*number"):
        notes.predict(KEY, guess, unit="of the time", why="so")
    assert notes.path.read_bytes() == before
    assert printed() == ""


def test_a_text_is_told_to_lose_its_quotes(notes: LabNotes) -> None:
    with pytest.raises(TypeError) as caught:
        notes.predict(KEY, "0.1")
    assert str(caught.value) == (
        "every sixteenth: the guess is '0.1': give a number, such as 0.5, without quotes."
    )


def test_a_choice_is_stored_as_the_question_spells_it(notes: LabNotes, printed) -> None:
    notes.predict("limit", " Memory ", choices=("memory", "arithmetic"), why="so")
    assert printed() == "limit: your guess memory is stored\n"
    assert stored(notes)[0]["guess"] == "memory"
    assert stored(notes)[0]["choices"] == ["memory", "arithmetic"]


@pytest.mark.parametrize("guess", ["disk", "", "mem", 0, True, None, 0.5])
def test_a_guess_that_is_none_of_the_choices(notes: LabNotes, guess: object) -> None:
    with pytest.raises(ValueError, match="none of the choices: give one of 'memory', 'arithmetic'"):
        notes.predict("limit", guess, choices=("memory", "arithmetic"))
    assert stored(notes) == []


@pytest.mark.parametrize(
    "choices",
    ["memory", (), ("one",), ("a", "a"), ("a", " A "), ("a", ""), (1, 2), ("a", None), 5, {1: 2}],
)
def test_choices_that_leave_no_choice(notes: LabNotes, choices: object) -> None:
    with pytest.raises((TypeError, ValueError), match=r"^limit: the choices are .*: give "):
        notes.predict("limit", ..., choices=choices)


def test_other_arguments_of_the_wrong_kind(notes: LabNotes) -> None:
    with pytest.raises(ValueError, match="a choice has no unit"):
        notes.predict("limit", ..., unit="ms", choices=("a", "b"))
    with pytest.raises(TypeError, match="limit: the unit is 3: give a text"):
        notes.predict("limit", ..., unit=3)
    with pytest.raises(TypeError, match="why is 3: write a text in quotes"):
        notes.predict("limit", 1, why=3)
    for key in ("", " ", "two\nlines", None, 3):
        with pytest.raises((TypeError, ValueError), match=r"^the key is .*: give "):
            notes.predict(key, 1)
        with pytest.raises((TypeError, ValueError), match=r"^the key is .*: give "):
            notes.measured(key, 1)
    assert stored(notes) == []


def test_a_large_thing_in_the_wrong_place_still_gives_one_line(notes: LabNotes) -> None:
    frame = pd.DataFrame({"a": range(100)})
    for wrong in (
        lambda: notes.predict(KEY, frame),
        lambda: notes.predict(KEY, frame, choices=("a", "b")),
        lambda: notes.predict(KEY, 1, choices=frame),
        lambda: notes.predict(KEY, 1, why=frame),
        lambda: notes.measured(KEY, frame),
        lambda: notes.decide("reading", decision=frame),
        lambda: LabNotes(frame),
    ):
        with pytest.raises((TypeError, ValueError)) as caught:
            wrong()
        assert "of type DataFrame" in str(caught.value)
        assert "\n" not in str(caught.value)


# What a result may be


def test_a_measurement_keeps_samples_and_interval(notes: LabNotes) -> None:
    notes.predict(KEY, 0.1, unit="of the time", why="fewer")
    measured = notes.measured(KEY, SEVEN)
    assert (measured.key, measured.guess, measured.why) == (KEY, 0.1, "fewer")
    assert measured.samples == SEVEN.samples
    assert (measured.median, measured.low, measured.high) == (1.2, SEVEN.low, SEVEN.high)
    assert measured.unit == "of the time"
    assert measured.result == 1.2
    assert measured.ratio == pytest.approx(0.1 / 1.2)
    assert (measured.within, measured.right, measured.late) == (False, None, False)
    assert measured.earlier == ()
    record = stored(notes)[-1]
    assert record["samples"] == list(SEVEN.samples)
    assert record["name"] == "first / second"


@pytest.mark.parametrize(
    ("guess", "within"), [(0.9, False), (1.1, True), (1.2, True), (1.3, True), (1.4, False)]
)
def test_whether_the_guess_lies_in_the_interval(
    notes: LabNotes, guess: float, within: bool
) -> None:
    notes.predict(KEY, guess, unit="times")
    assert (SEVEN.low, SEVEN.high) == (1.1, 1.3)
    assert notes.measured(KEY, SEVEN).within is within


def test_few_samples_have_no_interval(notes: LabNotes) -> None:
    notes.predict(KEY, 1.0)
    measured = notes.measured(KEY, measurement(1.0, 1.2, 1.1))
    assert (measured.median, measured.low, measured.high) == (1.1, None, None)
    assert measured.within is None


@pytest.mark.parametrize("number", [5, 5.0, np.float32(5), torch.tensor(5.0)])
def test_a_plain_number_is_a_result(notes: LabNotes, number: object) -> None:
    measured = notes.measured("first fill", number, unit="times")
    assert (measured.median, measured.samples, measured.unit) == (5.0, (), "times")
    assert (measured.guess, measured.ratio, measured.within) == (None, None, None)


@pytest.mark.parametrize(
    "result", [True, None, ..., math.nan, math.inf, [1.0], np.ones(3), torch.ones(3), "", "a\nb"]
)
def test_a_result_that_is_none(notes: LabNotes, result: object) -> None:
    with pytest.raises((TypeError, ValueError), match=f"^{KEY}: the result is .*: give "):
        notes.measured(KEY, result)
    assert stored(notes) == []


def test_a_measurement_with_a_sample_that_is_no_number(notes: LabNotes) -> None:
    broken = SimpleNamespace(median=1.0, samples=(1.0, math.nan), unit="s", name="x")
    with pytest.raises(ValueError, match="a sample is nan"):
        notes.measured(KEY, broken)
    assert stored(notes) == []


def test_a_choice_is_right_or_wrong(notes: LabNotes) -> None:
    for key, guess in (("first", "memory"), ("second", "arithmetic")):
        notes.predict(key, guess, choices=("memory", "arithmetic"))
    first, second = notes.measured("first", "memory"), notes.measured("second", "memory")
    assert (first.right, second.right) == (True, False)
    assert (first.result, first.choice, first.median, first.samples) == (
        "memory",
        "memory",
        None,
        (),
    )
    assert (first.ratio, first.within) == (None, None)
    assert first.choices == ("memory", "arithmetic")


def test_a_result_answers_the_question_that_was_asked(notes: LabNotes) -> None:
    notes.predict("limit", ..., choices=("memory", "arithmetic"))
    notes.predict(KEY, ..., unit="ms")
    with pytest.raises(ValueError, match="the result 'disk' is none of the choices"):
        notes.measured("limit", "disk")
    with pytest.raises(TypeError, match="limit was asked as a choice: give the one that was seen"):
        notes.measured("limit", SEVEN)
    with pytest.raises(TypeError, match="was asked as a number: give one, not 'memory'"):
        notes.measured(KEY, "memory")
    with pytest.raises(ValueError, match="was asked in 'ms' and measured in 's': convert"):
        notes.measured(KEY, measurement(1.0, unit="s"))
    with pytest.raises(ValueError, match="was asked in 'ms' and measured in 'us': convert"):
        notes.measured(KEY, measurement(1.0, unit="ms"), unit="us")
    assert stored(notes) == []


@pytest.mark.parametrize(
    ("asked", "own", "given", "kept"),
    [
        ("of the time", "times", None, "of the time"),
        ("times", "times", None, "times"),
        (None, "times", None, "times"),
        (None, "s", "of the step", "of the step"),
        ("of the time", "times", "of the step", "of the step"),
        ("ms", "ms", None, "ms"),
        ("times", "s", "times", "times"),
    ],
)
def test_which_unit_a_result_takes(
    notes: LabNotes, asked: str | None, own: str, given: str | None, kept: str
) -> None:
    notes.predict(KEY, ..., unit=asked)
    assert notes.measured(KEY, measurement(1.0, unit=own), unit=given).unit == kept


def test_percent_is_not_a_bare_ratio(notes: LabNotes) -> None:
    notes.predict(KEY, ..., unit="%")
    with pytest.raises(ValueError, match="was asked in '%' and measured in 'times'"):
        notes.measured(KEY, SEVEN)


def test_a_new_kernel_takes_the_words_of_the_stored_guess(notes: LabNotes) -> None:
    notes.predict(KEY, 0.1, unit="of the time")
    for result in (SEVEN, 1.2):
        measured = reopened(notes).measured(KEY, result)
        assert (measured.unit, measured.guess) == ("of the time", 0.1)
    notes.predict("fill", 5, unit="ms")
    assert reopened(notes).measured("fill", 4).unit == "ms"


def test_an_old_guess_in_another_unit_is_named_and_not_compared(notes: LabNotes, printed) -> None:
    notes.predict(KEY, 100, unit="ms")
    printed()
    measured = reopened(notes).measured(KEY, measurement(0.2, unit="s"))
    assert printed() == f"{KEY}: your guess 100 ms cannot be compared with a result in s\n"
    assert (measured.guess, measured.unit, measured.late) == (None, "s", False)
    assert len(notes.calibration()) == 0


def test_unavailable_is_neither_zero_nor_a_measurement(notes: LabNotes, printed) -> None:
    notes.predict("power", 200, unit="W", why="so")
    measured = notes.measured("power", Unavailable("there is no GPU"))
    assert (measured.median, measured.result, measured.ratio) == (None, None, None)
    assert (measured.unavailable, measured.guess, measured.unit) == ("there is no GPU", 200, "W")
    assert notes.table()["what"].tolist() == [200, "unavailable, because there is no GPU"]
    assert len(notes.calibration()) == 0
    printed()
    notes.predict("power", 100, unit="W", why="so")
    assert printed() == "power: your guess 100 W is stored\n"
    assert notes.measured("power", 90, unit="W").earlier == ()


# Which guess counts


def test_a_guess_after_the_measurement_is_late(notes: LabNotes, printed) -> None:
    notes.measured(KEY, SEVEN)
    notes.predict(KEY, 1.2, unit="times", why="I saw it")
    assert printed() == (
        f"{KEY}: your guess 1.2 times came after the measurement and does not count\n"
    )
    measured = notes.measured(KEY, SEVEN)
    assert (measured.guess, measured.late) == (1.2, True)
    assert len(notes.calibration()) == 0
    assert notes.table()["late"].tolist() == [pd.NA, True, pd.NA]


def test_the_last_guess_before_the_first_measurement_counts(notes: LabNotes, printed) -> None:
    notes.predict(KEY, 0.1, unit="times")
    notes.predict(KEY, 0.5, unit="times", why="so")
    notes.measured(KEY, 2.0, unit="times")
    printed()
    notes.predict(KEY, 2.0, unit="times")
    assert printed() == (
        f"{KEY}: your guess 2.0 times came after the measurement and does not count; "
        "0.5 times, made before it, counts\n"
    )
    measured = notes.measured(KEY, 4.0, unit="times")
    assert (measured.guess, measured.late) == (0.5, False)
    (row,) = notes.calibration().to_dict("records")
    assert (row["guess"], row["measured"], row["ratio"]) == (0.5, 2.0, 0.25)


def test_running_every_cell_again_changes_nothing_of_the_guess(notes: LabNotes, printed) -> None:
    said = set()
    for _ in range(3):
        again = reopened(notes)
        again.predict(KEY, 0.1, unit="times", why="fewer")
        said.add(printed())
        again.measured(KEY, 1.2, unit="times")
    assert said == {f"{KEY}: your guess 0.1 times is stored\n"}
    assert [record["kind"] for record in stored(notes)] == ["prediction", *["measurement"] * 3]


def test_a_late_guess_is_stored_once(notes: LabNotes) -> None:
    notes.measured(KEY, 1.2)
    for _ in range(3):
        notes.predict(KEY, 0.1)
    notes.predict(KEY, 0.2)
    assert [record["kind"] for record in stored(notes)] == ["measurement", *["prediction"] * 2]


def test_a_better_reason_before_the_measurement_is_stored(notes: LabNotes) -> None:
    for why in ("", "fewer additions", "fewer additions"):
        notes.predict(KEY, 0.1, why=why)
    assert [record["why"] for record in stored(notes)] == ["", "fewer additions"]


def test_measuring_again_gives_the_earlier_results(notes: LabNotes) -> None:
    notes.measured(KEY, SEVEN)
    notes.measured("another", 9.0)
    notes.measured(KEY, measurement(5.0, unit="s"))
    reopened(notes, "01").measured(KEY, 8.0)
    measured = reopened(notes).measured(KEY, 2.0, unit="times")
    (earlier,) = measured.earlier
    assert (earlier.median, earlier.low, earlier.high) == (1.2, SEVEN.low, SEVEN.high)
    assert earlier.samples == SEVEN.samples
    assert earlier.time == stored(notes)[0]["time"]
    assert [past.median for past in notes.measured(KEY, 3.0, unit="times").earlier] == [1.2, 2.0]


def test_lessons_share_a_file_and_no_keys(notes: LabNotes) -> None:
    notes.measured(KEY, 1.0)
    other = reopened(notes, "01")
    other.predict(KEY, 2.0)
    measured = other.measured(KEY, 4.0)
    assert (measured.late, measured.earlier) == (False, ())
    (row,) = notes.calibration().to_dict("records")
    assert (row["lesson"], row["ratio"]) == ("01", 0.5)


# Decisions and debugging notes

DECISION = {
    "decision": "read each number once",
    "because": "the control took less than half",
    "gives_up": "nothing measured here",
    "would_change_if": "the data fitted a cache",
    "next_step": "count bytes in the loader",
}
NOTE = {
    "symptom": "loss is nan",
    "evidence": "step 12",
    "hypothesis": "rate too high",
    "experiment": "a tenth of it",
    "outcome": "finite",
}


def test_an_unanswered_decision_names_what_is_missing(notes: LabNotes, printed) -> None:
    notes.decide("reading")
    notes.decide("reading", **dict.fromkeys(DECISION, ...))
    line = "not decided yet: decision, because, gives_up, would_change_if, next_step"
    assert printed() == f"reading: {line}\n" * 2
    notes.debug()
    assert printed() == (
        "debugging note: not complete yet: symptom, evidence, hypothesis, experiment, outcome\n"
    )
    assert not notes.path.exists()


@pytest.mark.parametrize("blank", [..., "", " \n", "...", "…"])
def test_a_blank_part_is_missing_and_nothing_is_stored(
    notes: LabNotes, printed, blank: object
) -> None:
    notes.decide("reading", **DECISION | {"because": blank, "next_step": blank})
    assert printed() == "reading: not decided yet: because, next_step\n"
    notes.debug(**NOTE | {"outcome": blank})
    assert printed() == "debugging note: not complete yet: outcome\n"
    assert not notes.path.exists()


@pytest.mark.parametrize("wrong", [None, 3, True, ["text"], {"a": 1}])
def test_a_part_that_is_no_text(notes: LabNotes, wrong: object) -> None:
    with pytest.raises(TypeError, match=r"^gives_up is .*: write a text in quotes, or leave"):
        notes.decide("reading", **DECISION | {"gives_up": wrong})
    with pytest.raises(TypeError, match=r"^outcome is .*: write a text in quotes, or leave"):
        notes.debug(**NOTE | {"outcome": wrong})
    assert not notes.path.exists()


def test_a_decision_is_stored_once_until_it_changes(notes: LabNotes, printed) -> None:
    for _ in range(2):
        notes.decide("reading", **DECISION)
    assert printed() == "reading: decided: read each number once\n" * 2
    notes.decide("other", **DECISION)
    notes.decide("reading", **DECISION | {"next_step": "nothing\nmore"})
    notes.decide("reading", *DECISION.values())
    records = notes.records("decision")
    assert [record["key"] for record in records] == ["reading", "other", "reading", "reading"]
    assert records[0].items() >= DECISION.items()
    assert records[2]["next_step"] == "nothing\nmore"


def test_a_debugging_note_is_stored(notes: LabNotes, printed) -> None:
    notes.debug(**NOTE | {"symptom": "loss\nis  nan"})
    assert printed() == "debugging note: loss is nan\n"
    (record,) = notes.records("debugging")
    assert record["symptom"] == "loss\nis  nan"
    assert record["outcome"] == "finite"


# Tables


def filled(notes: LabNotes) -> None:
    notes.predict(KEY, 1.21, unit="times", why="same lines")
    notes.measured(KEY, SEVEN)
    notes.predict("limit", "memory", choices=("memory", "arithmetic"))
    notes.measured("limit", "arithmetic")
    notes.predict("zero", 1, unit="s")
    notes.measured("zero", 0.0, unit="s")
    notes.predict("never measured", 1)
    notes.measured("never guessed", 1)
    notes.decide("reading", **DECISION)
    notes.debug(**NOTE)


def test_calibration_of_numbers_and_choices(notes: LabNotes) -> None:
    filled(notes)
    number, choice, zero = notes.calibration().to_dict("records")
    assert (number["lesson"], number["key"], number["unit"]) == ("00", KEY, "times")
    assert (number["guess"], number["measured"]) == (1.21, 1.2)
    assert (number["low"], number["high"]) == (SEVEN.low, SEVEN.high)
    assert number["ratio"] == pytest.approx(1.21 / 1.2)
    assert number["within"] is True
    assert pd.isna(number["right"])
    assert (choice["guess"], choice["measured"]) == ("memory", "arithmetic")
    assert choice["right"] is False
    assert pd.isna(choice["within"])
    assert math.isnan(choice["ratio"])
    assert (zero["measured"], math.isnan(zero["ratio"])) == (0.0, True)


def test_the_table_holds_everything_in_order(notes: LabNotes) -> None:
    filled(notes)
    table = notes.table()
    assert table["kind"].tolist() == [
        *["prediction", "measurement"] * 3,
        *("prediction", "measurement", "decision", "debugging"),
    ]
    assert table["what"].tolist() == [
        *(1.21, 1.2, "memory", "arithmetic", 1, 0.0, 1, 1.0),
        *("read each number once", "loss is nan"),
    ]
    assert table["details"][0] == "same lines"
    assert table["details"][1] == "first / second, n = 7"
    assert table["details"][8] == (
        "because: the control took less than half; gives up: nothing measured here; "
        "would change if: the data fitted a cache; next step: count bytes in the loader"
    )
    assert table["late"].tolist()[:2] == [False, pd.NA]


def test_empty_tables_have_the_columns_and_kinds_of_full_ones(notes: LabNotes) -> None:
    empty = notes.table(), notes.calibration()
    assert not notes.path.exists()
    filled(notes)
    for before, after in zip(empty, (notes.table(), notes.calibration()), strict=True):
        assert len(before) == 0 < len(after)
        assert before.dtypes.equals(after.dtypes)
    assert list(empty[0].columns) == [
        *("time", "lesson", "kind", "key", "what", "unit", "low", "high", "late", "details"),
    ]
    assert list(empty[1].columns) == [
        *("lesson", "key", "unit", "guess", "measured", "low", "high", "ratio", "within", "right"),
    ]


def test_records_of_an_unknown_kind(notes: LabNotes) -> None:
    with pytest.raises(ValueError, match="the kind is 'guess': give one of prediction, "):
        notes.records("guess")


# The file


def test_a_damaged_file_says_so_once_and_loses_nothing(notes: LabNotes, printed) -> None:
    filled(notes)
    lines = notes.path.read_bytes().splitlines(keepends=True)
    damaged = b"".join((lines[0], b"#!?\xff\n", b'{"version": 7}\n', *lines[1:], b'{"version": 1'))
    notes.path.write_bytes(damaged)
    printed()
    again = reopened(notes)
    assert len(again.table()) == len(lines)
    assert printed() == (
        "notes.jsonl: left out here, and kept in the file: 2 lines cannot be read, "
        "1 line of a newer version of this course\n"
    )
    again.predict("next", 2, why="so")
    assert printed() == "next: your guess 2 is stored\n"
    assert again.measured("next", 2).guess == 2
    assert notes.path.read_bytes().startswith(damaged + b"\n")
    assert len(again.calibration()) == 4


def test_a_folder_that_cannot_be_used_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    for path in (tmp_path, tmp_path / "file" / "notes.jsonl"):
        with pytest.raises(OSError, match=r"^The notes in .*: make the file and its folder"):
            LabNotes("00", path).predict(KEY, 0.1)
        with pytest.raises(OSError, match=r"^The notes in .*: make the file and its folder"):
            LabNotes("00", path).decide("reading", **DECISION)


def test_the_default_file_and_a_repr_without_it() -> None:
    notes = LabNotes("03")
    assert notes.path == artifacts_dir() / "notes.jsonl"
    assert repr(notes) == "LabNotes('03')"


def test_the_stub_run_again_says_that_a_guess_is_stored(tmp_path, capsys):
    notes = LabNotes("00", tmp_path / "notes.jsonl")
    notes.predict("share", 0.5, unit="times")
    capsys.readouterr()
    notes.predict("share", ..., unit="times")
    assert capsys.readouterr().out == "share: 0.5 times is stored\n"


def test_a_bad_line_that_is_gone_again_is_not_spoken_of(tmp_path, capsys):
    path = tmp_path / "notes.jsonl"
    path.write_text("garbage\n", encoding="utf-8")
    notes = LabNotes("00", path)
    notes.records()
    assert "1 line" in capsys.readouterr().out
    path.write_text("", encoding="utf-8")
    notes.records()
    assert capsys.readouterr().out == ""


def test_an_earlier_run_under_other_controls_is_not_set_beside_this_one(tmp_path):
    notes = LabNotes("00", tmp_path / "notes.jsonl")

    def run(threads: int) -> Measurement:
        return Measurement("sum", "s", (1.0,) * 6, controls={"threads": threads})

    notes.measured("sum", run(1))
    assert notes.measured("sum", run(2)).earlier == ()
    assert len(notes.measured("sum", run(1)).earlier) == 1
