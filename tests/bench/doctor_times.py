"""How long `doctor` takes to its first row and in all, beside a bare `import torch`.

    python tests/bench/doctor_times.py [--times 7]

Runs are interleaved. Exit status 1 if doctor takes over one and a half times the import alone.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence

DOCTOR = [sys.executable, "-m", "gpuutil_helpers", "doctor"]
IMPORT = [sys.executable, "-c", "import torch"]
LIMIT = 1.5


def seconds(command: Sequence[str]) -> tuple[float, float]:
    """Seconds to the first line of output (or the end, if there is none) and to the end."""
    started = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        first = time.perf_counter() - started
        process.stdout.read()
    return first, time.perf_counter() - started


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--times", type=int, default=7, help="how often each is run")
    times = parser.parse_args(arguments).times
    seconds(DOCTOR)  # both warm: the files are in the system's cache from here on
    seconds(IMPORT)
    pairs = [(seconds(DOCTOR), seconds(IMPORT)) for _ in range(times)]
    first = statistics.median(doctor[0] for doctor, _ in pairs)
    whole = statistics.median(doctor[1] for doctor, _ in pairs)
    ratio = statistics.median(doctor[1] / bare[1] for doctor, bare in pairs)
    print(f"doctor: first row after {first:.2f} s, all after {whole:.2f} s (medians of {times});")
    print(f"        {ratio:.2f} times a bare import of torch, run in turns")
    return 1 if ratio > LIMIT else 0


if __name__ == "__main__":
    sys.exit(main())
