"""The digits as JPEG files in folders, as a real project has its pictures, and their dataset.

A worker that reads them imports torch and Pillow, and no torchvision: it is there sooner.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch.utils.data import Dataset

from gpuutil_helpers.files import ARTIFACTS_VARIABLE, artifacts_dir
from gpuutil_helpers.project.checks import check_whole
from gpuutil_helpers.project.data import DIGITS, LARGEST_PIXEL, read_digits

SMALLEST, LARGEST = 8, 512
LARGEST_QUALITY = 95  # above it Pillow's JPEG files grow and hardly improve


def digits_folder(size: int = 64, quality: int = 90, root: str | Path | None = None) -> Path:
    """The folder of all digits as grey JPEGs of `size` x `size` pixels; written the first time.

    Inside are `train/0/0000.jpg` ... `validation/9/1795.jpg`: split, label, number in the data
    set. The split is that of `load_digits`. The folder appears under its name when all pictures
    are in it, so a run that was killed half-way leaves none, and two at once do no harm.

    Args:
        size: height and width in pixels, from 8 to 512.
        quality: of the JPEG compression, from 1 to 95.
        root: where the folder is made, `artifacts/datasets` unless given.

    Raises:
        TypeError, ValueError: for a size or quality outside these bounds, or when the folder is
            there and pictures are missing from it or empty; says what to do.
        OSError: when the folder cannot be written; says what to do.
    """
    check_whole("size", size, SMALLEST, LARGEST)
    check_whole("quality", quality, 1, LARGEST_QUALITY)
    root = Path(root) if root is not None else artifacts_dir() / "datasets"
    folder = root / f"digits_{size}px_q{quality}"
    if not folder.exists():
        _write_then_rename(folder, size, quality)
    _check_complete(folder)
    return folder


class PictureFolder(Dataset):
    """Pictures from a folder with one subfolder per class, as torchvision's `ImageFolder` has it.

    Item i is a float32 tensor (channels, height, width) from 0 to 1 and its label, an int. Files
    are opened when an item is asked for. It can be sent to a worker by any start method.

    Args:
        folder: holds `<class>/<picture>.jpg`; classes are numbered in the order of their names.
        channels: 1 for grey, 3 for colour.
        transform: called with the tensor of each picture; under spawn it must be a function from
            a module, not from a notebook.

    Raises:
        ValueError: when `channels` is neither, or the folder holds no picture; later, when a
            picture is missing or damaged: names the file and what to do.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        channels: int = 1,
        transform: Callable[[torch.Tensor], torch.Tensor] | None = None,
    ) -> None:
        if channels not in (1, 3):
            raise ValueError(f"channels is {channels!r}: give 1 for grey or 3 for colour.")
        self.folder = Path(folder)
        self.channels = channels
        self.transform = transform
        classes = sorted(entry.name for entry in self.folder.glob("*/") if entry.is_dir())
        self.classes = classes
        self.samples = [
            (path, label)
            for label, name in enumerate(classes)
            for path in sorted((self.folder / name).glob("*.jpg"))
        ]
        if not self.samples:
            raise ValueError(
                f"there is no picture in {self.folder}: give a folder such as "
                "digits_folder() / 'train', with one subfolder of .jpg files per class."
            )

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        path, label = self.samples[index]
        picture = read_picture(path, channels=self.channels)
        return (picture if self.transform is None else self.transform(picture)), label


def read_picture(path: str | Path, channels: int = 1) -> torch.Tensor:
    """One picture as float32 (channels, height, width) from 0 to 1.

    Raises:
        ValueError: when the file is missing or is no whole picture; names it and what to do.
    """
    path = Path(path)
    try:
        with Image.open(path) as image:
            pixels = np.asarray(image.convert("L" if channels == 1 else "RGB"))
    except Exception as error:  # Pillow refuses a damaged file in half a dozen ways
        trouble = "is missing" if isinstance(error, FileNotFoundError) else "is damaged"
        raise ValueError(f"the picture {path} {trouble}. {_cure_of(path)}") from error
    tensor = torch.from_numpy(pixels.astype(np.float32) / 255)
    return tensor.reshape(*pixels.shape[:2], channels).permute(2, 0, 1).contiguous()


def _write_then_rename(folder: Path, size: int, quality: int) -> None:
    temporary = folder.with_name(f".{folder.name}.{secrets.token_hex(6)}")
    try:
        _write_pictures(temporary, size, quality)
        # A folder is never moved over one that holds files: whoever comes second loses nothing.
        temporary.rename(folder)
    except OSError as error:
        if folder.exists():
            return
        raise type(error)(
            f"{folder} could not be written ({error.strerror or error}). Free some space or make "
            f"{folder.parent} writable, or set {ARTIFACTS_VARIABLE} to a folder that is."
        ) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _write_pictures(folder: Path, size: int, quality: int) -> None:
    raw = read_digits()
    for part in ("train", "validation"):
        for label in range(10):
            (folder / part / str(label)).mkdir(parents=True)
    grey = np.round(raw.images * (255 / LARGEST_PIXEL)).astype(np.uint8)
    for number, (pixels, label, held_out) in enumerate(
        zip(grey, raw.labels, raw.validation, strict=True)
    ):
        part = "validation" if held_out else "train"
        path = folder / part / str(label) / f"{number:04d}.jpg"
        picture = Image.fromarray(pixels).resize((size, size), Image.Resampling.BICUBIC)
        # No fsync for each of 1797 files: it takes seconds, and `_check_complete` sees empty ones.
        picture.save(path, format="JPEG", quality=quality)


def _check_complete(folder: Path) -> None:
    found = 0
    for label in folder.glob("*/*/"):
        with contextlib.suppress(NotADirectoryError), os.scandir(label) as entries:
            found += sum(
                entry.name.endswith(".jpg") and entry.stat().st_size > 0 for entry in entries
            )
    if found != DIGITS:
        raise ValueError(f"{folder} holds {found} of {DIGITS} pictures. {_cure(folder)}")


def _cure_of(path: Path) -> str:
    folder = next((parent for parent in path.parents if parent.name.startswith("digits_")), None)
    return _cure(folder) if folder else "Put the file back, or make the dataset anew without it."


def _cure(folder: Path) -> str:
    return f"Delete the folder {folder} and call digits_folder() again: it is written anew."
