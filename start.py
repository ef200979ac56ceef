"""Set the course up and open it: `python3 start.py` (Windows: `py start.py`).

Standard library only. This file must parse and import on Python 3.6, so that an old Python is
answered with a sentence and not with a SyntaxError: no newer syntax, no newer module up here.
It keeps `.venv`, the environment; `.venv/ready.json`, written last (where it is missing, the
environment is made anew); and `.venv.lock`, so that two of these never install at once.
"""

import argparse
import contextlib
import errno
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

OLDEST = (3, 11)
WINDOWS = os.name == "nt"
ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
PYTHON = str(VENV / ("Scripts/python.exe" if WINDOWS else "bin/python"))
READY = VENV / "ready.json"
ME = "py start.py" if WINDOWS else "python3 start.py"
ANEW = f"delete the folder .venv, then: {ME}"
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
GB = 10**9
HELP = """Makes .venv beside this file, shows what this machine can do, opens JupyterLab.

commands, which take the options below too:
  test [pytest arguments]   run every test: the package's and, through nbval, every notebook's
  refresh [notebook ...]    run the notebooks (all, or those named) and store their outputs anew
  wheels FOLDER             fill FOLDER with all that --wheels FOLDER installs on another machine
                            with the same system, processor and Python version
Paths of tests and notebooks are seen from the course's folder, FOLDER from where you are."""


class StartError(Exception):
    """A sentence for the person at the keyboard. `untouched`: nothing was installed or removed."""

    def __init__(self, sentence: str, untouched: bool = False) -> None:
        super().__init__(sentence)
        self.untouched = untouched


def main(arguments: "list[str]") -> int:
    """Carry out one command line; returns the exit code."""
    if sys.version_info[:2] < OLDEST:
        print(old_python(), file=sys.stderr)
        return 1
    for stream in (sys.stdout, sys.stderr):  # every path is printable, every line in its order
        stream.reconfigure(errors="backslashreplace", line_buffering=True)
    try:
        return run(parse(arguments))
    except KeyboardInterrupt:
        print("\nStopped. The same command takes it up again.", file=sys.stderr)
        return 130
    except (StartError, OSError) as error:
        sentence = error if isinstance(error, StartError) else diagnosis(str(error))
        print(f"\n{sentence}", file=sys.stderr)
        return 1


def old_python() -> str:
    found = ".".join(str(part) for part in sys.version_info[:3])
    names = [f"python3.{minor}" for minor in range(14, OLDEST[1] - 1, -1)]
    newer = next((name for name in names if shutil.which(name)), "python3.12")
    return (
        f"The course needs Python 3.11 or newer; this is Python {found} ({sys.executable}). "
        f"Install a newer one and start with it: {'py -3.12' if WINDOWS else newer} start.py"
    )


def parse(arguments: "list[str]") -> argparse.Namespace:
    """Our own options, wherever they stand, the command, and the rest in its order.

    argparse sees our options alone: versions of it differ in how they order what they do not know.
    """
    parser = argparse.ArgumentParser(
        prog=ME,
        usage="%(prog)s [options] [test ... | refresh ... | wheels FOLDER]",
        description=HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,  # nothing is guessed: what is not ours may be pytest's
    )
    add = parser.add_argument
    add("--check", action="store_true", help="stop after the table, with exit code 0 or 1")
    add("--no-browser", action="store_true", help="open no browser; print the address instead")
    add = parser.add_mutually_exclusive_group().add_argument
    add("--cpu", action="store_true", help="PyTorch's CPU-only build, several gigabytes smaller")
    add("--wheels", metavar="FOLDER", help="install from this folder, without a network")
    ours, rest = [], []
    waiting = list(arguments)
    while waiting:
        word = waiting.pop(0)
        flags = ["--check", "--no-browser", "--cpu", *([] if rest else ["-h", "--help"])]
        if word == "--wheels":
            ours += [word, *waiting[:1]]
            del waiting[:1]
        elif word in flags or word.startswith("--wheels="):
            ours.append(word)
        else:
            rest.append(word)
    options = parser.parse_args(ours)
    commands = ["test", "refresh", "wheels"]
    options.command = rest.pop(0) if rest and rest[0] in commands else "open"
    options.rest = rest
    if options.command == "open" and rest:
        parser.error(f"unknown: {' '.join(rest)}. The commands are {', '.join(commands)}.")
    if options.command == "wheels" and (len(rest) != 1 or rest[0].startswith("-")):
        parser.error("name one folder: wheels FOLDER")
    return options


