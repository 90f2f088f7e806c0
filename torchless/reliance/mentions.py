"""What a file mentions, read off its text fast: names, qualified names, namespaces, and what ## may make of them.

Comments, literals and the operands of include directives are no mentions; macro bodies and the arms of every #if are.
Names are latin-1 text, so that every byte of a file has one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from torchless.text.source import BOM

VERSION = 3
"""Goes up whenever scan() gives something else for the same bytes."""

# Every alternative begins with a character of its own, by which the search jumps; raw strings are too rare to pay for.
_HIDDEN_PARTS = (
    rb"/(?:/(?:[^\\\n]+|\\[ \t]*\n|\\)*|\*.*?(?:\*/|\Z))"
    rb'|"(?:[^"\\\n]+|\\.)*"'
    rb"|'(?:[^'\\\n]|\\[^\n][^'\n]*)'"
    rb"|\#[ \t]*(?:include|include_next|import)[ \t]*<[^>\n]*>"
)
_HIDDEN = re.compile(_HIDDEN_PARTS, re.S)
_HIDDEN_OR_RAW = re.compile(
    rb'(?<![\w$\x80-\xff])(?:u8|[uUL])?R"(?P<delim>[^ ()\\\t\v\f\n]{0,16})\(.*?\)(?P=delim)"|' + _HIDDEN_PARTS, re.S
)
_WORDS = bytes(c if c >= 0x80 or chr(c).isalnum() or c in b"_$" else 32 for c in range(256))
_NAME = r"[A-Za-z_$\x80-\xff][\w$\x80-\xff]*"
_ROOTS = ("std", "torch", "at", "c10", "caffe2", "ck_tile", "ck", "pybind11", "py")
_SPACED = re.compile(rf"\b({'|'.join(_ROOTS)})\s+::\s*|::\s+")
_MEMBER = re.compile(r"::(" + _NAME + ")")
_USING = re.compile(r"using\s+namespace\s+([\w:]+)\s*;")
_OPENED = re.compile(r"namespace\s+([\w:]+)\s*(?:\[\[[^\]]*\]\]\s*)?\{")
# Only a directive holds a # once literals and comments are gone.
_DEFINE = re.compile(r"#[ \t]*define[ \t]+(" + _NAME + r")(\([^)]*\))?((?:[^\\\n]+|\\(?:[ \t]*\n|.))*)")
_PASTED = re.compile(r"(?:[\w$]+\s*##\s*)+[\w$]+")


@dataclass(frozen=True, slots=True)
class Macro:
    """What the bodies of a file's macros of one name mention; ``name`` is theirs."""

    name: str
    names: frozenset[str]
    qualified: frozenset[str]


@dataclass(frozen=True, slots=True)
class Mentions:
    """What a file mentions.

    qualified: "std::vector", "at::Tensor"; of the roots that matter here alone. using: the namespaces of its
    using-directives. opened: those that it has members in. pasted: a tuple for every name that ## makes, of its pieces
    in order, "" for a macro's parameter. code: names, and qualified_code: qualified ones, outside of macro bodies.
    """

    names: frozenset[str] = frozenset()
    qualified: frozenset[str] = frozenset()
    using: frozenset[str] = frozenset()
    opened: frozenset[str] = frozenset()
    pasted: tuple[tuple[str, ...], ...] = ()
    code: frozenset[str] = frozenset()
    qualified_code: frozenset[str] = frozenset()
    macros: tuple[Macro, ...] = ()

    def expanding(self, macros: Collection[str], *, later: bool) -> Mentions:
        """What a unit that expands these ``macros`` gets to see; ``later``: of that, what it sees behind the file."""
        bodies = [macro for macro in self.macros if macro.name in macros]
        names = frozenset().union(*(macro.names for macro in bodies))
        qualified = frozenset().union(*(macro.qualified for macro in bodies))
        if later:
            return replace(self, names=names, qualified=qualified, using=frozenset())
        return replace(self, names=names | self.code, qualified=qualified | self.qualified_code)

    def makes(self, name: str, words: Collection[str]) -> bool:
        """Whether ## in a macro of the file may make ``name``, arguments being among ``words``.

        Arguments may come from other macros: where a macro spells some of the name itself, any argument will do.
        """
        for pieces in self.pasted:
            if not name.startswith(pieces[0]) or not name.endswith(pieces[-1]):
                continue
            if _fits(name, pieces, () if any(pieces) else words):
                return True
        return False


