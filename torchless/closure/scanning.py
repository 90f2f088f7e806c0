"""Finds the preprocessor directives in a file's bytes and makes the program of them that `directives` describes.

Only the places where a directive, a block comment or a raw string may start are looked at, which in C++ are few. A
comment or literal of which the opening itself is split over two lines by a backslash is not recognised.
"""

from __future__ import annotations

import re
from typing import Any

from torchless.closure.conditions import AS_TEXT, FUNCTION, MAYBE, OPAQUE, UNDEFINED, UNKNOWN, Condition, ConditionError
from torchless.closure.directives import (
    ANGLED,
    COMPUTED,
    DEFINE,
    ELIF,
    ELSE,
    END,
    ENDIF,
    IF,
    INCLUDE,
    ONCE,
    QUOTED,
    Operation,
    Problem,
    Scan,
)
from torchless.closure.expressions import parse

_BLANKS = b" \t\f\v"
_SPLICE = rb"\\[ \t\f\v]*\r?\n"
_GAP = rb"(?:[ \t\f\v]|%b|/\*[^*]*\*+(?:[^/*][^*]*\*+)*/)*" % _SPLICE
_NAME = rb"[A-Za-z_$\x80-\xff][\w$\x80-\xff]*"
_KEYWORD = re.compile(rb"(?:#|%%:)%b(%b)" % (_GAP, _NAME))
_RAW = rb'(?<![\w$\x80-\xff])(?:u8|[uUL])?R"(?P<delim>[^ ()\\\t\v\f\r\n]{0,16})\(.*?(?:\)(?P=delim)"|\Z)'
_IS_RAW = re.compile(rb"(?:^|[^\w$\x80-\xff])(?:u8|[uUL])?\Z")
# A literal that nothing closes ends with its line. An apostrophe within a number is no literal.
_LITERAL = (
    rb'"(?:[^"\\\r\n]+|SPLICE|\\.|\\\Z)*"?'
    rb"|(?<![\w$\x80-\xff])\.?[0-9](?:[eEpP][+-]|'[0-9A-Za-z]|[0-9A-Za-z_.])*"
    rb"|'(?:[^'\\\r\n]+|SPLICE|\\.|\\\Z)*'?"
).replace(b"SPLICE", _SPLICE)
_COMMENT = rb"(?P<comment>//(?:[^\r\n\\]+|%b|\\)*|/\*.*?(?:\*/|\Z))" % _SPLICE
_HIDING = re.compile(rb"%b|%b|%b" % (_COMMENT, _RAW, _LITERAL), re.S)
_IN_DIRECTIVE = re.compile(rb"(?P<splice>%b)|%b|%b|%b|(?P<end>\r?\n)" % (_SPLICE, _COMMENT, _RAW, _LITERAL), re.S)
_LONE_RETURN = re.compile(rb"\r(?!\n)")
_SPLICED_END = re.compile(rb"\\[ \t\f\v]*\r?\Z")
_DEFINITION = re.compile(rb"[ \t\f\v]*(%b)(\(?)[ \t\f\v]*(.*)" % _NAME, re.S)
_HEADER = re.compile(rb'[ \t\f\v]*(?:<([^>]*)>|"([^"]*)")')
_POP = re.compile(rb'pop_macro[ \t\f\v]*\([ \t\f\v]*"([^"]*)"')
_MOST_BODY = 400  # bytes of a definition that are looked at; the value of a longer one is not known
_USEFUL = re.compile(rb'[\w\s$()!<>=&|^~+*/%%?:,.\'"\\-]{0,200}\Z'.replace(b"%%", b"%"))
_CONDITIONALS = {b"if", b"ifdef", b"ifndef", b"elif", b"elifdef", b"elifndef", b"else", b"endif"}
_INCLUDES = {b"include", b"include_next", b"import"}


def scan(data: bytes) -> Scan:
    """The directives of ``data`` that decide what a translation unit reads.

    Not meant are those inside comments, literals and macro bodies. The guard is the macro that keeps all of the file
    from being read twice, "" without one. Any bytes give a scan; what is wrong with them is among the problems.
    """
    program = _Program()
    if data.startswith(b"\xef\xbb\xbf"):
        data = b"   " + data[3:]
    if b"\r" in data:  # alone it ends a line, too; the length stays
        data = _LONE_RETURN.sub(b"\n", data)
    for offset, end in _directives(data):
        keyword = _KEYWORD.match(data, offset, end)
        if keyword is not None:
            text = data[keyword.end() : end]
            is_long = keyword[1] == b"define" and len(text) > _MOST_BODY
            if is_long:
                text = text[:_MOST_BODY]
            if b"\\" in text or b"/" in text:
                text = _IN_DIRECTIVE.sub(lambda m: b" " if m["splice"] or m["comment"] else m[0], text)
            if is_long:
                text += b"@"  # no condition can use such a value
            program.add(keyword[1], text, offset, data, end)
    return program.finished(data)


