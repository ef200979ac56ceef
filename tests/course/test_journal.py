"""The notes file: damaged, cut off, written by several at once, on a disk that refuses."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from gpuutil_helpers.course import journal
from gpuutil_helpers.files import repository_root

DECISION = ("decision", "because", "gives_up", "would_change_if", "next_step")


def decision(number: object, filling: str = "") -> dict[str, object]:
    fields = dict.fromkeys(DECISION, filling)
    return {"kind": "decision", "lesson": "00", "key": "k", **fields, "decision": f"{number}"}


def numbers(path: Path) -> list[int]:
    return [int(record["decision"]) for record in journal.read(path).records]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "notes.jsonl"


def start(code: str, *arguments: object) -> subprocess.Popen[str]:
    """A second process in which `journal`, `decision` and `path` are at hand."""
    head = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from gpuutil_helpers.course import journal\n"
        f"path, fields = Path(sys.argv[1]), dict.fromkeys({DECISION!r}, '')\n"
        "def decision(n):\n"
        "    head = {'kind': 'decision', 'lesson': '00', 'key': 'k'}\n"
        "    return head | fields | {'decision': str(n)}\n"
    )
    command = [sys.executable, "-c", head + code, *map(str, arguments)]
    environment = os.environ | {"PYTHONPATH": str(repository_root())}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def test_a_line_holds_version_time_and_the_record_in_plain_utf8(path: Path) -> None:
    journal.append(path, decision("größer, 更大"))
    (line,) = path.read_bytes().splitlines(keepends=True)
    assert line.endswith(b"\n")
    stored = json.loads(line)
    assert "größer, 更大".encode() in line
    assert stored.pop("version") == 1
    assert time.strptime(stored.pop("time"), "%Y-%m-%dT%H:%M:%SZ")
    assert stored == decision("größer, 更大")


@pytest.mark.parametrize(
    "text",
    ["two\nlines\r\n", "\u2028\x85\x0b\x1c", "nul \0", "half \ud83d pair", '"\\', "é" * 10**6],
)
def test_any_text_comes_back_on_one_line(path: Path, text: str) -> None:
    journal.append(path, decision(text))
    journal.append(path, decision("next"))
    assert [record["decision"] for record in journal.read(path).records] == [text, "next"]
    assert path.read_bytes().count(b"\n") == 2


def test_a_missing_file_is_empty_and_stays_missing(path: Path) -> None:
    assert journal.read(path) == journal.Journal((), 0, 0)
    assert not path.exists()


def test_missing_folders_are_made(tmp_path: Path) -> None:
    journal.append(tmp_path / "a" / "b" / "notes.jsonl", decision(1))
    assert numbers(tmp_path / "a" / "b" / "notes.jsonl") == [1]


def good(number: int) -> bytes:
    record = {"version": 1, "time": "2025-01-31T12:00:00Z", **decision(number)}
    return json.dumps(record).encode()


def changed(**fields: object) -> bytes:
    return json.dumps(json.loads(good(0)) | fields).encode()


GUESS = {"kind": "prediction", "guess": 1, "unit": "s", "choices": [], "why": ""}
UNREADABLE = {
    "no JSON": b"%%% garbage",
    "half a line": good(0)[:-20],
    "no UTF-8": good(0).replace(b'"0"', b'"\xff\xfe"'),
    "zeros after a power cut": b"\0" * 4096,
    "zeros and a line": b"\0" * 64 + good(0),
    "deep": b"[" * 100_000,
    "a list": b"[1, 2]",
    "no version": b'{"kind": "decision"}',
    "version is true": changed(version=True),
    "a field is missing": b'{"version": 1, "kind": "decision", "time": "", "key": "k"}',
    "a field is no text": changed(because=3),
    "a lesson is no text": changed(lesson=0),
    "a guess is true": changed(**GUESS | {"guess": True}),
    "a guess is not finite": changed(**GUESS).replace(b'"guess": 1', b'"guess": 1e999'),
    "a guess is NaN": changed(**GUESS).replace(b'"guess": 1', b'"guess": NaN'),
    "a guess has 400 digits": changed(**GUESS | {"guess": 10**400}),
    "a guess has 5000 digits": changed(**GUESS).replace(b'"guess": 1', b'"guess": ' + b"1" * 5000),
    "choices are no list": changed(**GUESS | {"choices": "ab"}),
}
NEWER = {
    "version 2": changed(version=2),
    "version 2, otherwise strange": b'{"version": 2}',
    "an unknown kind": changed(kind="vitals"),
    "a strange kind": changed(kind=["decision"]),
    "no kind": changed(kind=None),
}


@pytest.mark.parametrize("line", UNREADABLE.values(), ids=UNREADABLE)
def test_an_unreadable_line_is_counted_skipped_and_kept(path: Path, line: bytes) -> None:
    before = good(1) + b"\n" + line + b"\n" + good(2) + b"\n"
    path.write_bytes(before)
    read = journal.read(path)
    assert (numbers(path), read.unreadable, read.newer) == ([1, 2], 1, 0)
    journal.append(path, decision(3))
    assert numbers(path) == [1, 2, 3]
    assert path.read_bytes().startswith(before)


@pytest.mark.parametrize("line", NEWER.values(), ids=NEWER)
def test_a_line_of_a_newer_version_is_counted_apart(path: Path, line: bytes) -> None:
    path.write_bytes(good(1) + b"\n" + line + b"\n" + good(2) + b"\n")
    read = journal.read(path)
    assert (numbers(path), read.unreadable, read.newer) == ([1, 2], 0, 1)


def test_what_was_left_out_is_one_sentence() -> None:
    def told(unreadable: int, newer: int) -> str:
        return journal.what_was_left_out(journal.Journal((), unreadable, newer))

    assert told(0, 0) == ""
    assert told(1, 0) == "left out here, and kept in the file: 1 line cannot be read"
    assert told(3, 2) == (
        "left out here, and kept in the file: 3 lines cannot be read, "
        "2 lines of a newer version of this course"
    )


@pytest.mark.parametrize(
    "tail", [good(0)[:30], b"{", b"\0" * 512, b"\n\n", b"\r\n", "é".encode()[:1]]
)
def test_a_line_never_merges_with_what_was_cut_off(path: Path, tail: bytes) -> None:
    before = good(1) + b"\n" + tail
    path.write_bytes(before)
    journal.append(path, decision(2))
    journal.append(path, decision(3))
    assert numbers(path) == [1, 2, 3]
    assert journal.read(path).unreadable == bool(tail.strip())
    assert path.read_bytes().startswith(before)


def test_a_whole_line_without_its_newline_is_read_and_kept(path: Path) -> None:
    path.write_bytes(good(1))
    assert numbers(path) == [1]
    journal.append(path, decision(2))
    assert numbers(path) == [1, 2]


def test_windows_line_ends_and_its_editor_mark_do_no_harm(path: Path) -> None:
    path.write_bytes(b"\xef\xbb\xbf" + good(1) + b"\r\n\r\n" + good(2) + b"\r\n")
    assert numbers(path) == [1, 2]
    assert journal.read(path).unreadable == 0


def test_a_killed_process_leaves_every_written_line(path: Path) -> None:
    filling = "x" * 20_000
    endless = (
        f"n = 0\nwhile True:\n    journal.append(path, decision(f'{{n}} {filling}'))\n    n += 1"
    )
    process = start(endless, path)
    try:
        deadline = time.monotonic() + 60
        while not path.exists() or path.stat().st_size < 40 * len(filling):
            assert time.monotonic() < deadline
            time.sleep(0.001)
    finally:
        process.kill()
        process.communicate()
    journal.append(path, decision(f"-1 {filling}"))
    seen = [int(record["decision"].split()[0]) for record in journal.read(path).records]
    assert len(seen) >= 40
    assert seen == [*range(len(seen) - 1), -1]
    assert journal.read(path).unreadable <= 1  # the one being written


def test_a_process_that_dies_right_after_its_first_write_has_written_the_line(path: Path) -> None:
    dying = (
        "write = os.write\n"
        "def write_and_die(*arguments):\n"
        "    write(*arguments)\n"
        "    os._exit(9)\n"
        "journal.os.write = write_and_die\n"
        "journal.append(path, decision(2))\n"
    )
    path.write_bytes(good(1)[:-1])
    process = start(dying, path)
    process.communicate()
    assert process.returncode == 9
    assert numbers(path) == [2]
    assert path.read_bytes().endswith(b"}\n")


def test_the_line_is_on_the_disk_before_append_returns(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = []
    fsync = os.fsync

    def spy(descriptor: int) -> None:
        sizes.append(os.fstat(descriptor).st_size)
        fsync(descriptor)

    monkeypatch.setattr(journal.os, "fsync", spy)
    journal.append(path, decision(1))
    assert sizes == [path.stat().st_size]


def test_two_processes_at_once_lose_nothing(path: Path) -> None:
    code = "for n in range(200):\n    journal.append(path, decision(int(sys.argv[2]) + n))"
    processes = [start(code, path, first) for first in (0, 1000)]
    for process in processes:
        process.communicate(timeout=120)
        assert process.returncode == 0
    seen = numbers(path)
    assert [n for n in seen if n < 1000] == list(range(200))
    assert [n for n in seen if n >= 1000] == list(range(1000, 1200))
    assert journal.read(path).unreadable == 0


@pytest.mark.skipif(journal.fcntl is None, reason="needs POSIX locks")
@pytest.mark.parametrize("then", ["append(path, decision(2))", "read(path)"])
def test_others_wait_while_a_line_is_being_written(path: Path, then: str) -> None:
    path.write_bytes(good(1) + b"\n")
    code = f"print('ready', flush=True)\njournal.{then}\nprint('done', flush=True)"
    with path.open("ab") as other:
        journal.fcntl.flock(other, journal.fcntl.LOCK_EX)
        process = start(code, path)
        assert process.stdout.readline() == "ready\n"
        other.write(good(3)[:30])
        other.flush()
        time.sleep(0.3)
        assert process.poll() is None
        assert path.read_bytes().endswith(good(3)[:30])
        other.write(good(3)[30:] + b"\n")
    assert process.communicate(timeout=60)[0] == "done\n"
    assert numbers(path) == ([1, 3, 2] if "append" in then else [1, 3])


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_is_used_without(
    path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    write = os.write

    def write_after_another(descriptor: int, raw: bytes) -> int:
        with path.open("ab") as other:
            other.write(good(2) + b"\n")
        return write(descriptor, raw)

    monkeypatch.setattr(journal, "fcntl", SimpleNamespace(flock=refuse, LOCK_EX=2, LOCK_SH=1))
    journal.append(path, decision(1))
    with monkeypatch.context() as patch:
        patch.setattr(journal.os, "write", write_after_another)
        journal.append(path, decision(3))
    assert numbers(path) == [1, 2, 3]


class WindowsLocks:
    """Plays msvcrt: locks bytes at the file's position, and forbids to free what is not locked."""

    LK_LOCK, LK_UNLCK = 1, 0

    def __init__(self) -> None:
        self.held: set[int] = set()
        self.uses = 0

    def locking(self, descriptor: int, mode: int, length: int) -> None:
        at = os.lseek(descriptor, 0, os.SEEK_CUR)
        assert length == 1
        assert at > os.fstat(descriptor).st_size  # others may still read every byte there is
        if mode == self.LK_LOCK:
            assert at not in self.held
            self.held.add(at)
            self.uses += 1
        else:
            self.held.remove(at)


