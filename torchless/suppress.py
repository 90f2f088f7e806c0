"""Comments that tell torchless to leave something alone.

    // torchless: ignore[TL203,TL3] reason      the line it stands on; alone on its line, the next line of code
    // torchless: disable[TL203] reason         from here on ...
    // torchless: enable[TL203]                 ... to here
    // torchless: file-ignore[TL1] reason       the whole file, wherever it stands

A code may be a prefix (``TL2``). In Python the comment is ``# torchless: ...``. Comments are found by the lexer, or by
tokenize, so that nothing in a string is one. What suppresses nothing is itself a finding, TL001.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from torchless.model import Confidence, Finding, Tier
from torchless.text.lexer import Kind, lex
from torchless.text.source import BOM, SourceFile

CODE = "TL001"
_VERBS = ("ignore", "disable", "enable", "file-ignore")
# At the start of a comment or of one of its lines, or of a comment within: "// NOLINT // torchless: ...".
_WORD = re.compile(rb"(?:^|(?<=\s)(?://|#))[\s/*#]*torchless:[ \t]*([\w-]*)(?:[ \t]*\[([^\]\r\n]*)\])?", re.M)
_PREFIX = re.compile(r"TL[0-9]{1,3}")


@dataclass(frozen=True, slots=True)
class Directive:
    """One comment: verb, code prefixes, reason ("" when none is given).

    start/end is the range of the whole comment; covers is the range of the line that an "ignore" is about, (0, 0) when
    no code follows it, and for the other verbs.
    """

    verb: str
    codes: tuple[str, ...]
    reason: str
    start: int
    end: int
    covers: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class Suppressions:
    """The directives of one file in order, and findings for what is stale whatever else is found.

    Those are comments that are addressed to torchless but say nothing it knows, and an "enable" of what is not
    disabled.
    """

    source: SourceFile
    directives: tuple[Directive, ...] = ()
    idle: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Suppressed:
    """A finding that a person wants left alone, and the comment that says so."""

    finding: Finding
    directive: Directive


class Outcome(NamedTuple):
    """Findings to act on, findings that were suppressed, and a TL001 for every suppression that did nothing."""

    kept: tuple[Finding, ...]
    suppressed: tuple[Suppressed, ...]
    stale: tuple[Finding, ...]


def read(source: SourceFile) -> Suppressions:
    """The suppressions in ``source``: Python by its name (.py, .pyi), else C++.

    Python that does not tokenize is read as far as it does.
    """
    if b"torchless:" not in source.data:
        return Suppressions(source)
    comments, code = python_lines(source) if source.path.endswith((".py", ".pyi")) else _cpp_lines(source)
    commented = {line for start, end in comments for line in _lines(source, start, end)}
    directives: list[Directive] = []
    idle: list[Finding] = []
    for start, end in comments:
        text = source.data[start:end].removesuffix(b"*/")
        words = list(_WORD.finditer(text))
        for word, following in zip(words, [*words[1:], None], strict=False):
            verb = word.group(1).decode()
            codes = [c.strip() for c in (word.group(2) or b"").decode("utf-8", "replace").split(",")]
            problem = _problem(verb, codes)
            if problem:
                idle.append(_stale(source, problem, start, end))
                continue
            reason = text[word.end() : following.start() if following else len(text)].split(b"\n")[0]
            covers = _covered(source, source.line_of(start), code, commented) if verb == "ignore" else (0, 0)
            directive = Directive(
                verb, tuple(dict.fromkeys(codes)), reason.decode("utf-8", "replace").strip(), start, end, covers
            )
            idle += [
                _stale(source, f"enable[{code}] enables what nothing disables", start, end)
                for code in directive.codes
                if verb == "enable" and not _is_disabled(code, directives)
            ]
            directives.append(directive)
    return Suppressions(source, tuple(directives), tuple(idle))


def apply(
    findings: Iterable[Finding],
    suppressions: Mapping[str, Suppressions],
    looked_for: Callable[[str], bool] = lambda prefix: True,
) -> Outcome:
    """Take out of ``findings`` what the ``suppressions`` of their files (by path) ask for.

    The place of a finding is where it starts. ``looked_for`` says of a code prefix whether this run looked for all that
    it names: of others nobody can say that they are stale. TL001 is never suppressed. A suppressed finding leaves its
    construct in place: what that means for its unit is for the caller to say.
    """
    kept: list[Finding] = []
    suppressed: list[Suppressed] = []
    used: set[tuple[str, int, str]] = set()  # path, place and code of the directives that did something
    for finding in findings:
        file = suppressions.get(finding.path)
        by = _suppressing(finding, file.directives) if file and finding.code != CODE else []
        if by:
            suppressed.append(Suppressed(finding, by[0][0]))
            used.update((finding.path, directive.start, code) for directive, code in by)
        else:
            kept.append(finding)
    stale: list[Finding] = []
    for path in sorted(suppressions):
        file = suppressions[path]
        stale += file.idle
        stale += [
            _stale(file.source, f"{directive.verb}[{code}] suppresses nothing", directive.start, directive.end)
            for directive in file.directives
            for code in directive.codes
            if directive.verb != "enable" and (path, directive.start, code) not in used and looked_for(code)
        ]
    return Outcome(tuple(kept), tuple(suppressed), tuple(sorted(stale, key=lambda f: (f.path, f.start, f.message))))


def _suppressing(finding: Finding, directives: Sequence[Directive]) -> list[tuple[Directive, str]]:
    """The directives that suppress ``finding``, with the codes by which they do, the nearest kind first."""
    lines: list[tuple[Directive, str]] = []
    blocks: list[tuple[Directive, str]] = []
    files: list[tuple[Directive, str]] = []
    for directive in directives:
        matching = [(directive, code) for code in directive.codes if finding.code.startswith(code)]
        if directive.verb == "file-ignore":
            files += matching
        elif directive.verb == "ignore":
            lines += matching if directive.covers[0] <= finding.start < directive.covers[1] else []
        elif directive.start > finding.start or not matching:
            continue
        elif directive.verb == "disable":
            blocks += matching
        else:
            blocks.clear()
    return lines + blocks + files


def _is_disabled(code: str, before: Sequence[Directive]) -> bool:
    """Whether some finding with a code that begins with ``code`` is disabled after the directives ``before``."""
    disabled: list[str] = []
    for directive in before:
        if directive.verb == "disable":
            disabled += directive.codes
        elif directive.verb == "enable":
            disabled = [d for d in disabled if not any(d.startswith(e) for e in directive.codes)]
    return any(d.startswith(code) or code.startswith(d) for d in disabled)


def _problem(verb: str, codes: Sequence[str]) -> str:
    """What is wrong with a comment that is addressed to torchless, "" when nothing is."""
    if verb not in _VERBS:
        return f'"torchless: {verb}" is none of {", ".join(_VERBS)}'
    if codes == [""]:
        return f"{verb} names no code: write {verb}[TL203] with the codes that it is about"
    wrong = [code for code in codes if not _PREFIX.fullmatch(code)]
    return f'"{wrong[0]}" in {verb}[...] is not a code or a prefix of one' if wrong else ""


def _stale(source: SourceFile, message: str, start: int, end: int) -> Finding:
    return Finding(
        code=CODE,
        message=message,
        path=source.path,
        start=start,
        end=end,
        tier=Tier.DISPLAY,
        confidence=Confidence.SYNTACTIC,
        help="take the comment out, or correct its codes",
        line=source.line_of(start),
        column=source.column_of(start),
    )


def _covered(source: SourceFile, line: int, code: set[int], commented: set[int]) -> tuple[int, int]:
    """The range of the line that an ignore in the comment that starts on ``line`` is about, (0, 0) for none."""
    while line not in code and line in commented:
        line += 1
    if line not in code:
        return (0, 0)
    start = source.line_start(line)
    return (start, start + len(source.line_bytes(line)))


def _lines(source: SourceFile, start: int, end: int) -> range:
    """The 1-based lines that bytes [start, end) touch."""
    return range(source.line_of(start), source.line_of(end - 1) + 1)


def _cpp_lines(source: SourceFile) -> tuple[list[tuple[int, int]], set[int]]:
    """The ranges of the comments, and the lines that hold code."""
    tokens = lex(source.data)
    comments = [(t.start, t.end) for t in tokens if t.kind is Kind.COMMENT]
    return comments, {line for t in tokens if t.kind > Kind.COMMENT for line in _lines(source, t.start, t.end)}


_NO_CODE = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT),
    *(tokenize.DEDENT, tokenize.ENCODING, tokenize.ENDMARKER),
}


def python_lines(source: SourceFile) -> tuple[list[tuple[int, int]], set[int]]:
    """_cpp_lines() for Python. tokenize counts characters from after a BOM; offsets are bytes."""
    comments: list[tuple[int, int]] = []
    code: set[int] = set()
    encoding = "utf-8"
    try:
        for token in tokenize.tokenize(io.BytesIO(source.data).readline):
            if token.type == tokenize.ENCODING:
                encoding = token.string
            elif token.type == tokenize.COMMENT:
                line, column = token.start
                bom = len(BOM) if line == 1 and source.has_bom else 0
                before = source.line_bytes(line)[bom:].decode(encoding)[:column].encode(encoding)
                start = source.line_start(line) + bom + len(before)
                comments.append((start, start + len(token.string.encode(encoding))))
            elif token.type not in _NO_CODE:
                code.update(range(token.start[0], token.end[0] + 1))
    except (tokenize.TokenError, SyntaxError, ValueError):
        pass  # not Python, or not whole: nothing will be edited in it either
    return comments, code
