"""The strings of a script that are C++ with torch in it, put together as the script does.

``.format``, ``%`` and f-strings are followed as far as they put one string of the script into another where a statement
or a declaration stands. Every other value is a hole: a name in the C++ that nothing declares.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from torchless.printed.literals import HOLE, Unit, formatted, interpolated, units_of
from torchless.rewrites.dispatch_tables.pytext import Script
from torchless.text.lexer import Kind, Token, code_tokens, lex, match_angle

FUNCTION = f"{HOLE}function"
"""What every function is called whose name the script puts in: they come from one template."""
_DEEPEST = 8  # strings within strings


@dataclass(frozen=True, slots=True)
class Template:
    """A string of a script as C++.

    ``starts[i]`` is the byte offset in ``code`` of ``units[i]``; one more says where the last one ends. ``unknown`` are
    byte offsets in ``code`` at which whole statements are put that were not found in the script. ``line`` is the
    1-based line of the script on which the string starts. ``file`` is the name of the file that it is written to,
    without folders and with * for each hole, "" where that was not found.
    """

    code: bytes
    units: tuple[Unit, ...]
    starts: tuple[int, ...]
    unknown: tuple[int, ...]
    line: int
    file: str = ""


def templates_of(script: Script, wanted: Callable[[bytes], bool]) -> list[Template]:
    """The files and strings of ``script`` whose C++ is ``wanted``, by line.

    What is written to one file in turn is one template; a string that goes into another one is not listed by itself.
    """
    maker = _Maker(script)
    written = list(_files(script, maker))
    names = {strings[0]: name for strings, name in written if len(strings) == 1}
    files = [maker.file(strings, name) for strings, name in written if len(strings) > 1]
    single = [(node, maker.single(node, names.get(node, ""))) for node in maker.strings()]
    alone = [template for node, template in single if node not in maker.inlined]
    found = [template for template in (*files, *alone) if template is not None and wanted(template.code)]
    return sorted(found, key=lambda template: template.line)


_MethodCall = tuple[str, str, ast.Call]
"""The name, the method that is called on it, and the call."""


class _Maker:
    """Makes templates, and remembers which strings went into others."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.inlined: set[ast.expr] = set()
        self.filled: set[ast.expr] = set()  # strings on which .format is called under another name
        self.newline = "\r\n" if b"\r\n" in script.source.data else "\n"
        self._walked: dict[ast.AST, tuple[ast.AST, ...]] = {}
        self._called: dict[ast.AST, tuple[_MethodCall, ...]] = {}

    def strings(self) -> Iterator[ast.expr]:
        """Every string expression that is no docstring and no part of another one, in file order."""
        parents = self.script.parents
        found = []
        for node in ast.walk(self.script.tree):
            parent = parents.get(node)
            if isinstance(parent, (ast.JoinedStr, ast.FormattedValue, ast.Expr)):
                continue
            if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str)):
                found.append(node)
        return iter(sorted(found, key=self.script.span))

    def single(self, node: ast.expr, file: str) -> Template | None:
        """A string by itself, which is written to ``file``."""
        units = self._units(node, 0)
        return None if units is None else self._template(units, node.lineno, file)

    def file(self, strings: Sequence[ast.expr], file: str) -> Template | None:
        """Strings that are written to one ``file``, in turn."""
        parts = [units for units in (self._units(node, 0) for node in strings) if units is not None]
        if not parts:
            return None
        self.inlined.update(strings)
        return self._template([unit for units in parts for unit in units], min(n.lineno for n in strings), file)

    def closes(self, strings: Sequence[ast.expr]) -> bool:
        """Whether ``strings``, one after the other, close more braces than they open."""
        units = [unit for node in strings for unit in self._units(node, 0) or ()]
        tokens, _ = _tokens(units, {i: HOLE for i, u in enumerate(units) if u.is_hole})
        return sum((t.text == b"{") - (t.text == b"}") for t in tokens if t.kind is Kind.PUNCT) < 0

    def _template(self, units: Sequence[Unit], line: int, file: str) -> Template:
        names = _named(units)
        texts = [names.get(i, u.text) for i, u in enumerate(units)]
        starts = tuple(accumulate((len(t.encode()) for t in texts), initial=0))
        code = "".join(texts).encode()
        unknown = tuple(starts[i] for i in _statement_holes(units))
        return Template(code, tuple(units), starts, unknown, line, file)

    def _units(self, node: ast.expr, depth: int) -> list[Unit] | None:
        """The units of a string, with the strings in it that can be followed."""
        start, _ = self.script.span(node)
        units = units_of(self.script.text(node), start, self.newline)
        if units is None:
            return None
        calls = self._calls(node, "format")
        if calls or node in self.filled or self._is_filled_elsewhere(node, units):
            units = formatted(units)
        elif self._is_interpolated(node):
            units = interpolated(units)
        if units is None or depth > _DEEPEST:
            return units
        replaced = _replacements(self._calls(node, "replace"))
        for word in replaced:
            units = _with_hole(units, word)
        out: list[Unit] = []
        holes = _statement_holes(units)
        for i, unit in enumerate(units):
            given = replaced.get(unit.text) or self._given(unit, calls, node)
            values = self._values(given, node) if i in holes else []
            inner = [self._units(value, depth + 1) for value in values]
            if not inner or None in inner:
                out.append(unit)
                continue
            self.inlined.update(values)
            in_braces = len(inner) > 1 and holes[i]
            for text in inner:
                assert text is not None
                brace = [Unit(b, unit.start, unit.start, unit.literal) for b in "{}"] if in_braces else []
                out += [*brace[:1], *text, *brace[1:]]
        return out

    def _calls(self, node: ast.expr, method: str) -> list[ast.Call]:
        """The calls of ``method`` on a string, or on the name that it is assigned to."""
        parent = self.script.parents.get(node)
        if isinstance(parent, ast.Attribute) and parent.attr == method:
            call = self.script.parents.get(parent)
            return [call] if isinstance(call, ast.Call) and call.func is parent else []
        names = _targets(parent)
        if not names:
            return []
        found = self._method_calls(self.script.function_of(node))
        return [call for name, called, call in found if called == method and name in names]

    def _within(self, scope: ast.AST) -> tuple[ast.AST, ...]:
        """``scope`` and all nodes below it."""
        if scope not in self._walked:
            self._walked[scope] = tuple(ast.walk(scope))
        return self._walked[scope]

    def _method_calls(self, scope: ast.AST) -> tuple[_MethodCall, ...]:
        """The calls of methods on plain names below ``scope``."""
        if scope not in self._called:
            self._called[scope] = tuple(
                (call.func.value.id, call.func.attr, call)
                for call in self._within(scope)
                if isinstance(call, ast.Call)
                and isinstance(call.func, ast.Attribute)
                and isinstance(call.func.value, ast.Name)
            )
        return self._called[scope]

    def _is_filled_elsewhere(self, node: ast.expr, units: Sequence[Unit]) -> bool:
        """Whether a string looks as if another script called ``.format`` on it: C++ with doubled braces, and fields."""
        if not isinstance(node, ast.Constant) or "{{" not in str(node.value) or self._is_interpolated(node):
            return False
        inside = formatted(units)
        holes = [u.text for u in inside or () if u.is_hole]
        return bool(holes) and all(_FIELD.fullmatch(hole) for hole in holes)

    def _is_interpolated(self, node: ast.expr) -> bool:
        parent = self.script.parents.get(node)
        if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Mod) and parent.left is node:
            return True
        names = _targets(parent)
        return bool(names) and any(
            isinstance(other, ast.BinOp)
            and isinstance(other.op, ast.Mod)
            and isinstance(other.left, ast.Name)
            and other.left.id in names
            for other in self._within(self.script.function_of(node))
        )

    def _given(self, hole: Unit, calls: Sequence[ast.Call], node: ast.expr) -> list[ast.expr]:
        """What the script puts into a hole; nothing where that was not found for one of ``calls`` of ``.format``."""
        if not hole.is_hole or not hole.text.isidentifier():
            return []
        if not calls:
            return [ast.copy_location(ast.Name(hole.text, ast.Load()), node)]
        given: list[ast.expr] = []
        for call in calls:
            found = [k.value for k in call.keywords if k.arg == hole.text]
            for table in (k.value for k in call.keywords if k.arg is None):
                found += self._entries(table, hole.text, node)
            if not found:
                return []
            given += found
        return given

    def _entries(self, table: ast.expr, key: str, node: ast.expr) -> list[ast.expr]:
        """The values of ``key`` in a dict that is written out, or assigned to a name."""
        if isinstance(table, ast.Name):
            scope = self.script.function_of(node)
            named = [a for a in ast.walk(scope) if isinstance(a, ast.Assign) and table.id in _targets(a)]
            return [value for a in named for value in self._entries(a.value, key, node)] if len(named) == 1 else []
        if not isinstance(table, ast.Dict):
            return []
        pairs = zip(table.keys, table.values, strict=True)
        return [value for k, value in pairs if isinstance(k, ast.Constant) and k.value == key]

    def _values(self, given: Sequence[ast.expr], node: ast.expr) -> list[ast.expr]:
        """The strings that ``given`` may be, each once; none where one of them is not known."""
        out: list[ast.expr] = []
        for value in given:
            strings = self.strings_behind(value, node)
            if not strings:
                return []
            out += [s for s in strings if s not in out]
        return sorted(out, key=self.script.span)

    def strings_behind(self, value: ast.expr, node: ast.expr) -> list[ast.expr]:
        """The string expressions that ``value`` may be, following names and ``.format``; none where that is unclear."""
        fills = False
        while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _FILLING:
            fills = fills or value.func.attr == "format"
            value = value.func.value
        if fills:
            found = self.strings_behind(value, node)
            self.filled.update(found)
            return found
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mod):
            value = value.left
        if isinstance(value, ast.JoinedStr) or (isinstance(value, ast.Constant) and isinstance(value.value, str)):
            return [value]
        if isinstance(value, ast.IfExp):
            both = [self.strings_behind(arm, node) for arm in (value.body, value.orelse)]
            return [*both[0], *both[1]] if all(both) else []
        if isinstance(value, ast.Call):
            return self._returned(value)
        if not isinstance(value, ast.Name):
            return []
        out: list[ast.expr] = []
        for scope in dict.fromkeys((self.script.function_of(node), self.script.tree)):
            assigned = [a for a in self._within(scope) if value.id in _targets(a)]
            for one in assigned:
                strings = self._assigned(one, value.id, node) if isinstance(one, ast.Assign) else []
                if not strings or one.value is value:  # type: ignore[attr-defined]
                    return []
                out += strings
            if assigned:
                return out
        return []

    def _assigned(self, statement: ast.Assign, name: str, node: ast.expr) -> list[ast.expr]:
        """The strings that an assignment may give to ``name``: also as one of a tuple out of a table of tuples."""
        target = statement.targets[0]
        if not isinstance(target, ast.Tuple):
            return self.strings_behind(statement.value, node)
        at = next(i for i, t in enumerate(target.elts) if isinstance(t, ast.Name) and t.id == name)
        rows: list[ast.expr] = [statement.value]
        if isinstance(statement.value, ast.Subscript) and isinstance(statement.value.value, ast.Name):
            table = statement.value.value.id
            tables = [a.value for a in ast.walk(self.script.tree) if isinstance(a, ast.Assign) and table in _targets(a)]
            if len(tables) != 1 or not isinstance(tables[0], ast.Dict):
                return []
            rows = tables[0].values
        out: list[ast.expr] = []
        for row in rows:
            parts = row.elts if isinstance(row, (ast.Tuple, ast.List)) else []
            strings = self.strings_behind(parts[at], node) if len(parts) == len(target.elts) else []
            if not strings:
                return []
            out += [s for s in strings if s not in out]
        return out

    def _returned(self, call: ast.Call) -> list[ast.expr]:
        """The strings that a function of the script returns; none where it may return something else."""
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        found = [n for n in self._within(self.script.tree) if isinstance(n, ast.FunctionDef) and n.name == name]
        if len(found) != 1:
            return []
        out: list[ast.expr] = []
        for node in ast.walk(found[0]):
            if isinstance(node, ast.Return) and self.script.function_of(node) is found[0]:
                strings = self.strings_behind(node.value, node.value) if node.value is not None else []
                if not strings:
                    return []
                out += strings
        return out


