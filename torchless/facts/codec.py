"""TuFacts as compact bytes and back: what the cache stores. JSON, so that nothing read back can run code."""

from __future__ import annotations

import json
import zlib
from typing import Any

from torchless.facts.model import (
    Diagnostic,
    FileFacts,
    FunctionFact,
    IncludeFact,
    NameFact,
    ParamFact,
    TuFacts,
    TuSpec,
)

_FORMAT = 1


class CodecError(ValueError):
    """Bytes that do not hold TuFacts of this format."""


def encode(facts: TuFacts) -> bytes:
    """``facts`` as bytes; equal facts give equal bytes. Seconds and notes of the run that made them are left out."""
    strings: dict[str, int] = {}

    def ref(text: str) -> int:
        return strings.setdefault(text, len(strings))

    files = [
        [
            ref(f.path),
            [[n.offset, ref(n.kind), ref(n.name), ref(n.type)] for n in f.names],
            [
                [fn.start, fn.end, ref(fn.name), fn.name_start, fn.body_start, fn.body_end]
                + [[ref(p.name), ref(p.type), ref(p.spelled), p.start, p.end] for p in fn.params]
                + [ref(fn.returns), ref(fn.returns_spelled), _flags(fn)]
                for fn in f.functions
            ],
        ]
        for f in facts.files
    ]
    s = facts.spec
    body = {
        "format": _FORMAT,
        "spec": [s.source, list(s.include_dirs), list(s.defines), s.enable_ck, s.device, s.arch],
        "files": files,
        "includes": [[ref(i.path), i.offset, ref(i.spelled), ref(i.resolved)] for i in facts.includes],
        "diagnostics": [[ref(d.path), d.offset, d.line, d.severity, d.category, d.message] for d in facts.diagnostics],
        "opened": list(facts.opened),
        "failure": facts.failure,
        "strings": list(strings),
    }
    return zlib.compress(json.dumps(body, separators=(",", ":")).encode(), 1)


def decode(data: bytes) -> TuFacts:
    """What encode() was given. Raises CodecError for anything else."""
    try:
        body: dict[str, Any] = json.loads(zlib.decompress(data))
        if body["format"] != _FORMAT:
            raise CodecError("facts of another format")
        return _decoded(body)
    except (KeyError, IndexError, TypeError, ValueError, zlib.error) as error:
        raise CodecError(f"not encoded facts: {error}") from None


def _decoded(body: dict[str, Any]) -> TuFacts:
    text: list[str] = body["strings"]
    source, include_dirs, defines, enable_ck, device, arch = body["spec"]
    files = tuple(
        FileFacts(
            text[path],
            tuple(NameFact(offset, text[kind], text[name], text[cls]) for offset, kind, name, cls in names),
            tuple(_function(text[path], row, text) for row in functions),
        )
        for path, names, functions in body["files"]
    )
    return TuFacts(
        spec=TuSpec(source, tuple(include_dirs), tuple(defines), enable_ck, device, arch),
        files=files,
        includes=tuple(IncludeFact(text[p], o, text[s], text[r]) for p, o, s, r in body["includes"]),
        diagnostics=tuple(Diagnostic(text[p], *rest) for p, *rest in body["diagnostics"]),
        opened=tuple(body["opened"]),
        failure=body["failure"],
    )


def _flags(fn: FunctionFact) -> int:
    return fn.is_template | fn.is_extern_c << 1 | fn.is_kernel << 2 | fn.launches << 3


def _function(path: str, row: list[Any], text: list[str]) -> FunctionFact:
    start, end, name, name_start, body_start, body_end, *params, returns, returns_spelled, flags = row
    return FunctionFact(
        path=path,
        start=start,
        end=end,
        name=text[name],
        name_start=name_start,
        body_start=body_start,
        body_end=body_end,
        params=tuple(ParamFact(text[n], text[t], text[s], a, b) for n, t, s, a, b in params),
        returns=text[returns],
        returns_spelled=text[returns_spelled],
        is_template=bool(flags & 1),
        is_extern_c=bool(flags & 2),
        is_kernel=bool(flags & 4),
        launches=bool(flags & 8),
    )
