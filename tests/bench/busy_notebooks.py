"""Run notebooks under nbval again and again while every CPU is kept busy.

    python tests/bench/busy_notebooks.py [--times 10] [notebook ...]

Prints one line for each run and, at the end, how many passed. Exit status 1 if any failed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from gpuutil_helpers.instruments.causes import busy_cpus

REPOSITORY = Path(__file__).resolve().parents[2]


def run_once(notebook: Path) -> tuple[bool, float, str]:
    """Whether nbval passed the notebook, the seconds it took, and what it printed."""
    started = time.perf_counter()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(notebook)]
    finished = subprocess.run(
        command, cwd=REPOSITORY, capture_output=True, text=True, encoding="utf-8", check=False
    )
    return finished.returncode == 0, time.perf_counter() - started, finished.stdout


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("notebooks", nargs="*", type=Path, help="all lessons, if none is named")
    parser.add_argument("--times", type=int, default=10, help="how often each is run")
    given = parser.parse_args(arguments)
    notebooks = given.notebooks or sorted((REPOSITORY / "notebooks").glob("*.ipynb"))
    passed, failed = 0, 0
    with busy_cpus():
        for notebook in [n.resolve() for n in notebooks for _ in range(given.times)]:
            good, seconds, said = run_once(notebook)
            passed, failed = passed + good, failed + (not good)
            print(f"{notebook.name}: {'passed' if good else 'FAILED'} in {seconds:.0f} s")
            if not good:
                print(said, flush=True)
    print(f"{passed} passed, {failed} failed, every CPU busy")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
