"""The file behind the lab notes: one JSON object a line, only ever appended to.

Every line has `version` (1), `kind`, `time` (UTC, ISO 8601, seconds), `lesson` and `key`. Besides:

- `prediction`: `guess` (a number or a text), `unit`, `choices` (texts, or none), `why`
- `measurement`: `name`, `unit`, `samples`, `median`, `low`, `high` (the interval of the median,
  or null), `choice` (a text where the prediction was a choice), `unavailable` (the reason, or
  null), `controls` (texts: what was held fixed; may be missing)
- `decision`: `decision`, `because`, `gives_up`, `would_change_if`, `next_step`
- `debugging`: `symptom`, `evidence`, `hypothesis`, `experiment`, `outcome`; its key is "debugging"

The text is UTF-8. A line ends with a newline, or it was cut off: the next one then starts with a
newline of its own, so that it does not merge with what a killed process left. Lines that cannot be
read, and lines of a newer version, are counted, skipped and kept.
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from gpuutil_helpers.files import ARTIFACTS_VARIABLE

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None
    import msvcrt

VERSION = 1
_LOCKED_BYTE = 1 << 30  # Windows forbids others to read a locked byte: lock one that is not there.
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


@dataclass(frozen=True)
class Journal:
    """What was read: the lines understood, in the order written, and how many were not."""

    records: tuple[Mapping[str, object], ...]
    unreadable: int
    newer: int


def append(path: Path, record: Mapping[str, object]) -> None:
    """Add `record` as one line, with the version and the time, and wait until the disk has it.

    Two processes may append at once: each line is one write under a lock.

    Raises:
        OSError: one sentence that names the file and says what to do.
    """
    stamp = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    text = json.dumps(
        {"version": VERSION, "time": stamp, **record}, ensure_ascii=False, allow_nan=False
    )
    # Half of a surrogate pair is no UTF-8; its backslash form is JSON for the same text.
    line = text.encode("utf-8", errors="backslashreplace") + b"\n"
    with _one_sentence(path, "written"):
        path.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
        with _opened(path, flags) as descriptor, _locked(descriptor, exclusive=True):
            if not _ends_a_line(descriptor):
                line = b"\n" + line
            if os.write(descriptor, line) < len(line):
                raise OSError("only a part of the line fitted")
            os.fsync(descriptor)


def read(path: Path) -> Journal:
    """Everything in the file; a missing file holds nothing. The file is not changed.

    Raises:
        OSError: the file exists and cannot be read; one sentence says what to do.
    """
    with _one_sentence(path, "read"):
        try:
            flags = os.O_RDONLY | getattr(os, "O_BINARY", 0)
            with _opened(path, flags) as descriptor, _locked(descriptor, exclusive=False):
                raw = _everything(descriptor)
        except FileNotFoundError:
            raw = b""
    lines = [line for line in raw.removeprefix(codecs.BOM_UTF8).split(b"\n") if line.strip()]
    parsed = [_parsed(line) for line in lines]
    known = tuple(record for record in parsed if record is not None and _is_known(record))
    unreadable = sum(record is None for record in parsed)
    return Journal(known, unreadable, newer=len(parsed) - len(known) - unreadable)


def what_was_left_out(journal: Journal) -> str:
    """One sentence on the lines that were skipped; empty if all were understood."""
    parts = []
    if journal.unreadable:
        parts.append(f"{_lines(journal.unreadable)} cannot be read")
    if journal.newer:
        parts.append(f"{_lines(journal.newer)} of a newer version of this course")
    return f"left out here, and kept in the file: {', '.join(parts)}" if parts else ""


def _lines(count: int) -> str:
    return "1 line" if count == 1 else f"{count} lines"


def _parsed(line: bytes) -> dict[str, object] | None:
    """The JSON object on a line, None if there is none or if a known kind lacks what it needs."""
    try:
        record = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or type(record.get("version")) is not int:
        return None
    if _is_known(record) and not _is_complete(record):
        return None
    return record


def _is_known(record: Mapping[str, object]) -> bool:
    kind = record.get("kind")
    return record["version"] == VERSION and isinstance(kind, str) and kind in _FIELDS


def _is_complete(record: Mapping[str, object]) -> bool:
    fields = _COMMON | _FIELDS[record["kind"]]
    return all(name in record and fits(record[name]) for name, fits in fields.items())


def _text(value: object) -> bool:
    return isinstance(value, str)


def _number(value: object) -> bool:
    try:
        return type(value) in (int, float) and math.isfinite(value)
    except OverflowError:
        return False


def _texts(value: object) -> bool:
    return isinstance(value, list) and all(map(_text, value))


def _numbers(value: object) -> bool:
    return isinstance(value, list) and all(map(_number, value))


def _or_none(fits: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: value is None or fits(value)


_COMMON: dict[str, Callable[[object], bool]] = {"time": _text, "lesson": _text, "key": _text}
_FIELDS: dict[object, dict[str, Callable[[object], bool]]] = {
    "prediction": {
        "guess": lambda value: _text(value) or _number(value),
        "unit": _text,
        "choices": _texts,
        "why": _text,
    },
    "measurement": {
        "name": _text,
        "unit": _text,
        "samples": _numbers,
        "median": _or_none(_number),
        "low": _or_none(_number),
        "high": _or_none(_number),
        "choice": _or_none(_text),
        "unavailable": _or_none(_text),
    },
    "decision": dict.fromkeys(
        ("decision", "because", "gives_up", "would_change_if", "next_step"), _text
    ),
    "debugging": dict.fromkeys(
        ("symptom", "evidence", "hypothesis", "experiment", "outcome"), _text
    ),
}

KINDS = tuple(_FIELDS)


def _ends_a_line(descriptor: int) -> bool:
    size = os.lseek(descriptor, 0, os.SEEK_END)
    if size == 0:
        return True
    os.lseek(descriptor, size - 1, os.SEEK_SET)
    return os.read(descriptor, 1) == b"\n"


def _everything(descriptor: int) -> bytes:
    os.lseek(descriptor, 0, os.SEEK_SET)
    pieces = []
    while piece := os.read(descriptor, 1 << 20):
        pieces.append(piece)
    return b"".join(pieces)


@contextlib.contextmanager
def _opened(path: Path, flags: int) -> Iterator[int]:
    descriptor = os.open(path, flags, 0o644)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _locked(descriptor: int, *, exclusive: bool) -> Iterator[None]:
    """Hold the file's lock; a process that dies lets go of it.

    A network file system without locks is written without one: each line is still one write.
    """
    if fcntl is None:
        _lock_byte(descriptor, msvcrt.LK_LOCK)
    else:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH)
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
    try:
        yield
    finally:
        if fcntl is None:
            _lock_byte(descriptor, msvcrt.LK_UNLCK)  # POSIX lets go when the file is closed.


def _lock_byte(descriptor: int, mode: int) -> None:
    """Windows: lock or free one byte, far behind the end. Waiting is given up after ten seconds."""
    os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
    msvcrt.locking(descriptor, mode, 1)


@contextlib.contextmanager
def _one_sentence(path: Path, done: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise type(error)(
            f"The notes in {path} could not be {done} ({_cause(error)}): make the file and its "
            f"folder writable, free some space, or set {ARTIFACTS_VARIABLE} to a folder that is; "
            "what was written before is kept."
        ) from error


def _cause(error: OSError) -> str:
    if isinstance(error, IsADirectoryError):
        return "that is a folder"
    if isinstance(error, NotADirectoryError | FileExistsError):
        return "its folder is a file"
    return error.strerror or str(error)
