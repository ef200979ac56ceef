"""The loop: what one step does, what an evaluation counts, and that `fit` is no more than both."""

from __future__ import annotations

import copy
import itertools

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from gpuutil_helpers.project import training
from gpuutil_helpers.project.data import DigitsDataset, load_digits, make_loader
from gpuutil_helpers.project.models import SmallConvNet
from gpuutil_helpers.project.training import evaluate, fit, overfit_one_batch, train_step


@pytest.fixture(scope="module")
def digits():
    return load_digits()


@pytest.fixture
def small(digits):
    """70 training pictures, in batches of 32, 32 and 6; 50 to validate on."""
    train = DigitsDataset(digits.train.images[:70], digits.train.labels[:70])
    validation = DigitsDataset(digits.validation.images[:50], digits.validation.labels[:50])
    return train, validation


def network(seed=0, **options):
    torch.manual_seed(seed)
    return SmallConvNet(**options)


def state(model):
    return {name: value.clone() for name, value in model.state_dict().items()}


def equal(one, other):
    return all(torch.equal(one[name], other[name]) for name in one)


# ---- one step


def test_a_step_uses_the_gradient_of_its_own_batch_alone(digits):
    images, labels = digits.train.images[:32], digits.train.labels[:32]
    model = network(dropout=0.0)
    twin = copy.deepcopy(model)
    F.cross_entropy(twin(images), labels).backward()
    for weight in model.parameters():
        weight.grad = torch.ones_like(weight)  # what an earlier step may have left
    before = [weight.detach().clone() for weight in model.parameters()]
    train_step(model, images, labels, torch.optim.SGD(model.parameters(), lr=0.5))
    for old, new, other in zip(before, model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(new.detach(), old - 0.5 * other.grad)


def test_a_step_returns_the_loss_from_before_it(digits):
    images, labels = digits.train.images[:32], digits.train.labels[:32]
    model = network(dropout=0.0)
    expected = F.cross_entropy(copy.deepcopy(model)(images), labels).item()
    loss = train_step(model, images, labels, torch.optim.SGD(model.parameters(), lr=0.05))
    assert isinstance(loss, float)
    assert loss == expected
    assert F.cross_entropy(model(images), labels).item() < loss


# ---- evaluation


class Fixed(nn.Module):
    """Answers with the pictures themselves as scores, so that a loss can be worked out by hand."""

    def forward(self, images):
        assert not torch.is_grad_enabled()  # an evaluation needs no graph
        return images.flatten(start_dim=1)


def test_a_short_last_batch_counts_by_its_size():
    # Scores (0, 0) cost ln 2 whatever the label; (0, ln 3) cost ln 4 for 0 and ln 4/3 for 1.
    even, sure = torch.zeros(4, 2), torch.tensor([[0.0, torch.log(torch.tensor(3.0))]])
    labels, last_label = torch.zeros(4, dtype=torch.int64), torch.tensor([1])
    batches = [(even, labels), (sure, last_label)]
    seen = evaluate(Fixed(), batches)
    by_hand = (4 * 0.693147 + 0.287682) / 5
    assert seen.loss == pytest.approx(by_hand, abs=1e-5)
    assert seen.accuracy == 1.0
    assert seen.n == 5
    wrong_last = evaluate(Fixed(), [(even, labels), (sure, torch.tensor([0]))])
    assert wrong_last.accuracy == pytest.approx(0.8)


def test_the_batch_size_of_the_loader_does_not_matter(digits):
    model = network()
    seen = [evaluate(model, make_loader(digits.validation, size)) for size in (7, 64, 360)]
    assert [each.n for each in seen] == [360, 360, 360]
    for each in seen[1:]:
        assert each.loss == pytest.approx(seen[0].loss, rel=1e-5)
        assert each.accuracy == seen[0].accuracy


def test_evaluation_changes_neither_model_nor_modes(digits):
    model = network(dropout=0.5).train()
    model.features[1].eval()  # one layer frozen, as in fine-tuning
    before, random_state = state(model), torch.get_rng_state()
    loader = make_loader(digits.validation, 64)
    assert evaluate(model, loader) == evaluate(model, loader)
    assert equal(before, model.state_dict())
    assert torch.equal(random_state, torch.get_rng_state())
    assert model.training and model.dropout.training
    assert not model.features[1].training
    assert all(weight.grad is None for weight in model.parameters())
    assert torch.is_grad_enabled()


@pytest.mark.parametrize("ending", [RuntimeError, KeyboardInterrupt])
def test_modes_are_put_back_after_an_error_or_an_interrupt(digits, ending):
    def broken():
        yield digits.validation.images[:8], digits.validation.labels[:8]
        raise ending

    model = network().train()
    with pytest.raises(ending):
        evaluate(model, broken())
    assert all(layer.training for layer in model.modules())
    assert torch.is_grad_enabled()


def test_nothing_to_evaluate_on_is_said():
    with pytest.raises(ValueError, match="no picture to evaluate on"):
        evaluate(Fixed(), [])


# ---- fit


def test_fit_is_the_hand_written_loop_to_the_last_bit(small):
    train, validation = small
    model = network()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    losses, means, checks = [], [], []
    loader = make_loader(train, 32, shuffle=True, seed=5)
    for _ in range(3):
        model.train()
        total = 0.0
        for images, labels in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            total += loss.item() * len(labels)
        means.append(total / len(train))
        checks.append(evaluate(model, make_loader(validation, 64)))

    ours = network()
    loader = make_loader(train, 32, shuffle=True, seed=5)
    history = fit(ours, loader, make_loader(validation, 64), epochs=3)
    assert history.step_losses == losses
    assert history.frame.training_loss.tolist() == means
    assert history.frame.validation_loss.tolist() == [check.loss for check in checks]
    assert history.frame.validation_accuracy.tolist() == [check.accuracy for check in checks]
    assert equal(state(ours), state(model))


@pytest.mark.parametrize("seed", [0, 1])
def test_eight_epochs_read_the_digits(digits, seed):
    loader = make_loader(digits.train, 32, shuffle=True, seed=seed)
    history = fit(network(seed), loader, make_loader(digits.validation, 64), epochs=8)
    last = history.epochs[-1]
    assert last.validation_accuracy > 0.96
    assert last.training_loss < 0.1 < history.epochs[0].training_loss


def test_training_loss_falls_on_shuffled_labels_and_validation_does_not():
    digits = load_digits(shuffled_labels=0)
    train = DigitsDataset(digits.train.images[:256], digits.train.labels[:256])
    loader = make_loader(train, 32, shuffle=True)
    model = network(dropout=0.0)
    history = fit(model, loader, make_loader(digits.validation, 64), epochs=30)
    last = history.epochs[-1]
    assert last.training_loss < 1.2
    assert last.validation_loss > 2.3
    assert last.validation_accuracy < 0.25


def test_the_table_has_one_row_per_epoch(small):
    train, validation = small
    told = []
    loaders = make_loader(train, 32), make_loader(validation, 64)
    history = fit(network(), *loaders, epochs=2, on_epoch=told.append)
    assert list(history.frame) == [
        "epoch",
        "training_loss",
        "validation_loss",
        "validation_accuracy",
        "seconds",
    ]
    assert history.frame.epoch.tolist() == [1, 2]
    assert told == history.epochs
    assert len(history.step_losses) == 6
    assert list(training.History().frame) == list(history.frame)


def test_seconds_leave_the_evaluation_out(small, monkeypatch):
    now = [0.0]

    class Costs:
        def __init__(self, dataset, seconds):
            self.loader, self.seconds = make_loader(dataset, 32), seconds

        def __iter__(self):
            for batch in self.loader:
                now[0] += self.seconds
                yield batch

    monkeypatch.setattr(training.time, "perf_counter", lambda: now[0])
    train, validation = small
    history = fit(network(), Costs(train, 1.0), Costs(validation, 100.0), epochs=2)
    assert history.frame.seconds.tolist() == [3.0, 3.0]


def test_each_epoch_trains_in_training_mode_whatever_came_before(small):
    modes = []
    model = network().eval()
    model.register_forward_pre_hook(lambda layer, _: modes.append(layer.training))
    loaders = make_loader(small[0], 32), make_loader(small[1], 64)
    fit(model, *loaders, epochs=2, on_epoch=lambda _: model.eval())
    assert modes == [True, True, True, False] * 2


def test_progress_and_a_given_optimizer_change_no_number(small, capfd):
    loaders = make_loader(small[0], 32), make_loader(small[1], 64)
    quiet = fit(network(), *loaders, epochs=2)
    model = network()
    optimizer = torch.optim.Adam(model.parameters(), lr=training.LEARNING_RATE)
    shown = fit(model, *loaders, epochs=2, progress=True, optimizer=optimizer, device="cpu")
    assert shown.step_losses == quiet.step_losses
    frozen = network()
    fit(frozen, *loaders, epochs=1, optimizer=torch.optim.SGD(frozen.parameters(), lr=0.0))
    assert equal(dict(frozen.named_parameters()), dict(network().named_parameters()))
    assert "training" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("wrong", "error", "sentence"),
    [
        ({"epochs": 0}, ValueError, "epochs is 0: give a whole number of at least 1"),
        ({"epochs": 2.5}, TypeError, "epochs is 2.5: give a whole number of at least 1"),
        ({"device": "hal9000"}, ValueError, "hal9000"),
    ],
)
def test_wrong_arguments_are_one_sentence(small, wrong, error, sentence):
    loaders = make_loader(small[0], 32), make_loader(small[1], 64)
    model = network()
    before = state(model)
    with pytest.raises(error, match=sentence):
        fit(model, *loaders, **{"epochs": 1, **wrong})
    assert equal(before, model.state_dict())