def _files(script: Script, maker: _Maker) -> Iterator[tuple[list[ast.expr], str]]:
    """For each file that ``script`` writes strings to: the strings, in turn, and the file's name.

    What is written and is no string of the script is left out: a template says what is known of a file. Where a file
    is opened several times, what is appended follows, and what closes more braces than it opens comes last.
    """
    by_name: dict[str, list[tuple[bool, list[ast.expr]]]] = {}
    for strings, name, appends in _written(script, maker):
        if not name or "*" in name:
            yield strings, name
        else:
            by_name.setdefault(name, []).append((appends, strings))
    for name, found in by_name.items():
        parts = sorted(found, key=lambda part: (part[0], part[0] and maker.closes(part[1])))
        yield list(dict.fromkeys(string for _, strings in parts for string in strings)), name


def _written(script: Script, maker: _Maker) -> Iterator[tuple[list[ast.expr], str, bool]]:
    """Each ``write_text`` and each ``with`` that writes: strings, the file's name, and whether they are appended."""
    for call in ast.walk(script.tree):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "write_text":
            strings = list(dict.fromkeys(maker.strings_behind(call.args[0], call))) if call.args else []
            if len(strings) == 1:
                yield strings, file_name(script, call.func.value), False
    for opened in ast.walk(script.tree):
        if not isinstance(opened, ast.With):
            continue
        names = {i.optional_vars.id for i in opened.items if isinstance(i.optional_vars, ast.Name)}
        found: list[ast.expr] = []
        calls = [c for c in ast.walk(opened) if isinstance(c, ast.Call) and isinstance(c.func, ast.Attribute)]
        for call in sorted(calls, key=lambda c: (c.lineno, c.col_offset)):
            func = call.func
            assert isinstance(func, ast.Attribute)
            to_file = isinstance(func.value, ast.Name) and func.value.id in names and len(call.args) == 1
            if to_file and func.attr in ("write", "writelines"):
                value = call.args[0]
                if isinstance(value, (ast.GeneratorExp, ast.ListComp)):
                    value = value.elt
                found += maker.strings_behind(value, call)
        strings = list(dict.fromkeys(found))
        if strings:
            context = opened.items[0].context_expr
            modes = [a.value for a in ast.walk(context) if isinstance(a, ast.Constant)]
            yield strings, file_name(script, context), "a" in modes


