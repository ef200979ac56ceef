"""Which devices torch can use here, and why not, where it cannot.

Every function takes the torch module, so that this one is imported without it.
"""

from __future__ import annotations

import os
import platform
import warnings
from types import ModuleType

from gpuutil_helpers.instruments.nvidia import Driver
from gpuutil_helpers.instruments.unavailable import Unavailable


def offered_devices(torch: ModuleType) -> list[str]:
    """Names of the devices that can be used here, the fastest kind first, "cpu" always last."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `why_no_gpu` says it in one sentence
        cuda = torch.cuda.device_count() if torch.cuda.is_available() else 0
    mps = ["mps"] if torch.backends.mps.is_available() else []
    return [f"cuda:{index}" for index in range(cuda)] + mps + ["cpu"]


def build(torch: ModuleType) -> str:
    """What this build of torch was made for: "CUDA 13.0", "ROCm 7.0" or "CPU only"."""
    if torch.version.cuda:
        return f"CUDA {torch.version.cuda}"
    if getattr(torch.version, "hip", None):
        return f"ROCm {torch.version.hip}"
    return "CPU and Apple GPU" if torch.backends.mps.is_built() else "CPU only"


def gpu_memory(torch: ModuleType, device: str) -> int | Unavailable:
    """Memory of `device` in bytes, as torch sees it."""
    if device == "mps":
        return Unavailable("an Apple GPU shares the memory of the machine")
    try:
        return torch.cuda.get_device_properties(device).total_memory
    except RuntimeError as error:
        return Unavailable(f"torch could not ask {device} ({first_line(error)})")


def gpu_name(torch: ModuleType, device: str) -> str | Unavailable:
    """The name of `device`, as torch sees it."""
    if device == "mps":
        return "Apple GPU"
    try:
        return torch.cuda.get_device_name(device)
    except RuntimeError as error:
        return Unavailable(f"torch could not ask {device} ({first_line(error)})")


def why_no_gpu(torch: ModuleType, driver: Driver | Unavailable) -> str:
    """Why torch offers no GPU, as the rest of a sentence: the build, the driver or a setting."""
    made_for = build(torch)
    if platform.system() == "Darwin":
        return "torch finds no Apple GPU that it can use"
    if made_for.startswith("ROCm"):
        return f"this torch is built for {made_for} and finds no AMD GPU"
    if isinstance(driver, Unavailable):
        return f"this torch is built for {made_for}, and {driver.reason}"
    if not torch.version.cuda:
        return (
            f"this torch is built for {made_for}, although the driver shows {_names(driver)}; "
            "install a CUDA build of torch: see the README, A GPU that is not used"
        )
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        return f"CUDA_VISIBLE_DEVICES is {visible!r}, which leaves no GPU in sight; unset it"
    if not isinstance(driver.cuda, Unavailable):
        newest = f"{driver.cuda[0]}.{driver.cuda[1]}"
        if driver.cuda[0] < int(torch.version.cuda.split(".")[0]):
            return (
                f"this torch is built for {made_for} and the NVIDIA driver runs CUDA up to "
                f"{newest}; update the driver"
            )
    try:
        torch.cuda.init()
    except (RuntimeError, AssertionError) as error:
        return f"torch could not start CUDA ({first_line(error)})"
    return "torch started CUDA and found no GPU that it can use"


def first_line(error: BaseException) -> str:
    """The kind of `error` and the first line of what it says."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0].strip()}" if lines else type(error).__name__


def _names(driver: Driver) -> str:
    return " and ".join(str(gpu.name) for gpu in driver.gpus)
