"""The five common ways in which a measured project goes wrong, as lesson 00 shows them."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from IPython.display import Markdown


@dataclass(frozen=True)
class FailureMode:
    """One way to fool oneself: what it is, how it looks, what stops it in this course."""

    failure: str
    looks_like: str
    stopped_by: str


FAILURE_MODES = (
    FailureMode(
        "described, but shown by no artifact",
        "a claim without a file or a figure",
        "each lesson adds to artifacts/project/",
    ),
    FailureMode(
        "tools changed before measuring",
        "a new profiler and no baseline",
        "predict, measure, then change one thing",
    ),
    FailureMode(
        "working only on the happy path",
        "one good run",
        "the contract names a case that must fail",
    ),
    FailureMode(
        "a measurement tied to no decision",
        "a plot in a drawer",
        "the rule is written down before",
    ),
    FailureMode(
        "a failure too vague to debug",
        "it hangs",
        "symptom, evidence, hypothesis, experiment, outcome",
    ),
)


def checklist() -> Markdown:
    """The five as a table for a notebook, one row each, to hold a page of your own against."""
    from IPython.display import Markdown

    rows = [("Failure", "Looks like", "Stopped by"), ("---",) * 3, *map(astuple, FAILURE_MODES)]
    return Markdown("\n".join(f"| {' | '.join(row)} |" for row in rows))
