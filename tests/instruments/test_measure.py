from __future__ import annotations

import functools
import os
import sys
import time
from types import SimpleNamespace

import pytest

from gpuutil_helpers.instruments.measure import measure, measure_pair

QUARTER = 0.25
SAMPLE = ["synchronize", "clock", "run", "synchronize", "clock"]


def timed(device, seconds: float = QUARTER, **options):
    options = {"clock": device.clock, "synchronize": device.synchronize} | options
    return measure(lambda: device.launch(seconds), **options)


# ---- order of synchronisation and clock, on the pretended device


def test_order_is_wait_clock_run_wait_clock(device) -> None:
    timed(device, repeats=2, warmup=1)
    assert device.log == SAMPLE * 3


def test_work_queued_earlier_is_not_charged(device) -> None:
    device.launch(100.0)
    assert timed(device, repeats=3, warmup=0).samples == (QUARTER + device.launch_s,) * 3


def test_the_work_is_timed_and_not_its_launch(device) -> None:
    honest = timed(device, repeats=6)
    blind = timed(device, repeats=6, synchronize=lambda: None)
    assert honest.median == QUARTER + device.launch_s
    assert blind.median == device.launch_s  # what forgetting to wait would report


def test_waits_once_a_sample_so_that_launches_overlap_with_work(device) -> None:
    measured = timed(device, calls=4, repeats=1, warmup=0)
    assert device.log == ["synchronize", "clock", *["run"] * 4, "synchronize", "clock"]
    assert measured.samples == (QUARTER + device.launch_s / 4,)


# ---- known durations, on a clock that only the work moves


class Host:
    """A clock that moves by what each job costs; every job makes the next `drift` times slower."""

    def __init__(self, drift: float = 1.0) -> None:
        self.now, self.slowness, self.drift = 0.0, 1.0, drift
        self.order: list[str] = []

    def clock(self) -> float:
        return self.now

    def job(self, name: str, seconds: float):
        def run() -> None:
            self.order.append(name)
            self.now += seconds * self.slowness
            self.slowness *= self.drift

        return run


def test_a_known_duration_is_measured_exactly() -> None:
    host = Host()
    measured = measure(host.job("a", 0.5), repeats=6, warmup=2, calls=8, clock=host.clock)
    assert (measured.unit, measured.samples, measured.warmup) == ("s", (0.5,) * 6, (0.5,) * 2)
    assert len(host.order) == (6 + 2) * 8


def test_a_cold_start_lands_in_the_warmup() -> None:
    host = Host()
    costs = iter([64.0, 4.0, 1.0, 1.0, 1.0])

    def run() -> None:
        host.now += next(costs)

    measured = measure(run, repeats=3, warmup=2, clock=host.clock)
    assert (measured.warmup, measured.samples) == ((64.0, 4.0), (1.0, 1.0, 1.0))


def test_pair_runs_in_turns_and_alternates_who_is_first() -> None:
    host = Host()
    measure_pair(host.job("A", 1), host.job("B", 1), repeats=3, warmup=1, clock=host.clock)
    assert "".join(host.order) == "ABBAABBA"


def test_pair_waits_before_each_clock_reading(device) -> None:
    measure_pair(
        lambda: device.launch(1.0),
        lambda: device.launch(2.0),
        repeats=1,
        warmup=0,
        clock=device.clock,
        synchronize=device.synchronize,
    )
    assert device.log == SAMPLE * 2


def test_ratio_is_first_over_second_turn_by_turn() -> None:
    host = Host()
    costs = {"A": iter([8.0, 2.0, 3.0]), "B": iter([1.0, 4.0, 2.0])}

    def job(name: str):
        def run() -> None:
            host.now += next(costs[name])

        return run

    pair = measure_pair(job("A"), job("B"), repeats=3, warmup=0, clock=host.clock)
    assert pair.first.samples == (8.0, 2.0, 3.0)
    assert pair.second.samples == (1.0, 4.0, 2.0)
    assert pair.ratio.samples == (8.0, 0.5, 1.5)


def test_a_drift_falls_out_of_the_pair_and_not_out_of_a_then_b() -> None:
    host = Host(drift=1.01)  # every job makes the machine one per cent slower
    pair = measure_pair(host.job("A", 1.0), host.job("B", 0.5), repeats=20, clock=host.clock)
    assert pair.ratio.median == pytest.approx(2.0, rel=1e-3)

    host = Host(drift=1.01)
    a = measure(host.job("A", 1.0), repeats=20, clock=host.clock)
    b = measure(host.job("B", 0.5), repeats=20, clock=host.clock)
    assert a.median / b.median < 1.7  # the very same jobs, 15 % and more off


