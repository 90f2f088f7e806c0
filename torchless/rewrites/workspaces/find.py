"""Device memory that a function allocates, uses for its launches and frees: what it is, and what keeps it as it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from torchless.rewrites.scopes import Block, BlockKind, Scopes, find_scopes, statement_start
from torchless.text.lexer import Kind, Token

_ALLOCATE = {b"hipMalloc": 2, b"hipMallocAsync": 3}
_FREE = {b"hipFree": 1, b"hipFreeAsync": 2}
_WAITING = frozenset({b"hipMemcpy", b"hipMemset", b"hipMemcpy2D", b"hipMemcpyToSymbol"})
_LAUNCHES = frozenset(
    {
        b"<<<",
        b"hipLaunchKernel",
        b"hipLaunchKernelGGL",
        b"hipModuleLaunchKernel",
        b"launch_kernel",
        b"hipExtLaunchKernel",
    }
)


@dataclass(frozen=True, slots=True)
class Workspace:
    """Memory that is allocated and freed in one call of a function, by token indexes.

    ``allocation`` is the first and last token of the statement that allocates; ``frees`` those that free. ``pointer``
    is the name of the variable, ``type`` what it points to ("void", "float"), ``size`` the first and last token of the
    size; ``stream`` is how the stream is spelled.
    """

    pointer: str
    type: str
    allocation: tuple[int, int]
    frees: tuple[tuple[int, int], ...]
    size: tuple[int, int]
    stream: str


@dataclass(frozen=True, slots=True)
class Staying:
    """Memory that is allocated in every call and stays so: the token it is shown at, and why."""

    at: int
    reason: str


def workspaces(tokens: list[Token]) -> list[Workspace | Staying]:
    """What the functions of a file (its code tokens) allocate and free in one call, in order."""
    scopes = find_scopes(tokens)
    return [found for call in _calls(tokens, _ALLOCATE) for found in [_workspace(scopes, call)] if found is not None]


def _calls(tokens: list[Token], names: dict[bytes, int]) -> Iterator[int]:
    for i, token in enumerate(tokens):
        if token.text in names and not token.directive and i + 1 < len(tokens) and tokens[i + 1].text == b"(":
            yield i


def _arguments(scopes: Scopes, call: int) -> list[tuple[int, int]]:
    """(first, last) of each argument of the call at ``call``."""
    close = scopes.pair.get(call + 1, -1)
    out: list[tuple[int, int]] = []
    first = i = call + 2
    while i <= close:
        text = scopes.tokens[i].text
        if i == close or text == b",":
            if i > first:
                out.append((first, i - 1))
            first = i + 1
        elif text in (b"(", b"[", b"{"):
            i = scopes.pair.get(i, i)
        i += 1
    return out


def _workspace(scopes: Scopes, call: int) -> Workspace | Staying | None:
    """The workspace that the call at ``call`` allocates; None where the function does not free it or starts nothing."""
    tokens = scopes.tokens
    function = scopes.function_of(call)
    if function is None or function.close < 0:
        return None
    arguments = _arguments(scopes, call)
    if len(arguments) != _ALLOCATE[tokens[call].text]:
        return None
    pointer = _pointer(tokens, *arguments[0])
    if not pointer:
        return None
    frees = [f for f in _calls(tokens, _FREE) if function.open < f < function.close and _frees(scopes, f, pointer)]
    starts = any(t.text in _LAUNCHES for t in tokens[function.open : function.close])
    if not frees or not starts:
        return None
    reason = _reason(scopes, function, call, frees, pointer)
    if reason:
        return Staying(call, reason)
    declared = _declared_type(tokens, function, call, pointer)
    if not declared:
        return Staying(call, f"what {pointer.decode()} points to is not seen")
    stream = _stream(scopes, function, call, arguments)
    if not stream:
        return Staying(call, "which stream its launches run on is not known where it is allocated")
    first, last = _statement(scopes, call)
    released = tuple(_statement(scopes, f) for f in frees)
    return Workspace(pointer.decode("latin-1"), declared, (first, last), released, arguments[1], stream)


def _pointer(tokens: list[Token], first: int, last: int) -> bytes:
    """The name p in ``&p``, ``(void**)&p`` and ``reinterpret_cast<void**>(&p)``."""
    texts = [t.text for t in tokens[first : last + 1]]
    if texts[:1] == [b"reinterpret_cast"] and texts[-1] == b")":
        texts = texts[texts.index(b"(") + 1 : -1] if b"(" in texts else []
    elif texts[:5] == [b"(", b"void", b"*", b"*", b")"]:
        texts = texts[5:]
    return texts[1] if len(texts) == 2 and texts[0] == b"&" else b""


def _frees(scopes: Scopes, call: int, pointer: bytes) -> bool:
    arguments = _arguments(scopes, call)
    if len(arguments) != _FREE[scopes.tokens[call].text]:
        return False
    names = [t.text for t in scopes.tokens[arguments[0][0] : arguments[0][1] + 1] if t.kind is Kind.NAME]
    return names == [pointer] or (bool(names) and names[-1] == pointer and set(names) <= {b"void", pointer})


def _statement(scopes: Scopes, call: int) -> tuple[int, int]:
    """(first, last) of the statement that holds the call; the last is its semicolon."""
    tokens = scopes.tokens
    first = statement_start(scopes, call)
    while tokens[scopes.previous(first)].text == b"(":
        first = statement_start(scopes, scopes.previous(first))
    last = call
    while last < len(tokens) and tokens[last].text != b";":
        last = scopes.pair.get(last, last) + 1 if tokens[last].text in (b"(", b"{", b"[") else last + 1
    return first, last


def _reason(scopes: Scopes, function: Block, call: int, frees: list[int], pointer: bytes) -> str:
    """Why the memory has to be allocated anew in every call, "" where it need not."""
    tokens, name = scopes.tokens, pointer.decode("latin-1")
    inside = range(function.open, function.close)
    allocations = [c for c in _calls(tokens, _ALLOCATE) if c in inside]
    if sum(_pointer(tokens, *_arguments(scopes, c)[0]) == pointer for c in allocations if _arguments(scopes, c)) > 1:
        return f"{name} is allocated in more than one place"
    for one in (call, *frees):
        if not _is_plain(scopes, one):
            return "it is allocated or freed on a condition, or the result of the call is used"
    if any(tokens[i].directive for i in inside):
        return "directives stand in the function"
    if b"hipStreamPerThread" in {t.text for t in tokens}:
        return "hipStreamPerThread names another stream in each thread"
    for i in inside:
        if tokens[i].text in _WAITING and tokens[i + 1].text == b"(":
            target = _arguments(scopes, i)[:1]
            if target and pointer in {t.text for t in tokens[target[0][0] : target[0][1] + 1]}:
                return f"{tokens[i].text.decode()} writes to it and does not wait for the stream"
        if tokens[i].text == pointer and tokens[i - 1].text not in (b".", b"->") and _escapes(scopes, i):
            return f"{name} is kept beyond the call"
    if any(b.kind is BlockKind.LAMBDA for b in scopes.around(call)):
        return "it is allocated in a lambda"
    return ""


def _is_plain(scopes: Scopes, call: int) -> bool:
    """Whether the call is a statement of its own, maybe in a macro that checks it, in the function's own block."""
    first, last = _statement(scopes, call)
    block = scopes.at(call)
    if block is None or block.kind is not BlockKind.FUNCTION:
        return False
    texts = [t.text for t in scopes.tokens[first:last]]
    at = call - first
    closing = scopes.pair.get(call + 1, -1)
    if at == 0 or texts[:at] == [b"(", b"void", b")"]:
        return closing == last - 1
    macro = at == 2 and texts[1] == b"(" and scopes.tokens[first].kind is Kind.NAME
    keyword = scopes.tokens[first].text in (b"if", b"while", b"for", b"switch", b"return")
    return macro and not keyword and scopes.pair.get(first + 1, -1) == last - 1


