"""How many bytes a workspace has, as a function of numbers that Python can give."""

from __future__ import annotations

import re
from dataclasses import dataclass

from torchless.rewrites.scopes import Scopes, statement_start
from torchless.rewrites.workspaces.find import Workspace
from torchless.text.lexer import Kind, Token

_INTEGERS = frozenset(
    {b"int", b"int32_t", b"int64_t", b"uint32_t", b"uint64_t", b"size_t", b"std::size_t", b"long", b"long_long"}
    | {b"unsigned", b"unsigned_int", b"unsigned_long"}
)
_WORDS = frozenset({b"const", b"constexpr", b"static", b"sizeof", b"static_cast", b"std", b"auto"})
_SIZES = {b"size": 1, b"numel": 0, b"element_size": 0}


class NotAFunctionOfNumbers(ValueError):
    """Why Python cannot ask for the size. One line, for people."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a function: its type with ``_`` for blanks between words, its name, whether it has a default."""

    type: bytes
    name: bytes
    first: int
    last: int
    has_default: bool

    @property
    def is_number(self) -> bool:
        """Whether it is an integer by value."""
        return self.type in _INTEGERS

    @property
    def is_tensor(self) -> bool:
        """Whether it is one tensor of the target's."""
        return self.type in (b"aiter_tensor_t&", b"aiter_tensor_t")


@dataclass(frozen=True, slots=True)
class Size:
    """The body of a function that gives the size.

    ``asked``: its parameters as (declaration, name, which of the function's parameters, what of it in Python:
    "" for the number itself, ".size(0)" for a tensor's size). ``lines`` are what its body declares, ``value`` is the
    size.
    """

    asked: tuple[tuple[str, str, int, str], ...]
    lines: tuple[str, ...]
    value: str


def parameters_of(scopes: Scopes, opening: int) -> list[Parameter]:
    """The parameters in the brackets that open at token ``opening``."""
    tokens, close = scopes.tokens, scopes.pair.get(opening, -1)
    out: list[Parameter] = []
    first = i = opening + 1
    while i <= close:
        text = tokens[i].text
        if i == close or text == b",":
            if i > first:
                out.append(_parameter(tokens, first, i - 1))
            first = i + 1
        elif text in (b"(", b"[", b"{"):
            i = scopes.pair.get(i, i)
        elif text == b"<":
            i = _behind_angles(tokens, i, close) - 1
        i += 1
    return out


def _behind_angles(tokens: list[Token], opening: int, close: int) -> int:
    depth = 0
    for i in range(opening, close):
        depth += (tokens[i].text == b"<") - (tokens[i].text == b">") - 2 * (tokens[i].text == b">>")
        if depth <= 0:
            return i + 1
    return close


def _parameter(tokens: list[Token], first: int, last: int) -> Parameter:
    equals = next((i for i in range(first, last + 1) if tokens[i].text == b"="), last + 1)
    words = [t.text for t in tokens[first:equals]]
    name = words[-1] if len(words) > 1 and tokens[equals - 1].kind is Kind.NAME else b""
    kept = [w for w in (words[:-1] if name else words) if w != b"const"]
    text = b""
    for word in kept:
        text += (b"_" if text and text[-1:].isalnum() and word[:1].isalnum() else b"") + word
    return Parameter(text, name, first, last, equals <= last)


def size_of(scopes: Scopes, one: Workspace, parameters: list[Parameter]) -> Size:
    """The size of the workspace ``one`` of the function with ``parameters``. Raises NotAFunctionOfNumbers."""
    function = scopes.function_of(one.allocation[0])
    assert function is not None
    work = _Work(scopes, function.open, one.allocation[0], {p.name: i for i, p in enumerate(parameters)}, parameters)
    value = work.text(*one.size)
    lines = tuple(text for _, text in sorted(work.lines.items()))
    return Size(tuple(sorted(work.asked.values(), key=lambda a: (a[2], a[1]))), lines, value)


