"""Torch constructs that no finding accounts for: what stays must be named, never skipped in silence."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence

from torchless.facts.typing import FileView, canonical, object_class, postfix_start, qualified_start
from torchless.model import Confidence, Finding, Tier
from torchless.text.lexer import Kind, Token

# Members that a target tensor offers under the same name with the same meaning. Source: the target's header.
CARRIED_MEMBERS = frozenset({"size", "stride", "numel", "dim", "is_contiguous", "element_size", "data_ptr"})
_MACRO = re.compile(
    rb"(?:TORCH_(?!EXTENSION_NAME\b)[A-Z_]+|C10_[A-Z_]+|AT_(?:DISPATCH|ERROR|CHECK|ASSERT|CUDA|PRIVATE)\w*)$"
)


def residual(
    view: FileView, covered: Iterable[tuple[int, int]], blocked: Iterable[tuple[int, int]] = ()
) -> list[Finding]:
    """A blocking TL010 for every torch construct of the file outside the ``covered`` byte ranges.

    ``blocked`` are the ranges of blockers: what is called on what they stop at is theirs too. Includes and
    using-directives are not looked at: they follow from what is left in the file.
    """
    named, stopped = _Spans(covered), _Spans(blocked)
    out: list[Finding] = []
    tokens = view.tokens
    for i, token in enumerate(tokens):
        if token.kind is not Kind.NAME or token.directive in ("include", "ifdef", "ifndef", "if", "elif", "undef"):
            continue
        if token.start in named or token.text in (b"using", b"namespace"):
            continue
        what = _construct(view, i)
        if what and not _in_using(view, i) and not _taken_from(view, i, stopped):
            out.append(
                Finding(
                    "TL010",
                    f"{what} has no counterpart that torchless knows of",
                    view.source.path,
                    tokens[qualified_start(view, i)].start,
                    token.end,
                    tier=Tier.DISPLAY,
                    confidence=Confidence.SEMANTIC if token.start in view.facts else Confidence.SYNTACTIC,
                    blocks=True,
                    help="rewrite it by hand in terms of the target tensor, or move it to the Python wrapper",
                )
            )
    return out


class _Spans:
    """The union of byte ranges, asked offset by offset."""

    def __init__(self, spans: Iterable[tuple[int, int]]) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        for start, end in sorted(spans):
            if self._ends and start <= self._ends[-1]:
                self._ends[-1] = max(self._ends[-1], end)
            else:
                self._starts.append(start)
                self._ends.append(end)

    def __contains__(self, offset: int) -> bool:
        at = bisect_right(self._starts, offset) - 1
        return at >= 0 and offset < self._ends[at]


def _taken_from(view: FileView, i: int, stopped: _Spans) -> bool:
    """Whether ``i`` is a member of what a blocked call gives, or an argument of one: ``x.options().device(f(y))``."""
    while i >= 0 and not _is_taken(view, i, stopped):
        i = _callee_around(view.tokens, i)
    return i >= 0


def _callee_around(tokens: Sequence[Token], i: int) -> int:
    """Index of the name that is called with the token at ``i`` in its arguments, or -1."""
    depth = 0
    for k in range(i - 1, 0, -1):
        text = tokens[k].text
        if text in (b";", b"{", b"}"):
            return -1
        depth += (text == b")") - (text == b"(")
        if depth < 0:
            return k - 1 if tokens[k - 1].kind is Kind.NAME else -1
    return -1


def _is_taken(view: FileView, i: int, stopped: _Spans) -> bool:
    if i < 2 or view.tokens[i - 1].text not in (b".", b"->") or view.tokens[i - 2].text != b")":
        return False
    return any(t.start in stopped for t in view.tokens[postfix_start(view, i - 2) : i - 1] if t.kind is Kind.NAME)


def _construct(view: FileView, i: int) -> str:
    """What torch construct the name token at ``i`` is, in words; "" when it is none."""
    token = view.tokens[i]
    before = view.tokens[i - 1].text if i else b""
    after = view.tokens[i + 1].text if i + 1 < len(view.tokens) else b""
    if _MACRO.match(token.text) and before not in (b".", b"->", b"::") and not token.text.endswith(b"_rmTorch"):
        return token.text.decode("latin-1")
    if before in (b".", b"->"):
        return _member(view, i, after)
    if after == b"::":
        return ""  # a qualifier: the name behind it is looked at
    name = canonical(view, i)
    if not name.startswith("at::"):
        return ""
    if before != b"::" and not _names_it(view, token.text.decode("latin-1"), name):
        return ""
    if all(f.kind in ("var", "param", "field", "capture") for f in view.facts.get(token.start, ())):
        return name if before == b"::" else ("" if token.start in view.facts else name)
    return name


def _names_it(view: FileView, text: str, name: str) -> bool:
    """Whether the bare ``text`` is torch's own word for ``name``.

    An alias, a macro or a template parameter that stands for it is not: its definition is what is looked at.
    """
    return name.endswith(f"::{text}") or view.aliases.get(text, "").endswith(f"::{text}")


def _member(view: FileView, i: int, after: bytes) -> str:
    token = view.tokens[i]
    name = token.text.decode("latin-1")
    facts = [f for f in view.facts.get(token.start, ()) if f.kind == "member" and f.name.startswith("at::")]
    if facts:
        classes = {f.type for f in facts}
        carried = classes <= {"tensor"} and name in CARRIED_MEMBERS and after != b"<"
        return "" if carried else facts[0].name
    answer = object_class(view, i)
    if answer is None or not answer.only("tensor"):
        return ""
    return "" if name in CARRIED_MEMBERS and after != b"<" else f"at::Tensor::{name}"


def _in_using(view: FileView, i: int) -> bool:
    """Whether the name at ``i`` stands in a using-declaration or using-directive."""
    first = qualified_start(view, i)
    return first > 0 and view.tokens[first - 1].text in (b"using", b"namespace")
