"""A pretended asynchronous device: a clock, a host and a queue, all simulated.

Nothing waits and nothing is computed. Time is a number that the calls below move on, so that a
lesson or a test can show, exactly and on any machine, what a real GPU does to careless timing.
"""

from __future__ import annotations

import math


class PretendedDevice:
    """A device that works on its own, as a GPU does: launching returns before the work is done.

    Args:
        launch_s: seconds of the host that one launch costs.
        synchronize_s: seconds of the host that one wait costs, beside the waiting itself.

    Attributes:
        now: the simulated time in seconds.
        idle_from: when the device will have done all that was queued, in seconds.
        log: the names of the calls, in order.
    """

    def __init__(self, launch_s: float = 1 / 1024, synchronize_s: float = 0.0) -> None:
        self.launch_s = _seconds("launch_s", launch_s)
        self.synchronize_s = _seconds("synchronize_s", synchronize_s)
        self.now = 0.0
        self.idle_from = 0.0
        self.log: list[str] = []

    def clock(self) -> float:
        """The simulated time in seconds; reading it costs nothing."""
        self.log.append("clock")
        return self.now

    def host(self, seconds: float) -> None:
        """The host computes for `seconds`; the device goes on with its queue meanwhile."""
        self.log.append("host")
        self.now += _seconds("seconds", seconds)

    def launch(self, seconds: float, word: str = "run") -> None:
        """Queue work of `seconds` and return at once. `word` goes into the log."""
        work = _seconds("seconds", seconds)
        self.log.append(word)
        self.now += self.launch_s
        self.idle_from = max(self.now, self.idle_from) + work

    def synchronize(self) -> None:
        """Wait until all queued work is done."""
        self.log.append("synchronize")
        self.now = max(self.now, self.idle_from) + self.synchronize_s


def _seconds(name: str, value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} must be a number of seconds and got {value!r}. Pass 0.1, say.")
    if not 0 <= value < math.inf:
        raise ValueError(f"{name} must be 0 s or more and got {value}.")
    return float(value)
