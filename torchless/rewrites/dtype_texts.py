"""Texts of dtypes that are more than a message: ``torchDTypeToStr(x.dtype())`` as a key of what a callee looks up.

The target's own texts differ (``i32`` where torch's helper says ``int32``), so the texts that the callee knows stay: a
small table, read off the project's helper, is written into the file once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from torchless.facts.typing import FileView, canonical
from torchless.model import Edit, Finding, Tier
from torchless.rewrites.dtypes import enumerator, of_constant
from torchless.rewrites.heads import namespace_of
from torchless.rewrites.placeholders import helper_place
from torchless.rewrites.scopes import scopes_of
from torchless.text.lexer import Kind, Token

CODE = "TL307"
OLD = b"torchDTypeToStr"
NEW = b"ck_dtype_str"


def texts_of(views: Iterable[FileView]) -> dict[str, str]:
    """Target dtype -> text, as the project's ``torchDTypeToStr`` has them; empty where its table was not found.

    The table is a macro whose body is a row per dtype, ``F("fp32", torch::kFloat)``, and whose name the function names.
    """
    for view in views:
        if view.source.data.find(OLD) < 0:
            continue
        names = {t.text for t in view.tokens if t.kind is Kind.NAME}
        for name, body in _macros(view.tokens):
            if name in names:
                table = _rows(view, body)
                if table:
                    return table
    return {}


def _macros(tokens: list[Token]) -> Iterable[tuple[bytes, list[int]]]:
    """Each function-like macro's name and the token indexes of its body."""
    for i, token in enumerate(tokens):
        if token.kind is not Kind.DIRECTIVE or i + 3 >= len(tokens) or tokens[i + 1].text != b"define":
            continue
        body = []
        k = i + 2
        while k < len(tokens) and tokens[k].directive == "define" and tokens[k].kind is not Kind.DIRECTIVE:
            body.append(k)
            k += 1
        if len(body) > 3 and tokens[body[1]].text == b"(" and tokens[body[1]].start == tokens[body[0]].end:
            close = next((n for n, k in enumerate(body) if tokens[k].text == b")"), 0)
            yield tokens[body[0]].text, body[close + 1 :]


def _rows(view: FileView, body: list[int]) -> dict[str, str]:
    """The rows of a macro that is nothing but rows; {} when it is anything else, or says two texts for one dtype."""
    tokens = view.tokens
    out: dict[str, str] = {}
    at = 0
    while at < len(body):
        close = next((n for n in range(at, len(body)) if tokens[body[n]].text == b")"), -1)
        row = body[at : close + 1]
        if close < 0 or len(row) < 6 or tokens[row[1]].text != b"(" or tokens[row[2]].kind is not Kind.STRING:
            return {}
        dtype = of_constant(canonical(view, row[-2]))
        text = tokens[row[2]].text.decode("latin-1")
        if not dtype or out.get(dtype, text) != text or tokens[row[3]].text != b",":
            return {}
        out[dtype] = text
        at = close + 1
    return out


def rewrite_texts(view: FileView, texts: Mapping[str, str], blocked: Iterable[Finding]) -> list[Finding]:
    """TL307 for each of ``blocked`` (findings about a dtype's text that is used as a value) that the table answers.

    Each finding has the place of the one that it answers, and carries the table.
    """
    if not texts:
        return []
    scopes = scopes_of(view)
    written: list[tuple[str, Edit]] = []
    out: list[Finding] = []
    for finding in blocked:
        index = view.index_at.get(finding.start, -1)
        if index < 0 or view.tokens[index].text != OLD or view.tokens[index].directive:
            continue
        space = namespace_of(scopes, index)
        helper = next((e for name, e in written if not name or f"{space}::".startswith(f"{name}::")), None)
        if helper is None:
            place = helper_place(view, scopes, index)
            if place is None:
                continue
            helper = _helper(view, *place, texts)
            written.append((space, helper))
        token = view.tokens[index]
        edit = Edit(view.source.path, token.start, token.end, NEW, CODE)
        message = "the text of a dtype is a key of its callee's: it comes from a table of these texts"
        requires = ("aiter_tensor.h",)
        out.append(replace(finding, code=CODE, message=message, edits=(helper, edit), requires=requires))
    return [replace(f, tier=Tier.SAFE, blocks=False, help="") for f in out]


def _helper(view: FileView, offset: int, indent: bytes, texts: Mapping[str, str]) -> Edit:
    lines = [
        "// The texts by which the callee knows dtypes.",
        f"static inline std::string {NEW.decode()}(AiterDtype dtype)",
        "{",
        "    switch(dtype)",
        "    {",
        *(f"    case {enumerator(dtype)}: return {text};" for dtype, text in texts.items()),
        '    default: AITER_CHECK(false, "no text for dtype ", AiterDtype_to_str(dtype)); return "";',
        "    }",
        "}",
        "",
    ]
    eol = view.source.eol_at(offset)
    text = b"".join((indent + line.encode() if line else b"") + eol for line in lines)
    return Edit(view.source.path, offset, offset, text, CODE, 1)
