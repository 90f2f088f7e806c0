"""TL410: kernel launches that name no stream, or the null stream."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from torchless.lints.scan import FileScan, scans
from torchless.model import Confidence, Edit, Finding, Tier
from torchless.project.bindings import split_arguments
from torchless.text.lexer import Kind, Token, code_tokens, lex, match_backward, match_forward

if TYPE_CHECKING:
    from torchless.lints.context import Context

CODE = "TL410"
_BRACKETS = 3  # which argument of <<<...>>> is the stream, from 0
# The same for the calls that launch: hip_runtime_api.h of ROCm.
_CALLS = {
    b"hipLaunchKernelGGL": 4,
    b"hipExtLaunchKernelGGL": 4,
    b"hipLaunchKernel": 5,
    b"hipExtLaunchKernel": 5,
    b"hipLaunchCooperativeKernel": 5,
    b"hipModuleLaunchKernel": 8,
    b"hipModuleLaunchCooperativeKernel": 8,
    b"hipExtModuleLaunchKernel": 8,
}
_STREAM_TYPES = (b"hipStream_t", b"cudaStream_t")
_NULL = {
    *(b"0", b"nullptr", b"NULL", b"hipStreamLegacy", b"hipStreamDefault"),
    *(b"(hipStream_t)0", b"hipStream_t(0)", b"hipStream_t{0}", b"hipStream_t{}", b"hipStream_t()"),
    *(b"static_cast<hipStream_t>(0)", b"static_cast<hipStream_t>(nullptr)", b"(hipStream_t)nullptr"),
}
Row = tuple[int, int, str, int, int, bytes]
"""(start, end, the stream as spelled or "", then the edit that passes a stream, or (-1, -1, b""))"""


def findings(context: Context) -> Iterator[Finding]:
    """Launches on the null stream; with an unsafe edit where exactly one stream is in reach by name."""
    for path, rows in scans(context, context.files, LAUNCHES):
        for start, end, spelled, at, until, new in rows:
            what = f"is launched on {spelled}, the null stream" if spelled else "is launched without a stream"
            edits = (Edit(path, at, until, new, CODE),) if at >= 0 else ()
            yield Finding(
                CODE,
                f"the kernel {what}",
                path,
                start,
                end,
                Tier.UNSAFE if edits else Tier.DISPLAY,
                edits,
                Confidence.SYNTACTIC,
                help="pass the stream that Python found current: aiter::getCurrentHIPStream()",
            )


def _scan(data: bytes) -> tuple[Row, ...]:
    if b"<<<" not in data and b"LaunchKernel" not in data and b"LaunchCooperativeKernel" not in data:
        return ()
    if not any(_is_suspicious(data, match.start()) for match in _LAUNCH.finditer(data)):
        return ()
    tokens = code_tokens(lex(data))
    streams = _Streams()
    rows = []
    for i, token in enumerate(tokens):
        streams.step(tokens, i)
        wanted = _BRACKETS if token.text == b"<<<" else _CALLS.get(token.text, -1)
        if wanted < 0 or token.kind not in (Kind.PUNCT, Kind.NAME):
            continue
        opening = i if wanted == _BRACKETS else i + 1
        closing = _closing(tokens, opening)
        arguments = split_arguments(tokens, opening, closing) if closing > 0 else []
        if len(arguments) < 2 or (wanted != _BRACKETS and len(arguments) <= wanted):
            continue
        name = b"" if token.directive else streams.only()
        start, end = token.start, tokens[closing + (2 if wanted == _BRACKETS else 0)].end
        if len(arguments) > wanted:
            first, last = arguments[wanted]
            spelled = b"".join(t.text for t in tokens[first:last])
            if spelled in _NULL:
                place = (tokens[first].start, tokens[last - 1].end, name) if name else (-1, -1, b"")
                rows.append((start, end, spelled.decode("latin-1"), *place))
        else:
            at = tokens[arguments[-1][1] - 1].end
            new = b", 0" * (_BRACKETS - len(arguments)) + b", " + name
            rows.append((start, end, "", *((at, at, new) if name else (-1, -1, b""))))
    return tuple(rows)


LAUNCHES = FileScan("launches", 1, _scan)


# Where nearly every launch names a stream, lexing all files that launch takes seconds; looking at each launch does not.
_LAUNCH = re.compile(rb"<<<|\b(?:%b)\b" % b"|".join(_CALLS))
_NAMED = re.compile(rb"(?!hipStream|cudaStream)(?:\w*stream\w*(?:(?:\.|->|::)\w+|\([^()]*\))*|[\w:]+\(\))", re.I)


def _is_suspicious(data: bytes, at: int) -> bool:
    """Whether the launch at ``at`` has to be looked at closely: its stream is not an argument that is named so."""
    if data[data.rfind(b"\n", 0, at) + 1 : at].lstrip().startswith(b"//"):
        return False
    wanted = _BRACKETS if data.startswith(b"<<<", at) else _CALLS[_WORD.match(data, at)[0]]  # type: ignore[index]
    start = at + 3 if wanted == _BRACKETS else data.find(b"(", at) + 1
    depth = place = 0
    begin = start
    for match in _SIGN.finditer(data, start, start + 2000):
        sign = match[0]
        if sign in b"([{":
            depth += 1
        elif depth and sign in b")]}":
            depth -= 1
        elif not depth and (sign in b",)" or sign == b">>>"):
            if place == wanted:
                return _NAMED.fullmatch(data[begin : match.start()].strip(b" \t\r\n\\")) is None
            if sign != b",":
                return True
            place, begin = place + 1, match.end()
    return True


_SIGN = re.compile(rb">>>|[(\[{)\]},]")
_WORD = re.compile(rb"\w+")


def _closing(tokens: list[Token], opening: int) -> int:
    """Index of the token that closes ``<<<`` (the first of three) or ``(`` at ``opening``, -1 when none does."""
    if opening >= len(tokens):
        return -1
    if tokens[opening].text == b"(":
        return match_forward(tokens, opening)
    if tokens[opening].text != b"<<<":
        return -1
    i = opening + 1
    while i + 2 < len(tokens):
        text = tokens[i].text
        if text in (b"(", b"[", b"{"):
            i = match_forward(tokens, i)
            if i < 0:
                return -1
        elif text == b">" == tokens[i + 1].text == tokens[i + 2].text and tokens[i + 2].end - tokens[i].start == 3:
            return i
        elif text in (b";", b")", b"}"):
            return -1
        i += 1
    return -1


@dataclass
class _Streams:
    """The names of streams that are in reach of a token, scope by scope; a scope that hides the outer ones is a wall.

    ``scopes`` holds (names, whether outer names can be used) from the file down to the innermost brace.
    """

    scopes: list[tuple[list[bytes], bool]] = field(default_factory=lambda: [([], False)])
    pending: list[bytes] = field(default_factory=list)  # of a parameter list whose body may follow
    depth: int = 0  # of parentheses

    def step(self, tokens: list[Token], i: int) -> None:
        """Take in the token at ``i``; those in directives say nothing."""
        token = tokens[i]
        if token.directive:
            return
        if token.text == b"{":
            self.scopes.append((self.pending, _sees_outside(tokens, i)))
            self.pending, self.depth = [], 0
        elif token.text == b"}" and len(self.scopes) > 1:
            self.scopes.pop()
        elif token.text == b";" and not self.depth:
            self.pending = []
        elif token.text in (b"(", b")"):
            self.depth = max(0, self.depth + (1 if token.text == b"(" else -1))
        elif token.text in _STREAM_TYPES and i + 2 < len(tokens) and tokens[i + 1].kind is Kind.NAME:
            end = tokens[i + 2].text
            if self.depth and end in (b",", b")", b"="):
                self.pending.append(tokens[i + 1].text)
            elif not self.depth and end in (b"=", b";", b"{", b"("):
                self.scopes[-1][0].append(tokens[i + 1].text)

    def only(self) -> bytes:
        """The one stream in reach, b"" when there is none, or more than one."""
        names: list[bytes] = []
        for inside, sees_outside in reversed(self.scopes):
            names += inside
            if not sees_outside:
                break
        return names[0] if len(set(names)) == 1 else b""


_BEFORE_BODY = frozenset({b"mutable", b"noexcept", b"const", b"constexpr"})


def _sees_outside(tokens: list[Token], brace: int) -> bool:
    """Whether code behind this brace can use the locals around it: statements, and lambdas that capture everything."""
    i = brace - 1
    while i >= 0 and tokens[i].text in _BEFORE_BODY:
        i -= 1
    if i >= 0 and tokens[i].text == b")":
        i = match_backward(tokens, i) - 1
        if i >= 0 and tokens[i].text in (b"if", b"for", b"while", b"switch", b"catch", b"constexpr"):
            return True
    elif i < 0 or tokens[i].text != b"]":
        return True
    if i < 0 or tokens[i].text != b"]":
        return False  # a function's body, or something with a head of its own
    opening = match_backward(tokens, i)
    capture = [t.text for t in tokens[opening + 1 : i]]
    return capture[:1] in ([b"&"], [b"="]) and (len(capture) == 1 or capture[1] == b",")
