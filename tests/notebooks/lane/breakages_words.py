"""Breakages of the rules on the reader's time and on the words."""

from __future__ import annotations

from nbformat.v4 import new_output

from .breaking import (
    DECIDE,
    SLICE,
    Breakage,
    both,
    code,
    inserted,
    lesson_noted,
    noted,
    output_added,
    replaced,
    text,
)

PICTURE = new_output(
    "display_data", {"image/png": "aGVsbG8="}, metadata={"image/png": {"alt": "d" * 30}}
)
FIFTY_WORDS = " ".join(["word"] * 50)
ADDED_CODE = frozenset({"counts", "core_minutes"})

BUDGET = [
    Breakage(
        "core_minutes",
        "states 30 core",
        both(lesson_noted(core_minutes=30), replaced("**Core** 29", "**Core** 30")),
    ),
    Breakage(
        "core_minutes",
        "needs 47 core",
        both(
            inserted(DECIDE, 18, code("1")),
            lesson_noted(core_minutes=47),
            replaced("**Core** 29", "**Core** 47"),
        ),
        frozenset({"counts", "core_limits"}),
    ),
    Breakage("core_limits", "25 code cells", inserted(DECIDE, 11, code("1")), ADDED_CODE),
    Breakage(
        "core_limits",
        "words in the core",
        inserted(DECIDE, 11, text(f"{FIFTY_WORDS}.")),
        frozenset({"core_minutes", "sentence_lengths"}),
    ),
    Breakage(
        "core_limits",
        "7 new terms",
        both(
            inserted(DECIDE, 1, text("- **a**\n- **b**\n- **c**\n- **d**\n- **e**")),
            lesson_noted(terms=["item size", "median", *"abcde"]),
        ),
        frozenset({"core_minutes"}),
    ),
    Breakage(
        "core_limits",
        "4 figures",
        both(*[output_added(SLICE, PICTURE)] * 3),
        frozenset({"figures"}),
    ),
    Breakage(
        "core_limits",
        "3 exercises",
        noted("except TypeError", exercise="3"),
        frozenset({"exercises", "core_minutes"}),
    ),
    Breakage(
        "cycle_minutes",
        "for cycle 1",
        inserted("**1. Count", 6, code("1"), cycle=1),
        ADDED_CODE | {"core_limits"},
    ),
    Breakage(
        "cell_words",
        "words. Cut it to 80",
        replaced(
            "Shut this kernel down",
            f"{FIFTY_WORDS}. {FIFTY_WORDS}. Shut this kernel down",
        ),
        frozenset({"core_minutes", "sentence_lengths"}),
    ),
]
PROSE = [
    *[
        Breakage("banned_words", f"{word!r}", replaced("Shut this", f"{said_as}, shut this"))
        for word, said_as in {
            "in this lesson": "In this lesson",
            "we will": "We will",
            "let's": "Let's",
            "note that": "Note that",
            "as we can see": "As we can see",
            "simply": "Simply",
            "just": "Just",
            "obviously": "Obviously",
            "important": "Important",
            "crucial": "Crucial",
            "powerful": "Powerful",
            "diving": "Diving",
            "leverage": "Leverage",
            "explore": "Explore",
        }.items()
    ],
    Breakage("banned_words", "'simply'", replaced("Two kinds of number", "Simply two kinds")),
    Breakage("banned_words", "'just'", replaced("# An extra: nothing", "# Just an extra: nothing")),
    Breakage("emoji", "\U0001f389", replaced("Shut this", "\U0001f389 Shut this")),
    Breakage(
        "sentence_lengths",
        "sentence of 54",
        replaced("Next, the", f"{FIFTY_WORDS} the"),
        frozenset({"core_minutes"}),
    ),
    Breakage(
        "sentence_lengths",
        "on average",
        inserted(DECIDE, 40, text(f"<details>\n\n{FIFTY_WORDS[:169]}.\n\n</details>")),
    ),
    Breakage(
        "machine_numbers", "'12 ms'", replaced("Next, the list is sent.", "The copy takes 12 ms.")
    ),
    Breakage(
        "machine_numbers",
        "'3 times faster'",
        replaced("Next, the list is sent.", "It is 3 times faster."),
    ),
    Breakage(
        "machine_numbers",
        "'40 GB/s'",
        replaced("Two kinds of number, two item sizes.", "Memory reads 40 GB/s."),
    ),
    Breakage("terms", "'median' in bold 0", replaced("**median**", "median")),
    Breakage("terms", "'median' in bold 2", replaced("Next, the list", "A **median** list")),
    Breakage("terms", "'list' in bold", replaced("Next, the list", "Next, the **list**")),
]
