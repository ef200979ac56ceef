from __future__ import annotations

import platform
import random
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import psutil
import pytest
import torch

from gpuutil_helpers.instruments import accelerators, machine
from gpuutil_helpers.instruments.cpus import CpuLimits
from gpuutil_helpers.instruments.machine import (
    Fact,
    Machine,
    describe_machine,
    describe_torch,
    pick_device,
    seed_everything,
    set_threads,
)
from gpuutil_helpers.instruments.nvidia import Driver, Gpu
from gpuutil_helpers.instruments.unavailable import Unavailable

GIB = 2**30
NO_LIBRARY = Unavailable("there is no NVIDIA driver library on this machine")
WITHOUT_TORCH = [
    "system",
    "container",
    "Python",
    "CPU",
    "CPUs, logical",
    "CPUs, usable",
    "memory",
    "memory, available",
    "memory, granted",
    "disk, free",
    "NVIDIA driver",
    "GPU 0, driver",
]
OF_TORCH = ["torch", "torch, built for", "torch, CPU threads", "torch, device", "GPU 0, torch"]


def names(table: Machine) -> list[str]:
    return [fact.name for fact in table.facts]


def one_gpu(cuda: tuple[int, int] = (13, 0)) -> Driver:
    return Driver("580.95", cuda, (Gpu("NVIDIA Test", "GPU-a", 8 * GIB),))


def stand_in(*, cuda: str | None = "13.0", hip: str | None = None, gpus: int = 0, mps=False):
    """As much of torch as the table asks, on a machine with `gpus` GPUs."""

    def properties(device: str) -> SimpleNamespace:
        return SimpleNamespace(total_memory=(int(device[-1]) + 1) * 8 * GIB)

    return SimpleNamespace(
        __version__="9.9",
        version=SimpleNamespace(cuda=cuda, hip=hip),
        get_num_threads=lambda: 3,
        device=torch.device,
        cuda=SimpleNamespace(
            is_available=lambda: gpus > 0,
            device_count=lambda: gpus,
            get_device_name=lambda device: f"Test on {device}",
            get_device_properties=properties,
            init=lambda: None,
        ),
        backends=SimpleNamespace(
            mps=SimpleNamespace(is_available=lambda: mps, is_built=lambda: mps)
        ),
    )


@pytest.fixture
def pretend(monkeypatch):
    """Puts a stand-in torch and a driver's answer in place of this machine's."""

    def put(torch_module: object = None, driver: object = NO_LIBRARY) -> None:
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        monkeypatch.setattr(platform, "system", lambda: "Linux")
        monkeypatch.setattr(machine, "ask_driver", lambda: driver)
        monkeypatch.setitem(sys.modules, "torch", torch_module)

    return put


# ---- the table


@pytest.mark.parametrize(
    ("torch_module", "driver"),
    [
        (stand_in(), NO_LIBRARY),
        (stand_in(gpus=1), one_gpu()),
        (None, NO_LIBRARY),
    ],
)
def test_the_table_has_the_same_rows_with_and_without_a_gpu(pretend, torch_module, driver) -> None:
    pretend(torch_module, driver)
    assert names(describe_machine()) == WITHOUT_TORCH + OF_TORCH


def test_this_machines_own_table() -> None:
    table = describe_machine()
    assert names(table)[: len(WITHOUT_TORCH)] == WITHOUT_TORCH
    assert table["Python"] == platform.python_version()
    assert table["torch"] == torch.__version__
    assert table["memory"] == pytest.approx(psutil.virtual_memory().total / GIB)
    assert 0 < table["memory, available"] <= table["memory"]
    assert table["disk, free"] > 0
    assert 1 <= table["CPUs, usable"] <= table["CPUs, logical"]


def test_a_table_shown_in_a_notebook_names_no_local_path(pretend) -> None:
    pretend(stand_in())
    text = str(describe_machine())
    assert str(Path.cwd()) not in text
    assert sys.prefix not in text


