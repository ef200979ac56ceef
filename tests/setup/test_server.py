"""`start.py --no-browser` with the real JupyterLab: a notebook runs through the server it starts.

The environment it finds ready is one of links into the environment that runs the tests.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import site
import subprocess
import sys
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import websocket

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = "notebooks/00_start_here.ipynb"
ADDRESS = re.compile(r"^ +(http://127\.0\.0\.1:\d+)/lab/tree/(\S+)\?token=([0-9a-f]{32,})$", re.M)
NEWS = {"fetchNews": "false", "checkForUpdates": False}
OPEN_TO_ALL = {"ServerApp": {"ip": "0.0.0.0", "root_dir": "/"}}


def link_environment(course) -> None:
    """Make the course's .venv out of links, and its stamp: as if start.py had installed it all."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", course.venv], check=True)
    places = [str(course.folder), *site.getsitepackages()]
    (course.packages / "links.pth").write_text("\n".join(places), encoding="utf-8")
    about = course.packages / "gpuutil_helpers-0.1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Name: gpuutil-helpers\nVersion: 0.1.0\n")
    write_kernel(course.venv / "share/jupyter", "python")  # as ipykernel's own wheel has it
    (course.venv / "etc/jupyter").mkdir(parents=True)
    for parts in ("share/jupyter/lab*", "etc/jupyter/*config.d"):  # its pages, what it switches on
        for part in Path(sys.prefix).glob(parts):
            (course.venv / part.relative_to(sys.prefix)).symlink_to(part)
    start = course.module()
    start.quieten_jupyterlab()
    start.write_stamp(
        {
            "python": start.version_inside(),
            "folder": str(course.folder),
            "holds": start.requirements(with_tests=True),
        }
    )


def write_kernel(data: Path, program: str) -> None:
    """A kernel named python3 that is started with this program."""
    command = [program, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec = {"argv": command, "display_name": program, "language": "python"}
    (data / "kernels/python3").mkdir(parents=True)
    (data / "kernels/python3/kernel.json").write_text(json.dumps(spec))


class Server:
    """A running JupyterLab, reached by what start.py printed."""

    def __init__(self, process: subprocess.Popen[str], folder: Path) -> None:
        self.process = process
        self.folder = folder
        told = ""
        while not ADDRESS.search(told):
            line = process.stdout.readline()
            assert line, f"start.py ended with {process.wait()}:\n{told}"
            told += line
        self.told = told
        self.url, self.opens, self.token = ADDRESS.search(told).groups()

    def ask(self, path: str, method: str = "GET", content=None, token: str | None = None):
        """The answer of the REST API, from JSON."""
        headers = {"Authorization": f"token {self.token if token is None else token}"}
        data = None if content is None else json.dumps(content).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read() or "null")

    def processes(self) -> list[psutil.Process]:
        """The server and its kernels."""
        server = psutil.Process(self.process.pid)
        return [server, *server.children(recursive=True)]


class Kernel:
    """A kernel's channels, as JupyterLab uses them."""

    def __init__(self, server: Server, kernel: str) -> None:
        self.session = uuid.uuid4().hex
        address = server.url.replace("http", "ws") + f"/api/kernels/{kernel}/channels"
        header = [f"Authorization: token {server.token}"]
        self.socket = websocket.create_connection(address, header=header, timeout=120)

    def run(self, code: str) -> list[dict]:
        """The outputs of one cell."""
        header = {
            "msg_id": uuid.uuid4().hex,
            "msg_type": "execute_request",
            "session": self.session,
            "username": "",
            "version": "5.3",
        }
        content = {"code": code, "silent": False, "allow_stdin": False, "stop_on_error": True}
        message = {"header": header, "parent_header": {}, "metadata": {}, "content": content}
        self.socket.send(json.dumps({**message, "channel": "shell", "buffers": []}))
        outputs, waiting_for = [], {"execute_reply", "idle"}
        while waiting_for:
            answer = json.loads(self.socket.recv())
            if answer["parent_header"].get("msg_id") != header["msg_id"]:
                continue
            kind = answer["msg_type"]
            waiting_for -= {kind, answer["content"].get("execution_state")}
            if kind in ("stream", "error", "display_data", "execute_result"):
                outputs.append({"kind": kind, **answer["content"]})
        return outputs


