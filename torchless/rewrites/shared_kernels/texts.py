"""The source that gets shared kernels, what the sources that had them declare, and the module's new source line."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Sequence
from pathlib import Path

from torchless.model import Edit
from torchless.project.model import Module
from torchless.project.modules import directory_names, interpret
from torchless.reliance.config_flags import with_flag
from torchless.rewrites.passes.items import UnreadableError, What, items_of
from torchless.text.lexer import Kind, lex
from torchless.text.source import BOM, SourceFile

SUFFIX, HEADER_SUFFIX = ".device.cu", ".device.h"
_BEFORE_ARGUMENTS = re.compile(r"([A-Za-z_]\w*)<")


def kernel_name(instantiation: str) -> str:
    """The unqualified name of a kernel template in ``__global__ void a::name<int>(int*)``; "" where it has none."""
    found = _BEFORE_ARGUMENTS.search(instantiation)
    return found[1] if found else ""


def unit_text(like: SourceFile, includes: Sequence[str], kernels: Sequence[str]) -> bytes:
    """A source that instantiates ``kernels``, below the comment that opens ``like``."""
    eol = like.eol_at(0)
    lines = [
        *(f"#include {header}".encode() for header in includes),
        b"",
        b"// Kernels that many sources start: they declare them and are compiled without them.",
        *(f"template {kernel};".encode() for kernel in kernels),
    ]
    return _opening_comment(like) + eol.join(lines) + eol


def header_text(like: SourceFile, includes: Sequence[str], kernels: Sequence[str]) -> bytes:
    """A header that declares ``kernels`` as instantiated elsewhere, below the comment that opens ``like``."""
    eol = like.eol_at(0)
    lines = [
        b"#pragma once",
        *(f"#include {header}".encode() for header in includes),
        b"",
        b"// Kernels that one source has for all that start them.",
        *(f"extern template {kernel};".encode() for kernel in kernels),
    ]
    return _opening_comment(like) + eol.join(lines) + eol


def _opening_comment(source: SourceFile) -> bytes:
    """The comments that start a file, up to an empty one: its licence, without what the file is for."""
    end = 0
    for token in lex(source.data):
        if token.kind is Kind.COMMENT and token.text.strip() == b"//":
            break
        if token.kind is Kind.COMMENT:
            end = token.end
        elif token.kind is not Kind.BLANK and token.text != BOM:
            break
    return source.data[:end].removeprefix(BOM) + source.eol_at(0) if end else b""


def declaration_edit(source: SourceFile, kernels: Sequence[str], code: str, header: str = "") -> Edit | None:
    """The edit that declares ``kernels`` behind the last include of a source, or includes the ``header`` that does.

    None where there is no place for it.
    """
    try:
        items = items_of(source.data)
    except UnreadableError:
        return None
    includes = [i for i, item in enumerate(items) if item.what is What.INCLUDE]
    if not includes:
        return None
    before = [item.what for item in items[: includes[-1]]]
    if before.count(What.OPEN) != before.count(What.CLOSE):
        return None
    newline = source.data.find(b"\n", items[includes[-1]].end)
    if newline < 0:
        return None
    eol = source.eol_at(newline)
    lines = [b"", *(f"extern template {kernel};".encode() for kernel in kernels)]
    lines = [f'#include "{header}"'.encode()] if header else lines
    return Edit(source.path, newline + 1, newline + 1, eol.join(lines) + eol, code)


def source_edits(
    config: SourceFile, module: Module, beside: str, new: str, root: Path, code: str
) -> tuple[Edit, ...] | str:
    """The edits that make the file ``new`` a source of ``module``, which has ``beside`` of the same folder; or why not.

    None are needed where the description lists the folder. ``root`` is that of the checkout.
    """
    entry = b"{" + config.data[module.entry_start : module.entry_end] + b"}"
    spelled = json.loads(entry.decode("utf-8", "replace"))[module.name].get("srcs", [])
    names = directory_names(root)
    for text in spelled if isinstance(spelled, list) else [spelled]:
        try:
            path = posixpath.normpath(str(interpret(str(text), names)))
        except ValueError:
            continue
        if path == posixpath.dirname(new):
            return ()
        if path == beside and text.count(posixpath.basename(beside)) == 1:
            line = text.replace(posixpath.basename(beside), posixpath.basename(new))
            return with_flag(config, module, "srcs", line, code) or "its description has no list of sources to add to"
    return f"how its description lists {beside} is not understood"
