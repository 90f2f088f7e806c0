"""A device guard in every launching entry point.

Torch's callers were used to kernels that run on the device of their tensors; without a guard the launch goes to the
current device. People add the guard while they migrate, so torchless does too: one per bound function that launches
and has none, right before the first stream, dispatch or launch.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from torchless.facts.model import FunctionFact
from torchless.facts.typing import FileView, token_at
from torchless.model import Edit, Finding, Tier
from torchless.rewrites.heads import parameters
from torchless.rewrites.insertion import comment_above, is_blank_line_before, line_before
from torchless.rewrites.scopes import Block, BlockKind, Scopes, scopes_of
from torchless.rewrites.statements import Statement, block_statements
from torchless.rewrites.tensor_types import Role, TensorUse, tensor_uses
from torchless.text.lexer import Kind, Token

# launches(name): does a function of that unqualified name launch a kernel, itself or through what it calls?
Launches = Callable[[str], bool]

GUARD = re.compile(rb"\w*(?:Device|HIP|CUDA|Hip|Cuda)\w*Guard\w*|hipSetDevice|cudaSetDevice")
_STREAM = re.compile(rb"getCurrent(?:HIP|CUDA)Stream\w*|getDefault(?:HIP|CUDA)Stream\w*|getStreamFromPool\w*")
_LAUNCH = re.compile(
    rb"hip(?:Ext)?(?:Module)?Launch\w*Kernel\w*|hipLaunch\w+|cudaLaunch\w+|launch_kernel|hipGraphLaunch"
)
_DISPATCH = re.compile(rb"\w*DISPATCH\w*")


def add_guards(
    view: FileView,
    entry_points: Iterable[FunctionFact],
    *,
    launches: Launches,
    guarded: Launches = lambda name: False,
) -> list[Finding]:
    """Findings for the ``entry_points`` (definitions in ``view``) that launch without a device guard of any kind.

    ``guarded(name)`` says that the function puts up a guard itself before it launches. TL403 carries the edit; TL404
    says that no tensor is surely on the GPU, and carries none.
    """
    scopes = scopes_of(view)
    uses = tensor_uses(view, scopes)
    launching_macros = _launching_macros(scopes, lambda name: launches(name) and not guarded(name))
    out = []
    for function in entry_points:
        opener = token_at(view, function.body_start)
        block = _block_at(scopes, opener)
        if block is None:
            continue
        finding = _guard(view, scopes, uses, block, launching_macros, launches, guarded)
        if finding is not None:
            out.append(finding)
    return out


def guards_on_host(view: FileView) -> list[Finding]:
    """Blockers (TL404) for torch's guards whose tensor the function reads itself, or asks whether it is on the CPU.

    Torch's guard does nothing for a CPU tensor; the target's would select device -1 and end the process.
    """
    scopes = scopes_of(view)
    tokens = view.tokens
    out = []
    for i, token in enumerate(tokens):
        if token.kind is not Kind.NAME or not GUARD.fullmatch(token.text) or token.text.startswith(b"Hip"):
            continue
        block = scopes.function_of(i)
        name = _guarded_tensor(scopes, i)
        if block is not None and name and _may_be_on_host(scopes, block, name):
            out.append(
                Finding(
                    "TL404",
                    f"the guard's tensor {name.decode('latin-1')} is read on the host here, so it may be on the CPU",
                    view.source.path,
                    token.start,
                    token.end,
                    tier=Tier.DISPLAY,
                    blocks=True,
                    help="take the guard from a tensor that is always on the GPU",
                )
            )
    return out


def _guarded_tensor(scopes: Scopes, guard: int) -> bytes:
    """x in ``Guard name(device_of(x))`` and ``Guard name(x.device())``, braces too; b"" for anything else."""
    tokens = scopes.tokens
    opener = guard + 2
    if opener + 3 >= len(tokens) or tokens[opener].text not in (b"(", b"{") or tokens[guard + 1].kind is not Kind.NAME:
        return b""
    words = [t.text for t in tokens[opener + 1 : scopes.pair.get(opener, opener)]]
    while len(words) > 2 and words[1] == b"::":  # at::device_of
        words = words[2:]
    if len(words) == 4 and words[:2] == [b"device_of", b"("]:
        return words[2]
    return words[0] if words[1:3] == [b".", b"device"] else b""


def _block_at(scopes: Scopes, opener: int) -> Block | None:
    number = scopes.block_at.get(opener, -1)
    return scopes.blocks[number] if number >= 0 and scopes.blocks[number].kind is BlockKind.FUNCTION else None


def _guard(
    view: FileView,
    scopes: Scopes,
    uses: list[TensorUse],
    block: Block,
    launching_macros: frozenset[bytes],
    launches: Launches,
    guarded: Launches,
) -> Finding | None:
    tokens = view.tokens
    body = range(block.open + 1, block.close)
    if any(tokens[i].kind is Kind.NAME and GUARD.fullmatch(tokens[i].text) for i in body):
        return None

    def is_launch(i: int) -> bool:
        token = tokens[i]
        if token.text == b"<<<":
            return True
        called = i + 1 < block.close and tokens[i + 1].text in (b"(", b"<")
        if token.kind is not Kind.NAME or not called or tokens[i - 1].text in (b".", b"->"):
            return False
        if token.text in launching_macros or _LAUNCH.fullmatch(token.text):
            return True
        name = token.text.decode("latin-1")
        return launches(name) and not guarded(name)

    takes_tensors = any(u.role is Role.PARAMETER and u.parameters == block.params for u in uses)
    if not takes_tensors or not any(is_launch(i) for i in body):
        return None
    statement = _first_trigger(scopes, block, is_launch)
    if statement is None:
        return None
    tensor = _tensor_to_guard(view, scopes, uses, block)
    name = tokens[statement.first]
    if not tensor:
        return Finding(
            "TL404",
            "this function launches without a device guard, and none of its tensors is surely on the GPU",
            view.source.path,
            name.start,
            name.end,
            tier=Tier.DISPLAY,
            help="where the device is known, add a HipDeviceGuard; without it, launches go to the current device",
        )
    place = line_before(view, block, statement.first)
    if place is None:  # something else stands before it on its line
        edit = Edit(view.source.path, name.start, name.start, _statement(tensor) + b" ", "TL403")
        return _added(view, tensor, name, edit)
    offset, indent = place
    eol = view.source.eol_at(offset)
    text = indent + _statement(tensor) + eol
    above = comment_above(view, offset)
    starts_paragraph = is_blank_line_before(view, above)
    if above != offset or (starts_paragraph and not _takes_stream(view, statement)):
        # a paragraph of its own, in front of the comment that belongs to the statement
        offset = above
        text += eol
        text = text if starts_paragraph or _opens_body(view, block, offset) else eol + text
    return _added(view, tensor, name, Edit(view.source.path, offset, offset, text, "TL403"))


def _statement(tensor: bytes) -> bytes:
    return b"const HipDeviceGuard device_guard(" + tensor + b".device_id);"


def _added(view: FileView, tensor: bytes, at: Token, edit: Edit) -> Finding:
    return Finding(
        "TL403",
        f"this function launches without a device guard: the device of {tensor.decode('latin-1')} becomes current",
        view.source.path,
        at.start,
        at.end,
        edits=(edit,),
        requires=("aiter_hip_common.h",),
    )


def _opens_body(view: FileView, block: Block, offset: int) -> bool:
    """True when ``offset`` is the line right behind the body's opening brace."""
    return not view.source.data[view.tokens[block.open].end : offset].strip()


