"""Makes faults: every operator below is tried on every entry point, kernel and binding row of a migrated source.

A mutant is one small edit that a person, or a rewrite with a mistake in it, could have made. Which of the possible
places of an operator is taken is drawn with a seed, so that the same seed gives the same mutants.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from torchless.text.lexer import Kind, Token, code_tokens, lex, match_forward

LAUNCHER, KERNEL, BINDING = "launcher", "kernel", "binding"


@dataclass(frozen=True, slots=True)
class Target:
    """Something to put faults into: a function's body, or the binding row of an op. Offsets are of its first token."""

    kind: str
    name: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Mutant:
    """One fault: which operator made it in which target, and the text of the file with it. ``line`` is 1-based."""

    operator: str
    target: str
    kind: str
    line: int
    old: str
    new: str
    text: bytes


@dataclass(frozen=True, slots=True)
class Place:
    """Where an operator can do what it does: replace bytes [start, end) by ``new``."""

    start: int
    end: int
    new: bytes


Operator = Callable[[bytes, Sequence[Token]], Iterator[Place]]


def functions(data: bytes, names: Sequence[str], kind: str) -> list[Target]:
    """The definitions in ``data`` of the functions ``names`` (without namespaces)."""
    tokens = code_tokens(lex(data))
    out = []
    for i, token in enumerate(tokens):
        if token.kind is not Kind.NAME or token.text.decode() not in names or tokens[i + 1].text != b"(":
            continue
        after = match_forward(tokens, i + 1) + 1
        if after < len(tokens) and tokens[after].text == b"{":
            end = match_forward(tokens, after)
            out.append(Target(kind, token.text.decode(), tokens[after].start, tokens[end].end))
    return out


def rows(data: bytes, macro: str) -> list[Target]:
    """The ``m.def`` rows in the body of ``macro``."""
    found = re.search(rb"#define %s\b(?:.*\\\r?\n)*.*" % macro.encode(), data)
    assert found is not None, macro
    out = []
    for row in re.finditer(rb'm\.def\(\s*(?:\\\n\s*)?"(\w+)".*?\);', found.group(), re.S):
        start = found.start() + row.start()
        out.append(Target(BINDING, row.group(1).decode(), start, start + len(row.group())))
    return out


def mutants(data: bytes, targets: Sequence[Target], seed: int, each: int = 1) -> list[Mutant]:
    """At most ``each`` mutants for every operator and target, in the order of targets, operators and places."""
    out = []
    for target in targets:
        # the tokens of the target alone; those of a macro's body as if it were code
        body = data[target.start : target.end].replace(b"\\\n", b" \n")
        tokens = [t for t in lex(body) if t.kind not in (Kind.BLANK, Kind.COMMENT)]
        for name, operator in OPERATORS[target.kind].items():
            places = list(dict.fromkeys(operator(body, tokens)))
            rng = random.Random(f"{seed} {target.name} {name}")
            for place in sorted(rng.sample(places, min(each, len(places))), key=lambda p: p.start):
                start, end = target.start + place.start, target.start + place.end
                new = place.new.replace(b" \n", b"\\\n") if target.kind == BINDING else place.new
                text = data[:start] + new + data[end:]
                line = data.count(b"\n", 0, start) + 1
                old = " ".join(data[start:end].decode().split())
                out.append(Mutant(name, target.name, target.kind, line, old, " ".join(new.decode().split()), text))
    return out


def _swapped(pairs: dict[bytes, bytes], blanks: bool = False) -> Operator:
    """Exchanges tokens. ``blanks``: only where blanks stand around, as around a binary operator."""

    def places(body: bytes, tokens: Sequence[Token]) -> Iterator[Place]:
        for token in tokens:
            if token.text in pairs and not token.directive:
                around = body[token.start - 1 : token.start] + body[token.end : token.end + 1]
                if not blanks or around == b"  ":
                    yield Place(token.start, token.end, pairs[token.text])

    return places


