"""A learner's artifacts are untouched by a test run, byte for byte."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from gpuutil_helpers.files import artifacts_dir
from lane import reading
from lane.nbval_run import add_notebook, make_repository, run_lane
from lane.places import REPOSITORY, SAMPLE

#: A cell that finds its artifacts folder empty and leaves a file there.
WRITES = """\
from gpuutil_helpers.files import artifacts_dir, write_whole

print("empty:", not artifacts_dir().exists())
_ = write_whole(artifacts_dir() / "notes.jsonl", "written by a test")"""


def planted(folder: Path) -> Path:
    """An artifacts folder as a learner has it after lesson 01."""
    for name, content in {
        "notes.jsonl": b'{"kind": "prediction", "lesson": "90", "key": "float32"}\n{"half a li',
        "project/train.py": b"print('mine')\r\n",
        "project/history.csv": b"epoch,training_loss\n1,0.5\n",
        "project/checkpoints/last.pt": bytes(range(256)),
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def snapshot(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Each file's bytes and time of change."""
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def writing_notebook():
    output = new_output("stream", name="stdout", text="empty: True\n")
    return new_notebook(cells=[new_code_cell(WRITES, execution_count=1, outputs=[output])])


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A learner's own copy of the course, with two notebooks that write the same file."""
    copied = make_repository(tmp_path / "course", copies=("gpuutil_helpers",))
    for name in ("00_a.ipynb", "01_b.ipynb"):
        add_notebook(copied, name, writing_notebook())
    return copied


def test_a_run_leaves_the_learner_alone_and_gives_each_notebook_an_empty_folder(repository):
    add_notebook(repository, SAMPLE.name, reading.load(SAMPLE).notebook)
    own = planted(repository / "artifacts")
    before = snapshot(own)
    run = run_lane(repository, package=repository, environment={"GPUUTIL_ARTIFACTS": None})
    assert run.status == 0, run.output
    assert not any(run.red(name) for name in ("00_a.ipynb", "01_b.ipynb", SAMPLE.name))
    assert snapshot(own) == before


def test_a_folder_that_the_learner_has_named_is_left_alone_too(repository, tmp_path):
    own = planted(tmp_path / "elsewhere")
    before = snapshot(own)
    named = {"GPUUTIL_ARTIFACTS": str(own)}
    run = run_lane(repository, ["00_a.ipynb"], package=repository, environment=named)
    assert run.status == 0, run.output
    assert snapshot(own) == before


def test_without_the_redirection_the_same_run_would_write(repository):
    """The two tests above can fail."""
    own = planted(repository / "artifacts")
    before = snapshot(own)
    run = run_lane(
        repository,
        ["00_a.ipynb"],
        package=repository,
        environment={"GPUUTIL_ARTIFACTS": None},
        options=["--noconftest"],
    )
    assert run.red("00_a.ipynb")
    assert snapshot(own)["notes.jsonl"] != before["notes.jsonl"]


def test_tests_write_to_a_temporary_folder_as_well():
    assert os.environ["GPUUTIL_ARTIFACTS"]
    assert REPOSITORY not in artifacts_dir().parents
