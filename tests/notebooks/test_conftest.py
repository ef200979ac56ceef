"""What the root conftest does for tests: one thread, a reason for each skipped GPU test."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import torch
from nbformat.v4 import new_code_cell, new_notebook, new_output

from lane.nbval_run import add_notebook, make_repository

TESTS = """\
import pytest
import torch


def test_first():
    assert torch.get_num_threads() == 1
    torch.set_num_threads(2)


def test_second():
    assert torch.get_num_threads() == 1


@pytest.mark.gpu
def test_on_a_gpu():
    assert torch.cuda.is_available()
"""


def run_pytest(folder: Path, *arguments: str) -> str:
    finished = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rs", *arguments],
        cwd=folder,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    return finished.stdout + finished.stderr


def test_threads_gpu_tests_and_the_sanitise_file_from_any_folder(tmp_path):
    repository = make_repository(tmp_path / "course")
    output = new_output("stream", name="stdout", text="read: ~1.5 s\n")
    cell = new_code_cell("print('read: ~7 ms')", execution_count=1, outputs=[output])
    add_notebook(repository, "00_measured.ipynb", new_notebook(cells=[cell]))
    (repository / "tests" / "test_it.py").write_text(TESTS, encoding="utf-8")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    settings = ["-c", str(repository / "pyproject.toml"), "--rootdir", str(repository)]
    places = [str(repository / "tests"), str(repository / "notebooks")]
    said = run_pytest(elsewhere, *settings, *places)
    assert "3 passed, 1 skipped" in said, said
    assert "needs a CUDA device; torch" in said


def test_this_run_has_one_thread():
    assert torch.get_num_threads() == 1
