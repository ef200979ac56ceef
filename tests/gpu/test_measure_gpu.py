"""Timing and devices on a real CUDA device; conftest skips them with a reason where none is."""

from __future__ import annotations

import statistics

import pytest
import torch

from gpuutil_helpers.instruments.machine import describe_machine, pick_device, seed_everything
from gpuutil_helpers.instruments.measure import measure, measure_pair
from gpuutil_helpers.instruments.unavailable import Unavailable

pytestmark = pytest.mark.gpu


@pytest.fixture
def product():
    """A matrix product that keeps the device busy for milliseconds, queued in microseconds."""
    seed_everything(0)
    a = torch.rand(8192, 8192, device="cuda")
    out = torch.empty_like(a)
    return lambda: torch.mm(a, a, out=out)


def event_seconds(fn) -> float:
    """The device's own time, between two events that it records itself."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    fn()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) / 1000


def test_wall_time_agrees_with_event_time(product) -> None:
    measure(product, repeats=1)  # warm-up
    ratios = [  # in turns, since clocks and temperature of the device drift
        measure(product, repeats=1, warmup=0).median / event_seconds(product) for _ in range(21)
    ]
    assert statistics.median(ratios) == pytest.approx(1, rel=0.05)


def test_without_waiting_only_the_launch_is_timed(product) -> None:
    honest = measure(product, repeats=10)
    blind = measure(product, repeats=10, synchronize=lambda: None)
    torch.cuda.synchronize()
    assert blind.warmup[0] < honest.median / 5


def test_twice_the_products_take_twice_the_time(product) -> None:
    def twice() -> None:
        product()
        product()

    assert measure_pair(twice, product).ratio.median == pytest.approx(2, rel=0.1)


def test_work_queued_earlier_is_not_charged(product) -> None:
    one = measure(product, repeats=6).median
    for _ in range(20):
        product()
    assert measure(product, repeats=1, warmup=0).median < 2 * one


def test_picks_cuda() -> None:
    assert pick_device() == pick_device("cuda") == torch.device("cuda")
    last = torch.cuda.device_count() - 1
    assert pick_device(f"cuda:{last}") == torch.device("cuda", last)
    with pytest.raises(ValueError, match="Pass one of cuda:0"):
        pick_device(f"cuda:{last + 1}")


def test_seed_covers_the_gpu() -> None:
    def draw() -> list[float]:
        seed_everything(5)
        return torch.rand(4, device="cuda").tolist()

    assert draw() == draw()


def test_the_table_names_the_gpu() -> None:
    table = describe_machine()
    assert table["GPU 0, torch"] == torch.cuda.get_device_name(0)
    assert table["torch, device"] == "cuda:0"
    if not isinstance(table["NVIDIA driver"], Unavailable):
        assert not isinstance(table["GPU 0, driver"], Unavailable)
