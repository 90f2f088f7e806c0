"""Adds a flag to an entry of the JIT configuration as text: nothing else of the file changes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from torchless.model import Edit
from torchless.project.model import Module
from torchless.text.source import SourceFile

_TOKEN = re.compile(rb'\s+|"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')


@dataclass(frozen=True, slots=True)
class _Token:
    text: bytes
    start: int
    end: int


def with_flag(source: SourceFile, module: Module, key: str, flag: str, code: str) -> tuple[Edit, ...]:
    """The edit that adds ``flag`` to the list under ``key`` of the entry of ``module``; none where it cannot be made.

    An entry without the key gets it first, in the layout of what follows.
    """
    tokens = list(_tokens(source.data, module.entry_start, module.entry_end))
    if len(tokens) < 3 or tokens[0].text == b"" or tokens[1].text != b":" or tokens[2].text != b"{":
        return ()
    new = json.dumps(flag).encode()
    place = _value_of(tokens, key)
    if place < 0 or place >= len(tokens):
        return _first(source, tokens, key, new, code)
    if tokens[place].text != b"[":
        return ()
    close = _close(tokens, place)
    if close < 0:
        return ()
    if close == place + 1:
        return (Edit(source.path, tokens[place].end, tokens[close].start, new, code),)
    last = tokens[close - 1]
    before = tokens[close - 2]
    gap = source.data[before.end : last.start] if before.text in (b",", b"[") else b" "
    if before.text == b"[" and b"\n" not in gap:
        gap = b" "
    return (Edit(source.path, last.end, last.end, b"," + gap + new, code),)


def with_source_flags(
    source: SourceFile, module: Module, key: str, names: Sequence[str], flag: str, code: str
) -> tuple[Edit, ...]:
    """The edit that gives ``flag`` to the sources ``names`` under ``key`` of the entry, a map from names to flags.

    None where the entry has such a map already: the first name in it that matches a source counts.
    """
    tokens = list(_tokens(source.data, module.entry_start, module.entry_end))
    if len(tokens) < 4 or tokens[1].text != b":" or tokens[2].text != b"{" or tokens[3].text == b"}":
        return ()
    if _value_of(tokens, key) >= 0:
        return ()
    gap = source.data[tokens[2].end : tokens[3].start]
    outer = source.data[source.line_start(source.line_of(tokens[0].start)) : tokens[0].start]
    own = gap.rpartition(b"\n")[2]
    step = own.removeprefix(outer) if b"\n" in gap and not outer.strip() else b""
    inner = gap + step
    rows = [json.dumps(name).encode() + b": [" + json.dumps(flag).encode() + b"]" for name in names]
    text = json.dumps(key).encode() + b": {" + inner + (b"," + (inner or b" ")).join(rows) + gap + b"}," + (gap or b" ")
    return (Edit(source.path, tokens[3].start, tokens[3].start, text, code),)


def _first(source: SourceFile, tokens: list[_Token], key: str, new: bytes, code: str) -> tuple[Edit, ...]:
    """The key with a list of its own, in front of the first key of the entry."""
    if tokens[3].text == b"}":
        return ()
    gap = source.data[tokens[2].end : tokens[3].start]
    text = json.dumps(key).encode() + b": [" + new + b"]," + (gap or b" ")
    return (Edit(source.path, tokens[3].start, tokens[3].start, text, code),)


def _tokens(data: bytes, start: int, end: int) -> Iterator[_Token]:
    position = start
    while position < end:
        match = _TOKEN.match(data, position, end)
        if match is None:
            return
        if match[0].strip():
            yield _Token(match[0], match.start(), match.end())
        position = match.end()


def _value_of(tokens: list[_Token], key: str) -> int:
    """The index of the value under ``key`` of the object at index 2, or -1."""
    depth = 0
    found = -1
    for i, token in enumerate(tokens[2:], 2):
        if token.text in (b"{", b"["):
            depth += 1
        elif token.text in (b"}", b"]"):
            depth -= 1
        elif depth == 1 and [t.text for t in tokens[i : i + 2]] == [json.dumps(key).encode(), b":"]:
            found = i + 2  # of a key that is there twice the last one counts
    return found


def _close(tokens: list[_Token], opening: int) -> int:
    """The index of the ] for the [ at ``opening``; -1 for a list that holds anything but texts, or for none."""
    for i in range(opening + 1, len(tokens)):
        if tokens[i].text == b"]":
            return i
        if not (tokens[i].text == b"," or tokens[i].text.startswith(b'"')):
            return -1
    return -1