class _Work:
    """Follows names from the size to numbers; ``lines`` are the declarations needed, by token."""

    def __init__(
        self, scopes: Scopes, opening: int, end: int, places: dict[bytes, int], parameters: list[Parameter]
    ) -> None:
        self.scopes, self.opening, self.end = scopes, opening, end
        self.places, self.parameters = places, parameters
        self.asked: dict[str, tuple[str, str, int, str]] = {}
        self.lines: dict[int, str] = {}

    def text(self, first: int, last: int) -> str:
        """The expression at tokens first..last with sizes of tensors as parameters."""
        tokens = self.scopes.tokens
        out = b""
        at = tokens[first].start
        i = first
        while i <= last:
            token = tokens[i]
            out += b" " if token.start > at else b""
            is_member = i > first and tokens[i - 1].text in (b".", b"->", b"::")
            place = self.places.get(token.text, -1) if token.kind is Kind.NAME and not is_member else -1
            if place >= 0:
                i, word = self._parameter(i, place)
                out += word.encode()
            else:
                if token.text in (b"[", b"{", b"=", b"++", b"--", b"->", b"."):
                    raise NotAFunctionOfNumbers("its size is no plain expression")
                if token.kind is Kind.NAME and not is_member and token.text not in _WORDS:
                    self._local(i)
                out += token.text
            at = tokens[i].end
            i += 1
        return out.decode("latin-1")

    def _parameter(self, i: int, place: int) -> tuple[int, str]:
        """(the last token of what is asked of a parameter, the name of the number that stands for it)."""
        tokens, parameter = self.scopes.tokens, self.parameters[place]
        name = parameter.name.decode("latin-1")
        if parameter.is_number:
            self._unchanged(parameter.name, self.opening)
            spelled = parameter.type if parameter.type.endswith(b"_t") else parameter.type.replace(b"_", b" ")
            self.asked[name] = (f"{spelled.decode('latin-1')} {name}", name, place, "")
            return i, name
        method = tokens[i + 2].text if tokens[i + 1].text == b"." else b""
        close = self.scopes.pair.get(i + 3, -1)
        if not parameter.is_tensor or method not in _SIZES or close < 0:
            raise NotAFunctionOfNumbers(f"its size needs more of {name} than a number")
        argument = b"".join(t.text for t in tokens[i + 4 : close]).decode("latin-1")
        if not re.fullmatch(r"-?\d+" if _SIZES[method] else "", argument):
            raise NotAFunctionOfNumbers(f"its size needs more of {name} than a number")
        word = f"{name}_{method.decode()}" + (f"_{argument.replace('-', 'last')}" if argument else "")
        if word.encode() in {t.text for t in tokens}:
            raise NotAFunctionOfNumbers(f"{word} has another meaning in its file")
        self.asked[word] = (f"int64_t {word}", word, place, f".{method.decode()}({argument})")
        return close, word

    def _local(self, i: int) -> None:
        """Follow the name at token ``i`` where it is a local variable."""
        tokens, name = self.scopes.tokens, self.scopes.tokens[i].text
        for at in range(self.opening + 1, self.end):
            if tokens[at].text != name or tokens[at + 1].text != b"=" or tokens[at - 1].kind is not Kind.NAME:
                continue
            first = statement_start(self.scopes, at)
            if first in self.lines:
                return
            block = self.scopes.at(at)
            types = b"_".join(t.text for t in tokens[first:at] if t.text not in (b"const", b"constexpr"))
            if block is None or block.open != self.opening or types not in _INTEGERS | {b"auto", b"std_::_size_t"}:
                raise NotAFunctionOfNumbers(f"its size depends on {name.decode('latin-1')}, which is no plain number")
            end = next(k for k in range(at, self.end) if tokens[k].text == b";")
            self._unchanged(name, end)
            self.lines[first] = ""
            head = b" ".join(t.text for t in tokens[first:at]).replace(b" :: ", b"::").decode("latin-1")
            self.lines[first] = f"{head} {name.decode('latin-1')} = {self.text(at + 2, end - 1)};"
            return
        declared = any(
            tokens[k].text == name and tokens[k - 1].kind is Kind.NAME and tokens[k + 1].text in (b";", b"(", b"{")
            for k in range(self.opening + 1, self.end)
        )
        if declared:
            raise NotAFunctionOfNumbers(f"its size depends on {name.decode('latin-1')}, which statements set")

    def _unchanged(self, name: bytes, start: int) -> None:
        """Raises where ``name`` may get another value between token ``start`` and the allocation."""
        tokens = self.scopes.tokens
        writes = (b"=", b"+=", b"-=", b"*=", b"/=", b"%=", b"<<=", b">>=", b"&=", b"|=", b"^=", b"++", b"--")
        for i in range(start + 1, self.end):
            if tokens[i].text != name:
                continue
            if tokens[i + 1].text in writes or tokens[i - 1].text in (b"++", b"--", b"&"):
                raise NotAFunctionOfNumbers(f"its size depends on {name.decode('latin-1')}, which statements set")