def _replaced(pattern: str, new: str) -> Operator:
    """Replaces every match of a regular expression; in ``new``, groups are spelled as for re.sub()."""

    def places(body: bytes, tokens: Sequence[Token]) -> Iterator[Place]:
        for found in re.finditer(pattern.encode(), body, re.S):
            text = found.expand(new.encode())
            if text != found.group():
                yield Place(found.start(), found.end(), text)

    return places


def _launches(tokens: Sequence[Token]) -> Iterator[tuple[list[tuple[int, int]], list[tuple[int, int]]]]:
    """For each launch, the ranges of what stands between the triple brackets, and of the kernel's arguments."""
    for i, token in enumerate(tokens):
        if token.text != b"<<<":
            continue
        close = next(n for n in range(i, len(tokens)) if tokens[n].text == b">" and _is_triple(tokens, n))
        opened = close + 3
        yield _split(tokens, i + 1, close), _split(tokens, opened + 1, match_forward(tokens, opened))


def _is_triple(tokens: Sequence[Token], n: int) -> bool:
    return (
        len(tokens) > n + 3
        and all(t.text == b">" for t in tokens[n : n + 3])
        and tokens[n + 3].text == b"("
        and tokens[n].end == tokens[n + 1].start
        and tokens[n + 1].end == tokens[n + 2].start
    )


def _split(tokens: Sequence[Token], first: int, last: int) -> list[tuple[int, int]]:
    """The byte ranges of the parts of tokens [first, last) that commas part."""
    parts, depth, begin = [], 0, first
    for n in range(first, last + 1):
        text = tokens[n].text if n < last else b","
        if n == last or (text == b"," and not depth):
            if n > begin:
                parts.append((tokens[begin].start, tokens[n - 1].end))
            begin = n + 1
        depth += (text in b"([{") - (text in b")]}")
        if text == b"<" and tokens[n - 1].text in (b"static_cast", b"min", b"max", b"count"):
            depth += 1
        elif text == b">" and depth and tokens[n + 1].text == b"(":
            depth -= 1
    return parts


def _swap_arguments(body: bytes, tokens: Sequence[Token]) -> Iterator[Place]:
    for _, arguments in _launches(tokens):
        for (a, b), (c, d) in itertools.pairwise(arguments):
            if body[a:b] != body[c:d]:
                yield Place(a, d, body[c:d] + body[b:c] + body[a:b])


def _configuration(index: int, change: Callable[[bytes], bytes]) -> Operator:
    def places(body: bytes, tokens: Sequence[Token]) -> Iterator[Place]:
        for configuration, _ in _launches(tokens):
            if index < len(configuration):
                start, end = configuration[index]
                yield Place(start, end, change(body[start:end]))

    return places


def _argument(pattern: bytes, change: Callable[[bytes], bytes]) -> Operator:
    """Changes an argument of a launch that matches ``pattern``."""

    def places(body: bytes, tokens: Sequence[Token]) -> Iterator[Place]:
        for _, arguments in _launches(tokens):
            for start, end in arguments:
                if re.search(pattern, body[start:end]):
                    yield Place(start, end, change(body[start:end]))

    return places


def _number(body: bytes, tokens: Sequence[Token]) -> Iterator[Place]:
    for token in tokens:
        if re.fullmatch(rb"\d+", token.text):
            yield Place(token.start, token.end, b"%d" % (int(token.text) + 1))