def test_empty_loaders_are_said(small):
    loader = make_loader(small[0], 32)
    with pytest.raises(ValueError, match="no picture to train on"):
        fit(network(), [], loader, epochs=1)
    with pytest.raises(ValueError, match="no picture to evaluate on"):
        fit(network(), loader, [], epochs=1)


def test_a_loss_that_is_no_number_names_its_step(small):
    images, labels = small[0].images.clone(), small[0].labels
    images[40] = float("nan")  # in the second batch of each epoch
    loaders = make_loader(DigitsDataset(images, labels), 32), make_loader(small[1], 64)
    with pytest.raises(FloatingPointError, match="became nan at step 2 of epoch 1"):
        fit(network(), *loaders, epochs=2)
    with pytest.raises(FloatingPointError, match="became nan at step 1:"):
        overfit_one_batch(network(), images[32:64], labels[32:64])


# ---- the check with one batch


def test_one_batch_can_be_learned_by_heart_and_the_model_stays(digits):
    images, labels = digits.train.images[:32], digits.train.labels[:32]
    model = network().eval()
    before = state(model)
    losses = overfit_one_batch(model, images, labels)
    assert len(losses) == 60
    assert losses[0] > 2
    assert losses[-1] < 0.05
    assert equal(before, model.state_dict())
    assert not model.training


