"""The course's figures: one style, the question above, the finding below, made from the data.

Every function takes plain records or DataFrames and returns a `Picture`; `lesson.show` displays
it. Colours follow Okabe and Ito and never carry meaning alone: markers, hatches and labels do too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuutil_helpers.course.approximate import approx

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COMPUTE, WAIT, OTHER, TRANSFER, GUESS = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#767676"
WIDTH_IN, DPI = 7.2, 100

#: The segments of the strip, in the order they happen: column, label, colour, hatch.
SEGMENTS = (
    ("data_wait", "data wait", WAIT, "//"),
    ("forward", "forward", COMPUTE, ""),
    ("backward", "backward", "#56B4E9", ".."),
    ("optimizer", "optimizer", OTHER, "xx"),
    ("rest", "rest", "#BBBBBB", ""),
)


@dataclass(frozen=True)
class Picture:
    """A figure with the words that go with it.

    `alt` describes it to someone who cannot see it; `finding` is the sentence below it; `table`
    holds the numbers behind it, where they help.
    """

    figure: Figure
    alt: str
    finding: str
    table: pd.DataFrame | None = None


def new_figure(question: str, height_in: float, **subplots: object) -> tuple[Figure, list[Axes]]:
    """A white figure in the course's style with `question` above it, and its axes as a list."""
    import matplotlib.pyplot as plt

    with plt.rc_context({"font.size": 10.5}):
        figure, axes = plt.subplots(
            figsize=(WIDTH_IN, height_in),
            dpi=DPI,
            facecolor="white",
            layout="constrained",
            squeeze=False,
            **subplots,
        )
    figure.suptitle(question, fontsize=11.5, x=0.01, ha="left")
    flat = list(axes.flat)
    for ax in flat:
        ax.set_facecolor("white")
        ax.spines[["top", "right"]].set_visible(False)
    return figure, flat


def prediction(record: object, question: str, axis: str) -> Picture:
    """A measured result as points, with median, interval, the guess and the earlier run.

    Args:
        record: what `LabNotes.measured` returned, a number: `unit`, `samples`, `median`, `low` and
            `high` (None below six samples), `guess` and `late`, `earlier`, `unavailable`.
        question: one line, shown above.
        axis: the quantity, as words; the unit is added.
    """
    unit = f" ({record.unit})" if record.unit else ""
    figure, (ax,) = new_figure(question, 2.3)
    ax.set(ylim=(-0.95, 1.05), yticks=[], xlabel=f"{axis}{unit}")
    ax.spines["left"].set_visible(False)
    if record.median is None:
        return _without_a_number(record, question, axis, figure, ax)
    samples = record.samples or (record.median,)
    heights = [0.12 * ((index % 5) - 2) for index in range(len(samples))]
    ax.plot(samples, heights, "o", ms=5, color=COMPUTE, alpha=0.55, mew=0)
    if record.low is not None:
        ax.plot([record.low, record.high], [-0.48] * 2, "|-", ms=10, lw=2.5, color="black")
        ax.text(record.high, -0.48, "  95 % interval", va="center", fontsize=9)
    ax.plot([record.median] * 2, [-0.38, 0.38], "-", lw=2, color="black")
    ax.text(record.median, 0.45, "median, measured here", ha="center", va="bottom", fontsize=9)
    before = [past.median for past in record.earlier[-1:] if past.median is not None]
    for median in before:
        ax.plot(median, -0.7, "D", ms=7, mfc="white", mec=TRANSFER, mew=1.8)
        ax.text(median, -0.7, "   earlier run", va="center", fontsize=9)
    guessed = isinstance(record.guess, int | float)
    if guessed:
        ax.axvline(record.guess, ls="--", lw=1.8, color=GUESS)
        ax.text(record.guess, 0.78, " your guess", color=GUESS, va="bottom", fontsize=9)
    reach = [*samples, record.high or record.median, record.guess if guessed else 0, *before]
    ax.set_xlim(min(0, *reach), 1.18 * max(reach) or 1)
    said = record.sentence(axis)
    if before:
        said += f"; an earlier run gave {approx(before[0], record.unit)}"
    alt = f"{question} {len(samples)} points on a line. {said}."
    # Two lines: one would break in mid-word where the window is narrow.
    return Picture(figure, alt, f"{said}.".replace("measured here; ", "measured here;\n"))


