from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path

import psutil
import pytest

from gpuutil_helpers.instruments import cpus
from gpuutil_helpers.instruments.cgroups import Cgroups, cpu_quota, memory_limit
from gpuutil_helpers.instruments.cpus import CpuLimits, cpu_limits, cpu_name, usable_cpus
from gpuutil_helpers.instruments.unavailable import Unavailable

GIB = 2**30


@pytest.fixture
def system(tmp_path: Path):
    """Writes what a system keeps of its control groups, and says where."""

    def write(own: str, files: dict[str, str]) -> Cgroups:
        for name, text in files.items():
            path = tmp_path / "cgroup" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        (tmp_path / "own").write_text(own, encoding="utf-8")
        return Cgroups(tmp_path / "cgroup", tmp_path / "own")

    return write


V2 = "0::/\n"
V1 = "4:cpu,cpuacct:/docker/abc\n3:memory:/docker/abc\n1:name=systemd:/\n"


@pytest.mark.parametrize(
    ("own", "files", "quota"),
    [
        (V2, {"cpu.max": "150000 100000\n"}, 1.5),
        (V2, {"cpu.max": "max 100000\n"}, None),
        (V2, {}, None),
        (V2, {"cpu.max": "garbage\n"}, None),
        (V2, {"cpu.max": ""}, None),
        # the tightest on the way up binds, wherever it stands
        ("0::/a/b\n", {"cpu.max": "max 1", "a/cpu.max": "2 1", "a/b/cpu.max": "4 1"}, 2.0),
        ("0::/a/b\n", {"cpu.max": "max 1", "a/cpu.max": "4 1", "a/b/cpu.max": "3 1"}, 3.0),
        # a neighbour's does not
        ("0::/a\n", {"b/cpu.max": "1 1", "a/cpu.max": "5 1"}, 5.0),
        # a container sees its own group at the mount, under a path that names the host's
        ("0::/docker/abc\n", {"cpu.max": "200000 100000"}, 2.0),
        ("0::/../../other\n", {"cpu.max": "200000 100000"}, 2.0),
        # version 1: two files, -1 for none, with or without the host's path in sight
        (
            V1,
            {"cpu,cpuacct/cpu.cfs_quota_us": "50000\n", "cpu,cpuacct/cpu.cfs_period_us": "100000"},
            0.5,
        ),
        (
            V1,
            {
                "cpu/docker/abc/cpu.cfs_quota_us": "300000",
                "cpu/docker/abc/cpu.cfs_period_us": "100000",
            },
            3.0,
        ),
        (V1, {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, None),
        (V1, {"cpu/cpu.cfs_quota_us": "100000", "cpu/cpu.cfs_period_us": "0"}, None),
        # both versions mounted: version 2 holds its files below "unified"
        ("1:cpu:/\n0::/\n", {"unified/cpu.max": "250000 100000"}, 2.5),
        ("1:cpuacct:/x\n", {"cpuacct/cpu.max": "1 1"}, None),
        ("", {"cpu.max": "1 1"}, None),
    ],
)
def test_cpu_quota(system, own: str, files: dict[str, str], quota: float | None) -> None:
    assert cpu_quota(system(own, files)) == quota


@pytest.mark.parametrize(
    ("own", "files", "limit"),
    [
        (V2, {"memory.max": f"{2 * GIB}\n"}, 2 * GIB),
        (V2, {"memory.max": "max\n"}, None),
        ("0::/a\n", {"memory.max": f"{GIB}", "a/memory.max": "max"}, GIB),
        (V1, {"memory/docker/abc/memory.limit_in_bytes": f"{3 * GIB}\n"}, 3 * GIB),
        (V1, {}, None),
    ],
)
def test_memory_limit(system, own: str, files: dict[str, str], limit: int | None) -> None:
    assert memory_limit(system(own, files)) == limit


def test_without_control_groups_nothing_bounds(tmp_path: Path) -> None:
    nowhere = Cgroups(tmp_path / "absent", tmp_path / "absent")
    assert cpu_quota(nowhere) is None
    assert memory_limit(nowhere) is None
    assert usable_cpus(nowhere) == cpu_limits(nowhere).affinity


@pytest.mark.parametrize(
    ("limits", "usable", "why"),
    [
        (CpuLimits(16, 16, None), 16, ""),
        (CpuLimits(16, 4, None), 4, "this process may run on 4 of 16"),
        (CpuLimits(16, 16, 2.0), 2, "a control group grants the time of 2"),
        (CpuLimits(16, 16, 2.5), 2, "a control group grants the time of 2.5"),
        (CpuLimits(16, 16, 0.5), 1, "a control group grants the time of 0.5"),
        (CpuLimits(4, 4, 8.0), 4, ""),
        (
            CpuLimits(16, 8, 2.0),
            2,
            "this process may run on 8 of 16; a control group grants the time of 2",
        ),
        (CpuLimits(16, 2, 6.0), 2, "this process may run on 2 of 16"),
    ],
)
def test_usable_is_the_tightest_limit_and_says_which(limits, usable, why) -> None:
    assert (limits.usable, limits.why) == (usable, why)


def test_usable_cpus_obeys_a_quota_of_the_system(system, monkeypatch) -> None:
    monkeypatch.setattr(cpus, "_affinity", lambda: 8)
    assert usable_cpus(system(V2, {"cpu.max": "300000 100000"})) == 3


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system binds no process")
def test_usable_cpus_obeys_the_affinity_of_this_process(system) -> None:
    free = system(V2, {})
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert usable_cpus(free) == 1
    finally:
        os.sched_setaffinity(0, before)
    assert usable_cpus(free) == len(before)


def test_affinity_where_the_system_has_no_sched_getaffinity(monkeypatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(psutil.Process, "cpu_affinity", lambda self: [0, 3, 5], raising=False)
    assert cpus._affinity() == 3
    monkeypatch.delattr(psutil.Process, "cpu_affinity")  # macOS
    monkeypatch.setattr(os, "process_cpu_count", lambda: 6, raising=False)
    assert cpus._affinity() == 6


@pytest.mark.parametrize(
    ("text", "lscpu", "name"),
    [
        ("processor\t: 0\nmodel name\t: Example  CPU @ 2 GHz\n", "", "Example CPU @ 2 GHz"),
        ("processor\t: 0\nCPU part\t: 0xd0c\n", "Model name:  Neoverse-N1\n", "Neoverse-N1"),
    ],
)
def test_cpu_name_on_linux(tmp_path, monkeypatch, text: str, lscpu: str, name: str) -> None:
    (tmp_path / "cpuinfo").write_text(text, encoding="utf-8")
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(cpus, "CPU_INFO", tmp_path / "cpuinfo")
    monkeypatch.setattr(cpus, "_run", lambda *command: lscpu)
    assert cpu_name() == name


def test_cpu_name_on_macos(monkeypatch) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    monkeypatch.setattr(cpus, "_run", lambda *command: "Apple M3\n" if "sysctl" in command else "")
    assert cpu_name() == "Apple M3"


@pytest.mark.parametrize(
    "answer", [FileNotFoundError("no lscpu"), subprocess.TimeoutExpired("lscpu", 2), ""]
)
def test_an_unknown_cpu_name_has_a_reason(tmp_path, monkeypatch, answer) -> None:
    def run(*command: str) -> str:
        if isinstance(answer, Exception):
            raise answer
        return answer

    (tmp_path / "cpuinfo").write_text("processor\t: 0\n", encoding="utf-8")
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(cpus, "CPU_INFO", tmp_path / "cpuinfo")
    monkeypatch.setattr(cpus, "_run", run)
    assert isinstance(cpu_name(), Unavailable)
