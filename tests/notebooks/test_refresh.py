"""Refresh writes a baseline whole, or leaves the file as it was and says which cell is to blame."""

from __future__ import annotations

from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

import refresh
from lane import canonical, reading
from lane.places import SAMPLE
from lane.sanitize import hide

IMPORT = "from gpuutil_helpers.files import artifacts_dir\n"


def write(folder: Path, *cells, name: str = "00_test.ipynb", metadata=None) -> Path:
    path = folder / name
    notebook = new_notebook(cells=list(cells), metadata=metadata or {})
    path.write_text(canonical.plain_text(notebook), encoding="utf-8")
    return path


def tagged(source: str):
    return new_code_cell(source, metadata={"tags": ["nbval-ignore-output"]})


@pytest.fixture(scope="module")
def renewed(tmp_path_factory) -> tuple[Path, reading.Lesson]:
    """One notebook with everything that refresh must handle, and its lesson afterwards."""
    folder = tmp_path_factory.mktemp("refresh")
    path = write(
        folder,
        new_markdown_cell("# One", metadata={"editable": True, "gpuutil": {"part": "note"}}),
        new_code_cell("import sys\nprint(1)\nsys.stdout.flush()\nprint(2)"),
        new_code_cell("3", metadata={"execution": {"iopub.status.busy": "2024"}, "tags": []}),
        new_code_cell("import os\nprint(repr(os.environ['CUDA_VISIBLE_DEVICES']))"),
        new_code_cell(IMPORT + "print(artifacts_dir().exists())"),
        new_code_cell(
            "import time\n\nfor part in range(3):\n    print(part, flush=True)\n"
            "    time.sleep(0.05)"
        ),
        tagged("import ipywidgets\n\nipywidgets.IntProgress()"),
        new_code_cell("(artifacts_dir()).mkdir(parents=True)\nprint('the claim: yes')"),
        metadata={"widgets": {"state": {}}, "language_info": {"name": "python", "version": "3"}},
    )
    ids = [cell.node["id"] for cell in reading.load(path).cells]
    assert refresh.main([str(path)]) == 0
    lesson = reading.load(path)
    assert [cell.node["id"] for cell in lesson.cells] == ids
    return path, lesson


def test_it_writes_the_canonical_form(renewed):
    _, lesson = renewed
    assert lesson.text == canonical.text_of(lesson.notebook)
    assert lesson.text.endswith("}\n")
    assert set(lesson.notebook.metadata) == {"kernelspec", "language_info"}
    assert "version" not in lesson.notebook.metadata.language_info
    assert lesson.cells[0].node.metadata == {"gpuutil": {"part": "note"}}
    assert lesson.cells[2].node.metadata == {}


def test_it_counts_from_one_and_joins_streams(renewed):
    _, lesson = renewed
    assert [cell.node.execution_count for cell in lesson.code] == list(range(1, 8))
    assert [output.text for output in lesson.cells[1].outputs] == ["1\n2\n"]
    assert [output.text for output in lesson.cells[5].outputs] == ["0\n1\n2\n"]
    assert lesson.cells[2].outputs[0].execution_count == 2


def test_it_hides_the_gpu_and_gives_an_empty_artifacts_folder(renewed):
    _, lesson = renewed
    assert lesson.cells[3].printed == "''\n"
    assert lesson.cells[4].printed == "False\n"


def test_it_drops_a_widget_that_nobody_compares(renewed):
    _, lesson = renewed
    assert lesson.cells[6].outputs == []
    assert lesson.cells[6].node.execution_count == 6


def test_a_second_run_changes_nothing(renewed):
    path, lesson = renewed
    assert refresh.main([str(path)]) == 0
    assert reading.load(path).text == lesson.text


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("print(1)\n1 / 0", "cell 1 (print(1)) raises ZeroDivisionError: division by zero"),
        ("print('the claim: NO')", "prints 'the claim: NO'"),
        ("import warnings\n\nwarnings.warn('old')", "writes to stderr"),
        ("def f(:", "raises SyntaxError"),
        ("import ipywidgets\n\nipywidgets.IntProgress()", "shows a widget and nbval would"),
    ],
)
def test_it_refuses_and_leaves_the_file(tmp_path, capsys, source, says):
    path = write(tmp_path, new_code_cell("print(0)"), new_code_cell(source))
    before = path.read_bytes(), path.stat().st_mtime_ns
    assert refresh.main([str(path)]) == 1
    said = capsys.readouterr().out
    assert "00_test.ipynb: left as it was." in said
    assert says in said
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert list(tmp_path.iterdir()) == [path]


def test_one_refusal_does_not_stop_the_others(tmp_path, capsys):
    bad = write(tmp_path, new_code_cell("1 / 0"), name="00_bad.ipynb")
    good = write(tmp_path, new_code_cell("1"), name="01_good.ipynb")
    assert refresh.main([str(bad), str(good)]) == 1
    assert "01_good.ipynb: renewed" in capsys.readouterr().out
    assert reading.load(good).code[0].node.execution_count == 1


def test_a_missing_file_is_one_sentence(tmp_path, capsys):
    assert refresh.main([str(tmp_path / "02_none.ipynb")]) == 1
    assert "02_none.ipynb: left as it was." in capsys.readouterr().out


def test_the_sample_is_what_refresh_makes_of_it():
    """Its outputs hold one measured number; all else comes out the same."""
    assert hide(canonical.text_of(refresh.executed(SAMPLE))) == hide(reading.load(SAMPLE).text)
