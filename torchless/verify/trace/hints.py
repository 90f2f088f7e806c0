"""What the text of an entry point says about inputs that it would take. Guesses only: the program decides.

Comments give shapes (``torch::Tensor& out, // [rows, columns]``), typed data pointers give dtypes, ``size(2)`` gives a
least rank, literals of the body give sizes around which something happens and texts that options are compared with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from torchless.text.lexer import Kind, Token, code_tokens, lex, match_forward

_SHAPE = re.compile(r"\[([^\[\]]*)\]")
_NUMBER = re.compile(rb"\d+")
_STRING = re.compile(r'"([A-Za-z0-9_]+)"')
_REMARK = re.compile(r"\b([A-Za-z_]\w*)\s*[,)]?[ \t]*//[^\n\[]*\[([^\[\]\n]*)\]")
_MENTIONED = re.compile(r"\b(?:(?:ScalarType::|torch::|at::)(?=k?[A-Z]))?(k?[A-Z]\w*|torch_fp8|torch_fp4x2)\b")
_DTYPES = {
    "Float": "float32", "Float32": "float32", "Half": "float16", "Float16": "float16", "BFloat16": "bfloat16",
    "Double": "float64", "Int": "int32", "Int32": "int32", "Long": "int64", "Int64": "int64", "Char": "int8",
    "Int8": "int8", "Byte": "uint8", "UInt8": "uint8", "Short": "int16", "UInt32": "uint32", "Bool": "bool",
    "Float8_e4m3fnuz": "float8_e4m3fnuz", "Float8_e4m3fn": "float8_e4m3fn", "Float8_e8m0fnu": "float8_e8m0fnu",
    "Float4_e2m1fn_x2": "float4_e2m1fn_x2", "torch_fp8": "float8_e4m3fnuz", "torch_fp4x2": "float4_e2m1fn_x2",
}  # fmt: skip
_TYPED = {
    "float": "float32", "double": "float64", "int": "int32", "int32_t": "int32", "int64_t": "int64", "long": "int64",
    "Half": "float16", "BFloat16": "bfloat16", "uint8_t": "uint8", "int8_t": "int8", "int16_t": "int16",
    "uint32_t": "uint32", "bool": "bool",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Hints:
    """``shapes``: parameter -> sizes, as names, numbers or "..."; ``dtypes`` and least ``ranks`` by parameter.

    ``numbers`` are literals of the body, ``texts`` its string literals, ``mentioned`` the dtypes that the files name.
    """

    shapes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    dtypes: Mapping[str, str] = field(default_factory=dict)
    ranks: Mapping[str, int] = field(default_factory=dict)
    numbers: tuple[int, ...] = ()
    texts: tuple[str, ...] = ()
    mentioned: tuple[str, ...] = ()


def read_hints(name: str, params: Iterable[str], texts: Iterable[bytes]) -> Hints:
    """What ``texts`` say about the parameters of the function ``name``; the first is the source that defines it.

    What is said of a parameter of the same name elsewhere in that source, of a kernel above all, counts where nothing
    is said of the function's own.
    """
    wanted = set(params)
    texts = list(texts)
    source = texts[0].decode("latin-1") if texts else ""
    shapes: dict[str, tuple[str, ...]] = {}
    bodies: list[str] = []
    numbers: set[int] = set()
    last = name.rpartition("::")[2].encode()
    for data in texts:
        if last not in data:
            continue
        everything = lex(data)
        tokens = code_tokens(everything)
        for i, token in enumerate(tokens[:-1]):
            if token.text != last or tokens[i + 1].text != b"(" or token.directive:
                continue
            close = match_forward(tokens, i + 1)
            if close < 0:
                continue
            start, end = tokens[i + 1].start, _end_of_comment(everything, tokens, close)
            for param, shape in _shapes_in(everything, start, end):
                if param in wanted:
                    shapes.setdefault(param, shape)
            if close + 1 < len(tokens) and tokens[close + 1].text == b"{":
                brace = match_forward(tokens, close + 1)
                if brace > 0:
                    inside = tokens[close + 1 : brace]
                    bodies.append(" ".join(t.text.decode("latin-1") for t in inside))
                    numbers |= {int(t.text) for t in inside if t.kind is Kind.NUMBER and _NUMBER.fullmatch(t.text)}
    for param, shape in _REMARK.findall(source):
        if param in wanted:
            shapes.setdefault(param, _sizes(shape))
    body = " ".join(bodies)
    return Hints(
        shapes,
        {p: d for p in sorted(wanted) if (d := _dtype_of(p, body))},
        {p: r for p in sorted(wanted) if (r := _rank_of(p, body))},
        tuple(sorted(n for n in numbers if 2 <= n <= 1 << 16)),
        tuple(sorted(set(_STRING.findall(body)))),
        tuple(sorted({d for word in _MENTIONED.findall(source) if (d := _DTYPES.get(word.lstrip("k"), ""))})),
    )


def _end_of_comment(everything: list[Token], tokens: list[Token], close: int) -> int:
    """Where the comments behind the closing parenthesis end: the last parameter's may stand there."""
    limit = tokens[close + 1].start if close + 1 < len(tokens) else tokens[close].end
    after = [t.end for t in everything if t.kind is Kind.COMMENT and tokens[close].start <= t.start < limit]
    return max([tokens[close].end, *after])


def _shapes_in(everything: list[Token], start: int, end: int) -> Iterable[tuple[str, tuple[str, ...]]]:
    """(parameter, shape) for every comment with brackets in it; it belongs to the name before it."""
    name = ""
    for token in everything:
        if token.start < start or token.end > end:
            continue
        if token.kind is Kind.NAME:
            name = token.text.decode("latin-1")
        elif token.kind is Kind.COMMENT and name:
            shape = _SHAPE.search(token.text.decode("latin-1"))
            if shape:
                yield name, _sizes(shape[1])


def _sizes(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _dtype_of(param: str, body: str) -> str:
    found = re.findall(rf"\b{re.escape(param)} (?:\.|->) (?:const_|mutable_)?data_ptr < ([\w: ]+) >", body)
    found += re.findall(
        rf"_cast < (?:const )?([\w: ]+?) (?:const )?\* > \( {re.escape(param)} (?:\.|->) data_ptr", body
    )
    names = {_TYPED.get(f.split("::")[-1].strip(), "") for f in found}
    return next(iter(names)) if len(names) == 1 else ""


def _rank_of(param: str, body: str) -> int:
    ranks = [0]
    for index in re.findall(rf"\b{re.escape(param)} (?:\.|->) (?:size|stride) \( (-? ?\d+) \)", body):
        number = int(index.replace(" ", ""))
        ranks.append(number + 1 if number >= 0 else -number)
    ranks += [int(n) for n in re.findall(rf"\b{re.escape(param)} (?:\.|->) dim \( \) == (\d+)", body)]
    return max(ranks)
