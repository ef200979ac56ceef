"""Units of results: how many of what per second, and which scale is readable."""

from __future__ import annotations

from collections.abc import Sequence

AMOUNTS = {
    # Powers of ten for rates, as data sheets print them; powers of two only with the "i".
    "B": 1.0,
    "kB": 1e3,
    "MB": 1e6,
    "GB": 1e9,
    "TB": 1e12,
    "KiB": 2.0**10,
    "MiB": 2.0**20,
    "GiB": 2.0**30,
    "TiB": 2.0**40,
    "FLOP": 1.0,
    "MFLOP": 1e6,
    "GFLOP": 1e9,
    "TFLOP": 1e12,
}
TIME_SCALES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))


def per_second(unit: str) -> float:
    """How many bytes, operations or things one `unit` such as "GB/s" or "samples/s" counts.

    Raises:
        ValueError: when `unit` is no rate, or is nearly a known one ("gb/s", "KB/s", "Gb/s",
            "TFLOPS/s"): a factor of 1.024, of 8 or of a thousand million may hide there.
    """
    thing, slash, second = unit.partition("/")
    if not thing or not slash or second != "s":
        raise ValueError(f'A rate counts things per second and got {unit!r}. Pass "GB/s".')
    lookalikes = [known for known in AMOUNTS if _loosely(known) == _loosely(thing)]
    if thing not in AMOUNTS and lookalikes:
        meant = " or ".join(f"{known}/s" for known in lookalikes)
        raise ValueError(
            f"{unit!r} could mean several units. Write {meant}: B is bytes, k, M, G and T are "
            "powers of ten, Ki, Mi, Gi and Ti powers of two."
        )
    return AMOUNTS.get(thing, 1.0)


def _loosely(thing: str) -> str:
    return thing.lower().replace("i", "").removesuffix("s")


def three_digits(value: float) -> str:
    """`value` with three significant digits, whole from 1000 on, without an exponent if it can."""
    if value == 0:
        return "0"
    if 999.5 <= abs(value) < 1e15:
        return f"{value:.0f}"
    return f"{value:#.3g}".rstrip(".")


def readable(values: Sequence[float], unit: str) -> tuple[list[str], str]:
    """Texts of `values` and their common unit. Seconds are scaled by the first; others stay."""
    factor = 1.0
    if unit == "s":
        size = abs(values[0])
        factor, unit = next((s for s in TIME_SCALES if size >= s[0]), TIME_SCALES[-1])
    return [three_digits(value / factor) for value in values], unit
