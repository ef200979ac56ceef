"""Rules on the file: its form, its counts, and what its outputs may hold."""

from __future__ import annotations

import ast
import copy
import getpass
import re
import socket
from collections.abc import Iterator
from pathlib import Path

import nbformat

from . import canonical
from .problems import Problem
from .reading import IGNORED, Cell, Lesson, output_texts

REFRESH = "Run: python tests/notebooks/refresh.py, with this notebook's path"
_PATH = re.compile(
    r"(?<![\w./:~])/(?:home|Users|root|tmp|opt|usr|var|mnt|work|private|etc|srv|workspace)/"
    r"|\b[A-Za-z]:\\{1,2}\w|\\Users\\|ipykernel_\d+"
)
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")
_NBVAL_COMMENT = re.compile(r"^\s*#+\s*(?:NBVAL|PYTEST_VALIDATE)_[A-Z_]+\s*$", re.MULTILINE)
_COMMON_NAMES = {"root", "user", "admin", "runner", "student", "learner", "localhost", "home"}
_CHANGES_OUTPUT = {
    "clear_output",
    "update_display",
    "interact",
    "interactive",
    "input",
    "display_id",
}
ALT_LENGTH = 20


def canonical_form(lesson: Lesson) -> Iterator[Problem]:
    expected = canonical.text_of(lesson.notebook)
    if lesson.text != expected:
        pairs = zip(lesson.text.splitlines(), expected.splitlines(), strict=False)
        line = next((n for n, (a, b) in enumerate(pairs, 1) if a != b), "the last")
        yield Problem(f"is not in the form that refresh writes, from line {line} on", REFRESH)


def schema(lesson: Lesson) -> Iterator[Problem]:
    notebook = copy.deepcopy(lesson.notebook)
    for index, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{index}"  # the rule on ids has its own words
    try:
        nbformat.validate(notebook, version=4, version_minor=5)
    except nbformat.ValidationError as error:
        what = f"does not follow the notebook format: {str(error).splitlines()[0]}"
        yield Problem(what.rstrip(".:"), REFRESH)


def cell_ids(lesson: Lesson) -> Iterator[Problem]:
    version = (lesson.notebook.nbformat, lesson.notebook.nbformat_minor)
    if version != (4, 5):
        yield Problem(f"has notebook format {version[0]}.{version[1]}, not 4.5", REFRESH)
    seen: set[str] = set()
    for cell in lesson.cells:
        name = cell.node.get("id")
        if not name or name in seen:
            what = "has no cell id" if not name else f"has the id {name} of an earlier cell"
            yield Problem(what, "Give it an id of its own", cell)
        seen.add(name or "")


def counts(lesson: Lesson) -> Iterator[Problem]:
    if lesson.code and all(cell.node.get("execution_count") is None for cell in lesson.code):
        yield Problem("was never run, so nbval would compare nothing", REFRESH)
        return
    for cell in lesson.code:
        expected = cell.code_index + 1
        found = cell.node.get("execution_count")
        results = [o.execution_count for o in cell.outputs if o.output_type == "execute_result"]
        if found is None:
            yield Problem("was never run, so nbval compares nothing of it", REFRESH, cell)
        elif found != expected or any(count != expected for count in results):
            what = f"has the count {found} where a fresh run from the top gives {expected}"
            yield Problem(what, REFRESH, cell)
        if not cell.source.strip():
            yield Problem("is an empty code cell", "Delete it", cell)


def errors(lesson: Lesson) -> Iterator[Problem]:
    for cell in lesson.code:
        for output in cell.outputs:
            if output.output_type == "error":
                what = f"stores an exception, {output.ename}"
                yield Problem(what, "Catch it in the cell and print its message", cell)


def warnings(lesson: Lesson) -> Iterator[Problem]:
    for cell in lesson.code:
        if any(o.output_type == "stream" and o.name == "stderr" for o in cell.outputs):
            what = "wrote to stderr, where warnings and text-mode progress bars go"
            yield Problem(what, "Remove the cause of the warning, not the output", cell)


