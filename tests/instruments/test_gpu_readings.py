"""Readings of torch's GPUs, in every state that a driver is known to be in, each with its words."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
import types
import warnings
from dataclasses import fields
from types import SimpleNamespace

import pynvml
import pytest

from gpuutil_helpers.instruments.gpu_readings import GpuReading, GpuReadings
from gpuutil_helpers.instruments.unavailable import Unavailable
from tests.instruments.stand_in_driver import GIB, OLDER_PROCESSES, PROCESSES

UUIDS = tuple(f"{digit * 8}-aaaa-bbbb-cccc-0123456789ab" for digit in "12")
A, B = (("A", f"GPU-{UUIDS[0]}", 8 * GIB), ("B", f"GPU-{UUIDS[1]}", 80 * GIB))
NAMES = tuple(each.name for each in fields(GpuReading))
HEALTHY = GpuReading(0.42, 3 * GIB, 8 * GIB, GIB, 250.0, 1.98e9, "none")
UNUSED = "torch has not used a GPU in this process yet"
LOST = "the GPU no longer answers; restart the machine"
LET_GO = "other code in this process let go of the NVIDIA driver"
UNSUPPORTED = "this GPU or its driver does not give this reading"
NO_DRIVER = "there is no NVIDIA driver library on this machine"
SLICE = "torch's GPU is a MIG slice, for which the driver does not give this reading"

# Each question's name in the driver's library, and the fields that come of it.
QUESTIONS = {
    "nvmlDeviceGetUtilizationRates": ("busy_share",),
    "nvmlDeviceGetMemoryInfo": ("memory_bytes", "memory_total_bytes"),
    PROCESSES: ("own_bytes",),
    "nvmlDeviceGetPowerUsage": ("power_w",),
    "nvmlDeviceGetClockInfo": ("sm_clock_hz",),
    "nvmlDeviceGetCurrentClocksEventReasons": ("throttle",),
}


def stand_in_torch(
    *uuids: str | None, started: bool = True, cuda="13.0", hip=None, mps=False, pci=()
) -> SimpleNamespace:
    """torch with one GPU for each UUID; `torch.state` says and changes what has happened."""
    state = SimpleNamespace(started=started, count=len(uuids), counted=0)

    def device_count() -> int:
        state.counted += 1
        return state.count

    def get_device_properties(index: int) -> SimpleNamespace:
        if not (state.started and 0 <= index < state.count):
            raise AssertionError("Invalid device id")
        parts = zip(("domain", "bus", "device"), pci, strict=False)
        return SimpleNamespace(
            uuid=uuids[index], **{f"pci_{part}_id": number for part, number in parts}
        )

    def refuse(*_: object) -> None:
        raise AssertionError("a reading may not start CUDA")

    return SimpleNamespace(
        state=state,
        version=SimpleNamespace(cuda=cuda, hip=hip),
        backends=SimpleNamespace(
            mps=SimpleNamespace(is_available=lambda: mps, is_built=lambda: mps)
        ),
        cuda=SimpleNamespace(
            is_initialized=lambda: state.started,
            is_available=refuse,
            init=refuse,
            device_count=device_count,
            get_device_properties=get_device_properties,
        ),
    )


def read_once(torch: object = None) -> tuple[GpuReading, ...]:
    with GpuReadings(torch=torch or stand_in_torch(UUIDS[0])) as readings:
        return readings.read()


def reason(reading: GpuReading) -> str:
    """The one reason for which no field could be had."""
    values = [getattr(reading, name) for name in NAMES]
    assert all(isinstance(value, Unavailable) for value in values), reading
    (only,) = {value.reason for value in values}
    return only


def unlike(reading: GpuReading, healthy: GpuReading = HEALTHY) -> dict[str, str]:
    """The reason of each field that could not be had; every other must be as it should."""
    found = {}
    for name in NAMES:
        value = getattr(reading, name)
        if isinstance(value, Unavailable):
            found[name] = value.reason
        else:
            assert value == getattr(healthy, name), name
    return found


def test_a_healthy_gpu(driver) -> None:
    driver(gpus=(A,))
    assert read_once() == (HEALTHY,)


def test_several_gpus_come_in_torchs_order(driver) -> None:
    driver(
        gpus=(A, B),
        answers={
            ("nvmlDeviceGetUtilizationRates", 1): 7,
            (PROCESSES, 1): ((1, GIB), (os.getpid(), 5)),
        },
    )
    first, second = read_once(stand_in_torch(UUIDS[1], UUIDS[0]))
    assert (first.memory_total_bytes, first.busy_share, first.own_bytes) == (80 * GIB, 0.07, 5)
    assert second == HEALTHY


def test_a_gpu_that_torch_may_not_see_is_not_read(driver) -> None:
    driver(gpus=(A, B))
    (only,) = read_once(stand_in_torch(UUIDS[1]))
    assert only.memory_total_bytes == 80 * GIB


def test_torch_gives_only_pci_numbers(driver) -> None:
    driver(gpus=(A, B), addresses=("00000000:17:00.0", "00000000:65:00.0"))
    (only,) = read_once(stand_in_torch(None, pci=(0, 0x65, 0)))
    assert only.memory_total_bytes == 80 * GIB


def test_a_gpu_that_the_driver_does_not_know_is_not_another(driver) -> None:
    driver(gpus=(A,))
    known, unknown = read_once(stand_in_torch(*UUIDS))
    assert known == HEALTHY
    assert reason(unknown) == f"the NVIDIA driver shows no GPU with torch's UUID {UUIDS[1]}"


def test_torch_cannot_say_which_gpu(driver) -> None:
    driver(gpus=(A,))
    torch = stand_in_torch(UUIDS[0])

    def refuse(index: int) -> None:
        raise RuntimeError("CUDA error: unknown error\nmore lines")

    torch.cuda.get_device_properties = refuse
    assert reason(*read_once(torch)) == (
        "torch could not ask cuda:0 (RuntimeError: CUDA error: unknown error)"
    )


# States of the whole driver.


def test_no_library(no_driver_library) -> None:
    assert reason(*read_once()) == NO_DRIVER


def test_no_package(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert reason(*read_once()) == "the Python package nvidia-ml-py is not installed"


DRIVER_STATES = {
    pynvml.NVML_ERROR_DRIVER_NOT_LOADED: "the NVIDIA driver is installed but not loaded",
    pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH: (
        "the loaded NVIDIA driver and its library have different versions; restart the machine"
    ),
    pynvml.NVML_ERROR_NO_PERMISSION: "this user may not ask the NVIDIA driver",
}


@pytest.mark.parametrize(("code", "words"), DRIVER_STATES.items())
def test_the_driver_does_not_start(driver, code, words) -> None:
    library = driver(gpus=(A,), refusals={"nvmlInitWithFlags": code})
    assert [reason(each) for each in read_once(stand_in_torch(*UUIDS))] == [words, words]
    assert "nvmlShutdown" not in library.calls


def test_a_driver_that_starts_later_is_found_and_not_asked_at_every_reading(driver) -> None:
    library = driver(gpus=(A,), refusals={"nvmlInitWithFlags": pynvml.NVML_ERROR_DRIVER_NOT_LOADED})
    now = [0.0]
    with GpuReadings(torch=stand_in_torch(UUIDS[0]), clock=lambda: now[0]) as readings:
        for _ in range(9):
            now[0] += 0.1
            assert "not loaded" in reason(*readings.read())
        assert library.calls.count("nvmlInitWithFlags") == 1
        library.refusals.clear()
        now[0] += 0.2
        assert readings.read() == (HEALTHY,)
    assert library.calls.count("nvmlInitWithFlags") == 2
    assert library.calls.count("nvmlShutdown") == 1


# States of one question: the other fields are read.

CALL_STATES = {
    pynvml.NVML_ERROR_NOT_SUPPORTED: UNSUPPORTED,
    pynvml.NVML_ERROR_NO_PERMISSION: "this user may not ask the NVIDIA driver",
    pynvml.NVML_ERROR_GPU_IS_LOST: LOST,
    pynvml.NVML_ERROR_UNKNOWN: "the NVIDIA driver answered: Unknown Error",
}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize(("code", "words"), CALL_STATES.items())
def test_one_question_is_refused(driver, question, code, words) -> None:
    driver(gpus=(A,), refusals={question: code})
    (reading,) = read_once()
    found = unlike(reading)
    assert set(found) == set(QUESTIONS[question])
    assert all(text.startswith(words) for text in found.values()), found


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_that_an_old_driver_does_not_know(driver, question) -> None:
    older = ("nvmlDeviceGetCurrentClocksThrottleReasons", OLDER_PROCESSES)
    driver(gpus=(A,), missing=(question, *older))
    (reading,) = read_once()
    old = "this NVIDIA driver is too old to give this reading"
    assert unlike(reading) == dict.fromkeys(QUESTIONS[question], old)


def test_an_old_driver_knows_throttling_by_its_older_name(driver) -> None:
    driver(
        gpus=(A,),
        missing=("nvmlDeviceGetCurrentClocksEventReasons",),
        answers={"nvmlDeviceGetCurrentClocksThrottleReasons": 0x20},
    )
    assert read_once()[0].throttle == "thermal"


def test_an_old_driver_lists_processes_by_an_older_function(driver) -> None:
    answers = {OLDER_PROCESSES: ((os.getpid(), 9),)}
    driver(gpus=(A,), missing=(PROCESSES,), answers=answers)
    assert read_once()[0].own_bytes == 9


def test_bindings_without_a_question(driver, monkeypatch) -> None:
    driver(gpus=(A,))
    for name in (PROCESSES, OLDER_PROCESSES):
        monkeypatch.delattr(pynvml, name)
    assert unlike(*read_once()) == {
        "own_bytes": "the package nvidia-ml-py here cannot ask for this reading"
    }


def test_unified_memory(driver) -> None:
    driver(gpus=(A,), refusals={"nvmlDeviceGetMemoryInfo": pynvml.NVML_ERROR_NOT_SUPPORTED})
    words = f"{UNSUPPORTED}; a GPU that shares the machine's memory has none of its own to count"
    assert unlike(*read_once()) == {"memory_bytes": words, "memory_total_bytes": words}


@pytest.mark.parametrize(
    "code", [pynvml.NVML_ERROR_NOT_SUPPORTED, pynvml.NVML_ERROR_INVALID_ARGUMENT]
)
def test_a_mig_slice(driver, code) -> None:
    whole = ("A100", f"GPU-{UUIDS[1]}", 40 * GIB)
    refused = set(QUESTIONS) - {"nvmlDeviceGetMemoryInfo", PROCESSES}
    driver(
        gpus=(whole, ("slice", f"MIG-{UUIDS[0]}", 8 * GIB)),
        refusals={(question, 1): code for question in refused},
    )
    assert unlike(*read_once()) == {
        name: SLICE for question in refused for name in QUESTIONS[question]
    }


def test_a_card_cut_into_slices_gives_no_memory_that_is_not_torchs(driver) -> None:
    driver(
        gpus=(A,),
        answers={"nvmlDeviceGetMigMode": 1},
        refusals={"nvmlDeviceGetUtilizationRates": pynvml.NVML_ERROR_NOT_SUPPORTED},
    )
    found = unlike(*read_once())
    assert found.pop("busy_share") == SLICE
    assert set(found) == {"memory_bytes", "memory_total_bytes"}
    assert all("does not say which of them is torch's" in text for text in found.values())


# Success that lies, and the most and the least that is believed.


def lie(what: str) -> str:
    return f"the driver reports {what}, which cannot be"


MEMORY = ("memory_bytes", "memory_total_bytes")
LIES = [
    ("nvmlDeviceGetUtilizationRates", 101, ["busy_share"], "a busy share of 101 %"),
    ("nvmlDeviceGetMemoryInfo", (0, 0), MEMORY, "0 bytes of memory in use, of 0"),
    ("nvmlDeviceGetMemoryInfo", (9, 8), MEMORY, "9 bytes of memory in use, of 8"),
    (
        "nvmlDeviceGetMemoryInfo",
        (2**64 - 1, 2**64 - 1),
        MEMORY,
        f"{2**64 - 1} bytes of memory in use, of {2**64 - 1}",
    ),
    ("nvmlDeviceGetPowerUsage", 0, ["power_w"], "a power of 0 W"),
    ("nvmlDeviceGetPowerUsage", 2**32 - 1, ["power_w"], "a power of 4.29497e+06 W"),
    ("nvmlDeviceGetPowerUsage", 5_001_000, ["power_w"], "a power of 5001 W"),
    ("nvmlDeviceGetClockInfo", 0, ["sm_clock_hz"], "a clock of 0 MHz"),
    ("nvmlDeviceGetClockInfo", 10_001, ["sm_clock_hz"], "a clock of 10001 MHz"),
    (
        PROCESSES,
        ((os.getpid(), 8 * GIB + 1),),
        ["own_bytes"],
        f"{8 * GIB + 1} bytes for this process, where 1 to {8 * GIB} could be",
    ),
    (
        PROCESSES,
        ((os.getpid(), 0),),
        ["own_bytes"],
        f"0 bytes for this process, where 1 to {8 * GIB} could be",
    ),
    (
        "nvmlDeviceGetCurrentClocksEventReasons",
        2**64 - 1,
        ["throttle"],
        f"the reasons {2**64 - 1:#x} for lower clocks",
    ),
]


@pytest.mark.parametrize(("question", "answer", "names", "what"), LIES)
def test_what_cannot_be_is_refused_and_named(driver, question, answer, names, what) -> None:
    driver(gpus=(A,), answers={question: answer})
    assert unlike(*read_once()) == dict.fromkeys(names, lie(what))


def test_success_with_nothing_but_zeros(driver) -> None:
    driver(
        gpus=(A,),
        answers={name: 0 for name in QUESTIONS if name not in (PROCESSES,)}
        | {"nvmlDeviceGetMemoryInfo": (0, 0), PROCESSES: ((os.getpid(), 0),)},
    )
    (reading,) = read_once()
    # These two zeros can be true: no kernel ran, and nothing holds the clocks down.
    assert (reading.busy_share, reading.throttle) == (0.0, "none")
    for name in set(NAMES) - {"busy_share", "throttle"}:
        assert getattr(reading, name).reason.endswith("which cannot be")


@pytest.mark.parametrize(
    ("question", "answer", "name", "value"),
    [
        ("nvmlDeviceGetUtilizationRates", 0, "busy_share", 0.0),
        ("nvmlDeviceGetUtilizationRates", 100, "busy_share", 1.0),
        ("nvmlDeviceGetMemoryInfo", (0, 8), "memory_bytes", 0),
        ("nvmlDeviceGetMemoryInfo", (8 * GIB, 8 * GIB), "memory_bytes", 8 * GIB),
        ("nvmlDeviceGetPowerUsage", 1, "power_w", 0.001),
        ("nvmlDeviceGetPowerUsage", 5_000_000, "power_w", 5000.0),
        ("nvmlDeviceGetClockInfo", 1, "sm_clock_hz", 1e6),
        ("nvmlDeviceGetClockInfo", 10_000, "sm_clock_hz", 1e10),
        (PROCESSES, ((os.getpid(), 8 * GIB),), "own_bytes", 8 * GIB),
        (PROCESSES, ((os.getpid(), 1), (os.getpid(), 2)), "own_bytes", 3),
    ],
)
def test_what_can_be_is_believed(driver, question, answer, name, value) -> None:
    driver(gpus=(A,), answers={question: answer})
    assert getattr(read_once()[0], name) == value


@pytest.mark.parametrize(
    ("bits", "text"),
    [
        (0x0, "none"),
        (0x1, "idle"),
        (0x2, "application clocks"),
        (0x4, "power cap"),
        (0x8, "hardware slowdown"),
        (0x10, "sync boost"),
        (0x20, "thermal"),
        (0x40, "hardware thermal"),
        (0x80, "power brake"),
        (0x100, "display clocks"),
        (0x200, "board limit"),
        (0x400, "reliability"),
        (0x4 | 0x8 | 0x40, "power cap, hardware slowdown, hardware thermal"),
        (0x4 | 0x1000, "power cap, reason 0x1000"),
    ],
)
def test_what_holds_the_clocks_down(driver, bits, text) -> None:
    driver(gpus=(A,), answers={"nvmlDeviceGetCurrentClocksEventReasons": bits})
    assert read_once()[0].throttle == text


# This process's memory.


@pytest.mark.parametrize("listed", [(), ((1, 5 * GIB), (2, GIB))], ids=["nobody", "others"])
def test_own_process_not_listed_is_not_zero(driver, listed) -> None:
    driver(gpus=(A,), answers={PROCESSES: listed})
    assert unlike(*read_once()) == {
        "own_bytes": (
            f"the driver's list for this GPU lacks this process, number {os.getpid()}: it has not "
            "used this GPU, or it runs in a container with process numbers of its own"
        )
    }


def test_own_memory_marked_as_not_available(driver) -> None:
    driver(gpus=(A,), answers={PROCESSES: ((os.getpid(), 2**64 - 1),)})
    assert unlike(*read_once()) == {"own_bytes": "the driver lists this process without its memory"}


def test_own_memory_without_a_total_to_hold_it_against(driver) -> None:
    driver(
        gpus=(A,),
        refusals={"nvmlDeviceGetMemoryInfo": pynvml.NVML_ERROR_NOT_SUPPORTED},
        answers={PROCESSES: ((os.getpid(), 12 * GIB),)},
    )
    assert read_once()[0].own_bytes == 12 * GIB


# States that come and go.


def test_before_and_after_torch_uses_a_gpu(driver) -> None:
    library = driver(gpus=(A, B))
    torch = stand_in_torch(*UUIDS, started=False)
    with GpuReadings(torch=torch) as readings:
        assert [reason(each) for each in readings.read()] == [UNUSED, UNUSED]
        readings.read()
        assert (library.calls, torch.state.counted) == ([], 1)
        torch.state.started = True
        assert readings.read()[0] == HEALTHY
        assert len(readings.read()) == 2
    assert library.calls.count("nvmlInitWithFlags") == library.calls.count("nvmlShutdown") == 1


def test_a_gpu_that_torch_found_only_when_it_started(driver) -> None:
    driver(gpus=(A, B))
    torch = stand_in_torch(*UUIDS, started=False)
    torch.state.count = 0
    torch.version.cuda = None  # a build for the CPU, until the test changes its mind
    with GpuReadings(torch=torch) as readings:
        assert "built for CPU only" in reason(*readings.read())
        torch.state.started, torch.state.count, torch.version.cuda = True, 2, "13.0"
        assert len(readings.read()) == 2


def test_a_gpu_lost_in_mid_run_and_back(driver) -> None:
    library = driver(gpus=(A, B))
    with GpuReadings(torch=stand_in_torch(*UUIDS)) as readings:
        healthy = readings.read()
        for question in (*QUESTIONS, "nvmlDeviceGetHandleByUUID"):
            library.refusals[(question, 0)] = pynvml.NVML_ERROR_GPU_IS_LOST
        for _ in range(3):
            lost, other = readings.read()
            assert set(unlike(lost).values()) == {LOST}
            assert other == healthy[1]
        library.refusals.clear()
        library.gpus = (B, A)  # its handle may be another
        library.answers[("nvmlDeviceGetMemoryInfo", 1)] = (1, 8 * GIB)
        assert readings.read()[0].memory_bytes == 1
    assert library.calls.count("nvmlInitWithFlags") == library.calls.count("nvmlShutdown") == 1


def test_a_lost_gpu_cannot_be_let_go_of(driver) -> None:
    driver(gpus=(A,), refusals={"nvmlShutdown": pynvml.NVML_ERROR_GPU_IS_LOST})
    assert read_once() == (HEALTHY,)


@pytest.mark.parametrize("found_at", ["nvmlDeviceGetUtilizationRates", "nvmlDeviceGetHandleByUUID"])
def test_other_code_that_lets_go_of_the_driver_for_us(driver, found_at) -> None:
    library = driver(gpus=(A, B))
    with GpuReadings(torch=stand_in_torch(*UUIDS)) as readings:
        if found_at in QUESTIONS:
            readings.read()
        library.refusals[found_at] = pynvml.NVML_ERROR_UNINITIALIZED
        first, second = readings.read()
        assert (first.busy_share.reason, reason(second)) == (LET_GO, LET_GO)
        library.refusals.clear()
        library.gpus = (B, A)  # the handles of the first start are no good
        assert [each.memory_total_bytes for each in readings.read()] == [8 * GIB, 80 * GIB]
    # One of the two starts was ended by the other code.
    assert library.calls.count("nvmlInitWithFlags") == 2
    assert library.calls.count("nvmlShutdown") == 1


def test_one_question_works_again(driver) -> None:
    library = driver(gpus=(A,))
    with GpuReadings(torch=stand_in_torch(UUIDS[0])) as readings:
        for code, words in [(3, UNSUPPORTED), (0, None), (4, DRIVER_STATES[4]), (0, None)]:
            library.refusals["nvmlDeviceGetPowerUsage"] = code
            expected = {"power_w": words} if words else {}
            assert unlike(*readings.read()) == expected


# torch without a GPU, without CUDA, or not there.


def test_torch_without_a_gpu(no_driver_library) -> None:
    torch = stand_in_torch(started=False)
    assert reason(*read_once(torch)) == f"this torch is built for CUDA 13.0, and {NO_DRIVER}"


def test_an_apple_gpu(driver) -> None:
    torch = stand_in_torch(started=False, cuda=None, mps=True)
    assert reason(*read_once(torch)) == (
        "torch runs on an Apple GPU here, and only the NVIDIA driver is asked for GPU readings"
    )


def test_an_amd_gpu(driver) -> None:
    library = driver(gpus=(A,))
    torch = stand_in_torch(UUIDS[0], cuda=None, hip="7.0")
    assert reason(*read_once(torch)) == (
        "torch runs on ROCm 7.0 here, and only the NVIDIA driver is asked for GPU readings"
    )
    assert library.calls == []


@pytest.mark.parametrize("there", [None, types.ModuleType("torch")], ids=["not", "half"])
def test_torch_is_not_imported_for_a_reading(driver, monkeypatch, there) -> None:
    library = driver(gpus=(A,))
    if there:  # another thread is importing it
        monkeypatch.setitem(sys.modules, "torch", there)
    else:
        monkeypatch.delitem(sys.modules, "torch", raising=False)
    with GpuReadings() as readings:
        assert reason(*readings.read()) == UNUSED
        assert library.calls == []
        monkeypatch.setitem(sys.modules, "torch", stand_in_torch(UUIDS[0]))
        assert readings.read() == (HEALTHY,)


def test_reading_loads_neither_torch_nor_starts_cuda() -> None:
    code = (
        "import sys\n"
        "from gpuutil_helpers.instruments.gpu_readings import GpuReadings\n"
        "with GpuReadings() as readings:\n"
        "    readings.read()\n"
        "    assert 'torch' not in sys.modules\n"
        "    import torch\n"
        "    readings.read()\n"
        "assert not torch.cuda.is_initialized()\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", code], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


# Cost, life and death.


def test_a_reading_asks_little(driver) -> None:
    library = driver(gpus=(A,))
    with GpuReadings(torch=stand_in_torch(UUIDS[0])) as readings:
        readings.read()
        library.calls.clear()
        readings.read()
    # The list of processes takes two calls: how many there are, then which.
    expected = [*QUESTIONS, PROCESSES, "nvmlShutdown"]
    assert sorted(library.calls) == sorted(expected)


def test_opening_takes_the_slow_start(driver) -> None:
    library = driver(gpus=(A,))
    with GpuReadings(torch=stand_in_torch(UUIDS[0])):
        assert library.calls == ["nvmlInitWithFlags"]


@pytest.mark.parametrize("question", ["nvmlDeviceGetUtilizationRates", "nvmlInitWithFlags"])
def test_a_slow_call_is_waited_for(driver, question) -> None:
    driver(gpus=(A,), slow={question: 0.3})
    began = time.monotonic()
    assert read_once() == (HEALTHY,)
    assert time.monotonic() - began >= 0.29


def test_nothing_is_printed_logged_or_warned(driver, capfd, caplog) -> None:
    caplog.set_level(logging.DEBUG)
    driver(gpus=(A,), refusals=dict.fromkeys(QUESTIONS, pynvml.NVML_ERROR_UNKNOWN))
    with (
        warnings.catch_warnings(record=True) as caught,
        GpuReadings(torch=stand_in_torch(UUIDS[0])) as readings,
    ):
        warnings.simplefilter("always")
        for _ in range(3):
            readings.read()
    assert (caught, caplog.records, tuple(capfd.readouterr())) == ([], [], ("", ""))


def test_a_reading_leaves_the_filters_of_warnings_alone(driver, monkeypatch) -> None:
    """Changed in one thread, they may be put back wrongly in another."""
    driver(gpus=(A,))
    with GpuReadings(torch=stand_in_torch(UUIDS[0])) as readings:
        monkeypatch.setattr(warnings, "catch_warnings", lambda: pytest.fail("filters were changed"))
        assert readings.read() == (HEALTHY,)


def test_open_read_close_again(driver) -> None:
    library = driver(gpus=(A,))
    readings = GpuReadings(torch=stand_in_torch(UUIDS[0]))
    with pytest.raises(RuntimeError, match="not open"):
        readings.read()
    readings.close()  # nothing to let go of
    for times in (1, 2, 3):
        readings.open()
        with pytest.raises(RuntimeError, match="open already"):
            readings.open()
        assert readings.read() == (HEALTHY,)
        readings.close()
        readings.close()
        assert library.calls.count("nvmlInitWithFlags") == times
        assert library.calls.count("nvmlShutdown") == times
    with pytest.raises(RuntimeError, match="not open"):
        readings.read()


def test_an_exception_in_the_block_lets_go(driver) -> None:
    library = driver(gpus=(A,))
    with pytest.raises(KeyboardInterrupt), GpuReadings(torch=stand_in_torch(UUIDS[0])):
        raise KeyboardInterrupt
    assert library.calls == ["nvmlInitWithFlags", "nvmlShutdown"]


def test_an_open_that_fails_is_not_open(driver) -> None:
    library = driver(gpus=(A,))
    torch = stand_in_torch(UUIDS[0])
    torch.cuda.is_initialized = lambda: 1 / 0
    readings = GpuReadings(torch=torch)
    with pytest.raises(ZeroDivisionError):
        readings.open()
    torch.cuda.is_initialized = lambda: True
    with readings:
        assert readings.read() == (HEALTHY,)
    assert library.calls.count("nvmlInitWithFlags") == library.calls.count("nvmlShutdown") == 1


def test_in_a_forked_child_nothing_is_read_and_nothing_closed(driver, monkeypatch) -> None:
    library = driver(gpus=(A, B))
    readings = GpuReadings(torch=stand_in_torch(*UUIDS))
    readings.open()
    readings.read()
    parent = os.getpid()
    library.calls.clear()
    with monkeypatch.context() as child:
        child.setattr(os, "getpid", lambda: parent + 1)
        found = readings.read()
        assert len(found) == 2
        assert {reason(each) for each in found} == {
            "driver handles do not survive a fork, and this process was forked from the one that "
            "opened them; open them again here"
        }
        readings.close()
        assert library.calls == []
    assert readings.read()[0] == HEALTHY
    with monkeypatch.context() as child:
        child.setattr(os, "getpid", lambda: parent + 1)
        library.answers[PROCESSES] = ((parent + 1, 77),)
        readings.open()  # the child's own
        assert readings.read()[0].own_bytes == 77
        readings.close()
    assert library.calls.count("nvmlInitWithFlags") == library.calls.count("nvmlShutdown") == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_real_fork(driver) -> None:
    driver(gpus=(A,))
    with GpuReadings(torch=stand_in_torch(UUIDS[0])) as readings:
        readings.read()
        ours, childs = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python warns of forking beside threads
            child = os.fork()
        if child == 0:
            os.write(childs, reason(*readings.read()).encode())
            os._exit(0)
        os.close(childs)
        os.waitpid(child, 0)
        with os.fdopen(ours) as said:
            assert said.read().startswith("driver handles do not survive a fork")
        assert readings.read() == (HEALTHY,)
