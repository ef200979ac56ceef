"""Ways to break the sample lesson, one rule at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell

Break = Callable[[NotebookNode], object]

#: Pieces of the sample that name one of its cells.
SLICE, CHANGE, DECIDE, EXTRA = "n = 1000", "lost = sum(", "notes.decide(", "print(sum(range(10)))"


@dataclass(frozen=True)
class Breakage:
    """`rule` must complain in words that hold `says`; `also` are the rules that may as well."""

    rule: str
    says: str
    apply: Break
    also: frozenset[str] = frozenset()


def cell_with(notebook: NotebookNode, text: str) -> NotebookNode:
    """The one cell whose source holds `text`."""
    found = [cell for cell in notebook.cells if text in cell.source]
    assert len(found) == 1, f"{text!r} stands in {len(found)} cells of the sample"
    return found[0]


def facts(notebook: NotebookNode, text: str) -> dict:
    return cell_with(notebook, text).metadata.gpuutil


def replaced(old: str, new: str) -> Break:
    """Replace text in the one cell that holds it."""

    def apply(notebook: NotebookNode) -> None:
        cell = cell_with(notebook, old)
        cell.source = cell.source.replace(old, new)

    return apply


def said(old: str, new: str) -> Break:
    """Replace text in the stored outputs."""

    def apply(notebook: NotebookNode) -> None:
        hits = 0
        for cell in notebook.cells:
            for output in cell.get("outputs", []):
                if old in output.get("text", ""):
                    output.text, hits = output.text.replace(old, new), hits + 1
        assert hits, f"{old!r} is in no output of the sample"

    return apply


def noted(text: str, **changes: object) -> Break:
    """Change `gpuutil` of the one cell that holds `text`; None removes a key."""

    def apply(notebook: NotebookNode) -> None:
        for key, value in changes.items():
            if value is None:
                del facts(notebook, text)[key]
            else:
                facts(notebook, text)[key] = value

    return apply


def lesson_noted(**changes: object) -> Break:
    """Change `gpuutil` of the notebook."""

    def apply(notebook: NotebookNode) -> None:
        notebook.metadata.gpuutil.update(changes)

    return apply


def output_added(text: str, output: NotebookNode) -> Break:
    def apply(notebook: NotebookNode) -> None:
        cell_with(notebook, text).outputs.append(output)

    return apply


def moved(text: str, before: str) -> Break:
    """Move the cell that holds `text` in front of the one that holds `before`."""

    def apply(notebook: NotebookNode) -> None:
        cell = cell_with(notebook, text)
        notebook.cells.remove(cell)
        notebook.cells.insert(notebook.cells.index(cell_with(notebook, before)), cell)

    return apply


def removed(text: str) -> Break:
    def apply(notebook: NotebookNode) -> None:
        notebook.cells.remove(cell_with(notebook, text))

    return apply


def tagged(text: str, *tags: str) -> Break:
    def apply(notebook: NotebookNode) -> None:
        cell_with(notebook, text).metadata["tags"] = list(tags)

    return apply


def each_code_cell(change: Callable[[NotebookNode], object]) -> Break:
    def apply(notebook: NotebookNode) -> None:
        for cell in notebook.cells:
            if cell.cell_type == "code":
                change(cell)

    return apply


def inserted(before: str, count: int, make: Callable[[], NotebookNode], **more: object) -> Break:
    """Put `count` new cells (core notes, unless `more` says otherwise) in front of a cell."""

    def apply(notebook: NotebookNode) -> None:
        for _ in range(count):
            cell = make()
            cell.metadata["gpuutil"] = NotebookNode({"part": "note", "route": "core", **more})
            notebook.cells.insert(notebook.cells.index(cell_with(notebook, before)), cell)

    return apply


def both(*changes: Break) -> Break:
    def apply(notebook: NotebookNode) -> None:
        for change in changes:
            change(notebook)

    return apply


def text(source: str) -> Callable[[], NotebookNode]:
    return lambda: new_markdown_cell(source)


def code(source: str) -> Callable[[], NotebookNode]:
    return lambda: new_code_cell(source)
