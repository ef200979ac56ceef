"""The reader's training script: their own `train_step` put into a file that runs by itself."""

from __future__ import annotations

import ast
import inspect
import io
import os
import subprocess
import sys
import textwrap
import tokenize
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gpuutil_helpers.files import artifacts_dir, repository_root, write_whole
from gpuutil_helpers.project.checks import check_whole
from gpuutil_helpers.project.probe import StepFacts, probe

if TYPE_CHECKING:
    import pandas as pd

NAME = "train_step"
ARGUMENTS = ("model", "images", "labels", "optimizer")
CALL = f"write def {NAME}({', '.join(ARGUMENTS)})."


@dataclass(frozen=True)
class ScriptRun:
    """What came of putting the reader's function into the script and running it.

    Attributes:
        path: the script.
        finished: False while the function's body is only `...`; then nothing was tried.
        returncode: of the script; None when it was not run, or was stopped for taking too long.
        output: what the script printed.
        error: the last line of the script's complaint, or None.
        history: the epochs as in `History.frame`, or None when this run wrote none.
        facts: what the function did to a tiny network, or None when it was not tried. Where they
            are not sound, the script was neither written nor run.
    """

    path: Path
    finished: bool
    returncode: int | None = None
    output: str = ""
    error: str | None = None
    history: pd.DataFrame | None = None
    facts: StepFacts | None = None


def complete_train_script(
    train_step: Callable,
    folder: str | Path | None = None,
    epochs: int | None = None,
    timeout_s: float = 120,
) -> ScriptRun:
    """Try the reader's `train_step`; if it is sound, put it into their train.py and run that.

    Args:
        train_step: takes (model, images, labels, optimizer) and returns the loss as a float.
        folder: holds train.py, `artifacts/project` unless given.
        epochs: what the script is told; unless given, its own default.
        timeout_s: after this many seconds the script is stopped.

    Raises:
        TypeError, ValueError, OSError: as `write_train_script`.
    """
    source = function_source(train_step)
    path = _script_path(folder)
    if epochs is not None:
        check_whole("epochs", epochs, least=1)
    if is_unfinished(source):
        return ScriptRun(path, finished=False)
    facts = probe(train_step)
    if not facts.sound:
        return ScriptRun(path, finished=True, facts=facts)
    write_train_script(train_step, folder)
    history_path = path.with_name("history.csv")
    before = _stamp(history_path)
    returncode, output, error = _run(path, epochs, timeout_s)
    written = returncode == 0 and _stamp(history_path) not in (None, before)
    history = _read_history(history_path) if written else None
    return ScriptRun(path, True, returncode, output, error, history, facts)


def write_train_script(train_step: Callable, folder: str | Path | None = None) -> Path:
    """Put the source of `train_step` in the place of that function in `folder`/train.py.

    All else in the file stays byte for byte; a file that is not there is made from the template.
    The change is made whole or not at all.

    Raises:
        TypeError: when `train_step` is no plain function of (model, images, labels, optimizer).
        ValueError: when its source cannot be found or depends on what a script does not have, or
            when the file has no place for it; the file is then as it was.
        OSError: when the file cannot be written; it is then as it was.
    """
    source = function_source(train_step)
    path = _script_path(folder)
    template = Path(__file__).with_name("train_template.py")
    if path.is_dir():
        raise ValueError(f"{path} is a folder: move it away, and a new script is made there.")
    content = path.read_bytes() if path.exists() else template.read_bytes()
    return write_whole(path, _with_function(content, source, path))


def function_source(train_step: Callable) -> str:
    """The text of the function, indentation removed; refused where it could not stand in a file.

    Raises:
        TypeError, ValueError: as `write_train_script`.
    """
    _check_kind(train_step)
    try:
        source = textwrap.dedent(inspect.getsource(train_step)).rstrip() + "\n"
        (function,) = ast.parse(source).body
    except (OSError, TypeError, SyntaxError, ValueError) as error:
        raise ValueError(
            f"the text of {NAME} cannot be found: write it without indentation in a notebook cell "
            "or in a .py file, run that, and pass it again."
        ) from error
    if not isinstance(function, ast.FunctionDef) or function.name != NAME:
        raise ValueError(f"the function must be called {NAME} for the script to find it: {CALL}")
    if function.decorator_list:
        raise ValueError(
            f"{NAME} has a decorator that the script does not have: remove the line "
            f"@{ast.unparse(function.decorator_list[0])}"
        )
    return source


