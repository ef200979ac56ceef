"""Measured numbers as text: `~61 %`, in one form that one regular expression finds again.

The leading `~` says "measured here, yours will differ". The notebooks' regression test hides what
`APPROXIMATE` matches and compares everything else, so no digit of a measured value may stand
outside that form, and no digit of an exact one inside.
"""

from __future__ import annotations

import re
from decimal import Decimal

from gpuutil_helpers.course.checks import as_number

UNITS: tuple[str, ...] = (
    *("%", "points", "times"),
    *("ns", "us", "ms", "s", "min", "h"),
    *("bits", "B", "kB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB"),
    *("B/s", "kB/s", "MB/s", "GB/s", "TB/s", "KiB/s", "MiB/s", "GiB/s"),
    *("FLOP", "MFLOP", "GFLOP", "TFLOP", "FLOP/B", "FLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s"),
    *("numbers", "samples", "images", "batches", "steps", "epochs", "tokens", "requests"),
    *("samples/s", "images/s", "batches/s", "steps/s", "tokens/s", "requests/s"),
    *("Hz", "MHz", "GHz", "W", "J", "nats"),
)
"""The units a measured number may carry. KiB, MiB, GiB are powers of two; kB, MB, GB of ten."""

_NUMBER = r"-?\d+(?:\.\d+)?(?:e-?\d+)?"
_UNIT = "|".join(re.escape(unit) for unit in sorted(UNITS, key=len, reverse=True))

APPROXIMATE = rf"(?<![\w~])~{_NUMBER}(?: (?:{_UNIT}))?(?![\w/%])(?![.,]\d)"
"""Matches what `approx` writes, `~number` or `~number unit`, and not a piece of anything longer.

The longest unit comes first, and none may be followed by a letter, a digit, `/` or `%`: the `s` of
`steps` is no second. A number in any other form (`~1,200`, `~61%`, `~1.2.3`) is left as it is.
"""

_SMALLEST_PLAIN, _LARGEST_PLAIN = -4, 5


def approx(value: object, unit: str = "", digits: int = 3) -> str:
    """A measured number as text, such as `~1.24 ms`, `~12000 samples/s`, `~3.4e-7 s` or `~0.97`.

    Args:
        value: a finite number; scalars of NumPy and PyTorch count.
        unit: "" for a bare number, one of `UNITS`, or either followed by words that start after
            a space or with `of`, such as "% of the step" or "of the time".
        digits: significant digits, 1 to 9.

    Raises:
        TypeError: `value` is not a number; a truth value is none.
        ValueError: `value` is not finite, `unit` is unknown, or `digits` is out of range.
    """
    number = as_number(value, "the measured value")
    if not isinstance(digits, int) or isinstance(digits, bool) or not 1 <= digits <= 9:
        raise ValueError(f"digits is {digits!r}: give the significant digits, 1 to 9.")
    _check_unit(unit)
    return f"~{_number_text(number, digits)} {unit}".rstrip()


def _number_text(number: float, digits: int) -> str:
    if number == 0:
        return "0"
    mantissa, _, exponent = f"{number:.{digits - 1}e}".partition("e")
    if _SMALLEST_PLAIN <= int(exponent) <= _LARGEST_PLAIN:
        return f"{Decimal(f'{mantissa}e{exponent}'):f}"
    return f"{mantissa}e{int(exponent)}"


def _check_unit(unit: object) -> None:
    if not isinstance(unit, str):
        raise TypeError(f"the unit is {unit!r}: give a text, such as 'ms', or '' for none.")
    first = unit.partition(" ")[0]
    if unit and first not in (*UNITS, "of"):
        raise ValueError(
            f"the unit {unit!r} does not start with a known one: use one of {', '.join(UNITS)}, "
            "or add yours to UNITS in gpuutil_helpers/course/approximate.py."
        )