def test_on_windows_a_byte_behind_the_end_is_locked_and_freed(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locks = WindowsLocks()
    monkeypatch.setattr(journal, "fcntl", None)
    monkeypatch.setattr(journal, "msvcrt", locks, raising=False)
    path.write_bytes(good(1) + b"\n{")
    journal.append(path, decision(2))
    journal.append(path, decision(3))
    assert numbers(path) == [1, 2, 3]
    assert (locks.held, locks.uses) == (set(), 3)
    monkeypatch.setattr(journal.os, "write", lambda *_: 0)
    with pytest.raises(OSError, match="could not be written"):
        journal.append(path, decision(4))
    assert locks.held == set()


def refused(path: Path, action: str, reason: str) -> None:
    act = journal.read if action == "read" else lambda where: journal.append(where, decision(1))
    with pytest.raises(OSError, match="The notes in") as caught:
        act(path)
    sentence = str(caught.value)
    assert sentence.startswith(f"The notes in {path} could not be {action} ({reason}")
    assert sentence.endswith(
        "GPUUTIL_ARTIFACTS to a folder that is; what was written before is kept."
    )
    assert "\n" not in sentence


@pytest.mark.parametrize("action", ["read", "written"])
def test_a_folder_in_place_of_the_file(tmp_path: Path, action: str) -> None:
    refused(tmp_path, action, "that is a folder")


@pytest.mark.parametrize("action", ["read", "written"])
def test_a_file_in_place_of_the_folder(tmp_path: Path, action: str) -> None:
    (tmp_path / "artifacts").write_text("mine", encoding="utf-8")
    refused(tmp_path / "artifacts" / "notes.jsonl", action, "its folder is a file")
    refused(tmp_path / "artifacts" / "deeper" / "notes.jsonl", action, "its folder is a file")
    assert (tmp_path / "artifacts").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(
    ("action", "call", "code"),
    [
        ("written", "open", errno.EACCES),
        ("written", "open", errno.EROFS),
        ("written", "write", errno.ENOSPC),
        ("written", "fsync", errno.EIO),
        ("read", "open", errno.EACCES),
    ],
)
def test_a_disk_that_refuses(
    path: Path, monkeypatch: pytest.MonkeyPatch, action: str, call: str, code: int
) -> None:
    path.write_bytes(good(1) + b"\n")

    def refuse(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patch:
        patch.setattr(journal.os, call, refuse)
        refused(path, action, os.strerror(code))
    assert numbers(path)[0] == 1


def test_a_full_disk_that_takes_half_a_line(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal.append(path, decision(1))
    write = os.write
    with monkeypatch.context() as patch:
        patch.setattr(journal.os, "write", lambda descriptor, raw: write(descriptor, raw[:20]))
        refused(path, "written", "only a part of the line fitted")
    journal.append(path, decision(2))
    assert (numbers(path), journal.read(path).unreadable) == ([1, 2], 1)


def test_a_read_only_folder(tmp_path: Path) -> None:
    folder = tmp_path / "artifacts"
    folder.mkdir(mode=0o500)
    if os.access(folder, os.W_OK):
        pytest.skip("this user may write everywhere")
    refused(folder / "notes.jsonl", "written", "Permission denied")