def is_unfinished(source: str) -> bool:
    """Is this function's body nothing but `...`, `pass`, text, or a NotImplementedError?"""
    (function,) = ast.parse(source).body
    return all(_is_placeholder(statement) for statement in function.body)


def _is_placeholder(statement: ast.stmt) -> bool:
    match statement:
        case ast.Pass() | ast.Expr(value=ast.Constant()):
            return True
        case ast.Raise(exc=ast.Call(func=ast.Name(id="NotImplementedError"))):
            return True
        case ast.Raise(exc=ast.Name(id="NotImplementedError")):
            return True
    return False


def _check_kind(train_step: Callable) -> None:
    if not inspect.isfunction(train_step) or train_step.__name__ == "<lambda>":
        kind = "lambda" if inspect.isfunction(train_step) else type(train_step).__name__
        raise TypeError(f"{NAME} must be a function made with def; this is of type {kind}: {CALL}")
    if inspect.iscoroutinefunction(train_step) or inspect.isgeneratorfunction(train_step):
        raise TypeError(f"{NAME} must return the loss itself: use no async and no yield. {CALL}")
    try:
        inspect.signature(train_step).bind(*ARGUMENTS)
    except TypeError:
        raise TypeError(
            f"{NAME}{inspect.signature(train_step)} cannot be called by the script, which passes "
            f"{', '.join(ARGUMENTS)} in this order: {CALL}"
        ) from None
    if hasattr(train_step, "__wrapped__"):
        raise ValueError(
            f"{NAME} has a decorator that the script does not have: remove the line with the @."
        )
    outside = train_step.__code__.co_freevars
    if outside:
        raise ValueError(
            f"{NAME} uses {', '.join(outside)} from the function around it, which the script does "
            f"not have: make it inside {NAME}, or write {NAME} outside of that function."
        )


def _script_path(folder: str | Path | None) -> Path:
    folder = Path(folder) if folder is not None else artifacts_dir() / "project"
    return folder.expanduser().resolve() / "train.py"


def _with_function(content: bytes, source: str, path: Path) -> bytes:
    """`content` with the lines of its function `train_step` replaced by `source`."""
    kept = "The file is as it was. Mend it, or move it away: then a new one is made."
    try:
        found = [part for part in ast.parse(content).body if getattr(part, "name", None) == NAME]
    except (SyntaxError, ValueError) as error:
        where = f" (line {error.lineno})" if isinstance(error, SyntaxError) else ""
        raise ValueError(f"{path} cannot be read as Python{where}. {kept}") from error
    if len(found) != 1 or not isinstance(found[0], ast.FunctionDef | ast.AsyncFunctionDef):
        raise ValueError(
            f"{path} must have one function {NAME} at its top level, and has "
            f"{len(found) or 'none'} of that name. {kept}"
        )
    function = found[0]
    start = min([function.lineno, *(line.lineno for line in function.decorator_list)]) - 1
    lines = content.splitlines(keepends=True)  # bytes split where Python counts lines: CR and LF
    encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
    new = source.encode(encoding.removesuffix("-sig"))
    if lines[function.lineno - 1].endswith(b"\r\n"):
        new = new.replace(b"\n", b"\r\n")
    return b"".join([*lines[:start], new, *lines[function.end_lineno :]])


def _run(path: Path, epochs: int | None, timeout_s: float) -> tuple[int | None, str, str | None]:
    """Run the script in a process of its own: return code, what it printed, its complaint."""
    command = [sys.executable, str(path)]
    if epochs is not None:
        command += ["--epochs", str(epochs)]
    search = [str(repository_root()), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(search),  # also where the package is not installed
        "PYTHONIOENCODING": "utf-8",
    }
    try:
        done = subprocess.run(
            command,
            cwd=path.parent,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        printed = late.stdout or ""
        printed = printed if isinstance(printed, str) else printed.decode("utf-8", "replace")
        return None, printed, f"the script ran longer than {timeout_s:g} s and was stopped"
    return done.returncode, done.stdout, _complaint(done)


def _complaint(done: subprocess.CompletedProcess) -> str | None:
    if done.returncode == 0:
        return None
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    return lines[-1] if lines else f"the script ended with code {done.returncode} and no word"


def _stamp(path: Path) -> tuple[int, int] | None:
    """Tells one version of a file from the next; None while there is no file."""
    try:
        seen = path.stat()
    except FileNotFoundError:
        return None
    return seen.st_mtime_ns, seen.st_ino


def _read_history(path: Path) -> pd.DataFrame | None:
    import pandas as pd

    try:
        return pd.read_csv(path, encoding="utf-8")
    except ValueError:  # the reader's script may have written anything
        return None