def test_the_check_catches_a_loop_that_keeps_its_gradients(digits, monkeypatch):
    def keeps(model, images, labels, optimizer):
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        return loss.item()

    monkeypatch.setattr(training, "train_step", keeps)
    images, labels = digits.train.images[:32], digits.train.labels[:32]
    assert min(overfit_one_batch(network(), images, labels)) > 0.05


@pytest.mark.parametrize(("n", "m", "steps"), [(0, 0, 5), (4, 3, 5), (4, 4, 0)])
def test_a_batch_that_cannot_be_learned_is_refused(digits, n, m, steps):
    images, labels = digits.train.images[:n], digits.train.labels[:m]
    with pytest.raises(ValueError, match=r"one label for each|at least 1"):
        overfit_one_batch(network(), images, labels, steps=steps)


def test_a_gradient_is_added_to_what_is_stored(digits):
    """What lesson 01 says of `backward`, to the last bit."""
    model = network(dropout=0.0)
    halves = [(digits.train.images[k : k + 32], digits.train.labels[k : k + 32]) for k in (0, 32)]
    apart = []
    for images, labels in halves:
        model.zero_grad()
        F.cross_entropy(model(images), labels).backward()
        apart.append([weight.grad.clone() for weight in model.parameters()])
    model.zero_grad()
    for images, labels in halves:
        F.cross_entropy(model(images), labels).backward()
    for weight, one, other in itertools.zip_longest(model.parameters(), *apart):
        assert torch.equal(weight.grad, one + other)
