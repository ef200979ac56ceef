"""start.py's command line, and what it starts once the environment stands."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
from collections import namedtuple
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROWS = ("Python", "PyTorch", "torchvision", "JupyterLab", "package", "disk", "artifacts")


def old_interpreters() -> list[Path]:
    """Pythons from 3.6 to 3.10 that this machine happens to have, one of each."""
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep)]
    folders += (Path.home() / ".pyenv/versions").glob("*/bin")
    found = {
        minor: folder / f"python3.{minor}"
        for minor in range(6, 11)
        for folder in folders
        if (folder / f"python3.{minor}").exists() and "shims" not in folder.parts
    }
    return list(found.values())


def test_the_file_parses_on_python_3_6() -> None:
    ast.parse((ROOT / "start.py").read_text(encoding="utf-8"), feature_version=(3, 6))


@pytest.mark.parametrize("interpreter", old_interpreters() or [None], ids=str)
def test_an_old_python_gets_one_sentence(interpreter: Path | None) -> None:
    if interpreter is None:
        pytest.skip("no Python from 3.6 to 3.10 on this machine")
    ran = subprocess.run(
        [str(interpreter), str(ROOT / "start.py"), "--check"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )
    assert ran.returncode == 1
    assert len(ran.stdout.splitlines()) == 1
    assert "needs Python 3.11 or newer" in ran.stdout
    assert f"this is Python {interpreter.name.removeprefix('python')}." in ran.stdout
    assert ran.stdout.rstrip().endswith("start.py")


def test_python_3_9_is_refused_before_anything_is_made(new_course, monkeypatch, capsys) -> None:
    start = new_course.module()
    version = namedtuple("Version", "major minor micro releaselevel serial")
    monkeypatch.setattr(start.sys, "version_info", version(3, 9, 18, "final", 0))
    assert start.main(["--check"]) == 1
    assert "this is Python 3.9.18" in capsys.readouterr().err
    monkeypatch.setattr(start, "WINDOWS", True)
    start.main(["--check"])
    assert capsys.readouterr().err.rstrip().endswith("py -3.12 start.py")
    assert not new_course.venv.exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["lesson"], "unknown: lesson. The commands are test, refresh, wheels"),
        (["--chec"], "unknown: --chec"),
        (["wheels"], "name one folder"),
        (["--cpu", "--wheels", "x"], "not allowed with"),
    ],
)
def test_a_wrong_command_line_is_refused(new_course, capsys, arguments, words) -> None:
    with pytest.raises(SystemExit) as end:
        new_course.module().main(arguments)
    assert end.value.code == 2
    assert words in capsys.readouterr().err


def test_check_prints_a_row_for_all_that_lessons_need(standing) -> None:
    for row in ROWS:
        assert f"\nOK    {row} " in standing.told
    assert "\ninfo  GPU " in standing.told
    assert "\nthe doctor was here\n" in standing.told
    assert "STARTED" not in standing.told


def test_check_fails_with_what_to_do(standing, tmp_path: Path) -> None:
    (standing.packages / "torchvision").rename(tmp_path / "away")
    try:
        checked = standing.run("--check")
        opened = standing.run()
    finally:
        (tmp_path / "away").rename(standing.packages / "torchvision")
    assert checked.returncode == opened.returncode == 1
    assert "\nFAIL  torchvision  ModuleNotFoundError" in checked.stdout
    assert "delete the folder .venv" in checked.stdout
    assert "\nOK    JupyterLab" in checked.stdout, "one failure must not hide the rows after it"
    assert "STARTED" not in opened.stdout


def test_a_package_that_is_not_installed_is_not_found_by_luck(standing, tmp_path: Path) -> None:
    (link,) = standing.packages.glob("__editable__*.pth")
    link.rename(tmp_path / link.name)
    try:
        checked = standing.run("--check", folder=standing.folder)  # which holds the package
    finally:
        (tmp_path / link.name).rename(link)
    assert "\nFAIL  package      ModuleNotFoundError" in checked.stdout
    assert "\nFAIL  python -m gpuutil_helpers doctor" in checked.stdout


def test_a_check_that_crashes_and_a_failing_doctor_are_failures(standing) -> None:
    torch, doctor = standing.packages / "torch/__init__.py", standing.folder / "gpuutil_helpers"
    before = torch.read_text(), (doctor / "__main__.py").read_text()
    try:
        torch.write_text("import os, signal\nos.kill(os.getpid(), signal.SIGILL)")
        crashed = standing.run("--check")
        torch.write_text(before[0])
        (doctor / "__main__.py").write_text("raise SystemExit('the doctor is ill')")
        ill = standing.run("--check")
    finally:
        torch.write_text(before[0])
        (doctor / "__main__.py").write_text(before[1])
    assert crashed.returncode == ill.returncode == 1
    assert "FAIL  the check after that broke off (exit code -4)" in crashed.stdout
    assert "FAIL  python -m gpuutil_helpers doctor" in ill.stdout
    assert "the doctor is ill" in ill.stdout


def test_jupyterlab_opens_the_first_notebook_on_this_machine_alone(standing) -> None:
    opened = standing.run(
        OMP_WAIT_POLICY="ACTIVE",
        PYTHONPATH="/nowhere",
        VIRTUAL_ENV="/another",
        JUPYTER_PREFER_ENV_PATH="0",
        PIP_INDEX_URL="file:///kept",
        END_WITH="7",
    )
    _, prefix, folder, arguments, variables = standing.report(opened.stdout)
    assert opened.returncode == 7, "JupyterLab's exit code is start.py's"
    assert prefix == variables["VIRTUAL_ENV"] == str(standing.venv)
    assert folder == str(standing.folder)
    assert f"--ServerApp.root_dir={folder}" in arguments
    assert "--ServerApp.ip=127.0.0.1" in arguments
    assert "--LabApp.default_url=/lab/tree/notebooks/00_start_here.ipynb" in arguments
    assert not [argument for argument in arguments if "token" in argument or "password" in argument]
    assert ("--allow-root" in arguments) == (os.geteuid() == 0)
    assert "--no-browser" not in arguments
    assert variables["OMP_WAIT_POLICY"] == "PASSIVE"
    assert variables["PYTHONUTF8"] == variables["JUPYTER_PREFER_ENV_PATH"] == "1"
    assert variables["PATH"].startswith(f"{standing.venv}/bin{os.pathsep}")
    assert variables["PIP_INDEX_URL"] == "file:///kept"
    assert "PYTHONPATH" not in variables


def test_no_browser_is_passed_on_and_a_plain_user_is_not_made_root(standing, monkeypatch) -> None:
    assert "--no-browser" in standing.report(standing.run("--no-browser").stdout)[3]
    start = standing.module()
    monkeypatch.setattr(start.os, "geteuid", lambda: 1000)
    assert "--allow-root" not in start.server_command(browser=True)


@pytest.mark.parametrize(
    ("words", "command", "rest"),
    [
        (["test", "-m", "gpu"], "test", ["-m", "gpu"]),
        (["test", "-k", "a b", "-v"], "test", ["-k", "a b", "-v"]),
        (["test", "--cpu", "-v", "-m", "x"], "test", ["-v", "-m", "x"]),
        (["--cpu", "test", "notebooks", "--help"], "test", ["notebooks", "--help"]),
        (["refresh", "a.ipynb"], "refresh", ["a.ipynb"]),
        (["wheels", "a b"], "wheels", ["a b"]),
        (["--cpu"], "open", []),
    ],
)
def test_what_follows_the_command_keeps_its_order(standing, words, command, rest) -> None:
    options = standing.module().parse(words)
    assert (options.command, options.rest) == (command, rest)
    assert options.cpu == ("--cpu" in words)


@pytest.mark.parametrize("words", [["tset"], ["-m", "gpu"], ["wheels"], ["wheels", "a", "b"]])
def test_what_is_no_command_is_refused(standing, words, capsys) -> None:
    with pytest.raises(SystemExit):
        standing.module().parse(words)
    assert "unknown:" in capsys.readouterr().err or words[0] == "wheels"


def test_tests_get_their_arguments_and_give_their_exit_code(standing, wheels: Path) -> None:
    for folder in standing.packages.glob("pytest*"):  # from whatever test came before
        shutil.rmtree(folder)
    runtime = standing.module().requirements(with_tests=False)
    standing.module().write_stamp({**standing.ready, "holds": runtime})

    arguments = ["tests/a b.py", "-k", "not slow", "--co", "-x", "-m", "gpu"]
    first = standing.run("test", *arguments, "--wheels", str(wheels), END_WITH="5")
    assert first.returncode == 5
    assert "Installing collected packages: pytest" in first.stdout
    _, prefix, folder, given, _ = standing.report(first.stdout)
    assert (prefix, folder, given) == (str(standing.venv), str(standing.folder), arguments)
    assert "OK    Python" not in first.stdout, "the tests start at once, without the table"

    for again in (standing.run("test"), standing.run("refresh"), standing.run("--check")):
        assert again.returncode == 0
        assert "Installing" not in again.stdout, "the test extra is kept"


def test_refresh_runs_the_maintainers_tool(standing, wheels: Path) -> None:
    ran = standing.run("refresh", "notebooks/00.ipynb", "--wheels", str(wheels), END_WITH="3")
    assert ran.returncode == 3
    assert standing.report(ran.stdout)[3] == ["notebooks/00.ipynb"]


def test_signals_reach_jupyterlab_because_start_py_becomes_it(standing) -> None:
    process = standing.start("--no-browser")
    output, _ = process.communicate(timeout=60)
    assert standing.report(output)[0] == process.pid


def test_windows_waits_for_what_it_started_through_ctrl_c(standing, monkeypatch) -> None:
    class Started:
        def __init__(self, command, env):
            self.answers = [KeyboardInterrupt, KeyboardInterrupt, 4]

        def __enter__(self):
            return self

        def __exit__(self, *reason):
            return None

        def wait(self):
            answer = self.answers.pop(0)
            if answer is KeyboardInterrupt:
                raise answer
            return answer

    start = standing.module()
    monkeypatch.setattr(start, "WINDOWS", True)
    monkeypatch.setattr(start.subprocess, "Popen", Started)
    monkeypatch.chdir(standing.folder)
    assert start.hand_over(["program"]) == 4
