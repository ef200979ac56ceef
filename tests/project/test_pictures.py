"""The folder of JPEGs: all of it or none, and one sentence for what is missing or damaged."""

from __future__ import annotations

import multiprocessing
import operator
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision.datasets import ImageFolder

from gpuutil_helpers.files import artifacts_dir
from gpuutil_helpers.project import pictures
from gpuutil_helpers.project.data import load_digits, make_loader
from gpuutil_helpers.project.pictures import PictureFolder, digits_folder, read_picture

CAN_FORK = "fork" in multiprocessing.get_all_start_methods()


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    return digits_folder(size=16, root=tmp_path_factory.mktemp("pictures"))


@pytest.fixture
def folder(written, tmp_path):
    """A copy that a test may damage."""
    return shutil.copytree(written, tmp_path / written.name)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


# ---- what is written


def test_the_split_the_labels_and_the_order_are_those_of_the_arrays(written):
    digits = load_digits()
    for part, truth in (("train", digits.train), ("validation", digits.validation)):
        found = PictureFolder(written / part)
        assert found.classes == [str(digit) for digit in range(10)]
        assert len(found) == len(truth)
        by_number = sorted(found.samples, key=lambda sample: sample[0].name)
        assert [label for _, label in by_number] == truth.labels.tolist()
        for (path, _), image in list(zip(by_number, truth.images, strict=True))[::97]:
            small = torch.nn.functional.avg_pool2d(read_picture(path), 2)
            assert (small - image).abs().mean() < 0.06  # enlarged, compressed, and still the same


def test_size_quality_and_colour(tmp_path):
    folder = digits_folder(size=8, quality=20, root=tmp_path)
    path = next(folder.rglob("*.jpg"))
    with Image.open(path) as image:
        assert (image.format, image.mode, image.size) == ("JPEG", "L", (8, 8))
    assert read_picture(path).shape == (1, 8, 8)
    assert read_picture(path).dtype == torch.float32
    assert read_picture(path, channels=3).shape == (3, 8, 8)
    assert read_picture(path).is_contiguous()
    assert digits_folder(size=8, quality=21, root=tmp_path) != folder


def test_it_is_written_once_and_below_the_artifacts(written, monkeypatch):
    def never(*_):
        raise AssertionError("written twice")

    monkeypatch.setattr(pictures, "_write_pictures", never)
    assert digits_folder(size=16, root=written.parent) == written
    with pytest.raises(AssertionError):
        digits_folder(size=9)
    assert not (artifacts_dir() / "datasets" / "digits_9px_q90").exists()


def test_it_is_the_list_that_torchvision_finds(written):
    ours, theirs = PictureFolder(written / "train", channels=3), ImageFolder(written / "train")
    assert [(str(path), label) for path, label in ours.samples] == theirs.samples
    image, label = ours[700]
    their_image, their_label = theirs[700]
    assert label == their_label
    pixels = torch.from_numpy(np.array(their_image)).permute(2, 0, 1)
    assert torch.equal((image * 255).round().to(torch.uint8), pixels)


# ---- written whole or not at all


def start(function, *arguments):
    process = multiprocessing.get_context("fork").Process(target=function, args=arguments)
    process.start()
    return process


def at_once(root, gate):
    gate.wait(20)
    assert digits_folder(size=12, root=root).is_dir()


@pytest.mark.skipif(not CAN_FORK, reason="this system cannot fork")
def test_two_processes_at_once_leave_one_whole_folder(tmp_path):
    gate = multiprocessing.get_context("fork").Barrier(2)
    both = [start(at_once, tmp_path, gate) for _ in range(2)]
    for process in both:
        process.join(60)
    assert [process.exitcode for process in both] == [0, 0]
    assert names(tmp_path) == ["digits_12px_q90"]
    assert len(list(tmp_path.rglob("*.jpg"))) == 1797


@pytest.mark.skipif(not CAN_FORK, reason="this system cannot fork")
def test_a_killed_process_leaves_nothing_that_is_taken_for_whole(tmp_path):
    process = start(digits_folder, 64, 90, tmp_path)
    until = time.monotonic() + 30
    while len(list(tmp_path.rglob("*.jpg"))) < 100 and time.monotonic() < until:
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.join(30)
    assert process.exitcode == -signal.SIGKILL
    assert 100 <= len(list(tmp_path.rglob("*.jpg"))) < 1797
    assert not (tmp_path / "digits_64px_q90").exists()
    folder = digits_folder(64, 90, tmp_path)
    assert len(list(folder.rglob("*.jpg"))) == 1797