def file_name(script: Script, node: ast.expr) -> str:
    """The last string in ``node`` that may name a C++ file, without its folders and with * for each hole; else "".

    A name stands for what is assigned to it in the same function.
    """
    parts = list(ast.walk(node))
    named = {part.id for part in parts if isinstance(part, ast.Name)}
    assigned = (a for a in ast.walk(script.function_of(node)) if isinstance(a, ast.Assign) and _targets(a) & named)
    for statement in assigned:
        parts += ast.walk(statement.value)
    name = ""
    for part in parts:
        if isinstance(part, ast.JoinedStr):
            name = "".join(str(v.value) if isinstance(v, ast.Constant) else "*" for v in part.values)
        elif isinstance(part, ast.Constant) and isinstance(part.value, str) and _CPP_FILE.search(part.value):
            name = part.value
        if _CPP_FILE.search(name):
            return name.rsplit("/", 1)[-1]
    return ""


_FIELD = re.compile(r"\w+|\([\w, ]+\)")
_CPP_FILE = re.compile(r"\.(?:h|hpp|cuh|cu|cpp|inc|inl)$")


_FILLING = ("format", "replace", "strip", "rstrip", "lstrip")


def _replacements(calls: Sequence[ast.Call]) -> dict[str, list[ast.expr]]:
    """What ``.replace`` takes out of a string, where that is one word -> what it puts there."""
    out: dict[str, list[ast.expr]] = {}
    for call in calls:
        word = call.args[0].value if len(call.args) == 2 and isinstance(call.args[0], ast.Constant) else None
        if isinstance(word, str) and word.isidentifier():
            out.setdefault(word, []).append(call.args[1])
    return out


