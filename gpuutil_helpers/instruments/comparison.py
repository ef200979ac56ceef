"""Compare two results that were measured one after the other, and refuse what is no comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpuutil_helpers.instruments.flags import Flag
from gpuutil_helpers.instruments.measurement import Measurement
from gpuutil_helpers.instruments.order_statistics import (
    OUTSIDE_OF_TWO,
    fewest_for_interval,
    median_interval,
)
from gpuutil_helpers.instruments.unavailable import Unavailable
from gpuutil_helpers.instruments.units import three_digits

MISSING = "not noted"
NOT_IN_TURNS = Flag(
    "not in turns", "not measured in turns: what changed in between counts as a difference"
)


@dataclass(frozen=True, repr=False)
class Comparison:
    """The ratio of two medians.

    Attributes:
        name: the two names, first over second.
        ratio: median of the first over median of the second.
        interval: holds the true ratio at least 95 times in 100, or why there is none.
        differs: the controls that differ, each with both values.
        flags: reasons for distrust, those of both results among them.
        method: how it was made, in words.
    """

    name: str
    ratio: float
    interval: tuple[float, float] | Unavailable
    differs: Mapping[str, tuple[object, object]]
    flags: tuple[Flag, ...]
    method: str

    @property
    def low(self) -> float:
        """Lower end of the interval. Raises ValueError where there is none."""
        return self._bounds()[0]

    @property
    def high(self) -> float:
        """Upper end of the interval. Raises ValueError where there is none."""
        return self._bounds()[1]

    @property
    def verdict(self) -> str:
        """ "the first is larger", "the first is smaller" or "no detectable difference"."""
        if isinstance(self.interval, Unavailable) or self.low <= 1 <= self.high:
            return "no detectable difference"
        return "the first is larger" if self.low > 1 else "the first is smaller"

    def _bounds(self) -> tuple[float, float]:
        if isinstance(self.interval, Unavailable):
            raise ValueError(f"{self.name}: {self.interval.reason}. Raise repeats.")
        return self.interval

    def __str__(self) -> str:
        spread = "no interval"
        if not isinstance(self.interval, Unavailable):
            spread = f"95 % interval {three_digits(self.low)} to {three_digits(self.high)}"
        changed = [f"{key}: {a} and {b}" for key, (a, b) in self.differs.items()]
        text = f"{self.name}: {three_digits(self.ratio)} times ({spread}): {self.verdict}"
        return "; ".join([text, *changed, *map(str, self.flags)])

    __repr__ = __str__


def compare(a: Measurement, b: Measurement, *, differs: Sequence[str] = ()) -> Comparison:
    """Median of `a` over median of `b`, with an interval of at least 95 %.

    Both medians get an exact interval of 97.5 %. Both hold at once at least 95 times in 100
    (Bonferroni), so their quotients at the far ends bound the ratio. That is wide on purpose: where
    both can be run, `measure_pair` takes the ratio within each turn and says more with less.

    Args:
        a, b: results in the same unit, every sample above 0.
        differs: the controls that were changed on purpose. Each other one must be equal.

    Raises:
        TypeError: for anything but two measurements, or `differs` that is one text.
        ValueError: for two units, samples that are not above 0, a control that differs and is not
            named, and one that is named and does not differ.
    """
    for value in (a, b):
        if not isinstance(value, Measurement):
            raise TypeError(f"compare takes two measurements and got {value!r:.60}.")
    if isinstance(differs, str):
        raise TypeError(f'differs is a list of names and got {differs!r}. Pass ["{differs}"].')
    if a.unit != b.unit:
        raise ValueError(
            f"{a.name} is in {a.unit} and {b.name} in {b.unit}. Compare like with like."
        )
    if min(*a.samples, *b.samples, 1) <= 0:
        raise ValueError("A ratio needs samples above 0. Raise calls, or leave out what failed.")
    changed = _changed_controls(a, b, differs)
    return Comparison(
        name=f"{a.name} / {b.name}",
        ratio=a.median / b.median,
        interval=_interval(a, b),
        differs=changed,
        flags=tuple(dict.fromkeys((NOT_IN_TURNS, *a.flags, *b.flags))),
        method="ratio of two medians, each with its exact 97.5 % interval",
    )


def _changed_controls(
    a: Measurement, b: Measurement, named: Sequence[str]
) -> dict[str, tuple[object, object]]:
    keys = [*a.controls, *(key for key in b.controls if key not in a.controls)]
    values = {key: (a.controls.get(key, MISSING), b.controls.get(key, MISSING)) for key in keys}
    changed = {key: both for key, both in values.items() if both[0] != both[1]}
    unnamed = [key for key in changed if key not in named]
    if unnamed:
        shown = "; ".join(f"{key} is {changed[key][0]} and {changed[key][1]}" for key in unnamed)
        raise ValueError(
            f"{a.name} and {b.name} differ in more than was named: {shown}. "
            "Make them equal, or name in differs what you changed on purpose."
        )
    for key in named:
        if key not in changed:
            both = f"is {values[key][0]} in both" if key in values else "was noted in neither"
            raise ValueError(
                f"{key} is named as changed, and {both}. Change it, or do not name it."
            )
    return changed


def _interval(a: Measurement, b: Measurement) -> tuple[float, float] | Unavailable:
    bounds = []
    for one in (a, b):
        interval = median_interval(one.samples, outside=OUTSIDE_OF_TWO)
        if isinstance(interval, Unavailable):
            return Unavailable(
                f"a comparison needs {fewest_for_interval(OUTSIDE_OF_TWO)} samples or more of "
                f"each, and {one.name} has {one.n}"
            )
        bounds.append(interval)
    (low_a, high_a), (low_b, high_b) = bounds
    return low_a / high_b, high_a / low_b
