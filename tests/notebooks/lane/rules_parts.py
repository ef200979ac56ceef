"""Rules on the parts of a lesson: what it must hold, and in which order."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from . import words
from .names import free_names
from .problems import Problem
from .reading import Cell, Lesson

FRAME = ("opening", "contract", "must_fail", "decide", "key_points", "next", "shutdown")
STEPS = ("slice", "predict", "measure", "explain", "change", "exercise")
OTHERS = ("start", "note", "hint", "solution")
ONE_CELL = ("opening", "contract", "key_points", "next", "shutdown")
AFTER_EXTRAS = {"key_points", "next", "shutdown"}
CONTRACT_ROWS = (
    "Input",
    "Assumes",
    "Transformation",
    "Output",
    "Accept when",
    "Do not trust when",
    "Boundary",
)
SHOWN = ("accept when", "do not trust when", "boundary")
CYCLES = range(2, 4)
KEY_POINTS = 3
_CELL_KEYS = {"part", "route", "cycle", "mutation", "exercise", "shows"}
_LESSON_KEYS = {
    "lesson": str,
    "title": str,
    "question": str,
    "needs": list,
    "core_minutes": int,
    "objectives": list,
    "terms": list,
}
_NUMBER = re.compile(
    r"\d|\b(half|twice|double|third|quarter|zero|one|two|three|four|five|ten|every|no|equal)\b",
    re.IGNORECASE,
)


def metadata(lesson: Lesson) -> Iterator[Problem]:
    for key, kind in _LESSON_KEYS.items():
        if not isinstance(lesson.facts.get(key), kind):
            what = f"has no {key!r} ({kind.__name__}) below gpuutil in its metadata"
            yield Problem(what, "Add it in the notebook's metadata")
    number = lesson.name[:2]
    if not re.match(r"\d\d_\w+\.ipynb$", lesson.name) or lesson.facts.get("lesson") != number:
        what = f"has the file name {lesson.name} and the number {lesson.facts.get('lesson')!r}"
        yield Problem(what, "Name the file NN_subject.ipynb and give the same NN in the metadata")


def known_parts(lesson: Lesson) -> Iterator[Problem]:
    for cell in lesson.cells:
        if cell.part not in FRAME + STEPS + OTHERS:
            yield Problem(f"has the part {cell.part!r}", "Give gpuutil.part a known name", cell)
        if cell.facts.get("route") not in ("core", "extra"):
            yield Problem("has no route", "Set gpuutil.route to core or extra", cell)
        for key in sorted(set(cell.facts) - _CELL_KEYS):
            yield Problem(f"has an unknown gpuutil.{key}", "Remove it, or teach the guard", cell)
        if cell.node.cell_type == "raw":
            yield Problem("is a raw cell", "Make it a text or a code cell", cell)


def frame(lesson: Lesson) -> Iterator[Problem]:
    """Each part of the frame once; their first cells in the frame's order."""
    for part in FRAME:
        cells = lesson.of(part)
        if not cells:
            yield Problem(f"has no part {part!r}", "Write it, or name it in the cell's metadata")
        elif part in ONE_CELL and len(cells) > 1:
            yield Problem(f"is a second cell of the part {part!r}", "Join the two", cells[1])
    present = [lesson.of(part)[0] for part in FRAME if lesson.of(part)]
    for before, after in pairwise(present):
        if before.index > after.index:
            what = f"stands before the part {before.part!r}"
            yield Problem(what, f"The order is {', '.join(FRAME)}", after)
    if lesson.cells and lesson.cells[0].part != "opening":
        yield Problem("stands before the opening", "Begin with the opening", lesson.cells[0])


def cycles(lesson: Lesson) -> Iterator[Problem]:
    """Two or three cycles, in one piece each, every step there and in order."""
    found = lesson.cycles
    if list(found) != list(range(1, len(found) + 1)) or len(found) not in CYCLES:
        what = f"has the cycles {', '.join(map(str, found)) or 'none'}"
        yield Problem(what, "Number two or three cycles 1, 2, 3 in their cells' gpuutil.cycle")
    core = [c.cycle for c in lesson.cells if c.core and c.cycle is not None]
    if core != sorted(core):
        yield Problem("mixes the cells of its cycles", "Finish one cycle before the next")
    for number, cells in found.items():
        yield from _steps(number, cells)


def _steps(number: int, cells: list[Cell]) -> Iterator[Problem]:
    firsts = {}
    for step in STEPS:
        firsts[step] = next((c.index for c in cells if c.part == step), None)
        if firsts[step] is None:
            yield Problem(f"has no {step!r} in cycle {number}", "Add it")
    order = [(index, step) for step, index in firsts.items() if index is not None]
    for (before, first), (after, second) in pairwise(order):
        if before > after:
            what = f"has {second!r} before {first!r} in cycle {number}"
            yield Problem(what, f"The order is {', '.join(STEPS)}")
    for step in ("slice", "predict", "measure", "change"):
        if firsts[step] is not None and not any(c.is_code for c in cells if c.part == step):
            yield Problem(f"has no code in {step!r} of cycle {number}", "Add a code cell")


def explanations(lesson: Lesson) -> Iterator[Problem]:
    """Each cycle asks one question on the gap between guess and result; the answer is folded."""
    for number, cells in lesson.cycles.items():
        texts = [c for c in cells if c.part == "explain" and not c.is_code]
        if texts and not any("?" in words.visible(c.source) for c in texts):
            yield Problem(f"asks nothing in the explanation of cycle {number}", "Ask", texts[0])
        if texts and not any(c.folded for c in texts):
            what = f"has no folded answer in the explanation of cycle {number}"
            yield Problem(what, "Put the answer into <details>", texts[0])


