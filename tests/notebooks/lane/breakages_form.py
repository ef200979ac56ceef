"""Breakages of the rules on the file."""

from __future__ import annotations

import copy

from nbformat import NotebookNode
from nbformat.v4 import new_output

from .breaking import (
    DECIDE,
    EXTRA,
    SLICE,
    Breakage,
    cell_with,
    code,
    each_code_cell,
    inserted,
    output_added,
    replaced,
    said,
    tagged,
)
from .canonical import WIDGET_VIEW

UNDESCRIBED = new_output("display_data", {"image/png": "aGVsbG8="})
VIEW = new_output("display_data", {WIDGET_VIEW: {"model_id": "1"}, "text/plain": "IntSlider()"})
ERROR = new_output("error", ename="ValueError", evalue="no", traceback=[])
STDERR = new_output("stream", name="stderr", text="UserWarning: old")


def strip(cell: NotebookNode) -> None:
    cell.outputs, cell.execution_count = [], None


def second_run(notebook: NotebookNode) -> None:
    notebook.cells[3].execution_count = 40


def emptied(notebook: NotebookNode) -> None:
    cell_with(notebook, EXTRA).source = ""


def same_id(notebook: NotebookNode) -> None:
    notebook.cells[4]["id"] = notebook.cells[3]["id"]


def no_outputs(notebook: NotebookNode) -> None:
    del notebook.cells[3]["execution_count"]


def old_format(notebook: NotebookNode) -> None:
    notebook.nbformat_minor = 4


def widget_state(notebook: NotebookNode) -> None:
    notebook.metadata["widgets"] = {"application/vnd.jupyter.widget-state+json": {}}


def timestamps(notebook: NotebookNode) -> None:
    notebook.cells[3].metadata["execution"] = {"iopub.execute_input": "2024-01-01"}


def other_kernel(notebook: NotebookNode) -> None:
    notebook.metadata.kernelspec = {"name": "my-env", "display_name": "mine", "language": "python"}


def python_version(notebook: NotebookNode) -> None:
    notebook.metadata.language_info["version"] = "3.11.7"


def same_alt(notebook: NotebookNode) -> None:
    shown = next(c for c in notebook.cells if "PIXEL" in c.source)
    shown.outputs.append(copy.deepcopy(shown.outputs[0]))


def not_ignored(cell: NotebookNode) -> None:
    if cell.execution_count % 2 or "print" not in cell.source:
        cell.metadata["tags"] = ["nbval-ignore-output"]


FORM = [
    Breakage("canonical_form", "not in the form", timestamps),
    Breakage("schema", "'execution_count' is a required", no_outputs, frozenset({"counts"})),
    Breakage("cell_ids", "format 4.4", old_format, frozenset({"canonical_form", "schema"})),
    Breakage("cell_ids", "id sample-03 of an earlier", same_id),
    Breakage("counts", "never run, so nbval would", each_code_cell(strip), frozenset({"*"})),
    Breakage("counts", "count 40 where", second_run),
    Breakage(
        "counts",
        "never run, so nbval compares",
        inserted(DECIDE, 1, code("1"), route="x"),
        frozenset({"known_parts", "extras_last"}),
    ),
    Breakage("counts", "an empty code cell", emptied),
    Breakage("errors", "an exception, ValueError", output_added(SLICE, ERROR)),
    Breakage("warnings", "wrote to stderr", output_added(SLICE, STDERR)),
    Breakage("widgets", "state of widgets", widget_state, frozenset({"canonical_form"})),
    Breakage("widgets", "a widget's view", output_added(SLICE, VIEW)),
    Breakage("trailing_semicolons", "semicolon", replaced(EXTRA, "sum(range(10));  # quiet")),
    Breakage("plain_python", "not plain Python", replaced(EXTRA, "%time sum(range(10))")),
    Breakage("plain_python", "uses clear_output", replaced(EXTRA, f"{EXTRA}\nclear_output()")),
    Breakage(
        "plain_python",
        "uses clear_output",
        replaced(EXTRA, f"{EXTRA}\nIPython.display.clear_output()"),
    ),
    Breakage("plain_python", "uses display_id", replaced(EXTRA, "display(1, display_id=True)")),
    Breakage("local_paths", "'/home/'", said("1000 numbers", "/home/me/numbers")),
    Breakage("local_paths", "'C:\\\\\\\\U'", replaced(EXTRA, 'print("C:\\\\Users")')),
    Breakage("local_paths", "0x7f00aa", said("1000 numbers", "<object at 0x7f00aa12>")),
    Breakage("kernel", "python3", other_kernel, frozenset({"canonical_form"})),
    Breakage("kernel", "Python version", python_version, frozenset({"canonical_form"})),
    Breakage("tags", "'raises-exception'", tagged(SLICE, "raises-exception")),
    Breakage("tags", "'nbval-skip'", tagged(SLICE, "nbval-skip")),
    Breakage("tags", "by a comment", replaced(EXTRA, f"# NBVAL_IGNORE_OUTPUT\n{EXTRA}")),
    Breakage("figures", "without an alternative", output_added(SLICE, UNDESCRIBED)),
    Breakage("figures", "alternative text of", same_alt),
    Breakage(
        "half_strict",
        "fewer than half",
        each_code_cell(not_ignored),
        frozenset({"verdicts", "exercises"}),
    ),
]
