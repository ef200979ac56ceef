"""Checks of lesson 01: the order of a step in two halves, and the reader's own `train.py`."""

from __future__ import annotations

import copy
import sys
from typing import TYPE_CHECKING

from gpuutil_helpers.course.approximate import approx
from gpuutil_helpers.course.exercises.answers import is_open, not_answered, not_yet, yes

if TYPE_CHECKING:
    import torch

ACCURACY_WANTED = 0.95
LONGEST_LINE_WORDS = 8  # of a quoted line, so that a hint stays short

#: The lines of exercise 1. `half(i)` is the mean loss of the i-th half of the batch.
ORDER_LINES = {
    "A": "optimizer.step()",
    "B": "(half(2) / 2).backward()",
    "C": "optimizer.zero_grad()",
    "D": "(half(1) / 2).backward()",
    "E": "optimizer.zero_grad()   # once more",
    "F": "optimizer.step()        # once more",
}


def check_order(order: object = ...) -> None:
    """Exercise 1: run the lines in the reader's order; compare the weights with one full step.

    Args:
        order: the letters of the lines that are wanted, in order, as one text.
    """
    if is_open(order):
        not_answered("1", "give the letters in order, as one text")
        return
    letters = order.replace(" ", "").replace(",", "").upper() if isinstance(order, str) else ""
    if not letters or set(letters) - set(ORDER_LINES):
        not_yet("1", "letters from A to F in one pair of quotes: what did you give?")
        return
    if len(set(letters)) < len(letters):
        not_yet("1", "each letter is there once. Which of yours stands twice?")
        return
    hint = _order_hint(letters)
    if hint:
        not_yet("1", hint)
    else:
        yes("1", "two halves of a batch, and the weights are those of one full step")


def check_train_script(run: object) -> None:
    """Exercise 2: what the reader's step did when tried, and what their script wrote.

    Args:
        run: what `project.script.complete_train_script` returned: `finished`, `facts` (what the
            step did to a tiny network), `error`, `path` and `history` (a DataFrame).

    Raises:
        TypeError: `run` is something else, such as the function itself.
    """
    if not hasattr(run, "finished"):
        raise TypeError(
            f"the check takes what complete_train_script returns and got a {type(run).__name__}: "
            "write check_train_script(complete_train_script(train_step))."
        )
    if not run.finished:
        not_answered("2", "write the lines of train_step, then run this cell again")
        return
    hint = _step_hint(run.facts) or _script_hint(run)
    if hint:
        not_yet("2", hint)
        error = run.facts.error or run.error
        if error:
            print(f"   {error}")
        return
    accuracy = run.history.validation_accuracy.iloc[-1]
    yes("2", f"train.py ran and reached {ACCURACY_WANTED} or more: {approx(accuracy, digits=3)}")
    print(f"   by hand: {sys.executable} {run.path}")


def _step_hint(facts: object) -> str | None:
    """The first thing that is not as it should be, as a question."""
    if facts.error is not None:
        return _error_hint(facts)
    gave_float = type(facts.returned) is float
    questions = (
        (facts.runs_backward, "which call fills the gradients, and does your step make it?"),
        (
            facts.calls_step or facts.changes_weights,
            "compare a weight before and after: which call should have moved it?",
        ),
        (facts.calls_step, "the weights moved: by the optimizer that you were given?"),
        (facts.steps_after_backward, "when the optimizer steps, has this batch had its say?"),
        (facts.gradients_at_step, "what is left in the gradients when the optimizer looks?"),
        (facts.zeroes_gradients, "at the second batch, what do the gradients hold of the first?"),
        (facts.in_training_mode, "in which mode does the network run in your step, and why?"),
        (
            facts.returns_loss or gave_float,
            f"it returned {type(facts.returned).__name__}: how does the loss become a float?",
        ),
        (
            facts.returns_loss,
            f"it returned {facts.returned:.4g} where the batch's mean cross entropy was "
            f"{facts.expected_loss:.4g}: which loss, of what, and when?"
            if gave_float
            else "",
        ),
        (facts.same_as_reference, "which loss do you minimise, and how often per batch?"),
    )
    return next((question for fine, question in questions if not fine), None)


def _error_hint(facts: object) -> str:
    if facts.error.startswith("NameError"):
        return "is each name in your step an argument, or F?"
    if facts.error_at is None or len(facts.error_at.split()) > LONGEST_LINE_WORDS:
        return "it stopped: what does each call take, and in which order?"
    return f"it stopped at `{facts.error_at}`: what does that line get, and what does it expect?"


def _script_hint(run: object) -> str | None:
    if run.error is not None and run.error.startswith("NameError"):
        return "the step passed its trial and train.py stopped: where is that name made?"
    if run.error is not None:
        return (
            "the step passed its trial and train.py stopped: which line does the error come from?"
        )
    if run.history is None or "validation_accuracy" not in run.history or run.history.empty:
        return "train.py ran and left no history.csv: which line writes it?"
    if run.history.validation_accuracy.iloc[-1] < ACCURACY_WANTED:
        return (
            "the step passed its trial: which number in train.py keeps the network from learning?"
        )
    return None


def _order_hint(letters: str) -> str | None:
    stepped = [place for place, line in enumerate(letters) if line in "AF"]
    emptied = [place for place, line in enumerate(letters) if line in "CE"]
    halves = sorted(letters.find(line) for line in "BD")
    if not stepped:
        return "which call moves the weights?"
    if halves[0] < 0:
        return "which half of the batch never reaches the gradients?"
    if not emptied:
        return "what do the gradients still hold from the batch before?"
    if min(emptied) > max(halves) and min(emptied) > stepped[0]:
        return "your gradients are empty afterwards: and when the first half arrives?"
    if min(emptied) > max(halves):
        return "what is left of both halves when the weights move?"
    if any(halves[0] < place < halves[1] for place in emptied):
        return "what is left of the first half's gradients when the second arrives?"
    if len(stepped) > 1:
        return "how often do the weights move in your order, and how often in one full step?"
    if stepped[0] < halves[1]:
        return "which gradients has the optimizer seen by the time it moves the weights?"
    if not _equals_full_step(letters):
        return "follow one weight's gradient through your lines: what is in it at the step?"
    return None


def _equals_full_step(letters: str) -> bool:
    """Whether the lines, run on a small model with stale gradients, end where one step does."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model, images = torch.nn.Linear(3, 2), torch.randn(8, 3)
        labels = torch.arange(8) % 2
    torch.nn.functional.cross_entropy(model(images), labels).backward()  # the batch before
    whole = copy.deepcopy(model)
    _run_lines(whole, images, labels, "C")
    torch.nn.functional.cross_entropy(whole(images), labels).backward()
    torch.optim.SGD(whole.parameters(), lr=1.0).step()
    _run_lines(model, images, labels, letters)
    return all(
        torch.allclose(mine, right, atol=1e-5)
        for mine, right in zip(model.parameters(), whole.parameters(), strict=True)
    )


def _run_lines(
    model: torch.nn.Module, images: torch.Tensor, labels: torch.Tensor, letters: str
) -> None:
    import torch

    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    halves = {"D": slice(0, len(images) // 2), "B": slice(len(images) // 2, None)}
    for line in letters:
        if line in "CE":
            optimizer.zero_grad()
        elif line in "AF":
            optimizer.step()
        else:
            part = halves[line]
            loss = torch.nn.functional.cross_entropy(model(images[part]), labels[part])
            (loss / 2).backward()
