"""README.md is true: its lessons, its map, its dependencies, its commands and its links."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def section(text: str, heading: str) -> str:
    """What stands below `## heading`, up to the next of its rank."""
    parts = re.split(rf"^## {re.escape(heading)}$", text, flags=re.MULTILINE)
    assert len(parts) == 2, f"README.md needs one heading '## {heading}'"
    return re.split(r"^## ", parts[1], flags=re.MULTILINE)[0]


def table(text: str, heading: str, *columns: str) -> list[list[str]]:
    """The rows of the table below a heading, without code marks."""
    lines = [line for line in section(text, heading).splitlines() if line.startswith("|")]
    rows = [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines]
    assert rows and rows[0] == list(columns), f"'## {heading}' needs the columns {columns}"
    return rows[2:]


def lesson_faults(readme: str, root: Path) -> list[str]:
    """Where the table of lessons and the notebooks' own metadata differ."""
    written = {}
    for number, *rest in table(readme, "Lessons", "lesson", "title", "question", "minutes"):
        target = LINK.fullmatch(number)
        written[target[1] if target else number] = [re.sub(r"\]\(.*|\[", "", number), *rest]
    told = {}
    for path in sorted((root / "notebooks").glob("*.ipynb")):
        about = json.loads(path.read_text(encoding="utf-8"))["metadata"]["gpuutil"]
        minutes = str(about["core_minutes"])
        row = [about["lesson"], about["title"], about["question"], minutes]
        told[path.relative_to(root).as_posix()] = row
    return [
        f"{name}: README says {written.get(name)}, the notebook {told.get(name)}"
        for name in sorted(written.keys() | told.keys())
        if written.get(name) != told.get(name)
    ] + (["the lessons are not in order"] if list(written) != sorted(written) else [])


def map_faults(readme: str, root: Path) -> list[str]:
    """Where the map and the modules differ; a package's __init__.py needs no row."""
    rows = table(readme, "Map of the package", "module", "part", "what it holds")
    named = [re.sub(r"^\[`?|`?\]\(.*\)$", "", row[0]) for row in rows]
    modules = (root / "gpuutil_helpers").rglob("*.py")
    exist = {path.relative_to(root).as_posix() for path in modules if path.stem != "__init__"}
    found = [f"{name} has no row" for name in sorted(exist - set(named))]
    found += [f"{name} does not exist" for name in sorted(set(named) - exist)]
    found += [f"{name} has two rows" for name in sorted(named) if named.count(name) > 1]
    found += [f"{row[0]} is front or back" for row in rows if row[1] not in ("front", "back")]
    return found + [f"{row[0]}: what does it hold?" for row in rows if len(row[2].split()) < 2]


def dependency_faults(readme: str, pyproject: dict) -> list[str]:
    """Where the table of dependencies and pyproject.toml differ."""
    project = pyproject["project"]
    rows = table(readme, "Dependencies", "package", "why")
    differ = names(project["dependencies"]) ^ {row[0] for row in rows}
    found = [f"{name} stands in one of the two alone" for name in sorted(differ)]
    found += [f"{row[0]} needs its reason" for row in rows if len(row[1].split()) < 2]
    text = section(readme, "Dependencies")
    wanted = names(project["optional-dependencies"]["test"]) | {"pynvml", "nvidia-ml-py"}
    return found + [f"not a word about {word}" for word in sorted(wanted) if word not in text]


def names(requirements: Iterable[str]) -> set[str]:
    return {re.match(r"[\w.-]+", requirement)[0] for requirement in requirements}


def link_faults(page: Path) -> list[str]:
    """Links of a page, to files and headings of this repository, that lead nowhere."""
    found = []
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, heading = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists():
            found.append(f"{page.name}: {target}")
        elif heading and heading not in anchors(file.read_text(encoding="utf-8")):
            found.append(f"{page.name}: {target}, no such heading")
    return found


