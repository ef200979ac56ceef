"""The result of measuring: every sample kept, a median with its exact interval, rates."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from numbers import Real

from gpuutil_helpers.instruments.flags import Flag
from gpuutil_helpers.instruments.order_statistics import median_interval, percentile
from gpuutil_helpers.instruments.unavailable import Unavailable
from gpuutil_helpers.instruments.units import per_second, readable

FEWEST_FOR_QUARTILES = 4


@dataclass(frozen=True, repr=False)
class Measurement:
    """Every sample of one quantity, and what was held fixed while they were taken.

    Attributes:
        name: what was measured.
        unit: of each sample: "s", "GB/s", "samples/s", "times".
        samples: all samples, in the order in which they were taken.
        warmup: the samples before them, left out of every statistic.
        method: how they were taken, in words.
        controls: what must be equal before two results may be compared: device, threads, versions.
        flags: reasons to distrust the result, as data; `has` asks for one by its name.

    Raises:
        ValueError: without samples, or with one that is not a finite number.
    """

    name: str
    unit: str
    samples: tuple[float, ...]
    warmup: tuple[float, ...] = ()
    method: str = ""
    controls: Mapping[str, object] = field(default_factory=dict)
    flags: tuple[Flag, ...] = ()

    def __post_init__(self) -> None:
        for kept in ("samples", "warmup"):  # plain floats, whatever the caller counts with
            object.__setattr__(self, kept, tuple(float(value) for value in getattr(self, kept)))
        if not self.samples or not all(math.isfinite(value) for value in self.samples):
            raise ValueError(
                f"{self.name}: a measurement needs finite samples, one or more, "
                f"and got {self.samples!r}. Leave out what was not measured."
            )

    @property
    def n(self) -> int:
        """How many samples there are, warm-up left out."""
        return len(self.samples)

    @property
    def median(self) -> float:
        """Half of the samples lie below it. One slow outlier does not move it."""
        return statistics.median(self.samples)

    @property
    def interval(self) -> tuple[float, float] | Unavailable:
        """The exact 95 % interval of the median; unavailable below 6 samples."""
        return median_interval(self.samples)

    @property
    def low(self) -> float:
        """Lower end of the interval. Raises ValueError below 6 samples."""
        return self._bounds()[0]

    @property
    def high(self) -> float:
        """Upper end of the interval. Raises ValueError below 6 samples."""
        return self._bounds()[1]

    @property
    def iqr(self) -> float | Unavailable:
        """Distance between the quartiles: the width of the middle half of the samples."""
        if self.n < FEWEST_FOR_QUARTILES:
            return Unavailable(
                f"quartiles need {FEWEST_FOR_QUARTILES} samples or more and there are {self.n}"
            )
        lower, _, upper = statistics.quantiles(self.samples, n=4, method="inclusive")
        return upper - lower

    def has(self, name: str) -> bool:
        """Whether a flag of this name was raised, such as "drift"."""
        return any(flag.name == name for flag in self.flags)

    def percentile(self, p: float) -> float:
        """Percentile `p`, in percent. Raises ValueError when the samples cannot bracket it."""
        return percentile(self.samples, p)

    def rate(self, amount: float, unit: str) -> Measurement:
        """What was done per second: `amount` over each sample of seconds.

        Args:
            amount: bytes for units such as "GB/s" (10**9) and "GiB/s" (2**30), operations for
                "GFLOP/s", the number of things for units such as "samples/s".
            unit: ends in "/s".

        Raises:
            ValueError: for a result that is not in seconds, an amount that is not above 0, a unit
                that is no rate, and a sample of 0 s.
        """
        if self.unit != "s":
            raise ValueError(
                f"{self.name} is in {self.unit}, and a rate needs seconds. "
                "Call rate() on a measurement of time."
            )
        if isinstance(amount, bool) or not isinstance(amount, Real):
            raise TypeError(f"amount must be a number and got {amount!r}. Pass x.nbytes, say.")
        if not 0 < amount < math.inf:
            raise ValueError(
                f"amount must be above 0 and got {amount}. Pass what each run of {self.name} did."
            )
        if 0 in self.samples or 0 in self.warmup:
            raise ValueError(f"{self.name}: a sample took 0 s on this clock. Raise calls.")
        done = float(amount) / per_second(unit)
        return replace(
            self,
            unit=unit,
            samples=tuple(done / seconds for seconds in self.samples),
            warmup=tuple(done / seconds for seconds in self.warmup),
            method=f"{done:g} {unit.removesuffix('/s')} divided by {self.method}",
        )

    def _bounds(self) -> tuple[float, float]:
        interval = self.interval
        if isinstance(interval, Unavailable):
            raise ValueError(f"{self.name}: {interval.reason}. Raise repeats.")
        return interval

    def __str__(self) -> str:
        interval = self.interval
        if isinstance(interval, Unavailable):
            (middle,), unit = readable([self.median], self.unit)
            spread = "no interval"
        else:
            (middle, low, high), unit = readable([self.median, *interval], self.unit)
            spread = f"95 % interval {low} to {high} {unit}"
        text = f"{self.name}: {middle} {unit} ({spread}, n = {self.n})"
        return "; ".join([text, *map(str, self.flags)])

    __repr__ = __str__


@dataclass(frozen=True, repr=False)
class Pair:
    """Two times taken in turns, and their ratio turn by turn: first over second, in "times"."""

    first: Measurement
    second: Measurement
    ratio: Measurement

    def __str__(self) -> str:
        return f"{self.first}\n{self.second}\n{self.ratio}"

    __repr__ = __str__
