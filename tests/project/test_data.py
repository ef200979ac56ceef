"""The digits that ship with the course, and the file that holds them."""

from __future__ import annotations

import hashlib
import re
import shutil

import numpy as np
import pytest
import torch

from gpuutil_helpers.files import data_dir
from gpuutil_helpers.project.data import DigitsDataset, load_digits, read_digits


def test_shapes_types_and_ranges():
    digits = load_digits()
    for part, n in ((digits.train, 1437), (digits.validation, 360)):
        assert len(part) == n
        assert part.images.shape == (n, 1, 8, 8)
        assert part.images.dtype == torch.float32
        assert part.labels.shape == (n,)
        assert part.labels.dtype == torch.int64
        assert part.images.min() == 0.0
        assert part.images.max() == 1.0
        image, label = part[3]
        assert torch.equal(image, part.images[3])
        assert label == part.labels[3]


def test_every_digit_is_held_out_in_proportion_and_no_picture_is_in_both_parts():
    digits = load_digits()
    held_out = torch.bincount(digits.validation.labels)
    trained_on = torch.bincount(digits.train.labels)
    assert torch.all((held_out / (held_out + trained_on) - 0.2).abs() < 0.005)
    seen = {picture.numpy().tobytes() for picture in digits.train.images}
    assert not any(picture.numpy().tobytes() in seen for picture in digits.validation.images)


def test_the_readme_names_the_bytes_that_are_there():
    readme = (data_dir() / "README.md").read_text(encoding="utf-8")
    found = hashlib.sha256((data_dir() / "digits.npz").read_bytes()).hexdigest()
    assert found in readme
    for word in ("Alpaydin", "Kaynak", "CC BY 4.0", "load_digits", "same people"):
        assert word in readme


def test_shuffled_labels_move_in_training_alone():
    plain, shuffled = load_digits(), load_digits(shuffled_labels=3)
    assert torch.equal(plain.train.images, shuffled.train.images)
    assert torch.equal(plain.validation.labels, shuffled.validation.labels)
    assert torch.equal(plain.validation.images, shuffled.validation.images)
    assert torch.equal(plain.train.labels.sort().values, shuffled.train.labels.sort().values)
    assert (plain.train.labels == shuffled.train.labels).float().mean() < 0.15
    again, other = load_digits(shuffled_labels=3), load_digits(shuffled_labels=4)
    assert torch.equal(again.train.labels, shuffled.train.labels)
    assert not torch.equal(other.train.labels, shuffled.train.labels)


def test_loading_draws_nothing_from_the_global_generator():
    before = torch.get_rng_state()
    load_digits(shuffled_labels=0)
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.parametrize(
    ("wrong", "error"), [(-1, ValueError), (True, TypeError), ("0", TypeError)]
)
def test_a_wrong_seed_for_the_labels_is_refused(wrong, error):
    with pytest.raises(error, match=r"shuffled_labels is .*: give a whole number of at least 0"):
        load_digits(shuffled_labels=wrong)


@pytest.fixture
def copy_of_digits(tmp_path):
    return shutil.copy(data_dir() / "digits.npz", tmp_path / "digits.npz")


def test_a_missing_file_is_one_sentence(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no file .*git checkout"):
        read_digits(tmp_path / "none.npz")


def test_a_damaged_file_is_one_sentence_or_harmless(copy_of_digits):
    whole = copy_of_digits.read_bytes()
    truth = read_digits()
    damaged = [whole[:n] for n in (0, 1, 30, 5000, len(whole) - 30)] + [b"<html>404</html>"]
    for at in np.random.default_rng(0).integers(0, len(whole), 60):
        damaged.append(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
    refused = 0
    for content in damaged:
        copy_of_digits.write_bytes(content)
        try:
            raw = read_digits(copy_of_digits)
        except ValueError as error:
            refused += 1
            assert re.fullmatch(r"[^\n]*digits\.npz[^\n]* Restore it with: [^\n]*", str(error))
        else:
            assert np.array_equal(raw.images, truth.images)
            assert np.array_equal(raw.labels, truth.labels)
    assert refused > 50


@pytest.mark.parametrize(
    "change",
    [
        {"images": np.zeros((1797, 8, 9), np.uint8)},
        {"labels": np.zeros(5, np.uint8)},
        {"images": np.full((1797, 8, 8), 17, np.uint8)},
        {"labels": np.full(1797, 10, np.uint8)},
        {"validation": np.zeros(1797, bool)},
        {"images": None},
        {"images": np.array([{}] * 1797)},
    ],
)
def test_other_data_under_that_name_are_refused(copy_of_digits, change):
    with np.load(copy_of_digits) as stored:
        arrays = {**stored, **change}
    kept = {name: value for name, value in arrays.items() if value is not None}
    np.savez_compressed(copy_of_digits, **kept)
    with pytest.raises(ValueError, match=r"digits\.npz .*Restore it with"):
        read_digits(copy_of_digits)


@pytest.mark.parametrize(
    ("images", "labels"), [((4, 8, 8), (4,)), ((4, 1, 8, 8), (3,)), ((4, 1, 8, 8), (4, 1))]
)
def test_pictures_and_labels_that_do_not_belong_together_are_refused(images, labels):
    with pytest.raises(ValueError, match=r"give \(n, channels, height, width\) and \(n,\)"):
        DigitsDataset(torch.zeros(images), torch.zeros(labels, dtype=torch.int64))


def test_labels_of_another_type_are_refused_in_a_sentence():
    with pytest.raises(ValueError, match=r"the labels are torch.float32: give int64"):
        DigitsDataset(torch.zeros(2, 1, 8, 8), torch.zeros(2))