def visible_text(data: bytes) -> str:
    """The text without comments and angled includes, every literal an empty one in "", every line end a newline."""
    data = data.removeprefix(BOM)
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    hidden = _HIDDEN_OR_RAW if b'R"' in data else _HIDDEN
    return hidden.sub(lambda m: b" " if m[0][:1] in b"/#" else b'""', data).decode("latin-1")


def scan(data: bytes) -> tuple[object, ...]:
    """The fields of the Mentions of a file with these bytes, as plain values."""
    text = visible_text(data)
    names = _words(text)
    pieces = _DEFINE.split(text) if "define" in names else [text]
    outside = "".join(pieces[::4])
    macros = list(zip(pieces[1::4], pieces[2::4], pieces[3::4], strict=True))
    bodies: dict[str, str] = {}
    for name, _, body in macros:
        bodies[name] = f"{bodies[name]}\n{body}" if name in bodies else body
    qualified = frozenset(_qualified(text)) if not names.isdisjoint(_ROOTS) else frozenset()
    return (
        names,
        qualified,
        frozenset(_USING.findall(text)),
        frozenset(_namespaces(_OPENED.findall(text))),
        tuple(sorted(_pasted(macros))) if "##" in text else (),
        _words(outside) if bodies else names,
        frozenset(_qualified(outside)) if bodies and qualified else qualified,
        tuple((name, _words(body), frozenset(_qualified(body))) for name, body in sorted(bodies.items())),
    )


def mentions_of(row: Sequence[Any]) -> Mentions:
    """The Mentions that scan() gave the fields of."""
    names, qualified, using, opened, pasted, code, qualified_code, macros = row
    bodies = tuple(Macro(*macro) for macro in macros)
    return Mentions(names, qualified, using, opened, pasted, code, qualified_code, bodies)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.encode("latin-1").translate(_WORDS).decode("latin-1").split())


def _qualified(text: str) -> Iterator[str]:
    """The members of _ROOTS that are named, as ``root::name``."""
    if "::" not in text:
        return
    if " ::" in text or ":: " in text or "\n::" in text or "::\n" in text:
        text = _SPACED.sub(lambda m: f"{m[1] or ''}::", text)
    for match in _MEMBER.finditer(text):
        end = match.start()
        head = text[max(end - 10, 0) : end]
        if not head.endswith(_ROOTS):
            continue
        root = re.search(_NAME + r"\Z", head)
        if root is None or root[0] not in _ROOTS:
            continue
        start = end - len(root[0])
        before = text[max(start - 3, 0) : start]
        if before.endswith("::"):
            before = before[:-2]
            if re.search(r"[\w$>]\Z", before):
                continue  # a namespace of that name within another one
        if not before.endswith((".", "->")):
            yield f"{root[0]}::{match[1]}"


def _namespaces(opened: Iterable[str]) -> set[str]:
    """``a::b`` opens a and a::b; what is nested by braces counts by its own name."""
    out: set[str] = set()
    for name in opened:
        parts = name.split("::")
        out.update("::".join(parts[: n + 1]) for n in range(len(parts)))
        out.add(parts[-1])
    return out


def _pasted(macros: Iterable[tuple[str, str | None, str]]) -> set[tuple[str, ...]]:
    out = set()
    for _, params, body in macros:
        if "##" not in body:
            continue
        variable = set(re.findall(_NAME, params or "")) | {"__VA_ARGS__"}
        for match in _PASTED.finditer(body.replace("\\\n", " ")):
            out.add(tuple("" if p in variable else p for p in re.split(r"\s*##\s*", match[0])))
    return out


def _fits(name: str, pieces: tuple[str, ...], words: Collection[str]) -> bool:
    """Whether ``name`` is ``pieces`` with one of ``words`` (anything, where there are none) in place of empty ones."""
    if not pieces:
        return not name
    first, rest = pieces[0], pieces[1:]
    if first:
        return name.startswith(first) and _fits(name[len(first) :], rest, words)
    return any((not n or not words or name[:n] in words) and _fits(name[n:], rest, words) for n in range(len(name) + 1))
