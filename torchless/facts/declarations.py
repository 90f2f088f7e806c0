"""Declarations and aliases of framework types, read off the text where no compiler looks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from torchless.text.lexer import Kind, Token, match_angle, match_forward

_ROOTS = frozenset({b"torch", b"at", b"c10"})
_TYPES = {
    "Tensor": "tensor",
    "TensorBase": "tensor",
    "ScalarType": "dtype",
    "TensorOptions": "options",
    "IntArrayRef": "int_array",
    "SymIntArrayRef": "int_array",
    "Device": "device",
    "Half": "half",
    "BFloat16": "bfloat16",
    "Generator": "generator",
    "TensorList": "tensor_list",
    "Scalar": "scalar",
}
# What `using namespace at;` makes visible besides the types; source: the enumerators of at::ScalarType.
_CONSTANTS = (
    *("kByte", "kChar", "kShort", "kInt", "kLong", "kHalf", "kFloat", "kDouble", "kBool", "kBFloat16"),
    *("kUInt8", "kInt8", "kInt16", "kInt32", "kInt64", "kFloat16", "kFloat32", "kFloat64", "kUInt16", "kUInt32"),
    *("kUInt64", "kFloat8_e5m2", "kFloat8_e4m3fn", "kFloat8_e5m2fnuz", "kFloat8_e4m3fnuz", "kFloat8_e8m0fnu"),
    *("kCUDA", "kCPU", "kHIP"),
)
_OPTIONALS = frozenset({b"optional"})
_LISTS = frozenset({b"vector", b"ArrayRef", b"initializer_list", b"List"})
_WRAPPED = {"tensor": ("optional_tensor", "tensor_list"), "dtype": ("optional_dtype", "")}


@dataclass(frozen=True, slots=True)
class Declaration:
    """A variable or parameter: name, byte offset of the name, type class, byte range in which it is visible.

    For ``auto`` the class is "" and init_first/init_last are the token indexes of its initialiser.
    """

    name: bytes
    offset: int
    type: str
    scope_start: int
    scope_end: int
    init_first: int = -1
    init_last: int = -1


def find_aliases(tokens: list[Token]) -> dict[str, str]:
    """Names that the file gives to framework names: using-declarations, type and namespace aliases, typedefs, macros.

    ``using namespace at;`` gives the bare names of the types in question: {"Tensor": "at::Tensor", ...}.
    """
    out: dict[str, str] = {}
    for i, token in enumerate(tokens):
        if token.kind is not Kind.NAME:
            continue
        if token.text == b"using" and i + 2 < len(tokens):
            if tokens[i + 1].text == b"namespace":
                name, _ = _qualified(tokens, i + 2)
                if name == "at":
                    out.update({t: f"at::{t}" for t in (*_TYPES, *_CONSTANTS, "nullopt", "optional")})
            elif tokens[i + 2].text == b"=":
                name, end = _qualified(tokens, i + 3)
                if name.startswith("at::") and end < len(tokens) and tokens[end].text == b";":
                    out[tokens[i + 1].text.decode("latin-1")] = name
            else:
                name, end = _qualified(tokens, i + 1)
                if name.startswith("at::") and end < len(tokens) and tokens[end].text == b";":
                    out[name.rsplit("::", 1)[1]] = name
        elif token.text == b"namespace" and i + 3 < len(tokens) and tokens[i + 2].text == b"=":
            name, _ = _qualified(tokens, i + 3)
            if name == "at" or name.startswith("at::"):
                out[tokens[i + 1].text.decode("latin-1")] = name
        elif token.text == b"typedef":
            name, end = _qualified(tokens, i + 1)
            if name.startswith("at::") and end + 1 < len(tokens) and tokens[end + 1].text == b";":
                out[tokens[end].text.decode("latin-1")] = name
        elif token.text == b"define" and token.directive == "define" and i + 2 < len(tokens):
            name, end = _qualified(tokens, i + 2)
            ends = end >= len(tokens) or tokens[end].directive != "define"
            if name.startswith("at::") and ends:
                out[tokens[i + 1].text.decode("latin-1")] = name
    return out


def find_declarations(tokens: list[Token], aliases: Mapping[str, str]) -> Iterator[Declaration]:
    """Variables and parameters whose type is spelled as a framework type, and every ``auto`` with an initialiser."""
    ends = _block_ends(tokens)
    i = 0
    while i < len(tokens):
        token = tokens[i]
        if token.kind is not Kind.NAME:
            i += 1
            continue
        if token.text == b"auto":
            j = i + 1
            while j < len(tokens) and tokens[j].text in (b"&", b"&&", b"const", b"*"):
                j += 1
            if j + 1 < len(tokens) and tokens[j].kind is Kind.NAME and tokens[j + 1].text in (b"=", b"{"):
                stop = _statement_end(tokens, j + 2)
                if stop > j + 2:
                    # not visible in its own initialiser
                    yield Declaration(tokens[j].text, tokens[j].start, "", tokens[stop].start, ends[j], j + 2, stop - 1)
            i = j
            continue
        kind, after = type_at(tokens, i, aliases)
        if not kind:
            i += 1
            continue
        j = after
        pointer = False
        while j < len(tokens) and tokens[j].text in (b"&", b"&&", b"const", b"*", b"__restrict__"):
            pointer = pointer or tokens[j].text == b"*"
            j += 1
        named = j + 1 < len(tokens) and tokens[j].kind is Kind.NAME
        if named and tokens[j + 1].text in (b",", b")", b"=", b";", b"{", b"(", b":"):
            kind = "tensor_pointer" if pointer and kind == "tensor" else kind
            yield Declaration(tokens[j].text, tokens[j].start, kind, tokens[j].start, _scope_end(tokens, j, ends))
        i = max(j, i + 1)


def type_at(tokens: list[Token], index: int, aliases: Mapping[str, str]) -> tuple[str, int]:
    """(type class, index after it) of the type spelled at ``index``, ("", index) when it is none of the framework's."""
    name, end = _qualified(tokens, index)
    if not name or (index and tokens[index - 1].text in (b"::", b".", b"->")):
        return "", index
    if name in aliases:
        name = aliases[name]
    last = name.rsplit("::", 1)[-1]
    if name.startswith("at::") and name.count("::") == 1 and last in _TYPES:
        return _TYPES[last], end
    wraps = last.encode() in _OPTIONALS | _LISTS
    if wraps and end < len(tokens) and tokens[end].text == b"<":
        close = match_angle(tokens, end)
        start = end + 1
        while start < len(tokens) and tokens[start].text == b"const":
            start += 1
        inner, _ = type_at(tokens, start, aliases) if close > 0 else ("", 0)
        if inner in _WRAPPED:
            return _WRAPPED[inner][0 if last.encode() in _OPTIONALS else 1], close + 1
    return "", index


