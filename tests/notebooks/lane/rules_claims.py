"""Rules on what a lesson claims: verdicts, objectives, exercises."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .problems import Problem
from .reading import Cell, Lesson

OBJECTIVES = range(2, 4)


def verdicts(lesson: Lesson) -> Iterator[Problem]:
    """Every verdict is compared by nbval, reads yes, and names the change that turns it."""
    for cell in lesson.code:
        for sentence, answer in cell.verdicts:
            if answer == "NO":
                yield Problem(f"stores '{sentence}: NO'", "Find out why; never edit outputs", cell)
            if not cell.strict:
                what = f"holds '{sentence}' where nbval does not compare"
                yield Problem(what, "Move the verdict into a strict cell", cell)
        found = [sentence for sentence, _ in cell.verdicts]
        if len(set(found)) < len(found):
            yield Problem("prints one verdict twice", "Give each its own sentence", cell)
        named = [m.get("verdict") for m in cell.mutations]
        for sentence in [s for s in found if s not in named]:
            what = f"names no mutation that turns '{sentence}'"
            yield Problem(what, "Add one to gpuutil.mutation, or remove the verdict", cell)
        for sentence in [s for s in named if s not in found]:
            what = f"names a mutation for '{sentence}', which it does not print"
            yield Problem(what, "Correct the sentence, or refresh", cell)


def mutations(lesson: Lesson) -> Iterator[Problem]:
    """Each mutation replaces one piece of code that stands once, at or above its verdict."""
    for cell in lesson.code:
        for mutation in cell.mutations:
            if set(mutation) != {"old", "new", "verdict"} or mutation["old"] == mutation["new"]:
                what = "has a mutation without old, new and verdict"
                yield Problem(what, "Give these three texts, new unlike old", cell)
                continue
            places = [c for c in lesson.code for _ in range(c.source.count(mutation["old"]))]
            if len(places) != 1:
                what = f"names the code {mutation['old']!r}, which stands {len(places)} times"
                yield Problem(what, "Choose a piece that stands once", cell)
            elif places[0].index > cell.index:
                what = f"names the code {mutation['old']!r}, which stands below its verdict"
                yield Problem(what, "Choose a piece at or above the verdict", cell)


def objectives(lesson: Lesson) -> Iterator[Problem]:
    """Each is stated in the opening, and practised by an exercise or shown by a verdict."""
    given = lesson.facts.get("objectives", [])
    if len(given) not in OBJECTIVES:
        yield Problem(f"has {len(given)} objectives", "Give two or three in the metadata")
    openings = " ".join(" ".join(c.source.split()) for c in lesson.of("opening")).lower()
    all_verdicts = {sentence for cell in lesson.code for sentence, _ in cell.verdicts}
    for objective in given:
        text, by = objective.get("text", ""), objective.get("by", "")
        if not text or text.lower() not in openings:
            yield Problem(f"does not state its objective {text!r} in the opening", "Add it there")
        kind, _, name = by.partition(" ")
        shown = kind == "exercise" and name in lesson.exercises
        if not shown and not (kind == "verdict:" and name in all_verdicts):
            what = f"has the objective {text!r}, shown by {by!r}, which is not there"
            yield Problem(what, "Name 'exercise N' or 'verdict: <sentence>'")


def exercises(lesson: Lesson) -> Iterator[Problem]:
    """A question, a stub with `...`, a folded hint and a folded solution that differs."""
    cells = [c for c in lesson.code if c.exercise is not None]
    for number in sorted({c.exercise for c in lesson.cells if c.exercise is not None}):
        own = [c for c in cells if c.exercise == number]
        if len(own) != 1:
            yield Problem(f"has {len(own)} code cells for exercise {number}", "Give it one")
            continue
        yield from _exercise(lesson, number, own[0])
    for cell in lesson.cells:
        if cell.part in ("exercise", "hint", "solution") and cell.exercise is None:
            yield Problem("has no exercise number", "Set gpuutil.exercise", cell)


def _exercise(lesson: Lesson, number: str, cell: Cell) -> Iterator[Problem]:
    before = [c for c in lesson.prose if c.exercise == number and c.part == "exercise"]
    if not any(c.index < cell.index for c in before):
        yield Problem("has no question above it", "Add a text cell of part 'exercise'", cell)
    if not any(isinstance(n, ast.Constant) and n.value is ... for n in _nodes(cell.source)):
        yield Problem("leaves nothing to fill in", "Put ... where the answer goes", cell)
    if not cell.printed.startswith(f"{number}: not answered yet") or not cell.strict:
        what = f"does not print '{number}: not answered yet' for nbval to compare"
        yield Problem(what, "Call the check on the stub, and refresh", cell)
    folded = [(c, s) for c in lesson.prose if c.exercise == number for s in c.folded]
    summaries = [summary for _, summary in folded]
    if summaries != ["Hint", "Solution"] or any(c.index < cell.index for c, _ in folded):
        what = f"is followed by the folded blocks {', '.join(summaries) or 'none'}"
        yield Problem(what, "Below it stand <details>: first Hint, then Solution", cell)
    solution = lesson.solution(number)
    if "Solution" in summaries and not (solution and _nodes(solution)):
        yield Problem("has no Python in its solution", "Give a ```python block that runs", cell)
    if solution and solution.strip() == cell.source.strip():
        yield Problem("shows its solution in the stub", "Put ... back", cell)


def _nodes(source: str) -> list[ast.AST]:
    try:
        return list(ast.walk(ast.parse(source)))
    except SyntaxError:
        return []


RULES = (verdicts, mutations, objectives, exercises)
