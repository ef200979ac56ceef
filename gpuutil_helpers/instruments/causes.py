"""Causes of known size, against which the instruments are tested.

An instrument is trusted as far as it finds a cause whose size is known: CPU time that was really
used, a moment that was really waited for, CPUs that were really busy.
"""

from __future__ import annotations

import math
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from gpuutil_helpers.instruments.cpus import usable_cpus

# It ends with the process that started it, whose end closes its input, and an interrupt meant for
# that process does not reach it.
_BURNER = """
import os, signal, sys, threading
signal.signal(signal.SIGINT, signal.SIG_IGN)
def end_with_parent():
    sys.stdin.buffer.read()
    os._exit(0)
threading.Thread(target=end_with_parent, daemon=True).start()
print("burning", flush=True)
while True:
    sum(range(20000))
"""


def spin_until(deadline: float, clock: Callable[[], float] = time.perf_counter) -> float:
    """Read `clock` again and again until it shows `deadline`, in seconds, and return what it shows.

    Overshoots by one reading at most, as long as the thread is not set aside: a sleep overshoots
    by far more.
    """
    while (now := clock()) < deadline:
        pass
    return now


def burn_cpu(cpu_seconds: float) -> float:
    """Compute on this thread until it has used `cpu_seconds` of CPU time; returns what it used.

    However busy the machine is, the CPU time is the same, and only the wall time grows. The clock
    is `time.thread_time`, which counts in steps of 1/64 s on Windows and far finer elsewhere.
    """
    if not 0 <= cpu_seconds < math.inf:
        raise ValueError(f"cpu_seconds must be 0 or more and got {cpu_seconds}.")
    start = time.thread_time()
    return spin_until(start + cpu_seconds, time.thread_time) - start


@contextmanager
def busy_cpus(n: int | None = None) -> Iterator[tuple[int, ...]]:
    """Keep `n` CPUs busy while the block runs: one process for each, which only computes.

    All of them burn before the block begins, and all have ended when it is left, however it is
    left. They end as well when this process is killed.

    Args:
        n: how many; as many as this process may use unless given.

    Returns:
        The process ids.

    Raises:
        TypeError, ValueError: `n` is no whole number, or below 1.
        RuntimeError: a process could not start.
    """
    count = usable_cpus() if n is None else n
    if isinstance(count, bool) or not isinstance(count, int):
        raise TypeError(f"n must be a whole number of processes and got {n!r}.")
    if count < 1:
        raise ValueError(f"n must be 1 or more and got {n}. Leave the block out for none.")
    with ExitStack() as running:
        burners = [running.enter_context(_burner()) for _ in range(count)]
        for burner in burners:
            if burner.stdout.readline().strip() != b"burning":
                raise RuntimeError("A process that keeps a CPU busy ended before it began.")
        yield tuple(burner.pid for burner in burners)


@contextmanager
def _burner() -> Iterator[subprocess.Popen[bytes]]:
    """One process that computes until the block is left, then gone and waited for."""
    process = subprocess.Popen(
        [sys.executable, "-S", "-c", _BURNER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()  # waits for its end and closes both pipes