def _takes_stream(view: FileView, statement: Statement) -> bool:
    return any(_STREAM.fullmatch(t.text) for t in view.tokens[statement.first : statement.last + 1])


def _first_trigger(scopes: Scopes, block: Block, is_launch: Callable[[int], bool]) -> Statement | None:
    """The first statement of the body that takes a stream, dispatches on a dtype or launches."""
    tokens = scopes.tokens
    for statement in block_statements(scopes, block):
        for i in range(statement.first, statement.last + 1):
            text = tokens[i].text
            called = i + 1 < len(tokens) and tokens[i + 1].text == b"("
            if tokens[i].directive:
                continue
            if is_launch(i) or (called and (_STREAM.fullmatch(text) or _DISPATCH.fullmatch(text))):
                return statement
    return None


def _tensor_to_guard(view: FileView, scopes: Scopes, uses: list[TensorUse], block: Block) -> bytes:
    """The parameter whose device counts: that whose dtype is looked at first, else the one most used, else the first.

    Optionals, pointers and tensors that the function treats as host memory are out.
    """
    tokens = view.tokens
    wanted = {p.name for p in parameters(scopes, block.params) if p.name >= 0}
    candidates = [
        (tokens[u.name].text, u.const_before >= 0 or u.const_after >= 0)
        for u in uses
        if u.role is Role.PARAMETER and u.name in wanted and u.optional is None and u.sign != "*"
    ]
    candidates = [(n, c) for n, c in candidates if not _may_be_on_host(scopes, block, n)]
    if not candidates:
        return b""
    names = [n for n, _ in candidates]
    looked_at: dict[bytes, int] = {}
    pointers: dict[bytes, int] = dict.fromkeys(names, 0)
    for i in range(block.open + 1, block.close - 2):
        if tokens[i].text not in pointers or tokens[i].kind is not Kind.NAME or tokens[i + 1].text != b".":
            continue
        if tokens[i - 1].text in (b".", b"->", b"::"):
            continue
        member = tokens[i + 2].text
        if member in (b"scalar_type", b"dtype"):
            looked_at.setdefault(tokens[i].text, i)
        elif member.endswith(b"data_ptr"):
            pointers[tokens[i].text] += 1
    if looked_at:
        return min(looked_at, key=lambda n: looked_at[n])
    most = max(pointers.values())
    if most:
        best = [n for n in names if pointers[n] == most]
        inputs = [n for n, constant in candidates if constant and n in best]
        return (inputs or best)[0]
    return next((n for n, constant in candidates if constant), names[0])


