"""`python -m gpuutil_helpers doctor`: what this machine is and what torch can use of it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from gpuutil_helpers.instruments.machine import describe_machine, describe_torch
from gpuutil_helpers.instruments.unavailable import Unavailable


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that `arguments` name, and give its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m gpuutil_helpers", description="Tools of the course, without a notebook."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("doctor", help="print what this machine is and what torch can use of it")
    parser.parse_args(arguments)
    return doctor()


def doctor() -> int:
    """Print the machine's table. Status 1 when torch cannot be loaded; a missing GPU is no fault.

    The part that needs no torch is out before torch is loaded, which takes seconds.
    """
    print(describe_machine(torch_facts=False), flush=True)
    machine = describe_torch()
    print(machine)
    return 1 if isinstance(machine["torch"], Unavailable) else 0


if __name__ == "__main__":
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # a path may hold what a console cannot show
    sys.exit(main())
