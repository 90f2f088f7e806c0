"""What the keys of a map are, and how a table orders them: like C++, integers as integers and strings bytewise.

Keys of several fields are ordered field by field, first the first. A tuple becomes a plain struct: a thousand tuples
in a constant cost seconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from torchless.rewrites.dispatch_tables.codebase import Codebase
from torchless.rewrites.dispatch_tables.scan import File, MapType
from torchless.rewrites.dispatch_tables.spelling import split
from torchless.rewrites.dispatch_tables.uses import KEY, Problem, problem
from torchless.rewrites.scopes import Block, BlockKind, statement_start
from torchless.text.lexer import Kind

_INTEGERS = frozenset(
    {
        *("int", "short", "long", "long long", "char", "bool", "size_t", "std::size_t", "ptrdiff_t"),
        *("unsigned", "unsigned int", "unsigned short", "unsigned long", "unsigned long long", "unsigned char"),
        *(f"{std}{sign}int{bits}_t" for std in ("", "std::") for sign in ("", "u") for bits in (8, 16, 32, 64)),
    }
)
_LITERAL_TEXT = "std::string_view"


@dataclass(frozen=True, slots=True)
class Field:
    """A part of a key: its type as a table spells it, its name, and whether it is text rather than a number."""

    type: str
    name: str
    is_text: bool


@dataclass(frozen=True, slots=True)
class Struct:
    """A struct of the checkout: the ``struct`` at token ``head`` of ``path``, its body at ``open``..``close``."""

    path: str
    name: str
    head: int
    open: int
    close: int


@dataclass(frozen=True, slots=True)
class Key:
    """The key of a table.

    ``kind``: "number", "text", "tuple" (std::tuple or std::pair) or "struct". ``spelled`` is the type as it will be; ""
    for a tuple, whose struct is yet to be named. ``fields`` are the parts in order, one for a number or a text.
    ``struct`` is the struct of the checkout; ``ordered`` says that it has a < already.
    """

    kind: str
    spelled: str
    fields: tuple[Field, ...]
    struct: Struct | None = None
    ordered: bool = True


def key_of(code: Codebase, found: MapType) -> Key | Problem:
    """The key of the map ``found``, or why a table cannot order it as the map tells keys apart."""
    file = code.file(found.path)
    first, last = found.map.arguments[0]
    spelled = _text(file, first, last)
    key = _read(code, file, first, last)
    if isinstance(key, str):
        return problem(file, KEY, f"the key {spelled} {key}", first, last)
    further = found.map.arguments[2:]
    if found.map.ordered:
        less = _text(file, *further[0]) if further else ""
        if less not in ("", "std::less<>", f"std::less<{spelled}>") or (key.struct is not None and key.ordered):
            return problem(file, KEY, f"the map orders {spelled} in a way of its own", first, last)
        return key
    equal = _text(file, *further[1]) if len(further) > 1 else ""
    if len(further) > 2:
        return problem(file, KEY, "the map has an allocator of its own", *further[2])
    if equal not in ("", "std::equal_to<>", f"std::equal_to<{spelled}>") and not _compares_all(
        code, file, equal, further[1][1], key
    ):
        return problem(file, KEY, f"{equal} may take different keys for equal", *further[1])
    if key.struct is not None and not equal and not _compares_all(code, code.file(key.struct.path), "", 0, key):
        return problem(file, KEY, f"the == of {spelled} may take different keys for equal", first, last)
    return key


def _read(code: Codebase, file: File, first: int, last: int) -> Key | str:
    tokens = file.view.tokens
    spelled = _text(file, first, last)
    field = _field(spelled, "key")
    if field is not None:
        return Key("text" if field.is_text else "number", field.type, (field,))
    if spelled.startswith(("std::tuple<", "std::pair<")) and tokens[last].text == b">":
        opener = next(i for i in range(first, last) if tokens[i].text == b"<")
        parts = [_text(file, a, b) for a, b in split(tokens, opener + 1, last - 1)]
        fields = [_field(part, f"k{k}") for k, part in enumerate(parts)]
        known = tuple(f for f in fields if f is not None)
        if len(known) == len(fields) and fields:
            return Key("tuple", "", known)
        return "holds more than numbers and texts"
    struct = find_struct(code, file.path, tokens[last].text.decode("latin-1"), last)
    if struct is None:
        return "is of a type that is not known here"
    fields_of = struct_fields(code.file(struct.path), struct)
    if fields_of is None:
        return "holds more than numbers and views of texts"
    ordered = _has_order(code.file(struct.path), struct)
    return Key("struct", spelled, fields_of, struct, ordered)


def _field(spelled: str, name: str) -> Field | None:
    if spelled in _INTEGERS:
        return Field(spelled, name, False)
    if spelled in ("std::string", "std::string_view"):
        return Field(_LITERAL_TEXT, name, True)
    return None


def find_struct(code: Codebase, path: str, name: str, index: int) -> Struct | None:
    """The struct that ``name`` at token ``index`` of ``path`` stands for; None when there is no single one.

    That is one of the file itself, of the blocks around the place the innermost, else one of a header read with it.
    """
    own = list(_structs(code.file(path), name))
    if own:
        scopes = code.file(path).scopes
        around = [scopes.block_at[block.open] for block in scopes.around(index)]
        for number in [*around, -1]:
            here = [struct for struct in own if scopes.block_of[struct.head] == number]
            if here:
                return here[0] if len(here) == 1 else None
        return own[0] if len(own) == 1 else None
    word = name.encode("latin-1")
    others = [p for p in sorted(code.seen_with(path)) if p != path and p in code.headers and word in code.read(p)]
    found = [struct for other in others for struct in _structs(code.file(other), name)]
    return found[0] if len(found) == 1 else None


def _structs(file: File, name: str) -> Iterator[Struct]:
    tokens, scopes = file.view.tokens, file.scopes
    word = name.encode("latin-1")
    for block in scopes.blocks:
        if block.kind is BlockKind.CLASS and not tokens[block.open].directive:
            head = statement_start(scopes, block.open)
            words = [tokens[i].text for i in range(head, block.open)]
            if words[-2:] == [b"struct", word]:
                yield Struct(file.path, name, head, block.open, block.close)


def struct_fields(file: File, struct: Struct) -> tuple[Field, ...] | None:
    """The fields of a struct that holds numbers and views of texts only; None for any other."""
    out: list[Field] = []
    for first, last in members(file, struct):
        tokens = file.view.tokens[first : last + 1]
        if any(t.text == b"operator" for t in tokens):
            continue
        if tokens[-1].kind is not Kind.NAME or len(tokens) < 2:
            return None
        field = _field(_text(file, first, last - 1), tokens[-1].text.decode("latin-1"))
        if field is None or _text(file, first, last - 1) == "std::string":
            return None
        out.append(field)
    return tuple(out) or None


def members(file: File, struct: Struct) -> Iterator[tuple[int, int]]:
    """The member declarations first..last of a struct, without what ends them; a function's body is part of it."""
    tokens, scopes = file.view.tokens, file.scopes
    first = i = struct.open + 1
    while i < struct.close:
        if tokens[i].text in (b"{", b"(", b"[") and i in scopes.pair:
            block = scopes.block_at.get(i, -1)
            i = scopes.pair[i]
            if block >= 0 and scopes.blocks[block].kind is BlockKind.FUNCTION:
                yield first, i
                first = i + 1
        elif tokens[i].text == b";":
            if i > first:
                yield first, i - 1
            first = i + 1
        i += 1


