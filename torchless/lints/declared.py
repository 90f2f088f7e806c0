"""Functions as headers and sources declare them, read from tokens: what is a tensor, an optional, a list of tensors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchless.lints.scan import FileScan, scans
from torchless.project.bindings import split_arguments
from torchless.text.lexer import Kind, Token, code_tokens, lex, match_backward, match_forward

if TYPE_CHECKING:
    from torchless.lints.context import Context

TORCH = "torch"
TARGET = "target"
_TARGET = re.compile(rb"\baiter_tensor_t\b")
_TORCH = re.compile(rb"\b(?:torch|at)::Tensor\b|(?<![\w:])Tensor\b|\bTensorList\b")
_OPTIONAL = re.compile(rb"\boptional<")
_LIST = re.compile(rb"\b(?:vector|array|ArrayRef|List|list|span|initializer_list|tuple|pair)<|\bTensorList\b")
_NO_NAMES = frozenset(
    b"if for while switch catch return sizeof alignas decltype noexcept explicit operator throw static_assert"
    b" __attribute__ __launch_bounds__ typeid defined requires constexpr and or not".split()
)
_TYPES = frozenset({b"int", b"bool", b"float", b"double", b"long", b"char", b"short", b"unsigned", b"const"})
_BEHIND = frozenset({b";", b"{", b"noexcept", b"const", b"->", b"__attribute__", b"throw"})
Row = tuple[str, int, str, tuple[tuple[str, str], ...], bool]


@dataclass(frozen=True, slots=True)
class Declared:
    """A declaration of a function at ``path`` and byte offset ``start``, by its name with namespaces.

    ``returns`` and the second half of each parameter (name, kind) say what the type holds: words out of "optional",
    "list", "torch" and "target", separated by blanks; "" for a type without a tensor that is no optional. ``defines``:
    its body follows.
    """

    path: str
    start: int
    name: str
    returns: str
    params: tuple[tuple[str, str], ...]
    defines: bool

    @property
    def tensors(self) -> frozenset[str]:
        """Whose tensors it takes or returns: TORCH, TARGET, both or none."""
        words = {word for kind in (self.returns, *(kind for _, kind in self.params)) for word in kind.split()}
        return frozenset(words & {TORCH, TARGET})


Declarations = Mapping[str, Sequence[Declared]]
"""The last component of a name -> the functions that have it."""


def declarations(context: Context, source: str) -> Declarations:
    """The functions that are declared in what ``source`` reads, in any pass."""
    out: dict[str, list[Declared]] = {}
    files = {path for closure in context.closures_of(source) for path in closure.via if path not in closure.outside}
    for path, rows in scans(context, files, _FUNCTIONS):
        for name, start, returns, params, defines in rows:
            out.setdefault(name.rsplit("::", 1)[-1], []).append(Declared(path, start, name, returns, params, defines))
    return out


def candidates(known: Declarations, target: str) -> list[Declared]:
    """The declarations that a binding may mean with ``target``, by their names."""
    name = target.removeprefix("::")
    return [d for d in known.get(name.rsplit("::", 1)[-1], ()) if f"::{d.name}".endswith(f"::{name}")]


def meant(known: Declarations, target: str) -> Declared | None:
    """The function that a binding names as ``target``; None unless all that may be meant take and return the same."""
    found = candidates(known, target)
    kinds = {(d.returns, tuple(kind for _, kind in d.params)) for d in found}
    return found[0] if len(kinds) == 1 else None


def _scan(data: bytes) -> tuple[Row, ...]:
    if b"Tensor" not in data and b"aiter_tensor_t" not in data:
        return ()
    return tuple(_rows([t for t in code_tokens(lex(data)) if not t.directive]))


_FUNCTIONS = FileScan("declared functions", 3, _scan)


def _rows(tokens: list[Token]) -> Iterator[Row]:
    """The functions that are declared at namespace scope."""
    namespaces: list[tuple[str, ...]] = []  # what each open brace adds to names
    head = i = 0  # head: where the current declaration starts
    while i < len(tokens):
        text = tokens[i].text
        if text == b"{":
            added = _namespace(tokens[head:i])
            if added is None:
                i = match_forward(tokens, i)
                if i < 0:
                    return
            else:
                namespaces.append(added)
            head = i + 1
        elif text == b"}":
            if namespaces:
                namespaces.pop()
            head = i + 1
        elif text == b";":
            head = i + 1
        elif text == b"(":
            close = match_forward(tokens, i)
            if close < 0:
                return
            name = _name(tokens, head, i)
            if name and close + 1 < len(tokens) and tokens[close + 1].text in _BEHIND:
                spelled = "::".join((*(part for added in namespaces for part in added), name[1]))
                params = tuple(_param(tokens[slice(*pair)]) for pair in split_arguments(tokens, i, close))
                ends = (tokens[k].text for k in range(close + 1, len(tokens)) if tokens[k].text in (b";", b"{"))
                yield spelled, tokens[name[0]].start, _kind(tokens[head : name[0]]), params, next(ends, b"") == b"{"
            i = close
        i += 1


def _namespace(head: list[Token]) -> tuple[str, ...] | None:
    """The names that a brace behind ``head`` puts before those inside it; None when it is no namespace's."""
    words = [t.text for t in head]
    if b"namespace" in words and b"(" not in words and b"=" not in words:
        names = words[words.index(b"namespace") + 1 :]
        return tuple(w.decode("utf-8", "replace") for w in names if w not in (b"::", b"inline"))
    if len(head) == 2 and words[0] == b"extern" and head[1].kind is Kind.STRING:
        return ()
    return None


def _name(tokens: list[Token], head: int, opening: int) -> tuple[int, str] | None:
    """(index of the first token, spelling) of the function whose parameters start at ``opening``; None for no function.

    Something that can be its type has to stand before it.
    """
    first = opening - 1
    if first <= head or tokens[first].kind is not Kind.NAME or tokens[first].text in _NO_NAMES:
        return None
    while first - 2 >= head and tokens[first - 1].text == b"::" and tokens[first - 2].kind is Kind.NAME:
        first -= 2
    if first <= head:
        return None
    before = tokens[first - 1]
    if before.kind is not Kind.NAME and before.text not in (b"&", b"*", b">", b"&&", b")", b"]"):
        return None
    if before.text == b")" and match_backward(tokens, first - 1) <= head:
        return None
    return first, b"".join(t.text for t in tokens[first:opening]).decode("utf-8", "replace")


def _param(tokens: list[Token]) -> tuple[str, str]:
    default = next((i for i, t in enumerate(tokens) if t.text == b"="), len(tokens))
    last = tokens[default - 1] if default > 1 else None
    named = last is not None and last.kind is Kind.NAME and tokens[default - 2].text != b"::"
    name = last.text.decode("utf-8", "replace") if last is not None and named and last.text not in _TYPES else ""
    return name, _kind(tokens[:default])


def _kind(tokens: list[Token]) -> str:
    text = b"".join(t.text if t.kind is not Kind.NAME else b" " + t.text for t in tokens)
    text = re.sub(rb"\s*(::|<)\s*", rb"\1", text)
    tensor = TARGET if _TARGET.search(text) else TORCH if _TORCH.search(text) else ""
    words = ["optional" if _OPTIONAL.search(text) else "", "list" if tensor and _LIST.search(text) else "", tensor]
    return " ".join(word for word in words if word)