def run(options: argparse.Namespace) -> int:
    folder = Path(options.rest[0]).resolve() if options.command == "wheels" else None
    prepare(options)
    if folder:
        return fill(folder)
    if options.command == "test":
        return hand_over([PYTHON, "-m", "pytest", *options.rest])
    if options.command == "refresh":
        return hand_over([PYTHON, "tests/notebooks/refresh.py", *options.rest])
    if not table():
        raise StartError("Do what the rows with FAIL say, then run the same command again.")
    if options.check:
        return 0
    print("\nJupyterLab starts. Leave this window open; Ctrl-C, twice, ends it.\n")
    return hand_over(server_command(browser=not options.no_browser))


# The environment: what is to be done, and doing it.


def prepare(options: argparse.Namespace) -> None:
    """See to it that .venv holds what this command needs; starts no pip where it does."""
    wanted = requirements(with_tests=options.command != "open")
    if state(wanted) == "ready":
        if options.cpu:
            print(f"The environment stands, so --cpu changes nothing. To change builds {ANEW}")
        return
    source = wheel_source(options.wheels)
    with lock() as handle:
        found = state(wanted)  # again: another start.py may have been at work
        if found != "ready":
            build(found, wanted, source, options.cpu, handle)


def requirements(with_tests: bool) -> "list[str]":
    """What pyproject.toml asks for: to build the package, to run it and, if so, to test it."""
    import tomllib

    content = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project = content["project"]
    extra = project["optional-dependencies"]["test"] if with_tests else []
    return content["build-system"]["requires"] + project["dependencies"] + extra


def wheel_source(folder: "str | None") -> "list[str]":
    """pip's arguments for installing from a folder alone; none for the network."""
    if folder is None:
        return []
    path = Path(folder).resolve()
    if not any(path.glob("*.whl")):
        lack = "holds no wheels (*.whl)" if path.is_dir() else "is no folder"
        raise StartError(f"{path} {lack}. On a machine with a network fill it: {ME} wheels FOLDER")
    return ["--no-index", "--find-links", str(path)]