def _without_a_number(
    record: object, question: str, axis: str, figure: Figure, ax: Axes
) -> Picture:
    """The picture of a reading that could not be had: its reason, and no point at zero."""
    finding = record.sentence(axis)
    ax.set_xticks([])
    ax.text(0.5, 0.5, finding, transform=ax.transAxes, ha="center", wrap=True)
    return Picture(figure, f"{question} {finding}.", f"{finding}.")


def points(measurement: object, question: str) -> Picture:
    """Every raw sample in the order taken, warm-up apart, with the median and its interval.

    Args:
        measurement: a `Measurement` in seconds with at least six samples.
        question: one line, shown above.

    Raises:
        ValueError: the measurement is not one of time.
    """
    if measurement.unit != "s":
        raise ValueError(
            f"points draws times in seconds and got {measurement.unit!r}: use plots.prediction."
        )
    scale, unit = (1e3, "ms") if measurement.median >= 1e-3 else (1e6, "us")
    warm = [scale * value for value in measurement.warmup]
    kept = [scale * value for value in measurement.samples]
    median, low, high = (
        scale * value for value in (measurement.median, measurement.low, measurement.high)
    )
    figure, (every, counted) = new_figure(question, 3.1, ncols=2)
    count, total = len(warm), len(warm) + len(kept)
    later = range(count + 1, total + 1)
    every.plot(range(1, count + 1), warm, "^", ms=9, mfc="white", mec=WAIT, mew=2)
    every.plot(later, kept, "o", ms=5, color=COMPUTE)
    if warm:
        every.text(count, warm[-1], "   warm-up, not counted", va="center", fontsize=9.5)
    counted.plot(later, kept, "o", ms=6, color=COMPUTE)
    counted.axhline(median, color="black", lw=1.6)
    counted.axhspan(low, high, color="black", alpha=0.14, lw=0)
    counted.annotate(
        "median, its 95 % interval in grey",
        (total + 0.5, max(high, *kept)),
        (0, 8),
        textcoords="offset points",
        ha="right",
        fontsize=9.5,
    )
    for ax, title, values in (
        (every, "all calls", [*warm, *kept]),
        (counted, "the calls that count, closer", kept),
    ):
        ax.set(title=title, xlabel="call, in the order taken", ylabel=f"time ({unit})")
        ax.title.set_fontsize(10.5)
        ax.set(xlim=(0.4, total + 0.6), ylim=(0, 1.25 * max(values)))
        ax.set_xticks(range(1, total + 1))
    finding = (
        f"median of {len(kept)} calls: {approx(median, unit)} "
        f"(95 % interval {approx(low)} to {approx(high)}), measured here"
    )
    if warm:
        finding += f";\nthe first call, before them: {approx(warm[0], unit)}"
    alt = f"{question} {total} points in the order taken; {finding}."
    return Picture(figure, alt, f"{finding}.")


def curves(histories: Mapping[str, pd.DataFrame], question: str, chance: float) -> Picture:
    """Training and validation loss over epochs, one panel for each named run.

    Args:
        histories: name to a frame with columns epoch, training_loss, validation_loss,
            validation_accuracy. At most three.
        question: one line, shown above.
        chance: the loss of a model that gives every class the same probability.
    """
    from matplotlib.ticker import MaxNLocator

    figure, axes = new_figure(question, 3.3, ncols=len(histories), sharey=True)
    losses = ["training_loss", "validation_loss"]
    top = max(frame[losses].to_numpy().max() for frame in histories.values())
    told = []
    for ax, (name, frame) in zip(axes, histories.items(), strict=True):
        _draw_losses(ax, frame)
        ax.axhline(chance, ls=":", lw=1.4, color=GUESS)
        ax.text(frame.epoch.iloc[-1], chance, "chance", va="bottom", ha="right", color=GUESS)
        ax.set(title=name, xlabel="epoch", ylim=(0, 1.1 * top))
        ax.title.set_fontsize(10.5)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        last = frame.iloc[-1]
        told.append(
            f"{name}: training loss {approx(last.training_loss)}, validation loss "
            f"{approx(last.validation_loss)}, validation accuracy "
            f"{approx(last.validation_accuracy)}"
        )
    axes[0].set_ylabel("loss (cross entropy, nats)")
    finding = "after the last epoch, measured here:\n" + "\n".join(told)
    return Picture(figure, f"{question} {finding}.", finding)


