"""Figures say what they draw, leave out what is unknown, and never rest on colour alone."""

from __future__ import annotations

import dataclasses
import math
import re

import matplotlib
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from gpuutil_helpers.course import drawings, lesson, plots
from gpuutil_helpers.course.predictions import Earlier, Measured
from gpuutil_helpers.instruments.measure import Measurement

matplotlib.use("Agg")

SAMPLES = (1.1, 1.2, 1.25, 1.3, 1.3, 1.35, 1.4, 1.6)
RECORD = Measured(key="share", unit="times", samples=SAMPLES, median=1.3, low=1.1, high=1.6)
FILLS = Measurement("fill", "s", tuple(0.004 + 1e-4 * k for k in range(9)), warmup=(0.05,))


def curve(training: list[float], validation: list[float]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "epoch": range(1, len(training) + 1),
            "training_loss": training,
            "validation_loss": validation,
            "validation_accuracy": [0.5] * len(training),
        }
    )


RUNS = {"true": curve([2.0, 0.4, 0.1], [1.5, 0.5, 0.2]), "false": curve([2.3, 2, 1], [2.3, 2.5, 3])}
STEPS = pd.DataFrame(
    {"data_wait": [0.001, 0.002], "forward": [0.003, 0.003], "optimizer": [0.001, float("nan")]}
)


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    matplotlib.pyplot.close("all")


def every_picture() -> list[plots.Picture]:
    return [
        plots.prediction(RECORD, "What share?", "this / that"),
        plots.points(FILLS, "How long?"),
        plots.curves(RUNS, "Which learns?", chance=math.log(10)),
        plots.strip(STEPS, "Where does it go?"),
    ]


def texts(picture: plots.Picture) -> str:
    found = picture.figure.findobj(matplotlib.text.Text)
    return " | ".join(text.get_text() for text in found)


def test_each_figure_has_its_question_above_and_says_where_its_numbers_come_from():
    for picture in every_picture():
        assert picture.figure.get_suptitle().endswith("?")
        assert picture.alt.startswith(picture.figure.get_suptitle())
        assert "measured here" in picture.finding


def test_each_measured_number_in_a_finding_is_one_that_the_comparison_hides():
    for picture in every_picture():
        hidden = re.sub(lesson.APPROXIMATE, "", picture.finding)
        exact = {"95", "9"}  # the interval's level and a count of calls
        assert set(re.findall(r"\d+(?:\.\d+)?", hidden)) <= exact, hidden


def test_each_axis_has_a_quantity_with_a_unit():
    for picture in every_picture():
        for ax in picture.figure.axes:
            assert ax.get_xlabel()
            lacks = not ax.yaxis.get_visible() or not ax.get_yticks().size or ax.get_ylabel()
            assert lacks or ax is not picture.figure.axes[0]


def dashed_grey(picture: plots.Picture) -> list[matplotlib.lines.Line2D]:
    lines = picture.figure.axes[0].lines
    return [line for line in lines if to_hex(line.get_color()).upper() == plots.GUESS]


def test_there_is_no_guess_line_without_a_guess_and_a_dashed_one_with_it():
    assert dashed_grey(plots.prediction(RECORD, "What share?", "a / b")) == []
    guessed = plots.prediction(dataclasses.replace(RECORD, guess=0.06), "What share?", "a / b")
    (line,) = dashed_grey(guessed)
    assert list(line.get_xdata()) == [0.06, 0.06]
    assert line.get_linestyle() == "--"
    assert "you predicted 0.06 times" in guessed.finding


def test_a_guess_that_came_late_is_called_late():
    late = dataclasses.replace(RECORD, guess=1.3, late=True)
    assert "after it was measured" in plots.prediction(late, "What share?", "a / b").finding


def test_the_earlier_run_is_drawn_beside_the_new_one():
    past = Earlier(median=3.2, low=1.1, high=1.3, samples=(), choice=None, time="")
    again = plots.prediction(dataclasses.replace(RECORD, earlier=(past,)), "What?", "a / b")
    assert "earlier run" in texts(again)
    assert any(list(line.get_xdata()) == [3.2] for line in again.figure.axes[0].lines)
    assert again.figure.axes[0].get_xlim()[1] > 3.2, "an outlying earlier run stays in the picture"
    assert "an earlier run gave ~3.20 times" in again.alt
    assert "earlier run" not in texts(plots.prediction(RECORD, "What?", "a / b"))


