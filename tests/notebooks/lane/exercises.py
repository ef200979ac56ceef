"""Every exercise, answered wrongly in every way that is written down, and then rightly."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from .kernels import Kernel, failure, fresh_kernel
from .reading import Cell, Lesson, printed

OPEN, WRONG, RIGHT = "not answered yet", "not yet", "yes"
HINT_WORDS = 25
MISCONCEPTIONS = 2
_SMALLER_CASE = re.compile(r"\b(try|take|suppose|imagine|start with|count|of \d)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Misconception:
    """A tempting wrong answer, as a change of the stub or of the solution, or as a whole cell.

    Give exactly one of `stub` and `solution` (old -> new, each old standing there once) and
    `source`. `expected` is WRONG, or OPEN for an answer that is only begun.
    """

    label: str
    stub: Mapping[str, str] = field(default_factory=dict)
    solution: Mapping[str, str] = field(default_factory=dict)
    source: str | None = None
    expected: str = WRONG


@dataclass(frozen=True)
class Case:
    """What to try on one exercise.

    Attributes:
        misconceptions: at least two.
        empty: sources put in the place of each `...`, for an empty answer.
        wrong_types: the same, for an answer of the wrong type.
        never: texts that no hint may contain, because they give the answer away.
        twice: False for an exercise whose check takes seconds: each answer is tried once only.
    """

    misconceptions: tuple[Misconception, ...]
    empty: tuple[str, ...] = ("None", "''")
    wrong_types: tuple[str, ...] = ("object()", "[[]]", "float('nan')", "'?'")
    never: tuple[str, ...] = ()
    twice: bool = True


@dataclass(frozen=True)
class Attempt:
    """One answer: what was run, what may come of it, and what it printed, each time it was run."""

    label: str
    source: str
    expected: tuple[str, ...]
    printed: tuple[str, ...] = ()
    error: str | None = None

    def line(self, number: str) -> str:
        """The check's line, the first of them; empty where there is none."""
        return next(iter(self.lines(number)), "")

    def lines(self, number: str) -> list[str]:
        return [line for line in self.printed[0].splitlines() if line.startswith(f"{number}: ")]

    def hint(self, number: str) -> str:
        head = f"{number}: {WRONG}: "
        line = self.line(number)
        return line[len(head) :] if line.startswith(head) else ""


def attempts(stub: str, solution: str, case: Case) -> list[Attempt]:
    """All answers to try, the stub first and the solution last.

    Raises:
        ValueError: where a misconception's text does not stand exactly once.
    """
    tried = [Attempt("the stub", stub, (OPEN,))]
    tried += [Attempt(f"empty: {e}", fill(stub, e), (OPEN, WRONG)) for e in case.empty]
    for value in case.wrong_types:
        tried.append(Attempt(f"wrong type: {value}", fill(stub, value), (OPEN, WRONG)))
    for wrong in case.misconceptions:
        source = _misconceived(wrong, stub, solution)
        tried.append(Attempt(f"misconception: {wrong.label}", source, (wrong.expected,)))
    return [*tried, Attempt("the solution", solution, (RIGHT,))]


def fill(stub: str, value: str) -> str:
    """The stub with `value` in the place of each `...` of its code."""
    lines = stub.splitlines(keepends=True)
    places = [
        node
        for node in ast.walk(ast.parse(stub))
        if isinstance(node, ast.Constant) and node.value is ...
    ]
    for node in sorted(places, key=lambda n: (n.lineno, n.col_offset), reverse=True):
        line = lines[node.lineno - 1].encode()
        start, end = node.col_offset, node.end_col_offset
        lines[node.lineno - 1] = (line[:start] + value.encode() + line[end:]).decode()
    return "".join(lines)


def _misconceived(wrong: Misconception, stub: str, solution: str) -> str:
    given = [bool(wrong.stub), bool(wrong.solution), wrong.source is not None]
    if sum(given) != 1:
        raise ValueError(f"{wrong.label!r}: give one of stub, solution and source.")
    if wrong.source is not None:
        return wrong.source
    source = stub if wrong.stub else solution
    for old, new in (wrong.stub or wrong.solution).items():
        if source.count(old) != 1:
            raise ValueError(f"{wrong.label!r}: {old!r} stands {source.count(old)} times, not 1.")
        source = source.replace(old, new)
    return source


