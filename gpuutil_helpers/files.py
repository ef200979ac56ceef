"""Where the course's files lie, and how every file is written: whole or not at all."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

ARTIFACTS_VARIABLE = "GPUUTIL_ARTIFACTS"


def repository_root() -> Path:
    """The folder that holds `notebooks/`, `data/` and this package."""
    return Path(__file__).resolve().parents[1]


def data_dir() -> Path:
    """The folder `data/` that ships with the course; nothing is ever written there."""
    return repository_root() / "data"


def artifacts_dir() -> Path:
    """The folder below which everything a notebook writes goes. It need not exist yet.

    `artifacts/` in the repository, or what the environment variable GPUUTIL_ARTIFACTS names.
    """
    named = os.environ.get(ARTIFACTS_VARIABLE)
    return Path(named).expanduser().resolve() if named else repository_root() / "artifacts"


def write_whole(path: str | Path, content: str | bytes) -> Path:
    """Write `content` so that `path` holds either all of it or what it held before.

    A temporary file in the same folder is written, flushed to the disk and moved over `path`.
    Text is encoded as UTF-8, line endings as given. Missing parent folders are made.

    Raises:
        PermissionError, OSError: with the folder named and what to do; `path` is as it was.
    """
    path = Path(path)
    raw = content.encode("utf-8") if isinstance(content, str) else content
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with temporary.open("xb") as stream:
                stream.write(raw)
                stream.flush()
                os.fsync(stream.fileno())
            temporary.replace(path)
        finally:  # an interrupt too leaves nothing behind
            temporary.unlink(missing_ok=True)
    except OSError as error:
        in_the_way = next((p for p in path.parents if p.exists() and not p.is_dir()), None)
        cure = (
            f"Free some space or make the folder {path.parent} writable"
            if in_the_way is None
            else f"{in_the_way} is a file where a folder must be: move it away"
        )
        raise type(error)(
            f"{path} could not be written ({error.strerror or error}). {cure}, or set "
            f"{ARTIFACTS_VARIABLE} to a folder that is writable."
        ) from error
    return path
