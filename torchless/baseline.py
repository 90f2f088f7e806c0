"""The baseline: findings that are known and may stay for now. New ones count, and the file can only shrink.

A finding is known by its code, its path, the text of the line that it starts on and a hash of that line and its two
neighbours, never by its number; see split() for what happens when one of these changes. The file is JSON with one row a
line, sorted, so that a review shows what comes and goes.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from torchless.errors import UsageError
from torchless.model import Debt, Finding
from torchless.text.source import SourceFile

VERSION = 1
DEFAULT = ".torchless-baseline.json"
_TAG = "torchless_baseline"
_LONGEST = 160  # characters of a line that the file shows; the hash is over all of them
_NEVER = frozenset({"TL006"})  # a file that cannot be read is an error each time

Source = Callable[[str], SourceFile]
Key = tuple[str, ...]


class BaselineError(UsageError):
    """A baseline that cannot be used; the message is one line that starts with the file and says what to do."""


class Split(NamedTuple):
    """Findings that a baseline knows, others, and what is left of the baseline: rows that match nothing."""

    known: tuple[Finding, ...]
    new: tuple[Finding, ...]
    left: tuple[Debt, ...]


def read(file: Path) -> tuple[Debt, ...]:
    """The rows of the baseline ``file``. Raises BaselineError."""
    again = "delete it and make it anew with --write-baseline"
    try:
        data = json.loads(file.read_bytes())
    except FileNotFoundError:
        raise BaselineError(f"{file}: no such baseline: make it with --write-baseline") from None
    except OSError as error:
        raise BaselineError(f"{file}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise BaselineError(f"{file}: not a baseline, or damaged ({error}): {again}") from None
    version = data.get(_TAG) if isinstance(data, dict) else None
    if type(version) is not int:
        raise BaselineError(f"{file}: not a baseline of torchless: {again}, or name another file")
    if version != VERSION:
        change = "update torchless" if version > VERSION else again
        raise BaselineError(f"{file}: a baseline of version {version}, and this torchless knows {VERSION}: {change}")
    rows = data.get("findings")
    debts = [_debt(row) for row in rows] if isinstance(rows, list) else [None]
    found = [debt for debt in debts if debt is not None]
    if len(found) != len(debts):
        raise BaselineError(f"{file}: row {debts.index(None) + 1} of its findings is damaged: {again}")
    return tuple(sorted(found))


def render(debts: Iterable[Debt]) -> bytes:
    """The file for ``debts``: rows with the same key are one, the order of the input does not matter."""
    counts: Counter[Debt] = Counter()
    for debt in debts:
        counts[replace(debt, count=0)] += debt.count
    rows = [
        json.dumps(
            {"path": d.path, "code": d.code, "line": d.line, "context": d.context, "count": counts[d]},
            ensure_ascii=not _is_clean(d),
        )
        for d in sorted(counts)
    ]
    body = ",".join(f"\n  {row}" for row in rows)
    return f'{{\n "{_TAG}": {VERSION},\n "findings": [{body}\n ]\n}}\n'.encode()


def split(findings: Sequence[Finding], debts: Iterable[Debt], source: Source, exists: Callable[[str], bool]) -> Split:
    """Tell the ``findings`` that ``debts`` know from others. Each row knows as many as it counts, the first ones first.

    First come those whose key is the same. Of what is then left on both sides, a finding is known whose code, path and
    line are the same: it was moved, or its neighbours changed. Last, one whose code, line and neighbours are the same
    as in a file that is no more (``exists`` tells): that file was renamed. So nothing becomes new by being moved, and
    of no line in no file there may be more than the baseline says. ``source`` gives the text of a file.
    """
    rows = sorted(debts)
    count = [row.count for row in rows]
    wanted = [None if f.code in _NEVER else debt_of(f, source(f.path)) for f in findings]
    known: set[int] = set()

    def match(key: Callable[[Debt], Key], usable: Callable[[Debt], bool]) -> None:
        open_rows: dict[Key, list[int]] = {}
        for number, row in enumerate(rows):
            if count[number] and usable(row):
                open_rows.setdefault(key(row), []).append(number)
        for number, debt in enumerate(wanted):
            if debt is None or number in known:
                continue
            at = next((r for r in open_rows.get(key(debt), ()) if count[r]), None)
            if at is not None:
                count[at] -= 1
                known.add(number)

    match(lambda d: (d.path, d.code, d.line, d.context), lambda row: True)
    match(lambda d: (d.path, d.code, d.line), lambda row: True)
    there: dict[str, bool] = {}

    def is_gone(row: Debt) -> bool:
        if row.path not in there:
            there[row.path] = exists(row.path)
        return not there[row.path]

    match(lambda d: (d.code, d.line, d.context), is_gone)
    return Split(
        tuple(f for number, f in enumerate(findings) if number in known),
        tuple(f for number, f in enumerate(findings) if number not in known),
        tuple(replace(row, count=left) for row, left in zip(rows, count, strict=True) if left),
    )


def debts_of(findings: Iterable[Finding], source: Source) -> tuple[Debt, ...]:
    """One row for each of ``findings`` that a baseline may hold."""
    return tuple(debt_of(f, source(f.path)) for f in findings if f.code not in _NEVER)


def debt_of(finding: Finding, source: SourceFile) -> Debt:
    """The row that knows ``finding``, which lies in ``source``."""
    number = source.line_of(min(finding.start, len(source.data)))
    line = _text(source, number)
    before = next((text for n in range(number - 1, 0, -1) if (text := _text(source, n))), "")
    after = next((text for n in range(number + 1, source.line_count + 1) if (text := _text(source, n))), "")
    shown = line if len(line) <= _LONGEST else line[: _LONGEST - 3] + "..."
    return Debt(finding.path, finding.code, shown, _hash(before, line, after)[:12])


def fingerprints(findings: Sequence[Finding], source: Source) -> Mapping[Finding, str]:
    """A name for each finding that stays when lines move: 16 hex digits, and which one of its like it is ("...:2")."""
    seen: Counter[Debt] = Counter()
    names = {}
    for finding in findings:
        debt = debt_of(finding, source(finding.path))
        seen[debt] += 1
        names[finding] = f"{_hash(debt.path, debt.code, debt.context)[:16]}:{seen[debt]}"
    return names


def _text(source: SourceFile, number: int) -> str:
    """Line ``number``, without white space around it and with single blanks in it."""
    return " ".join(source.line_bytes(number).decode("utf-8", "backslashreplace").removeprefix("\ufeff").split())


def _hash(*texts: str) -> str:
    return sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()


def _is_clean(debt: Debt) -> bool:
    """Whether the row is readable as it is; a path that is not UTF-8 has lone surrogates."""
    return not any("\ud800" <= char <= "\udfff" for char in debt.path)


def _debt(row: Any) -> Debt | None:
    """A row of the file, None when it is none."""
    if not isinstance(row, dict) or set(row) != {"path", "code", "line", "context", "count"}:
        return None
    path, code, line, context, count = (row[key] for key in ("path", "code", "line", "context", "count"))
    if not all(isinstance(text, str) for text in (path, code, line, context)) or type(count) is not int or count < 1:
        return None
    return Debt(path, code, line, context, count)