def _has_order(file: File, struct: Struct) -> bool:
    """Whether the file defines a < for the struct."""
    tokens = file.view.tokens
    for i in range(len(tokens) - 1):
        if tokens[i].text == b"operator" and tokens[i + 1].text in (b"<", b"<=>"):
            inside = struct.open < i < struct.close
            named = any(t.text == struct.name.encode() for t in tokens[i : i + 8])
            if inside or named:
                return True
    return False


def _compares_all(code: Codebase, file: File, functor: str, index: int, key: Key) -> bool:
    """Whether ``functor`` (for "": the own == of the struct) is true for keys with equal fields, and no others.

    ``index`` is the token of ``file`` where the functor is named.
    """
    if key.struct is None:
        return False
    holder = find_struct(code, file.path, functor, index) if functor else key.struct
    if holder is None:
        return False
    where = code.file(holder.path)
    tokens, scopes = where.view.tokens, where.scopes
    for block in scopes.blocks:
        if block.kind is not BlockKind.FUNCTION or block.params < 0:
            continue
        name = _operator(where, block)
        wanted = "operator()" if functor else "operator=="
        inside = holder.open < block.open < holder.close
        about = any(t.text == key.struct.name.encode() for t in tokens[block.params : scopes.pair[block.params]])
        if name == wanted and (inside or (not functor and about)) and _all_fields(where, block, key):
            return True
    defaulted = any(
        tokens[i].text == b"operator" and tokens[i + 1].text in (b"==", b"<=>")
        for i in range(holder.open, holder.close)
    )
    return not functor and defaulted and any(t.text == b"default" for t in tokens[holder.open : holder.close])