@pytest.fixture(scope="module")
def server(course_type, tmp_path_factory) -> Iterator[Server]:
    """The course, copied into a folder with spaces and umlauts, served by start.py.

    The person who starts it has a kernel and a configuration of their own, which must not win.
    """
    place = tmp_path_factory.mktemp("server")
    course = course_type(place / "Ein Kurs für Zoë")
    course.folder.mkdir()
    for name in ("start.py", "pyproject.toml"):
        shutil.copy(ROOT / name, course.folder)
    for name in ("gpuutil_helpers", "data", "notebooks"):
        ignored = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints")
        shutil.copytree(ROOT / name, course.folder / name, ignore=ignored)
    link_environment(course)
    person = place / "person"
    write_kernel(person, "/bin/false")
    (person / "jupyter_server_config.json").write_text(json.dumps(OPEN_TO_ALL))
    process = course.start(
        "--no-browser",
        GPUUTIL_ARTIFACTS=str(place / "artifacts"),
        JUPYTER_DATA_DIR=str(person),
        JUPYTER_CONFIG_DIR=str(person),
        JUPYTER_PREFER_ENV_PATH="0",
    )
    yield Server(process, course.folder)
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    course.close()


def test_the_table_stands_above_the_address_of_the_first_notebook(server: Server) -> None:
    assert "FAIL" not in server.told
    assert server.told.index("OK    JupyterLab") < server.told.index(server.url)
    assert server.opens == NOTEBOOK
    assert server.ask(f"/api/contents/{NOTEBOOK}?content=0")["type"] == "notebook"


def test_jupyterlab_asks_nothing_about_news_and_looks_for_no_updates(server: Server) -> None:
    plugin = server.ask("/lab/api/settings/@jupyterlab/apputils-extension:notification")
    asked = {name: plugin["schema"]["properties"][name]["default"] for name in NEWS}
    assert asked == NEWS


def test_it_listens_on_this_machine_alone(server: Server) -> None:
    listening = {
        connection.laddr.ip
        for process in server.processes()
        for connection in process.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    }
    assert listening == {"127.0.0.1"}


@pytest.mark.parametrize("path", ["/api/contents", "/api/kernels", "/api/terminals"])
def test_without_the_token_it_answers_nothing(server: Server, path: str) -> None:
    for token in ("", "0" * len(server.token)):
        with pytest.raises(urllib.error.HTTPError) as refused:
            server.ask(path, token=token)
        assert refused.value.code == 403
    assert server.ask(path) is not None


def test_a_notebook_runs_through_the_server_and_stops_with_it(server: Server) -> None:
    wanted = {"path": NOTEBOOK, "name": "", "type": "notebook", "kernel": {"name": "python3"}}
    session = server.ask("/api/sessions", "POST", wanted)
    kernel = Kernel(server, session["kernel"]["id"])

    asked = "import os, sys; print(sys.prefix); print(os.getcwd())"
    asked += "; print(os.environ['OMP_WAIT_POLICY'], os.environ['PYTHONUTF8'])"
    (answer,) = kernel.run(asked)
    expected = [str(server.folder / ".venv"), str(server.folder / "notebooks"), "PASSIVE 1"]
    assert answer["text"].splitlines() == expected

    cells = server.ask(f"/api/contents/{NOTEBOOK}")["content"]["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert code
    shown = 0
    for cell in code:
        outputs = kernel.run(cell["source"])
        failed = [output for output in outputs if output["kind"] == "error"]
        assert not failed, f"{cell['source']}\n{failed[0]['ename']}: {failed[0]['evalue']}"
        shown += len(outputs)
    assert shown >= len(code) / 2, "most cells of a lesson show something"
    assert not (server.folder / "artifacts").exists(), "GPUUTIL_ARTIFACTS reaches the kernel"

    processes = server.processes()
    assert len(processes) >= 2
    for _ in range(2):  # Ctrl-C, twice, as start.py says
        server.process.send_signal(signal.SIGINT)
        time.sleep(0.5)
    assert server.process.wait(timeout=60) == 0
    _, alive = psutil.wait_procs(processes[1:], timeout=30)
    assert not alive, "a kernel outlives the server"
