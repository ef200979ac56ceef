"""Counting and reading the words of a Markdown cell."""

from __future__ import annotations

import re
from collections.abc import Iterator

_FENCE = re.compile(r"^[ \t]*(```|~~~).*?^[ \t]*\1[ \t]*$", re.DOTALL | re.MULTILINE)
_DETAILS = re.compile(r"<details>.*?</details>", re.DOTALL | re.IGNORECASE)
_SUMMARY = re.compile(r"<summary>.*?</summary>", re.DOTALL | re.IGNORECASE)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_TAG = re.compile(r"</?[A-Za-z][^>]*>")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_CODE = re.compile(r"`[^`\n]+`")
_HEADING = re.compile(r"^#{1,6} +(?P<text>.+?)\s*$", re.MULTILINE)
_TABLE_ROW = re.compile(r"^\s*\|.*$", re.MULTILINE)
_TABLE_RULE = re.compile(r"^\s*\|[\s:|-]+$")
_ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)]|\([a-z]\))\s+")
_BOLD = re.compile(r"\*\*(?=\S)(.+?)(?<=\S)\*\*", re.DOTALL)
_QUOTES = "\"'\u201c\u201d\u2018\u2019"
_END = re.compile(rf"(?<=[.?!])[{_QUOTES})*_]*\s+(?=[{_QUOTES}(*_`]*[A-Z0-9])")


def visible(markdown: str) -> str:
    """The text a reader sees without unfolding: no `<details>`, no fenced code, no comments."""
    return _FENCE.sub("", _COMMENT.sub("", _DETAILS.sub("", markdown)))


def everything(markdown: str) -> str:
    """All the text, folded parts included; no fenced code, no comments, no summaries."""
    return _TAG.sub("", _SUMMARY.sub("", _FENCE.sub("", _COMMENT.sub("", markdown))))


def count(text: str) -> int:
    """How many words: pieces between blanks (or table bars) with a letter or a digit in them.

    Code between backticks is read as one.
    """
    bare = _TAG.sub(" ", _CODE.sub("code", _LINK.sub(r"\1", text))).replace("|", " ")
    return sum(any(sign.isalnum() for sign in piece) for piece in bare.split())


def headings(markdown: str) -> list[str]:
    """The headings, without their signs, outside fenced code."""
    return [m["text"] for m in _HEADING.finditer(_FENCE.sub("", markdown))]


def top_headings(markdown: str) -> list[str]:
    """The headings of the first level."""
    lines = _FENCE.sub("", markdown).splitlines()
    return [line[2:].strip() for line in lines if re.match(r"# +\S", line)]


def paragraphs(text: str) -> str:
    """The text without headings and tables."""
    return _TABLE_ROW.sub("", _HEADING.sub("", text))


def table_rows(markdown: str) -> list[list[str]]:
    """Each table row as its cells; the rule below a table's head is left out."""
    rows = [m.group() for m in _TABLE_ROW.finditer(_FENCE.sub("", markdown))]
    rows = [row.strip().strip("|") for row in rows if not _TABLE_RULE.match(row)]
    return [[piece.strip() for piece in row.split("|")] for row in rows]


def items(markdown: str) -> list[str]:
    """The items of the lists in a text."""
    return [_ITEM.sub("", line) for line in markdown.splitlines() if _ITEM.match(line)]


def bold(markdown: str) -> list[str]:
    """What stands in bold, outside code."""
    bare = _CODE.sub("code", everything(markdown))
    return [" ".join(found.split()) for found in _BOLD.findall(bare)]


def sentences(markdown: str) -> list[str]:
    """The sentences of the running text and of list items, folded text included."""
    found: list[str] = []
    for block in _blocks(paragraphs(everything(markdown))):
        whole = _LINK.sub(r"\1", " ".join(block.split()))
        found += [piece for piece in _END.split(_guard_code(whole)) if count(piece)]
    return [piece.replace("\x00", " ").replace("\x01", ".") for piece in found]


def sentence_length(sentence: str) -> int:
    """Words of a sentence; a piece of inline code counts as one."""
    return count(_CODE.sub("code", sentence))


def statements(markdown: str) -> list[str]:
    """The sentences, and each row of a table as one more."""
    rows = table_rows(everything(markdown))
    return sentences(markdown) + [" | ".join(row) for row in rows]


def _blocks(text: str) -> Iterator[str]:
    """Paragraphs and list items, one at a time, without the item's sign and leading number."""
    block: list[str] = []
    for line in [*text.splitlines(), ""]:
        if not line.strip() or _ITEM.match(line):
            if block:
                yield re.sub(r"^\W*\d+\.\s", "", "\n".join(block))
            block = []
        if line.strip():
            block.append(_ITEM.sub("", line).lstrip("> "))


def _guard_code(text: str) -> str:
    """Inline code as one piece, so that a full stop in it ends no sentence."""
    return _CODE.sub(lambda m: m.group().replace(" ", "\x00").replace(".", "\x01"), text)
