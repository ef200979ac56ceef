"""What Linux control groups grant this process: how containers and batch systems bound a job."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath


@dataclass(frozen=True)
class Cgroups:
    """Where the system keeps its control groups; tests pass folders of their own."""

    mount: Path = Path("/sys/fs/cgroup")
    own: Path = Path("/proc/self/cgroup")


def cpu_quota(where: Cgroups) -> float | None:
    """CPU seconds per second that this process is granted; None where nothing bounds it.

    Version 2 writes quota and period into `cpu.max`, version 1 into a file each.
    """
    granted = []
    for group in _own_groups("cpu", where):
        numbers = _whole_numbers(group / "cpu.max") or (
            _whole_numbers(group / "cpu.cfs_quota_us") + _whole_numbers(group / "cpu.cfs_period_us")
        )
        if len(numbers) == 2 and min(numbers) > 0:  # -1 or "max": no quota
            granted.append(numbers[0] / numbers[1])
    return min(granted, default=None)


def memory_limit(where: Cgroups) -> int | None:
    """Bytes that this process may hold before the system ends it; None where nothing bounds it.

    Version 1 has no word for "none" and gives a number far above any machine's memory: compare.
    """
    granted = []
    for group in _own_groups("memory", where):
        granted += _whole_numbers(group / "memory.max")
        granted += _whole_numbers(group / "memory.limit_in_bytes")
    return min(granted, default=None)


def _own_groups(controller: str, where: Cgroups) -> Iterator[Path]:
    """This process's group and every one above it: a limit binds all groups below.

    Inside a container the upper ones may be out of sight; then only those below the mount count.
    """
    for line in _text(where.own).splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers:  # version 2; "unified" where both versions are mounted
            mounts = [where.mount, where.mount / "unified"]
        elif controller in controllers.split(","):
            mounts = [where.mount / controllers, where.mount / controller]
        else:
            continue
        inside = PurePosixPath(path)
        for mount in mounts:
            for group in (inside, *inside.parents):
                yield mount / group.relative_to("/")


def _whole_numbers(path: Path) -> list[int]:
    """The numbers in a small file; empty if it is absent, or says "max", for no limit."""
    try:
        return [int(word) for word in _text(path).split()]
    except ValueError:
        return []


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
