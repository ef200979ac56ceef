"""One mechanism drawing per lesson, made by code, at most seven labelled parts each."""

from __future__ import annotations

from gpuutil_helpers.course.plots import COMPUTE, OTHER, WAIT, Picture, new_figure


def memory_lines() -> Picture:
    """Lesson 00: numbers in memory come in lines; asking for one fetches its whole line."""
    from matplotlib.patches import FancyBboxPatch, Rectangle

    figure, (ax,) = new_figure("What travels when one number in sixteen is asked for?", 2.6)
    ax.set(xlim=(-0.5, 52.5), ylim=(-0.6, 8.4))
    ax.axis("off")
    for line in range(3):
        left = 17.5 * line
        ax.add_patch(
            FancyBboxPatch(
                (left, 4.4), 16, 1.5, boxstyle="round,pad=0.2", fc="#EEF4F9", ec=COMPUTE, lw=1.6
            )
        )
        for slot in range(16):
            asked = slot == 0
            ax.add_patch(
                Rectangle(
                    (left + slot, 4.55),
                    0.9,
                    1.2,
                    fc=WAIT if asked else "white",
                    ec="#555555",
                    lw=0.6,
                    hatch="//" if asked else "",
                )
            )
        ax.annotate(
            "",
            (left + 8, 1.9),
            (left + 8, 4.1),
            arrowprops={"arrowstyle": "-|>", "lw": 7, "color": COMPUTE},
        )
    ax.text(8, 6.5, "one line: 64 bytes", ha="center", color=COMPUTE)
    ax.annotate(
        "asked for",
        (17.9, 5.8),
        (19.5, 7.4),
        color=WAIT,
        arrowprops={"arrowstyle": "-", "color": WAIT},
    )
    ax.annotate(
        "not asked for, fetched all the same",
        (43.5, 5.8),
        (29.5, 7.4),
        arrowprops={"arrowstyle": "-", "color": "#555555"},
    )
    ax.text(27.4, 2.9, "whole lines travel", va="center", color=COMPUTE)
    ax.add_patch(Rectangle((0, 0), 51, 1.6, fc="#F3F3F3", ec="#555555"))
    ax.text(25.5, 0.8, "processor: adds one number of each line", ha="center", va="center")
    alt = (
        "Three memory lines of sixteen numbers each. One number in each is asked for; an arrow "
        "carries the whole line to the processor, which adds one number of each."
    )
    return Picture(figure, alt, "One number asked for, sixteen fetched.")


def training_step() -> Picture:
    """Lesson 01: the five calls of a training step and the thing that each one changes."""
    from matplotlib.patches import FancyBboxPatch

    boxes = (
        ("zero_grad", "gradients\nare emptied", "#555555"),
        ("forward", "predictions\nare made", COMPUTE),
        ("loss", "one number\nsays how wrong", COMPUTE),
        ("backward", "gradients\nare added", WAIT),
        ("step", "weights\nmove", OTHER),
    )
    figure, (ax,) = new_figure("Five calls, and what each one changes", 2.4)
    ax.set(xlim=(0, 50), ylim=(0, 10))
    ax.axis("off")
    for index, (call, change, colour) in enumerate(boxes):
        left = 10 * index + 0.8
        ax.add_patch(
            FancyBboxPatch(
                (left, 4.2), 7.4, 4.2, boxstyle="round,pad=0.3", fc="white", ec=colour, lw=2
            )
        )
        ax.text(left + 3.7, 7.3, call, ha="center", va="center", weight="bold", color=colour)
        ax.text(left + 3.7, 5.4, change, ha="center", va="center", fontsize=9.5)
        if index:
            ax.annotate(
                "",
                (left - 0.4, 6.3),
                (left - 2.2, 6.3),
                arrowprops={"arrowstyle": "-|>", "lw": 1.6, "color": "black"},
            )
    ax.annotate(
        "",
        (4.5, 3.8),
        (44.5, 3.8),
        arrowprops={
            "arrowstyle": "-|>",
            "lw": 1.6,
            "color": "black",
            "connectionstyle": "arc3,rad=-0.16",
        },
    )
    ax.text(24.5, 1.2, "next batch", ha="center", va="center", backgroundcolor="white")
    alt = (
        "Five boxes in a row with arrows: zero_grad empties the gradients, forward makes "
        "predictions, loss says how wrong, backward adds gradients, step moves the weights. An "
        "arrow leads back to the first for the next batch."
    )
    return Picture(figure, alt, "Only the last call moves the weights.")
