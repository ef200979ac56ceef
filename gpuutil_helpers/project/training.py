"""Train a classifier and watch it learn: one step, one evaluation, the loop around them, a check.

Read `train_step` first, then `evaluate`, then `fit`, which is those two in a loop.
"""

from __future__ import annotations

import contextlib
import copy
import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import nn

from gpuutil_helpers.project.checks import check_whole

if TYPE_CHECKING:
    import pandas as pd

Batches = Iterable[tuple[torch.Tensor, torch.Tensor]]

LEARNING_RATE = 3e-3


def train_step(
    model: nn.Module,
    images: torch.Tensor,
    labels: torch.Tensor,
    optimizer: torch.optim.Optimizer,
) -> float:
    """Change the weights once, so that the loss on this batch falls.

    `images` has shape (n, channels, height, width), `labels` shape (n,), int64. Returns the mean
    cross entropy of the batch in nats, as it was before the weights changed.
    """
    optimizer.zero_grad()  # backward() adds to the gradients that are stored: remove them first
    scores = model(images)
    loss = F.cross_entropy(scores, labels)
    loss.backward()  # stores a gradient with every weight; changes no weight
    optimizer.step()  # changes the weights; leaves the gradients as they are
    return loss.item()


@dataclass(frozen=True)
class Evaluation:
    """What `evaluate` found on `n` pictures: mean loss in nats, accuracy as a share of 1."""

    loss: float
    accuracy: float
    n: int


def evaluate(model: nn.Module, loader: Batches) -> Evaluation:
    """Mean loss and accuracy over all pictures of `loader`, without changing the model.

    Every picture counts once, so a short last batch counts by its size. Dropout is off and batch
    normalization uses its running statistics. Afterwards, also after an error or an interrupt,
    every layer is back in the mode it was in.

    Raises:
        ValueError: when the loader holds no picture.
    """
    device = device_of(model)
    loss, correct, n = 0.0, 0, 0
    with evaluation_mode(model), torch.no_grad():
        for images, labels in loader:
            images, labels = images.to(device), labels.to(device)
            scores = model(images)
            loss += F.cross_entropy(scores, labels, reduction="sum").item()
            correct += (scores.argmax(dim=1) == labels).sum().item()
            n += len(labels)
    if n == 0:
        raise ValueError("the loader holds no picture to evaluate on: give one with a batch.")
    return Evaluation(loss=loss / n, accuracy=correct / n, n=n)


@dataclass(frozen=True)
class EpochResult:
    """One pass over the training pictures, and the evaluation after it.

    `training_loss` is the mean over the pictures of what the steps reported, each before its own
    change of the weights. `seconds` is the time of the training steps and their loader alone,
    without the evaluation.
    """

    epoch: int
    training_loss: float
    validation_loss: float
    validation_accuracy: float
    seconds: float


@dataclass
class History:
    """What `fit` saw: one `EpochResult` per epoch, and the loss of every step in order."""

    epochs: list[EpochResult] = field(default_factory=list)
    step_losses: list[float] = field(default_factory=list)

    @property
    def frame(self) -> pd.DataFrame:
        """A table with one row per epoch; its columns are the fields of `EpochResult`."""
        import pandas as pd

        return pd.DataFrame(self.epochs, columns=[part.name for part in fields(EpochResult)])


def fit(
    model: nn.Module,
    train_loader: Batches,
    validation_loader: Batches,
    *,
    epochs: int,
    optimizer: torch.optim.Optimizer | None = None,
    device: str | torch.device | None = None,
    progress: bool = False,
    on_epoch: Callable[[EpochResult], None] | None = None,
) -> History:
    """Train `model` for `epochs` passes over `train_loader`, with an evaluation after each.

    The optimizer is Adam at a learning rate of 0.003 unless given, the device the model's own.
    `progress` draws a bar; `on_epoch` gets each epoch's result at once. The model ends up in
    training mode.

    Raises:
        ValueError: for fewer than one epoch, an empty loader, or a device that is not here.
        FloatingPointError: when the loss of a step is not finite; names epoch and step.
    """
    check_whole("epochs", epochs, least=1)
    move(model, device)
    optimizer = optimizer or torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    history = History()
    for epoch in count_epochs(epochs, progress):
        started = time.perf_counter()
        training_loss = train_epoch(model, train_loader, optimizer, history.step_losses, epoch)
        seconds = time.perf_counter() - started  # loss.item() has waited for the device
        seen = evaluate(model, validation_loader)
        result = EpochResult(epoch, training_loss, seen.loss, seen.accuracy, seconds)
        history.epochs.append(result)
        if on_epoch is not None:
            on_epoch(result)
    return history


