"""The one form in which a lesson is stored, so that a change of content is the only change."""

from __future__ import annotations

import copy

import nbformat
from nbformat import NotebookNode

KERNELSPEC = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
LANGUAGE = {
    "file_extension": ".py",
    "mimetype": "text/x-python",
    "name": "python",
    "nbconvert_exporter": "python",
    "pygments_lexer": "ipython3",
}
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"


def canonical(notebook: NotebookNode) -> NotebookNode:
    """A copy without what an editor or a run leaves behind: timestamps, widget state, versions.

    Kept are sources, cell ids, outputs, counts, tags and whatever stands below `gpuutil`.
    Neighbouring pieces of one stream become one output.
    """
    kept = copy.deepcopy(notebook)
    kept.nbformat, kept.nbformat_minor = 4, 5
    kept.metadata = NotebookNode(
        {
            **_only(kept.metadata, ("gpuutil",)),
            "kernelspec": NotebookNode(KERNELSPEC),
            "language_info": NotebookNode(LANGUAGE),
        }
    )
    for cell in kept.cells:
        cell.metadata = _only(cell.metadata, ("gpuutil", "tags"))
        if cell.cell_type == "code":
            cell.outputs = _joined(cell.outputs)
    return kept


def text_of(notebook: NotebookNode) -> str:
    """The text of the canonical file."""
    return plain_text(canonical(notebook))


def plain_text(notebook: NotebookNode) -> str:
    """The notebook as a file's text, nothing left out: sorted keys, indent 1, one last newline."""
    # Not nbformat.writes: it repairs double cell ids in passing, and the guard wants to see them.
    return nbformat.v4.writes(notebook).rstrip("\n") + "\n"


def _only(metadata: NotebookNode, names: tuple[str, ...]) -> NotebookNode:
    return NotebookNode({name: metadata[name] for name in names if metadata.get(name)})


def _joined(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Outputs with neighbouring pieces of one stream joined."""
    joined: list[NotebookNode] = []
    for output in outputs:
        last = joined[-1] if joined else None
        same = last is not None and output.output_type == last.output_type == "stream"
        if same and output.name == last.name:
            last.text += output.text
        else:
            output.pop("transient", None)
            joined.append(output)
    return joined
