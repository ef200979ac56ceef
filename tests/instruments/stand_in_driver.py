"""Plays the loaded NVIDIA library under the real nvidia-ml-py bindings, without a compiler.

Each state that a test wants is data: which functions are missing, refuse, answer otherwise, or
take long. What is not set answers as a healthy GPU does.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import pynvml

GIB = 2**30
PROCESSES = "nvmlDeviceGetComputeRunningProcesses_v3"
OLDER_PROCESSES = "nvmlDeviceGetComputeRunningProcesses_v2"
NUMBERS = {  # functions that write one number, and a healthy GPU's
    "nvmlDeviceGetPowerUsage": 250_000,
    "nvmlDeviceGetClockInfo": 1980,
    "nvmlDeviceGetCurrentClocksEventReasons": 0,
    "nvmlDeviceGetCurrentClocksThrottleReasons": 0,
    "nvmlDeviceGetMigMode": 0,
}
NAMES = {"nvmlDeviceGetHandleByUUID": "uuids", "nvmlDeviceGetHandleByPciBusId_v2": "addresses"}


@dataclass
class StandInDriver:
    """One machine's driver.

    Attributes:
        gpus: (name, UUID, total bytes) in the driver's order; a MIG slice is one, too.
        addresses: their PCI addresses.
        refusals: the return code of a function, by its C name, or by that and the GPU's index.
        answers: what it answers, keyed likewise: a number, (used, total) bytes of memory, or
            (process, bytes) for each process.
        missing: C names that the library lacks.
        slow: seconds that a function takes.
        calls: the C names called so far.
    """

    gpus: tuple[tuple[str, str, int], ...] = (("NVIDIA Test 1", "GPU-aaaa", 8 * GIB),)
    addresses: tuple[str, ...] = ()
    version: str = "580.95"
    cuda: int = 13010
    refusals: dict[str | tuple[str, int], int] = field(default_factory=dict)
    answers: dict[str | tuple[str, int], object] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    slow: dict[str, float] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)

    def __getattr__(self, name: str) -> Callable[..., object]:
        if not name.startswith("nvml") or name in self.missing:
            raise AttributeError(name)

        def function(*arguments: object) -> object:
            self.calls.append(name)
            time.sleep(self.slow.get(name, 0))
            index = index_of(arguments[0]) if arguments else None
            code = self.refusals.get(name, self.refusals.get((name, index), 0))
            return code or self._succeed(name, index, arguments)

        return function

    def _succeed(self, name: str, index: int | None, arguments: tuple) -> object:
        if name == "nvmlErrorString":
            return b"words of the driver"
        if name in NAMES:
            return self._handle_by_name(name, *arguments)
        gpu = None if index is None else self.gpus[index]
        answer = self.answers.get((name, index), self.answers.get(name))
        if name == "nvmlDeviceGetCount_v2":
            arguments[0]._obj.value = len(self.gpus)
        elif name == "nvmlSystemGetCudaDriverVersion_v2":
            arguments[0]._obj.value = self.cuda
        elif name == "nvmlSystemGetDriverVersion":
            arguments[0].value = self.version.encode()
        elif name == "nvmlDeviceGetHandleByIndex_v2":
            _write_handle(arguments[1], arguments[0].value)
        elif name == "nvmlDeviceGetName":
            arguments[1].value = gpu[0].encode()
        elif name == "nvmlDeviceGetUUID":
            arguments[1].value = gpu[1].encode()
        elif name == "nvmlDeviceGetMemoryInfo":
            memory = arguments[1]._obj
            memory.used, memory.total = answer or (min(3 * GIB, gpu[2]), gpu[2])
        elif name == "nvmlDeviceGetUtilizationRates":
            arguments[1]._obj.gpu = 42 if answer is None else answer
        elif name in (PROCESSES, OLDER_PROCESSES):
            listed = ((os.getpid(), GIB),) if answer is None else answer
            return _write_processes(listed, *arguments[1:])
        elif name in NUMBERS:
            target = arguments[2 if name == "nvmlDeviceGetClockInfo" else 1]
            target._obj.value = NUMBERS[name] if answer is None else answer
            if name == "nvmlDeviceGetClockInfo":  # the memory's clock, say, is another
                target._obj.value += arguments[1].value - pynvml.NVML_CLOCK_SM
        elif name not in ("nvmlInitWithFlags", "nvmlShutdown"):
            raise AssertionError(f"the stand-in has no {name}")
        return 0

    def _handle_by_name(self, name: str, asked: object, target: object) -> int:
        known = [gpu[1] for gpu in self.gpus] if NAMES[name] == "uuids" else list(self.addresses)
        text = asked.value.decode()
        if text not in known:
            return pynvml.NVML_ERROR_NOT_FOUND
        index = known.index(text)
        refused = self.refusals.get((name, index), 0)
        if not refused:
            _write_handle(target, index)
        return refused


def _write_handle(target: object, index: int) -> None:
    address = ctypes.cast(ctypes.byref(target._obj), ctypes.POINTER(ctypes.c_void_p))
    address[0] = index + 1  # a null pointer would be no handle


def _write_processes(listed: tuple, count: object, places: object) -> int:
    """As the library does: first asked how many there are, then for them."""
    if places is None:
        count._obj.value = len(listed)
        return pynvml.NVML_ERROR_INSUFFICIENT_SIZE if listed else 0
    count._obj.value = len(listed)
    for place, (process, used) in zip(places, listed, strict=False):
        place.pid, place.usedGpuMemory = process, used
    return 0


def index_of(argument: object) -> int | None:
    """The GPU whose handle `argument` is; None for anything but a handle."""
    if not isinstance(argument, pynvml.c_nvmlDevice_t):
        return None
    return ctypes.cast(argument, ctypes.c_void_p).value - 1
