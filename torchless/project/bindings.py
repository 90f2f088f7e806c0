"""The pybind11 bindings of a checkout: ``*_PYBIND`` macros and sources with PYBIND11_MODULE, read from tokens.

Macro bodies are plain text to a compiler until they are expanded, so rows are found by the lexer in both places.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

from torchless.index import Index
from torchless.project.model import BindingArg, BindingMacro, BindingRow, BindingTu
from torchless.text.dead import live_tokens
from torchless.text.lexer import Kind, Token, code_tokens, lex, match_angle, match_forward
from torchless.text.source import SourceFile

_VERSION = 2  # of what is stored in an index for the same bytes
MACRO_SUFFIX = "_PYBIND"
SETTER_MACRO = "AITER_SET_STREAM_PYBIND"
SETTER_NAME = "_set_current_hip_stream"  # what the target's dispatcher calls before each develop op
MODULE_MACRO = b"PYBIND11_MODULE"
Problem = tuple[str, str]


def read_bindings(
    root: Path, paths: Iterable[str], index: Index | None = None
) -> tuple[list[BindingMacro], list[BindingTu], list[Problem]]:
    """The binding macros and binding TUs in the files ``paths`` (root-relative), in that order, and what went wrong.

    A file that names neither costs one read and two searches; one that ``index`` knows not even that.
    """
    index = index or Index(root)
    macros: list[BindingMacro] = []
    found: list[BindingTu] = []
    problems: list[Problem] = []
    for path in paths:
        try:
            scan = index.get(path, "bindings", _VERSION, _scan)
        except OSError as error:
            problems.append((path, f"cannot read: {error.strerror}"))
            continue
        if scan is not None:
            macros += [_macro_of(path, row) for row in scan[0]]
            found += [_tu_of(path, row) for row in scan[1]]
    for path, blocks in Counter(tu.path for tu in found).items():
        if blocks > 1:
            problems.append((path, f"{blocks} {MODULE_MACRO.decode()} blocks in one file"))
    known = {macro.name for macro in macros}
    macros = [replace(m, expands=tuple(name for name in m.expands if name in known)) for m in macros]
    return macros, [_expanding(tu, known) for tu in found], problems


def _scan(data: bytes) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]] | None:
    """The fields of the macros and of the binding blocks in ``data``, with "" for its name; None for a file without."""
    source = SourceFile("", data)
    macros = binding_macros(source) if MACRO_SUFFIX.encode() in data and b"define" in data else []
    tus = _binding_blocks(source) if MODULE_MACRO in data else []
    return ([astuple(m) for m in macros], [astuple(tu) for tu in tus]) if macros or tus else None


def _macro_of(path: str, row: tuple[Any, ...]) -> BindingMacro:
    name, _, start, body_start, body_end, rows, *rest = row
    return BindingMacro(name, path, start, body_start, body_end, _rows_of(path, rows), *rest)


def _tu_of(path: str, row: tuple[Any, ...]) -> BindingTu:
    _, names, rows, *rest = row
    return BindingTu(path, names, _rows_of(path, rows), *rest)


def _rows_of(path: str, rows: tuple[tuple[Any, ...], ...]) -> tuple[BindingRow, ...]:
    return tuple(
        BindingRow(path, start, end, name, target, tuple(BindingArg(*arg) for arg in args), macro, line)
        for _, start, end, name, target, args, macro, line in rows
    )


def binding_macros(source: SourceFile) -> list[BindingMacro]:
    """The macros of ``source`` whose name ends in _PYBIND or whose body has rows, in file order.

    ``expands`` lists every _PYBIND name of the body, whether there is such a macro or not.
    """
    found = []
    for tokens in _definitions(source.data):
        name = tokens[0].text.decode("utf-8", "replace")
        body = tokens[1:]
        variable = "m"
        if body and body[0].text == b"(" and body[0].start == tokens[0].end:
            close = match_forward(body, 0)
            if close > 1:
                variable = body[1].text.decode("utf-8", "replace")
            body = body[close + 1 :]
        if not body:
            continue
        rows = binding_rows(source, body, variable, name)
        if not rows and not name.endswith(MACRO_SUFFIX):
            continue
        names = (t.text.decode("utf-8", "replace") for t in body if t.kind is Kind.NAME)
        found.append(
            BindingMacro(
                name=name,
                path=source.path,
                start=source.data.rindex(b"#", 0, tokens[0].start),
                body_start=body[0].start,
                body_end=body[-1].end,
                rows=rows,
                has_stream_setter=has_setter(body),
                expands=tuple(dict.fromkeys(n for n in names if n.endswith(MACRO_SUFFIX) and n != name)),
            )
        )
    return found


def binding_tus(source: SourceFile, known_macros: Iterable[str] = ()) -> list[BindingTu]:
    """The PYBIND11_MODULE blocks of ``source``, in file order.

    A name counts as an expanded macro when it ends in _PYBIND or is one of ``known_macros``.
    """
    known = set(known_macros)
    return [_expanding(tu, known) for tu in _binding_blocks(source)]


def _expanding(tu: BindingTu, known: set[str]) -> BindingTu:
    """``tu`` with the macros among the names of its body."""
    macros = (name for name in tu.macros if (name.endswith(MACRO_SUFFIX) or name in known) and name != SETTER_MACRO)
    return replace(tu, macros=tuple(macros))


def _binding_blocks(source: SourceFile) -> list[BindingTu]:
    """As binding_tus(), but with every name of the body as a macro."""
    tokens = [t for t in live_tokens(code_tokens(lex(source.data))) if not t.directive]
    found = []
    for i, token in enumerate(tokens):
        if token.kind is not Kind.NAME or token.text != MODULE_MACRO:
            continue
        close = match_forward(tokens, i + 1) if i + 1 < len(tokens) and tokens[i + 1].text == b"(" else -1
        if close < 0 or close + 1 >= len(tokens) or tokens[close + 1].text != b"{":
            continue
        end = match_forward(tokens, close + 1)
        if end < 0:
            continue
        arguments = split_arguments(tokens, i + 1, close)
        variable = tokens[arguments[1][0]].text.decode("utf-8", "replace") if len(arguments) > 1 else "m"
        body = tokens[close + 2 : end]
        names = (t.text.decode("utf-8", "replace") for t in body if t.kind is Kind.NAME)
        found.append(
            BindingTu(
                path=source.path,
                macros=tuple(dict.fromkeys(names)),
                rows=binding_rows(source, body, variable, ""),
                body_start=tokens[close + 1].start,
                has_stream_setter=has_setter(body),
                body_end=tokens[end].end,
                variable=variable,
            )
        )
    return found


def has_setter(tokens: Sequence[Token]) -> bool:
    """Whether the tokens define the stream setter: by its macro, or spelled out."""
    return any(
        (t.kind is Kind.NAME and t.text == SETTER_MACRO.encode())
        or (t.kind is Kind.STRING and t.text == b'"%b"' % SETTER_NAME.encode())
        for t in tokens
    )


def binding_rows(source: SourceFile, tokens: Sequence[Token], variable: str, macro: str) -> tuple[BindingRow, ...]:
    """The ``variable.def(...)`` rows among blank-free ``tokens``, chained ``.def`` calls included."""
    tokens = list(tokens)
    rows: list[BindingRow] = []
    chain_end = -1  # index after a row: a .def there goes on with the same module
    for i in range(len(tokens) - 2):
        named = tokens[i].text == variable.encode() and tokens[i].kind is Kind.NAME
        if not named and i != chain_end:
            continue
        dot = i + 1 if named else i
        if [t.text for t in tokens[dot : dot + 3]] != [b".", b"def", b"("]:
            continue
        if named and i and tokens[i - 1].text in (b".", b"->", b"::"):
            continue
        close = match_forward(tokens, dot + 2)
        if close < 0:
            continue
        rows.append(_row(source, tokens, i, dot + 2, close, macro))
        chain_end = close + 1
    return tuple(rows)


def split_arguments(tokens: Sequence[Token], opening: int, closing: int) -> list[tuple[int, int]]:
    """Half-open index ranges of the arguments between the bracket at ``opening`` and its partner at ``closing``."""
    tokens = list(tokens)
    out: list[tuple[int, int]] = []
    start = i = opening + 1
    while i < closing:
        token = tokens[i]
        if token.kind is Kind.PUNCT:
            if token.text in (b"(", b"[", b"{"):
                i = match_forward(tokens, i)
                if i < 0:
                    break
            elif token.text == b"<" and tokens[i - 1].kind is Kind.NAME:
                angle = match_angle(tokens, i)
                if 0 < angle < closing:
                    i = angle
            elif token.text == b",":
                out.append((start, i))
                start = i + 1
        i += 1
    if start < closing:
        out.append((start, closing))
    return out


def _row(source: SourceFile, tokens: list[Token], first: int, opening: int, closing: int, macro: str) -> BindingRow:
    arguments = split_arguments(tokens, opening, closing)
    name = _literal(tokens[slice(*arguments[0])]) if arguments else None
    target = _target(tokens[slice(*arguments[1])]) if len(arguments) > 1 else ""
    args = (_arg(source, tokens[start:end]) for start, end in arguments[2:])
    return BindingRow(
        path=source.path,
        start=tokens[first].start,
        end=tokens[closing].end,
        name=name or "",
        target=target,
        args=tuple(arg for arg in args if arg is not None),
        macro=macro,
        line=source.line_of(tokens[first].start),
    )


def _target(tokens: list[Token]) -> str:
    """The function that a row binds, as spelled, without & and blanks; "" for a lambda.

    A cast of an overload, ``static_cast<...>(&f)`` or ``py::overload_cast<...>(&f)``, gives the function inside.
    """
    if not tokens or tokens[0].text == b"[":
        return ""
    ampersand = max((i for i, t in enumerate(tokens) if t.text == b"&" and t.kind is Kind.PUNCT), default=-1)
    if ampersand > 0 and tokens[ampersand - 1].text != b"(":
        return ""
    operand = tokens[ampersand + 1 :]
    if ampersand > 0:  # inside a cast: up to the parenthesis that closes it
        operand = operand[: next((i for i, t in enumerate(operand) if t.text == b")"), 0)]
    if not operand or any(t.text in (b"(", b"{", b"[") for t in operand):
        return ""
    return b"".join(t.text for t in operand).decode("utf-8", "replace")


def _arg(source: SourceFile, tokens: list[Token]) -> BindingArg | None:
    """A py::arg("name") [= default] or "name"_a [= default]; None for any other argument (doc strings, policies)."""
    texts = [t.text for t in tokens]
    name_at = -1
    if b"arg" in texts[:5]:
        at = texts.index(b"arg")
        if texts[at + 1 : at + 2] == [b"("] and at + 2 < len(tokens):
            name_at = at + 2
    elif len(tokens) > 1 and tokens[0].kind is Kind.STRING and texts[1] == b"_a":
        name_at = 0
    name = _literal(tokens[name_at : name_at + 1]) if name_at >= 0 else None
    if name is None:
        return None
    depth = 0
    for i, token in enumerate(tokens):
        depth += (token.text in (b"(", b"[", b"{")) - (token.text in (b")", b"]", b"}"))
        if depth == 0 and token.text == b"=" and i + 1 < len(tokens):
            start, end = tokens[i + 1].start, tokens[-1].end
            return BindingArg(name, source.data[start:end].decode("utf-8", "replace"), start, end)
    return BindingArg(name, "")


def _literal(tokens: Sequence[Token]) -> str | None:
    """The value of one or more adjacent plain string literals, or None for anything else."""
    if not tokens or any(t.kind is not Kind.STRING or not t.text.startswith(b'"') for t in tokens):
        return None
    try:
        return "".join(str(ast.literal_eval(t.text.decode())) for t in tokens)
    except (ValueError, SyntaxError):
        return None


def _definitions(data: bytes) -> Iterator[list[Token]]:
    """The code tokens of each #define of ``data``, from the macro's name on."""
    current: list[Token] | None = None
    awaiting = False
    for token in live_tokens(code_tokens(lex(data))):
        if token.kind is Kind.DIRECTIVE or token.directive != "define":
            if current:
                yield current
            current, awaiting = None, token.kind is Kind.DIRECTIVE
        elif awaiting:  # the keyword itself
            current, awaiting = [], False
        elif current is not None:
            current.append(token)
    if current:
        yield current