def _draw_losses(ax: Axes, frame: pd.DataFrame) -> None:
    """Both curves, each named where they are farthest apart."""
    from matplotlib.patheffects import withStroke

    apart = (frame.training_loss - frame.validation_loss).abs().to_numpy().argmax()
    early = apart < len(frame) / 2
    upper = frame[["training_loss", "validation_loss"]].iloc[apart].idxmax()
    for column, colour, marker, style in (
        ("training_loss", COMPUTE, "o", "-"),
        ("validation_loss", WAIT, "s", "--"),
    ):
        every = max(1, len(frame) // 8)
        ax.plot(
            frame.epoch, frame[column], style, color=colour, marker=marker, ms=5, markevery=every
        )
        at = (frame.epoch.iloc[apart], frame[column].iloc[apart])
        ax.annotate(
            column.removesuffix("_loss"),
            at,
            (10 if early else -4, 6 if column == upper or early else -16),
            textcoords="offset points",
            ha="left" if early else "right",
            color=colour,
            fontsize=9.5,
            path_effects=[withStroke(linewidth=3, foreground="white")],
        )


def strip(steps: pd.DataFrame, question: str) -> Picture:
    """The strip: each step is a row, its segments laid end to end, in milliseconds.

    Args:
        steps: one row a step, its index the step's number; columns data_wait, forward, backward,
            optimizer, rest, in seconds. A column may be missing; a missing value is left out, not
            drawn as zero.
        question: one line, shown above.
    """
    from matplotlib.patches import Patch

    figure, (ax,) = new_figure(question, 1.3 + 0.28 * len(steps))
    present = [segment for segment in SEGMENTS if segment[0] in steps.columns]
    for row, (_, step) in enumerate(steps.iterrows()):
        left = 0.0
        for column, _, colour, hatch in present:
            if step[column] == step[column]:
                width = 1e3 * step[column]
                ax.barh(row, width, 0.72, left, color=colour, hatch=hatch, ec="white", lw=0.4)
                left += width
    keys = [
        Patch(fc=colour, hatch=hatch, ec="white", label=label)
        for _, label, colour, hatch in present
    ]
    figure.legend(handles=keys, loc="outside lower center", ncols=len(keys), frameon=False)
    ax.set(xlabel="time from the start of the step (ms), measured here", ylabel="step")
    ax.set_yticks(range(len(steps)), [str(name) for name in steps.index])
    ax.invert_yaxis()
    medians = [(label, 1e3 * steps[column].median()) for column, label, _, _ in present]
    finding = "median of the steps, measured here: " + ", ".join(
        f"{label} {approx(value, 'ms')}" for label, value in medians
    )
    return Picture(figure, f"{question} {finding}.", f"{finding}.", 1e3 * steps)


def pictures(images: Sequence[object], labels: Sequence[int], question: str) -> Picture:
    """A row of small grey pictures, each with its label below.

    Args:
        images: arrays of shape (height, width), 0 for paper, 1 for ink. At most twelve.
        labels: one a picture.
    """
    figure, axes = new_figure(question, 1.5, ncols=len(images))
    for ax, image, label in zip(axes, images, labels, strict=True):
        ax.imshow(image, cmap="gray_r", vmin=0, vmax=1)
        ax.set(xticks=[], yticks=[], xlabel=str(label))
        ax.spines[["top", "right"]].set_visible(True)
    shown = ", ".join(str(label) for label in labels)
    return Picture(
        figure, f"{question} {len(labels)} handwritten digits.", f"labels, from the left: {shown}"
    )
