"""How far `measure` is from causes of known size: a sleep of 100 ms and a spin of 5 ms.

    python tests/bench/timing_known_causes.py [--times 15]

The clock is read by the cause itself, so that a busy machine does not count as an error. Exit
status 1 if a median is further than one part in a hundred from what the cause read.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence

from gpuutil_helpers.instruments.causes import spin_until
from gpuutil_helpers.instruments.measure import measure

LIMIT = 0.01
WARMUP = 1


def sleep() -> None:
    time.sleep(0.100)


def spin() -> None:
    spin_until(time.perf_counter() + 0.005)


def known(cause: Callable[[], None], read: list[float]) -> Callable[[], None]:
    """`cause`, which also keeps in `read` how long it lasted by a clock of its own."""

    def run() -> None:
        started = time.perf_counter()
        cause()
        read.append(time.perf_counter() - started)

    return run


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--times", type=int, default=15, help="samples of each cause")
    times = parser.parse_args(arguments).times
    worst = 0.0
    for name, cause in (("sleep of 100 ms", sleep), ("spin of 5 ms", spin)):
        read: list[float] = []
        result = measure(known(cause, read), name=name, repeats=times, warmup=WARMUP)
        true = statistics.median(read[WARMUP:])
        error = result.median / true - 1
        worst = max(worst, abs(error))
        print(f"{result}\n    the cause read {true * 1000:.4f} ms: {error:+.4%}")
    return 1 if worst > LIMIT else 0


if __name__ == "__main__":
    sys.exit(main())