def _operator(file: File, block: Block) -> str:
    tokens = file.view.tokens
    words = [t.text.decode("latin-1") for t in tokens[max(0, block.params - 3) : block.params]]
    if "operator" not in words:
        return ""
    return "operator" + "".join(words[words.index("operator") + 1 :])


def _all_fields(file: File, block: Block, key: Key) -> bool:
    """Whether the body at ``block`` is ``return`` and ``==`` of every field, joined by &&."""
    tokens = file.view.tokens
    first, last = block.open + 1, block.close - 1
    if tokens[first].text != b"return" or tokens[last].text != b";":
        return False
    seen: list[str] = []
    for a, b in split(tokens, first + 1, last - 1, b"&&"):
        words = [t.text.decode("latin-1") for t in tokens[a : b + 1]]
        if "==" not in words:
            return False
        left, right = words[: words.index("==")], words[words.index("==") + 1 :]
        plain = len(left) in (1, 3) and len(right) in (1, 3) and left[-1] == right[-1] and left != right
        if not plain or (len(left) == 3 and left[1] != ".") or (len(right) == 3 and right[1] != "."):
            return False
        seen.append(left[-1])
    return sorted(seen) == sorted(field.name for field in key.fields)


def _text(file: File, first: int, last: int) -> str:
    """The tokens first..last with blanks only where two words would run together."""
    out = ""
    for token in file.view.tokens[first : last + 1]:
        word = token.text.decode("latin-1")
        apart = out and (out[-1].isalnum() or out[-1] == "_") and (word[0].isalnum() or word[0] == "_")
        out += (" " if apart else "") + word
    return out.replace(",", ", ")


def field_names(file: File, calls: Sequence[int], count: int) -> tuple[str, ...]:
    """Names for the ``count`` parts of a tuple: those of the variables in the first ``find({a, b, c})``.

    ``calls`` are the indexes of the names ``find``; () when none of them is such a call.
    """
    tokens, scopes = file.view.tokens, file.scopes
    for i in calls:
        if tokens[i + 1].text != b"(" or tokens[i + 2].text != b"{":
            continue
        close = scopes.pair.get(i + 2, -1)
        parts = split(tokens, i + 3, close - 1)
        names = [tokens[a].text.decode("latin-1") for a, b in parts if a == b and tokens[a].kind is Kind.NAME]
        if len(names) == count == len(parts) and len(set(names)) == count:
            return tuple(names)
    return ()
