"""A file is written whole or not at all, and everything written goes below one folder."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from gpuutil_helpers import files


def left_over(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_text_is_utf8_with_its_line_endings_kept_and_bytes_as_they_are(tmp_path):
    files.write_whole(tmp_path / "a" / "b.txt", "größe\n1\r\n")
    assert (tmp_path / "a" / "b.txt").read_bytes() == "größe\n1\r\n".encode()
    assert files.write_whole(tmp_path / "c", b"\x00\xff").read_bytes() == b"\x00\xff"


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, step):
    path = files.write_whole(tmp_path / "kept.txt", "old")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, step, full)
    with pytest.raises(
        OSError, match=r"could not be written \(No space left on device\)"
    ) as caught:
        files.write_whole(path, "new and longer")
    assert "GPUUTIL_ARTIFACTS" in str(caught.value)
    assert path.read_text(encoding="utf-8") == "old"
    assert left_over(tmp_path) == ["kept.txt"]


def test_an_interrupt_in_mid_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = files.write_whole(tmp_path / "kept.txt", "old")

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        files.write_whole(path, "new")
    assert path.read_text(encoding="utf-8") == "old"
    assert left_over(tmp_path) == ["kept.txt"]


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    with pytest.raises(OSError, match=r"file is a file where a folder must be: move it away"):
        files.write_whole(tmp_path / "file" / "inner.txt", "text")


def test_a_written_file_has_ordinary_permissions(tmp_path):
    ordinary = tmp_path / "ordinary"
    ordinary.touch()
    written = files.write_whole(tmp_path / "written", "text")
    assert written.stat().st_mode == ordinary.stat().st_mode


def test_artifacts_lie_in_the_repository_or_where_the_variable_says(tmp_path, monkeypatch):
    monkeypatch.setenv("GPUUTIL_ARTIFACTS", str(tmp_path / "mine"))
    assert files.artifacts_dir() == tmp_path / "mine"
    monkeypatch.setenv("GPUUTIL_ARTIFACTS", "")
    assert files.artifacts_dir() == files.repository_root() / "artifacts"
    assert (files.data_dir() / "digits.npz").is_file()
