"""Breakages of the rules on the parts."""

from __future__ import annotations

from nbformat import NotebookNode

from .breaking import (
    DECIDE,
    EXTRA,
    SLICE,
    Breakage,
    both,
    inserted,
    lesson_noted,
    moved,
    noted,
    replaced,
    said,
    text,
)

FIRST = "Where did the rest go?"


def raw_cell(notebook: NotebookNode) -> None:
    notebook.cells[-1].cell_type = "raw"


def third_cycle_left_out(notebook: NotebookNode) -> None:
    for cell in notebook.cells:
        if cell.metadata.gpuutil.get("cycle") == 2:
            cell.metadata.gpuutil["cycle"] = 3


PARTS = [
    Breakage("metadata", "no 'question'", lesson_noted(question=None)),
    Breakage("metadata", "number '91'", lesson_noted(lesson="91"), frozenset({"first_code_cell"})),
    Breakage("known_parts", "part 'warmup'", noted(EXTRA, part="warmup")),
    Breakage("known_parts", "no route", noted(EXTRA, route=None)),
    Breakage("known_parts", "unknown gpuutil.colour", noted(EXTRA, colour="red")),
    Breakage("known_parts", "raw cell", raw_cell),
    Breakage("frame", "no part 'next'", noted("Next, the list", part="note")),
    Breakage("frame", "second cell of the part 'next'", noted("Shut this", part="next")),
    Breakage("frame", "before the part 'decide'", moved("To remember", DECIDE)),
    Breakage("frame", "before the opening", inserted("# Half", 1, text("A list."))),
    Breakage("cycles", "has the cycles 1, 3", third_cycle_left_out),
    Breakage(
        "cycles",
        "mixes the cells",
        moved("## One slow call", "**1. Count it.**"),
        frozenset({"self_contained_cycles"}),
    ),
    Breakage("cycles", "no 'measure' in cycle 1", noted("short = array", part="note")),
    Breakage(
        "cycles", "'predict' before 'slice'", moved("# share of the", SLICE), frozenset({"counts"})
    ),
    Breakage(
        "cycles",
        "no code in 'slice'",
        both(noted("n = 1000", part="note"), noted("## What is counted", part="slice", cycle=1)),
        frozenset({"*"}),
    ),
    Breakage(
        "explanations",
        "asks nothing",
        both(replaced("What became smaller?", "It shrank."), replaced(FIRST, "The rest")),
    ),
    Breakage(
        "explanations",
        "no folded answer",
        replaced("<details><summary>Our answer</summary>\n\nThe **item", "The **item"),
        frozenset({"core_minutes"}),
    ),
    Breakage(
        "self_contained_cycles",
        "uses lost, made outside cycle 2",
        replaced("calm = [t", "calm = lost and [t"),
    ),
    Breakage("first_code_cell", "start_lesson", replaced('start_lesson("90")', "Notes()")),
    Breakage("opening", "title as its H1", lesson_noted(title="Other")),
    Breakage("opening", "a puzzle", replaced("how much less must travel?", "less must travel.")),
    Breakage("opening", "**You will be able to**", replaced("**You will be able to**", "You")),
    Breakage("opening", "**Core** 29", replaced("**Core** 29 minutes", "**Core** 28 minutes")),
    Breakage("opening", "**Needs**", replaced("**Needs** lesson 00", "Needs lesson 00")),
    Breakage("opening", "needs (arrays)", lesson_noted(needs=["arrays"])),
    Breakage("contract", "rows Input, Assumes, T", replaced("| Output |", "| Result |")),
    Breakage("contract", "by no number", replaced("half the bytes are left", "it is small")),
    Breakage("contract", "row 'boundary'", noted("except TypeError", shows=[])),
    Breakage("contract", "shows 'limits'", noted("except TypeError", shows=["boundary", "limits"])),
    Breakage(
        "predictions",
        "no `my_guess",
        replaced("my_guess = ...  # share", "my_guess = 0.5  #"),
        frozenset({"sentence_lengths"}),
    ),
    Breakage("predictions", "'no prediction yet'", said("float32: no prediction yet", "stored")),
    Breakage("decisions", "no decision left", said("not decided yet", "decided")),
    Breakage("key_points", "4 key points", replaced("- Bytes are", "- One.\n- Two.\n- Bytes are")),
    Breakage("extras_last", "follows an extra", moved(EXTRA, DECIDE), frozenset({"counts"})),
    Breakage("headings", "2 headings of the first", replaced("## To remember", "# To remember")),
    Breakage("headings", "name of its part, 'Key points'", replaced("To remember", "Key points")),
]