def _directives(data: bytes) -> list[tuple[int, int]]:
    """(offset of the #, end of the logical line) of every directive, in order."""
    found: list[tuple[int, int]] = []
    floor = 0  # everything before is dealt with
    fresh = True  # only blanks and comments stand between the start of the logical line at floor and floor
    upcoming = {opening: data.find(opening) for opening in (b"#", b"/*", b'R"', b"%:")}
    while True:
        at, opening = min(((p, o) for o, p in upcoming.items() if p >= 0), default=(-1, b""))
        if at < 0:
            return found
        start = _line_start(data, floor, at)
        between = data[start:at]
        blank = not between.strip() or not re.sub(_SPLICE, b"", between).strip()
        is_fresh = blank and (fresh or start > floor)
        after = at + 1
        if opening in (b"#", b"%:"):
            if is_fresh:
                after = floor = _directive_end(data, at)
                found.append((at, floor))
                fresh = True  # floor is a line end
        else:
            token = _hidden(data, start, at, opening)
            if token is not None:
                after = floor = token[1]
                fresh = is_fresh and token[2]
        for other, place in upcoming.items():
            if 0 <= place < after:
                upcoming[other] = data.find(other, after)


def _line_start(data: bytes, floor: int, at: int) -> int:
    """Where the logical line that holds ``at`` starts, or ``floor`` when that comes later."""
    start = at
    while True:
        newline = data.rfind(b"\n", floor, start)
        if newline < 0:
            return floor
        line = max(data.rfind(b"\n", floor, newline) + 1, floor)
        if not _SPLICED_END.search(data, max(line, newline - 80), newline):
            return newline + 1
        start = newline


def _directive_end(data: bytes, at: int) -> int:
    """The offset of the newline that ends the directive at ``at``."""
    line = at
    while True:
        newline = data.find(b"\n", line)
        newline = len(data) if newline < 0 else newline
        text = data[line:newline]
        if b"/*" in text or b'R"' in text:
            break
        if not text.rstrip().endswith(b"\\") or newline == len(data):
            return newline
        line = newline + 1
    for token in _IN_DIRECTIVE.finditer(data, at):
        if token.lastgroup == "end":
            return token.start() if token[0] == b"\n" else token.end() - 1
    return len(data)


def _hidden(data: bytes, start: int, at: int, opening: bytes) -> tuple[int, int, bool] | None:
    """The range of the comment or literal that opens or holds ``at``, and whether it is a comment; None when none does.

    ``start`` is where the logical line starts, outside of any.
    """
    between = data[start:at]
    if b'"' not in between and b"'" not in between and data.find(b"//", start, at + 1) < 0:
        if opening == b"/*":
            close = data.find(b"*/", at + 2)
            return at, len(data) if close < 0 else close + 2, True
        if not _IS_RAW.search(between):
            return None
    position = start
    while True:
        token = _HIDING.search(data, position)
        if token is None or token.start() > at:
            return None
        if token.end() > at:
            return token.start(), token.end(), token.lastgroup == "comment" and token.start() >= at
        position = max(token.end(), position + 1)


