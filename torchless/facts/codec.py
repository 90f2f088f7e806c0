"""TuFacts as compact bytes and back: what the cache stores. JSON, so that nothing read back can run code."""

from __future__ import annotations

import json
import zlib
from functools import lru_cache
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

_FORMAT = 3
_LENGTH = 4  # bytes of the number in front of the head


class CodecError(ValueError):
    """Bytes that do not hold TuFacts of this format."""


def encode(facts: TuFacts) -> bytes:
    """``facts`` as bytes; equal facts give equal bytes. Seconds and notes of the run that made them are left out.

    A head that describes the unit is followed by one part for each file, so that equal parts, which headers have in
    many units, need to be read only once.
    """
    s = facts.spec
    parts = [_encode_file(f) for f in facts.files]
    head = _json(
        {
            "format": _FORMAT,
            "spec": [s.source, s.include_dirs, s.defines, s.enable_ck, s.device, s.arch, s.further_names],
            "parts": [len(part) for part in parts],
            "includes": [[i.path, i.offset, i.spelled, i.resolved] for i in facts.includes],
            "diagnostics": [[d.path, d.offset, d.line, d.severity, d.category, d.message] for d in facts.diagnostics],
            "opened": facts.opened,
            "failure": facts.failure,
        }
    )
    return zlib.compress(b"".join([len(head).to_bytes(_LENGTH, "little"), head, *parts]), 1)


def decode(data: bytes) -> TuFacts:
    """What encode() was given. Raises CodecError for anything else."""
    try:
        body = zlib.decompress(data)
        at = _LENGTH + int.from_bytes(body[:_LENGTH], "little")
        head: dict[str, Any] = json.loads(body[_LENGTH:at])
        if head["format"] != _FORMAT:
            raise CodecError("facts of another format")
        files: list[FileFacts] = []
        for length in head["parts"]:
            files.append(_decode_file(body[at : at + length]))
            at += length
        if at != len(body):
            raise CodecError("facts of another length")
        source, include_dirs, defines, enable_ck, device, arch, further = head["spec"]
        names = tuple((link, name) for link, name in further)
        return TuFacts(
            spec=TuSpec(source, tuple(include_dirs), tuple(defines), enable_ck, device, arch, names),
            files=tuple(files),
            includes=tuple(IncludeFact(*row) for row in head["includes"]),
            diagnostics=tuple(Diagnostic(*row) for row in head["diagnostics"]),
            opened=tuple(head["opened"]),
            failure=head["failure"],
        )
    except (KeyError, IndexError, TypeError, ValueError, zlib.error) as error:
        raise CodecError(f"not encoded facts: {error}") from None


def _encode_file(file: FileFacts) -> bytes:
    strings: dict[str, int] = {}

    def ref(text: str) -> int:
        return strings.setdefault(text, len(strings))

    names = [[n.offset, ref(n.kind), ref(n.name), ref(n.type)] for n in file.names]
    functions = [
        [fn.start, fn.end, ref(fn.name), fn.name_start, fn.body_start, fn.body_end]
        + [[ref(p.name), ref(p.type), ref(p.spelled), p.start, p.end] for p in fn.params]
        + [ref(fn.returns), ref(fn.returns_spelled), _flags(fn)]
        for fn in file.functions
    ]
    return _json([file.path, list(strings), names, functions])


@lru_cache(maxsize=1 << 13)
def _decode_file(part: bytes) -> FileFacts:
    path, text, names, functions = json.loads(part)
    return FileFacts(
        path,
        tuple(NameFact(offset, text[kind], text[name], text[cls]) for offset, kind, name, cls in names),
        tuple(_function(path, row, text) for row in functions),
    )


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


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