def train_epoch(
    model: nn.Module,
    loader: Batches,
    optimizer: torch.optim.Optimizer,
    step_losses: list[float],
    epoch: int = 1,
) -> float:
    """One `train_step` for every batch; appends each loss, returns their mean over the pictures.

    Raises:
        ValueError: when the loader holds no picture.
        FloatingPointError: when a loss is not finite; names epoch and step.
    """
    device = device_of(model)
    model.train()
    total, n = 0.0, 0
    for step, (images, labels) in enumerate(loader, start=1):
        loss = train_step(model, images.to(device), labels.to(device), optimizer)
        check_finite(loss, f"step {step} of epoch {epoch}")
        step_losses.append(loss)
        total += loss * len(labels)
        n += len(labels)
    if n == 0:
        raise ValueError("the loader holds no picture to train on: give one with a batch.")
    return total / n


def overfit_one_batch(
    model: nn.Module,
    images: torch.Tensor,
    labels: torch.Tensor,
    *,
    steps: int = 60,
    lr: float = LEARNING_RATE,
) -> list[float]:
    """Train a copy of `model` on one batch again and again, with Adam; the losses of all steps.

    A loop without a mistake drives the loss near 0, for the batch can be learned by heart. The
    model itself stays as it was. Dropout draws from torch's global generator, as in training.

    Raises:
        ValueError: for fewer than one step, or a batch without pictures.
        FloatingPointError: when a loss is not finite; names the step.
    """
    check_whole("steps", steps, least=1)
    if len(images) == 0 or len(images) != len(labels):
        raise ValueError(
            f"the batch has {len(images)} pictures and {len(labels)} labels: give at least one "
            "picture, and one label for each."
        )
    trial = copy.deepcopy(model).train()
    device = device_of(trial)
    images, labels = images.to(device), labels.to(device)
    optimizer = torch.optim.Adam(trial.parameters(), lr=lr)
    losses = []
    for step in range(1, steps + 1):
        losses.append(train_step(trial, images, labels, optimizer))
        check_finite(losses[-1], f"step {step}")
    return losses


def device_of(model: nn.Module) -> torch.device:
    """Where the model's weights are; the CPU for a model without weights."""
    weight = next(model.parameters(), None)
    return torch.device("cpu") if weight is None else weight.device


@contextlib.contextmanager
def evaluation_mode(model: nn.Module) -> Iterator[None]:
    """Evaluation mode inside the `with`; afterwards each layer in the mode that it was in."""
    modes = [(layer, layer.training) for layer in model.modules()]
    try:
        model.eval()
        yield
    finally:
        for layer, mode in modes:
            layer.training = mode


def check_finite(loss: float, where: str) -> None:
    """Stop a run whose loss has become infinite or no number at all."""
    if not math.isfinite(loss):
        raise FloatingPointError(
            f"the loss became {loss} at {where}: lower the learning rate, and check the pictures "
            "for values that are not finite."
        )


def move(model: nn.Module, device: str | torch.device | None) -> None:
    """Bring the model to `device`, or leave it where it is when that is None.

    Raises:
        ValueError: when there is no such device here; the sentence lists what there is.
    """
    if device is not None:
        from gpuutil_helpers.instruments.machine import pick_device

        model.to(pick_device(device))


def count_epochs(epochs: int, progress: bool) -> Iterable[int]:
    """1, 2, ... `epochs`, with a progress bar around it if asked for."""
    numbers = range(1, epochs + 1)
    if not progress:
        return numbers
    from tqdm.auto import tqdm

    return tqdm(numbers, desc="training", unit="epoch")
