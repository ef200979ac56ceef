"""Which of the driver's GPUs is torch's: by UUID, then by PCI address, never by number.

The driver counts every GPU in its own order. torch counts those that CUDA_VISIBLE_DEVICES and
CUDA_DEVICE_ORDER leave it, in theirs. Number 0 of one need not be number 0 of the other.

torch's `get_device_properties(i).uuid` prints 32 hexadecimal digits in five groups. The driver
writes "GPU-" before them for a whole card and "MIG-" for a slice of one.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gpuutil_helpers.instruments.nvidia import explain
from gpuutil_helpers.instruments.unavailable import Unavailable


@dataclass(frozen=True)
class Card:
    """The driver's handle of one GPU of torch's, and whether it is cut into MIG slices.

    Attributes:
        handle: what the bindings take as their first argument.
        is_slice: the handle is that of one slice.
        is_split: the handle is that of a card cut into slices, one of which is torch's; the
            driver does not say which.
    """

    handle: Any
    is_slice: bool = False
    is_split: bool = False


def find_card(nvml: Any, properties: Any, refusals: list[int]) -> Card | Unavailable:
    """The driver's GPU with the identity that torch gives, or why it cannot be told.

    Args:
        nvml: the bindings, initialised.
        properties: what `torch.cuda.get_device_properties` returns.
        refusals: gets the driver's code of each refusal, other than that it knows no such GPU.
    """
    why = None
    for question, text in _names(nvml, properties):
        try:
            handle = question(text)
        except nvml.NVMLError as error:
            # A lost neighbour, say, spoils the search by UUID and not that by PCI address.
            if error.value not in (nvml.NVML_ERROR_NOT_FOUND, nvml.NVML_ERROR_INVALID_ARGUMENT):
                refusals.append(error.value)
                why = why or explain(error)
            continue
        if text.startswith("MIG-"):
            return Card(handle, is_slice=True)
        return Card(handle, is_split=_is_split(nvml, handle))
    if why:
        return Unavailable(why)
    known = [f"UUID {uuid_text(properties)}", f"PCI address {pci_text(properties)}"]
    known = " or ".join(name for name in known if not name.endswith(" None"))
    if not known:
        return Unavailable("torch gives neither the UUID nor the PCI address of its GPU")
    return Unavailable(f"the NVIDIA driver shows no GPU with torch's {known}")


def uuid_text(properties: Any) -> str | None:
    """torch's UUID of a GPU in lower case and five groups, without a prefix; None without one.

    Takes torch's own object, text with or without a prefix, and bytes, as text or as the 16 of
    the number. All zeros are no UUID.
    """
    given = getattr(properties, "uuid", None)
    if isinstance(given, bytes) and len(given) != 16:
        given = given.decode("ascii", errors="replace")
    try:
        if isinstance(given, bytes):
            found = uuid.UUID(bytes=given)
        else:
            found = uuid.UUID(str(given).upper().removeprefix("GPU-").removeprefix("MIG-"))
    except ValueError:  # also for None
        return None
    return str(found) if found.int else None


def pci_text(properties: Any) -> str | None:
    """torch's PCI address of a GPU, written "00000000:65:00.0" as the driver does; None if none."""
    parts = [getattr(properties, f"pci_{part}_id", None) for part in ("domain", "bus", "device")]
    if not all(isinstance(part, int) for part in parts):
        return None
    return "{:08x}:{:02x}:{:02x}.0".format(*parts)


def _names(nvml: Any, properties: Any) -> Iterator[tuple[Any, str]]:
    """Each way to ask for the GPU, the surest first."""
    unique = uuid_text(properties)
    if unique:
        yield nvml.nvmlDeviceGetHandleByUUID, f"GPU-{unique}"
        yield nvml.nvmlDeviceGetHandleByUUID, f"MIG-{unique}"
    address = pci_text(properties)
    if address:
        yield nvml.nvmlDeviceGetHandleByPciBusId, address


def _is_split(nvml: Any, handle: Any) -> bool:
    try:
        current, _ = nvml.nvmlDeviceGetMigMode(handle)
    except nvml.NVMLError:  # a card that knows no MIG, or an old driver
        return False
    return current == nvml.NVML_DEVICE_MIG_ENABLE