def _with_hole(units: Sequence[Unit], word: str) -> list[Unit]:
    """``units`` with each ``word`` as one hole."""
    text = "".join("\0" if u.is_hole or len(u.text) != 1 else u.text for u in units)
    out: list[Unit] = []
    done = 0
    for match in re.finditer(rf"\b{word}\b", text):
        out += units[done : match.start()]
        first, last = units[match.start()], units[match.end() - 1]
        out.append(Unit(word, first.start, last.end, first.literal, is_hole=True))
        done = match.end()
    return [*out, *units[done:]]


def _targets(statement: ast.AST | None) -> set[str]:
    """The names that a statement binds."""
    if isinstance(statement, ast.Assign):
        targets = [e for t in statement.targets for e in (t.elts if isinstance(t, ast.Tuple) else [t])]
        return {t.id for t in targets if isinstance(t, ast.Name)}
    if isinstance(statement, (ast.AnnAssign, ast.AugAssign, ast.For)) and isinstance(statement.target, ast.Name):
        return {statement.target.id}
    return set()


def _named(units: Sequence[Unit]) -> dict[int, str]:
    """Hole by index -> its name in the C++: the same one for the same value, FUNCTION for the names of functions."""
    numbers: dict[str, int] = {}
    names = {i: f"{HOLE}{numbers.setdefault(u.text, len(numbers))}" for i, u in enumerate(units) if u.is_hole}
    tokens, holes = _tokens(units, names)
    for at, i in holes.items():
        following = tokens[at + 1].text if at + 1 < len(tokens) else b""
        if following == b"<":
            close = match_angle(tokens, at + 1)
            following = tokens[close + 1].text if 0 < close < len(tokens) - 1 else b""
        before = tokens[at - 1] if at else None
        is_type = before is not None and (
            (before.kind is Kind.NAME and before.text not in _NO_TYPE) or before.text in (b">", b"&", b"*")
        )
        if following == b"(" and is_type:
            names[i] = FUNCTION
    return names


