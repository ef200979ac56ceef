"""What every lesson prints and shows: verdicts, measured numbers, figures.

A verdict (`holds`) reads the same on every machine. A measured number (`say`) stands behind `~`.
A figure (`show`) carries its text for readers who cannot see it.
"""

from __future__ import annotations

import html
import io
import sys
from typing import TYPE_CHECKING, Protocol

from gpuutil_helpers.course.approximate import APPROXIMATE, UNITS, approx
from gpuutil_helpers.course.checks import as_truth, one_line, reason_unavailable
from gpuutil_helpers.course.notes import LabNotes

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

    from gpuutil_helpers.course.predictions import Measured

__all__ = ["APPROXIMATE", "UNITS", "approx", "compare", "holds", "say", "show", "start_lesson"]

TABLE_ROWS = 100
"""Rows of a figure's table that are shown; a longer one says how many it has."""


class Picture(Protocol):
    """What `show` takes: a figure, what it shows in words, what it says, the numbers behind it."""

    figure: Figure
    alt: str
    finding: str
    table: DataFrame | None


def start_lesson(number: str, seed: int = 0) -> LabNotes:
    """Set PyTorch to one thread, seed every generator, and open the reader's notes.

    Args:
        number: the lesson's two digits, such as "00".
        seed: what the random generators start from.

    Returns:
        the notes of this lesson; predictions, results and decisions go there.

    Raises:
        TypeError, ValueError: `number` is not two digits in quotes, or `seed` is no seed.
    """
    notes = LabNotes(number)
    from gpuutil_helpers.instruments import machine

    machine.set_threads(1)
    machine.seed_everything(seed)
    print(
        f"Lesson {number}: one thread, seed {seed}. "
        "A number behind ~ was measured here; yours will differ."
    )
    return notes


def holds(sentence: str, condition: object) -> None:
    """Print `sentence: yes` or `sentence: NO`.

    Args:
        sentence: what must hold on any machine, on one line.
        condition: True or False; scalars of NumPy and PyTorch count.

    Raises:
        TypeError: `condition` is anything else, such as a number that would count as true.
        ValueError: `sentence` is empty or has more than one line.
    """
    one_line(sentence, "the sentence")
    truth = as_truth(condition, f"what decides {sentence!r}")
    print(f"{sentence}: {'yes' if truth else 'NO'}")


def say(
    name: str, value: object, unit: str = "", verdict: str | None = None, digits: int = 2
) -> None:
    """Print a measured number behind `~`: `data wait: ~61 % of the step -> input-bound`.

    Args:
        name: what was measured.
        value: a finite number; None or an unavailable reading prints why there is none.
        unit: see `approx`; words may follow the unit, as in "% of the step".
        verdict: what follows from it, compared exactly by the regression test.
        digits: significant digits.

    Raises:
        TypeError, ValueError: `value` is not a finite number, or `unit` is unknown.
    """
    one_line(name, "the name")
    if verdict is not None:
        one_line(verdict, "the verdict")
    reason = "there is no reading" if value is None else reason_unavailable(value)
    if reason is not None:
        print(f"{name}: unavailable, because {reason}")
        return
    conclusion = "" if verdict is None else f" -> {verdict}"
    print(f"{name}: {approx(value, unit, digits)}{conclusion}")


def compare(record: Measured) -> None:
    """Print a result beside the guess: `first fill: ~8.1 times, measured here; you predicted 2`.

    Args:
        record: what `LabNotes.measured` returned.
    """
    print(record.sentence())


def show(picture: Picture) -> None:
    """Show a figure once, its finding below, and folded below that its words and numbers.

    The alternative text goes to three places: the output's metadata (`image/png`, `alt`), the
    PNG's own description, and the folded block, because JupyterLab and the default HTML export
    read neither of the first two. Outside a notebook the words are printed.

    Args:
        picture: anything with `figure`, `alt`, `finding` and, if wanted, `table`.

    Raises:
        TypeError: `picture` is something else, such as the function that makes one.
        ValueError: the alternative text or the finding is empty.
    """
    if not hasattr(picture, "figure"):
        raise TypeError(
            f"show takes a picture and got a {type(picture).__name__}: give what a function of "
            "plots or drawings returns, and call it, with its brackets."
        )
    _described(picture.alt, "the alternative text")
    _described(picture.finding, "the finding")
    try:
        if _in_notebook():
            _display(picture)
        else:
            print(f"figure: {picture.alt}\n{picture.finding}")
    finally:
        _close(picture.figure)


def _display(picture: Picture) -> None:
    from IPython.display import display

    stream = io.BytesIO()
    # Without the version of matplotlib the file is the same as long as the picture is.
    picture.figure.savefig(
        stream, format="png", metadata={"Software": None, "Description": picture.alt}
    )
    display(
        {"image/png": stream.getvalue(), "text/plain": repr(picture.figure)},
        metadata={"image/png": {"alt": picture.alt}},
        raw=True,
    )
    print(picture.finding)
    table = getattr(picture, "table", None)
    display({"text/html": _folded(picture.alt, table), "text/plain": picture.alt}, raw=True)


def _folded(alt: str, table: DataFrame | None) -> str:
    if table is None:
        return f"<details><summary>The figure in words</summary><p>{html.escape(alt)}</p></details>"
    return (
        "<details><summary>The figure in words and numbers</summary>"
        f"<p>{html.escape(alt)}</p>{_table_html(table)}</details>"
    )


def _table_html(table: DataFrame) -> str:
    """The first rows of `table` as plain HTML, the same text for the same data."""
    head = "".join(f'<th scope="col">{html.escape(str(name))}</th>' for name in table.columns)
    rows = "".join(
        "<tr>" + "".join(f"<td>{html.escape(_cell(value))}</td>" for value in row) + "</tr>"
        for row in table.head(TABLE_ROWS).itertuples(index=False, name=None)
    )
    cut = len(table) > TABLE_ROWS
    more = f"<p>The first {TABLE_ROWS} of {len(table)} rows.</p>" if cut else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{more}"


def _cell(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _in_notebook() -> bool:
    """Whether a notebook's kernel runs this; a terminal IPython has no kernel to show pictures."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return getattr(shell, "kernel", None) is not None


def _close(figure: object) -> None:
    """Close the figure, or the notebook shows it a second time when the cell ends."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close(figure)


def _described(text: object, what: str) -> str:
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"{what} is {text!r}: write a sentence that says it in words.")
    return text
