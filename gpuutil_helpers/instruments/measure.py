"""Timing that can be trusted: wait for the device, read the clock, run, wait, read the clock.

`_sample` below is those five lines. The rest says how often to run them, what to leave out and
what to note down. Clock and wait are parameters, so that the tests prove the order on a pretended
device, without a GPU.

The instrument's own error is the cost of one clock reading and one wait per sample: 0.24 to 0.5 us
on the two-core x86-64 server where it was last measured. A sample shorter than SHORTEST_TRUSTED_S,
twenty times that and more, is flagged.

torch.utils.benchmark.Timer is not used here. It keeps one number for a block of calls and throws
its own warm-up away, so a slow first call is never seen; it takes no turns between two jobs. It
fits single operators, where it picks the block's length and sets the thread count, one unless told.
"""

from __future__ import annotations

import platform
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from gpuutil_helpers.instruments.comparison import Comparison, compare
from gpuutil_helpers.instruments.cpus import usable_cpus
from gpuutil_helpers.instruments.flags import (
    SHORTEST_TRUSTED_S,
    Flag,
    flags_of_samples,
    flags_of_times,
)
from gpuutil_helpers.instruments.measurement import Measurement, Pair
from gpuutil_helpers.instruments.unavailable import Unavailable

__all__ = [
    "SHORTEST_TRUSTED_S",
    "Comparison",
    "Flag",
    "Measurement",
    "Pair",
    "Unavailable",
    "compare",
    "measure",
    "measure_pair",
]


def measure(
    fn: Callable[[], Any],
    *,
    name: str | None = None,
    repeats: int = 20,
    warmup: int = 3,
    calls: int = 1,
    clock: Callable[[], float] = time.perf_counter,
    synchronize: Callable[[], Any] | None = None,
    controls: Mapping[str, object] | None = None,
) -> Measurement:
    """Seconds that one call of `fn` takes, sampled `repeats` times after `warmup` samples.

    Args:
        fn: called without arguments; what it returns is dropped.
        name: of the result; the function's own name unless given.
        calls: per sample. Raise it until a sample lasts well above 10 us.
        clock: gives seconds and never goes back.
        synchronize: waits until the device has done all that was queued. None waits for torch's
            current device, once torch has one in use.
        controls: noted in the result beside platform, Python, usable CPUs, torch and its threads.
            Name the device, the dtype and the batch size here.

    Raises:
        Whatever `fn` raises, unchanged. TypeError or ValueError for an argument out of range.
    """
    _check(repeats, warmup, (calls,), fn)
    wait = synchronize or _synchronize_torch
    seconds = [_sample(fn, calls, clock, wait) for _ in range(warmup + repeats)]
    return _result(name or _name_of(fn), seconds, warmup, calls, "", controls)


def measure_pair(
    first: Callable[[], Any],
    second: Callable[[], Any],
    *,
    names: tuple[str, str] | None = None,
    repeats: int = 20,
    warmup: int = 3,
    calls: int | tuple[int, int] = 1,
    clock: Callable[[], float] = time.perf_counter,
    synchronize: Callable[[], Any] | None = None,
    controls: Mapping[str, object] | None = None,
) -> Pair:
    """Time two functions in turns, AB BA AB BA ..., and take the ratio within each turn.

    A machine slows down as it heats up, and others use it. All of A and then all of B would charge
    that to B. Within one turn both meet the same machine. Since the order alternates, what came
    second in one turn comes first in the next, and a steady drift falls out of the median. Keep
    `repeats` even, so that each comes first equally often.

    Args: as for `measure`. `calls` may be a pair, where one function is much shorter.

    Returns:
        Both times, and `ratio`: seconds of `first` over seconds of `second`, in "times".
    """
    both = calls if isinstance(calls, tuple) else (calls, calls)
    _check(repeats, warmup, both, first, second)
    names = names or _two_names(first, second)
    if isinstance(names, str) or len(names) != 2:
        raise ValueError(f'names must be two and got {names!r}. Pass names=("before", "after").')
    wait = synchronize or _synchronize_torch
    jobs = ((first, both[0]), (second, both[1]))
    seconds: tuple[list[float], list[float]] = ([], [])
    for turn in range(warmup + repeats):
        for which in (0, 1) if turn % 2 == 0 else (1, 0):
            seconds[which].append(_sample(*jobs[which], clock, wait))

    a, b = (
        _result(names[which], seconds[which], warmup, both[which], "in turns AB BA, ", controls)
        for which in (0, 1)
    )
    return Pair(a, b, _ratio(a, b))