_NO_TYPE = frozenset({b"return", b"else", b"do", b"new", b"case", b"throw", b"co_return", b"co_await", b"not", b"and"})


def _statement_holes(units: Sequence[Unit]) -> dict[int, bool]:
    """The holes that stand where a statement or a declaration does, by index -> whether that is inside braces."""
    names = {i: f"{HOLE}{i}" for i, u in enumerate(units) if u.is_hole}
    tokens, holes = _tokens(units, names)
    out: dict[int, bool] = {}
    for at, i in holes.items():
        token = tokens[at]
        if token.directive:
            continue
        before = tokens[at - 1] if at else None
        after = tokens[at + 1] if at + 1 < len(tokens) else None
        begins = before is None or before.directive or before.text in (b"{", b"}", b";") or holes.get(at - 1) in out
        if not begins:
            continue
        text = "".join(names.get(k, u.text) for k, u in enumerate(units)).encode()
        ends = after is None or after.text in (b"}", b";") or b"\n" in text[token.end : after.start]
        if ends:
            depth = sum((t.text == b"{") - (t.text == b"}") for t in tokens[:at] if t.kind is Kind.PUNCT)
            out[i] = depth > 0
    return out


def _tokens(units: Sequence[Unit], names: dict[int, str]) -> tuple[list[Token], dict[int, int]]:
    """The code tokens of the C++, and for the index of each that is a hole the index of its unit."""
    texts = [names.get(i, u.text).encode() for i, u in enumerate(units)]
    starts = {start: i for i, start in enumerate(accumulate((len(t) for t in texts), initial=0)) if i in names}
    tokens = code_tokens(lex(b"".join(texts)))
    return tokens, {at: starts[t.start] for at, t in enumerate(tokens) if t.start in starts}
