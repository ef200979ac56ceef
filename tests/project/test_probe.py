"""Each way of getting `train_step` wrong leaves its own facts, and the probe leaves nothing."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from gpuutil_helpers.project import training
from gpuutil_helpers.project.probe import probe


def loss_of(model, images, labels):
    return F.cross_entropy(model(images), labels)


def right(model, images, labels, optimizer):
    optimizer.zero_grad()
    loss = loss_of(model, images, labels)
    loss.backward()
    optimizer.step()
    return loss.item()


def zero_at_the_end(model, images, labels, optimizer):
    loss = loss_of(model, images, labels)
    loss.backward()
    optimizer.step()
    model.zero_grad()
    return float(loss)  # newer versions of torch warn of this


def keeps_the_graph_and_looks_twice(model, images, labels, optimizer):
    model.train()
    model(images)
    for weight in model.parameters():
        weight.grad = None
    loss = F.nll_loss(F.log_softmax(model(images), dim=1), labels)
    loss.backward(retain_graph=True)
    optimizer.step()
    return loss.item()


def no_zero_grad(model, images, labels, optimizer):
    loss = loss_of(model, images, labels)
    loss.backward()
    optimizer.step()
    return loss.item()


def zero_between_backward_and_step(model, images, labels, optimizer):
    loss = loss_of(model, images, labels)
    loss.backward()
    optimizer.zero_grad()
    optimizer.step()
    return loss.item()


def step_before_backward(model, images, labels, optimizer):
    optimizer.zero_grad()
    loss = loss_of(model, images, labels)
    optimizer.step()
    loss.backward()
    return loss.item()


def step_first_with_old_gradients(model, images, labels, optimizer):
    optimizer.step()
    optimizer.zero_grad()
    loss = loss_of(model, images, labels)
    loss.backward()
    return loss.item()


def no_backward(model, images, labels, optimizer):
    optimizer.zero_grad()
    loss = loss_of(model, images, labels)
    optimizer.step()
    return loss.item()


def no_step(model, images, labels, optimizer):
    optimizer.zero_grad()
    loss = loss_of(model, images, labels)
    loss.backward()
    return loss.item()


def returns_a_tensor(model, images, labels, optimizer):
    optimizer.zero_grad()
    loss = loss_of(model, images, labels)
    loss.backward()
    optimizer.step()
    return loss


def returns_nothing(model, images, labels, optimizer):
    right(model, images, labels, optimizer)


def returns_the_loss_from_afterwards(model, images, labels, optimizer):
    right(model, images, labels, optimizer)
    return loss_of(model, images, labels).item()


def evaluation_mode(model, images, labels, optimizer):
    model.eval()
    return right(model, images, labels, optimizer)


def another_loss(model, images, labels, optimizer):
    optimizer.zero_grad()
    loss = F.mse_loss(model(images), F.one_hot(labels, 10).float())
    loss.backward()
    optimizer.step()
    return loss.item()


def own_optimizer(model, images, labels, optimizer):
    return right(model, images, labels, torch.optim.SGD(model.parameters(), lr=1.0))


def backward_twice(model, images, labels, optimizer):
    optimizer.zero_grad()
    loss = loss_of(model, images, labels)
    loss.backward(retain_graph=True)
    loss.backward()
    optimizer.step()
    return loss.item()


ALL = {
    "changes_weights",
    "zeroes_gradients",
    "runs_backward",
    "calls_step",
    "steps_after_backward",
    "gradients_at_step",
    "returns_loss",
    "in_training_mode",
    "same_as_reference",
}


@pytest.mark.parametrize(
    ("train_step", "untrue"),
    [
        (right, set()),
        (training.train_step, set()),
        (zero_at_the_end, set()),
        (keeps_the_graph_and_looks_twice, set()),
        (no_zero_grad, {"zeroes_gradients", "same_as_reference"}),
        (
            zero_between_backward_and_step,
            {"gradients_at_step", "changes_weights", "same_as_reference"},
        ),
        (
            step_before_backward,
            {"steps_after_backward", "gradients_at_step", "changes_weights", "same_as_reference"},
        ),
        (
            step_first_with_old_gradients,
            ALL - {"zeroes_gradients", "in_training_mode", "runs_backward", "calls_step"},
        ),
        (
            no_backward,
            ALL - {"calls_step", "returns_loss", "in_training_mode"},
        ),
        (
            no_step,
            ALL - {"zeroes_gradients", "runs_backward", "returns_loss", "in_training_mode"},
        ),
        (returns_a_tensor, {"returns_loss"}),
        (returns_nothing, {"returns_loss"}),
        (returns_the_loss_from_afterwards, {"returns_loss"}),
        (evaluation_mode, {"in_training_mode", "same_as_reference", "returns_loss"}),
        (another_loss, {"returns_loss", "same_as_reference"}),
        (
            own_optimizer,
            {"calls_step", "steps_after_backward", "gradients_at_step", "same_as_reference"},
        ),
        (backward_twice, {"same_as_reference"}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_each_mistake_has_its_facts(train_step, untrue):
    facts = probe(train_step)
    assert {name for name in ALL if not getattr(facts, name)} == untrue
    assert facts.error is None
    assert facts.sound == (not untrue)


def test_what_was_returned_stands_beside_what_was_expected():
    facts = probe(returns_the_loss_from_afterwards)
    assert isinstance(facts.returned, float)
    assert facts.returned != pytest.approx(facts.expected_loss, rel=1e-3)
    assert probe(right).returned == pytest.approx(probe(right).expected_loss, rel=1e-3)
    assert probe(returns_nothing).returned is None


def test_the_mode_is_seen_where_forward_is_called_by_its_name():
    def by_name(model, images, labels, optimizer):
        optimizer.zero_grad()
        loss = F.cross_entropy(model.forward(images), labels)
        loss.backward()
        optimizer.step()
        return loss.item()

    assert probe(by_name).sound


def test_an_exception_is_placed_at_the_readers_own_line():
    assert probe(scores_and_labels_swapped).error_at == (
        "F.cross_entropy(labels, model(images)).backward()"
    )
    assert probe(lambda model: model).error_at is None


def other_order(images, labels, model, optimizer):
    return right(model, images, labels, optimizer)


def scores_and_labels_swapped(model, images, labels, optimizer):
    F.cross_entropy(labels, model(images)).backward()


def raises(model, images, labels, optimizer):
    raise RuntimeError("first line\n   second line")


@pytest.mark.parametrize(
    ("train_step", "error"),
    [
        (other_order, "object is not callable"),
        (scores_and_labels_swapped, "Error: "),
        (raises, "RuntimeError: first line second line"),
        (lambda model: model, "TypeError: "),
    ],
)
def test_an_exception_is_kept_as_one_line_and_nothing_is_claimed(train_step, error):
    facts = probe(train_step)
    assert error in facts.error
    assert "\n" not in facts.error
    assert not any(getattr(facts, name) for name in ALL)


def test_the_probe_disturbs_nothing():
    def meddles(model, images, labels, optimizer):
        torch.manual_seed(99)
        torch.rand(3)
        random.seed(99)
        np.random.seed(99)
        torch.set_num_threads(2)
        torch.set_grad_enabled(False)
        raise ValueError

    random.seed(1)
    np.random.seed(1)
    torch.manual_seed(1)
    before = torch.get_rng_state()
    expected = random.Random(1).random(), np.random.RandomState(1).rand()
    assert probe(meddles).error == "ValueError:"
    assert probe(right).same_as_reference
    assert torch.equal(before, torch.get_rng_state())
    assert (random.random(), np.random.rand()) == expected
    assert torch.get_num_threads() == 1
    assert torch.is_grad_enabled()


def test_it_works_where_gradients_are_off():
    with torch.no_grad():
        assert probe(right).same_as_reference
        assert not torch.is_grad_enabled()
    with torch.inference_mode():
        assert probe(right).same_as_reference