def _qualified(tokens: list[Token], index: int) -> tuple[str, int]:
    """The qualified name at ``index`` (framework roots as ``at``) and the index after it; ("", index) if none."""
    i = index
    if i < len(tokens) and tokens[i].text == b"::":
        i += 1
    parts: list[str] = []
    while i < len(tokens) and tokens[i].kind is Kind.NAME:
        parts.append("at" if not parts and tokens[i].text in _ROOTS else tokens[i].text.decode("latin-1"))
        if i + 1 < len(tokens) and tokens[i + 1].text == b"::" and i + 2 < len(tokens):
            i += 2
            continue
        return "::".join(parts), i + 1
    return "", index


def _block_ends(tokens: list[Token]) -> list[int]:
    """For each token, the byte offset at which the innermost enclosing brace block (or macro body) closes."""
    limit = tokens[-1].end if tokens else 0
    ends = [limit] * len(tokens)
    stack: list[int] = []
    opener_of: list[int] = []
    for i, token in enumerate(tokens):
        opener_of.append(stack[-1] if stack else -1)
        if token.kind is Kind.PUNCT and token.text == b"{":
            stack.append(i)
        elif token.kind is Kind.PUNCT and token.text == b"}" and stack:
            stack.pop()
    close: dict[int, int] = {}
    stack.clear()
    for i, token in enumerate(tokens):
        if token.kind is Kind.PUNCT and token.text == b"{":
            stack.append(i)
        elif token.kind is Kind.PUNCT and token.text == b"}" and stack:
            close[stack.pop()] = token.end
    for i, opener in enumerate(opener_of):
        if opener >= 0:
            ends[i] = close.get(opener, limit)
    return ends


def _statement_end(tokens: list[Token], index: int) -> int:
    """Index of the ; or closing bracket that ends the expression starting at ``index``; -1 when there is none."""
    i = index
    while i < len(tokens):
        text = tokens[i].text
        if text in (b";", b")", b"}", b"]"):
            return i
        if text in (b"(", b"[", b"{"):
            i = match_forward(tokens, i)
            if i < 0:
                return -1
        i += 1
    return -1


def _scope_end(tokens: list[Token], name: int, ends: list[int]) -> int:
    """Where the declaration whose name is at index ``name`` stops being visible, as a byte offset.

    A parameter is visible to the end of the body behind its parameter list; anything else to the end of its block.
    """
    depth = 0
    i = name + 1
    while i < len(tokens):
        text = tokens[i].text
        if text in (b"(", b"[", b"{"):
            i = match_forward(tokens, i)
            if i < 0:
                return ends[name]
        elif text == b")":
            depth += 1
            break
        elif text in (b";", b"}"):
            return ends[name]
        i += 1
    if not depth:
        return ends[name]
    # behind the parameter list: qualifiers, trailing return, member initialisers, then { or ;
    j = i + 1
    while j < len(tokens) and j < i + 200:
        text = tokens[j].text
        if text == b"{":
            close = match_forward(tokens, j)
            return tokens[close].end if close > 0 else ends[name]
        if text in (b";", b")", b",", b"="):
            return tokens[i].end
        if text in (b"(", b"["):
            j = match_forward(tokens, j)
            if j < 0:
                return ends[name]
        j += 1
    return ends[name]