def test_an_unavailable_reading_is_drawn_as_its_reason_and_not_as_zero():
    lost = Measured(key="share", unavailable="the clock is gone")
    picture = plots.prediction(lost, "What share?", "a / b")
    assert "unavailable, because the clock is gone" in picture.finding
    assert "unavailable, because the clock is gone" in texts(picture)
    assert picture.figure.axes[0].lines[:] == []


def test_points_refuse_what_is_no_time():
    ratio = Measurement("share", "times", SAMPLES)
    with pytest.raises(ValueError, match=r"times in seconds and got 'times': use plots.prediction"):
        plots.points(ratio, "How long?")


def test_below_six_samples_no_interval_is_drawn():
    few = Measured(key="share", unit="times", samples=(1.0, 1.1), median=1.05)
    assert "interval" not in texts(plots.prediction(few, "What share?", "a / b"))
    assert "interval" not in plots.prediction(few, "What share?", "a / b").finding


def test_every_sample_is_drawn_and_the_axis_starts_at_zero():
    axes = plots.prediction(RECORD, "What share?", "a / b").figure.axes[0]
    assert any(tuple(line.get_xdata()) == SAMPLES for line in axes.lines)
    assert axes.get_xlim()[0] == 0


def test_points_keep_the_warmup_apart_by_its_marker():
    picture = plots.points(FILLS, "How long?")
    drawn = {line.get_marker(): len(line.get_ydata()) for line in picture.figure.axes[0].lines}
    assert drawn == {"^": 1, "o": 9}
    assert "the first call, before them: ~50.0 ms" in picture.finding


def test_curves_differ_in_marker_and_line_style_too():
    picture = plots.curves(RUNS, "Which learns?", chance=math.log(10))
    for ax in picture.figure.axes:
        styles = {(line.get_linestyle(), line.get_marker()) for line in ax.lines}
        assert {("-", "o"), ("--", "s"), (":", "None")} == styles
        labels = {text.get_text() for text in ax.texts}
        assert {"training", "validation", "chance"} <= labels


def test_the_strip_lays_segments_end_to_end_and_leaves_the_unknown_out():
    picture = plots.strip(STEPS, "Where does it go?")
    bars = picture.figure.axes[0].patches
    first = [bar for bar in bars if round(bar.get_y() + 0.36) == 0]
    assert [bar.get_x() for bar in first] == pytest.approx([0, 1, 4])
    assert [bar.get_width() for bar in first] == pytest.approx([1, 3, 1])
    second = [bar for bar in bars if round(bar.get_y() + 0.36) == 1]
    assert len(second) == 2
    assert picture.table is not None and picture.table.data_wait.tolist() == [1.0, 2.0]


def test_the_segments_of_the_strip_differ_without_colour():
    hatches = [hatch for _, _, _, hatch in plots.SEGMENTS]
    assert len(set(hatches)) >= len(hatches) - 1
    assert plots.SEGMENTS[0][0] == "data_wait"


def test_pictures_carry_their_labels():
    picture = plots.pictures([[[0, 1], [1, 0]]] * 3, [7, 0, 2], "Do they agree?")
    assert [ax.get_xlabel() for ax in picture.figure.axes] == ["7", "0", "2"]
    assert picture.finding == "labels, from the left: 7, 0, 2"


@pytest.mark.parametrize("draw", [drawings.memory_lines, drawings.training_step])
def test_a_drawing_has_words_and_at_most_seven_labelled_parts(draw):
    picture = draw()
    labels = [text for text in picture.figure.axes[0].texts if text.get_text()]
    assert 3 <= len(labels) <= 11  # a box of the training step has two texts, one label
    assert len(picture.alt.split()) > 10
    assert picture.figure.get_facecolor() == (1, 1, 1, 1)