def _escapes(scopes: Scopes, use: int) -> bool:
    """Whether the use at ``use`` may keep the pointer: returned, assigned to something, or changed itself."""
    tokens = scopes.tokens
    first = statement_start(scopes, use)
    before, behind = tokens[use - 1].text, tokens[use + 1].text
    if behind in (b"=", b"+=", b"-=", b"++", b"--"):
        return not _is_declared_at(tokens, use)
    if tokens[first].text == b"return":
        return True
    depth = 0
    for i in range(use - 1, first - 1, -1):
        text = tokens[i].text
        depth += (text == b")") - (text == b"(")
        if depth < 0:
            return False  # inside the brackets of a call
        if text == b"=" and depth == 0:
            return before != b"*" and not _is_local(scopes, first, i)
    return False


def _is_declared_at(tokens: list[Token], use: int) -> bool:
    return tokens[use - 1].text == b"*"


def _is_local(scopes: Scopes, first: int, assignment: int) -> bool:
    """Whether the statement declares what it assigns to (``float* a = p``), or that is part of a local object."""
    tokens, function = scopes.tokens, scopes.function_of(first)
    texts = [t.text for t in tokens[first:assignment]]
    if len(texts) >= 3 and texts[1] == b"." and b"->" not in texts and b"[" not in texts and function is not None:
        return any(
            tokens[i].text == texts[0] and tokens[i - 1].kind is Kind.NAME and tokens[i + 1].text in (b";", b"=", b"{")
            for i in range(function.open + 1, first)
        )
    names = [t for t in tokens[first:assignment] if t.kind is Kind.NAME]
    return len(names) >= 2 and not {b"->", b".", b"["} & set(texts)


