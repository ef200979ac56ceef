"""What lessons print and show. Figures are shown by a real kernel and compared by a real nbval."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import matplotlib
import nbformat
import numpy as np
import pandas as pd
import pytest
import torch
from matplotlib.figure import Figure
from nbclient import NotebookClient
from nbconvert import HTMLExporter

from gpuutil_helpers.course import lesson
from gpuutil_helpers.course.notes import LabNotes
from gpuutil_helpers.files import artifacts_dir, repository_root
from gpuutil_helpers.instruments.unavailable import Unavailable


@pytest.fixture(autouse=True)
def no_window() -> None:
    matplotlib.use("agg")


def test_start_lesson_prepares_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    drawn = []
    for _ in range(2):  # twice in one kernel is as good as once
        torch.set_num_threads(2)
        notes = lesson.start_lesson("07")
        assert capsys.readouterr().out == (
            "Lesson 07: one thread, seed 0. "
            "A number behind ~ was measured here; yours will differ.\n"
        )
        assert torch.get_num_threads() == 1
        drawn.append((random.random(), np.random.rand(), torch.rand(1).item()))
        assert notes.lesson == "07"
        assert notes.path == artifacts_dir() / "notes.jsonl"
        assert not notes.path.exists()
    assert drawn[0] == drawn[1]


def test_another_seed_is_used_and_named(capsys: pytest.CaptureFixture[str]) -> None:
    lesson.start_lesson("00", seed=5)
    five = torch.rand(1)
    assert "seed 5." in capsys.readouterr().out
    torch.manual_seed(5)
    assert torch.equal(five, torch.rand(1))


@pytest.mark.parametrize(
    "number", ["0", "000", "1a", "", "\u0660\u0661", 1, 0.0, None, " 1", "01\n"]
)
def test_a_lesson_number_is_two_digits(number: object, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match=r"^the lesson is .*: give its two digits in quotes"):
        lesson.start_lesson(number)
    assert capsys.readouterr().out == ""


def test_teaching_code_loads_no_heavy_library() -> None:
    code = (
        "import sys; from gpuutil_helpers.course import lesson, notes\n"
        "print(sorted({'torch', 'pandas', 'matplotlib', 'numpy', 'IPython'} & set(sys.modules)))"
    )
    assert run(sys.executable, "-c", code).stdout == "[]\n"


@pytest.mark.parametrize("true", [True, np.bool_(True), np.array(True), torch.tensor(True)])
def test_holds_prints_yes(true: object, capsys: pytest.CaptureFixture[str]) -> None:
    assert lesson.holds("one is less than two", true) is None
    assert capsys.readouterr().out == "one is less than two: yes\n"


@pytest.mark.parametrize("false", [False, np.bool_(False), np.array(False), torch.tensor(False)])
def test_holds_prints_no(false: object, capsys: pytest.CaptureFixture[str]) -> None:
    lesson.holds("two is less than one", false)
    assert capsys.readouterr().out == "two is less than one: NO\n"


@pytest.mark.parametrize(
    "condition",
    [
        *(None, 0, 1, 0.3, "yes", "", ..., [], [True], Unavailable("no GPU")),
        *(np.float64(1), np.array([True]), torch.tensor([True]), torch.tensor(1)),
    ],
)
def test_holds_refuses_what_is_only_truthy(
    condition: object, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(TypeError, match=r"^what decides 'x holds' is .*neither True nor False"):
        lesson.holds("x holds", condition)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("sentence", ["", "  ", "two\nlines", None, 3])
def test_a_sentence_is_one_line(sentence: object) -> None:
    with pytest.raises((TypeError, ValueError), match=r"^the sentence is "):
        lesson.holds(sentence, True)


def test_say(capsys: pytest.CaptureFixture[str]) -> None:
    lesson.say("data wait", 61.4, "% of the step", "input-bound")
    lesson.say("median", 0.01234, "s", digits=3)
    lesson.say("accuracy", 0.97)
    assert capsys.readouterr().out == (
        "data wait: ~61 % of the step -> input-bound\nmedian: ~0.0123 s\naccuracy: ~0.97\n"
    )


def test_say_never_shows_unknown_as_a_number(capsys: pytest.CaptureFixture[str]) -> None:
    lesson.say("power", Unavailable("this machine has no NVIDIA driver"), "W", "low")
    lesson.say("power", None, "W", "low")
    assert capsys.readouterr().out == (
        "power: unavailable, because this machine has no NVIDIA driver\n"
        "power: unavailable, because there is no reading\n"
    )


def test_the_pattern_hides_the_number_and_keeps_name_words_and_verdict(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lesson.say("2 workers", 61.4, "% of the 3 steps", "4 times too slow")
    text = re.sub(lesson.APPROXIMATE, "~", capsys.readouterr().out)
    assert text == "2 workers: ~ of the 3 steps -> 4 times too slow\n"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("x", float("nan"), "ms"), ValueError),
        (("x", "61", "ms"), TypeError),
        (("x", True, "ms"), TypeError),
        (("x", 1.0, "seconds"), ValueError),
        (("", 1.0, "ms"), ValueError),
        (("x", 1.0, "ms", ""), ValueError),
        (("x", 1.0, "ms", "two\nlines"), ValueError),
    ],
)
def test_say_refuses(
    arguments: tuple, error: type[Exception], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(error, match=r": (give|use) "):
        lesson.say(*arguments)
    assert capsys.readouterr().out == ""


def picture(**changes: object) -> SimpleNamespace:
    parts = {"figure": Figure(), "alt": "A line that rises.", "finding": "It rises.", "table": None}
    return SimpleNamespace(**(parts | changes))


def test_show_outside_a_notebook_prints_the_words(capsys: pytest.CaptureFixture[str]) -> None:
    lesson.show(picture())
    assert capsys.readouterr().out == "figure: A line that rises.\nIt rises.\n"


def test_show_closes_the_figure_and_no_other() -> None:
    from matplotlib import pyplot

    kept, shown = pyplot.figure(), pyplot.figure()
    lesson.show(picture(figure=shown))
    assert pyplot.get_fignums() == [kept.number]
    pyplot.close(kept)


@pytest.mark.parametrize("empty", ["", "  \n", None, ...])
@pytest.mark.parametrize("part", ["alt", "finding"])
def test_show_refuses_a_figure_without_words(
    part: str, empty: object, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ValueError, match=r"^the (alternative text|finding) is .*write a sentence"):
        lesson.show(picture(**{part: empty}))
    assert capsys.readouterr().out == ""


CELLS = (
    """
