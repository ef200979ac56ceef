"""Pictures to train on, and the loader that hands them out in batches.

The digits ship with the course and lie in memory as 8 x 8 numbers. `pictures.py` has the same
digits as JPEG files. FashionMNIST and CIFAR-10 are there for those who are online.
"""

from __future__ import annotations

import multiprocessing
import traceback
from collections.abc import Iterator, Sized
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, Sampler

from gpuutil_helpers.files import artifacts_dir, data_dir
from gpuutil_helpers.project.checks import check_whole

if TYPE_CHECKING:
    from torchvision.datasets import VisionDataset

DIGITS = 1797
HELD_OUT = 360
LARGEST_PIXEL = 16
TORCHVISION_NAMES = ("FashionMNIST", "CIFAR-10")


class DigitsDataset(Dataset):
    """Pictures and labels that lie in memory.

    `images` is float32 of shape (n, channels, height, width), `labels` int64 of shape (n,). Item i
    is the pair of `images[i]` and `labels[i]`. It can be sent to a worker by any start method.
    """

    def __init__(self, images: torch.Tensor, labels: torch.Tensor) -> None:
        if images.ndim != 4 or labels.ndim != 1 or len(images) != len(labels):
            raise ValueError(
                f"the pictures have shape {tuple(images.shape)} and the labels "
                f"{tuple(labels.shape)}: give (n, channels, height, width) and (n,)."
            )
        if labels.dtype != torch.int64:
            raise ValueError(f"the labels are {labels.dtype}: give int64, by labels.long().")
        self.images = images
        self.labels = labels

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        return self.images[index], self.labels[index]


@dataclass(frozen=True)
class Digits:
    """1437 pictures to train on and 360 that training never sees, 36 or so of each digit."""

    train: DigitsDataset
    validation: DigitsDataset


@dataclass(frozen=True)
class RawDigits:
    """The file as it is: images (1797, 8, 8) in 0..16, labels (1797,), validation (1797,) bool."""

    images: np.ndarray
    labels: np.ndarray
    validation: np.ndarray


def read_digits(path: str | Path | None = None) -> RawDigits:
    """Read and check the file of digits, `data/digits.npz` unless `path` names another.

    Raises:
        FileNotFoundError: when there is no such file.
        ValueError: when the file is damaged or holds something else.
    """
    path = Path(path) if path is not None else data_dir() / "digits.npz"
    cure = "Restore it with: git checkout -- data/digits.npz"
    try:
        with np.load(path, allow_pickle=False) as stored:
            raw = RawDigits(stored["images"], stored["labels"], stored["validation"].astype(bool))
    except FileNotFoundError:
        raise FileNotFoundError(
            f"the digits are missing: there is no file {path}. {cure}"
        ) from None
    except Exception as error:  # zipfile, zlib and NumPy have a dozen ways to refuse a damaged file
        raise ValueError(f"the digits cannot be read: {path} is damaged. {cure}") from error
    shapes = (raw.images.shape, raw.labels.shape, raw.validation.shape)
    if shapes != ((DIGITS, 8, 8), (DIGITS,), (DIGITS,)) or raw.validation.sum() != HELD_OUT:
        raise ValueError(f"{path} holds other data than the {DIGITS} digits. {cure}")
    if raw.images.max() > LARGEST_PIXEL or raw.labels.max() > 9:
        raise ValueError(f"{path} holds pixels above {LARGEST_PIXEL} or labels above 9. {cure}")
    return raw


def load_digits(*, shuffled_labels: int | None = None) -> Digits:
    """The digits as tensors: pictures (n, 1, 8, 8), float32 from 0 to 1, and labels (n,), int64.

    Args:
        shuffled_labels: a seed; the labels of the training pictures then change places, so that
            picture and label no longer belong together. Validation labels stay as they are.

    Raises:
        FileNotFoundError, ValueError: when the file is missing or damaged.
    """
    raw = read_digits()
    images = torch.from_numpy(raw.images).to(torch.float32).div(LARGEST_PIXEL).unsqueeze(1)
    labels = torch.from_numpy(raw.labels).to(torch.int64)
    held_out = torch.from_numpy(raw.validation)
    train_labels = labels[~held_out]
    if shuffled_labels is not None:
        check_whole("shuffled_labels", shuffled_labels, least=0)
        generator = torch.Generator().manual_seed(shuffled_labels)
        train_labels = train_labels[torch.randperm(len(train_labels), generator=generator)]
    return Digits(
        train=DigitsDataset(images[~held_out], train_labels),
        validation=DigitsDataset(images[held_out], labels[held_out]),
    )


class EpochOrder(Sampler):
    """The order of one epoch: shuffled anew for each, by the seed and the epoch's number alone.

    Every pass counts as an epoch. Set `epoch` to start elsewhere.
    """

    def __init__(self, n: int, seed: int) -> None:
        self.n = n
        self.seed = seed
        self.epoch = 0

    def __len__(self) -> int:
        return self.n

    def __iter__(self) -> Iterator[int]:
        # SeedSequence mixes both numbers: seed 1, epoch 0 is not seed 0, epoch 1.
        mixed = np.random.SeedSequence((self.seed, self.epoch)).generate_state(1)[0]
        self.epoch += 1
        generator = torch.Generator().manual_seed(int(mixed))
        return iter(torch.randperm(self.n, generator=generator).tolist())


