from __future__ import annotations

import subprocess
import sys

import pynvml
import pytest

from gpuutil_helpers.instruments.nvidia import Gpu, ask_driver
from gpuutil_helpers.instruments.unavailable import Unavailable

GIB = 2**30


def test_reads_driver_and_gpus_in_the_drivers_order(driver) -> None:
    library = driver(gpus=(("A", "GPU-a", 8 * GIB), ("B", "GPU-b", 80 * GIB)), cuda=12080)
    found = ask_driver()
    assert (found.version, found.cuda) == ("580.95", (12, 8))
    assert found.gpus == (Gpu("A", "GPU-a", 8 * GIB), Gpu("B", "GPU-b", 80 * GIB))
    assert library.calls[-1] == "nvmlShutdown"


def test_no_library(no_driver_library) -> None:
    assert ask_driver() == Unavailable("there is no NVIDIA driver library on this machine")


STATES = {
    pynvml.NVML_ERROR_DRIVER_NOT_LOADED: "installed but not loaded",
    pynvml.NVML_ERROR_NO_PERMISSION: "this user may not ask",
    pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH: "different versions",
    pynvml.NVML_ERROR_GPU_IS_LOST: "no longer answers",
    pynvml.NVML_ERROR_UNKNOWN: "the NVIDIA driver answered",
}


@pytest.mark.parametrize("function", ["nvmlInitWithFlags", "nvmlDeviceGetCount_v2"])
@pytest.mark.parametrize(("code", "words"), STATES.items())
def test_each_state_of_the_driver_has_its_own_sentence(driver, function, code, words) -> None:
    driver(refusals={function: code})
    answer = ask_driver()
    assert isinstance(answer, Unavailable)
    assert [text for text in STATES.values() if text in answer.reason] == [words]


def test_no_gpu_behind_a_loaded_driver(driver) -> None:
    driver(gpus=())
    assert "finds no GPU" in ask_driver().reason


def test_no_package(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert ask_driver() == Unavailable("the Python package nvidia-ml-py is not installed")


def test_each_reading_carries_its_own_state(driver) -> None:
    driver(
        gpus=(("A", "GPU-a", 8 * GIB), ("B", "GPU-b", 80 * GIB), ("C", "GPU-c", GIB)),
        refusals={
            ("nvmlDeviceGetMemoryInfo", 0): pynvml.NVML_ERROR_NOT_SUPPORTED,
            ("nvmlDeviceGetName", 1): pynvml.NVML_ERROR_GPU_IS_LOST,
            "nvmlSystemGetDriverVersion": pynvml.NVML_ERROR_NO_PERMISSION,
        },
    )
    found = ask_driver()
    unsupported = Unavailable("this GPU or its driver does not give this reading")
    lost = Unavailable("the GPU no longer answers; restart the machine")
    assert found.gpus == (
        Gpu("A", "GPU-a", unsupported),
        Gpu(lost, "GPU-b", 80 * GIB),
        Gpu("C", "GPU-c", GIB),
    )
    assert "may not ask" in found.version.reason
    assert found.cuda == (13, 1)


def test_a_gpu_without_a_handle_still_has_its_row(driver) -> None:
    driver(refusals={"nvmlDeviceGetHandleByIndex_v2": pynvml.NVML_ERROR_NO_PERMISSION})
    (gpu,) = ask_driver().gpus
    assert all(isinstance(value, Unavailable) for value in (gpu.name, gpu.uuid, gpu.memory))


def test_a_total_of_zero_bytes_is_not_believed(driver) -> None:
    driver(gpus=(("A", "GPU-a", 0),))
    assert ask_driver().gpus[0].memory == Unavailable("the driver reports a total of 0 bytes")


def test_an_old_driver_lacks_functions(driver) -> None:
    driver(missing=("nvmlSystemGetCudaDriverVersion_v2",))
    found = ask_driver()
    assert "too old" in found.cuda.reason
    assert found.gpus[0].name == "NVIDIA Test 1"


def test_letting_go_may_fail_without_an_exception(driver) -> None:
    driver(refusals={"nvmlShutdown": pynvml.NVML_ERROR_GPU_IS_LOST})
    assert ask_driver().gpus[0].memory == 8 * GIB


def test_asking_prints_nothing() -> None:
    code = "from gpuutil_helpers.instruments.nvidia import ask_driver; ask_driver()"
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", code], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
