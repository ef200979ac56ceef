"""The repository's Python, notebooks included, is clean and formatted for ruff."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CHECKED = ("gpuutil_helpers", "notebooks", "tests", "conftest.py", "start.py")


@pytest.mark.parametrize("command", [("check",), ("format", "--check")], ids=" ".join)
def test_ruff_finds_nothing(command):
    present = [name for name in CHECKED if (ROOT / name).exists()]
    finished = subprocess.run(
        [sys.executable, "-m", "ruff", *command, "--no-cache", *present],
        cwd=ROOT,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