class _Loader(DataLoader):
    """A DataLoader without two habits that hurt in a notebook; in all else torch's own."""

    def check_worker_number_rationality(self) -> None:
        # torch warns, with a local path, when workers outnumber CPUs. A sweep does that on purpose.
        return None

    def __iter__(self) -> Iterator:
        if not self.num_workers:
            return super().__iter__()
        try:
            return _Batches(super().__iter__())
        except BaseException as error:
            _let_go(error)
            raise


class _Batches:
    """torch's iterator, let go of as soon as it fails or is interrupted."""

    def __init__(self, batches: Iterator) -> None:
        self._batches = batches

    def __iter__(self) -> Iterator:
        return self

    def __next__(self) -> object:
        try:
            return next(self._batches)
        except StopIteration:
            raise
        except BaseException as error:
            self._batches = iter(())
            _let_go(error)
            raise


def _let_go(error: BaseException) -> None:
    # A notebook keeps the last traceback, its frames hold torch's iterator, and that its workers.
    traceback.clear_frames(error.__traceback__)


def make_loader(
    dataset: Dataset,
    batch_size: int,
    *,
    shuffle: bool = False,
    workers: int = 0,
    seed: int = 0,
    start_method: str | None = None,
    drop_last: bool = False,
    persistent_workers: bool = False,
) -> DataLoader:
    """A loader whose order depends on `seed` and the epoch, and on nothing else.

    Neither the number of workers nor torch's global generator changes the order, and making or
    using the loader draws nothing from that generator.

    Args:
        dataset: anything with a length and items of picture and label.
        batch_size: pictures per batch; the last batch is smaller unless `drop_last`.
        shuffle: a new order in every epoch, or the dataset's own.
        workers: processes that prepare batches; 0 prepares them in this process.
        start_method: "fork", "spawn" or "forkserver" for the workers; the system's own unless
            given. Without workers nothing is started.
        persistent_workers: keep the workers alive from one epoch to the next.

    Raises:
        TypeError, ValueError: for an argument that cannot work, with what would.
    """
    check_whole("batch_size", batch_size, least=1)
    check_whole("workers", workers, least=0)
    check_whole("seed", seed, least=0)
    n = _length(dataset)
    if drop_last and n < batch_size:
        raise ValueError(
            f"{n} pictures do not fill one batch of {batch_size}, and drop_last drops the rest: "
            "take a smaller batch_size or drop_last=False."
        )
    _check_start_method(start_method)
    return _Loader(
        dataset,
        batch_size=batch_size,
        sampler=EpochOrder(n, seed) if shuffle else None,
        num_workers=workers,
        generator=torch.Generator().manual_seed(seed),
        multiprocessing_context=start_method if workers else None,
        drop_last=drop_last,
        persistent_workers=persistent_workers and workers > 0,
    )


def torchvision_dataset(
    name: str, root: str | Path | None = None, train: bool = True, download: bool = False
) -> VisionDataset:
    """FashionMNIST (1 x 28 x 28) or CIFAR-10 (3 x 32 x 32), float32 from 0 to 1, ten classes.

    torchvision's own loader reads `root`, `artifacts/datasets` unless given. `download=True`
    fetches the files first (about 30 and 170 MB) where they are not there yet.

    Raises:
        ValueError: for another name.
        FileNotFoundError: when the files are missing, damaged or cannot be fetched.
    """
    from torchvision import datasets, transforms

    if name not in TORCHVISION_NAMES:
        raise ValueError(
            f"there is no dataset {name!r} here: give {' or '.join(TORCHVISION_NAMES)}."
        )
    make = {"FashionMNIST": datasets.FashionMNIST, "CIFAR-10": datasets.CIFAR10}[name]
    root = Path(root) if root is not None else artifacts_dir() / "datasets"
    try:
        return make(str(root), train=train, transform=transforms.ToTensor(), download=download)
    except Exception as error:  # torchvision does not check all that it reads
        cure = (
            "check the network and the free space, then try again."
            if download
            else "pass download=True once while online."
        )
        raise FileNotFoundError(f"{name} is not in {root}, or not whole: {cure}") from error


def _length(dataset: Dataset) -> int:
    if not isinstance(dataset, Sized):
        raise TypeError(
            f"a {type(dataset).__name__} has no length: give a dataset of known size, such as "
            "load_digits().train."
        )
    if len(dataset) == 0:
        raise ValueError("the dataset is empty: give one that holds a picture.")
    return len(dataset)


def _check_start_method(start_method: str | None) -> None:
    known = multiprocessing.get_all_start_methods()
    if start_method is not None and start_method not in known:
        raise ValueError(
            f"start_method is {start_method!r}, and this system knows {', '.join(known)}: "
            "give one of these, or None for its own."
        )