def test_a_full_disk_leaves_nothing_and_is_one_sentence(tmp_path, monkeypatch):
    def full(folder, size, quality):
        (folder / "train").mkdir(parents=True)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pictures, "_write_pictures", full)
    with pytest.raises(OSError, match=r"could not be written \(No space left on device\)\. Free"):
        digits_folder(root=tmp_path)
    assert names(tmp_path) == []


# ---- what is damaged afterwards


def test_a_missing_or_empty_picture_is_noticed_at_once(folder):
    (folder / "train" / "3" / names(folder / "train" / "3")[0]).unlink()
    (folder / "validation" / "0" / names(folder / "validation" / "0")[0]).write_bytes(b"")
    with pytest.raises(ValueError, match="holds 1795 of 1797 pictures") as told:
        digits_folder(size=16, root=folder.parent)
    assert f"Delete the folder {folder} and call digits_folder()" in str(told.value)
    shutil.rmtree(folder)  # what the sentence says to do
    assert digits_folder(size=16, root=folder.parent) == folder


def test_a_damaged_picture_is_named_with_what_to_do(folder):
    dataset = PictureFolder(folder / "train")
    path, _ = dataset.samples[5]
    whole = path.read_bytes()
    for content in (b"", b"no picture", whole[: len(whole) // 2], whole[:20]):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=re.escape(f"the picture {path} is damaged.")) as told:
            dataset[5]
        assert f"Delete the folder {folder} and" in str(told.value)
        assert "\n" not in str(told.value)
    path.unlink()
    with pytest.raises(ValueError, match=re.escape(f"the picture {path} is missing.")):
        dataset[5]


def test_whatever_bytes_are_wrong_there_is_a_picture_or_a_sentence(folder):
    path = next(folder.rglob("*.jpg"))
    whole = path.read_bytes()
    for at in np.random.default_rng(0).integers(0, len(whole), 200):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        try:
            assert read_picture(path).ndim == 3
        except ValueError as error:
            assert f"the picture {path} is damaged" in str(error)


def test_a_file_elsewhere_is_not_told_to_delete_folders(tmp_path):
    with pytest.raises(ValueError, match=r"the picture \S+ is missing\. Put the file back"):
        read_picture(tmp_path / "mine.jpg")


# ---- arguments and workers


@pytest.mark.parametrize(
    ("wrong", "error", "sentence"),
    [
        ({"size": 7}, ValueError, "size is 7: give a whole number from 8 to 512"),
        ({"size": 513}, ValueError, "size is 513: give a whole number from 8 to 512"),
        ({"size": 64.0}, TypeError, r"size is 64\.0: give a whole number from 8 to 512"),
        ({"quality": 0}, ValueError, "quality is 0: give a whole number from 1 to 95"),
        ({"quality": 96}, ValueError, "quality is 96: give a whole number from 1 to 95"),
    ],
)
def test_bounds_are_told_and_nothing_is_written(tmp_path, wrong, error, sentence):
    with pytest.raises(error, match=sentence):
        digits_folder(**wrong, root=tmp_path)
    assert names(tmp_path) == []


def test_a_folder_without_pictures_and_odd_channels_are_refused(tmp_path, written):
    for empty in (tmp_path, tmp_path / "none", written):
        with pytest.raises(ValueError, match="there is no picture in"):
            PictureFolder(empty)
    with pytest.raises(ValueError, match="channels is 2: give 1 for grey or 3 for colour"):
        PictureFolder(written / "train", channels=2)


def test_a_worker_reads_and_transforms_pictures_under_spawn(written):
    dataset = PictureFolder(written / "validation", transform=operator.neg)
    alone = torch.cat([images for images, _ in make_loader(dataset, 200)])
    loader = make_loader(dataset, 200, workers=1, start_method="spawn")
    assert torch.equal(torch.cat([images for images, _ in loader]), alone)
    assert alone.max() <= 0


def test_a_worker_imports_no_more_than_it_needs():
    code = (
        "import sys, gpuutil_helpers.project.pictures\n"
        "print([n for n in ('torchvision', 'pandas', 'matplotlib', 'IPython') if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True
    )
    assert done.stdout.strip() == "[]"
