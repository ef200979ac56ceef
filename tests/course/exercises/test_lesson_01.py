"""The order of a step in two halves is judged by the weights it leaves, and no state is touched."""

from __future__ import annotations

from itertools import permutations
from types import SimpleNamespace

import pandas as pd
import pytest
import torch

from gpuutil_helpers.course.exercises import lesson_01


def verdict(order: object, capsys: pytest.CaptureFixture) -> str:
    lesson_01.check_order(order)
    return capsys.readouterr().out


def test_of_all_orders_of_four_lines_only_those_that_equal_a_full_step_pass(capsys):
    passed = {
        "".join(order)
        for order in permutations("ABCDEF", 4)
        if ": yes" in verdict("".join(order), capsys)
    }
    empty_first = {"CDBA", "CBDA", "EDBA", "EBDA"}
    either_step = {order.replace("A", "F") for order in empty_first}
    assert passed == empty_first | either_step


def test_emptying_twice_before_the_halves_does_no_harm(capsys):
    assert ": yes" in verdict("CEDBA", capsys)


@pytest.mark.parametrize("typed", ["c d b a", "C, D, B, A", "cdba"])
def test_the_letters_may_be_typed_in_any_way(typed, capsys):
    assert ": yes" in verdict(typed, capsys)


def test_the_readers_random_numbers_go_on_as_if_nothing_had_run(capsys):
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    verdict("CDBA", capsys)
    assert torch.equal(torch.rand(2), expected)


class Sound(SimpleNamespace):
    """Facts of a step that is right in all respects."""

    error = None

    def __getattr__(self, name: str) -> bool:
        return True


def script_verdict(capsys: pytest.CaptureFixture, **run: object) -> str:
    history = pd.DataFrame({"validation_accuracy": [0.5, 0.96]})
    facts = {
        "finished": True,
        "facts": Sound(returned=2.0, expected_loss=2.0),
        "error": None,
        "history": history,
        "path": "train.py",
    }
    lesson_01.check_train_script(SimpleNamespace(**{**facts, **run}))
    return capsys.readouterr().out


def test_a_sound_step_whose_script_reaches_the_accuracy_passes(capsys):
    assert script_verdict(capsys).startswith("2: yes, train.py ran and reached 0.95 or more: ~0.96")


@pytest.mark.parametrize(
    ("run", "words"),
    [
        ({"finished": False}, "2: not answered yet"),
        ({"error": "NameError: name 'x' is not defined"}, "where is that name made?"),
        ({"error": "the script ran longer than 120 s and was stopped"}, "train.py stopped"),
        ({"history": None}, "left no history.csv"),
        ({"history": pd.DataFrame({"epoch": [1]})}, "left no history.csv"),
        ({"history": pd.DataFrame({"validation_accuracy": []})}, "left no history.csv"),
        ({"history": pd.DataFrame({"validation_accuracy": [0.97, 0.94]})}, "which number"),
    ],
)
def test_each_ending_of_the_script_has_its_own_line(run, words, capsys):
    said = script_verdict(capsys, **run)
    assert words in said
    assert ": yes" not in said


def test_the_scripts_own_error_stands_below_the_hint(capsys):
    said = script_verdict(capsys, error="ValueError: no luck").splitlines()
    assert said[1].strip() == "ValueError: no luck"


def test_the_function_itself_is_no_run():
    with pytest.raises(TypeError, match="complete_train_script returns and got a function"):
        lesson_01.check_train_script(script_verdict)
