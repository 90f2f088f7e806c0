"""How functions are declared, by name: in C++ files, and in what Python scripts print.

std::function takes whatever can be called with its arguments; a pointer takes the very type. So before one becomes the
other, every function that is stored must be seen to be declared with just that type.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from torchless.rewrites.dispatch_tables.codebase import Codebase
from torchless.rewrites.dispatch_tables.printers import Scripts
from torchless.rewrites.dispatch_tables.pytext import HOLE
from torchless.rewrites.dispatch_tables.spelling import Signature, normal, parameters
from torchless.text.lexer import Kind, Token, match_angle, match_forward

_NO_TYPES = frozenset({b"return", b"else", b"new", b"delete", b"case", b"throw", b"co_return", b"goto", b"typedef"})
_SPECIFIERS = frozenset(
    {
        *(b"static", b"inline", b"extern", b"constexpr", b"consteval", b"virtual", b"explicit", b"friend"),
        *(b"__global__", b"__device__", b"__host__", b"__forceinline__", b"template", b"typename"),
    }
)


def pattern(name: str) -> re.Pattern[str]:
    """What names a function may have whose name is printed with holes in it."""
    return re.compile(_ANY.join(re.escape(part) for part in re.split(rf"{HOLE}\d+", name)))


def declarations(tokens: list[Token], wanted: re.Pattern[str]) -> Iterator[Signature]:
    """The signatures of functions whose name matches ``wanted``, declared or defined in ``tokens``."""
    for i, token in enumerate(tokens):
        if token.kind is not Kind.NAME or i + 1 >= len(tokens) or tokens[i + 1].text != b"(":
            continue
        if not wanted.fullmatch(token.text.decode("latin-1")):
            continue
        close = match_forward(tokens, i + 1)
        behind = tokens[close + 1].text if 0 <= close < len(tokens) - 1 else b""
        if behind not in (b";", b"{"):
            continue
        first = _return_type(tokens, i)
        if first < i and tokens[i - 1].text not in _NO_TYPES:
            yield Signature(
                normal([t for t in tokens[first:i] if t.text not in _SPECIFIERS]), parameters(tokens, i + 1)
            )


def _return_type(tokens: Sequence[Token], name: int) -> int:
    """The index of the first token of the return type of the function whose name is at ``name``."""
    i = name
    depth = 0
    while i > 0:
        before = tokens[i - 1]
        if depth == 0 and (before.text in (b";", b"{", b"}", b")", b"(", b",", b"=", b":", b"#") or before.directive):
            break
        if before.text == b">":
            if depth == 0 and _ends_template_head(tokens, i - 1):
                break
            depth += 1
        elif before.text == b"<":
            depth -= 1
            if depth < 0:
                break
        i -= 1
    return i


def _ends_template_head(tokens: Sequence[Token], close: int) -> bool:
    """Whether the > at ``close`` ends ``template <...>``."""
    depth = 0
    for i in range(close, -1, -1):
        depth += (tokens[i].text == b">") - (tokens[i].text == b"<")
        if depth == 0:
            return i > 0 and tokens[i - 1].text == b"template" and match_angle(list(tokens), i) == close
    return False


def signatures(
    code: Codebase, scripts: Scripts, name: str, files: Iterable[str], generators: Sequence[str]
) -> frozenset[Signature]:
    """Every signature that ``name`` (with holes, where it is printed) is declared with.

    Looked at are the C++ ``files``; where none of them declares it, the functions whose whole name the first of the
    ``generators`` that prints such functions puts into a hole: it must be one of those.
    """
    wanted = pattern(name)
    found: set[Signature] = set()
    if wanted.pattern != _ANY:
        word = re.compile(wanted.pattern.encode())
        for path in sorted(files):
            if word.search(code.read(path)):
                found.update(declarations(code.file(path).view.tokens, wanted))
    for path in generators:
        if found:
            break
        script = scripts(path)
        for text in script.strings if not script.failure else ():
            if HOLE in text.code and "(" in text.code:
                found.update(declarations(text.tokens, _PRINTED))
    return frozenset(found)


_ANY = r"\w+"
_PRINTED = re.compile(rf"{HOLE}\d+")
