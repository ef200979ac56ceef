from __future__ import annotations

import os
import subprocess
import sys
import time

import psutil
import pytest

from gpuutil_helpers.instruments import causes
from gpuutil_helpers.instruments.causes import burn_cpu, busy_cpus, spin_until


def test_spins_to_the_deadline_of_the_given_clock() -> None:
    readings = iter([1.0, 2.0, 2.5, 3.0])
    assert spin_until(2.25, lambda: next(readings)) == 2.5
    assert next(readings) == 3.0


def test_does_not_wait_for_a_deadline_that_has_passed() -> None:
    assert spin_until(0.0, lambda: 7.0) == 7.0


@pytest.mark.parametrize("seconds", [0.0, 0.05])
def test_burns_the_cpu_time_it_was_asked_for_and_says_so(seconds: float) -> None:
    before = time.thread_time()
    said = burn_cpu(seconds)
    used = time.thread_time() - before
    assert seconds <= said <= used < seconds + 0.02


@pytest.mark.parametrize("seconds", [-0.1, float("nan"), float("inf")])
def test_refuses_to_burn_for_ever(seconds: float) -> None:
    with pytest.raises(ValueError, match="0 or more"):
        burn_cpu(seconds)


def alive(pids: tuple[int, ...]) -> list[int]:
    return [pid for pid in pids if psutil.pid_exists(pid)]


def computing(pid: int) -> bool:
    """Whether it runs; one that has ended stays listed until whoever adopted it collects it."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def cpu_seconds(pids: tuple[int, ...]) -> list[float]:
    return [psutil.Process(pid).cpu_times().user for pid in pids]


def test_every_burner_computes_while_the_block_runs_and_is_gone_after_it() -> None:
    with busy_cpus(2) as pids:
        assert len(set(pids)) == 2
        before = cpu_seconds(pids)
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            if all(b - a > 0.05 for a, b in zip(before, cpu_seconds(pids), strict=True)):
                break
            time.sleep(0.02)
        else:
            pytest.fail("a burner used no CPU time within 30 s")
    assert alive(pids) == []


def test_there_is_one_for_each_usable_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(causes, "usable_cpus", lambda: 3)
    with busy_cpus() as pids:
        assert len(pids) == 3


@pytest.mark.parametrize("ending", [ValueError, KeyboardInterrupt])
def test_all_end_when_the_block_fails_and_no_pipe_stays_open(ending: type[BaseException]) -> None:
    me = psutil.Process()
    files = me.num_fds() if hasattr(me, "num_fds") else me.num_handles()
    with pytest.raises(ending), busy_cpus(1) as pids:
        raise ending
    assert alive(pids) == []
    assert (me.num_fds() if hasattr(me, "num_fds") else me.num_handles()) <= files


def test_those_already_started_end_when_the_next_cannot_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started = []
    popen = subprocess.Popen

    def at_most_two(*arguments, **options):
        if len(started) == 2:
            raise OSError("no more processes")
        started.append(popen(*arguments, **options))
        return started[-1]

    monkeypatch.setattr(causes.subprocess, "Popen", at_most_two)
    with pytest.raises(OSError, match="no more processes"), busy_cpus(3):
        pytest.fail("the block must not run")
    assert [process.poll() is not None for process in started] == [True, True]


def test_one_that_does_not_start_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(causes, "_BURNER", "raise SystemExit")
    with pytest.raises(RuntimeError, match="ended before it began"), busy_cpus(1):
        pytest.fail("the block must not run")


def test_burners_end_with_the_process_that_started_them() -> None:
    code = (
        "import os; from gpuutil_helpers.instruments.causes import busy_cpus\n"
        "with busy_cpus(2) as pids:\n    print(*pids, flush=True); os._exit(9)"
    )
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    pids = tuple(map(int, finished.stdout.split()))
    assert len(pids) == 2
    deadline = time.monotonic() + 30
    while any(map(computing, pids)):
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.skipif(os.name != "posix", reason="signals are sent the POSIX way")
def test_an_interrupt_meant_for_the_notebook_leaves_them_burning() -> None:
    import signal

    with busy_cpus(1) as pids:
        os.kill(pids[0], signal.SIGINT)
        before = cpu_seconds(pids)[0]
        deadline = time.monotonic() + 30
        while cpu_seconds(pids)[0] < before + 0.2:  # one that was interrupted computes no more
            assert time.monotonic() < deadline
            time.sleep(0.02)


@pytest.mark.parametrize("n", [True, 1.5, "2"])
def test_a_number_of_processes_is_a_whole_number(n: object) -> None:
    with pytest.raises(TypeError, match="whole number"), busy_cpus(n):
        pytest.fail("the block must not run")


def test_there_is_at_least_one() -> None:
    with pytest.raises(ValueError, match="1 or more"), busy_cpus(0):
        pytest.fail("the block must not run")
