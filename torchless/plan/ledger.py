"""The behaviour ledger: what a unit's callers will see change, told to the reviewer instead of left to be found.

Sources of the facts: the target's headers and its Python binding layer as described in docs (a failing check aborts
the process unless the thread's throw flag is set; only top-level tensors are converted; the stream set before a call is
that of the current device; the POD's size() does not check its index; numel() is unsigned).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from torchless.facts.typing import FileView, object_class, postfix_start
from torchless.model import Finding, LedgerEntry
from torchless.text.lexer import Kind

_RELATIONAL = frozenset({b"<", b">", b"<=", b">="})


def ledger(
    findings: Sequence[Finding],
    views: Mapping[str, FileView],
    ranges: Iterable[tuple[str, int, int]],
    *,
    checks_throw: bool,
    flips_ops: bool,
) -> tuple[LedgerEntry, ...]:
    """What the callers of a unit with these ``findings`` will see; its code lies in ``ranges`` (path, start, end)."""
    by_code: dict[str, list[Finding]] = {}
    for finding in findings:
        by_code.setdefault(finding.code, []).append(finding)

    def first(code: str) -> tuple[str, int]:
        finding = by_code[code][0]
        return finding.path, views[finding.path].source.line_of(finding.start) if finding.path in views else 0

    def count(*codes: str) -> int:
        return sum(len(by_code.get(c, ())) for c in codes)

    out: list[LedgerEntry] = []
    checks = count("TL301", "TL303", "TL304")
    if checks:
        code = next(c for c in ("TL301", "TL303", "TL304") if c in by_code)
        if checks_throw:
            text = f"{checks} failing checks throw std::runtime_error instead of c10::Error"
        else:
            text = f"{checks} failing checks end the process (abort) instead of raising a Python exception"
        out.append(LedgerEntry("exception", text, *first(code)))
    if "TL220" in by_code:
        lost = count("TL220")
        back = count("TL310")
        kept = f"; {back} restored by TL310" if back else "; none of them is restored"
        out.append(
            LedgerEntry("dtype-check", f"{lost} typed data pointers lose their dtype check{kept}", *first("TL220"))
        )
    if "TL310" in by_code:
        out.append(LedgerEntry("check-added", f"{count('TL310')} explicit dtype checks added", *first("TL310")))
    if "TL403" in by_code:
        out.append(LedgerEntry("guard-added", f"{count('TL403')} device guards added", *first("TL403")))
    if "TL401" in by_code:
        text = "the stream is the one that Python set for the current device, not that of the tensor's device"
        out.append(LedgerEntry("stream", text, *first("TL401")))
    if "TL207" in by_code:
        out.append(LedgerEntry("default", f"{count('TL207')} default arguments moved or respelled", *first("TL207")))
    if "TL507" in by_code or "TL506" in by_code:
        text = "elements are __half/hip_bfloat16 instead of c10 types: operators round and convert differently"
        out.append(LedgerEntry("arithmetic", text, *first("TL507" if "TL507" in by_code else "TL506")))
    if "TL592" in by_code:
        out.append(LedgerEntry("dtype", "a dispatch accepts fewer dtypes than before", *first("TL592")))
    if flips_ops:
        out.append(
            LedgerEntry(
                "dtype",
                "tensors of bool, float64, complex, uint16, float8_e5m2 or more than 8 dimensions are refused",
            )
        )
        out.append(LedgerEntry("abi", "the module and module_aiter_core must be built with one pybind11 ABI"))
    places = list(ranges)
    if checks and not checks_throw:
        text = "a check that fails inside this try ends the process: the handler is not reached any more"
        out += [LedgerEntry("exception", text, path, line) for path, line in _handlers(views, places)]
    out.extend(_sites(views, places, by_code.get("TL235", ())))
    return tuple(out)


def _handlers(views: Mapping[str, FileView], ranges: Iterable[tuple[str, int, int]]) -> list[tuple[str, int]]:
    """The path and line of every ``try`` in the ranges."""
    return [
        (path, views[path].source.line_of(token.start))
        for path, start, end in ranges
        if path in views
        for token in views[path].tokens
        if token.text == b"try" and token.kind is Kind.NAME and start <= token.start < end
    ]


def _sites(
    views: Mapping[str, FileView], ranges: Iterable[tuple[str, int, int]], cast: Sequence[Finding]
) -> list[LedgerEntry]:
    """Places where the same spelling means something else: unchecked indexes, unsigned numel() that is not ``cast``."""
    indexed: list[tuple[str, int]] = []
    unsigned: list[tuple[str, int, str]] = []
    for path, start, end in ranges:
        view = views.get(path)
        if view is None:
            continue
        for i, token in enumerate(view.tokens):
            if not start <= token.start < end or token.kind is not Kind.NAME or not i:
                continue
            if view.tokens[i - 1].text not in (b".", b"->"):
                continue
            if token.text in (b"size", b"stride") and _on_tensor(view, i):
                indexed.append((path, view.source.line_of(token.start)))
            elif token.text == b"numel" and _on_tensor(view, i):
                how = _signed_use(view, i)
                if how and not any(f.path == path and f.start <= token.start < f.end for f in cast):
                    unsigned.append((path, view.source.line_of(token.start), how))
    out: list[LedgerEntry] = []
    if indexed:
        text = f"{len(indexed)} calls of size()/stride() no longer check their index against the tensor's rank"
        out.append(LedgerEntry("index", text, *indexed[0]))
    for path, line, how in unsigned:
        out.append(LedgerEntry("numel", f"numel() is unsigned now and is used in a {how}", path, line))
    return out


def _on_tensor(view: FileView, member: int) -> bool:
    answer = object_class(view, member)
    return answer is not None and "tensor" in answer.classes


def _signed_use(view: FileView, member: int) -> str:
    """How the numel() at ``member`` is used where its sign matters: negation, subtraction or comparison; else ""."""
    tokens = view.tokens
    first = postfix_start(view, member - 2)
    after = member + 3  # behind the ( )
    before = tokens[first - 1].text if first else b""
    behind = tokens[after].text if after < len(tokens) else b""
    if before == b"-":
        operand = tokens[first - 2] if first > 1 else None
        binary = operand is not None and (operand.kind in (Kind.NAME, Kind.NUMBER) or operand.text in (b")", b"]"))
        return "subtraction" if binary else "negation"
    if behind == b"-":
        return "subtraction"
    if before in _RELATIONAL or behind in _RELATIONAL:
        other = tokens[after + 1] if behind in _RELATIONAL and after + 1 < len(tokens) else tokens[first - 2]
        # against a literal the sign of the other side is known
        return "" if other.kind is Kind.NUMBER else "comparison with a value that may be negative"
    return ""
