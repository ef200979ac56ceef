"""environment.yml and pyproject.toml say the same, for conda and for pip."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
CONDA_NAMES = {"torch": "pytorch"}  # all others are called the same on conda-forge
CONDA_ALONE = {"pip"}  # with which the last line installs


def expected(pyproject: dict) -> set[str]:
    """What conda has to install: Python, what builds the package, and what it needs to run."""
    project = pyproject["project"]
    wanted = pyproject["build-system"]["requires"] + project["dependencies"]
    split = (re.fullmatch(r"([\w.-]+)(.*)", requirement).groups() for requirement in wanted)
    named = {CONDA_NAMES.get(name, name) + ranges for name, ranges in split}
    return named | CONDA_ALONE | {"python" + project["requires-python"]}


def faults(environment: dict, pyproject: dict) -> list[str]:
    """What differs, one sentence each."""
    *packages, last = environment["dependencies"]
    found = []
    if environment["channels"] != ["conda-forge", "nodefaults"]:
        found.append("the channels are conda-forge and nodefaults, in this order")
    if last != {"pip": ["-e ."]}:
        found.append("the last entry is pip's, and it installs this folder alone")
    for package in packages:
        if not isinstance(package, str) or re.search(r"[^<>=!]=[^=]|\s|::", package):
            found.append(f"{package} names a build, a channel or an exact version")
    differ = expected(pyproject) ^ {package for package in packages if isinstance(package, str)}
    return found + [f"{package} stands in one of the two files alone" for package in differ]


@pytest.fixture
def environment() -> dict:
    return yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))


@pytest.fixture
def pyproject() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_both_files_say_the_same(environment, pyproject) -> None:
    assert faults(environment, pyproject) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("pytorch>=2.9", "pytorch>=2.8"),
        ("pytorch>=2.9", "torch>=2.9"),
        ("python>=3.11", "python>=3.10"),
        ("nvidia-ml-py>=12.560", "pynvml>=12"),
        ("pandas>=2.2", "pandas=2.2=py311"),
        ("tqdm>=4.66", None),
        ("tqdm>=4.66", "conda-forge::tqdm>=4.66"),
    ],
)
def test_a_difference_is_found(environment, pyproject, old, new) -> None:
    entries = environment["dependencies"]
    at = entries.index(old)
    entries[at : at + 1] = [new] if new else []
    assert faults(environment, pyproject)


def test_pip_comes_last_and_channels_are_fixed(environment, pyproject) -> None:
    moved = {**environment, "dependencies": environment["dependencies"][::-1]}
    assert faults(moved, pyproject)
    assert faults({**environment, "channels": ["defaults"]}, pyproject)


def test_continuous_integration_calls_the_same_one_command() -> None:
    script = ROOT / ".ci/run"
    lines = script.read_text(encoding="utf-8").splitlines()
    commands = [line for line in lines if line and not line.startswith("#")]
    assert commands[0] == "set -euo pipefail"
    assert commands[-1] == "python3 start.py test"
    if os.name != "nt":
        assert script.stat().st_mode & 0o111, ".ci/run is executable"
        assert subprocess.run(["bash", "-n", str(script)]).returncode == 0


def test_what_start_py_makes_is_kept_out_of_git() -> None:
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").split()
    assert {".venv/", ".venv.lock", "artifacts/", "*.egg-info/"} <= set(ignored)
