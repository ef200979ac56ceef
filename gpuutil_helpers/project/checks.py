"""Checks of arguments that several modules of the project share. Imports nothing but NumPy."""

from __future__ import annotations

import numpy as np


def check_whole(name: str, value: int, least: int, most: int | None = None) -> None:
    """Refuse a `value` that is no whole number from `least` on (and up to `most`), naming it.

    Raises:
        TypeError: when it is no whole number.
        ValueError: when it is too small or too large.
    """
    wanted = f"of at least {least}" if most is None else f"from {least} to {most}"
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name} is {value!r}: give a whole number {wanted}.")
    if value < least or (most is not None and value > most):
        raise ValueError(f"{name} is {value}: give a whole number {wanted}.")
