"""Which names a piece of a notebook uses without making them."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

_ALWAYS_THERE = set(dir(builtins)) | {"display", "get_ipython", "__name__"}


def free_names(before: list[str], cells: list[str]) -> Iterator[tuple[int, list[str]]]:
    """For each cell that uses names made neither in `before` nor up to it: its index, the names.

    A name counts as made wherever the source binds it, in a function too; what cannot be parsed
    makes and uses nothing.
    """
    made = set(_ALWAYS_THERE)
    for source in before:
        made |= _made(source)
    for index, source in enumerate(cells):
        made |= _made(source)
        missing = sorted(_used(source) - made)
        if missing:
            yield index, missing


def _tree(source: str) -> ast.AST:
    try:
        return ast.parse(source)
    except SyntaxError:
        return ast.Module([], [])


def _made(source: str) -> set[str]:
    made: set[str] = set()
    for node in ast.walk(_tree(source)):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            made.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            made.add(node.name)
        elif isinstance(node, ast.alias):
            made.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.arg):
            made.add(node.arg)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            made.add(node.name)
    return made


def _used(source: str) -> set[str]:
    tree = _tree(source)
    return {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
