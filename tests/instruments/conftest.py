"""Stand-ins for what a test machine lacks: a driver library, and a device that works on its own."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, field

import pynvml
import pytest


@dataclass
class StandInDriver:
    """Plays the loaded NVIDIA library under the real nvidia-ml-py bindings.

    `gpus` holds (name, uuid, total bytes) in the driver's order. `refusals` gives the return code
    of any function by its C name, or by its C name and the GPU's index.
    """

    gpus: tuple[tuple[str, str, int], ...] = (("NVIDIA Test 1", "GPU-aaaa", 8 * 2**30),)
    version: str = "580.95"
    cuda: int = 13010
    refusals: dict[str | tuple[str, int], int] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    calls: list[str] = field(default_factory=list)

    def __getattr__(self, name: str) -> Callable[..., object]:
        if not name.startswith("nvml") or name in self.missing:
            raise AttributeError(name)

        def function(*arguments: object) -> object:
            self.calls.append(name)
            index = _index_of(arguments[0]) if arguments else None
            code = self.refusals.get(name, self.refusals.get((name, index), 0))
            return code or self._succeed(name, index, arguments)

        return function

    def _succeed(self, name: str, index: int | None, arguments: tuple) -> object:
        gpu = None if index is None else self.gpus[index]
        if name == "nvmlErrorString":
            return b"words of the driver"
        if name == "nvmlDeviceGetCount_v2":
            arguments[0]._obj.value = len(self.gpus)
        elif name == "nvmlSystemGetCudaDriverVersion_v2":
            arguments[0]._obj.value = self.cuda
        elif name == "nvmlSystemGetDriverVersion":
            arguments[0].value = self.version.encode()
        elif name == "nvmlDeviceGetHandleByIndex_v2":
            address = ctypes.cast(ctypes.byref(arguments[1]._obj), ctypes.POINTER(ctypes.c_void_p))
            address[0] = arguments[0].value + 1  # a null pointer would be no handle
        elif name == "nvmlDeviceGetName":
            arguments[1].value = gpu[0].encode()
        elif name == "nvmlDeviceGetUUID":
            arguments[1].value = gpu[1].encode()
        elif name == "nvmlDeviceGetMemoryInfo":
            arguments[1]._obj.total = gpu[2]
        elif name not in ("nvmlInitWithFlags", "nvmlShutdown"):
            raise AssertionError(f"the stand-in has no {name}")
        return 0


def _index_of(argument: object) -> int | None:
    """The GPU whose handle `argument` is; None for anything but a handle."""
    if not isinstance(argument, pynvml.c_nvmlDevice_t):
        return None
    return ctypes.cast(argument, ctypes.c_void_p).value - 1


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Callable[..., StandInDriver]:
    """A function that loads a stand-in driver with the given traits, and forgets the last one."""

    def load(**traits: object) -> StandInDriver:
        library = StandInDriver(**traits)
        monkeypatch.setattr(pynvml, "nvmlLib", library)
        pynvml._nvmlGetFunctionPointer_cache.clear()
        return library

    yield load
    pynvml._nvmlGetFunctionPointer_cache.clear()


@pytest.fixture
def no_driver_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which the driver's library cannot be loaded."""

    def refuse(path: str) -> None:
        raise OSError(f"{path}: cannot open shared object file")

    monkeypatch.setattr(pynvml, "nvmlLib", None)
    monkeypatch.setattr(pynvml, "CDLL", refuse)
    pynvml._nvmlGetFunctionPointer_cache.clear()


class PretendedDevice:
    """A clock, a host and a device that works on its own, all in exact binary fractions.

    `launch` costs the host LAUNCH_S and queues work; `synchronize` waits for all of it.
    """

    LAUNCH_S = 1 / 1024

    def __init__(self) -> None:
        self.now = 0.0
        self.idle_from = 0.0
        self.log: list[str] = []

    def clock(self) -> float:
        self.log.append("clock")
        return self.now

    def synchronize(self) -> None:
        self.log.append("synchronize")
        self.now = max(self.now, self.idle_from)

    def launch(self, seconds: float, word: str = "run") -> None:
        self.log.append(word)
        self.now += self.LAUNCH_S
        self.idle_from = max(self.now, self.idle_from) + seconds


@pytest.fixture
def device() -> PretendedDevice:
    return PretendedDevice()