def self_contained_cycles(lesson: Lesson) -> Iterator[Problem]:
    """A room may start at any cycle: it uses only what the start or the cycle itself makes."""
    for number, cells in lesson.cycles.items():
        code = [c for c in cells if c.is_code]
        for index, names in free_names(
            [c.source for c in lesson.of("start") if c.is_code], [c.source for c in code]
        ):
            what = f"uses {', '.join(names)}, made outside cycle {number}"
            yield Problem(what, "Make it in the first cell of the cycle", code[index])


def first_code_cell(lesson: Lesson) -> Iterator[Problem]:
    call = f'lesson.start_lesson("{lesson.facts.get("lesson")}"'
    if not lesson.code or call not in lesson.code[0].source or lesson.code[0].part != "start":
        what = f"does not call {call}) in its first code cell, with part 'start'"
        yield Problem(what, "Begin the code with it")


def opening(lesson: Lesson) -> Iterator[Problem]:
    for cell in lesson.of("opening"):
        text = " ".join(cell.source.split())
        minutes = lesson.facts.get("core_minutes")
        needs = [need for need in lesson.facts.get("needs", []) if need not in text]
        missing = [
            (words.top_headings(cell.source) != [lesson.facts.get("title")], "the title as its H1"),
            ("?" not in words.paragraphs(cell.source), "a puzzle, as a question"),
            ("**You will be able to**" not in text, "**You will be able to**"),
            (f"**Core** {minutes} minutes" not in text, f"**Core** {minutes} minutes"),
            ("**Needs**" not in text, "**Needs**"),
            (bool(needs), f"its needs ({', '.join(needs)})"),
        ]
        for absent, what in missing:
            if absent:
                yield Problem(f"opens without {what}", "Add it, as the metadata have it", cell)


def contract(lesson: Lesson) -> Iterator[Problem]:
    for cell in lesson.of("contract"):
        rows = [row for row in words.table_rows(cell.source)[1:] if len(row) >= 2]
        found = [next((n for n in CONTRACT_ROWS if row[0].startswith(n)), row[0]) for row in rows]
        if found != list(CONTRACT_ROWS):
            what = f"has the contract rows {', '.join(found) or 'none'}"
            yield Problem(what, f"The rows are {', '.join(CONTRACT_ROWS)}", cell)
        accept = next((row[1] for row in rows if row[0].startswith("Accept when")), None)
        if accept is not None and not _NUMBER.search(accept):
            yield Problem("accepts by no number", "Give 'Accept when' a number", cell)
    shown = {name for cell in lesson.code for name in cell.facts.get("shows", [])}
    for name in SHOWN:
        if name not in shown:
            what = f"has no code cell that shows the contract's row {name!r}"
            yield Problem(what, f'Add "shows": ["{name}"] to the cell that does')
    for name in sorted(shown - set(SHOWN)):
        yield Problem(f"shows {name!r}, no row of the contract", f"Use {', '.join(SHOWN)}")


def predictions(lesson: Lesson) -> Iterator[Problem]:
    for cell in lesson.of("predict"):
        if cell.is_code:
            for name in ("my_guess", "my_reason"):
                if not re.search(rf"^{name} = \.\.\.", cell.source, re.MULTILINE):
                    yield Problem(f"has no `{name} = ...`", "Leave both for the reader", cell)
            if "no prediction yet" not in cell.printed:
                what = "does not print 'no prediction yet'"
                yield Problem(what, "Call notes.predict and refresh", cell)


def decisions(lesson: Lesson) -> Iterator[Problem]:
    cells = [c for c in lesson.of("decide") if c.is_code]
    if lesson.of("decide") and not any("not decided yet" in c.printed for c in cells):
        what = "has no decision left to the reader"
        yield Problem(what, "Call notes.decide with ... for each answer and refresh")


def key_points(lesson: Lesson) -> Iterator[Problem]:
    for cell in lesson.of("key_points"):
        count = len(words.items(words.visible(cell.source)))
        if not 1 <= count <= KEY_POINTS:
            yield Problem(f"has {count} key points", f"Give 1 to {KEY_POINTS}, as a list", cell)


def extras_last(lesson: Lesson) -> Iterator[Problem]:
    extras = [cell.index for cell in lesson.cells if not cell.core]
    for cell in lesson.cells[extras[0] :] if extras else []:
        inside = cell.index < extras[-1]
        if cell.core and (inside or cell.part not in AFTER_EXTRAS):
            yield Problem("is core and follows an extra", "Put the extras at the end", cell)


def headings(lesson: Lesson) -> Iterator[Problem]:
    tops = [(c, h) for c in lesson.prose for h in words.top_headings(c.source)]
    if len(tops) != 1:
        yield Problem(f"has {len(tops)} headings of the first level", "Keep one, in the opening")
    for cell in lesson.prose:
        for heading in words.headings(cell.source):
            plain = heading.lower().rstrip("s").replace(" ", "_")
            if plain in {part.rstrip("s") for part in FRAME + STEPS + OTHERS} - {"decide", "next"}:
                what = f"is headed by the name of its part, {heading!r}"
                yield Problem(what, "Head it in the words of the subject", cell)


RULES = (
    metadata,
    known_parts,
    frame,
    cycles,
    explanations,
    self_contained_cycles,
    first_code_cell,
    opening,
    contract,
    predictions,
    decisions,
    key_points,
    extras_last,
    headings,
)
