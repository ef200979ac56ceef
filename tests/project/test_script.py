"""The reader's train.py: their function goes in, everything else stays, and it runs by itself."""

from __future__ import annotations

import ast
import functools
import os
import time
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from gpuutil_helpers.files import artifacts_dir, repository_root
from gpuutil_helpers.project import script, train_template
from gpuutil_helpers.project.script import complete_train_script, write_train_script

TEMPLATE = Path(train_template.__file__)


def train_step(model, images, labels, optimizer):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(images), labels)
    loss.backward()
    optimizer.step()
    return loss.item()  # née "perte"


RIGHT = train_step


def functions_of(path):
    tree = ast.parse(path.read_bytes())
    return {part.name: ast.unparse(part) for part in tree.body if isinstance(part, ast.FunctionDef)}


# ---- what is written


def test_a_missing_script_is_made_from_the_template(tmp_path):
    path = write_train_script(RIGHT, tmp_path / "new" / "folder")
    assert path == tmp_path / "new" / "folder" / "train.py"
    written, template = (p.read_text(encoding="utf-8") for p in (path, TEMPLATE))
    head, _, tail = template.partition("def train_step")
    body = tail[tail.index("\n\n\n") :]
    assert written.startswith(head)
    assert written.endswith(body)
    assert 'return loss.item()  # née "perte"\n' in written
    assert "NotImplementedError" not in written
    compile(written, str(path), "exec")


def test_the_folder_is_the_projects_own_unless_given():
    assert write_train_script(RIGHT) == artifacts_dir() / "project" / "train.py"


def test_the_template_is_short_and_does_not_pretend():
    text = TEMPLATE.read_text(encoding="utf-8")
    assert len(text.splitlines()) < 60
    assert "lesson 01" in text
    with pytest.raises(NotImplementedError, match="train_step is not written yet"):
        train_template.train_step(None, None, None, None)


CHANGED = '''\
# -*- coding: utf-8 -*-
"""My script — with ümlauts\x0c and a form feed, \u2028 too."""
import torch.nn.functional as F\t# tabs\tstay


def other( a,b ):   # odd   spacing
    return "def train_step(model):"


@decorated
@twice(
    1,
)
def train_step(model, images, labels, optimizer):
    """Text.

def train_step(a): in a string
    """
    if model:
        return 1.0
    # the end
class After: pass
# no newline at the end'''


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_all_else_stays_byte_for_byte(tmp_path, newline, mark):
    path = tmp_path / "train.py"
    before = mark + CHANGED.replace("\n", newline).encode("utf-8")
    path.write_bytes(before)
    write_train_script(RIGHT, tmp_path)
    after = path.read_bytes()
    head = before[: before.index(b"@decorated")]
    tail = before[before.index(b"    # the end") :]
    assert after.startswith(head)
    assert after.endswith(tail)
    middle = after[len(head) : -len(tail)].decode("utf-8")
    assert middle.count("\n") == middle.count(newline) == 6
    assert "née" in middle
    ast.parse(after)


def test_a_second_time_changes_nothing_and_a_new_function_replaces_the_old(tmp_path):
    path = write_train_script(RIGHT, tmp_path)
    once = path.read_bytes()
    assert write_train_script(RIGHT, tmp_path).read_bytes() == once

    def train_step(model, images, labels, optimizer):
        return 0.5

    functions = functions_of(write_train_script(train_step, tmp_path))
    assert "return 0.5" in functions["train_step"]
    assert {"train_step", "main"} == set(functions)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"def train_step(:\n", r"cannot be read as Python \(line 1\)"),
        (b"x = '\xff'\n", "cannot be read as Python"),
        (b"\x00", "cannot be read as Python"),
        (b"def main(): pass\n", "one function train_step at its top level, and has none"),
        (b"def train_step(): pass\ndef train_step(): pass\n", "and has 2 of that name"),
        (b"class train_step: pass\n", "must have one function train_step"),
        (b"if True:\n    def train_step(): pass\n", "and has none of that name"),
    ],
)
def test_a_file_without_a_place_for_it_is_left_alone(tmp_path, content, sentence):
    path = tmp_path / "train.py"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=sentence) as told:
        write_train_script(RIGHT, tmp_path)
    assert "The file is as it was." in str(told.value)
    assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path):
    (tmp_path / "project").write_text("a file in the way", encoding="utf-8")
    with pytest.raises(OSError, match="could not be written"):
        write_train_script(RIGHT, tmp_path / "project" / "mine")
    assert (tmp_path / "project").read_text(encoding="utf-8") == "a file in the way"


