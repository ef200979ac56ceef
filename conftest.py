"""For all tests and all notebooks run by nbval: nobody's artifacts, one thread, no surprise GPU."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ARTIFACTS_VARIABLE = "GPUUTIL_ARTIFACTS"
_FOLDER = pytest.StashKey[tempfile.TemporaryDirectory]()
_BEFORE = pytest.StashKey[str | None]()


def pytest_configure(config: pytest.Config) -> None:
    """Point the artifacts folder at an empty temporary one, whatever the learner has set."""
    # What starts threads should not let them spin while both cores are busy.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    config.stash[_BEFORE] = os.environ.get(ARTIFACTS_VARIABLE)
    config.stash[_FOLDER] = tempfile.TemporaryDirectory(
        prefix="gpuutil-tests-", ignore_cleanup_errors=True
    )
    os.environ[ARTIFACTS_VARIABLE] = str(_folder(config) / "tests")
    # nbval looks for its file below the working directory; pytest may run from any folder.
    named = getattr(config.option, "nbval_sanitize_with", None)
    if named:
        config.option.nbval_sanitize_with = str(config.rootpath / named)


def pytest_unconfigure(config: pytest.Config) -> None:
    before = config.stash.get(_BEFORE, None)
    if before is None:
        os.environ.pop(ARTIFACTS_VARIABLE, None)
    else:
        os.environ[ARTIFACTS_VARIABLE] = before
    if _FOLDER in config.stash:
        config.stash[_FOLDER].cleanup()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """A notebook's kernel starts in its first cell's set-up and keeps the folder it finds then."""
    folder = _folder(item.config) / "tests"
    if item.path.suffix == ".ipynb":
        relative = item.path.with_suffix("").relative_to(item.path.anchor)
        folder = _folder(item.config) / "notebooks" / "-".join(relative.parts[-4:])
    elif item.get_closest_marker("gpu"):
        reason = _why_no_cuda()
        if reason:
            pytest.skip(reason)
    os.environ[ARTIFACTS_VARIABLE] = str(folder)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """One torch thread for each test, whatever the test before has set."""
    import torch

    torch.set_num_threads(1)
    yield
    torch.set_num_threads(1)


def _folder(config: pytest.Config) -> Path:
    return Path(config.stash[_FOLDER].name)


def _why_no_cuda() -> str | None:
    """None where CUDA can be used."""
    import torch

    if torch.cuda.is_available():
        return None
    if torch.version.cuda is None:
        return f"needs a CUDA device; torch {torch.__version__} is built without CUDA"
    return "needs a CUDA device; torch finds none here"
