"""How start.py makes, keeps and repairs the environment, and what it says where it cannot."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
from collections import namedtuple
from pathlib import Path

import pytest

LOOPBACK_ONLY = ["sh", "-c", 'ip link set lo up; exec "$@"', "sh"]
READ_ONLY = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'
FULL_DISK = 'mount -t tmpfs -o size=6m none "$0" && cp "$1/start.py" "$1/pyproject.toml" "$0"'
FULL_DISK += ' && shift && exec "$@"'


# A second time.


def test_the_second_run_is_offline_and_starts_no_pip(standing, unshare, tmp_path: Path) -> None:
    pip = standing.packages / "pip"
    pip.rename(tmp_path / "pip")
    try:
        again = standing.run("--check", before=[*unshare("-n"), *LOOPBACK_ONLY])
    finally:
        (tmp_path / "pip").rename(pip)
    assert again.returncode == 0, again.stdout
    assert again.stdout.startswith("OK    Python"), "not a word about installing"


def test_a_ready_course_runs_from_a_read_only_folder(standing, unshare, tmp_path: Path) -> None:
    front = [*unshare("-m"), "sh", "-c", READ_ONLY, str(standing.folder)]
    refused = standing.run("--check", before=front)
    assert "\nFAIL  artifacts " in refused.stdout
    assert "set GPUUTIL_ARTIFACTS to a folder" in refused.stdout
    assert standing.run("--check", before=front, GPUUTIL_ARTIFACTS=str(tmp_path)).returncode == 0


def test_what_is_to_be_done_is_read_from_the_stamp(standing) -> None:
    start = standing.module()
    wanted, stamp = start.requirements(with_tests=False), standing.ready
    verdicts = {}
    changes = {
        "nothing": {},
        "another folder": {"folder": "/elsewhere"},
        "an older list": {"holds": stamp["holds"][1:]},
        "another Python": {"python": "3.10"},
    }
    try:
        for name, change in changes.items():
            start.write_stamp({**stamp, **change})
            verdicts[name] = start.state(wanted)
        for garbage in ("", "[]", "{"):
            start.READY.write_text(garbage)
            verdicts["garbage " + garbage] = start.state(wanted)
    finally:
        start.write_stamp(stamp)
    assert list(verdicts.values()) == ["ready", "place", "packages"] + ["everything"] * 4
    assert start.state([*wanted, "one more"]) == "packages"


def test_a_new_requirement_without_a_network_leaves_the_old_environment_usable(standing) -> None:
    pyproject, before = standing.folder / "pyproject.toml", standing.ready
    text = pyproject.read_text()
    pyproject.write_text(text.replace('"jupyterlab"]', '"jupyterlab", "not-in-the-folder>=3"]'))
    try:
        refused = standing.run("--check", "--wheels", str(standing.wheels))
    finally:
        pyproject.write_text(text)
    assert refused.returncode == 1
    assert "holds no not-in-the-folder>=3 for Python 3." in refused.stdout
    assert "wheels FOLDER" in refused.stdout
    assert standing.ready == before
    assert standing.run("--check").stdout.startswith("OK    Python")


# Moved, interrupted, two at once.


def test_while_packages_change_the_environment_is_not_taken_for_whole(
    standing, monkeypatch
) -> None:
    start, before, stamped = standing.module(), standing.ready, []
    monkeypatch.setattr(start, "child", lambda *call: stamped.append(start.READY.exists()))
    start.build("packages", start.requirements(with_tests=False), [], False, None)
    assert stamped == [False, False]
    assert standing.ready == before


def test_a_moved_course_is_repaired_without_a_network(standing, unshare, tmp_path: Path) -> None:
    moved = type(standing)(tmp_path / "neuer Ort, größer", standing.wheels)
    shutil.copytree(standing.folder, moved.folder, symlinks=True)
    repaired = moved.run("--check", before=[*unshare("-n"), *LOOPBACK_ONLY])
    assert repaired.returncode == 0, repaired.stdout
    assert "\nOK    package " in repaired.stdout, "imported from the new folder, not the old one"
    assert moved.ready["folder"] == str(moved.folder)
    assert "Collecting" not in repaired.stdout and "Making" not in repaired.stdout
    assert moved.run("--check").stdout.startswith("OK    Python")


def test_killed_attempts_are_repaired_and_never_taken_for_whole(new_course, slow_wheels) -> None:
    course, attempt = new_course, ("--check", "--wheels", str(slow_wheels))
    first = course.start(*attempt)
    course.wait_for((course.venv / "pyvenv.cfg").exists, first)
    first.kill()  # start.py alone: what makes the environment goes on without it

    second = course.start(*attempt)
    course.wait_for(lambda: list(course.venv.glob("lib/*/site-packages/torch")), second)
    os.killpg(second.pid, signal.SIGKILL)  # with pip, in the middle of its work
    told = second.communicate()[0]
    assert "Waiting for it to end" in told, "two would write into one environment"
    assert ".venv is unfinished" in told
    assert course.ready is None

    third = course.run(*attempt)
    assert third.returncode == 0, third.stdout
    assert ".venv is unfinished" in third.stdout
    assert len(list((course.packages / "torch").glob("part_*.py"))) == 4000
    assert not (course.venv / "tmp").exists()


def test_ctrl_c_ends_in_a_sentence(new_course, wheels: Path) -> None:
    process = new_course.start("--check", "--wheels", str(wheels))
    new_course.wait_for((new_course.venv / "pyvenv.cfg").exists, process)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does, to all of them
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert output.endswith("Stopped. The same command takes it up again.\n")
    assert "Traceback" not in output
    assert new_course.ready is None


def test_the_second_of_two_waits_and_installs_nothing_again(standing, new_course) -> None:
    with (new_course.folder / ".venv.lock").open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        second = new_course.start()
        assert "Waiting for it to end" in second.stdout.readline()
        assert not new_course.venv.exists()
        shutil.copytree(standing.venv, new_course.venv, symlinks=True)
        stamp = {**standing.ready, "folder": str(new_course.folder)}
        (new_course.venv / "ready.json").write_text(json.dumps(stamp))
    assert second.communicate(timeout=60)[0].startswith("OK    Python")


# Machines on which it cannot work.


def test_no_ensurepip_names_the_package_to_install(new_course, tmp_path: Path) -> None:
    hider = "import sys\nsys.modules['ensurepip'] = None\n"  # as on Debian without python3-venv
    (tmp_path / "sitecustomize.py").write_text(hider)
    ran = new_course.run("--check", PYTHONPATH=str(tmp_path))
    assert ran.returncode == 1
    assert "lacks the module ensurepip" in ran.stdout
    assert "sudo apt install python3-venv" in ran.stdout
    assert "Traceback" not in ran.stdout


def test_a_read_only_folder_is_named(new_course, request) -> None:
    front = []
    if os.geteuid() == 0:  # permissions do not bind root, so the file system has to
        unshare = request.getfixturevalue("unshare")
        front = [*unshare("-m"), "sh", "-c", READ_ONLY, str(new_course.folder)]
    new_course.folder.chmod(0o555)
    ran = new_course.run("--check", before=front)
    new_course.folder.chmod(0o755)
    assert ran.returncode == 1
    assert "This could not be written:" in ran.stdout
    assert str(new_course.folder) in ran.stdout
    assert "Copy the course to a folder of your own" in ran.stdout
    assert "Traceback" not in ran.stdout


def test_a_disk_that_fills_up_is_named(new_course, unshare, tmp_path: Path) -> None:
    small = type(new_course)(tmp_path / "small disk", new_course.wheels)
    small.folder.mkdir()
    shell = ["sh", "-c", FULL_DISK, str(small.folder), str(new_course.folder)]
    ran = small.run("--check", before=[*unshare("-m"), *shell])
    assert ran.returncode == 1
    assert f"not enough space on the disk of {small.folder}" in ran.stdout
    assert "Traceback" not in ran.stdout


def test_too_little_space_is_refused_before_the_download(new_course, monkeypatch, capsys) -> None:
    start = new_course.module()
    usage = namedtuple("Usage", "total used free")
    monkeypatch.setattr(start.sys, "platform", "linux")
    for gigabytes, cpu, enough in ((11, False, False), (13, False, True), (4, True, True)):
        monkeypatch.setattr(
            start.shutil, "disk_usage", lambda path, free=gigabytes: usage(0, 0, free * 10**9)
        )
        if enough:
            start.check_space([], cpu)
            continue
        with pytest.raises(start.StartError, match=r"12\.0 GB are needed, 11\.0 GB are free"):
            start.check_space([], cpu)


@pytest.mark.parametrize(
    ("said", "sentence", "untouched"),
    [
        ("ERROR: OSError: [Errno 28] No space left on device", "not enough space", False),
        ("WARNING: after connection broken by 'NewConnectionError'", "HTTPS_PROXY", True),
        ("ERROR: No matching distribution found for torch>=2.9", "index has no torch>=2.9", True),
        ("PermissionError: [WinError 5] Access is denied: 'x.dll'", "end the programs", False),
        (
            "ERROR: Could not install packages due to an OSError: [Errno 13] Permission denied: "
            "'/x/y'\nCheck the permissions.",
            "Permission denied: '/x/y'. Copy the course",
            False,
        ),
        ("ERROR: something new", "This failed: ERROR: something new", False),
        ("", "This failed: no reason given", False),
    ],
)
def test_each_trouble_has_its_sentence(new_course, said, sentence, untouched) -> None:
    error = new_course.module().diagnosis(said)
    assert sentence in str(error)
    assert error.untouched == untouched


def test_a_folder_without_wheels_is_refused_at_once(new_course, tmp_path: Path) -> None:
    for folder, lack in ((tmp_path / "absent", "is no folder"), (tmp_path, "holds no wheels")):
        ran = new_course.run("--check", "--wheels", str(folder))
        assert ran.returncode == 1
        assert f"{folder} {lack}" in ran.stdout
        assert "fill it: python3 start.py wheels FOLDER" in ran.stdout
    assert not new_course.venv.exists()


# Where packages come from.


def test_cpu_takes_pytorch_alone_from_pytorchs_own_index(new_course, monkeypatch) -> None:
    start = new_course.module()
    steps = []

    def child(command, handle, extra):
        steps.append(command[3:])
        start.VENV.mkdir(exist_ok=True)

    monkeypatch.setattr(start, "child", child)
    monkeypatch.setattr(start, "check_space", lambda source, cpu: None)
    start.prepare(start.parse(["test", "--cpu"]))
    index = ["--index-url", "https://download.pytorch.org/whl/cpu"]
    rest = ["setuptools>=77", "torch>=2.9", "torchvision", "jupyterlab", "pytest>=8"]
    assert steps[1:] == [
        ["install", *index, "torch>=2.9", "torchvision"],
        ["install", *rest],
        ["install", "--no-build-isolation", "--no-deps", "--editable", str(new_course.folder)],
    ]


def test_cpu_on_a_ready_environment_says_that_it_changes_nothing(standing) -> None:
    assert "--cpu changes nothing" in standing.run("--check", "--cpu").stdout


def test_wheels_fills_a_folder_with_what_the_environment_holds(standing) -> None:
    source = {"PIP_FIND_LINKS": standing.wheels.as_uri()}
    filled = standing.run("wheels", "für den Kurs", "--wheels", str(standing.wheels), **source)
    assert filled.returncode == 0, filled.stdout
    folder = standing.folder.parent / "für den Kurs"
    assert f"{folder} is filled" in filled.stdout
    held, given = ({wheel.name for wheel in place.iterdir()} for place in (folder, standing.wheels))
    assert held == given
