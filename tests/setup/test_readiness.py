"""The rows of OK and FAIL that start.py prints: what each refuses, and what it says of a GPU."""

from __future__ import annotations

import sys
from collections import namedtuple
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from gpuutil_helpers import readiness

Usage = namedtuple("Usage", "total used free")


def fake_torch(cuda: bool = False, mps: bool = False, built_for: str | None = None) -> ModuleType:
    """A PyTorch on a machine with these devices, and a build with or without CUDA."""
    torch = ModuleType("torch")
    torch.cuda = SimpleNamespace(is_available=lambda: cuda, get_device_name=lambda index: "H200")
    torch.backends = SimpleNamespace(mps=SimpleNamespace(is_available=lambda: mps))
    torch.version = SimpleNamespace(cuda=built_for)
    return torch


@pytest.mark.parametrize(
    ("torch", "driver", "said"),
    [
        (fake_torch(cuda=True, built_for="13.0"), True, "H200, CUDA 13.0"),
        (fake_torch(mps=True), False, "Apple's"),
        (fake_torch(), False, "none is needed"),
        (fake_torch(built_for="13.0"), False, "none is needed"),
        (fake_torch(), True, "built without CUDA"),
        (fake_torch(built_for="13.0"), True, "too old for CUDA 13.0"),
    ],
)
def test_a_gpu_is_information_and_an_unused_one_is_said(monkeypatch, torch, driver, said) -> None:
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr(readiness, "nvidia_driver", lambda: driver)
    assert said in readiness.gpu()


def test_a_gpu_decides_nothing_even_when_asking_for_it_fails(monkeypatch, capsys) -> None:
    monkeypatch.setattr(readiness, "CHECKS", ())
    monkeypatch.setattr(readiness, "gpu", lambda: 1 / 0)
    assert readiness.main() == 0
    assert "unavailable, because division by zero" in capsys.readouterr().out


def test_the_driver_is_found_by_its_tool(monkeypatch, tmp_path: Path) -> None:
    tool = tmp_path / "nvidia-smi"
    tool.write_text("")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert readiness.nvidia_driver()


def test_a_wrong_gradient_and_a_torchvision_that_does_not_fit_are_failures(monkeypatch) -> None:
    torch = sys.modules["torch"]
    assert readiness.check_torch().startswith(torch.__version__)
    monkeypatch.setattr(torch.Tensor, "backward", lambda self: None)
    with pytest.raises(ArithmeticError, match="computed as None"):
        readiness.check_torch()
    monkeypatch.setitem(sys.modules, "torchvision", None)
    with pytest.raises(ImportError):
        readiness.check_torchvision()


def test_jupyterlab_without_its_kernel_or_widgets_is_a_failure(monkeypatch) -> None:
    assert readiness.check_jupyterlab()
    monkeypatch.setitem(sys.modules, "ipykernel", None)
    with pytest.raises(ModuleNotFoundError, match="ipykernel"):
        readiness.check_jupyterlab()


def test_a_package_from_another_folder_is_a_failure(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setattr(readiness, "ROOT", tmp_path)
    with pytest.raises(ImportError, match=f"not from {tmp_path}"):
        readiness.check_package()


def test_space_is_asked_of_the_disk_that_the_lessons_write_to(monkeypatch, tmp_path: Path) -> None:
    asked = []
    monkeypatch.setenv("GPUUTIL_ARTIFACTS", str(tmp_path / "not/made/yet"))

    def usage(path: Path) -> Usage:
        asked.append(path)
        return Usage(0, 0, 0.9e9)

    monkeypatch.setattr(readiness.shutil, "disk_usage", usage)
    with pytest.raises(OSError, match=r"0\.9 GB free, 1 GB needed"):
        readiness.check_disk()
    assert asked == [tmp_path]


def test_trying_to_write_leaves_nothing_behind(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GPUUTIL_ARTIFACTS", str(tmp_path / "artifacts"))
    assert str(tmp_path) in readiness.check_artifacts()
    assert list(tmp_path.iterdir()) == []


def test_the_rows_after_a_failure_still_come(monkeypatch, capsys) -> None:
    def fails() -> str:
        raise ValueError("first line\nsecond line")

    checks = (("one", fails, "repair it"), ("two", lambda: "well", ""))
    monkeypatch.setattr(readiness, "CHECKS", checks)
    assert readiness.main() == 1
    rows = capsys.readouterr().out.splitlines()
    assert rows[0] == "FAIL  one          ValueError: first line -> repair it"
    assert rows[1] == "OK    two          well"
