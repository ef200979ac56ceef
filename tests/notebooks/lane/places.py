"""Where the lessons and the tools' own sample lie."""

from __future__ import annotations

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
TOOLS = REPOSITORY / "tests" / "notebooks"
SAMPLE = TOOLS / "sample" / "90_sample.ipynb"
SANITIZE = TOOLS / "sanitize.cfg"


def lessons() -> list[Path]:
    """All lessons of the course, in order."""
    return sorted((REPOSITORY / "notebooks").glob("*.ipynb"))
