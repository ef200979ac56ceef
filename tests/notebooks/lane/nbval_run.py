"""The real nbval lane, run as a subprocess on copies of notebooks in a small repository."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nbformat import NotebookNode

from . import canonical
from .places import REPOSITORY, TOOLS
from .reading import VERDICT
from .recorder import VARIABLE

LANE_FILES = ("pyproject.toml", "conftest.py", "tests/notebooks/sanitize.cfg")
RUN_TIMEOUT_S = 900
RAISED = "Cell execution caused an exception"
DIFFERS = "Cell outputs differ"


@dataclass(frozen=True)
class CellRun:
    """How nbval judged one code cell; `code_index` counts code cells from 0."""

    notebook: str
    code_index: int
    outcome: str
    failure: str
    printed: str

    @property
    def red(self) -> bool:
        return self.outcome != "passed"

    @property
    def verdicts(self) -> list[tuple[str, str]]:
        return VERDICT.findall(self.printed)


@dataclass(frozen=True)
class Run:
    """A run of the lane: its exit status, what pytest printed, each code cell."""

    status: int
    output: str
    cells: tuple[CellRun, ...]

    def of(self, notebook: str) -> list[CellRun]:
        return [cell for cell in self.cells if cell.notebook == notebook]

    def red(self, notebook: str) -> bool:
        """Whether any cell of the notebook failed, or none was judged at all."""
        cells = self.of(notebook)
        return not cells or any(cell.red for cell in cells)


def make_repository(folder: Path, *, copies: Sequence[str] = ()) -> Path:
    """A folder with the lane's real settings, and copies of whatever else is named."""
    for name in (*LANE_FILES, *copies):
        source, target = REPOSITORY / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints")
            shutil.copytree(source, target, ignore=ignored)
        else:
            shutil.copy2(source, target)
    (folder / "notebooks").mkdir(exist_ok=True)
    return folder


def add_notebook(repository: Path, name: str, notebook: NotebookNode) -> Path:
    """Write a notebook, as it is, into the repository's `notebooks/`."""
    path = repository / "notebooks" / name
    path.write_text(canonical.plain_text(notebook), encoding="utf-8")
    return path


def run_lane(
    repository: Path,
    notebooks: Sequence[str] = (),
    *,
    package: Path = REPOSITORY,
    environment: Mapping[str, str | None] | None = None,
    options: Sequence[str] = (),
) -> Run:
    """Run pytest with the lane's own settings on some notebooks of the repository (none: all).

    `package` is the folder in which `gpuutil_helpers` is looked up. A variable given as None is
    taken out of the environment.
    """
    record = repository / "record.jsonl"
    record.unlink(missing_ok=True)
    changes = {
        "PYTHONPATH": os.pathsep.join([str(package), str(TOOLS)]),
        "PYTEST_ADDOPTS": None,
        VARIABLE: str(record),
        **(environment or {}),
    }
    variables = {**os.environ, **{k: v for k, v in changes.items() if v is not None}}
    for name in [name for name, value in changes.items() if value is None]:
        variables.pop(name, None)
    places = [f"notebooks/{name}" for name in notebooks] or ["notebooks"]
    quiet = ["-p", "lane.recorder", "-p", "no:cacheprovider", "-vv", "--color=no"]
    finished = subprocess.run(
        [sys.executable, "-m", "pytest", *quiet, *options, *places],
        cwd=repository,
        env=variables,
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        timeout=RUN_TIMEOUT_S,
        check=False,
    )
    return Run(finished.returncode, finished.stdout + finished.stderr, _read(record))


def _read(record: Path) -> tuple[CellRun, ...]:
    if not record.exists():
        return ()
    return tuple(_cell(json.loads(line)) for line in record.read_text("utf-8").splitlines())


def _cell(record: dict) -> CellRun:
    printed = "".join(
        output.get("text", "")
        for output in record["outputs"]
        if output["output_type"] == "stream" and output.get("name") == "stdout"
    )
    return CellRun(
        record["notebook"], record["code_index"], record["outcome"], record["failure"], printed
    )
