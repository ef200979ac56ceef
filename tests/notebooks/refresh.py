"""Renew the stored outputs of notebooks: python tests/notebooks/refresh.py [notebook ...]

Each notebook (all lessons, if none is named) runs from the top in a fresh kernel, with an empty
temporary artifacts folder and without a GPU. Its file is replaced whole, in canonical form, or
left as it is when a cell raises, writes to stderr, or prints a verdict that reads NO.
"""

from __future__ import annotations

import argparse
import copy
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from gpuutil_helpers.files import write_whole
from lane import canonical
from lane.kernels import failure, fresh_kernel
from lane.places import lessons
from lane.reading import IGNORED, VERDICT, printed


class RefusedError(Exception):
    """Why a notebook cannot be a baseline, as a sentence."""


def executed(path: Path) -> NotebookNode:
    """The notebook with the outputs and counts of a fresh run.

    Raises:
        RefusedError: a cell raised, wrote to stderr, or printed a verdict that reads NO.
    """
    notebook = copy.deepcopy(nbformat.read(path, as_version=4))
    with fresh_kernel(path.parent, environment={"CUDA_VISIBLE_DEVICES": ""}) as kernel:
        for index, cell in enumerate(notebook.cells):
            if cell.cell_type == "code":
                done = kernel.run(cell.source)
                cell.outputs, cell.execution_count = done.outputs, done.execution_count
                _check(cell, index)
    return notebook


def refresh(path: Path) -> None:
    """Replace the file by its executed, canonical form.

    Raises:
        RefusedError: see `executed`; the file is as it was.
    """
    write_whole(path, canonical.text_of(executed(path)))


def _check(cell: NotebookNode, index: int) -> None:
    """Refuse what cannot be a baseline; drop widgets where nobody compares them."""
    first = cell.source.strip().partition("\n")[0]
    place = f"cell {index} ({first})"
    raised = failure(cell.outputs)
    if raised:
        raise RefusedError(f"{place} raises {raised}")
    if any(o.output_type == "stream" and o.name == "stderr" for o in cell.outputs):
        raise RefusedError(f"{place} writes to stderr: remove the cause of the warning")
    for sentence, answer in VERDICT.findall(printed(cell.outputs)):
        if answer == "NO":
            raise RefusedError(f"{place} prints '{sentence}: NO'")
    shown = [o for o in cell.outputs if canonical.WIDGET_VIEW not in o.get("data", {})]
    if len(shown) < len(cell.outputs) and IGNORED not in cell.metadata.get("tags", []):
        raise RefusedError(f"{place} shows a widget and nbval would compare it: tag it {IGNORED}")
    cell.outputs = shown


def main(arguments: Sequence[str] | None = None) -> int:
    """Refresh, one line for each notebook; 1 if any was refused, else 0."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("notebooks", nargs="*", type=Path, help="all lessons, if none is named")
    status = 0
    for path in parser.parse_args(arguments).notebooks or lessons():
        started = time.perf_counter()
        try:
            refresh(path)
        except (RefusedError, OSError) as error:
            status = 1
            print(f"{path.name}: left as it was. {error}.", flush=True)
        else:
            took = time.perf_counter() - started
            print(f"{path.name}: renewed in {took:.0f} s", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
