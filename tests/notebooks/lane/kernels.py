"""A fresh kernel of this Python, with an empty artifacts folder and, if wanted, no GPU."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import nbformat
from ipykernel.kernelspec import RESOURCES, get_kernel_dict
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbformat import NotebookNode

CELL_TIMEOUT_S = 120


class ThisPython(KernelSpecManager):
    """Whatever kernel a notebook names, the one of the running Python is started."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        return KernelSpec(resource_dir=RESOURCES, **get_kernel_dict())


@dataclass
class Kernel:
    """A running kernel."""

    client: NotebookClient
    artifacts: Path

    def run(self, source: str) -> NotebookNode:
        """Run one code cell; the result carries its outputs (an exception is one) and its count."""
        cell = nbformat.v4.new_code_cell(source)
        self.client.nb.cells = [cell]
        return self.client.execute_cell(cell, 0)


@contextmanager
def fresh_kernel(folder: Path, *, environment: Mapping[str, str] | None = None) -> Iterator[Kernel]:
    """A kernel that works in `folder`, as a notebook there would; stopped at the end."""
    notebook = nbformat.v4.new_notebook()
    manager = AsyncKernelManager(kernel_spec_manager=ThisPython())
    client = NotebookClient(notebook, km=manager, timeout=CELL_TIMEOUT_S, allow_errors=True)
    with tempfile.TemporaryDirectory(prefix="gpuutil-", ignore_cleanup_errors=True) as temporary:
        artifacts = Path(temporary) / "artifacts"
        variables = {
            **os.environ,
            "GPUUTIL_ARTIFACTS": str(artifacts),
            "OMP_WAIT_POLICY": "PASSIVE",
            **(environment or {}),
        }
        # ipykernel warns on stderr about its own transport; cells' stderr is an output anyway.
        quiet = {"stderr": subprocess.DEVNULL, "cleanup_kc": True}
        with client.setup_kernel(cwd=str(folder), env=variables, **quiet):
            yield Kernel(client, artifacts)


def failure(outputs: list[NotebookNode]) -> str | None:
    """`ZeroDivisionError: division by zero`, if running the cell raised."""
    for output in outputs:
        if output.output_type == "error":
            return f"{output.ename}: {output.evalue}"
    return None
