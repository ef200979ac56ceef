"""What the driver says of real GPUs, held against what torch says and against known causes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path

import pynvml
import pytest
import torch

from gpuutil_helpers.instruments.gpu_identity import Card, find_card, pci_text, uuid_text
from gpuutil_helpers.instruments.gpu_readings import GpuReading, GpuReadings
from gpuutil_helpers.instruments.unavailable import Unavailable

pytestmark = pytest.mark.gpu

MIB = 2**20
SETTLE_S = 2.0  # longer than the driver's longest sample period, 1 s
WATCH_S = 4.0
READ_EVERY_S = 0.5


@pytest.fixture(scope="module", autouse=True)
def started() -> None:
    """Every GPU has a context of this process; without it the driver does not list us."""
    for index in range(torch.cuda.device_count()):
        torch.ones(1, device=f"cuda:{index}")
    torch.cuda.synchronize()


@pytest.fixture
def readings():
    with GpuReadings() as opened:
        yield opened


def needed(value: object) -> object:
    """The value, or the end of this test with the driver's reason."""
    if isinstance(value, Unavailable):
        pytest.skip(str(value))
    return value


def test_one_reading_for_each_gpu_of_torch(readings) -> None:
    assert len(readings.read()) == torch.cuda.device_count()


@pytest.mark.parametrize("by", ["UUID", "PCI address"])
def test_the_driver_and_torch_mean_the_same_gpu(by) -> None:
    pynvml.nvmlInit()
    try:
        for index in range(torch.cuda.device_count()):
            asked = torch.cuda.get_device_properties(index)
            assert uuid_text(asked) == str(asked.uuid)
            if by == "PCI address":
                if pci_text(asked) is None:
                    pytest.skip("this torch gives no PCI numbers")
                asked = OnlyPci(asked)
            card = find_card(pynvml, asked, [])
            assert isinstance(card, Card), card
            driver_says = pynvml.nvmlDeviceGetUUID(card.handle)
            if not card.is_split:
                assert driver_says.removeprefix("GPU-").removeprefix("MIG-") == str(
                    torch.cuda.get_device_properties(index).uuid
                )
    finally:
        pynvml.nvmlShutdown()


class OnlyPci:
    """torch's properties of a GPU without its UUID."""

    def __init__(self, properties: object) -> None:
        self.pci_domain_id = properties.pci_domain_id
        self.pci_bus_id = properties.pci_bus_id
        self.pci_device_id = properties.pci_device_id


def test_memory_grows_on_the_matched_gpu_and_on_no_other(readings) -> None:
    for index in range(torch.cuda.device_count()):
        torch.cuda.empty_cache()
        before = [needed(each.memory_bytes) for each in readings.read()]
        held = torch.empty(256 * MIB, dtype=torch.uint8, device=f"cuda:{index}")
        after = [needed(each.memory_bytes) for each in readings.read()]
        growth = [late - early for early, late in zip(before, after, strict=True)]
        del held
        # Others may use the GPU at the same time; 256 MiB in that moment is unlikely.
        assert growth[index] == pytest.approx(256 * MIB, abs=64 * MIB)
        assert all(abs(each) < 128 * MIB for each in growth[:index] + growth[index + 1 :])


def test_total_memory_is_torchs_or_a_little_more(readings) -> None:
    for index, reading in enumerate(readings.read()):
        torchs = torch.cuda.get_device_properties(index).total_memory
        assert torchs <= needed(reading.memory_total_bytes) < 1.1 * torchs


def test_own_memory_holds_what_torch_reserves(readings) -> None:
    held = torch.empty(256 * MIB, dtype=torch.uint8, device="cuda:0")
    own = needed(readings.read()[0].own_bytes)
    reserved = torch.cuda.memory_reserved(0)
    del held
    assert reserved >= 256 * MIB
    assert reserved < own < reserved + 4 * 1024 * MIB  # the context and libraries come on top


def watch_busy_share(readings: GpuReadings, turn: Callable[[], None]) -> list[float]:
    """The busy share of GPU 0 now and then between turns, once the sample period has passed."""
    shares = []
    due = time.perf_counter() + SETTLE_S
    end = due + WATCH_S
    while time.perf_counter() < end:
        turn()
        if time.perf_counter() >= due:  # seldom, since the GPU has nothing to do meanwhile
            shares.append(needed(readings.read()[0].busy_share))
            due += READ_EVERY_S
    return shares


@pytest.fixture(scope="module")
def cycles_per_second() -> float:
    """Of the clock that `torch.cuda._sleep` counts, a kernel of one thread that only waits."""
    cycles = 10_000_000
    torch.cuda._sleep(cycles)
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    start.record()
    torch.cuda._sleep(cycles)
    end.record()
    torch.cuda.synchronize()
    return cycles / (start.elapsed_time(end) / 1000)


def test_busy_share_of_known_mixes(readings, cycles_per_second) -> None:
    """Kernels of 10 ms: one after another, or each followed by as long a pause, or none."""

    def busy() -> None:
        torch.cuda._sleep(int(0.010 * cycles_per_second))
        torch.cuda.synchronize()

    def half() -> None:
        began = time.perf_counter()
        busy()
        time.sleep(time.perf_counter() - began)

    seen = {
        name: statistics.mean(watch_busy_share(readings, turn))
        for name, turn in (("busy", busy), ("half", half), ("idle", lambda: time.sleep(0.02)))
    }
    # One thread of a kernel that only waits counts as a GPU in full use: time, not work.
    assert seen["busy"] > 0.9, seen
    assert 0.35 < seen["half"] < 0.65, seen
    assert seen["idle"] < 0.1, seen


def test_power_clock_and_throttle_are_of_this_world(readings) -> None:
    a = torch.rand(4096, 4096, device="cuda:0")
    for _ in range(50):
        a = (a @ a).clamp(-1, 1)
    reading = readings.read()[0]
    torch.cuda.synchronize()
    assert 1 < needed(reading.power_w) < 2000
    assert 1e8 < needed(reading.sm_clock_hz) < 4e9
    assert needed(reading.throttle) and "idle" not in reading.throttle


def test_a_reading_takes_a_small_part_of_a_tenth_of_a_second(readings) -> None:
    readings.read()
    taken = []
    for _ in range(21):
        began = time.perf_counter()
        readings.read()
        taken.append(time.perf_counter() - began)
    print(f"a reading takes {statistics.median(taken) * 1000:.2f} ms")
    assert statistics.median(taken) < 0.1


def test_a_closed_reading_leaves_no_file_open() -> None:
    folder = Path("/proc/self/fd")
    if not folder.is_dir():
        pytest.skip("this system does not list open files")

    def go() -> tuple[GpuReading, ...]:
        with GpuReadings() as opened:
            return opened.read()

    go()
    before = len(list(folder.iterdir()))
    for _ in range(5):
        go()
    assert len(list(folder.iterdir())) == before


def test_torch_works_on_after_the_driver_was_let_go() -> None:
    with GpuReadings() as opened:
        opened.read()
    assert torch.ones(3, device="cuda").sum().item() == 3
