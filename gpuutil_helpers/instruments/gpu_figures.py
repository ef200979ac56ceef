"""The figures that the NVIDIA driver gives of one GPU, each asked for and judged by itself.

What each is, by the NVML API reference (nvmlUtilization_t, nvmlMemory_t, nvmlProcessInfo_t,
nvmlDeviceGetPowerUsage, nvmlClockType_t, nvmlClocksEventReasons):

| field              | unit  | what it is, and what it is not                                     |
|--------------------|-------|--------------------------------------------------------------------|
| busy_share         | 0..1  | share of the driver's last sample period, 1/6 s to 1 s long, in    |
|                    |       | which at least one kernel was running, in steps of 0.01; not work  |
|                    |       | done: one busy thread counts as much as a full GPU                 |
| memory_bytes       | byte  | in use on the whole GPU, by every process and by the driver        |
| memory_total_bytes | byte  | on the whole GPU, or on the MIG slice that torch has               |
| own_bytes          | byte  | this process's: torch's reserved memory, the CUDA context and      |
|                    |       | libraries; found by the process number                             |
| power_w            | W     | the whole board; a mean over 1 s on Ampere (except GA100) and      |
|                    |       | newer, of the moment before; within 5 % either way                 |
| sm_clock_hz        | Hz    | the clock of the multiprocessors now, in steps of 1 MHz            |
| throttle           | text  | why the clocks are lower than they could be, several joined by     |
|                    |       | ", "; "none" if nothing holds them down, "idle" if nothing runs    |

A driver may answer "success" and give a value that cannot be. Such a value is refused and named.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from gpuutil_helpers.instruments.gpu_identity import Card
from gpuutil_helpers.instruments.nvidia import explain
from gpuutil_helpers.instruments.unavailable import Unavailable

MOST_BYTES = 2**48  # 256 TiB on one GPU
MOST_WATTS = 5_000
MOST_MEGAHERTZ = 10_000

# The bits of nvmlClocksEventReasons.
THROTTLE = {
    0x001: "idle",
    0x002: "application clocks",
    0x004: "power cap",
    0x008: "hardware slowdown",
    0x010: "sync boost",
    0x020: "thermal",
    0x040: "hardware thermal",
    0x080: "power brake",
    0x100: "display clocks",
    0x200: "board limit",
    0x400: "reliability",
}


@dataclass(frozen=True)
class GpuReading:
    """One GPU at one moment: the module's table says what each figure is."""

    busy_share: float | Unavailable
    memory_bytes: int | Unavailable
    memory_total_bytes: int | Unavailable
    own_bytes: int | Unavailable
    power_w: float | Unavailable
    sm_clock_hz: float | Unavailable
    throttle: str | Unavailable


def no_reading(why: Unavailable) -> GpuReading:
    """A reading of which no field could be had, all for one reason."""
    return GpuReading(**{each.name: why for each in fields(GpuReading)})


@dataclass
class Questions:
    """Asks the driver about one card.

    Attributes:
        refusals: the driver's code of each refusal in this reading, the last one last.
    """

    nvml: Any
    card: Card
    refusals: list[int] = field(default_factory=list)

    def ask(self, question: Any, *about: Any) -> Any:
        """The answer, or why there is none."""
        nvml = self.nvml
        try:
            return question(self.card.handle, *about)
        except nvml.NVMLError as error:
            self.refusals.append(error.value)
            unfit = (nvml.NVML_ERROR_NOT_SUPPORTED, nvml.NVML_ERROR_INVALID_ARGUMENT)
            if (self.card.is_slice or self.card.is_split) and error.value in unfit:
                return Unavailable(
                    "torch's GPU is a MIG slice, for which the driver does not give this reading"
                )
            return Unavailable(explain(error))

    def ask_newest(self, *names: str) -> Any:
        """The answer to the first of these questions that both bindings and driver know.

        Their versions are named one by one: asked without one, the bindings raise an exception of
        another kind when the driver is older than they are.
        """
        answer: Any = Unavailable("the package nvidia-ml-py here cannot ask for this reading")
        for name in names:
            if hasattr(self.nvml, name):
                answer = self.ask(getattr(self.nvml, name))
                unknown = self.nvml.NVML_ERROR_FUNCTION_NOT_FOUND
                if not isinstance(answer, Unavailable) or self.refusals[-1] != unknown:
                    return answer
        return answer


