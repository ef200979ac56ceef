"""A reading that cannot be had, and why. It is neither zero nor missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn


@dataclass(frozen=True)
class Unavailable:
    """Stands where a number would stand, and refuses to be taken for one.

    Two of them are equal when their reasons are. Ordering one, calculating with it, converting it
    to a number or using it as a truth value raises TypeError with the reason, so that no mean,
    table or plot can turn an unknown into a 0.

    Args:
        reason: completes the sentence "unavailable, because ...", without a final full stop.
    """

    reason: str

    def __post_init__(self) -> None:
        if not isinstance(self.reason, str) or not self.reason.strip():
            raise ValueError(
                f"Unavailable needs a reason and got {self.reason!r}. "
                "Pass text that completes 'unavailable, because ...'."
            )

    def __str__(self) -> str:
        return f"unavailable, because {self.reason}"

    def __format__(self, spec: str) -> str:
        try:
            return format(str(self), spec)  # a width is fine; ".1f" asks for a number
        except ValueError:
            self._refuse()

    def _refuse(self, *_: Any) -> NoReturn:
        raise TypeError(
            f"This reading is {self}. It is not a number: it cannot be compared, calculated with "
            "or used as true or false. Ask isinstance(reading, Unavailable) first."
        )

    __bool__ = __float__ = __int__ = __index__ = __round__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __neg__ = __abs__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _refuse
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = _refuse
    __mod__ = __rmod__ = __pow__ = __rpow__ = _refuse
