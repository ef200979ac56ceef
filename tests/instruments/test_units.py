from __future__ import annotations

import pytest

from gpuutil_helpers.instruments.units import per_second, readable, three_digits


@pytest.mark.parametrize(
    ("unit", "amount"),
    [
        ("GB/s", 10**9),
        ("GiB/s", 2**30),
        ("MB/s", 10**6),
        ("MiB/s", 2**20),
        ("kB/s", 1000),
        ("KiB/s", 1024),
        ("B/s", 1),
        ("TFLOP/s", 10**12),
        ("samples/s", 1),
        ("steps/s", 1),
        ("tokens/s", 1),
    ],
)
def test_a_unit_counts_what_its_letters_say(unit: str, amount: int) -> None:
    assert per_second(unit) == amount


@pytest.mark.parametrize(
    ("unit", "meant"),
    [
        ("gb/s", "GB/s or GiB/s"),
        ("Gb/s", "GB/s or GiB/s"),
        ("KB/s", "kB/s or KiB/s"),
        ("mib/s", "MB/s or MiB/s"),
        ("b/s", "B/s"),
        ("TFLOPS/s", "TFLOP/s"),
        ("GFlop/s", "GFLOP/s"),
    ],
)
def test_nearly_a_unit_is_asked_about(unit: str, meant: str) -> None:
    with pytest.raises(ValueError, match=f"Write {meant}:"):
        per_second(unit)


@pytest.mark.parametrize("unit", ["GB", "s", "/s", "GB/ms", "GB/s/s", ""])
def test_what_is_no_rate_is_refused(unit: str) -> None:
    with pytest.raises(ValueError, match="A rate counts things per second"):
        per_second(unit)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (12, "12.0"),
        (1.23456, "1.23"),
        (123.4, "123"),
        (999.7, "1000"),
        (1234.5, "1234"),
        (0.0621, "0.0621"),
        (-45.67, "-45.7"),
        (1.5e-9, "1.50e-09"),
    ],
)
def test_three_digits(value: float, text: str) -> None:
    assert three_digits(value) == text


@pytest.mark.parametrize(
    ("values", "unit", "texts"),
    [
        ([2.5, 0.5], "s", (["2.50", "0.500"], "s")),
        ([0.0123, 0.0121], "s", (["12.3", "12.1"], "ms")),
        ([4.2e-5], "s", (["42.0"], "us")),
        ([3.1e-8], "s", (["31.0"], "ns")),
        ([5e-10], "s", (["0.500"], "ns")),
        ([0.0], "s", (["0"], "ns")),
        ([0.0123], "GB/s", (["0.0123"], "GB/s")),
    ],
)
def test_readable_scales_seconds_by_the_first(values, unit, texts) -> None:
    assert readable(values, unit) == texts
