"""The network: shapes, sentences for wrong ones, and the loss before any training."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F

from gpuutil_helpers.project.models import SmallConvNet


@pytest.mark.parametrize(("channels", "size"), [(1, 8), (1, 28), (3, 32), (3, 64), (1, 7)])
def test_takes_every_size_of_the_course(channels, size):
    model = SmallConvNet(channels=channels, size=size, classes=7, width=4)
    assert model(torch.rand(5, channels, size, size)).shape == (5, 7)


@pytest.mark.parametrize("shape", [(5, 8, 8), (5, 3, 8, 8), (5, 1, 8, 9), (5, 1, 16, 16), (64,)])
def test_a_wrong_shape_is_one_sentence_with_both_shapes(shape):
    with pytest.raises(ValueError, match=r"takes pictures of shape \(n, 1, 8, 8\) and got") as told:
        SmallConvNet()(torch.rand(shape))
    assert str(shape) in str(told.value)


@pytest.mark.parametrize("mode", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_untrained_it_is_about_as_good_as_guessing(mode, seed):
    torch.manual_seed(seed)
    model = SmallConvNet().train(mode)
    loss = F.cross_entropy(model(torch.rand(64, 1, 8, 8)), torch.arange(64) % 10).item()
    assert loss == pytest.approx(math.log(10), abs=0.15)


def test_dropout_is_random_in_training_mode_alone():
    torch.manual_seed(0)
    model, images = SmallConvNet(dropout=0.5), torch.rand(8, 1, 8, 8)
    assert not torch.equal(model(images), model(images))
    model.eval()
    assert torch.equal(model(images), model(images))


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"channels": 0}, ValueError),
        ({"size": 3}, ValueError),
        ({"classes": 1}, ValueError),
        ({"width": 0}, ValueError),
        ({"dropout": 1.0}, ValueError),
        ({"dropout": -0.1}, ValueError),
        ({"width": 2.5}, TypeError),
        ({"size": True}, TypeError),
        ({"dropout": "a lot"}, TypeError),
    ],
)
def test_arguments_out_of_bounds_are_named(wrong, error):
    (name,) = wrong
    with pytest.raises(error, match=rf"^{name} is .*: give "):
        SmallConvNet(**wrong)


def test_pictures_that_are_no_float_tensor_are_refused_in_a_sentence():
    for images in (torch.zeros(2, 1, 8, 8, dtype=torch.uint8), torch.zeros(2, 1, 8, 8).numpy()):
        with pytest.raises(TypeError, match="takes a float32 tensor and got"):
            SmallConvNet()(images)
