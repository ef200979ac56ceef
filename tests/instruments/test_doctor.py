"""`python -m gpuutil_helpers doctor`, with a stand-in torch that the test controls."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from gpuutil_helpers.files import repository_root

LAST_ROW_WITHOUT_TORCH = "GPU 0, driver"


def environment() -> dict[str, str]:
    """This one, with our package in sight, and output held back as it is for a reader's pipe."""
    return {**os.environ, "PYTHONPATH": str(repository_root()), "PYTHONUNBUFFERED": ""}


def start(folder: Path, torch_source: str | None = None, **variables: str) -> subprocess.Popen:
    """Start doctor in `folder`, where a package `torch` made of `torch_source` is found first."""
    if torch_source is not None:
        package = folder / "torch"
        package.mkdir()
        (package / "__init__.py").write_text(torch_source, encoding="utf-8")
    return subprocess.Popen(
        [sys.executable, "-m", "gpuutil_helpers", "doctor"],
        cwd=folder,
        env=environment() | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )


def finish(process: subprocess.Popen) -> tuple[int, str, str]:
    try:
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    return process.returncode, out, err


def test_what_needs_no_torch_is_out_before_torch_is_loaded(tmp_path: Path) -> None:
    go = tmp_path / "go"
    waits = (
        "import pathlib, time\n"
        f"while not pathlib.Path({str(go)!r}).exists():\n"
        "    time.sleep(0.02)\n"
        "raise ImportError('the stand-in was let go')\n"
    )
    process = start(tmp_path, waits)
    watchdog = threading.Timer(30, process.kill)  # only if the first part never comes
    watchdog.start()
    try:
        seen = []
        for line in process.stdout:
            seen.append(line)
            if line.startswith(LAST_ROW_WITHOUT_TORCH):
                break
        assert process.poll() is None, "torch is still being waited for"
        assert any(line.startswith("CPUs, usable") for line in seen)
        go.touch()
        status, out, _ = finish(process)
    finally:
        watchdog.cancel()
        process.kill()
    assert status == 1
    assert "unavailable, because torch could not be loaded (ImportError: the stand-in was" in out


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("raise OSError('a DLL is missing\\nlong story')", "(OSError: a DLL is missing)"),
        ("import torch_part_that_is_missing", "(ModuleNotFoundError: No module named"),
        ("", "(AttributeError: module 'torch' has no attribute '__version__')"),
        ("raise ImportError('kein Gerät ✗')", "kein Ger\\xe4t \\u2717"),
    ],
)
def test_a_broken_torch_is_said_in_one_sentence(tmp_path: Path, source: str, said: str) -> None:
    process = start(tmp_path, source, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    status, out, err = finish(process)
    assert (status, err) == (1, "")
    rows = [line for line in out.splitlines() if line.startswith("torch ")]
    assert len(rows) == 1
    assert "unavailable, because torch could not be loaded" in rows[0]
    assert said in rows[0]


def test_a_missing_gpu_is_no_fault(tmp_path: Path) -> None:
    status, out, err = finish(start(tmp_path, CUDA_VISIBLE_DEVICES=""))
    assert status == 0, err
    rows = {line[:20].strip(): line[22:] for line in out.splitlines()}
    assert rows["torch, device"].startswith(("cpu", "mps"))
    assert int(rows["CPUs, usable"].split()[0]) >= 1
    assert rows["GPU 0, torch"].startswith(("unavailable, because", "Apple GPU"))


def test_an_unknown_command_is_named_with_the_known_ones(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gpuutil_helpers", "docter"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2
    assert "doctor" in done.stderr and "Traceback" not in done.stderr