# ---- which functions are taken


def from_text(text):
    """A function as `exec` makes it: without a text to be found."""
    names = {}
    exec(text, names)
    return names["train_step"]


def with_closure():
    rate = 0.5

    def train_step(model, images, labels, optimizer):
        return rate

    return train_step


def decorated():
    def twice(function):
        @functools.wraps(function)
        def wrapped(model, images, labels, optimizer):
            return function(model, images, labels, optimizer)

        return wrapped

    @staticmethod
    def train_step(model, images, labels, optimizer):
        return 0.5

    return train_step.__func__


def asynchronous():
    async def train_step(model, images, labels, optimizer):
        return 0.5

    return train_step


def generator():
    def train_step(model, images, labels, optimizer):
        yield 0.5

    return train_step


def misnamed():
    def my_step(model, images, labels, optimizer):
        return 0.5

    return my_step


def too_few():
    def train_step(model, images):
        return 0.5

    return train_step


@pytest.mark.parametrize(
    ("function", "error", "sentence"),
    [
        (
            lambda model, images, labels, optimizer: 0.5,
            TypeError,
            "this is of type lambda",
        ),
        (functools.partial(RIGHT), TypeError, "this is of type partial"),
        (0.5, TypeError, "this is of type float"),
        (..., TypeError, "this is of type ellipsis"),
        (asynchronous(), TypeError, "use no async and no yield"),
        (generator(), TypeError, "use no async and no yield"),
        (misnamed(), ValueError, "must be called train_step"),
        (too_few(), TypeError, r"train_step\(model, images\) cannot be called by the script"),
        (with_closure(), ValueError, "uses rate from the function around it"),
        (decorated(), ValueError, "remove the line @staticmethod"),
        (from_text("def train_step(m, i, l, o): return 0.5"), ValueError, "text of train_step can"),
    ],
)
def test_a_function_that_cannot_stand_alone_is_one_sentence(tmp_path, function, error, sentence):
    for use in (write_train_script, complete_train_script):
        with pytest.raises(error, match=sentence) as told:
            use(function, tmp_path)
        assert "\n" not in str(told.value)
    assert list(tmp_path.iterdir()) == []


class Indented:
    def train_step(model, images, labels, optimizer):  # noqa: N805
        """Indented text
        over two lines."""
        return 0.5


def test_an_indented_function_loses_its_indentation(tmp_path):
    path = write_train_script(Indented.train_step, tmp_path)
    assert "\ndef train_step(model, images, labels, optimizer):" in path.read_text(encoding="utf-8")


# ---- what is run


def test_a_finished_script_reads_the_digits(tmp_path, monkeypatch):
    monkeypatch.delenv("PYTHONPATH", raising=False)
    elsewhere = tmp_path / "a folder with spaces and ü"
    run = complete_train_script(RIGHT, elsewhere)
    assert (run.finished, run.returncode, run.error) == (True, 0, None)
    assert run.path == elsewhere / "train.py"
    assert run.facts.same_as_reference
    assert list(run.history) == [
        "epoch",
        "training_loss",
        "validation_loss",
        "validation_accuracy",
        "seconds",
    ]
    assert run.history.epoch.tolist() == list(range(1, 9))
    last = run.history.iloc[-1]
    assert last.validation_accuracy > 0.95
    assert len(run.output.splitlines()) == 9
    end = f"validation accuracy {last.validation_accuracy:.3f} on 360 pictures"
    assert run.output.splitlines()[-1] == end
    assert sorted(p.name for p in elsewhere.iterdir()) == ["history.csv", "train.py"]


def stub():
    def train_step(model, images, labels, optimizer):
        """Change the weights once."""
        ...

    return train_step


