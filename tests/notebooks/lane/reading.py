"""A lesson read from its notebook: cells with their parts, outputs, verdicts and exercises."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from . import canonical, words

IGNORED = "nbval-ignore-output"
VERDICT = re.compile(r"^(?P<sentence>\S.*): (?P<answer>yes|NO)$", re.MULTILINE)
MINUTES_PER_EXERCISE = 6
WORDS_PER_MINUTE = 120
_FOLDED = re.compile(
    r"<details>\s*<summary>\s*(?P<summary>.*?)\s*</summary>(?P<body>.*?)</details>",
    re.DOTALL | re.IGNORECASE,
)
_PYTHON = re.compile(r"^```python\n(?P<source>.*?)^```", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Cell:
    """One cell. `index` counts all cells from 0, `code_index` the code cells alone, as nbval does.

    `code_index` is None for a text cell.
    """

    index: int
    code_index: int | None
    node: NotebookNode

    @property
    def is_code(self) -> bool:
        return self.node.cell_type == "code"

    @property
    def source(self) -> str:
        return self.node.source

    @property
    def facts(self) -> dict:
        """What the cell's metadata say below `gpuutil`; empty where there is nothing."""
        found = self.node.metadata.get("gpuutil", {})
        return found if isinstance(found, dict) else {}

    @property
    def part(self) -> str | None:
        return self.facts.get("part")

    @property
    def core(self) -> bool:
        return self.facts.get("route") == "core"

    @property
    def cycle(self) -> int | None:
        return self.facts.get("cycle")

    @property
    def exercise(self) -> str | None:
        return self.facts.get("exercise")

    @property
    def mutations(self) -> list[dict]:
        return list(self.facts.get("mutation", []))

    @property
    def tags(self) -> list[str]:
        return list(self.node.metadata.get("tags", []))

    @property
    def strict(self) -> bool:
        """A code cell whose output nbval compares."""
        return self.is_code and IGNORED not in self.tags

    @property
    def outputs(self) -> list[NotebookNode]:
        return list(self.node.get("outputs", []))

    @property
    def printed(self) -> str:
        return printed(self.outputs)

    @property
    def verdicts(self) -> list[tuple[str, str]]:
        """(sentence, "yes" or "NO") of every line that `lesson.holds` printed here."""
        return VERDICT.findall(self.printed)

    @property
    def pictures(self) -> list[NotebookNode]:
        """The outputs that hold an image."""
        return [o for o in self.outputs if any(k.startswith("image/") for k in o.get("data", {}))]

    @property
    def folded(self) -> dict[str, str]:
        """Summary -> content of each `<details>` block of a text cell."""
        return {m["summary"]: m["body"].strip() for m in _FOLDED.finditer(self.source)}

    @property
    def place(self) -> str:
        first = next((line for line in self.source.splitlines() if line.strip()), "(empty)").strip()
        first = first if len(first) <= 60 else first[:57] + "..."
        return f"cell {self.index} ({first})"


def printed(outputs: list[NotebookNode]) -> str:
    """All that went to standard output."""
    return "".join(o.text for o in outputs if o.output_type == "stream" and o.name == "stdout")


def output_texts(outputs: list[NotebookNode]) -> list[str]:
    """Every text in the outputs: streams, tracebacks, and all that is shown but the images."""
    texts = []
    for output in outputs:
        texts += [output.text] if "text" in output else []
        texts += list(output.get("traceback", []))
        for kind, content in output.get("data", {}).items():
            if not kind.startswith("image/") or kind == "image/svg+xml":
                texts.append(content if isinstance(content, str) else str(content))
    return texts


@dataclass(frozen=True)
class Lesson:
    """A notebook as text and as cells."""

    path: Path
    text: str
    notebook: NotebookNode

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def facts(self) -> dict:
        """What the notebook's metadata say below `gpuutil`; empty where there is nothing."""
        found = self.notebook.metadata.get("gpuutil", {})
        return found if isinstance(found, dict) else {}

    @cached_property
    def cells(self) -> list[Cell]:
        cells, code = [], 0
        for index, node in enumerate(self.notebook.cells):
            is_code = node.cell_type == "code"
            cells.append(Cell(index, code if is_code else None, node))
            code += is_code
        return cells

    @property
    def code(self) -> list[Cell]:
        return [cell for cell in self.cells if cell.is_code]

    @property
    def prose(self) -> list[Cell]:
        return [cell for cell in self.cells if not cell.is_code]

    def of(self, part: str) -> list[Cell]:
        return [cell for cell in self.cells if cell.part == part]

    @property
    def cycles(self) -> dict[int, list[Cell]]:
        found: dict[int, list[Cell]] = {}
        for cell in self.cells:
            if cell.cycle is not None:
                found.setdefault(cell.cycle, []).append(cell)
        return found

    @property
    def exercises(self) -> dict[str, Cell]:
        """Exercise number -> its code cell."""
        return {c.exercise: c for c in self.code if c.exercise is not None}

    def solution(self, number: str) -> str | None:
        """The Python source in the folded solution of an exercise; None where there is none."""
        for cell in self.prose:
            body = cell.folded.get("Solution") if cell.exercise == number else None
            found = _PYTHON.search(body) if body else None
            if found:
                return found["source"].rstrip("\n")
        return None


def load(path: str | Path) -> Lesson:
    """Read a notebook from a file."""
    path = Path(path)
    text = path.read_text(encoding="utf-8")
    # Not nbformat.reads: it repairs double cell ids in passing, and the guard wants to see them.
    return Lesson(path, text, nbformat.v4.reads(text))


def from_notebook(notebook: NotebookNode, path: str | Path) -> Lesson:
    """A lesson from a notebook in memory, as if it had been read from `path`."""
    return Lesson(Path(path), canonical.plain_text(notebook), notebook)


def minutes(cells: list[Cell]) -> float:
    """Reading time in minutes: words/120 + 1 for each code cell + 6 for each exercise."""
    code = [cell for cell in cells if cell.is_code]
    exercises = {cell.exercise for cell in code if cell.exercise is not None}
    return prose_words(cells) / WORDS_PER_MINUTE + len(code) + MINUTES_PER_EXERCISE * len(exercises)


def core_minutes(lesson: Lesson) -> float:
    """Minutes for the core of a lesson, not rounded."""
    return minutes([cell for cell in lesson.cells if cell.core])


def prose_words(cells: list[Cell]) -> int:
    """Words of the text cells that a reader sees without unfolding anything, tables included."""
    return sum(words.count(words.visible(c.source)) for c in cells if not c.is_code)
