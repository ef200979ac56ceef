"""torch's GPU among the driver's: by UUID, then by PCI address, never by number."""

from __future__ import annotations

import uuid
from types import SimpleNamespace

import pynvml
import pytest

from gpuutil_helpers.instruments.gpu_identity import Card, find_card, pci_text, uuid_text
from gpuutil_helpers.instruments.unavailable import Unavailable
from tests.instruments.stand_in_driver import index_of

GIB = 2**30
FIRST, SECOND = (f"{digit * 8}-aaaa-bbbb-cccc-0123456789ab" for digit in "12")
TWO = (("A", f"GPU-{FIRST}", 8 * GIB), ("B", f"GPU-{SECOND}", 80 * GIB))
ADDRESSES = ("00000000:17:00.0", "00010000:65:1f.0")
LOST = pynvml.NVML_ERROR_GPU_IS_LOST


def properties(unique: object = None, pci: tuple[int, int, int] | None = None) -> SimpleNamespace:
    """What torch gives of a GPU: domain, bus and device as numbers, each where it exists."""
    named = zip(("domain", "bus", "device"), pci or (), strict=False)
    given = {f"pci_{part}_id": number for part, number in named}
    return SimpleNamespace(uuid=unique, **given)


def number_of(card: Card) -> int:
    """The GPU's number in the driver's order."""
    return index_of(card.handle)


def find(asked: SimpleNamespace, refusals: list[int] | None = None) -> Card | Unavailable:
    return find_card(pynvml, asked, [] if refusals is None else refusals)


class TorchUuid:
    """torch's own class of a UUID can be printed and is not text."""

    def __str__(self) -> str:
        return SECOND


@pytest.mark.parametrize(
    "given",
    [
        TorchUuid(),
        SECOND,
        SECOND.upper(),
        f"GPU-{SECOND}",
        f"MIG-{SECOND}",
        f"gpu-{SECOND}",
        SECOND.encode(),
        f"GPU-{SECOND}".encode(),
        uuid.UUID(SECOND).bytes,
    ],
    ids=repr,
)
def test_a_uuid_is_read_in_every_form(given) -> None:
    assert uuid_text(properties(given)) == SECOND


@pytest.mark.parametrize("given", [None, "", "GPU-12", b"\xff\xfe", uuid.UUID(int=0), 16 * b"\0"])
def test_what_is_no_uuid_is_none(given) -> None:
    assert uuid_text(properties(given)) is None
    assert uuid_text(SimpleNamespace()) is None


def test_a_pci_address_is_written_as_the_driver_writes_it() -> None:
    assert pci_text(properties(pci=(0, 0x17, 0))) == ADDRESSES[0]
    assert pci_text(properties(pci=(0x10000, 0x65, 0x1F))) == ADDRESSES[1]
    assert pci_text(properties(pci=(0, 1))) is None
    assert pci_text(properties()) is None


def test_by_uuid_in_another_order(driver) -> None:
    driver(gpus=TWO, addresses=ADDRESSES)
    assert number_of(find(properties(TorchUuid()))) == 1
    assert number_of(find(properties(FIRST))) == 0


def test_the_uuid_goes_before_the_pci_address(driver) -> None:
    driver(gpus=TWO, addresses=ADDRESSES)
    assert number_of(find(properties(SECOND, pci=(0, 0x17, 0)))) == 1


@pytest.mark.parametrize("unique", [None, "9" * 32], ids=["no UUID", "a UUID nobody knows"])
def test_by_pci_address(driver, unique) -> None:
    driver(gpus=TWO, addresses=ADDRESSES)
    assert number_of(find(properties(unique, pci=(0x10000, 0x65, 0x1F)))) == 1


def test_by_pci_address_where_the_search_by_uuid_is_refused(driver) -> None:
    driver(gpus=TWO, addresses=ADDRESSES, refusals={"nvmlDeviceGetHandleByUUID": LOST})
    assert number_of(find(properties(SECOND, pci=(0x10000, 0x65, 0x1F)))) == 1


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (properties("9" * 32), "torch's UUID 99999999-9999-9999-9999-999999999999"),
        (properties(None, (0, 1, 2)), "torch's PCI address 00000000:01:02.0"),
        (properties("9" * 32, (0, 1, 2)), "999999999999 or PCI address 00000000:01:02.0"),
        (properties(), "torch gives neither the UUID nor the PCI address"),
    ],
)
def test_no_match_is_not_the_first_gpu(driver, asked, words) -> None:
    driver(gpus=TWO[:1], addresses=ADDRESSES[:1])
    refusals = []
    found = find(asked, refusals)
    assert isinstance(found, Unavailable) and words in found.reason
    assert refusals == []


def test_a_refusal_is_told_from_an_unknown_gpu(driver) -> None:
    driver(gpus=TWO, refusals={"nvmlDeviceGetHandleByUUID": LOST})
    refusals = []
    found = find(properties(FIRST, (0, 9, 9)), refusals)
    assert found == Unavailable("the GPU no longer answers; restart the machine")
    assert set(refusals) == {LOST}


def test_a_mig_slice_is_known_by_its_own_uuid(driver) -> None:
    driver(gpus=(("A100", f"GPU-{FIRST}", 40 * GIB), ("slice", f"MIG-{SECOND}", 5 * GIB)))
    card = find(properties(SECOND))
    assert (number_of(card), card.is_slice, card.is_split) == (1, True, False)


@pytest.mark.parametrize("asked", [properties(FIRST), properties(None, (0, 0x17, 0))])
@pytest.mark.parametrize("mode", [0, 1])
def test_a_card_cut_into_slices_is_told_from_a_whole_one(driver, asked, mode) -> None:
    driver(gpus=TWO, addresses=ADDRESSES, answers={("nvmlDeviceGetMigMode", 0): mode})
    assert find(asked).is_split is bool(mode)


def test_a_card_that_knows_no_mig_is_whole(driver) -> None:
    driver(gpus=TWO, refusals={"nvmlDeviceGetMigMode": pynvml.NVML_ERROR_NOT_SUPPORTED})
    card = find(properties(FIRST))
    assert (card.is_slice, card.is_split) == (False, False)