def read_figures(questions: Questions, process: int) -> GpuReading:
    """Ask for every figure once. `process` is the number of the process whose memory counts."""
    used, total = _memory(questions)
    return GpuReading(
        busy_share=_busy_share(questions),
        memory_bytes=used,
        memory_total_bytes=total,
        own_bytes=_own_bytes(questions, process, total),
        power_w=_power(questions),
        sm_clock_hz=_sm_clock(questions),
        throttle=_throttle(questions),
    )


def _impossible(what: str) -> Unavailable:
    return Unavailable(f"the driver reports {what}, which cannot be")


def _busy_share(questions: Questions) -> float | Unavailable:
    rates = questions.ask(questions.nvml.nvmlDeviceGetUtilizationRates)
    if isinstance(rates, Unavailable):
        return rates
    if rates.gpu > 100:
        return _impossible(f"a busy share of {rates.gpu} %")
    return rates.gpu / 100


def _memory(questions: Questions) -> tuple[int | Unavailable, int | Unavailable]:
    """Bytes in use and bytes in all; where the two contradict each other, neither is believed."""
    info = questions.ask(questions.nvml.nvmlDeviceGetMemoryInfo)
    if isinstance(info, Unavailable):
        if questions.refusals[-1] == questions.nvml.NVML_ERROR_NOT_SUPPORTED:
            shared = "a GPU that shares the machine's memory has none of its own to count"
            info = Unavailable(f"{info.reason}; {shared}")
        return info, info
    if questions.card.is_split:
        whole = Unavailable(
            "the card is cut into MIG slices, and the driver does not say which of them is torch's"
        )
        return whole, whole
    if info.used > info.total or not 0 < info.total <= MOST_BYTES:
        lie = _impossible(f"{info.used} bytes of memory in use, of {info.total}")
        return lie, lie
    return info.used, info.total


def _own_bytes(questions: Questions, process: int, total: int | Unavailable) -> int | Unavailable:
    """This process's bytes, by its number; a list without it does not mean 0.

    In a container the driver's numbers may be those outside it. Then this process is missing
    from the list, or, by a rare chance, another has its number.
    """
    running = questions.ask_newest(
        "nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"
    )
    if isinstance(running, Unavailable):
        return running
    own = [entry.usedGpuMemory for entry in running if entry.pid == process]
    if not own:
        return Unavailable(
            f"the driver's list for this GPU lacks this process, number {process}: it has not "
            "used this GPU, or it runs in a container with process numbers of its own"
        )
    if None in own:  # how the bindings hand on NVML_VALUE_NOT_AVAILABLE
        return Unavailable("the driver lists this process without its memory")
    most = MOST_BYTES if isinstance(total, Unavailable) else total
    if not 0 < sum(own) <= most:
        return _impossible(f"{sum(own)} bytes for this process, where 1 to {most} could be")
    return sum(own)


def _power(questions: Questions) -> float | Unavailable:
    milliwatts = questions.ask(questions.nvml.nvmlDeviceGetPowerUsage)
    if isinstance(milliwatts, Unavailable):
        return milliwatts
    watts = milliwatts / 1000
    return watts if 0 < watts <= MOST_WATTS else _impossible(f"a power of {watts:g} W")


def _sm_clock(questions: Questions) -> float | Unavailable:
    megahertz = questions.ask(questions.nvml.nvmlDeviceGetClockInfo, questions.nvml.NVML_CLOCK_SM)
    if isinstance(megahertz, Unavailable):
        return megahertz
    if not 0 < megahertz <= MOST_MEGAHERTZ:
        return _impossible(f"a clock of {megahertz} MHz")
    return megahertz * 1e6


def _throttle(questions: Questions) -> str | Unavailable:
    bits = questions.ask_newest(
        "nvmlDeviceGetCurrentClocksEventReasons",
        "nvmlDeviceGetCurrentClocksThrottleReasons",  # before driver 535
    )
    if isinstance(bits, Unavailable):
        return bits
    unknown = bits & ~sum(THROTTLE)
    if unknown >> 32:
        return _impossible(f"the reasons {bits:#x} for lower clocks")
    names = [name for bit, name in THROTTLE.items() if bits & bit]
    return ", ".join(names + [f"reason {unknown:#x}"] * bool(unknown)) or "none"