def test_pair_may_call_the_shorter_one_more_often() -> None:
    host = Host()
    pair = measure_pair(
        host.job("A", 4.0), host.job("B", 0.25), calls=(1, 16), repeats=6, clock=host.clock
    )
    assert host.order.count("B") == 16 * host.order.count("A")
    assert (pair.second.median, pair.ratio.median) == (0.25, 16.0)


# ---- what passes through


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3), RuntimeError("mine")])
@pytest.mark.parametrize("at_call", [1, 5])
def test_what_fn_raises_passes_through_unchanged(error: BaseException, at_call: int) -> None:
    calls = []

    def run() -> None:
        calls.append(None)
        if len(calls) == at_call:
            raise error

    for start in (lambda: measure(run), lambda: measure_pair(run, run)):
        calls.clear()
        with pytest.raises(type(error)) as caught:
            start()
        assert caught.value is error
        assert len(calls) == at_call


# ---- what is noted beside the samples


def test_notes_name_method_and_controls() -> None:
    host = Host()
    measured = measure(
        host.job("a", 1),
        name="a step",
        calls=3,
        warmup=2,
        clock=host.clock,
        controls={"batch": 32, "platform": "mine"},
    )
    assert measured.name == "a step"
    assert "calls per sample: 3" in measured.method
    assert "left out: 2" in measured.method
    assert measured.controls["batch"] == 32
    assert measured.controls["platform"] == "mine"  # the caller knows better
    assert measured.controls["usable_cpus"] >= 1
    assert measured.controls["python"] == ".".join(map(str, sys.version_info[:3]))


def test_controls_hold_torch_and_its_threads_once_torch_is_loaded(monkeypatch) -> None:
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    assert not {"torch", "threads"} & set(measure(int, repeats=1).controls)
    monkeypatch.setitem(sys.modules, "torch", stand_in_torch())
    controls = measure(int, repeats=1).controls
    assert (controls["torch"], controls["threads"]) == ("9.9", 7)


def test_ratio_carries_what_notes_and_comparisons_need() -> None:
    host = Host()
    pair = measure_pair(
        host.job("A", 3.0),
        host.job("B", 2.0),
        names=("all", "some"),
        repeats=6,
        clock=host.clock,
        controls={"dtype": "float32"},
    )
    ratio = pair.ratio
    assert (ratio.name, ratio.unit, ratio.n) == ("all / some", "times", 6)
    assert (ratio.median, ratio.low, ratio.high) == (1.5, 1.5, 1.5)
    assert ratio.controls == pair.first.controls == pair.second.controls
    assert ratio.controls["dtype"] == "float32"
    assert str(pair).splitlines() == [str(pair.first), str(pair.second), str(ratio)]


@pytest.mark.parametrize(
    ("fn", "name"), [(os.getpid, "getpid"), (functools.partial(int, "7"), "partial")]
)
def test_the_function_names_the_result(fn, name: str) -> None:
    assert measure(fn, repeats=1).name == name


def test_equal_names_are_told_apart() -> None:
    pair = measure_pair(int, int, repeats=1, calls=50)
    assert (pair.first.name, pair.second.name) == ("int (first)", "int (second)")


def test_too_few_samples_are_flagged() -> None:
    host = Host()
    assert measure(host.job("a", 1), repeats=6, clock=host.clock).flags == ()
    (flag,) = measure(host.job("a", 1), repeats=5, clock=host.clock).flags
    assert flag.name == "few samples"
    assert "fewer than 6 samples" in flag.text


def test_a_sample_near_the_clocks_own_cost_is_flagged_until_calls_are_raised() -> None:
    host = Host()
    short = host.job("a", 2e-6)
    (flag,) = measure(short, clock=host.clock).flags
    assert flag.name == "short samples"
    assert "raise calls" in flag.text
    assert measure(short, calls=10, clock=host.clock).flags == ()
    pair = measure_pair(short, short, clock=host.clock)
    assert pair.ratio.flags == (flag,)
    assert pair.first.rate(8, "B/s").flags == (flag,)


# ---- torch's devices, asked anew at each wait


