"""What this machine is: its CPUs, memory and GPUs, and what torch can use of them.

A fact that cannot be had is `Unavailable` with its reason, never 0 and never left out, so the
table has the same rows with and without a GPU. Nothing here imports torch until a function needs
it: `describe_machine(torch_facts=False)` answers while torch would still be loading.
"""

from __future__ import annotations

import html
import operator
import os
import platform
import random
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from gpuutil_helpers.files import artifacts_dir
from gpuutil_helpers.instruments import accelerators
from gpuutil_helpers.instruments.cgroups import Cgroups, memory_limit
from gpuutil_helpers.instruments.cpus import cpu_limits, cpu_name, usable_cpus
from gpuutil_helpers.instruments.nvidia import Driver, ask_driver
from gpuutil_helpers.instruments.unavailable import Unavailable

if TYPE_CHECKING:
    import torch

__all__ = [
    "Fact",
    "Machine",
    "describe_machine",
    "describe_torch",
    "pick_device",
    "seed_everything",
    "set_threads",
    "usable_cpus",
]

GIB = 2**30
NAME_WIDTH = 20
LARGEST_SEED = 2**32 - 1  # NumPy's limit; torch alone would take more
LARGEST_THREADS = 1024


@dataclass(frozen=True)
class Fact:
    """One line of the table. `note` says what the value alone does not."""

    name: str
    value: str | int | float | Unavailable
    unit: str = ""
    note: str = ""

    def __str__(self) -> str:
        number = f"{self.value:.1f}" if isinstance(self.value, float) else str(self.value)
        if self.unit and not isinstance(self.value, Unavailable):
            number += f" {self.unit}"
        return f"{number} ({self.note})" if self.note else number


@dataclass(frozen=True, repr=False)
class Machine:
    """Facts in reading order. Shown as a table; `machine["CPUs, usable"]` gives one value."""

    facts: tuple[Fact, ...]

    def __getitem__(self, name: str) -> str | int | float | Unavailable:
        for fact in self.facts:
            if fact.name == name:
                return fact.value
        known = ", ".join(repr(fact.name) for fact in self.facts)
        raise KeyError(f"There is no fact named {name!r}. Ask for one of {known}.")

    def __str__(self) -> str:
        return "\n".join(f"{fact.name:<{NAME_WIDTH}}  {fact}" for fact in self.facts)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = (
            f"<tr><th style='text-align:left'>{html.escape(fact.name)}</th>"
            f"<td style='text-align:left'>{html.escape(str(fact))}</td></tr>"
            for fact in self.facts
        )
        return f"<table>{''.join(rows)}</table>"


def describe_machine(torch_facts: bool = True) -> Machine:
    """This machine as a table. With `torch_facts=False` torch is neither needed nor loaded."""
    limits = cpu_limits()
    facts = (
        Fact("system", _system(), note=platform.machine()),
        Fact("container", _container()),
        Fact("Python", platform.python_version()),
        Fact("CPU", cpu_name()),
        Fact("CPUs, logical", limits.logical),
        Fact("CPUs, usable", limits.usable, note=limits.why),
        *_memory_facts(),
        _disk_fact(),
        *_driver_facts(ask_driver()),
    )
    return Machine(facts + describe_torch().facts) if torch_facts else Machine(facts)


def describe_torch() -> Machine:
    """What torch can use of this machine. Loads torch; a torch that fails to load is a fact too."""
    try:
        import torch

        version = torch.__version__
    except Exception as error:  # a broken installation fails in many ways; each is a fact
        said = accelerators.first_line(error)
        reason = f"torch could not be loaded ({said}); install it again as the README says"
        unknown = Unavailable("torch could not be loaded")
        names = ("torch, built for", "torch, CPU threads", "torch, device", "GPU 0, torch")
        rest = tuple(Fact(name, unknown) for name in names)
        return Machine((Fact("torch", Unavailable(reason)), *rest))
    devices = accelerators.offered_devices(torch)
    gpus = tuple(
        Fact(
            f"GPU {index}, torch",
            accelerators.gpu_name(torch, device),
            note=_gib(accelerators.gpu_memory(torch, device)),
        )
        for index, device in enumerate(devices[:-1])
    )
    if not gpus:
        gpus = (Fact("GPU 0, torch", Unavailable(accelerators.why_no_gpu(torch, ask_driver()))),)
    return Machine(
        (
            Fact("torch", version),
            Fact("torch, built for", accelerators.build(torch)),
            Fact("torch, CPU threads", torch.get_num_threads()),
            Fact("torch, device", devices[0], note="what pick_device() takes"),
            *gpus,
        )
    )


