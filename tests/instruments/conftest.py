"""Stand-ins for what a test machine lacks: a driver library and an asynchronous device."""

from __future__ import annotations

from collections.abc import Callable

import pynvml
import pytest

from gpuutil_helpers.instruments.pretended_device import PretendedDevice
from tests.instruments.stand_in_driver import StandInDriver


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


@pytest.fixture
def device() -> PretendedDevice:
    return PretendedDevice()
