"""Using-directives and namespace aliases of torch's go when nothing needs them any more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchless.facts.typing import ROOTS, FileView, canonical
from torchless.model import Confidence, Edit, Finding, Tier
from torchless.rewrites.tensor_types import qualified_first
from torchless.text.lexer import Kind, Token, lex


def remove_using(view: FileView, edits: Sequence[Edit]) -> list[Finding]:
    """Findings (TL206) for ``using namespace at;``, ``using at::X;`` and ``namespace th = torch;``.

    ``edits`` are the unit's other edits: a name that none of them touches keeps its directive; a blocker names it.
    """
    touched = [(e.start, e.end) for e in edits if e.path == view.source.path and e.end > e.start]
    out = []
    for first, last, names in _directives(view):
        left = sorted(set(_unqualified(view, names, first, last, touched)))
        start, end = view.tokens[first].start, view.tokens[last].end
        if left:
            shown = ", ".join(left[:4])
            out.append(
                Finding(
                    "TL206",
                    f"the directive stays: {shown} {'is' if len(left) == 1 else 'are'} torch's and found through it",
                    view.source.path,
                    start,
                    end,
                    tier=Tier.DISPLAY,
                    blocks=True,
                    help="replace these names, then the directive can go",
                )
            )
            continue
        edit = Edit(view.source.path, *_whole_line(view, start, end), b"", "TL206")
        message = "nothing is found through this directive any more"
        out.append(
            Finding("TL206", message, view.source.path, start, end, edits=(edit,), confidence=Confidence.SEMANTIC)
        )
    return out


def _directives(view: FileView) -> Iterator[tuple[int, int, frozenset[str]]]:
    """(first token, the ;, names found through it) of each directive of torch's; no names: all of the namespace."""
    tokens = view.tokens
    for i, token in enumerate(tokens):
        if token.kind is not Kind.NAME or i + 3 >= len(tokens) or token.directive:
            continue
        end = next((j for j in range(i, min(i + 16, len(tokens))) if tokens[j].text == b";"), -1)
        if end < 0:
            continue
        if token.text == b"using" and tokens[i + 1].text == b"namespace":
            if _root(tokens, i + 2) in ROOTS:
                yield i, end, frozenset()
        elif token.text == b"using" and tokens[i + 2].text == b"::":
            if tokens[end - 1].kind is Kind.NAME and _root(tokens, i + 1) in ROOTS:
                yield i, end, frozenset({tokens[end - 1].text.decode("latin-1")})
        elif token.text == b"namespace" and tokens[i + 2].text == b"=" and _root(tokens, i + 3) in ROOTS:
            yield i, end, frozenset({tokens[i + 1].text.decode("latin-1")})


def _root(tokens: list[Token], index: int) -> str:
    return tokens[index + 1 if tokens[index].text == b"::" else index].text.decode("latin-1")


def _unqualified(
    view: FileView, names: frozenset[str], first: int, last: int, touched: Sequence[tuple[int, int]]
) -> Iterator[str]:
    """Names outside first..last that are found through the directive and that no edit replaces."""
    tokens = view.tokens
    for i, token in enumerate(tokens):
        if token.kind is not Kind.NAME or first <= i <= last:
            continue
        text = token.text.decode("latin-1")
        if names and text not in names:
            continue
        if tokens[i - 1].text in (b".", b"->", b"using", b"namespace") if i else False:
            continue
        if qualified_first(tokens, i) != i or _is_declared(view, i):
            continue
        root = i + 2 < len(tokens) and tokens[i + 1].text == b"::"
        found = canonical(view, i) if not root else (canonical(view, i + 2) if names else "")
        if found.startswith("at::") and not any(start <= token.start < end for start, end in touched):
            yield text


def _is_declared(view: FileView, index: int) -> bool:
    """True for the name of a variable, parameter or alias of the file's own."""
    facts = view.facts.get(view.tokens[index].start, ())
    return bool(facts) and all(f.kind in ("var", "param", "field", "capture") for f in facts)


def _whole_line(view: FileView, start: int, end: int) -> tuple[int, int]:
    """The line around start..end when nothing else but a trailing comment stands on it; else the range itself."""
    source = view.source
    line = source.line_of(start)
    if source.line_of(end) != line:
        return start, end
    first = source.line_start(line)
    text = source.line_bytes(line)
    before, behind = source.data[first:start], source.data[end : first + len(text)]
    rest = [t for t in lex(behind) if t.kind > Kind.COMMENT]
    open_comment = any(t.text.startswith(b"/*") and not t.text.endswith(b"*/") for t in lex(behind))
    if before.strip(b" \t\xef\xbb\xbf") or rest or open_comment:
        return start, end
    return first + (3 if first == 0 and source.has_bom else 0), first + len(text)
