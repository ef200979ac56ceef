"""What careless timing reports of a device whose every second is known."""

from __future__ import annotations

import pytest

from gpuutil_helpers.instruments.measure import measure
from gpuutil_helpers.instruments.pretended_device import PretendedDevice

LAUNCH, WORK = 1 / 1024, 1 / 4


def test_launching_costs_the_host_little_and_the_device_all() -> None:
    device = PretendedDevice()
    device.launch(WORK)
    assert (device.now, device.idle_from) == (LAUNCH, LAUNCH + WORK)


def test_queued_work_runs_one_after_the_other() -> None:
    device = PretendedDevice()
    device.launch(WORK)
    device.launch(WORK)
    assert (device.now, device.idle_from) == (2 * LAUNCH, LAUNCH + 2 * WORK)


def test_the_device_works_while_the_host_does_something_else() -> None:
    device = PretendedDevice()
    device.launch(WORK)
    device.host(WORK)
    device.synchronize()
    assert device.now == LAUNCH + WORK


def test_an_idle_device_begins_when_the_launch_has_returned() -> None:
    device = PretendedDevice()
    device.host(5.0)
    device.launch(WORK)
    assert device.idle_from == 5.0 + LAUNCH + WORK


def test_waiting_for_an_idle_device_costs_only_the_call() -> None:
    device = PretendedDevice(synchronize_s=1 / 8)
    device.synchronize()
    assert device.now == 1 / 8


def test_every_call_is_in_the_log() -> None:
    device = PretendedDevice()
    device.clock()
    device.host(0.0)
    device.launch(WORK)
    device.launch(WORK, "step")
    device.synchronize()
    assert device.log == ["clock", "host", "run", "step", "synchronize"]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda d: d.launch(-1.0), ValueError),
        (lambda d: d.host(float("nan")), ValueError),
        (lambda d: d.host("1 s"), TypeError),
        (lambda d: d.launch(True), TypeError),
        (lambda d: PretendedDevice(launch_s=float("inf")), ValueError),
        (lambda d: PretendedDevice(synchronize_s=None), TypeError),
    ],
)
def test_seconds_are_numbers_of_0_and_more(call, error) -> None:
    device = PretendedDevice()
    with pytest.raises(error, match=r"Pass 0\.1|0 s or more"):
        call(device)
    assert (device.now, device.idle_from) == (0.0, 0.0)


# ---- the classic mistakes, in exact numbers


def timed(device: PretendedDevice, **options) -> float:
    """The median that `measure` finds for one launch of WORK, unless told to wait otherwise."""
    options = {"clock": device.clock, "synchronize": device.synchronize} | options
    return measure(lambda: device.launch(WORK), repeats=6, warmup=0, **options).median


def test_without_a_wait_the_launch_is_timed_and_not_the_work() -> None:
    assert timed(PretendedDevice()) == LAUNCH + WORK
    assert timed(PretendedDevice(), synchronize=lambda: None) == LAUNCH


def test_a_clock_read_before_the_opening_wait_is_charged_with_earlier_work() -> None:
    device = PretendedDevice()
    device.launch(3.0)  # someone else's work
    start = device.clock()
    device.synchronize()
    device.launch(WORK)
    device.synchronize()
    assert device.clock() - start == 3.0 + LAUNCH + WORK

    device = PretendedDevice()
    device.launch(3.0)
    assert timed(device) == LAUNCH + WORK


def test_a_wait_after_every_call_drowns_small_kernels() -> None:
    small = 1 / 4096  # shorter than its own launch
    costly = {"launch_s": LAUNCH, "synchronize_s": 1 / 64}

    def each(calls: int, wait_each_time: bool) -> float:
        device = PretendedDevice(**costly)

        def run() -> None:
            device.launch(small)
            if wait_each_time:
                device.synchronize()

        waits = {"clock": device.clock, "synchronize": device.synchronize}
        return measure(run, calls=calls, repeats=6, warmup=0, **waits).median

    assert each(64, wait_each_time=False) == LAUNCH + (small + 1 / 64) / 64
    assert each(64, wait_each_time=True) == LAUNCH + small + 1 / 64 + 1 / 64 / 64


def data_wait_share(wait_after_step: bool) -> float:
    """Share of the time that a loop with 1 part of loading and 9 of work calls data wait."""
    device = PretendedDevice(launch_s=0.0)
    waited, begun = 0.0, device.clock()
    for _ in range(4):
        start = device.clock()
        device.host(1.0)  # loads a batch
        device.synchronize()  # copying it to the device waits for what is queued
        waited += device.clock() - start
        device.launch(9.0)
        if wait_after_step:
            device.synchronize()
    device.synchronize()
    return waited / (device.clock() - begun)


def test_queued_work_drains_in_the_next_steps_data_timer() -> None:
    assert data_wait_share(wait_after_step=True) == 4 * 1.0 / 40.0  # the true tenth
    assert data_wait_share(wait_after_step=False) == (1.0 + 3 * 9.0) / 37.0
