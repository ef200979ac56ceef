"""What the NVIDIA driver says of its GPUs, through the package nvidia-ml-py, without torch.

Library missing, driver not loaded, versions that do not match, no permission and a lost GPU are
different states of a machine. Each has its own sentence here, and none is an exception.
"""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from gpuutil_helpers.instruments.unavailable import Unavailable


@dataclass(frozen=True)
class Gpu:
    """One GPU, in the driver's own order, which need not be torch's. `memory` is in bytes."""

    name: str | Unavailable
    uuid: str | Unavailable
    memory: int | Unavailable


@dataclass(frozen=True)
class Driver:
    """The driver's version, the newest CUDA version it runs, (13, 0) for 13.0, and its GPUs."""

    version: str | Unavailable
    cuda: tuple[int, int] | Unavailable
    gpus: tuple[Gpu, ...]


def ask_driver() -> Driver | Unavailable:
    """Ask once and let go of the driver again. Prints nothing and raises nothing of its own."""
    nvml = bindings()
    if isinstance(nvml, Unavailable):
        return nvml
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        return Unavailable(explain(error))
    try:
        return _read(nvml)
    finally:
        with contextlib.suppress(nvml.NVMLError):  # a lost GPU cannot be let go of either
            nvml.nvmlShutdown()


def bindings() -> ModuleType | Unavailable:
    """The module `pynvml` of the package nvidia-ml-py, which calls the driver's own library."""
    if sys.modules.get("pynvml"):
        return sys.modules["pynvml"]  # warnings' filters are not to be changed in a thread
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an outdated distribution of this name warns
            import pynvml
    except ImportError:
        return Unavailable("the Python package nvidia-ml-py is not installed")
    return pynvml


def explain(error: Any) -> str:
    """Why the driver refused, as the rest of a sentence. `error` is a `pynvml.NVMLError`."""
    import pynvml as nvml

    sentences = {
        nvml.NVML_ERROR_LIBRARY_NOT_FOUND: "there is no NVIDIA driver library on this machine",
        nvml.NVML_ERROR_DRIVER_NOT_LOADED: "the NVIDIA driver is installed but not loaded",
        nvml.NVML_ERROR_NO_PERMISSION: "this user may not ask the NVIDIA driver",
        nvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH: (
            "the loaded NVIDIA driver and its library have different versions; restart the machine"
        ),
        nvml.NVML_ERROR_UNINITIALIZED: "other code in this process let go of the NVIDIA driver",
        nvml.NVML_ERROR_GPU_IS_LOST: "the GPU no longer answers; restart the machine",
        nvml.NVML_ERROR_NOT_SUPPORTED: "this GPU or its driver does not give this reading",
        nvml.NVML_ERROR_FUNCTION_NOT_FOUND: "this NVIDIA driver is too old to give this reading",
    }
    return sentences.get(error.value, f"the NVIDIA driver answered: {error}")


def _read(nvml: Any) -> Driver | Unavailable:
    count = _ask(nvml, nvml.nvmlDeviceGetCount)
    if isinstance(count, Unavailable):
        return count
    if count == 0:
        return Unavailable("the NVIDIA driver is loaded and finds no GPU")
    cuda = _ask(nvml, nvml.nvmlSystemGetCudaDriverVersion_v2)
    if not isinstance(cuda, Unavailable):
        cuda = (cuda // 1000, cuda % 1000 // 10)  # 13010 stands for 13.1
    version = _ask(nvml, nvml.nvmlSystemGetDriverVersion)
    return Driver(version, cuda, tuple(_gpu(nvml, index) for index in range(count)))


def _gpu(nvml: Any, index: int) -> Gpu:
    handle = _ask(nvml, nvml.nvmlDeviceGetHandleByIndex, index)
    if isinstance(handle, Unavailable):
        return Gpu(handle, handle, handle)
    memory = _ask(nvml, lambda: nvml.nvmlDeviceGetMemoryInfo(handle).total)
    if memory == 0:  # success that lies: no GPU has none
        memory = Unavailable("the driver reports a total of 0 bytes")
    return Gpu(
        _ask(nvml, nvml.nvmlDeviceGetName, handle),
        _ask(nvml, nvml.nvmlDeviceGetUUID, handle),
        memory,
    )


def _ask(nvml: Any, question: Callable[..., Any], *about: Any) -> Any:
    """The answer, or why there is none: each reading carries its own state."""
    try:
        return question(*about)
    except nvml.NVMLError as error:
        return Unavailable(explain(error))