class _Program:
    """Collects operations, and makes arms of a condition know each other."""

    def __init__(self) -> None:
        self.operations: list[list[Any]] = []
        self.problems: list[Problem] = []
        self.open: list[list[int]] = []  # indices of the arms of each open condition
        self.effects: list[int] = []
        self.counted = 0  # lines up to here belong to operations
        self.line = 1  # of the offset self.place
        self.place = 0

    def add(self, keyword: bytes, text: bytes, offset: int, data: bytes, end: int) -> None:
        """Take in the directive at ``offset`` whose logical line ends at ``end``; ``text`` follows its keyword."""
        if keyword in _CONDITIONALS:
            self._conditional(keyword.decode(), text, offset, data, end)
        elif keyword in _INCLUDES:
            line = self._line(data, offset)
            header = _HEADER.match(text)
            if header is None:
                operand, form = text.strip(), COMPUTED
                if not operand:
                    self.problems.append((offset, line, "the include names nothing"))
                    return
            else:
                operand, form = (header[1], ANGLED) if header[1] is not None else (header[2], QUOTED)
            self._effect(2)
            self._append(INCLUDE, data, end, offset, line, _text(operand), form, keyword.decode())
        elif keyword == b"pragma":
            words = text.split(None, 1)
            if words and words[0] == b"once":
                self._effect(1)
                self._append(ONCE, data, end)
            elif (popped := _POP.match(text.strip())) is not None:
                self._macro(popped[1], MAYBE, data, end)
        elif keyword in (b"define", b"undef"):
            definition = _DEFINITION.match(text)
            if definition is not None:
                name, bracket, body = definition.groups()
                value: str | int = UNDEFINED
                if keyword == b"define":
                    body = body.strip()
                    value = FUNCTION if bracket else _text(body) if _USEFUL.match(body) else OPAQUE
                self._macro(name, value, data, end)

    def finished(self, data: bytes) -> Scan:
        """The scan, with open conditions closed."""
        for arms in self.open[::-1]:
            _, _, offset, line, *_ = self.operations[arms[0]]
            self.problems.append((offset, line, "this condition has no #endif"))
        while self.open:
            self._close()
        total = data.count(b"\n") + (1 if data and not data.endswith(b"\n") else 0)
        self.operations.append([END, total - self.counted])
        operations = tuple(tuple(tuple(o) if isinstance(o, list) else o for o in row) for row in self.operations)
        return operations, _guard(operations), tuple(sorted(self.problems))

    def _append(self, kind: int, data: bytes, end: int, *rest: Any) -> None:
        """Add an operation whose last line ends at ``end``."""
        line = self._line(data, end)
        self.operations.append([kind, line - self.counted, *rest])
        self.counted = line

    def _line(self, data: bytes, offset: int) -> int:
        self.line += data.count(b"\n", self.place, offset)
        self.place = offset
        return self.line

    def _effect(self, effect: int) -> None:
        if self.effects and self.effects[-1] < effect:
            self.effects[-1] = effect

    def _macro(self, name: bytes, value: str | int, data: bytes, end: int) -> None:
        self._effect(1)
        if self.operations and self.operations[-1][0] == DEFINE:
            line = self._line(data, end)
            self.operations[-1][1] += line - self.counted
            self.operations[-1][2].append((_text(name), value))
            self.counted = line
        else:
            self._append(DEFINE, data, end, [(_text(name), value)])

    def _conditional(self, keyword: str, text: bytes, offset: int, data: bytes, end: int) -> None:
        line = self._line(data, offset)
        if keyword.startswith("if"):
            self.open.append([len(self.operations)])
            self.effects.append(0)
            opening = self._condition(keyword[2:], text, offset, line)
            self._append(IF, data, end, offset, line, opening, 0, 0, 0)
            return
        if not self.open:
            self.problems.append((offset, line, f"#{keyword} without an #if"))
            return
        arms = self.open[-1]
        if keyword == "endif":
            self._close()
            end_line = self._line(data, end)
            self.operations[-1][1] = end_line - self.counted
            self.counted = end_line
            return
        condition: Condition | None = None if keyword == "else" else self._condition(keyword[4:], text, offset, line)
        if any(self.operations[arm][0] == ELSE for arm in arms):
            self.problems.append((offset, line, f"#{keyword} after #else"))
            condition = (("number", 0, False), "0")  # never taken
        self.operations[arms[-1]][5] = len(self.operations)
        arms.append(len(self.operations))
        self._append(ELSE if condition is None else ELIF, data, end, offset, line, condition, 0, 0, 0)

    def _close(self) -> None:
        arms = self.open.pop()
        effect = self.effects.pop()
        self._effect(effect)
        place = len(self.operations)
        self.operations[arms[-1]][5] = place
        for arm in arms:
            self.operations[arm][6:] = place, effect
        self.operations.append([ENDIF, 0])

    def _condition(self, form: str, text: bytes, offset: int, line: int) -> Condition:
        """form: "def" and "ndef" for a macro's name, else an expression."""
        spelled = " ".join(_text(text).split())
        if form:
            name = re.match(_NAME, text.strip())
            if name is None:
                self.problems.append((offset, line, "a macro's name is missing"))
                return UNKNOWN, spelled
            node = ("defined", _text(name[0]))
            text_of = f"defined({_text(name[0])})"
            return (node, text_of) if form == "def" else (("!", node), f"!{text_of}")
        try:
            return parse(_text(text)), spelled
        except ConditionError as error:
            if re.search(rb"(?!defined\b)(?<![\w$])[A-Za-z_$]", text):  # a macro may make sense of it
                return AS_TEXT, spelled
            self.problems.append((offset, line, f"the condition cannot be read: {error}"))
            return UNKNOWN, spelled


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _guard(operations: tuple[Operation, ...]) -> str:
    """X of a file that is one `#ifndef X`, `#define X`, ..., `#endif`, else ""."""
    first = next((i for i, o in enumerate(operations) if o[0] != ONCE), 0)
    opening = operations[first]
    if opening[0] != IF or opening[5] != opening[6] or opening[6] != len(operations) - 2:
        return ""
    node = opening[4][0]
    if node[0] != "!" or node[1][0] != "defined":
        return ""
    name: str = node[1][1]
    inside = operations[first + 1]
    return name if inside[0] == DEFINE and any(n == name and v != UNDEFINED for n, v in inside[2]) else ""
