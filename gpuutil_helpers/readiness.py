"""What must work before a lesson can run, as a table of OK and FAIL. `start.py` prints it.

It is run by its path with the environment's Python: `python -P gpuutil_helpers/readiness.py`.
Each row is printed as soon as it is known, so that a crash shows which check it was in.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FREE_GB = 1.0  # what the lessons write, with room to spare
AGAIN = "delete the folder .venv and run start.py again"


def check_python() -> str:
    """The version, and that it is the environment's own."""
    return f"{platform.python_version()} in {sys.prefix}"


def check_torch() -> str:
    """Import PyTorch and compute one gradient whose value is known.

    d/dW of sum(W @ W) for a 4 x 4 matrix of ones is 4 + 4 = 8 in every place.
    """
    import torch

    weight = torch.ones(4, 4, requires_grad=True)
    (weight @ weight).sum().backward()
    if weight.grad is None or float(weight.grad[0, 0]) != 8.0:
        raise ArithmeticError(f"a gradient of 8 was computed as {weight.grad}")
    return f"{torch.__version__}, one gradient computed"


def check_torchvision() -> str:
    """Import torchvision: it fails beside a PyTorch that it was not built for."""
    import torchvision

    return torchvision.__version__


def check_jupyterlab() -> str:
    """Find JupyterLab and the kernel that notebooks run in."""
    for name in ("jupyterlab", "ipykernel", "ipywidgets"):
        if importlib.util.find_spec(name) is None:
            raise ModuleNotFoundError(f"No module named {name!r}")
    return importlib.metadata.version("jupyterlab")


def check_package() -> str:
    """The course's own package, as notebooks import it, is the one in this folder."""
    import gpuutil_helpers

    found = Path(gpuutil_helpers.__file__).resolve().parents[1]
    if found != ROOT:
        raise ImportError(f"gpuutil_helpers is imported from {found}, not from {ROOT}")
    return f"gpuutil_helpers {importlib.metadata.version('gpuutil-helpers')} from this folder"


def check_disk() -> str:
    """Space for what the lessons write."""
    free = shutil.disk_usage(existing_artifacts()).free / 1e9
    if free < FREE_GB:
        raise OSError(f"{free:.1f} GB free, {FREE_GB:.0f} GB needed")
    return f"{free:.0f} GB free"


def check_artifacts() -> str:
    """A file can be written where the lessons write; nothing stays."""
    folder = existing_artifacts()
    with tempfile.TemporaryFile(dir=folder) as stream:
        stream.write(b"1")
    return f"can be written in {folder}"


def existing_artifacts() -> Path:
    """The artifacts folder, or the nearest folder above it that exists already."""
    from gpuutil_helpers.files import artifacts_dir

    wanted = artifacts_dir()
    return next(folder for folder in (wanted, *wanted.parents) if folder.is_dir())


def gpu() -> str:
    """What PyTorch finds besides the CPU, and why a GPU that is there stays unused."""
    import torch

    warnings.simplefilter("ignore")  # what is_available() warns of is said below
    if torch.cuda.is_available():
        return f"{torch.cuda.get_device_name(0)}, CUDA {torch.version.cuda}"
    if torch.backends.mps.is_available():
        return "Apple's, through MPS"
    if not nvidia_driver():
        return "none, and none is needed: every lesson runs on the CPU"
    if torch.version.cuda is None:
        return (
            "NVIDIA's driver is here, but this PyTorch was built without CUDA, so the GPU stays "
            "unused. pytorch.org/get-started/locally names the command for this machine; run it "
            f"as {sys.executable} -m pip install --force-reinstall ..."
        )
    return (
        "NVIDIA's driver is here, but PyTorch cannot use it: too old for CUDA "
        f"{torch.version.cuda}, or no GPU is visible (see CUDA_VISIBLE_DEVICES)."
    )


def nvidia_driver() -> bool:
    """Is NVIDIA's driver installed, on Linux, under WSL or on Windows?"""
    system = Path(os.environ.get("SYSTEMROOT", "C:/Windows")) / "System32/nvcuda.dll"
    places = (Path("/proc/driver/nvidia/version"), Path("/usr/lib/wsl/lib/libcuda.so.1"), system)
    return shutil.which("nvidia-smi") is not None or any(place.exists() for place in places)


CHECKS: tuple[tuple[str, Callable[[], str], str], ...] = (
    ("Python", check_python, AGAIN),
    ("PyTorch", check_torch, AGAIN),
    ("torchvision", check_torchvision, AGAIN),
    ("JupyterLab", check_jupyterlab, AGAIN),
    ("package", check_package, AGAIN),
    ("disk", check_disk, "free some space, or set GPUUTIL_ARTIFACTS to a folder on another disk"),
    ("artifacts", check_artifacts, "set GPUUTIL_ARTIFACTS to a folder that you may write"),
)


def main() -> int:
    """Print the rows; returns 1 when one of them failed, else 0. A GPU never decides."""
    failed = False
    for name, check, remedy in CHECKS:
        try:
            verdict, found = "OK", check()
        except Exception as error:
            reason = (str(error).strip().splitlines() or ["no reason given"])[0]
            verdict, found = "FAIL", f"{type(error).__name__}: {reason} -> {remedy}"
            failed = True
        print(f"{verdict:5} {name:12} {found}", flush=True)
    try:
        print(f"{'info':5} {'GPU':12} {gpu()}", flush=True)
    except Exception as error:
        print(f"{'info':5} {'GPU':12} unavailable, because {error}", flush=True)
    return int(failed)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
