"""What sources that only instantiate become, and the edits of the headers that they share."""

from __future__ import annotations

import re
from collections.abc import Sequence

from torchless.model import Edit
from torchless.rewrites.host_units.instances import Instances
from torchless.rewrites.passes.items import UnreadableError, What, device_macros, items_of
from torchless.text.lexer import code_tokens, lex, match_forward
from torchless.text.source import SourceFile


def macro_names(module: str) -> tuple[bytes, bytes]:
    """(what the unit for the host defines, what those for the device define)."""
    stem = re.sub(r"\W", "_", module.removeprefix("module_")).upper().encode()
    return stem + b"_HOST_TU", stem + b"_DEVICE_TU"


def host_text(first: Instances, sources: Sequence[Instances], macro: bytes) -> bytes:
    """The unit that has all launchers; the device pass sees nothing of it."""
    eol = SourceFile(first.path, first.data).eol_at(0)
    includes = list(dict.fromkeys(header for one in sources for header in one.includes))
    lines = [
        b"#ifndef __HIP_DEVICE_COMPILE__",
        b"// All launchers; the kernels are in the other sources of the module.",
        b"#define " + macro,
        *(f"#include {header}".encode() for header in includes),
        b"",
        *dict.fromkeys(launcher for one in sources for launcher in one.launchers),
        b"#endif // !__HIP_DEVICE_COMPILE__",
    ]
    return first.data[: first.first] + eol.join(lines) + eol


def device_text(one: Instances, kernels: Sequence[str], macro: bytes) -> bytes:
    """A unit that has ``kernels`` (explicit instantiations without the semicolon) and no launcher."""
    eol = SourceFile(one.path, one.data).eol_at(0)
    lines = [
        b"#define " + macro,
        b"#ifndef __HIPCC_RTC__",
        b"#define __HIPCC_RTC__ // no host half of HIP's headers",
        b"#endif",
        *(f"#include {header}".encode() for header in one.includes),
        b"",
        *(f"template {kernel};".encode() for kernel in kernels),
    ]
    return one.data[: one.first] + eol.join(lines) + eol


def hidden_kernels(source: SourceFile, macro: bytes, code: str) -> list[Edit]:
    """The edits by which a header only declares its kernel templates for the unit that defines ``macro``."""
    eol = source.eol_at(0)
    out: list[Edit] = []
    try:
        items = items_of(source.data, device_macros([source.data]))
    except UnreadableError:
        return out
    for item in items:
        if item.what is not What.DEVICE or b"__global__" not in item.mentions:
            continue
        tokens = code_tokens(lex(source.data, item.start, item.end))
        opening = next((i for i, t in enumerate(tokens) if t.text == b"{" and not t.directive), -1)
        if opening < 0 or tokens[0].text != b"template" or match_forward(tokens, opening) < 0:
            continue
        head = b"#ifdef " + macro + eol + b";" + eol + b"#else" + eol
        brace = source.line_start(source.line_of(tokens[opening].start))
        alone = not source.data[brace : tokens[opening].start].strip()
        at = brace if alone else tokens[opening].start
        out.append(Edit(source.path, at, at, head if alone else eol + head, code))
        out.append(Edit(source.path, item.end, item.end, eol + b"#endif", code))
    return out
