"""Loaders: an order that depends on seed and epoch alone, workers under every start method."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import threading
import time
import warnings

import psutil
import pytest
import torch
from torch.utils.data import DataLoader

from gpuutil_helpers.project.data import DigitsDataset, load_digits, make_loader
from gpuutil_helpers.project.models import SmallConvNet
from gpuutil_helpers.project.pictures import PictureFolder
from gpuutil_helpers.project.training import evaluate

KNOWN = multiprocessing.get_all_start_methods()
QUICK = "fork" if "fork" in KNOWN else None


@pytest.fixture(scope="module")
def numbered():
    """100 pictures, each labelled with its own number, so that labels tell the order."""
    return DigitsDataset(load_digits().train.images[:100], torch.arange(100))


def order(loader):
    return [number for _, labels in loader for number in labels.tolist()]


def workers():
    """This process's children that work for a loader; those that only serve are left out."""
    children = psutil.Process().children(recursive=True)
    names = [" ".join(child.cmdline()) for child in children if child.status() != "zombie"]
    return [name for name in names if "tracker" not in name and "forkserver import" not in name]


def wait_for(condition, seconds=10):
    until = time.monotonic() + seconds
    while not condition() and time.monotonic() < until:
        time.sleep(0.02)
    return condition()


# ---- the order


def test_without_shuffling_the_order_is_the_datasets_own(numbered):
    assert order(make_loader(numbered, 32)) == list(range(100))


def test_the_order_is_made_by_seed_and_epoch(numbered):
    loader = make_loader(numbered, 32, shuffle=True, seed=7)
    epochs = [order(loader) for _ in range(3)]
    assert all(sorted(epoch) == list(range(100)) for epoch in epochs)
    assert epochs[0] != epochs[1] != epochs[2] != epochs[0]
    again = make_loader(numbered, 10, shuffle=True, seed=7)
    assert [order(again) for _ in range(3)] == epochs
    later = make_loader(numbered, 32, shuffle=True, seed=7)
    later.sampler.epoch = 2
    assert order(later) == epochs[2]


def test_neighbouring_seeds_do_not_share_their_epochs(numbered):
    seen = set()
    for seed in range(4):
        loader = make_loader(numbered, 32, shuffle=True, seed=seed)
        seen |= {tuple(order(loader)) for _ in range(4)}
    assert len(seen) == 16


@pytest.mark.parametrize("count", [1, 2])
def test_workers_change_neither_order_nor_global_generator(numbered, count):
    torch.manual_seed(3)
    before = torch.get_rng_state()
    alone = make_loader(numbered, 32, shuffle=True, seed=7)
    helped = make_loader(numbered, 32, shuffle=True, seed=7, workers=count, start_method=QUICK)
    assert [order(helped) for _ in range(2)] == [order(alone) for _ in range(2)]
    assert torch.equal(before, torch.get_rng_state())


def test_an_epoch_broken_off_counts_as_one(numbered):
    broken, whole = (make_loader(numbered, 32, shuffle=True) for _ in range(2))
    next(iter(broken))
    order(whole)
    assert order(broken) == order(whole)


def test_the_last_batch_is_short_or_dropped(numbered):
    assert [len(labels) for _, labels in make_loader(numbered, 32)] == [32, 32, 32, 4]
    assert [len(labels) for _, labels in make_loader(numbered, 32, drop_last=True)] == [32] * 3


# ---- workers


# Spawn with one worker is in test_pictures.py, the other pairs in test_notebook_kernel.py.
@pytest.mark.parametrize(("method", "count"), [("fork", 1), ("fork", 2), ("forkserver", 2)])
def test_every_start_method_delivers_the_same_batches(method, count):
    if method not in KNOWN:
        pytest.skip(f"this system has no {method}")
    digits = load_digits().validation
    loader = make_loader(digits, 128, workers=count, start_method=method)
    assert loader.multiprocessing_context.get_start_method() == method
    images = torch.cat([images for images, _ in loader])
    assert torch.equal(images, digits.images)
    assert wait_for(lambda: not workers())