def widgets(lesson: Lesson) -> Iterator[Problem]:
    if "widgets" in lesson.notebook.metadata:
        yield Problem("stores the state of widgets", REFRESH)
    for cell in lesson.code:
        if any(canonical.WIDGET_VIEW in o.get("data", {}) for o in cell.outputs):
            what = "stores a widget's view, which a reader sees as an error until the cell is run"
            yield Problem(what, f"Tag it {IGNORED} and refresh, or show a static figure", cell)


def trailing_semicolons(lesson: Lesson) -> Iterator[Problem]:
    for cell in lesson.code:
        code = "\n".join(line.split("#")[0].rstrip() for line in cell.source.splitlines())
        if code.rstrip().endswith(";"):
            what = "ends in a semicolon, which hides the result here and not under nbval"
            yield Problem(what, "Assign the result to a name instead", cell)


def plain_python(lesson: Lesson) -> Iterator[Problem]:
    for cell in lesson.code:
        try:
            tree = ast.parse(cell.source)
        except SyntaxError as error:
            what = f"is not plain Python (line {error.lineno})"
            yield Problem(what, "Use no % magic and no ! shell line", cell)
            continue
        names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
        names |= {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
        names |= {n.arg for n in ast.walk(tree) if isinstance(n, ast.keyword) and n.arg}
        for name in sorted(names & _CHANGES_OUTPUT):
            what = f"uses {name}, whose output nbval cannot compare"
            yield Problem(what, "Print or show the final state once", cell)


def local_paths(lesson: Lesson) -> Iterator[Problem]:
    """No path, user, host name or address of the machine that made the baseline."""
    private = {getpass.getuser(), socket.gethostname()} - _COMMON_NAMES
    names = [name for name in private if len(name) > 3]
    home = str(Path.home())
    for cell in lesson.cells:
        for text in [cell.source, *output_texts(cell.outputs)]:
            found = _PATH.search(text) or _ADDRESS.search(text)
            held = found.group() if found else None
            if held is None and len(home) > 3 and home in text:
                held = home
            if held is None:
                held = next((n for n in names if re.search(rf"\b{re.escape(n)}\b", text)), None)
            if held is not None:
                what = f"holds {held!r}, which is a path, a name or an address of one machine"
                yield Problem(what, "Print something that is the same everywhere", cell)
                break


def kernel(lesson: Lesson) -> Iterator[Problem]:
    metadata = lesson.notebook.metadata
    if dict(metadata.get("kernelspec", {})) != canonical.KERNELSPEC:
        yield Problem("does not name the kernel python3", REFRESH)
    if dict(metadata.get("language_info", {})) != canonical.LANGUAGE:
        yield Problem("names a Python version or another language in its metadata", REFRESH)


def tags(lesson: Lesson) -> Iterator[Problem]:
    for cell in lesson.cells:
        allowed = {IGNORED} if cell.is_code else set()
        for tag in sorted(set(cell.tags) - allowed):
            yield Problem(f"has the tag {tag!r}", f"The only tag, on code, is {IGNORED}", cell)
        if cell.is_code and _NBVAL_COMMENT.search(cell.source):
            yield Problem("steers nbval by a comment", f"Use the tag {IGNORED}", cell)


def figures(lesson: Lesson) -> Iterator[Problem]:
    seen: dict[str, Cell] = {}
    for cell in lesson.code:
        for output in cell.pictures:
            kind = next(k for k in output.data if k.startswith("image/"))
            alt = output.metadata.get(kind, {}).get("alt", "")
            if len(alt) < ALT_LENGTH:
                what = "shows a figure without an alternative text"
                yield Problem(what, f"Show it with lesson.show and {ALT_LENGTH} letters", cell)
            elif alt in seen:
                yield Problem(f"has the alternative text of {seen[alt].place}", "Say more", cell)
            seen.setdefault(alt, cell)


def half_strict(lesson: Lesson) -> Iterator[Problem]:
    strict = sum(cell.strict for cell in lesson.code)
    if 2 * strict < len(lesson.code):
        what = f"lets nbval compare {strict} of {len(lesson.code)} code cells, fewer than half"
        yield Problem(what, "State beside each measurement what must hold of it")


RULES = (
    canonical_form,
    schema,
    cell_ids,
    counts,
    errors,
    warnings,
    widgets,
    trailing_semicolons,
    plain_python,
    local_paths,
    kernel,
    tags,
    figures,
    half_strict,
)
