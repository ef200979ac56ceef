"""A course in miniature for the tests of start.py: its own folder, and wheels of a few lines.

The wheels are written by hand, apart from setuptools: that one is packed again from the files of
the environment that runs the tests. So nothing here needs a network or a real PyTorch.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType

import pytest

if os.name == "nt":
    collect_ignore = [
        "test_start.py",
        "test_server.py",
        "test_install.py",
    ]  # signals, namespaces, POSIX paths

ROOT = Path(__file__).resolve().parents[2]

PYPROJECT = """
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"
[project]
name = "gpuutil-helpers"
version = "0.1.0"
dependencies = ["torch>=2.9", "torchvision", "jupyterlab"]
[project.optional-dependencies]
test = ["pytest>=8"]
[tool.setuptools.packages.find]
include = ["gpuutil_helpers*"]
"""

TORCH = """
__version__ = "2.9.0"
class Tensor:
    grad = None
    def __matmul__(self, other):
        return self
    def sum(self):
        return self
    def backward(self):
        self.grad = {(0, 0): 8.0}
class Absent:
    is_available = staticmethod(lambda: False)
class backends:
    mps = Absent
class version:
    cuda = None
cuda = Absent
ones = lambda *shape, requires_grad: Tensor()
"""

# Stands for JupyterLab, pytest and refresh.py: says how it was started, ends as it is told to.
REPORTER = """
import json, os, sys
said = [os.getpid(), sys.prefix, os.getcwd(), sys.argv[1:], dict(os.environ)]
print("STARTED " + json.dumps(said))
sys.exit(int(os.environ.get("END_WITH", "0")))
"""

WHEELS = {
    "torch": {"torch/__init__.py": TORCH},
    "torchvision": {"torchvision/__init__.py": "__version__ = '0.24.0'"},
    "jupyterlab": {
        "jupyterlab/__init__.py": "",
        "jupyterlab/__main__.py": REPORTER,
        "ipykernel/__init__.py": "",
        "ipywidgets/__init__.py": "",
    },
    "pytest": {"pytest/__init__.py": "", "pytest/__main__.py": REPORTER},
}


def write_wheel(folder: Path, name: str, version: str, files: Mapping[str, str | bytes]) -> Path:
    """A wheel that holds these files, by their path inside site-packages."""
    folder.mkdir(parents=True, exist_ok=True)
    about = f"{name}-{version}.dist-info"
    tag = "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    content: dict[str, str | bytes] = {
        **files,
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{about}/WHEEL": tag,
    }
    record = "".join(f"{path},,\n" for path in (*content, f"{about}/RECORD"))
    wheel = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in {**content, f"{about}/RECORD": record}.items():
            archive.writestr(path, text)
    return wheel


def pack_setuptools(folder: Path) -> None:
    """The setuptools of this environment, as a wheel again."""
    found = importlib.metadata.distribution("setuptools")
    keep = {
        str(path): path.locate().read_bytes()
        for path in found.files or ()
        if path.suffix not in (".pyc", ".exe")
        if not {"tests", "..", "RECORD", "METADATA", "WHEEL"} & set(path.parts)
    }
    write_wheel(folder, "setuptools", found.version, keep)


class Course:
    """A folder with start.py, a small package and what start.py expects beside it."""

    def __init__(self, folder: Path, wheels: Path | None = None) -> None:
        self.folder = folder
        self.wheels = wheels
        self.told = ""
        self.terminals: list[int] = []

    @classmethod
    def make(cls, folder: Path, wheels: Path) -> Course:
        """Write the folder: the real start.py and readiness.py, around a package of no content."""
        package = folder / "gpuutil_helpers"
        package.mkdir(parents=True)
        (folder / "tests/notebooks").mkdir(parents=True)
        shutil.copy(ROOT / "start.py", folder)
        for name in ("files.py", "readiness.py"):
            shutil.copy(ROOT / "gpuutil_helpers" / name, package)
        (package / "__init__.py").write_text("")
        (package / "__main__.py").write_text("print('the doctor was here')")
        (folder / "tests/notebooks/refresh.py").write_text(REPORTER)
        (folder / "pyproject.toml").write_text(PYPROJECT)
        return cls(folder, wheels)

    def close(self) -> None:
        """Let go of the terminals."""
        while self.terminals:
            os.close(self.terminals.pop())

    @property
    def venv(self) -> Path:
        return self.folder / ".venv"

    @property
    def ready(self) -> dict[str, object] | None:
        """What the stamp says; None where there is none."""
        stamp = self.venv / "ready.json"
        return json.loads(stamp.read_text(encoding="utf-8")) if stamp.exists() else None

    @property
    def packages(self) -> Path:
        """The environment's site-packages."""
        return next(self.venv.glob("lib/python*/site-packages"))

    def environment(self, **settings: str) -> dict[str, str]:
        """Like a machine's that knows no index, no wheels and no course."""
        foreign = ("PIP_", "GPUUTIL", "JUPYTER", "VIRTUAL_ENV", "PYTEST", "COV")
        kept = {key: value for key, value in os.environ.items() if not key.startswith(foreign)}
        pip = {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "PIP_NO_COMPILE": "1"}
        return {**kept, **pip, **settings}

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, str(self.folder / "start.py"), *arguments]

    def run(
        self, *arguments: str, before: Sequence[str] = (), folder: Path | None = None, **settings
    ) -> subprocess.CompletedProcess[str]:
        """Run start.py to its end, from another folder; what it printed, both streams in one."""
        return subprocess.run(
            [*before, *self.command(*arguments)],
            cwd=folder or self.folder.parent,
            env=self.environment(**settings),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            encoding="utf-8",
            timeout=180,
        )

    def start(self, *arguments: str, **settings: str) -> subprocess.Popen[str]:
        """Start start.py in a process group of its own, at a terminal, and do not wait."""
        terminal, keyboard = os.openpty()
        self.terminals.append(terminal)
        process = subprocess.Popen(
            self.command(*arguments),
            cwd=self.folder.parent,
            env=self.environment(**settings),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=keyboard,
            encoding="utf-8",
            start_new_session=True,
            # Background jobs may come with SIGINT ignored; a person's terminal does not.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        os.close(keyboard)
        return process

    def module(self) -> ModuleType:
        """This folder's start.py as a module of its own, so that a test may change its parts."""
        spec = importlib.util.spec_from_file_location("start_under_test", self.folder / "start.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    @staticmethod
    def report(output: str) -> tuple[int, str, str, list[str], dict[str, str]]:
        """What REPORTER printed: process id, prefix, working folder, arguments, environment."""
        line = next(line for line in output.splitlines() if line.startswith("STARTED "))
        return tuple(json.loads(line.removeprefix("STARTED ")))

    @staticmethod
    def wait_for(happened: Callable[[], object], process: subprocess.Popen[str]) -> None:
        """Wait until it has happened; fails when the process ends before, or after a minute."""
        end = time.monotonic() + 60
        while not happened():
            assert process.poll() is None, f"it ended too early: {process.communicate()[0]}"
            assert time.monotonic() < end, "nothing happened for a minute"
            time.sleep(0.002)


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of small wheels, with spaces and an umlaut in its name."""
    folder = tmp_path_factory.mktemp("setup") / "Räder und mehr"
    for name, files in WHEELS.items():
        write_wheel(folder, name, "9.0.0", files)
    pack_setuptools(folder)
    return folder


@pytest.fixture
def slow_wheels(wheels: Path, tmp_path: Path) -> Path:
    """The same with a newer PyTorch of 4000 files, so that its installation can be caught."""
    folder = tmp_path / "slow wheels"
    shutil.copytree(wheels, folder)
    parts = {f"torch/part_{number}.py": "" for number in range(4000)}
    write_wheel(folder, "torch", "9.1.0", {**WHEELS["torch"], **parts})
    return folder


@pytest.fixture(scope="session")
def course_type() -> type[Course]:
    """For a test that lays out the folder itself."""
    return Course


@pytest.fixture
def new_course(tmp_path: Path, wheels: Path) -> Iterator[Course]:
    """A course that nobody has set up yet."""
    course = Course.make(tmp_path / "Ein Kurs für alle", wheels)
    yield course
    course.close()


@pytest.fixture(scope="session")
def standing(tmp_path_factory: pytest.TempPathFactory, wheels: Path) -> Iterator[Course]:
    """A course set up with --wheels; what was printed meanwhile is in its `told`."""
    course = Course.make(tmp_path_factory.mktemp("setup") / "Kurs von Zoë", wheels)
    first = course.run("--check", "--wheels", str(wheels))
    course.told = first.stdout
    assert first.returncode == 0, first.stdout
    yield course
    course.close()


@pytest.fixture(scope="session")
def unshare() -> Callable[[str], list[str]]:
    """The front of a command with namespaces of its own: "-n" for networks, "-m" for mounts."""

    def front(kind: str) -> list[str]:
        command = ["unshare", *([] if os.geteuid() == 0 else ["-r"]), kind]
        if not shutil.which("unshare") or subprocess.run([*command, "true"]).returncode:
            pytest.skip(f"unshare {kind} is not permitted on this machine")
        return command

    return front
