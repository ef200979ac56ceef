"""The changes of source that must turn a verdict, applied and judged by the real nbval."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nbformat import NotebookNode

from .nbval_run import DIFFERS, CellRun, add_notebook, make_repository, run_lane
from .reading import Cell, Lesson


@dataclass(frozen=True)
class Mutation:
    """`old` becomes `new`, in the one code cell that has it; `verdict`, in `cell`, must read NO."""

    lesson: Lesson
    cell: Cell
    old: str
    new: str
    verdict: str

    @property
    def name(self) -> str:
        return f"{self.lesson.path.stem}: {self.verdict}"


def of_lesson(lesson: Lesson) -> list[Mutation]:
    """All mutations that the cells of a lesson name, in order."""
    return [
        Mutation(lesson, cell, m["old"], m["new"], m["verdict"])
        for cell in lesson.code
        for m in cell.mutations
    ]


def apply(mutation: Mutation) -> NotebookNode:
    """The mutated notebook, cut off below the verdict's cell, stored outputs kept.

    Raises:
        ValueError: unless `old` stands exactly once in the code cells.
    """
    notebook = copy.deepcopy(mutation.lesson.notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    times = sum(cell.source.count(mutation.old) for cell in code)
    if times != 1:
        raise ValueError(f"{mutation.old!r} stands {times} times in {mutation.lesson.name}, not 1.")
    for cell in code:
        cell.source = cell.source.replace(mutation.old, mutation.new)
    notebook.cells = notebook.cells[: mutation.cell.index + 1]
    return notebook


def run(mutation: Mutation, folder: Path) -> list[CellRun]:
    """The lane's judgement on the mutated notebook, made in the empty `folder`."""
    repository = make_repository(folder)
    add_notebook(repository, mutation.lesson.name, apply(mutation))
    return run_lane(repository).of(mutation.lesson.name)


def shortcomings(mutation: Mutation, cells: Sequence[CellRun]) -> list[str]:
    """Why a run does not show that the mutation turns its verdict; empty where it does."""
    return [f"{mutation.name}: {text}" for text in _shortcomings(mutation, cells)]


def _shortcomings(mutation: Mutation, cells: Sequence[CellRun]) -> Iterator[str]:
    if (mutation.verdict, "yes") not in mutation.cell.verdicts:
        yield "the stored outputs have no 'yes' for it. Refresh the notebook first."
        return
    own = next((c for c in cells if c.code_index == mutation.cell.code_index), None)
    if own is None:
        yield "the verdict's cell was never run."
        return
    for cell in cells:
        if cell.red and DIFFERS not in cell.failure:
            reason = cell.failure.strip().splitlines()[-1:] or ["no message"]
            yield f"code cell {cell.code_index} broke for another reason: {reason[0]}"
    answers = dict(own.verdicts)
    if not own.red:
        yield "the run stays green. The mutation changes nothing that the verdict sees."
    elif answers.get(mutation.verdict) != "NO":
        yield f"the run is red, but the verdict reads {answers.get(mutation.verdict, 'nothing')}."
    elif f"{mutation.verdict}: NO" not in own.failure:
        yield "the run is red, but not because of the verdict."
