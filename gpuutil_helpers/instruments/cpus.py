"""How many CPUs this process may use, which is often fewer than the machine has."""

from __future__ import annotations

import os
import platform
import subprocess
from dataclasses import dataclass
from pathlib import Path

import psutil

from gpuutil_helpers.instruments.cgroups import Cgroups, cpu_quota
from gpuutil_helpers.instruments.unavailable import Unavailable

CPU_INFO = Path("/proc/cpuinfo")


@dataclass(frozen=True)
class CpuLimits:
    """What bounds the CPUs of this process.

    Attributes:
        logical: CPUs of the machine, hyper-threads counted.
        affinity: CPUs on which this process may run.
        quota: CPU seconds per second that a control group grants; None where none does.
    """

    logical: int
    affinity: int
    quota: float | None

    @property
    def usable(self) -> int:
        """CPUs that can be kept busy without being throttled: rounded down, at least 1."""
        granted = self.affinity if self.quota is None else int(self.quota)
        return max(1, min(self.affinity, granted))

    @property
    def why(self) -> str:
        """Why fewer are usable than the machine has; empty where all are."""
        reasons = []
        if self.affinity < self.logical:
            reasons.append(f"this process may run on {self.affinity} of {self.logical}")
        if self.quota is not None and self.quota < self.affinity:
            reasons.append(f"a control group grants the time of {self.quota:g}")
        return "; ".join(reasons)


def cpu_limits(cgroups: Cgroups | None = None) -> CpuLimits:
    """The limits as they stand now. `cgroups` is a parameter for tests."""
    affinity = _affinity()
    return CpuLimits(psutil.cpu_count() or affinity, affinity, cpu_quota(cgroups or Cgroups()))


def usable_cpus(cgroups: Cgroups | None = None) -> int:
    """CPUs that this process can keep busy: affinity and quota respected, at least 1."""
    return cpu_limits(cgroups).usable


def cpu_name() -> str | Unavailable:
    """The processor's name as its maker wrote it."""
    readers = {"Linux": _linux_name, "Darwin": _macos_name, "Windows": _windows_name}
    try:
        name = readers.get(platform.system(), platform.processor)()
    except (OSError, subprocess.SubprocessError) as error:
        return Unavailable(f"asking the system for it failed ({error})")
    return " ".join(name.split()) or Unavailable("the system does not name its processor")


def _affinity() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    try:
        return len(psutil.Process().cpu_affinity())  # Windows
    except (AttributeError, psutil.Error):  # macOS binds no process to CPUs
        count = getattr(os, "process_cpu_count", os.cpu_count)  # the first is new in Python 3.13
        return count() or 1


def _linux_name() -> str:
    text = CPU_INFO.read_text(encoding="utf-8", errors="replace")
    return _after_colon(text, "model name") or _after_colon(_run("lscpu"), "Model name")  # Arm


def _macos_name() -> str:
    return _run("sysctl", "-n", "machdep.cpu.brand_string")


def _windows_name() -> str:
    import winreg  # exists on Windows alone

    path = r"HARDWARE\DESCRIPTION\System\CentralProcessor\0"
    with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, path) as key:
        return str(winreg.QueryValueEx(key, "ProcessorNameString")[0])


def _after_colon(text: str, label: str) -> str:
    pairs = (line.partition(":") for line in text.splitlines())
    return next((value.strip() for key, _, value in pairs if key.strip() == label), "")


def _run(*command: str) -> str:
    english = {**os.environ, "LC_ALL": "C"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=2, env=english)
    return done.stdout