def pick_device(prefer: str | torch.device | None = None) -> torch.device:
    """The device to compute on: CUDA before Apple's MPS before the CPU, unless you prefer one.

    Raises:
        ValueError: when the preferred device does not exist here; the sentence lists what does.
    """
    import torch

    offered = accelerators.offered_devices(torch)
    kinds = [name.partition(":")[0] for name in offered]
    wanted = kinds[0] if prefer is None else str(prefer)
    if wanted in ("cpu:0", "mps:0"):  # as tensors report where they are; there is one of each
        wanted = wanted.removesuffix(":0")
    if wanted not in offered + kinds:
        raise ValueError(
            f"There is no device {wanted!r} here. Pass one of {', '.join(offered)}, "
            "or nothing for the first of them."
        )
    return torch.device(wanted)


def seed_everything(seed: int) -> None:
    """Start every random generator that training draws from at `seed`: Python, NumPy, torch.

    torch's own covers the CPU and every GPU, those that start later included. Equal seeds give
    equal bits on the same machine, versions and thread count, and on no other.

    Raises:
        TypeError, ValueError: for a seed that is not a whole number from 0 to 2**32 - 1.
    """
    number = _whole_number("seed", seed, 0, LARGEST_SEED)
    import numpy
    import torch

    random.seed(number)
    numpy.random.seed(number)  # the old global generator: libraries still draw from it
    torch.manual_seed(number)


def set_threads(n: int) -> None:
    """Let torch compute on `n` CPU threads. More than the usable CPUs is allowed, and slow.

    Raises:
        TypeError, ValueError: for `n` that is not a whole number from 1 on.
    """
    number = _whole_number("n", n, 1, LARGEST_THREADS)
    import torch

    torch.set_num_threads(number)


def _driver_facts(driver: Driver | Unavailable) -> tuple[Fact, ...]:
    if isinstance(driver, Unavailable):
        return Fact("NVIDIA driver", driver), Fact("GPU 0, driver", driver)
    cuda = driver.cuda if isinstance(driver.cuda, Unavailable) else "{}.{}".format(*driver.cuda)
    gpus = (
        Fact(f"GPU {index}, driver", gpu.name, note=_gib(gpu.memory))
        for index, gpu in enumerate(driver.gpus)
    )
    return Fact("NVIDIA driver", driver.version, note=f"newest CUDA it runs: {cuda}"), *gpus


def _gib(size: int | Unavailable) -> str:
    return f"memory {size}" if isinstance(size, Unavailable) else f"{size / GIB:.1f} GiB"


def _memory_facts() -> tuple[Fact, ...]:
    """Memory of the machine, what is free of it, and what a container may take of it."""
    names = ("memory", "memory, available", "memory, granted")
    try:
        memory = psutil.virtual_memory()
    except (OSError, RuntimeError, psutil.Error) as error:
        unknown = Unavailable(f"the system did not say ({accelerators.first_line(error)})")
        return tuple(Fact(name, unknown) for name in names)
    limit = memory_limit(Cgroups())
    granted = memory.total if limit is None else min(limit, memory.total)
    sizes = (memory.total, memory.available, granted)
    return tuple(Fact(name, size / GIB, "GiB") for name, size in zip(names, sizes, strict=True))


def _disk_fact() -> Fact:
    """Free space where the course writes, or in the nearest folder above it that exists."""
    folder = artifacts_dir()  # its path stays out of the table: notebooks keep what they show
    try:
        there = next(place for place in (folder, *folder.parents) if place.exists())
        free = shutil.disk_usage(there).free / GIB
    except (OSError, StopIteration) as error:
        free = Unavailable(f"the system did not say ({accelerators.first_line(error)})")
    return Fact("disk, free", free, "GiB", note="where the course writes")


def _system() -> str:
    """The operating system as its users call it."""
    if platform.system() == "Darwin":
        return f"macOS {platform.mac_ver()[0]}"
    if platform.system() != "Linux":
        return f"{platform.system()} {platform.release()}"
    try:
        name = platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        name = "Linux"
    return f"{name} in WSL" if "microsoft" in platform.release().lower() else name


def _container() -> str:
    """Containers leave signs; the absence of signs proves nothing, hence the wording."""
    if os.environ.get("KUBERNETES_SERVICE_HOST"):
        return "Kubernetes"
    signs = {"/.dockerenv": "Docker", "/run/.containerenv": "Podman"}
    return next((name for path, name in signs.items() if Path(path).exists()), "no sign of one")


def _whole_number(name: str, value: Any, least: int, most: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise TypeError(f"{name} must be a whole number and got {value!r}. Pass {least}, say.")
    if not least <= number <= most:
        raise ValueError(f"{name} must lie between {least} and {most} and got {number}.")
    return number