def stamp() -> "dict[str, object]":
    try:
        content = json.loads(READY.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def state(wanted: "list[str]") -> str:
    """What .venv lacks: "everything", "packages", "place" (it was moved), or nothing: "ready"."""
    said = stamp()
    if not said or said.get("python") != version_inside():
        return "everything"
    if not set(wanted) <= set(said.get("holds", ())):
        return "packages"
    return "ready" if said.get("folder") == str(ROOT) else "place"


def version_inside() -> "str | None":
    """The environment's Python, as in "3.11"; None where it is missing or does not start."""
    question = [PYTHON, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    quiet = subprocess.DEVNULL
    try:
        said = subprocess.check_output(question, env=environment(), stderr=quiet)
    except (OSError, subprocess.CalledProcessError):
        return None
    return said.decode().strip()


def build(
    found: str, wanted: "list[str]", source: "list[str]", cpu: bool, handle: "IO[str]"
) -> None:
    """Bring .venv from the state found to "ready". Meanwhile it has no stamp."""
    said = stamp() if found != "everything" else {}
    with contextlib.suppress(FileNotFoundError):
        READY.unlink()
    if found == "everything":
        make_environment(handle)
        check_space(source, cpu)
    try:
        if found != "place":
            print("Installing packages. The first time takes minutes.")
            if cpu:
                pytorch = [name for name in wanted if name.startswith("torch")]
                pip(["install", "--index-url", CPU_INDEX, *pytorch], handle)
            pip(["install", *source, *wanted], handle)
        pip(["install", "--no-build-isolation", "--no-deps", "--editable", str(ROOT)], handle)
    except StartError as error:
        if said and error.untouched:
            write_stamp(said)
        raise
    quieten_jupyterlab()
    holds = sorted(set(wanted).union(said.get("holds", ())))
    write_stamp({"python": version_inside(), "folder": str(ROOT), "holds": holds})


def quieten_jupyterlab() -> None:
    """No question about news over the first lesson, and no look for updates."""
    plugin = "@jupyterlab/apputils-extension:notification"
    settings = {plugin: {"fetchNews": "false", "checkForUpdates": False}}
    folder = VENV / "etc/jupyter/labconfig"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "default_setting_overrides.json").write_text(json.dumps(settings), encoding="utf-8")


def write_stamp(content: "dict[str, object]") -> None:
    part = READY.with_suffix(".part")
    part.write_text(json.dumps(content, indent=1), encoding="utf-8")
    part.replace(READY)


def make_environment(handle: "IO[str]") -> None:
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError as error:
        raise StartError(
            f"This Python ({sys.executable}) lacks the module {error.name}, which environments are "
            "made with. Debian and Ubuntu: sudo apt install python3-venv. Elsewhere install Python "
            f"from python.org. Then: {ME}"
        ) from None
    if VENV.exists():
        print(".venv is unfinished, broken or not made by start.py: it is made anew.")
    print(f"Making the environment {VENV}")
    base = getattr(sys, "_base_executable", None) or sys.executable
    child([base, "-m", "venv", "--clear", str(VENV)], handle, {})


def check_space(source: "list[str]", cpu: bool) -> None:
    """Refuse before the long download what would fail at its end."""
    need = (12 if sys.platform == "linux" and not cpu else 3) * GB
    if source:
        need = 3 * sum(wheel.stat().st_size for wheel in Path(source[-1]).glob("*.whl"))
    if shutil.disk_usage(str(ROOT)).free < need:
        raise StartError(full_disk(f"about {need / GB:.1f} GB are needed, "))


def full_disk(need: str = "") -> str:
    free = shutil.disk_usage(str(ROOT)).free / GB
    return (
        f"There is not enough space on the disk of {ROOT}: {need}{free:.1f} GB are free. "
        f"Free some, or move the course to another disk. The CPU build is far smaller: {ME} --cpu"
    )


@contextlib.contextmanager
def lock():
    """Only one start.py at a time changes .venv. The file stays: a removed one locks nobody out."""
    with (ROOT / ".venv.lock").open("a") as handle:
        if not locked(handle):
            print("Another start.py is setting up this folder. Waiting for it to end.")
            while not locked(handle):
                time.sleep(0.5)
        yield handle


def locked(handle: "IO[str]") -> bool:
    try:
        if WINDOWS:
            import msvcrt

            msvcrt.locking(handle.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:  # some network drives know no locks: then go on without one
        return error.errno not in (errno.EAGAIN, errno.EACCES, errno.EDEADLK)
    return True


def pip(arguments: "list[str]", handle: "IO[str]") -> None:
    scratch = VENV / "tmp"  # gigabytes pass through, and the system's /tmp may be small, or memory
    scratch.mkdir(exist_ok=True)
    try:
        child([PYTHON, "-m", "pip", *arguments], handle, {"TMPDIR": str(scratch)})
    finally:
        shutil.rmtree(str(scratch), ignore_errors=True)


def child(command: "list[str]", handle: "IO[str]", extra: "dict[str, str]") -> None:
    """Run one step of the set-up, its errors passing through; raises StartError when it fails.

    It inherits the lock, so that after a kill of this process the next one waits for the step.
    """
    keep = {} if WINDOWS else {"pass_fds": (handle.fileno(),)}
    surroundings = dict(environment(), **extra)
    errors = []
    with subprocess.Popen(command, env=surroundings, stderr=subprocess.PIPE, **keep) as process:
        try:
            for line in process.stderr:
                errors.append(line.decode("utf-8", "replace"))
                sys.stderr.write(errors[-1])
        except KeyboardInterrupt:
            process.terminate()
            raise
    if process.returncode:
        raise diagnosis("".join(errors), wheels="--find-links" in command)


def diagnosis(errors: str, wheels: bool = False) -> StartError:
    """The sentence for what pip, venv or the system said."""

    def said(*signs: str) -> bool:
        return any(sign in errors for sign in signs)

    free = shutil.disk_usage(str(ROOT)).free  # venv does not say why its pip could not be written
    if said("Errno 28", "No space left", "WinError 112") or free < GB / 20:
        return StartError(full_disk())
    last = (errors.strip().splitlines() or ["no reason given"])[-1]
    refused = ("Errno 13", "Errno 30", "Permission denied", "WinError 5]", "WinError 32]")
    if said(*refused):
        named = [line for line in errors.splitlines() if any(sign in line for sign in refused)]
        return StartError(
            f"This could not be written: {named[-1].strip().rstrip('.')}. Copy the course to a "
            "folder of your own and start it there; where it is your own already, end the programs "
            "that use it."
        )
    lacking = re.findall("No matching distribution found for (.+)", errors)
    python = ".".join(str(part) for part in sys.version_info[:2])
    if lacking and wheels:
        return StartError(
            f"The folder of wheels holds no {lacking[0]} for Python {python} on this machine. Fill "
            f"it on a machine with the same system, processor and Python: {ME} wheels FOLDER",
            untouched=True,
        )
    if said("connection broken by", "Failed to establish", "timed out", "Max retries"):
        return StartError(
            "pip could not reach its package index (see above). Connect this machine (behind a "
            f"proxy set HTTPS_PROXY) and start again, or without a network: {ME} --wheels FOLDER",
            untouched=True,
        )
    if lacking:
        return StartError(
            f"pip's index has no {lacking[0]} for Python {python} on this machine. PyTorch needs "
            "a 64-bit Python 3.11 to 3.14, on Linux, Windows or a Mac with Apple's processor.",
            untouched=True,
        )
    return StartError(f"This failed: {last}. If that and the lines above do not help: {ANEW}")


def environment() -> "dict[str, str]":
    """Variables for all that is started: .venv first, nothing of another Python, idle threads rest.

    pip's own settings stay, since they may name the index that a school or a firm must use.
    """
    foreign = ("PYTHONPATH", "PYTHONHOME", "PIP_TARGET", "PIP_PREFIX")
    kept = {name: value for name, value in os.environ.items() if name not in foreign}
    path = os.pathsep.join([str(Path(PYTHON).parent), kept.get("PATH", os.defpath)])
    return dict(
        kept,
        PATH=path,
        VIRTUAL_ENV=str(VENV),  # IPython adds the packages of the environment that this names
        OMP_WAIT_POLICY="PASSIVE",
        PYTHONUTF8="1",
        JUPYTER_PREFER_ENV_PATH="1",  # else a kernel named python3 in the home folder wins
        PIP_USER="0",
        PIP_NO_INPUT="1",
        PIP_DISABLE_PIP_VERSION_CHECK="1",
    )


# What is started once the environment stands.


def table() -> bool:
    """Print what this machine can do, row by row, then the doctor's report; is all of it well?"""
    package = [PYTHON, "-P"]  # -P: as it is installed, not as it lies in the working folder
    ask = [*package, "-m", "gpuutil_helpers", "doctor"]
    pipe, both = subprocess.PIPE, subprocess.STDOUT
    doctor = subprocess.Popen(ask, env=environment(), stdout=pipe, stderr=both)
    rows = subprocess.call(
        [*package, str(ROOT / "gpuutil_helpers/readiness.py")], env=environment()
    )
    report = doctor.communicate()[0].decode("utf-8", "replace")
    if rows not in (0, 1):
        print(f"FAIL  the check after that broke off (exit code {rows}) -> {ANEW}")
    if doctor.returncode:
        print(f"FAIL  python -m gpuutil_helpers doctor -> read its last line, or {ANEW}")
    print(f"\n{report}")
    return rows == 0 and doctor.returncode == 0


def server_command(browser: bool) -> "list[str]":
    """JupyterLab at the first notebook, on this machine alone, with its token."""
    settings = {
        "ServerApp.root_dir": ROOT,
        "ServerApp.ip": "127.0.0.1",
        "LabApp.default_url": "/lab/tree/notebooks/00_start_here.ipynb",
    }
    command = [PYTHON, "-m", "jupyterlab", *(f"--{key}={settings[key]}" for key in settings)]
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    return command + ["--allow-root"] * root + ["--no-browser"] * (not browser)


def hand_over(command: "list[str]") -> int:
    """Become this command, so that signals and the exit code are its own."""
    os.chdir(str(ROOT))
    if not WINDOWS:
        sys.stdout.flush()
        os.execve(command[0], command, environment())
    with subprocess.Popen(command, env=environment()) as process:  # Windows cannot become another
        while True:
            with contextlib.suppress(KeyboardInterrupt):  # the command has had its own Ctrl-C
                return process.wait()


def fill(folder: Path) -> int:
    """Download into the folder exactly what the environment holds."""
    listing = [PYTHON, "-m", "pip", "list", "--format=freeze", "--exclude-editable"]
    listed = subprocess.check_output(listing, env=environment()).decode().split()
    held = [name for name in listed if not name.startswith("pip==")]
    index = ["--extra-index-url", CPU_INDEX] if any("+cpu" in name for name in held) else []
    exact = ["download", "--no-deps", "--only-binary", ":all:", "--dest", str(folder)]
    with lock() as handle:
        pip(exact + index + held, handle)
    print(f"{folder} is filled. On the other machine: {ME} --wheels FOLDER")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
