"""Look at a reader's `train_step` from outside: run it twice on a tiny network and watch."""

from __future__ import annotations

import contextlib
import copy
import linecache
import math
import random
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from gpuutil_helpers.project import training
from gpuutil_helpers.project.models import SmallConvNet

TrainStep = Callable[[nn.Module, torch.Tensor, torch.Tensor, torch.optim.Optimizer], float]


@dataclass(frozen=True)
class StepFacts:
    """What two calls of a `train_step` did to a tiny network, each on its own batch.

    Attributes:
        changes_weights: each call left other weights than it found.
        zeroes_gradients: no gradient of the first call was left when the second one's arrived.
        runs_backward: gradients arrived in each call.
        calls_step: `optimizer.step()` ran in each call.
        steps_after_backward: at each step, the gradients of the same call had arrived.
        gradients_at_step: at each step there were gradients, not emptied ones.
        returns_loss: each call returned a float, the batch's cross entropy before the step.
        returned: what the last call returned.
        in_training_mode: the network computed in training mode, and was left in it.
        same_as_reference: the weights afterwards are those that `training.train_step` leaves.
        expected_loss: that batch's mean cross entropy before the step, in nats.
        error: the exception that ended the probe, as one line; the rest is then False.
        error_at: the line of the function where it arose, or None where that cannot be told.
    """

    changes_weights: bool = False
    zeroes_gradients: bool = False
    runs_backward: bool = False
    calls_step: bool = False
    steps_after_backward: bool = False
    gradients_at_step: bool = False
    returns_loss: bool = False
    returned: object = None
    in_training_mode: bool = False
    same_as_reference: bool = False
    expected_loss: float = math.nan
    error: str | None = None
    error_at: str | None = None

    @property
    def sound(self) -> bool:
        """Whether the step does what the reference does and reports it rightly."""
        return self.same_as_reference and self.returns_loss and self.in_training_mode


@dataclass
class _Call:
    """What was seen during one call."""

    fresh_gradients: list[bool] = field(default_factory=list)
    modes: list[bool] = field(default_factory=list)
    arrived_at_step: list[bool] = field(default_factory=list)
    filled_at_step: list[bool] = field(default_factory=list)
    changed: bool = False
    expected_loss: float = math.nan
    returned: object = None


def probe(train_step: TrainStep) -> StepFacts:
    """Call `train_step` twice in this process and report what it did; a second or less.

    The global random generators, the thread count and whether gradients are recorded are the same
    afterwards as before, whatever the function does.
    """
    with _undisturbed():
        torch.default_generator.manual_seed(0)  # torch.manual_seed would reseed the GPUs too
        model = SmallConvNet(width=2, dropout=0.0)
        batches = [(torch.rand(6, 1, 8, 8), torch.arange(6) + k) for k in (0, 3)]
        reference = _weights_of_reference(copy.deepcopy(model), batches)
        try:
            calls = _watch(train_step, model, batches)
        except Exception as error:  # whatever the reader's code may raise is a fact about it
            return StepFacts(error=_one_line(error), error_at=_line_of(error, train_step))
        return StepFacts(
            changes_weights=all(call.changed for call in calls),
            zeroes_gradients=calls[-1].fresh_gradients[:1] == [True],
            runs_backward=all(call.fresh_gradients for call in calls),
            calls_step=all(call.arrived_at_step for call in calls),
            steps_after_backward=all(_always(call.arrived_at_step) for call in calls),
            gradients_at_step=all(_always(call.filled_at_step) for call in calls),
            returns_loss=all(_is_loss(call) for call in calls),
            returned=calls[-1].returned,
            expected_loss=calls[-1].expected_loss,
            in_training_mode=model.training and all(_always(call.modes) for call in calls),
            same_as_reference=all(
                torch.allclose(ours, theirs, rtol=1e-4, atol=1e-6)
                for ours, theirs in zip(reference, model.parameters(), strict=True)
            ),
        )


def _weights_of_reference(model: nn.Module, batches: list) -> list[torch.Tensor]:
    optimizer = torch.optim.SGD(model.train().parameters(), lr=0.1)
    for images, labels in batches:
        training.train_step(model, images, labels, optimizer)
    return list(model.parameters())


def _watch(train_step: TrainStep, model: nn.Module, batches: list) -> list[_Call]:
    """Run `train_step` on each batch with hooks that write down what happens when."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    calls: list[_Call] = []
    first, *_ = parameters = list(model.parameters())

    def on_forward(module: nn.Module, inputs: object) -> None:
        calls[-1].modes.append(module.training)

    def on_gradient(gradient: torch.Tensor) -> None:
        # Runs before the gradient is added to .grad. The first of a call tells what was left there.
        calls[-1].fresh_gradients.append(first.grad is None or not bool(first.grad.any()))

    def before_step(*_: object) -> None:
        filled = any(p.grad is not None and bool(p.grad.any()) for p in parameters)
        calls[-1].arrived_at_step.append(bool(calls[-1].fresh_gradients))
        calls[-1].filled_at_step.append(filled)

    for images, labels in batches:
        expected = copy.deepcopy(model.train())
        with torch.no_grad():
            loss = F.cross_entropy(expected(images), labels).item()
        before = [p.detach().clone() for p in parameters]
        calls.append(_Call(expected_loss=loss))
        with contextlib.ExitStack() as hooks:
            for handle in (
                model.features.register_forward_pre_hook(on_forward),  # also by model.forward()
                first.register_hook(on_gradient),
                optimizer.register_step_pre_hook(before_step),
            ):
                hooks.callback(handle.remove)
            calls[-1].returned = train_step(model, images, labels, optimizer)
        calls[-1].changed = any(
            not torch.equal(p.detach(), old) for p, old in zip(parameters, before, strict=True)
        )
    return calls


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Put back afterwards: random generators, thread count, grad mode, filters for warnings."""
    python, numpy, threads = random.getstate(), np.random.get_state(), torch.get_num_threads()
    try:
        with (
            torch.random.fork_rng(devices=[]),
            torch.inference_mode(False),
            torch.enable_grad(),
            warnings.catch_warnings(action="ignore"),  # they print the paths of temporary files
        ):
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)
        if torch.get_num_threads() != threads:
            torch.set_num_threads(threads)


def _always(seen: list[bool]) -> bool:
    """True where it was seen at least once and never otherwise."""
    return bool(seen) and all(seen)


def _is_loss(call: _Call) -> bool:
    loss = call.returned
    return type(loss) is float and math.isclose(loss, call.expected_loss, rel_tol=1e-3)


def _line_of(error: Exception, train_step: TrainStep) -> str | None:
    """The text of the function's own line that the exception came through."""
    code = getattr(train_step, "__code__", None)
    frames = traceback.walk_tb(error.__traceback__)
    numbers = [number for frame, number in frames if frame.f_code is code]
    if not numbers:
        return None
    return linecache.getline(code.co_filename, numbers[-1]).partition("#")[0].strip() or None


def _one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())
