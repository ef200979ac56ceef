"""Breakages of the rules on verdicts, objectives and exercises."""

from __future__ import annotations

from .breaking import (
    CHANGE,
    EXTRA,
    Breakage,
    lesson_noted,
    noted,
    removed,
    replaced,
    said,
    tagged,
)

YES = "float32 takes half the bytes of float64"

CLAIMS = [
    Breakage("verdicts", "NO'", said(f"{YES}: yes", f"{YES}: NO")),
    Breakage("verdicts", "nbval does not compare", tagged(CHANGE, "nbval-ignore-output")),
    Breakage(
        "verdicts", "prints one verdict twice", said(f"{YES}: yes", f"{YES}: yes\n{YES}: yes")
    ),
    Breakage("verdicts", "no mutation that turns", noted(CHANGE, mutation=[])),
    Breakage("verdicts", "which it does not print", said(f"{YES}: yes\n", "")),
    Breakage(
        "mutations",
        "without old, new",
        noted(
            "calm = [t",
            mutation=[
                {"old": "n = 1000", "verdict": "one slow call moves the mean and leaves the median"}
            ],
        ),
    ),
    Breakage("mutations", "stands 0 times", replaced("(k / 8 for k", "(k / 4 for k")),
    Breakage(
        "mutations",
        "below its verdict",
        noted(
            "calm = [t",
            mutation=[
                {
                    "old": 'array("f", ["half"])',
                    "new": "1",
                    "verdict": "one slow call moves the mean and leaves the median",
                }
            ],
        ),
    ),
    Breakage(
        "objectives",
        "has 1 objectives",
        lesson_noted(
            objectives=[{"text": "count the bytes of a list from its type", "by": "exercise 1"}]
        ),
    ),
    Breakage("objectives", "does not state its objective", replaced("count the bytes of", "know")),
    Breakage(
        "objectives",
        "which is not there",
        lesson_noted(
            objectives=[
                {"text": "count the bytes of a list from its type", "by": "exercise 7"},
                {"text": "report a time that one slow call does not move", "by": "exercise 1"},
            ]
        ),
    ),
    Breakage("exercises", "2 code cells for", noted(EXTRA, exercise="1"), frozenset({"counts"})),
    Breakage("exercises", "no question above", noted("**1. Count it.**", part="note")),
    Breakage("exercises", "nothing to fill in", replaced("held = ...", "held = 1")),
    Breakage("exercises", "not answered yet'", said("1: not answered yet", "1: yes")),
    Breakage("exercises", "folded blocks Solution", removed("Sort nine numbers")),
    Breakage("exercises", "no Python in its", replaced("```python\nheld", "```\nheld")),
    Breakage(
        "exercises",
        "its solution in the stub",
        replaced(
            'held = 4 * n + 3 * 8\ncheck("1", held, 4 * n + 24, {})',
            'held = ...\nhints = {4 * n + 12: "which kind are the last three?", '
            '4 * n: "do three numbers travel free?"}\ncheck("1", held, 4 * n + 24, hints)',
        ),
    ),
    Breakage("exercises", "no exercise number", noted("Sort nine numbers", exercise=None)),
]
