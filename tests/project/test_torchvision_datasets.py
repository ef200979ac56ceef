"""FashionMNIST and CIFAR-10 through torchvision's own loaders, on tiny files in their formats."""

from __future__ import annotations

import gzip
import hashlib
import pickle
import shutil
import struct
import tarfile

import numpy as np
import pytest
import torch
from torchvision import datasets

from gpuutil_helpers.project.data import make_loader, torchvision_dataset
from gpuutil_helpers.project.models import SmallConvNet
from gpuutil_helpers.project.training import fit

N = 40


def md5(path):
    return hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()


@pytest.fixture
def root(tmp_path):
    return tmp_path / "datasets"


@pytest.fixture
def fashion(root, tmp_path, monkeypatch):
    """Puts four gzipped idx files where torchvision's download leaves them; then no network."""
    resources = []
    raw = root / "FashionMNIST" / "raw"
    raw.mkdir(parents=True)
    rng = np.random.default_rng(0)
    for part in ("train", "t10k"):
        images = rng.integers(0, 256, (N, 28, 28), dtype=np.uint8).tobytes()
        labels = (np.arange(N, dtype=np.uint8) % 10).tobytes()
        files = {
            f"{part}-images-idx3-ubyte.gz": struct.pack(">IIII", 2051, N, 28, 28) + images,
            f"{part}-labels-idx1-ubyte.gz": struct.pack(">II", 2049, N) + labels,
        }
        for name, content in files.items():
            (raw / name).write_bytes(gzip.compress(content))
            resources.append((name, md5(raw / name)))
    monkeypatch.setattr(datasets.FashionMNIST, "resources", resources)
    nowhere = (tmp_path / "nowhere").as_uri() + "/"
    monkeypatch.setattr(datasets.FashionMNIST, "mirrors", [nowhere])
    return "FashionMNIST", (1, 28, 28), N


@pytest.fixture
def cifar(root, tmp_path, monkeypatch):
    """Puts a tar of pickled batches where torchvision's download leaves it; then no network."""
    inside = tmp_path / "build" / "cifar-10-batches-py"
    inside.mkdir(parents=True)
    rng = np.random.default_rng(0)
    sums = {}
    for name in [f"data_batch_{k}" for k in range(1, 6)] + ["test_batch"]:
        pixels = rng.integers(0, 256, (N // 5, 3 * 32 * 32), dtype=np.uint8)
        content = {"data": pixels, "labels": [k % 10 for k in range(N // 5)]}
        (inside / name).write_bytes(pickle.dumps(content))
        sums[name] = md5(inside / name)
    names = {"label_names": [f"class {k}" for k in range(10)]}
    (inside / "batches.meta").write_bytes(pickle.dumps(names))
    root.mkdir()
    archive = root / "cifar-10-python.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(inside, arcname="cifar-10-batches-py")
    base = datasets.CIFAR10
    monkeypatch.setattr(base, "url", (tmp_path / "nowhere" / archive.name).as_uri())
    monkeypatch.setattr(base, "tgz_md5", md5(archive))
    monkeypatch.setattr(base, "train_list", [[n, s] for n, s in sums.items() if "data" in n])
    monkeypatch.setattr(base, "test_list", [["test_batch", sums["test_batch"]]])
    monkeypatch.setattr(base, "meta", {**base.meta, "md5": md5(inside / "batches.meta")})
    return "CIFAR-10", (3, 32, 32), N // 5


@pytest.mark.parametrize("kind", ["fashion", "cifar"])
def test_the_same_fit_takes_them(kind, root, request):
    name, shape, n_test = request.getfixturevalue(kind)
    with pytest.raises(FileNotFoundError, match=rf"{name} is not in .*pass download=True once"):
        torchvision_dataset(name, root=root)
    torchvision_dataset(name, root=root, download=True)
    train = torchvision_dataset(name, root=root)
    validation = torchvision_dataset(name, root=root, train=False)
    assert (len(train), len(validation)) == (N, n_test)
    image, label = train[3]
    assert image.shape == shape
    assert image.dtype == torch.float32
    assert 0 <= image.min() < image.max() <= 1
    assert label == 3
    torch.manual_seed(0)
    model = SmallConvNet(channels=shape[0], size=shape[1], width=4)
    loader = make_loader(train, 16, shuffle=True)
    history = fit(model, loader, make_loader(validation, 16), epochs=2)
    assert history.frame.training_loss.notna().all()
    assert len(history.step_losses) == 6


@pytest.mark.parametrize("kind", ["fashion", "cifar"])
def test_a_download_that_fails_is_one_sentence(kind, root, request):
    name, *_ = request.getfixturevalue(kind)
    shutil.rmtree(root)
    with pytest.raises(FileNotFoundError, match="check the network and the free space") as told:
        torchvision_dataset(name, root=root, download=True)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("n", [0, 3, 1000])
def test_a_damaged_file_is_one_sentence(fashion, root, n):
    torchvision_dataset("FashionMNIST", root=root, download=True)
    raw = root / "FashionMNIST" / "raw" / "train-images-idx3-ubyte"
    raw.write_bytes(raw.read_bytes()[:n])
    with pytest.raises(FileNotFoundError, match=r"FashionMNIST is not in .*, or not whole"):
        torchvision_dataset("FashionMNIST", root=root)


def test_another_name_is_refused_with_those_that_exist(root):
    with pytest.raises(ValueError, match="no dataset 'MNIST' here: give FashionMNIST or CIFAR-10"):
        torchvision_dataset("MNIST", root=root)
