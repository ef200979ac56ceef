"""The five questions of lesson 00: each miss names what to read, and only right letters pass."""

from __future__ import annotations

import pytest

from gpuutil_helpers.course.exercises.lesson_00 import READINESS, check_readiness

RIGHT = {name: letter for name, (letter, _) in READINESS.items()}


def lines(capsys: pytest.CaptureFixture) -> list[str]:
    return capsys.readouterr().out.splitlines()


def test_untouched_it_names_the_open_questions_and_no_answer(capsys):
    check_readiness(**dict.fromkeys(READINESS, ...))
    assert lines(capsys) == [f"ready: not answered yet: {', '.join(READINESS)}"]
    check_readiness(**{**RIGHT, "bytes": ...})
    assert lines(capsys) == ["ready: not answered yet: bytes"]


def test_five_right_letters_pass_however_they_are_typed(capsys):
    check_readiness(**RIGHT)
    assert lines(capsys) == ["ready: yes, all five"]
    check_readiness(**{name: f"({letter.upper()})" for name, letter in RIGHT.items()})
    assert lines(capsys) == ["ready: yes, all five"]


@pytest.mark.parametrize("question", READINESS)
@pytest.mark.parametrize("wrong", ["a", "b", "c", "d", "", 2, ["b"]])
def test_each_wrong_answer_to_each_question_points_to_a_text(question, wrong, capsys):
    if wrong == RIGHT[question]:
        return
    check_readiness(**{**RIGHT, question: wrong})
    (line,) = lines(capsys)
    assert question in line
    assert "yes" not in line
    if wrong != "":
        assert READINESS[question][1] in line


def test_each_question_has_its_own_pointer():
    assert len({pointer for _, pointer in READINESS.values()}) == len(READINESS) == 5


def test_a_question_that_does_not_exist_is_named():
    with pytest.raises(TypeError, match="no question is called numpy"):
        check_readiness(numpy="a")