def test_an_unfinished_function_is_not_written_and_not_run(tmp_path):
    run = complete_train_script(stub(), tmp_path)
    assert run == script.ScriptRun(tmp_path / "train.py", finished=False)
    assert list(tmp_path.iterdir()) == []
    small_script(tmp_path, "print('ran')")
    before = (tmp_path / "train.py").read_bytes()
    assert complete_train_script(stub(), tmp_path).output == ""
    assert (tmp_path / "train.py").read_bytes() == before


def test_a_step_that_is_wrong_is_told_by_its_facts_and_neither_written_nor_run(tmp_path):
    def train_step(model, images, labels, optimizer):
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        return loss.item()

    run = complete_train_script(train_step, tmp_path)
    assert (run.finished, run.returncode, run.history) == (True, None, None)
    assert not run.facts.zeroes_gradients
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("body", "unfinished"),
    [
        ("...", True),
        ("'only text'", True),
        ("pass", True),
        ("raise NotImplementedError", True),
        ("raise NotImplementedError('later')", True),
        ("raise ValueError('later')", False),
        ("return ...", False),
        ("optimizer.zero_grad(); ...", False),
    ],
)
def test_a_body_of_placeholders_alone_is_unfinished(body, unfinished):
    text = f"def train_step(model, images, labels, optimizer):\n    {body}\n"
    assert script.is_unfinished(text) == unfinished


def small_script(folder, body):
    """A reader's own train.py without torch, so that it starts at once."""
    folder.mkdir(exist_ok=True)
    text = f"import sys, time\n\n\ndef train_step(model):\n    return 0\n\n\n{body}\n"
    (folder / "train.py").write_text(text, encoding="utf-8")


def test_a_script_that_fails_gives_its_last_line_and_no_old_history(tmp_path):
    small_script(tmp_path, "print('went so far: ü')\nraise RuntimeError('no luck')")
    (tmp_path / "history.csv").write_text("epoch\n1\n", encoding="utf-8")
    run = complete_train_script(RIGHT, tmp_path)
    assert (run.returncode, run.error) == (1, "RuntimeError: no luck")
    assert run.output == "went so far: ü\n"
    assert run.history is None
    assert (tmp_path / "history.csv").exists()


def test_an_old_history_is_not_taken_for_a_new_one(tmp_path):
    small_script(tmp_path, "print(sys.argv[1:])")
    (tmp_path / "history.csv").write_text("epoch\n1\n", encoding="utf-8")
    run = complete_train_script(RIGHT, tmp_path, epochs=3)
    assert (run.returncode, run.history) == (0, None)
    assert run.output == "['--epochs', '3']\n"
    small_script(tmp_path, "open('history.csv', 'w').write('epoch\\n1\\n2\\n')")
    assert complete_train_script(RIGHT, tmp_path).history.epoch.tolist() == [1, 2]


def test_the_script_finds_the_package_also_where_it_is_not_installed(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "mine")
    small_script(tmp_path, "import os\nprint(os.environ['PYTHONPATH'])")
    run = complete_train_script(RIGHT, tmp_path)
    assert run.output.strip().split(os.pathsep) == [str(repository_root()), "mine"]


def test_a_script_that_never_ends_is_stopped(tmp_path):
    small_script(tmp_path, "print('started', flush=True)\ntime.sleep(600)")
    started = time.monotonic()
    run = complete_train_script(RIGHT, tmp_path, timeout_s=2)
    assert time.monotonic() - started < 100
    assert (run.returncode, run.output) == (None, "started\n")
    assert run.error == "the script ran longer than 2 s and was stopped"


def test_a_name_that_only_the_notebook_knows_ends_in_the_scripts_own_words(tmp_path):
    small_script(tmp_path, "train_step(1, 2, 3, 4)")

    def train_step(model, images, labels, optimizer):
        return RIGHT(model, images, labels, optimizer)

    run = complete_train_script(train_step, tmp_path)
    assert run.error == "NameError: name 'RIGHT' is not defined"
    assert run.facts.same_as_reference


@pytest.mark.parametrize(("epochs", "error"), [(0, ValueError), ("3", TypeError)])
def test_wrong_epochs_are_refused_before_anything_is_written(tmp_path, epochs, error):
    with pytest.raises(error, match=r"epochs is .*: give a whole number of at least 1"):
        complete_train_script(RIGHT, tmp_path, epochs=epochs)
    assert list(tmp_path.iterdir()) == []
