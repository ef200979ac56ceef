"""Who may import whom, what importing loads, and how long a module may be."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuutil_helpers.files import repository_root

PACKAGE = "gpuutil_helpers"
LONGEST_MODULE = 300
HEAVY = ("torch", "pandas", "matplotlib")
LIGHT_MODULES = (
    PACKAGE,
    f"{PACKAGE}.files",
    f"{PACKAGE}.__main__",
    f"{PACKAGE}.instruments.machine",
    f"{PACKAGE}.instruments.measure",
    f"{PACKAGE}.course.lesson",
    f"{PACKAGE}.course.notes",
)

# What the modules of each folder may import of ours. A module's own entry goes before its folder's.
MAY_IMPORT = {
    "instruments": ("files", "instruments"),
    "project": ("files", "instruments", "project"),
    "labs": ("files", "instruments", "project", "labs"),
    "course.lesson": ("files", "instruments.machine", "course"),
    "course": ("files", "course"),
    "files": (),
    "readiness": ("files",),
    "__main__": ("files", "instruments", "project", "labs"),
}


def modules(root: Path) -> dict[str, ast.Module]:
    """Every module below `root`, by its dotted name inside the package; "" is the package."""
    found = {}
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = ast.parse(path.read_text(encoding="utf-8"), str(path))
    return found


def own_imports(name: str, trees: dict[str, ast.Module], is_package: bool) -> Iterator[str]:
    """The package's own modules that module `name` imports, wherever in its text."""
    here = [PACKAGE, *name.split(".")] if name else [PACKAGE]
    for node in ast.walk(trees[name]):
        if isinstance(node, ast.Import):
            asked = [(alias.name, None) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = here[: len(here) - node.level + is_package] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            asked = [(base, alias.name) for alias in node.names]
        else:
            continue
        for base, member in asked:
            if base != PACKAGE and not base.startswith(f"{PACKAGE}."):
                continue
            inside = base.removeprefix(PACKAGE).removeprefix(".")
            deeper = f"{inside}.{member}".removeprefix(".")
            yield deeper if member and deeper in trees else inside


def import_graph(root: Path) -> dict[str, set[str]]:
    trees = modules(root)
    packages = {name for name in trees if (root / Path(*name.split(".")) / "__init__.py").exists()}
    return {name: set(own_imports(name, trees, name in packages)) for name in trees}


def breaches(graph: dict[str, set[str]]) -> list[str]:
    """One sentence for each import that the layers do not allow."""
    found = []
    for name, imported in graph.items():
        rule = next((r for r in MAY_IMPORT if name == r or name.startswith(f"{r}.")), None)
        if name and rule is None:
            found.append(f"{name} belongs to no layer")
            continue
        allowed = MAY_IMPORT[rule] if rule else ()
        for target in sorted(imported - {name, ""}):  # the package itself holds a version alone
            if not any(target == a or target.startswith(f"{a}.") for a in allowed):
                found.append(f"{name or PACKAGE} imports {target}")
    return found


def cycle(graph: dict[str, set[str]]) -> list[str]:
    """Modules that import each other in a ring; empty when there is none."""
    done: set[str] = set()

    def visit(name: str, trail: list[str]) -> list[str]:
        if name in trail:
            return [*trail[trail.index(name) :], name]
        if name in done:
            return []
        for target in sorted(graph.get(name, ())):
            ring = visit(target, [*trail, name])
            if ring:
                return ring
        done.add(name)
        return []

    return next((ring for name in sorted(graph) if (ring := visit(name, []))), [])


def heavy_at_import(tree: ast.Module) -> list[str]:
    """Heavy libraries that a module loads as soon as it is imported."""
    found = []
    for node in _run_at_import(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            names = [node.module or ""] if not node.level else []
        found += [name for name in names if name.split(".")[0] in HEAVY]
    return found


def _run_at_import(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            continue
        elif not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from _run_at_import(child)


@pytest.fixture(scope="module")
def root() -> Path:
    return repository_root() / PACKAGE


def test_every_import_keeps_to_the_layers(root: Path) -> None:
    assert not breaches(import_graph(root))


def test_no_module_imports_itself_through_others(root: Path) -> None:
    assert not cycle(import_graph(root))


def test_no_module_is_longer_than_a_reader_will_read(root: Path) -> None:
    lengths = {
        str(path.relative_to(root)): len(path.read_text(encoding="utf-8").splitlines())
        for path in root.rglob("*.py")
    }
    assert not {name: n for name, n in lengths.items() if n > LONGEST_MODULE}


@pytest.mark.parametrize("module", LIGHT_MODULES)
def test_light_modules_load_no_heavy_library(module: str) -> None:
    code = f"import sys, {module}; print(*[name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "\n"), done.stderr


def test_light_modules_name_no_heavy_library_at_their_top(root: Path) -> None:
    trees = modules(root)
    light = [name.removeprefix(PACKAGE).removeprefix(".") for name in LIGHT_MODULES]
    assert not {
        name: heavy_at_import(trees[name]) for name in light if heavy_at_import(trees[name])
    }


# ---- the checks themselves, on small packages that break each rule


def tree(folder: Path, **sources: str) -> Path:
    """A package of modules; `instruments__measure="..."` becomes instruments/measure.py."""
    for name, text in sources.items():
        path = folder / (name.replace("__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        (path.parent / "__init__.py").touch()
        path.write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("module", "text", "breach"),
    [
        ("instruments__a", "import gpuutil_helpers.project.b", "imports project.b"),
        ("instruments__a", "from gpuutil_helpers.project import b", "imports project.b"),
        ("instruments__a", "from ..project import b", "imports project.b"),
        ("instruments__a", "from ..project.b import thing", "imports project.b"),
        ("instruments__a", "def f():\n    from gpuutil_helpers import course", "imports course"),
        ("project__a", "from gpuutil_helpers.course.plots import show", "imports course.plots"),
        ("project__a", "import gpuutil_helpers.labs.c", "imports labs.c"),
        ("course__plots", "from gpuutil_helpers.instruments import a", "imports instruments"),
        ("course__lesson", "from gpuutil_helpers.instruments import measure", "imports instrum"),
        ("course__lesson", "import gpuutil_helpers.project.b", "imports project.b"),
        ("files", "import gpuutil_helpers.instruments.a", "imports instruments.a"),
        ("stray", "", "belongs to no layer"),
    ],
)
def test_a_breach_is_found(tmp_path: Path, module: str, text: str, breach: str) -> None:
    graph = import_graph(tree(tmp_path, project__b="", course__x="", **{module: text}))
    (found,) = breaches(graph)
    assert breach in found


def test_what_is_allowed_is_let_pass(tmp_path: Path) -> None:
    allowed = tree(
        tmp_path,
        files="import os",
        instruments__a="from gpuutil_helpers.files import write_whole",
        instruments__b="from . import a\nfrom .a import thing",
        project__b="from gpuutil_helpers.instruments.a import thing",
        instruments__machine="",
        course__lesson="def f():\n    from gpuutil_helpers.instruments import machine",
        course__exercises__one="from gpuutil_helpers.course import lesson",
    )
    assert not breaches(import_graph(allowed))
    assert not cycle(import_graph(allowed))


def test_a_ring_is_found_even_inside_functions(tmp_path: Path) -> None:
    ring = tree(
        tmp_path,
        instruments__a="from . import b",
        instruments__b="def f():\n    from gpuutil_helpers.instruments.c import x",
        instruments__c="import gpuutil_helpers.instruments.a",
    )
    found = cycle(import_graph(ring))
    assert set(found) == {"instruments.a", "instruments.b", "instruments.c"}


@pytest.mark.parametrize(
    ("text", "loads"),
    [
        ("import torch.nn as nn", ["torch.nn"]),
        ("try:\n    from pandas import DataFrame\nexcept ImportError:\n    pass", ["pandas"]),
        ("class A:\n    import matplotlib", ["matplotlib"]),
        ("def f():\n    import torch", []),
        ("if TYPE_CHECKING:\n    import torch", []),
        ("import torchless", []),
    ],
)
def test_what_loads_at_import(text: str, loads: list[str]) -> None:
    assert heavy_at_import(ast.parse(text)) == loads
