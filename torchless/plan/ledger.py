"""The behaviour ledger: what a unit's callers will see change, told to the reviewer instead of left to be found.

Sources of the facts: the target's headers and its Python binding layer as described in docs (a failing check aborts
the process unless the thread's throw flag is set; only top-level tensors are converted; the stream set before a call is
that of the current device; the POD's size() does not check its index; numel() is unsigned).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from torchless.facts.typing import FileView, object_class, postfix_start
from torchless.model import Finding, LedgerEntry
from torchless.text.lexer import Kind, Token

_DISPATCHES = ("TL501", "TL502", "TL503", "TL592")  # what hands out a scalar_t
_KEYED_BY_ELEMENT = frozenset({b"t2opus", b"hip2opus", b"data_ptr", b"const_data_ptr", b"mutable_data_ptr"})
_RELATIONAL = frozenset({b"<", b">", b"<=", b">="})
_ARITHMETIC = frozenset({b"+", b"-", b"*", b"/", b"%"})
_PREFIXED = frozenset({b"return", b"case", b"throw", b"co_return", b"co_yield", b"and", b"or", b"not"})


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
        return _place(by_code[code][0], views)

    def count(*codes: str) -> int:
        return sum(len(by_code.get(c, ())) for c in codes)

    out: list[LedgerEntry] = []
    checks = count("TL301", "TL303", "TL304")
    if checks:
        code = next(c for c in ("TL301", "TL303", "TL304") if c in by_code)
        if checks_throw:
            subject = _counted(checks, "failing check throws", "failing checks throw")
            text = f"{subject} std::runtime_error instead of c10::Error"
        else:
            subject = _counted(checks, "failing check ends", "failing checks end")
            text = f"{subject} the process (abort) instead of raising a Python exception"
        out.append(LedgerEntry("exception", text, *first(code)))
    # one statement may check many tensors; a TL310 without an edit tells what could not be put back
    again = sum(1 for f in by_code.get("TL310", ()) if f.edits)
    if "TL220" in by_code:
        one, many = "typed data pointer loses its dtype check", "typed data pointers lose their dtype check"
        kept = _counted(again, "statement checks", "statements check") if again else "nothing checks"
        text = f"{_counted(count('TL220'), one, many)}; {kept} the dtypes again" + (" (TL310)" if again else "")
        out.append(LedgerEntry("dtype-check", text, *first("TL220")))
    if again:
        text = _counted(again, "statement with dtype checks is added", "statements with dtype checks are added")
        out.append(LedgerEntry("check-added", text, *first("TL310")))
    if "TL403" in by_code:
        text = _counted(count("TL403"), "device guard is added", "device guards are added")
        out.append(LedgerEntry("guard-added", text, *first("TL403")))
    if "TL401" in by_code:
        text = "the stream is the one that Python set for the current device, not that of the tensor's device"
        out.append(LedgerEntry("stream", text, *first("TL401")))
    if "TL281" in by_code:
        text = "what C++ allocated Python allocates, before the checks of the C++ function run"
        out.append(LedgerEntry("allocation", text, *first("TL281")))
    read = [f for f in by_code.get("TL281", ()) if "Python reads " in f.message]
    if read:
        text = "elements of tensors are read, and waited for, in Python, before the checks of the C++ function run"
        out.append(LedgerEntry("item", text, *_place(read[0], views)))
    if "TL282" in by_code:
        text = "of lists of tensors only the addresses are passed: what they hold is not checked, and must stay alive"
        out.append(LedgerEntry("lifetime", text, *first("TL282")))
    if "TL283" in by_code:
        text = "Python draws seed and offset, without the generator's lock; a captured graph keeps those of its capture"
        out.append(LedgerEntry("generator", text, *first("TL283")))
    zeroed = [f for f in by_code.get("TL281", ()) if " is zeroed, since " in f.message]
    told = {f.message: f for f in reversed(zeroed)}  # a declaration says the same
    out += [LedgerEntry("zeroed", f.message.partition("; ")[2], f.path) for f in reversed(told.values())]
    gone = [f for f in by_code.get("TL720", ()) if f.message.endswith("is gone")]
    out += [LedgerEntry("traced-op", f.message.rpartition("; ")[2], f.path) for f in gone]
    out += [LedgerEntry("assumption", _assumed(f), f.path) for f in by_code.get("TL720", ()) if f.related]
    if "TL207" in by_code:
        moved = _counted(count("TL207"), "default argument is", "default arguments are")
        out.append(LedgerEntry("default", f"{moved} moved or respelled", *first("TL207")))
    computed = [first("TL507")] if "TL507" in by_code else []
    computed += _elements_passed_on([f for code in _DISPATCHES for f in by_code.get(code, ())], views)
    if computed:
        text = "elements are __half/hip_bfloat16 instead of c10 types: operators round and convert differently"
        out.append(LedgerEntry("arithmetic", text, *computed[0]))
    packed = [f for f in by_code.get("TL211", ()) if f.path in views and _text(views[f.path], f) == b"torch_fp4x2"]
    if packed:
        text = "packed fp4 that comes as uint8 (a PyTorch without float4_e2m1fn_x2) is not taken for fp4x2 any more"
        out.append(LedgerEntry("dtype", text, packed[0].path, views[packed[0].path].source.line_of(packed[0].start)))
    if "TL592" in by_code:
        out.append(LedgerEntry("dtype", "a dispatch accepts fewer dtypes than before", *first("TL592")))
    if flips_ops:
        out.append(
            LedgerEntry(
                "dtype",
                "tensors of bool, float64, complex, uint16, float8_e5m2, the float8_e4m3 flavour that the GPU does not "
                "use, or more than 8 dimensions are refused",
            )
        )
        out.append(LedgerEntry("abi", "the module and module_aiter_core must be built with one pybind11 ABI"))
    places = list(ranges)
    if checks and not checks_throw:
        text = "a check that fails inside this try ends the process: the handler is not reached any more"
        out += [LedgerEntry("exception", text, path, line) for path, line in _handlers(views, places)]
    out.extend(_sites(views, places, by_code.get("TL235", ())))
    return tuple(out)


def _place(finding: Finding, views: Mapping[str, FileView]) -> tuple[str, int]:
    return finding.path, views[finding.path].source.line_of(finding.start) if finding.path in views else 0


def _assumed(wrapper: Finding) -> str:
    """What a Python function that allocates takes for granted, in one line."""
    first, *others = (step.message for step in wrapper.related)
    return ", ".join([first, *(text.partition(" takes it that ")[2] for text in others)])


def _text(view: FileView, finding: Finding) -> bytes:
    return view.source.data[finding.start : finding.end]


def _elements_passed_on(dispatches: Sequence[Finding], views: Mapping[str, FileView]) -> list[tuple[str, int]]:
    """Path and line of each file's first use of a dispatched scalar_t as more than the key of an opus type.

    Behind ``t2opus<scalar_t>`` and in pointer casts it makes no difference what scalar_t is.
    """
    out = []
    for path in sorted({f.path for f in dispatches if f.path in views}):
        tokens = views[path].tokens
        for i in range(2, len(tokens) - 1):
            if tokens[i].text == b"scalar_t" and tokens[i + 1].text != b"*":
                keyed = tokens[i - 1].text == b"<" and tokens[i - 2].text in _KEYED_BY_ELEMENT
                if not keyed:
                    out.append((path, views[path].source.line_of(tokens[i].start)))
                    break
    return out


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
        one, many = "call of size()/stride() no longer checks its", "calls of size()/stride() no longer check their"
        text = f"{_counted(len(indexed), one, many)} index against the tensor's rank"
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
    before = tokens[first - 1].text if first > 0 else b""
    behind = tokens[after].text if after < len(tokens) else b""
    if before == b"-":
        return "subtraction" if first > 1 and _ends_operand(tokens[first - 2]) else "negation"
    if behind == b"-":
        return "subtraction"
    compared = "comparison with a value that may be negative"
    if behind in _RELATIONAL and not _is_number_or_count(tokens[after + 1 :]):
        return compared
    if before in _RELATIONAL and first > 1 and not _is_number_or_count(tokens[first - 2 :: -1]):
        return compared
    return ""


def _ends_operand(token: Token) -> bool:
    """Whether a - behind ``token`` takes it for its left side."""
    if token.kind is Kind.NAME:
        return token.text not in _PREFIXED
    return token.kind in (Kind.NUMBER, Kind.CHAR) or token.text in (b")", b"]")


def _is_number_or_count(side: Sequence[Token]) -> bool:
    """Whether one side of a comparison, told from the operator on, is a literal or a numel() as well.

    Of a literal the sign is known, and two counts are unsigned both.
    """
    texts = [t.text for t in side[:64]]
    if side and side[0].kind is Kind.NUMBER:
        return not _ARITHMETIC.intersection(texts[1:2])
    if texts[:3] == [b")", b"(", b"numel"]:  # read backwards
        return True
    if b"numel" not in texts:
        return False
    at = texts.index(b"numel")
    plain = all(t.kind is Kind.NAME or t.text in (b".", b"->", b"::") for t in side[:at])
    return plain and texts[at + 1 : at + 3] == [b"(", b")"]


def _counted(n: int, one: str, many: str) -> str:
    return f"{n} {one if n == 1 else many}"
