"""Headers that only a build prints, as a check needs them: the macro of a table with two rows in it."""

from __future__ import annotations

import posixpath
import re

from torchless.rewrites.dispatch_tables.codebase import Codebase
from torchless.rewrites.dispatch_tables.keys import Key
from torchless.rewrites.dispatch_tables.study import Study


def stand_ins(code: Codebase, seen: Study) -> tuple[tuple[str, bytes], ...]:
    """(path, text) of headers that define the macros of ``seen``, where those who include them would find them."""
    headers: dict[str, dict[str, bytes]] = {}
    includes: dict[str, set[str]] = {}
    key = seen.key
    if key is None:
        return ()
    for one in seen.filled:
        for printer in one.printers:
            if one.macro is None or not printer.header:
                continue
            for path in _included_as(code, one.table.path, printer.header):
                text = f"#define {one.macro.name}{printer.parameters} {_rows(key, printer.braced)}"
                headers.setdefault(path, {})[one.macro.name] = text.encode()
                includes.setdefault(path, set()).update(printer.includes)
    return tuple(
        (
            path,
            b"#pragma once\n"
            + b"".join(line.encode() + b"\n" for line in sorted(includes[path]))
            + b"\n".join(macros[name] for name in sorted(macros))
            + b"\n",
        )
        for path, macros in sorted(headers.items())
    )


def _rows(key: Key, braced: bool) -> str:
    rows = []
    for number in range(2):
        fields = [('"a"' if f.is_text else str(number)) for f in key.fields]
        if key.kind == "text":
            fields = [f'"{"ab"[number]}"']
        elif all(f.is_text for f in key.fields):
            fields[-1] = f'"{"ab"[number]}"'
        spelled = fields[0] if key.kind in ("number", "text") else f"{{{', '.join(fields)}}}"
        rows.append(f"{{{spelled}, nullptr}}")
    text = ", ".join(rows)
    return f"{{{text}}}" if braced else text


def _included_as(code: Codebase, path: str, header: str) -> list[str]:
    """Where the header would lie for each file read with ``path`` that includes it; none where it is there already."""
    name = posixpath.basename(header)
    pattern = re.compile(rb'#[ \t]*include[ \t]+"((?:[^"\n]*/)?' + re.escape(name.encode()) + rb')"')
    out = set()
    for other in code.seen_with(path):
        for match in pattern.finditer(code.read(other)):
            out.add(posixpath.normpath(posixpath.join(posixpath.dirname(other), match[1].decode("latin-1"))))
    return sorted(place for place in out if not code.read(place))