def _declared_type(tokens: list[Token], function: Block, call: int, pointer: bytes) -> str:
    """What the local variable ``pointer`` points to, "" where it is no local pointer."""
    for i in range(function.open + 1, call):
        if tokens[i].text != pointer or tokens[i - 1].text != b"*" or tokens[i + 1].text not in (b";", b"="):
            continue
        first = i - 2
        while first > function.open and (tokens[first].kind is Kind.NAME or tokens[first].text in (b"::", b"<", b">")):
            first -= 1
        text = b"".join(
            b" " + t.text if k and t.kind is Kind.NAME and tokens[first + k].kind is Kind.NAME else t.text
            for k, t in enumerate(tokens[first + 1 : i - 1])
        )
        empty = tokens[i + 1].text == b";" or tokens[i + 2].text in (b"nullptr", b"NULL", b"0")
        return text.decode("latin-1").removeprefix("const ") if empty else ""
    return ""


def _stream(scopes: Scopes, function: Block, call: int, arguments: list[tuple[int, int]]) -> str:
    """The stream that the function's launches run on, as it can be spelled where memory is allocated."""
    tokens = scopes.tokens
    if len(arguments) == 3:
        return _spelled(tokens, *arguments[2])
    start = function.params if function.params >= 0 else function.head
    seen = [
        tokens[i + 1].text.decode("latin-1")
        for i in range(start, call)
        if tokens[i].text == b"hipStream_t" and tokens[i + 1].kind is Kind.NAME
    ]
    used = {_launch_stream(scopes, i) for i in range(call, function.close) if tokens[i].text == b"<<<"}
    if len(set(seen)) == 1 and used <= {seen[0], ""}:
        return seen[0]
    return ""


def _launch_stream(scopes: Scopes, opening: int) -> str:
    """The fourth part of ``<<<grid, block, shared, stream>>>``; "0" where there is none."""
    parts: list[list[bytes]] = [[]]
    i = opening + 1
    while i < len(scopes.tokens):
        text = scopes.tokens[i].text
        if text == b">" and scopes.tokens[i + 1].text == b">" and scopes.tokens[i + 2].text == b">":
            break
        if text in (b"(", b"{", b"[") and i in scopes.pair:
            parts[-1].append(b"()")
            i = scopes.pair[i]
        elif text == b",":
            parts.append([])
        else:
            parts[-1].append(text)
        i += 1
    return b"".join(parts[3]).decode("latin-1") if len(parts) > 3 else "0"


def _spelled(tokens: list[Token], first: int, last: int) -> str:
    return b"".join(t.text for t in tokens[first : last + 1]).decode("latin-1")