def stand_in_torch(**traits) -> SimpleNamespace:
    state = SimpleNamespace(cuda=False, mps_bytes=None, waits=[])
    vars(state).update(traits)
    return SimpleNamespace(
        state=state,
        __version__="9.9",
        get_num_threads=lambda: 7,
        cuda=SimpleNamespace(
            is_initialized=lambda: state.cuda, synchronize=lambda: state.waits.append("cuda")
        ),
        backends=SimpleNamespace(
            mps=SimpleNamespace(is_available=lambda: state.mps_bytes is not None)
        ),
        mps=SimpleNamespace(
            current_allocated_memory=lambda: state.mps_bytes,
            synchronize=lambda: state.waits.append("mps"),
        ),
    )


@pytest.mark.parametrize(
    ("traits", "waits"),
    [
        ({}, []),
        ({"cuda": True}, ["cuda", "cuda"]),
        ({"mps_bytes": 512}, ["mps", "mps"]),
        ({"mps_bytes": 0}, []),
    ],
)
def test_waits_for_the_device_that_torch_has_in_use(monkeypatch, traits, waits) -> None:
    torch = stand_in_torch(**traits)
    monkeypatch.setitem(sys.modules, "torch", torch)
    measure(int, repeats=1, warmup=0)
    assert torch.state.waits == waits


def test_waits_for_cuda_that_fn_itself_started(monkeypatch) -> None:
    torch = stand_in_torch()
    monkeypatch.setitem(sys.modules, "torch", torch)

    def run() -> None:
        torch.state.cuda = True

    measure(run, repeats=1, warmup=0)
    assert torch.state.waits == ["cuda"]  # the wait that ends the first sample


def test_needs_no_torch_and_loads_none(monkeypatch) -> None:
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    measure(int, repeats=1)
    assert "torch" not in sys.modules


# ---- arguments out of range


@pytest.mark.parametrize(
    ("options", "error", "hint"),
    [
        ({"repeats": 0}, ValueError, "repeats must be 1 or more and got 0"),
        ({"repeats": -3}, ValueError, "repeats must be 1 or more"),
        ({"repeats": 2.0}, TypeError, "repeats must be a whole number"),
        ({"repeats": True}, TypeError, "repeats must be a whole number"),
        ({"warmup": -1}, ValueError, "warmup must be 0 or more"),
        ({"warmup": "3"}, TypeError, "warmup must be a whole number"),
        ({"calls": 0}, ValueError, "calls must be 1 or more"),
        ({"calls": 1.5}, TypeError, "calls must be a whole number"),
    ],
)
def test_counts_are_checked_before_anything_runs(options, error, hint) -> None:
    ran = []
    with pytest.raises(error, match=hint):
        measure(lambda: ran.append(1), **options)
    with pytest.raises(error, match=hint):
        measure_pair(lambda: ran.append(1), int, **options)
    assert not ran


def test_the_result_of_a_call_is_not_a_function() -> None:
    with pytest.raises(TypeError, match=r"Pass x\.sum, not x\.sum\(\)"):
        measure(sum([1, 2]))
    with pytest.raises(TypeError, match=r"Pass x\.sum, not x\.sum\(\)"):
        measure_pair(int, 3)


@pytest.mark.parametrize("calls", [(1,), (1, 2, 3)])
def test_a_pair_takes_one_or_two_call_counts(calls) -> None:
    with pytest.raises(ValueError, match="calls must be one number or two"):
        measure_pair(int, int, calls=calls)


@pytest.mark.parametrize("names", ["ab", ("one",), ("a", "b", "c")])
def test_a_pair_takes_two_names(names) -> None:
    with pytest.raises(ValueError, match="names must be two"):
        measure_pair(int, int, names=names)


def test_a_clock_that_goes_back_is_refused() -> None:
    readings = iter([5.0, 4.0])
    with pytest.raises(ValueError, match="The clock went back by 1 s"):
        measure(int, clock=lambda: next(readings))


def test_a_ratio_over_no_time_is_refused() -> None:
    host = Host()
    with pytest.raises(ValueError, match=r"B: a sample took 0 s on this clock. Raise calls"):
        measure_pair(host.job("A", 1), host.job("B", 0), names=("A", "B"), clock=host.clock)


def test_the_instruments_own_cost_is_that_of_a_few_clock_readings() -> None:
    pair = measure_pair(lambda: None, time.perf_counter, calls=(1, 1000), repeats=200)
    assert pair.ratio.median < 100
