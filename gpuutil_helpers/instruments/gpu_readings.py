"""What the NVIDIA driver says, again and again, of the GPUs that torch uses.

Asking costs torch nothing: CUDA is not started for it, and torch is not imported for it. A state
may come and go (torch starts to use a GPU, a GPU is lost), so every reading carries its own.
The fields are explained in the table of `gpu_figures`; `gpu_identity` finds torch's GPU.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

from gpuutil_helpers.instruments.accelerators import build, first_line, why_no_gpu
from gpuutil_helpers.instruments.gpu_figures import (
    GpuReading,
    Questions,
    no_reading,
    read_figures,
)
from gpuutil_helpers.instruments.gpu_identity import Card, find_card
from gpuutil_helpers.instruments.nvidia import ask_driver, bindings, explain
from gpuutil_helpers.instruments.unavailable import Unavailable

__all__ = ["GpuReading", "GpuReadings"]

UNUSED = Unavailable("torch has not used a GPU in this process yet")
FORKED = Unavailable(
    "driver handles do not survive a fork, and this process was forked from the one that opened "
    "them; open them again here"
)
LET_GO = Unavailable("other code in this process let go of the NVIDIA driver")
PATIENCE_S = 1.0  # between two tries to start a driver that would not: each may be slow


class GpuReadings:
    """Readings of torch's GPUs, in torch's order: open, read as often as needed, close.

    A context manager, too. One thread at a time may read. What the driver refuses is a field of
    the reading, never an exception.

    Args:
        torch: stands in for the torch module, for tests.
        clock: gives seconds, for tests.
    """

    def __init__(self, *, torch: Any = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stand_in = torch
        self._clock = clock
        self._process: int | None = None
        self._forget()

    def open(self) -> None:
        """Get ready, so that the first reading is as quick as the others where that can be.

        Raises:
            RuntimeError: these readings are open already.
        """
        if self._process == os.getpid():
            raise RuntimeError(
                "These GPU readings are open already. Close them first, or use another GpuReadings."
            )
        self._forget()
        torch = self._torch()
        if torch is not None and not torch.cuda.is_initialized():
            self._before_use(torch)
        elif torch is not None and torch.version.cuda:
            self._connect()
        self._process = os.getpid()

    def read(self) -> tuple[GpuReading, ...]:
        """One reading for each GPU of torch, at least one, where there is none as well.

        Raises:
            RuntimeError: these readings are not open.
        """
        if self._process is None:
            raise RuntimeError("These GPU readings are not open. Call open() first.")
        if self._process != os.getpid():
            return (no_reading(FORKED),) * self._count
        torch = self._torch()
        if torch is None:
            return (no_reading(UNUSED),)
        if not torch.cuda.is_initialized():
            why_not = self._before_use(torch)
            return (no_reading(why_not),) * self._count
        self._count = max(1, torch.cuda.device_count())
        why_not = self._connect() if torch.version.cuda else _not_nvidia(build(torch))
        if why_not is not None:
            return (no_reading(why_not),) * self._count
        return tuple(self._read_gpu(torch, index) for index in range(self._count))

    def close(self) -> None:
        """Let go of the driver. Does nothing in a forked child, where nothing was opened."""
        if self._process != os.getpid():
            return
        if self._nvml is not None:
            with contextlib.suppress(self._nvml.NVMLError):  # a lost GPU cannot be let go of
                self._nvml.nvmlShutdown()
        self._process = None

    def __enter__(self) -> GpuReadings:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _forget(self) -> None:
        """As if nothing had been asked yet."""
        self._nvml: Any = None
        self._cards: dict[int, Card] = {}
        self._count = 1
        self._no_driver: tuple[float, Unavailable] | None = None
        self._unused: Unavailable | None = None

    def _torch(self) -> Any:
        """The torch module if this process has all of it; another thread may be importing it."""
        torch = self._stand_in or sys.modules.get("torch")
        ready = hasattr(getattr(torch, "cuda", None), "device_count") and hasattr(
            getattr(torch, "backends", None), "mps"
        )
        return torch if ready else None

    def _before_use(self, torch: Any) -> Unavailable:
        """Why there is no reading while torch has not started CUDA. Counts torch's GPUs, once.

        Whether torch has started CUDA is asked at every reading, and the count with it, so that
        an answer given too early does not stay.
        """
        if self._unused is None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the reason says it in one sentence
                found = torch.cuda.device_count()  # unlike is_available, tries not to start CUDA
                self._count = max(1, found)
                if found:
                    self._unused = UNUSED
                elif torch.backends.mps.is_available():
                    self._unused = _not_nvidia("an Apple GPU")
                else:
                    self._unused = Unavailable(why_no_gpu(torch, ask_driver()))
        return self._unused

    def _connect(self) -> Unavailable | None:
        """Start the driver's interface unless it runs; why it does not, if it does not."""
        if self._nvml is not None:
            return None
        if self._no_driver is not None and self._clock() - self._no_driver[0] < PATIENCE_S:
            return self._no_driver[1]
        nvml = bindings()
        why: Unavailable | None = nvml if isinstance(nvml, Unavailable) else None
        if why is None:
            try:
                nvml.nvmlInit()
                self._nvml = nvml
            except nvml.NVMLError as error:
                why = Unavailable(explain(error))
        self._no_driver = None if why is None else (self._clock(), why)
        return why

    def _read_gpu(self, torch: Any, index: int) -> GpuReading:
        nvml = self._nvml
        if nvml is None:  # found so at the GPU before this one
            return no_reading(LET_GO)
        refusals: list[int] = []
        card = self._cards.get(index) or self._find(torch, index, refusals)
        if isinstance(card, Unavailable):
            reading = no_reading(card)
        else:
            self._cards[index] = card
            reading = read_figures(Questions(nvml, card, refusals), os.getpid())
        if nvml.NVML_ERROR_GPU_IS_LOST in refusals:
            self._cards.pop(index, None)  # should it come back, its handle may be another
        if nvml.NVML_ERROR_UNINITIALIZED in refusals:
            # Other code called nvmlShutdown once too often, and so in our place.
            self._nvml, self._cards = None, {}
        return reading

    def _find(self, torch: Any, index: int, refusals: list[int]) -> Card | Unavailable:
        try:
            properties = torch.cuda.get_device_properties(index)
        except (RuntimeError, AssertionError) as error:
            return Unavailable(f"torch could not ask cuda:{index} ({first_line(error)})")
        return find_card(self._nvml, properties, refusals)


def _not_nvidia(made_for: str) -> Unavailable:
    return Unavailable(
        f"torch runs on {made_for} here, and only the NVIDIA driver is asked for GPU readings"
    )