def anchors(text: str) -> set[str]:
    """The names under which headings are reached."""
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {
        re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings
    }


@pytest.fixture(scope="module")
def readme() -> str:
    return (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def pyproject() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_lessons_are_those_of_the_notebooks(readme) -> None:
    assert lesson_faults(readme, ROOT) == []


def test_the_map_has_a_row_for_every_module_and_no_other(readme) -> None:
    assert map_faults(readme, ROOT) == []


def test_every_dependency_has_its_reason(readme, pyproject) -> None:
    assert dependency_faults(readme, pyproject) == []


@pytest.mark.parametrize("page", ["README.md", "data/README.md"])
def test_links_lead_somewhere(page) -> None:
    assert link_faults(ROOT / page) == []


def test_every_command_of_start_py_is_explained_and_every_explained_one_exists(readme) -> None:
    code = (ROOT / "start.py").read_text(encoding="utf-8")
    options = set(re.findall(r'add\("(--[a-z-]+)"', code))
    commands = set(re.search(r"commands = \[(.+)\]", code)[1].replace('"', "").split(", "))
    called = re.findall(r"start\.py((?: +(?:--)?[a-z][a-z-]*| +-m| +[A-Z]+)*)", readme)
    words = {word for call in called for word in call.split()}
    assert options <= words
    assert commands <= words
    assert {word for word in words if word.startswith("--")} <= options


SMALL = """
## Lessons
| lesson | title | question | minutes |
|---|---|---|---|
| [00](notebooks/00_a.ipynb) | A | why? | 7 |
| [01](notebooks/01_b.ipynb) | B | how? | 9 |
## Dependencies
| package | why |
|---|---|
| `one` | it is needed here |
Not pynvml but nvidia-ml-py. For tests: checker.
## Map of the package
| module | part | what it holds |
|---|---|---|
| `gpuutil_helpers/a.py` | front | all of it |
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("| A |", "| Another |"),
        ("why?", "why now?"),
        ("| 7 |", "| 8 |"),
        ("[01]", "[02]"),
        ("| [01](notebooks/01_b.ipynb) | B | how? | 9 |\n", ""),
        ("| 9 |", "| 9 |\n| [02](notebooks/02_c.ipynb) | C | what? | 9 |"),
        ("`one`", "`two`"),
        ("it is needed here", "useful"),
        ("pynvml", "that"),
        ("checker", "others"),
        ("gpuutil_helpers/a.py", "gpuutil_helpers/b.py"),
        ("| front |", "| middle |"),
        ("all of it |", "all of it |\n| `gpuutil_helpers/a.py` | back | a second row |"),
    ],
)
def test_each_kind_of_falsehood_is_found(tmp_path: Path, old: str, new: str) -> None:
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "gpuutil_helpers").mkdir()
    for name in ("a.py", "__init__.py"):
        (tmp_path / "gpuutil_helpers" / name).write_text("")
    for name, title, question, minutes in (("00_a", "A", "why?", 7), ("01_b", "B", "how?", 9)):
        about = {"lesson": name[:2], "title": title, "question": question, "core_minutes": minutes}
        notebook = json.dumps({"metadata": {"gpuutil": about}})
        (tmp_path / "notebooks" / f"{name}.ipynb").write_text(notebook)
    project = {"dependencies": ["one>=1"], "optional-dependencies": {"test": ["checker"]}}

    def all_faults(text: str) -> list[str]:
        return (
            lesson_faults(text, tmp_path)
            + map_faults(text, tmp_path)
            + dependency_faults(text, {"project": project})
        )

    assert all_faults(SMALL) == []
    assert old in SMALL
    assert all_faults(SMALL.replace(old, new, 1))


def test_a_dead_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# One `thing`, more\n[a](#one-thing-more) [b](page.md) [c](https://example.org)"
    )
    assert link_faults(page) == []
    page.write_text("# One\n[a](#two) [b](absent.md)")
    assert len(link_faults(page)) == 2