def test_without_torch_facts_torch_is_not_loaded() -> None:
    code = (
        "import sys; from gpuutil_helpers.instruments.machine import describe_machine; "
        "describe_machine(torch_facts=False); print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "False\n", done.stderr


def test_unknown_is_a_reason_and_never_zero(pretend, monkeypatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError("not for you")

    pretend(stand_in())
    monkeypatch.setattr(psutil, "virtual_memory", refuse)
    monkeypatch.setattr(machine.shutil, "disk_usage", refuse)
    table = describe_machine()
    for name in ("memory", "memory, available", "memory, granted", "disk, free"):
        assert "not for you" in table[name].reason
    for name in ("NVIDIA driver", "GPU 0, driver", "GPU 0, torch"):
        assert NO_LIBRARY.reason in table[name].reason
    assert not [fact for fact in table.facts if fact.value == 0 or fact.value == ""]


def test_a_quota_is_shown_with_its_reason(pretend, monkeypatch) -> None:
    pretend()
    monkeypatch.setattr(machine, "cpu_limits", lambda: CpuLimits(16, 16, 2.0))
    lines = str(describe_machine(torch_facts=False)).splitlines()
    assert "CPUs, usable          2 (a control group grants the time of 2)" in lines


@pytest.mark.parametrize(("limit", "granted"), [(None, 16), (4 * GIB, 4), (2**63 - 4096, 16)])
def test_memory_granted_is_the_containers_share(pretend, monkeypatch, limit, granted) -> None:
    pretend()
    memory = SimpleNamespace(total=16 * GIB, available=8 * GIB)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: memory)
    monkeypatch.setattr(machine, "memory_limit", lambda where: limit)
    table = describe_machine(torch_facts=False)
    assert (table["memory"], table["memory, available"]) == (16, 8)
    assert table["memory, granted"] == granted


def test_free_disk_of_a_folder_that_does_not_exist_yet(pretend, tmp_path, monkeypatch) -> None:
    pretend()
    monkeypatch.setenv("GPUUTIL_ARTIFACTS", str(tmp_path / "not" / "yet"))
    assert describe_machine(torch_facts=False)["disk, free"] > 0
    assert not (tmp_path / "not").exists()


def test_several_gpus_have_a_row_each(pretend) -> None:
    gpus = (Gpu("A", "GPU-a", 8 * GIB), Gpu("B", "GPU-b", Unavailable("it is shared")))
    pretend(stand_in(gpus=2), Driver("1.2", (13, 1), gpus))
    lines = str(describe_machine()).splitlines()
    assert "NVIDIA driver         1.2 (newest CUDA it runs: 13.1)" in lines
    assert "GPU 0, driver         A (8.0 GiB)" in lines
    assert "GPU 1, driver         B (memory unavailable, because it is shared)" in lines
    assert "GPU 0, torch          Test on cuda:0 (8.0 GiB)" in lines
    assert "GPU 1, torch          Test on cuda:1 (16.0 GiB)" in lines


def test_a_fact_reads_with_its_unit_and_note() -> None:
    assert str(Fact("disk", 3.14159, "GiB", note="where")) == "3.1 GiB (where)"
    assert str(Fact("CPUs", 2)) == "2"
    assert str(Fact("disk", Unavailable("it is gone"), "GiB")) == "unavailable, because it is gone"


def test_html_holds_every_row_escaped() -> None:
    page = Machine((Fact("CPU", "<b>fast</b> & new"), Fact("GPU", NO_LIBRARY)))._repr_html_()
    assert "&lt;b&gt;fast&lt;/b&gt; &amp; new" in page
    assert page.count("<tr>") == 2
    assert str(NO_LIBRARY) in page


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(KeyError, match=r"no fact named 'GPU'.*'CPU'"):
        Machine((Fact("CPU", "x"),))["GPU"]


# ---- torch and the driver


@pytest.mark.parametrize(
    ("torch_module", "driver", "reason"),
    [
        (stand_in(), NO_LIBRARY, f"built for CUDA 13.0, and {NO_LIBRARY.reason}"),
        (stand_in(cuda=None), NO_LIBRARY, f"built for CPU only, and {NO_LIBRARY.reason}"),
        (
            stand_in(cuda=None),
            one_gpu(),
            "CPU only, although the driver shows NVIDIA Test; install",
        ),
        (stand_in(), one_gpu((12, 4)), "the NVIDIA driver runs CUDA up to 12.4; update the driver"),
        (stand_in(cuda="12.8"), one_gpu((12, 4)), "torch started CUDA and found no GPU"),
        (stand_in(cuda=None, hip="7.0"), NO_LIBRARY, "built for ROCm 7.0 and finds no AMD GPU"),
    ],
)
def test_why_torch_has_no_gpu(pretend, torch_module, driver, reason: str) -> None:
    pretend(torch_module, driver)
    assert reason in describe_torch()["GPU 0, torch"].reason


def test_hidden_gpus_are_said_to_be_hidden(pretend, monkeypatch) -> None:
    pretend(stand_in(), one_gpu())
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert "CUDA_VISIBLE_DEVICES is ''" in describe_torch()["GPU 0, torch"].reason


def test_what_torch_says_of_a_failed_start_is_passed_on(pretend) -> None:
    def fail() -> None:
        raise RuntimeError("Unexpected error from cudaGetDeviceCount()\nmore")

    broken = stand_in()
    broken.cuda.init = fail
    pretend(broken, one_gpu())
    reason = describe_torch()["GPU 0, torch"].reason
    assert "could not start CUDA (RuntimeError: Unexpected error" in reason
    assert "\n" not in reason


def test_a_gpu_that_torch_cannot_ask_keeps_its_row(pretend) -> None:
    def fail(device: str) -> None:
        raise RuntimeError("CUDA error: device lost")

    broken = stand_in(gpus=1)
    broken.cuda.get_device_name = broken.cuda.get_device_properties = fail
    pretend(broken, one_gpu())
    table = describe_torch()
    assert "device lost" in table["GPU 0, torch"].reason
    assert table["torch, device"] == "cuda:0"


def test_an_apple_gpu(pretend) -> None:
    pretend(stand_in(cuda=None, mps=True))
    lines = str(describe_torch()).splitlines()
    assert "torch, built for      CPU and Apple GPU" in lines
    assert "torch, device         mps (what pick_device() takes)" in lines
    assert any(line.startswith("GPU 0, torch          Apple GPU (memory unavail") for line in lines)


def test_a_torch_that_fails_to_load_is_a_fact(pretend) -> None:
    pretend(None)
    table = describe_torch()
    assert names(table) == OF_TORCH
    assert "torch could not be loaded (ModuleNotFoundError" in table["torch"].reason
    rest = {fact.value for fact in table.facts[1:]}
    assert rest == {Unavailable("torch could not be loaded")}


# ---- picking a device


@pytest.mark.parametrize(
    ("torch_module", "prefer", "picked"),
    [
        (stand_in(gpus=2), None, "cuda"),
        (stand_in(gpus=2), "cuda", "cuda"),
        (stand_in(gpus=2), "cuda:1", "cuda:1"),
        (stand_in(gpus=2), torch.device("cuda", 1), "cuda:1"),
        (stand_in(gpus=2), "cpu", "cpu"),
        (stand_in(gpus=1, mps=True), None, "cuda"),
        (stand_in(mps=True), None, "mps"),
        (stand_in(), None, "cpu"),
        (stand_in(), torch.device("cpu"), "cpu"),
    ],
)
def test_picks(pretend, torch_module, prefer, picked: str) -> None:
    pretend(torch_module)
    assert pick_device(prefer) == torch.device(picked)


@pytest.mark.parametrize("prefer", ["cuda", "cuda:0", "mps", "gpu", "GPU", "meta", "", 3])
def test_a_device_that_does_not_exist_names_those_that_do(pretend, prefer: object) -> None:
    pretend(stand_in())
    with pytest.raises(ValueError, match=r"There is no device '.*' here. Pass one of cpu"):
        pick_device(prefer)


def test_a_missing_index_names_the_existing_ones(pretend) -> None:
    pretend(stand_in(gpus=2))
    with pytest.raises(ValueError, match=r"'cuda:2' here\. Pass one of cuda:0, cuda:1, cpu"):
        pick_device("cuda:2")


# ---- seeds and threads


def test_equal_seeds_give_equal_draws_from_every_generator() -> None:
    def draws() -> tuple:
        return random.random(), np.random.random(), torch.rand(1).item()

    assert seed_everything(7) is None
    first = draws()
    seed_everything(7)
    assert draws() == first
    seed_everything(8)
    assert all(a != b for a, b in zip(draws(), first, strict=True))
    seed_everything(np.int64(7))
    assert draws() == first


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_a_seed_out_of_range_is_refused(seed: int) -> None:
    with pytest.raises(ValueError, match="seed must lie between 0 and 4294967295"):
        seed_everything(seed)


@pytest.mark.parametrize("seed", [True, 1.0, "0", None])
def test_a_seed_that_is_no_whole_number_is_refused(seed: object) -> None:
    state = random.getstate()
    with pytest.raises(TypeError, match="seed must be a whole number"):
        seed_everything(seed)
    assert random.getstate() == state


def test_set_threads() -> None:
    before = torch.get_num_threads()
    try:
        set_threads(3)
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize(
    ("n", "error"), [(0, ValueError), (-1, ValueError), (10**6, ValueError), (1.5, TypeError)]
)
def test_set_threads_refuses(n: object, error: type[Exception]) -> None:
    before = torch.get_num_threads()
    with pytest.raises(error, match="n must"):
        set_threads(n)
    assert torch.get_num_threads() == before


def test_names_of_the_systems(pretend, monkeypatch) -> None:
    pretend()
    monkeypatch.setattr(platform, "freedesktop_os_release", lambda: {"PRETTY_NAME": "Test OS 1"})
    monkeypatch.setattr(platform, "release", lambda: "5.15-Microsoft-standard")
    assert describe_machine(torch_facts=False)["system"] == "Test OS 1 in WSL"
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    monkeypatch.setattr(platform, "mac_ver", lambda: ("15.1", ("", "", ""), "arm64"))
    assert describe_machine(torch_facts=False)["system"] == "macOS 15.1"


def test_warnings_of_a_broken_cuda_do_not_reach_the_notebook(recwarn) -> None:
    import warnings

    def is_available() -> bool:
        warnings.warn("CUDA initialization: /some/path", stacklevel=1)
        return False

    noisy = stand_in()
    noisy.cuda.is_available = is_available
    assert accelerators.offered_devices(noisy) == ["cpu"]
    assert not recwarn.list