def _may_be_on_host(scopes: Scopes, block: Block, name: bytes) -> bool:
    """Does the body ask whether ``name`` is on the CPU, or read its memory itself?"""
    tokens = scopes.tokens
    if re.search(rb"(?:^|_)(?:cpu|host|pinned)(?:_|$)", name):
        return True
    for i in range(block.open + 1, block.close - 3):
        if tokens[i].text != name or tokens[i].kind is not Kind.NAME or tokens[i + 1].text not in (b".", b"->"):
            continue
        member = tokens[i + 2].text
        negated = tokens[i - 1].text == b"!"
        if (member == b"is_cpu" and not negated) or (member == b"is_cuda" and negated) or member == b"is_pinned":
            return True
        if member.endswith(b"data_ptr") and _is_read(scopes, i):
            return True
        if member == b"device" and _compares_with_cpu(scopes, i):
            return True
    return False


def _is_read(scopes: Scopes, index: int) -> bool:
    """``*x.data_ptr<T>()`` or ``x.data_ptr<T>()[i]`` for the x at ``index``."""
    tokens = scopes.tokens
    if tokens[index - 1].text == b"*" and tokens[index - 2].text in (b"(", b"=", b",", b"return", b"{"):
        return True
    i = index + 2
    while i < len(tokens) and tokens[i].text != b"(":
        if tokens[i].text in (b";", b"{"):
            return False
        i += 1
    close = scopes.pair.get(i, -1)
    return 0 <= close < len(tokens) - 1 and tokens[close + 1].text == b"["


def _compares_with_cpu(scopes: Scopes, index: int) -> bool:
    tokens = scopes.tokens
    for i in range(index + 3, min(index + 16, len(tokens))):
        if tokens[i].text in (b"is_cpu", b"kCPU", b"CPU"):
            return True
        if tokens[i].text in (b";", b",", b"&&", b"||"):
            return False
    return False


def _launching_macros(scopes: Scopes, launches: Launches) -> frozenset[bytes]:
    """Macros of this file whose body launches, directly or through another of them."""
    tokens = scopes.tokens
    bodies: dict[bytes, list[int]] = {}
    for end in scopes.macro_heads:
        name = tokens[scopes.pair[end] - 1 if tokens[end].text == b")" else end].text
        i = end + 1
        body = bodies.setdefault(name, [])
        while i < len(tokens) and tokens[i].directive == "define" and tokens[i].kind is not Kind.DIRECTIVE:
            body.append(i)
            i += 1
    found: set[bytes] = set()
    while True:
        more = {
            name
            for name, body in bodies.items()
            if name not in found and any(_launches_here(scopes, i, found, launches) for i in body)
        }
        if not more:
            return frozenset(found)
        found |= more


def _launches_here(scopes: Scopes, index: int, macros: set[bytes], launches: Launches) -> bool:
    token = scopes.tokens[index]
    if token.text == b"<<<" or token.text in macros or _LAUNCH.fullmatch(token.text):
        return True
    called = index + 1 < len(scopes.tokens) and scopes.tokens[index + 1].text in (b"(", b"<")
    return token.kind is Kind.NAME and called and launches(token.text.decode("latin-1"))
