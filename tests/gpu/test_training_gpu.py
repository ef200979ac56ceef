"""Training on a real CUDA device; conftest skips it with a reason where none is."""

from __future__ import annotations

import pytest
import torch

from gpuutil_helpers.project.data import load_digits, make_loader
from gpuutil_helpers.project.models import SmallConvNet
from gpuutil_helpers.project.training import evaluate, fit, overfit_one_batch

pytestmark = pytest.mark.gpu


def train(device, epochs):
    """Dropout draws other numbers on each device, so it is off where both are compared."""
    digits = load_digits()
    torch.manual_seed(0)
    model = SmallConvNet(dropout=0.0)
    train_loader = make_loader(digits.train, 32, shuffle=True)
    validation_loader = make_loader(digits.validation, 64)
    history = fit(model, train_loader, validation_loader, epochs=epochs, device=device)
    return model, history, validation_loader


def test_the_losses_are_close_to_the_cpus():
    _, here, _ = train("cpu", epochs=1)
    _, there, _ = train("cuda", epochs=1)
    assert here.step_losses[0] == pytest.approx(there.step_losses[0], rel=1e-3)
    assert here.step_losses[:5] == pytest.approx(there.step_losses[:5], rel=0.02)
    first, second = here.epochs[0], there.epochs[0]
    assert first.training_loss == pytest.approx(second.training_loss, rel=0.1)
    assert first.validation_accuracy == pytest.approx(second.validation_accuracy, abs=0.05)


def test_it_reads_the_digits_and_stays_on_the_device():
    model, history, validation_loader = train("cuda", epochs=8)
    assert {weight.device.type for weight in model.parameters()} == {"cuda"}
    last = history.epochs[-1]
    assert last.validation_accuracy > 0.95
    assert evaluate(model, validation_loader).accuracy == last.validation_accuracy


def test_one_batch_is_learned_by_heart_from_pictures_on_the_cpu():
    digits = load_digits()
    torch.manual_seed(0)
    model = SmallConvNet().to("cuda")
    images, labels = digits.train.images[:32], digits.train.labels[:32]
    assert overfit_one_batch(model, images, labels)[-1] < 0.05
