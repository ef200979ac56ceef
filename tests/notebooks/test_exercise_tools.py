"""The exercise matrix itself: on the sample lesson, and on checks that are wrong in known ways."""

from __future__ import annotations

import copy

import pytest
from nbformat import NotebookNode

from lane import exercises, reading
from lane.exercises import OPEN, RIGHT, WRONG, Attempt, Case, Misconception
from lane.places import SAMPLE

CASES = {
    "1": Case(
        (
            Misconception("one kind", stub={"held = ...": "held = 4 * n"}),
            Misconception("one size", stub={"held = ...": "held = 4 * n + 3 * 4"}),
            Misconception("no idea", source='held = 1\ncheck("1", held, 4 * n + 24, {})'),
        ),
        never=("24",),
    ),
    "2": Case(
        (
            Misconception("the mean", solution={"sorted(slow)[4], 10.1": "23.0, 10.1"}),
            Misconception("begun", stub={'"2", ...': '"2", None'}, expected=OPEN),
        )
    ),
}


@pytest.fixture(scope="module")
def sample() -> reading.Lesson:
    return reading.load(SAMPLE)


@pytest.fixture(scope="module")
def tried(sample) -> dict[str, list[Attempt]]:
    return exercises.try_lesson(sample, CASES)


@pytest.mark.parametrize("number", ["1", "2"])
def test_the_exercises_of_the_sample_are_sound(tried, number):
    assert exercises.complaints(number, CASES[number], tried[number]) == []


def test_every_kind_of_answer_was_tried_twice(tried):
    labels = [attempt.label for attempt in tried["1"]]
    assert labels == [
        "the stub",
        "empty: None",
        "empty: ''",
        "wrong type: object()",
        "wrong type: [[]]",
        "wrong type: float('nan')",
        "wrong type: '?'",
        "misconception: one kind",
        "misconception: one size",
        "misconception: no idea",
        "the solution",
    ]
    assert all(len(attempt.printed) == 2 for attempt in tried["1"])


def test_hints_are_read(tried):
    hints = {a.label: a.hint("1") for a in tried["1"]}
    assert hints["misconception: one size"] == "which kind are the last three?"
    assert hints["the solution"] == hints["the stub"] == ""


def attempt(label: str, *said: str, expected: str = WRONG, error: str | None = None) -> Attempt:
    return Attempt(label, "", (expected,), said, error)


GOOD = [
    attempt("the stub", "1: not answered yet: a number\n", expected=OPEN),
    attempt("wrong type: []", "1: not yet: is it a number?\n"),
    attempt("wrong type: {}", "1: not yet: is it a number?\n"),
    attempt("misconception: a", "1: not yet: what of two?\n"),
    attempt("misconception: b", "1: not yet: try three first.\n"),
    attempt("the solution", "1: yes, it is\n", expected=RIGHT),
]
CASE = Case((Misconception("a", source="a"), Misconception("b", source="b")), never=("seven",))


def test_good_answers_have_no_complaint():
    assert exercises.complaints("1", CASE, GOOD) == []


@pytest.mark.parametrize(
    ("place", "bad", "says"),
    [
        (0, attempt("the stub", "1: yes, fine\n", expected=OPEN), "'1: not answered yet' is"),
        (0, attempt("the stub", "", expected=OPEN), "prints 0 lines"),
        (1, attempt("wrong type: []", "", error="TypeError: no len"), "raises TypeError: no len"),
        (1, attempt("wrong type: []", "1: yes, fine\n"), "where '1: not yet: ' is expected"),
        (3, attempt("misconception: a", "1: yes, fine\n"), "where '1: not yet: ' is expected"),
        (3, attempt("misconception: a", "1: not yet: a?\n1: not yet: b?\n"), "prints 2 lines"),
        (3, attempt("misconception: a", "1: not yet: a?\n", "1: not yet: b?\n"), "prints first"),
        (3, attempt("misconception: a", f"1: not yet: {'w ' * 26}?\n"), "27 words; at most 25"),
        (3, attempt("misconception: a", "1: not yet: it is eight.\n"), "neither a question"),
        (3, attempt("misconception: a", "1: not yet: is it seven?\n"), "gives 'seven' away"),
        (4, attempt("misconception: b", "1: not yet: what of two?\n"), "has the hint of"),
        (4, attempt("misconception: b", "1: not yet: is it a number?\n"), "has the hint of"),
        (5, attempt("the solution", "1: not yet: why?\n", expected=RIGHT), "where '1: yes' is"),
    ],
)
def test_a_bad_check_is_told(place, bad, says):
    said = exercises.complaints("1", CASE, [*GOOD[:place], bad, *GOOD[place + 1 :]])
    assert any(says in line for line in said), said


def test_one_misconception_is_too_few():
    case = Case((Misconception("a", source="a"),))
    assert "only 1 misconceptions" in exercises.complaints("1", case, GOOD)[0]


def test_fill_replaces_each_gap_of_the_code_and_no_other_dots():
    stub = 'a, b = ..., ...  # fill in ...\nprint("...", a)\ndef f():\n    ...\n'
    assert exercises.fill(stub, "None") == (
        'a, b = None, None  # fill in ...\nprint("...", a)\ndef f():\n    None\n'
    )
    assert exercises.fill('print("µ", ...)', "1") == 'print("µ", 1)'


def test_a_misconception_must_fit():
    case = Case((Misconception("twice", stub={"a": "b"}),))
    with pytest.raises(ValueError, match="'twice': 'a' stands 2 times, not 1"):
        exercises.attempts("a = a", "", case)
    with pytest.raises(ValueError, match="give one of stub, solution and source"):
        exercises.attempts("a", "", Case((Misconception("nothing"),)))


def test_a_lesson_that_raises_on_the_way_is_told(sample):
    changed = reading.from_notebook(_raising(sample), SAMPLE)
    with pytest.raises(RuntimeError, match=r"90_sample\.ipynb, cell 3 .*ZeroDivisionError"):
        exercises.try_lesson(changed, CASES)


def _raising(sample: reading.Lesson) -> NotebookNode:
    notebook = copy.deepcopy(sample.notebook)
    notebook.cells[1].source = "1"
    notebook.cells[3].source = "1 / 0"
    return notebook
