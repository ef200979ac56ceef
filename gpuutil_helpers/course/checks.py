"""What counts as a number, a truth value, a line of text, or a reading that cannot be had.

Scalars of NumPy and PyTorch count as what they hold; neither library is imported for it.
"""

from __future__ import annotations

import math
import numbers


def as_number(value: object, what: str) -> float:
    """`value` as a finite float; `what` names it in the error sentence.

    Raises:
        TypeError: not a real number (truth values and texts are none).
        ValueError: NaN, infinite, or too large for a float.
    """
    number = _scalar(value)
    if isinstance(number, bool) or not isinstance(number, numbers.Real):
        quotes = ", without quotes" if isinstance(value, str) else ""
        raise TypeError(f"{what} is {shown(value)}: give a number, such as 0.5{quotes}.")
    try:
        number = float(number)
    except OverflowError:
        raise ValueError(f"{what} is too large: give a number below 1e308.") from None
    if not math.isfinite(number):
        raise ValueError(f"{what} is {number}: give a finite number.")
    return number


def as_truth(value: object, what: str) -> bool:
    """`value` as a bool; scalars of NumPy and PyTorch count, anything merely truthy does not.

    Raises:
        TypeError: not a truth value; `what` names it in the sentence.
    """
    truth = _scalar(value)
    if not isinstance(truth, bool):
        raise TypeError(
            f"{what} is {shown(value)}, which is neither True nor False: give a comparison, such "
            "as low > 0.5."
        )
    return truth


def reason_unavailable(value: object) -> str | None:
    """Why a reading cannot be had, when `value` is such a reading (it has a text `reason`)."""
    reason = getattr(value, "reason", None)
    return reason if isinstance(reason, str) else None


def _scalar(value: object) -> object:
    """The Python value in a 0-d array or tensor of any library, everything else as it is."""
    if getattr(value, "ndim", None) == 0 and hasattr(value, "dtype") and hasattr(value, "item"):
        return value.item()
    return value


def one_line(text: object, what: str) -> str:
    """`text`, if it is one line with something on it.

    Raises:
        TypeError, ValueError: it is not; `what` names it in the sentence.
    """
    if not isinstance(text, str):
        raise TypeError(f"{what} is {shown(text)}: give a text.")
    if not text.strip() or len(text.splitlines()) > 1:
        raise ValueError(f"{what} is {text!r}: give one line that is not empty.")
    return text


def shown(value: object) -> str:
    """The value for an error sentence: itself if it is short, else its type."""
    text = repr(value)
    return text if len(text) <= 60 and "\n" not in text else f"of type {type(value).__name__}"