_STATEMENT = r"(?<=[;{}])\s*"
OPERATORS: dict[str, dict[str, Operator]] = {
    LAUNCHER: {
        "swap two arguments of a launch": _swap_arguments,
        "offset a pointer": _argument(rb"data_ptr", lambda old: old + b" + 1"),
        "pass another number": _argument(rb"^[a-z_]+$", lambda old: old + b" + 1"),
        "change the grid": _configuration(0, lambda old: b"dim3(" + old + b").x + 1"),
        "change the block": _configuration(1, lambda old: b"dim3(" + old + b").x / 2 + 1"),
        "change the shared memory": _configuration(2, lambda old: old + b" + 64"),
        "launch on the null stream": _configuration(3, lambda old: b"nullptr"),
        "drop a guard": _replaced(r"const HipDeviceGuard device_guard\([^;]*\);", ""),
        "guard another device": _replaced(r"(device_guard\()[\w.>-]+\)", r"\g<1>0)"),
        "take the null stream": _replaced(r"aiter::getCurrentHIPStream\(\)", "nullptr"),
        "drop a check": _replaced(r"AITER_CHECK\((?!false)", "AITER_CHECK(true || "),
        "turn a check round": _replaced(r"AITER_CHECK\(([^,()]+(?:\([^()]*\)[^,()]*)*)(?=[,)])", r"AITER_CHECK(!(\1)"),
        "change a message": _replaced(r'("[a-z_]+: [^"]+)"', r'\1!"'),
        "narrow a number": _replaced(r"const int64_t (\w+ *=)", r"const int32_t \1"),
        "narrow to 16 bits": _replaced(r"const int(?:64_t)? (\w+ *=)", r"const int16_t \1"),
        "ask another size": _replaced(r"\.size\((-?\d)\)", r".size(\1 - 1)"),
        "size for stride": _replaced(r"\.stride\(", ".size("),
        "test another dtype": _replaced(r"AITER_DTYPE_fp(?:32|16)\b", "AITER_DTYPE_bf16"),
        "exchange comparisons": _swapped({b"<": b"<=", b"<=": b"<", b">": b">=", b">=": b">"}, blanks=True),
        "exchange equality": _swapped({b"==": b"!=", b"!=": b"=="}, blanks=True),
        "exchange arithmetic": _swapped({b"+": b"-", b"-": b"+", b"*": b"/", b"/": b"*"}, blanks=True),
        "exchange logic": _swapped({b"&&": b"||", b"||": b"&&"}, blanks=True),
        "change a number": _number,
        "forget an optional": _replaced(r"(\w+)\.has_value\(\) \?", r"false ?"),
        "drop a statement": _replaced(_STATEMENT + r"(?:if\([^;{}]*\)\s*)?(?:HIP_CALL|\w+<<<)[^;]*;", ""),
        "wait for the device": _replaced(r"(const hipStream_t stream = [^;]*;)", r"\1 (void)hipDeviceSynchronize();"),
        "allocate": _replaced(r"(const hipStream_t stream = [^;]*;)", r"\1 void* p; (void)hipMalloc(&p, 8);"),
        "return early": _replaced(r"(const hipStream_t stream = [^;]*;)", r"\1 if(stream) return;"),
    },
    KERNEL: {
        "exchange arithmetic": _swapped({b"+": b"-", b"-": b"+", b"*": b"/", b"/": b"*", b"+=": b"-="}, blanks=True),
        "exchange comparisons": _swapped({b"<": b"<=", b">": b">=", b"==": b"!=", b"!=": b"=="}, blanks=True),
        "change a number": _number,
        "exchange thread and block": _swapped({b"threadIdx": b"blockIdx", b"blockIdx": b"threadIdx"}),
        "narrow a number": _replaced(r"int64_t", "int"),
        "another precision": _replaced(r"static_cast<float>", "static_cast<double>"),
        "drop a statement": _replaced(_STATEMENT + r"[\w\[\] +*]+ \+?= [^;{}]*;", ""),
    },
    BINDING: {
        "lose a default": _replaced(r'(py::arg\("\w+"\)) = [^,;()]+', r"\1"),
        "change a default": _replaced(r'(py::arg\("\w+"\) = )std::nullopt', r"\1py::none()"),
        "rename an argument": _replaced(r'py::arg\("(\w+)"\)', r'py::arg("\1_")'),
        "exchange arguments": _replaced(
            r'py::arg\("(\w+)"\)(,[\s\\]*)py::arg\("(\w+)"\)', r'py::arg("\3")\2py::arg("\1")'
        ),
        "bind another function": _replaced(r"&(\w+)::(\w+)", r"&\1::other_\2"),
    },
}
