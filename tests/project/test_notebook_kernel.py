"""Inside a notebook's kernel: loaders with workers, a worker that fails, a function from a cell."""

from __future__ import annotations

import multiprocessing
import sys

import nbformat
from nbclient import NotebookClient

from gpuutil_helpers.files import repository_root

SETUP = f"""
import sys, time, pathlib
sys.path.insert(0, {str(repository_root())!r})
import psutil, torch
import torch.nn.functional as F
from gpuutil_helpers.project.data import load_digits, make_loader
from gpuutil_helpers.project.models import SmallConvNet
from gpuutil_helpers.project.pictures import PictureFolder
from gpuutil_helpers.project.training import evaluate
torch.set_num_threads(1)
digits = load_digits().validation

def left():
    for _ in range(100):
        alive = [p for p in psutil.Process().children(recursive=True) if p.status() != "zombie"]
        names = [" ".join(p.cmdline()) for p in alive]
        kept = [n for n in names if "tracker" not in n and "forkserver import" not in n]
        if not kept:
            break
        time.sleep(0.1)
    return len(kept)
"""

LOADER = """
alone = torch.cat([images for images, _ in make_loader(digits, 128, shuffle=True)])
loader = make_loader(digits, 128, shuffle=True, workers={workers}, start_method={method!r})
same = torch.equal(torch.cat([images for images, _ in loader]), alone)
del loader
print(same, left())
"""

FAILING = """
folder = pathlib.Path("pictures/0")
folder.mkdir(parents=True)
for number in range(6):
    (folder / f"{number}.jpg").write_bytes(b"no picture")
for images, labels in make_loader(PictureFolder("pictures"), 2, workers=2):
    pass
"""

FUNCTION = """
# text above the function, and a magic in the cell before
def train_step(model, images, labels, optimizer):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(images), labels)
    loss.backward()
    optimizer.step()
    return loss.item()

after = 1
"""

SCRIPT = """
from gpuutil_helpers.project.probe import probe
from gpuutil_helpers.project.script import write_train_script
text = write_train_script(train_step, "project").read_text(encoding="utf-8")
print("loss = F.cross_entropy(model(images), labels)" in text, "after = 1" in text)
print(probe(train_step).same_as_reference)
"""


def run(cells, folder):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    client = NotebookClient(
        notebook,
        timeout=120,
        kernel_name="python3",
        allow_errors=True,
        resources={"metadata": {"path": str(folder)}},
    )
    client.create_kernel_manager()
    client.km.kernel_spec.argv[0] = (
        sys.executable
    )  # whatever kernel "python3" means on this machine
    client.execute()
    return [cell.outputs for cell in notebook.cells]


def printed(outputs):
    """All that a cell printed; a cell that raised shows it instead."""
    raised = [f"{o.ename}: {o.evalue}" for o in outputs if o.output_type == "error"]
    texts = [o.text for o in outputs if o.output_type == "stream"]
    return "".join(raised or texts).strip()


WANTED = [(method, n) for method in ("fork", "spawn", "forkserver") for n in (1, 2)] + [(None, 0)]


def test_loaders_and_functions_work_from_a_cell(tmp_path):
    known = multiprocessing.get_all_start_methods()
    wanted = [(method, workers) for method, workers in WANTED if method in (None, *known)]
    loaders = [LOADER.format(method=method, workers=workers) for method, workers in wanted]
    cells = [SETUP, *loaders, FAILING, "print(left())", FUNCTION, SCRIPT]
    setup, *first, failing, rest, _, script = run(cells, tmp_path)
    assert printed(setup) == ""
    assert dict(zip(wanted, map(printed, first), strict=True)) == dict.fromkeys(wanted, "True 0")
    (error,) = [o for o in failing if o.output_type == "error"]
    assert error.ename == "ValueError"
    assert "0.jpg is damaged." in error.evalue
    assert printed(rest) == "0"
    assert printed(script) == "True False\nTrue"