def _sample(
    fn: Callable[[], Any], calls: int, clock: Callable[[], float], synchronize: Callable[[], Any]
) -> float:
    """Seconds per call."""
    synchronize()  # what was queued earlier ends before the clock is read
    start = clock()
    for _ in range(calls):
        fn()
    synchronize()  # fn may only have queued its work; once a sample, not once a call
    seconds = clock() - start
    if seconds < 0:
        raise ValueError(
            f"The clock went back by {-seconds:g} s. Pass one that cannot, time.perf_counter."
        )
    return seconds / calls


def _synchronize_torch() -> None:
    """Wait for torch's current device, if torch is loaded and has one in use.

    Asked anew each time, because `fn` itself may be the first to use it.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        return
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()
    elif torch.backends.mps.is_available() and torch.mps.current_allocated_memory():
        torch.mps.synchronize()


def _result(
    name: str,
    seconds: list[float],
    warmup: int,
    calls: int,
    order: str,
    controls: Mapping[str, object] | None,
) -> Measurement:
    samples = tuple(seconds[warmup:])
    return Measurement(
        name=name,
        unit="s",
        samples=samples,
        warmup=tuple(seconds[:warmup]),
        method=(
            f"seconds per call, {order}calls per sample: {calls}, warm-up samples left out: "
            f"{warmup}; the device was waited for before each of the two clock readings"
        ),
        controls={**_controls(), **(controls or {})},
        flags=flags_of_times(samples, seconds[:warmup], calls),
    )


def _ratio(a: Measurement, b: Measurement) -> Measurement:
    if 0 in b.samples:
        raise ValueError(f"{b.name}: a sample took 0 s on this clock. Raise calls.")
    ratios = tuple(x / y for x, y in zip(a.samples, b.samples, strict=True))
    return Measurement(
        name=f"{a.name} / {b.name}",
        unit="times",
        samples=ratios,
        method=f"ratio within each turn; {a.name}: {a.method}; {b.name}: {b.method}",
        controls=a.controls,
        flags=_flags_of_ratio(a, b, ratios),
    )


def _flags_of_ratio(a: Measurement, b: Measurement, ratios: tuple[float, ...]) -> tuple[Flag, ...]:
    """Flags of the ratios, and of the times what does not fall out within a turn."""
    kept = [flag for flag in a.flags + b.flags if flag.name not in ("drift", "noisy")]
    return tuple(dict.fromkeys((*flags_of_samples(ratios), *kept)))


def _controls() -> dict[str, object]:
    """What must not differ between two results that are to be compared."""
    noted: dict[str, object] = {
        "platform": platform.platform(),
        "python": platform.python_version(),
        "usable_cpus": usable_cpus(),
    }
    torch = sys.modules.get("torch")
    if torch is not None:
        noted |= {"torch": str(torch.__version__), "threads": torch.get_num_threads()}
    return noted


def _check(repeats: int, warmup: int, calls: tuple[int, ...], *functions: object) -> None:
    for fn in functions:
        if not callable(fn):
            raise TypeError(
                f"A function is timed, and {fn!r:.60} is none. Pass x.sum, not x.sum(): "
                "the call happens while the clock runs."
            )
    if len(calls) != len(functions):
        raise ValueError(f"calls must be one number or two and got {calls}. Pass calls=(1, 512).")
    limits = [("repeats", repeats, 1), ("warmup", warmup, 0)]
    for name, value, least in limits + [("calls", value, 1) for value in calls]:
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(
                f"{name} must be a whole number and got {value!r}. Pass {least} or more."
            )
        if value < least:
            raise ValueError(f"{name} must be {least} or more and got {value}.")


def _name_of(fn: Callable[[], Any]) -> str:
    return getattr(fn, "__name__", type(fn).__name__)


def _two_names(first: Callable[[], Any], second: Callable[[], Any]) -> tuple[str, str]:
    names = _name_of(first), _name_of(second)
    return names if names[0] != names[1] else (f"{names[0]} (first)", f"{names[1]} (second)")