def test_persistent_workers_stay_and_without_workers_the_wish_is_nothing(numbered):
    loader = make_loader(
        numbered, 32, shuffle=True, workers=1, start_method=QUICK, persistent_workers=True
    )
    first = order(loader)
    kept = workers()
    assert len(kept) == 1
    second = order(loader)
    assert workers() == kept
    plain = make_loader(numbered, 32, shuffle=True, persistent_workers=True, start_method=QUICK)
    assert [order(plain), order(plain)] == [first, second]
    del loader
    gc.collect()
    assert wait_for(lambda: not workers())


def test_a_loop_left_early_leaves_no_process(numbered):
    for _ in make_loader(numbered, 8, workers=2, start_method=QUICK):
        break
    assert wait_for(lambda: not workers())


def test_a_failing_worker_tells_the_cause_and_no_process_stays(tmp_path):
    (tmp_path / "0").mkdir()
    for number in range(6):
        (tmp_path / "0" / f"{number}.jpg").write_bytes(b"this is no picture")
    loader = make_loader(PictureFolder(tmp_path), 2, workers=2, start_method=QUICK)
    with pytest.raises(ValueError, match="in DataLoader worker process") as told:
        evaluate(SmallConvNet(), loader)
    assert f"the picture {tmp_path / '0' / '0.jpg'} is damaged" in str(told.value)
    # `told` still holds the traceback, as a notebook does with the last one.
    assert wait_for(lambda: not workers())


@pytest.mark.skipif("fork" not in KNOWN, reason="this system cannot fork")
def test_an_interrupt_while_waiting_leaves_no_process():
    class Slow(DigitsDataset):
        def __getitem__(self, index):
            time.sleep(0.5)
            return super().__getitem__(index)

    digits = load_digits().validation
    loader = make_loader(Slow(digits.images, digits.labels), 2, workers=2, start_method="fork")
    waiting = threading.Event()

    def interrupt():
        waiting.wait()
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt) as told:
        batches = iter(loader)
        waiting.set()
        next(batches)
    del batches
    assert told.traceback  # held, as a notebook does
    assert wait_for(lambda: not workers())


# torch's tidying of a loader that was never whole prints an AttributeError, and ends its workers.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.skipif("fork" not in KNOWN, reason="this system cannot fork")
def test_an_interrupt_while_starting_leaves_no_process(numbered, monkeypatch):
    start = multiprocessing.Process.start

    def second_is_interrupted(process):
        if len(workers()) == 1:
            raise KeyboardInterrupt
        start(process)

    context = multiprocessing.get_context("fork")
    monkeypatch.setattr(context.Process, "start", second_is_interrupted)
    with pytest.raises(KeyboardInterrupt) as told:
        iter(make_loader(numbered, 8, workers=2, start_method="fork"))
    assert told.traceback
    assert wait_for(lambda: not workers())


def test_more_workers_than_cpus_give_no_warning(numbered, monkeypatch):
    if hasattr(os, "sched_getaffinity"):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    with pytest.warns(UserWarning, match="worker processes in total"):
        DataLoader(numbered, num_workers=2)  # so the next lines prove something
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        loader = make_loader(numbered, 32, workers=2, start_method=QUICK)
        assert order(loader) == list(range(100))


# ---- arguments


@pytest.mark.parametrize(
    ("wrong", "error", "sentence"),
    [
        ({"batch_size": 0}, ValueError, "batch_size is 0: give a whole number of at least 1"),
        ({"batch_size": -4}, ValueError, "batch_size is -4: give"),
        ({"batch_size": 2.0}, TypeError, r"batch_size is 2\.0: give a whole number"),
        ({"batch_size": True}, TypeError, "batch_size is True: give a whole number"),
        ({"workers": -1}, ValueError, "workers is -1: give a whole number of at least 0"),
        ({"workers": None}, TypeError, "workers is None: give"),
        ({"seed": -1}, ValueError, "seed is -1: give"),
        ({"start_method": "thread"}, ValueError, "start_method is 'thread', and this system knows"),
        ({"batch_size": 101, "drop_last": True}, ValueError, "100 pictures do not fill one batch"),
        ({"dataset": []}, ValueError, "the dataset is empty"),
        ({"dataset": iter([])}, TypeError, "a list_iterator has no length"),
    ],
)
def test_arguments_that_cannot_work_are_one_sentence(numbered, wrong, error, sentence):
    with pytest.raises(error, match=sentence) as told:
        make_loader(**{"dataset": numbered, "batch_size": 32, **wrong})
    assert "\n" not in str(told.value)