def try_lesson(lesson: Lesson, cases: Mapping[str, Case]) -> dict[str, list[Attempt]]:
    """Run the lesson in one kernel; at each exercise that has a case, try every answer.

    The wrong answers run before and after the solution: neither may depend on what ran before.
    Then the stub runs, so that the rest of the lesson goes on as it is committed.

    Raises:
        RuntimeError: where a cell that is no exercise raises.
    """
    results: dict[str, list[Attempt]] = {}
    last = max((cell.index for cell in lesson.exercises.values()), default=-1)
    with fresh_kernel(lesson.path.parent) as kernel:
        for cell in lesson.code:
            if cell.index > last:
                break
            case = cases.get(cell.exercise or "")
            if case is not None:
                solution = lesson.solution(cell.exercise) or ""
                results[cell.exercise] = _try_all(kernel, cell, solution, case)
            error = failure(kernel.run(cell.source).outputs)
            if error:
                raise RuntimeError(f"{lesson.name}, {cell.place}: {error}")
    return results


def _try_all(kernel: Kernel, cell: Cell, solution: str, case: Case) -> list[Attempt]:
    tried = [_try(kernel, attempt) for attempt in attempts(cell.source, solution, case)]
    return [_try(kernel, attempt) for attempt in tried] if case.twice else tried


def _try(kernel: Kernel, attempt: Attempt) -> Attempt:
    outputs = kernel.run(attempt.source).outputs
    said = (*attempt.printed, printed(outputs))
    return Attempt(
        attempt.label, attempt.source, attempt.expected, said, attempt.error or failure(outputs)
    )


def complaints(number: str, case: Case, tried: list[Attempt]) -> list[str]:
    """All that is wrong with an exercise, as sentences; empty where nothing is."""
    found = list(_case_complaints(case))
    for attempt in tried:
        found += [f"{attempt.label}: {text}" for text in _attempt_complaints(number, attempt)]
        found += [f"{attempt.label}: {text}" for text in _hint_complaints(number, attempt, case)]
    return found + list(_repetitions(number, tried))


def _case_complaints(case: Case) -> Iterator[str]:
    if len(case.misconceptions) < MISCONCEPTIONS:
        yield f"only {len(case.misconceptions)} misconceptions are listed; give two or more."


def _attempt_complaints(number: str, attempt: Attempt) -> Iterator[str]:
    if attempt.error:
        yield f"raises {attempt.error}"
        return
    lines = attempt.lines(number)
    if len(lines) != 1:
        yield f"prints {len(lines)} lines that begin with '{number}: ', not one."
    heads = {OPEN: f"{number}: {OPEN}", WRONG: f"{number}: {WRONG}: ", RIGHT: f"{number}: {RIGHT}"}
    if not any(attempt.line(number).startswith(heads[e]) for e in attempt.expected):
        wanted = " or ".join(repr(heads[e]) for e in attempt.expected)
        yield f"prints {attempt.line(number)!r}, where {wanted} is expected."
    if len(set(attempt.printed)) > 1:
        yield f"prints first {attempt.printed[0]!r}, then {attempt.printed[1]!r}."


def _hint_complaints(number: str, attempt: Attempt, case: Case) -> Iterator[str]:
    hint = attempt.hint(number)
    if len(hint.split()) > HINT_WORDS:
        yield f"the hint has {len(hint.split())} words; at most {HINT_WORDS}."
    if hint and "?" not in hint and not _SMALLER_CASE.search(hint):
        yield f"the hint {hint!r} is neither a question nor a smaller case."
    for text in case.never:
        if text in hint:
            yield f"the hint {hint!r} gives {text!r} away."


def _repetitions(number: str, tried: list[Attempt]) -> Iterator[str]:
    """A misconception's hint is its own; wrong types may share theirs."""
    owners: dict[str, str] = {}
    for attempt in tried:
        hint = attempt.hint(number)
        shared = attempt.label.startswith(("wrong type", "empty"))
        if hint and hint in owners and not (shared and owners[hint] == "wrong type"):
            yield f"{attempt.label}: has the hint of {owners[hint]!r}, {hint!r}."
        if hint:
            owners.setdefault(hint, "wrong type" if shared else attempt.label)