import matplotlib.pyplot as plt
import pandas as pd
from types import SimpleNamespace
from gpuutil_helpers.course import lesson

figure, ax = plt.subplots(figsize=(6.4, 3.6), dpi=100)
ax.plot([1, 2, 3])
table = pd.DataFrame({"step <n>": [1, 2], "time (ms)": [0.123456, 2.0]})
alt = 'A line "rises" <fast> & far.'
lesson.show(SimpleNamespace(figure=figure, alt=alt, finding="It rises by ~1.2 ms.", table=table))
""",
    """
plain = plt.figure(figsize=(2, 1), dpi=100)
lesson.show(SimpleNamespace(figure=plain, alt="An empty frame.", finding="It is empty."))
lesson.holds("one is less than two", 1 < 2)
""",
)


def run(*command: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join((str(repository_root()), os.environ.get("PYTHONPATH", "")))
    environment = os.environ | {"PYTHONPATH": path, "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(
        command, cwd=cwd, env=environment, text=True, encoding="utf-8", capture_output=True
    )


@pytest.fixture(scope="module")
def executed() -> nbformat.NotebookNode:
    """A small notebook that shows two figures, executed by a real kernel."""
    cells = [nbformat.v4.new_code_cell(source.strip()) for source in CELLS]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
    path = os.pathsep.join((str(repository_root()), os.environ.get("PYTHONPATH", "")))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", path)
        NotebookClient(notebook, kernel_name="python3", timeout=120).execute()
    return notebook


def test_the_figure_is_stored_once_with_its_words_then_its_finding(
    executed: nbformat.NotebookNode,
) -> None:
    figure, finding, folded = executed.cells[0].outputs
    assert figure.data["text/plain"] == "<Figure size 640x360 with 1 Axes>"
    assert figure.metadata["image/png"]["alt"] == 'A line "rises" <fast> & far.'
    assert set(figure.data) == {"image/png", "text/plain"}
    assert finding.text == "It rises by ~1.2 ms.\n"
    assert folded.data["text/plain"] == 'A line "rises" <fast> & far.'
    plain, *_ = executed.cells[1].outputs
    assert plain.data["text/plain"] == "<Figure size 200x100 with 0 Axes>"


def test_the_numbers_are_folded_below_as_a_table(executed: nbformat.NotebookNode) -> None:
    folded = executed.cells[0].outputs[2].data["text/html"]
    assert "&lt;fast&gt; &amp; far" in folded
    assert re.findall("<th scope=.col.>(.*?)</th>", folded) == ["step &lt;n&gt;", "time (ms)"]
    assert re.findall("<td>(.*?)</td>", folded) == ["1", "0.1235", "2", "2"]
    assert "<table" not in executed.cells[1].outputs[2].data["text/html"]


def test_exported_pages_carry_the_words(executed: nbformat.NotebookNode) -> None:
    words = "&lt;fast&gt; &amp; far."
    classic, _ = HTMLExporter(template_name="classic").from_notebook_node(executed)
    assert re.search(rf"<img\s[^>]*alt=['\"]A line [^>]*{words}", classic)
    page, _ = HTMLExporter().from_notebook_node(executed)
    assert words in page[page.index("<details>") : page.index("</details>")]


def test_nbval_finds_the_same_outputs_again(
    executed: nbformat.NotebookNode, tmp_path: Path
) -> None:
    pattern = f"[measured]\nregex: {lesson.APPROXIMATE}\nreplace: ~\n"
    (tmp_path / "sanitize.cfg").write_text(pattern, encoding="utf-8")
    nbformat.write(executed, tmp_path / "figures.ipynb")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--nbval"]
    command += ["--nbval-current-env", "--nbval-sanitize-with", "sanitize.cfg", "figures.ipynb"]
    result = run(*command, cwd=tmp_path)
    assert result.returncode == 0, result.stdout
    assert "2 passed" in result.stdout


def test_a_long_table_says_what_it_leaves_out() -> None:
    html = lesson._folded("alt", pd.DataFrame({"n": range(1000)}))
    assert html.count("<tr>") == 1 + lesson.TABLE_ROWS
    assert f"The first {lesson.TABLE_ROWS} of 1000 rows." in html


def test_a_result_is_printed_beside_its_guess(capsys, tmp_path):
    notes = LabNotes("00", tmp_path / "notes.jsonl")
    lesson.compare(notes.measured("first fill", 8.12, unit="times"))
    notes.predict("share", 0.5, unit="times")
    lesson.compare(notes.measured("share", 1.3, unit="times"))
    notes.predict("loss", "rises", choices=("falls", "rises"))
    lesson.compare(notes.measured("loss", "falls"))
    said = [line for line in capsys.readouterr().out.splitlines() if "measured here" in line]
    assert said == [
        "first fill: ~8.12 times, measured here; you made no prediction",
        "share: ~1.30 times, measured here; you predicted 0.5 times",
        "loss: falls, measured here; you predicted rises",
    ]


def test_what_is_no_picture_is_refused_in_a_sentence():
    with pytest.raises(TypeError, match="show takes a picture and got a function"):
        lesson.show(lesson.compare)
