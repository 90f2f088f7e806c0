"""What is offered for each family: the whole change, half of it, a blocker that says why not, or a remark."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from torchless.model import Confidence, Edit, Finding, Tier
from torchless.rewrites.dispatch_tables import emit
from torchless.rewrites.dispatch_tables.codebase import Codebase
from torchless.rewrites.dispatch_tables.estimate import told
from torchless.rewrites.dispatch_tables.families import Family, find, occurrences
from torchless.rewrites.dispatch_tables.keys import Key, Struct, field_names, find_struct
from torchless.rewrites.dispatch_tables.layout import Layout
from torchless.rewrites.dispatch_tables.names import Names, choose_names
from torchless.rewrites.dispatch_tables.printers import Scripts
from torchless.rewrites.dispatch_tables.scan import MapType
from torchless.rewrites.dispatch_tables.stand_ins import stand_ins
from torchless.rewrites.dispatch_tables.study import Study, study
from torchless.rewrites.dispatch_tables.style import key_struct, style_of, table_template
from torchless.rewrites.dispatch_tables.uses import CHANGED, KEY, ORDER, ROWS, SIGNATURE, STORED, UNKNOWN, Problem
from torchless.rewrites.python_layout import BlackStyle

SMALL_GAIN, SORTED = "TL515", "TL512"
HELP = {
    STORED: "store plain functions: give each callable with state a function of its own",
    CHANGED: "fill the map in one place, or leave it a map",
    ORDER: "make the order explicit where it matters, or leave the map as it is",
    ROWS: "print the rows sorted by key, each key once, then write the table by hand",
    SIGNATURE: "declare the functions with the very parameters and result of the std::function",
    KEY: "give the key an order that tells the same keys apart, then write the table by hand",
    UNKNOWN: "write the table by hand, or bring the code into a form that only looks up",
}
_HALF = frozenset({ORDER, KEY})
"""Problems with which std::function can still go: what the map holds is known."""


@dataclass(frozen=True)
class Offer:
    """One family and what is to be said of it.

    ``paths`` are the C++ files it lies in. ``stand_ins`` are headers that are printed by a build, as far as a check
    needs them. ``is_unit`` is False where nothing is offered: then the one finding is a remark.
    """

    name: str
    paths: tuple[str, ...]
    findings: tuple[Finding, ...]
    stand_ins: tuple[tuple[str, bytes], ...] = ()
    is_unit: bool = True


@dataclass
class _Making:
    """The edits of one family as they come together."""

    code: Codebase
    seen: Study
    names: Names
    findings: list[Finding] = field(default_factory=list)


def offers(
    code: Codebase, style: BlackStyle, everything: bool, is_meant: Callable[[Sequence[str]], bool] = lambda paths: True
) -> list[Offer]:
    """What is offered for each family of the checkout that ``is_meant`` by its C++ files, in the order of their names.

    ``everything``: also offer what gains little.
    """
    families = find(code)
    scripts, layout = Scripts(code), Layout(style)
    names = choose_names(code, families)
    meant = (family for family in families if is_meant(files_of(code, family)))
    out = [_offer(code, scripts, layout, family, names, everything) for family in meant]
    return [offer for offer in out if offer is not None]


def files_of(code: Codebase, family: Family) -> tuple[str, ...]:
    """The C++ files in which the family's types are spelled or its maps are named, sorted."""
    types = {f.path for f in family.functions} | {m.path for m in family.maps}
    return tuple(sorted(types | occurrences(code, family).keys()))


def _offer(
    code: Codebase, scripts: Scripts, layout: Layout, family: Family, names: Names, everything: bool
) -> Offer | None:
    seen = study(code, scripts, family, layout)
    paths = files_of(code, family)
    making = _Making(code, seen, names)
    if not seen.has_functions and not everything:
        return Offer(family.name, paths, (_small(making),), is_unit=False)
    blocking = list(seen.function_problems)
    if not seen.has_functions or not {p.code for p in seen.map_problems} <= _HALF:
        blocking += seen.map_problems
    if blocking:
        return Offer(family.name, paths, tuple(_blocker(problem) for problem in blocking))
    _pointers(making)
    whole = bool(seen.filled) and not seen.map_problems and seen.key is not None
    if whole:
        _tables(making, seen.key)  # type: ignore[arg-type]
    else:
        making.findings += [*map(_remark, seen.map_problems), *_printed_maps(making)]
    if not any(f.edits for f in making.findings):
        return None
    return Offer(family.name, paths, tuple(making.findings), stand_ins(code, seen) if whole else ())


def _place(making: _Making) -> tuple[str, int, int]:
    """Where the family is best shown: its first map, else its first function type."""
    family, code = making.seen.family, making.code
    if family.maps:
        found = family.maps[0]
        tokens = code.file(found.path).view.tokens
        return found.path, tokens[found.map.first].start, tokens[found.map.last].end
    function = family.functions[0]
    tokens = code.file(function.path).view.tokens
    return function.path, tokens[function.callable.first].start, tokens[function.callable.last].end


def _cost(making: _Making) -> str:
    key = making.seen.key
    rows = sum(len(one.rows) for one in making.seen.filled) if all(not f.macro for f in making.seen.filled) else 0
    kind, fields = (key.kind, len(key.fields)) if key is not None else ("number", 1)
    return told(making.seen.has_functions, kind, rows, fields)


def _small(making: _Making) -> Finding:
    return Finding(
        SMALL_GAIN,
        f"not offered, the gain is small ({_cost(making)}); --all offers it",
        *_place(making),
        tier=Tier.DISPLAY,
        confidence=Confidence.SYNTACTIC,
    )


def _blocker(problem: Problem) -> Finding:
    return Finding(
        problem.code,
        problem.message,
        problem.path,
        problem.start,
        problem.end,
        Tier.DISPLAY,
        confidence=Confidence.SYNTACTIC,
        blocks=True,
        help=HELP[problem.code],
    )


def _remark(problem: Problem) -> Finding:
    text = f"the map stays: {problem.message}"
    return Finding(
        problem.code,
        text,
        problem.path,
        problem.start,
        problem.end,
        Tier.DISPLAY,
        confidence=Confidence.SYNTACTIC,
        help=HELP[problem.code],
    )


def _printed_maps(making: _Making) -> list[Finding]:
    """A remark for each script that prints a map of the family's functions: it stays, and costs little now."""
    code, out = making.code, []
    for function in making.seen.family.functions:
        name = function.alias.name.encode("latin-1") if function.alias else b""
        printed = re.compile(rb"\b(?:unordered_)?map\s*<[^<>{}]*\b" + re.escape(name) + rb"\s*>")
        for path in code.generators(function.path) if name else ():
            match = printed.search(code.read(path))
            if match is not None:
                text = "the map that is printed here stays: with plain pointers in it it costs little"
                out.append(Finding(SMALL_GAIN, text, path, match.start(), match.end(), tier=Tier.DISPLAY))
    return out


def _pointers(making: _Making) -> None:
    for function in making.seen.family.functions:
        if not function.callable.is_function:
            continue
        file = making.code.file(function.path)
        inside = [m for m in making.seen.family.maps if m.path == function.path and m.value == function.callable]
        whole = bool(making.seen.filled) and not making.seen.map_problems
        if inside and whole:
            continue  # it goes with the map type
        tokens = file.view.tokens
        making.findings.append(
            Finding(
                emit.POINTER,
                "std::function becomes a pointer: only names of functions are stored",
                function.path,
                tokens[function.callable.first].start,
                tokens[function.callable.last].end,
                edits=tuple(emit.pointer_edits(file, function.callable)),
                confidence=Confidence.SYNTACTIC,
            )
        )


def _tables(making: _Making, key: Key) -> None:
    """Everything that makes tables of the family's maps."""
    code, seen, family = making.code, making.seen, making.seen.family
    edits: list[Edit] = []
    by_path: dict[str, list[MapType]] = {}
    for found in family.maps:
        by_path.setdefault(found.path, []).append(found)
    key_name, named = _key_name(making, key)
    texts: dict[tuple[str, int], bytes] = {}
    for path, found_here in by_path.items():
        file = code.file(path)
        template = making.names.templates[path]
        for found in found_here:
            text = emit.map_text(file, found, key, key_name, template.name)
            texts[path, found.map.first] = text
            edits.append(emit.map_edit(file, found, text))
        if template.is_new:
            lines = table_template(style_of(file.view.source), template.name)
            edits.append(emit.inserted(file, template.offset, lines, emit.TABLE, 0))
            headers = ["<cstddef>"]
            headers += ["<string_view>"] if any(f.is_text for f in key.fields) else []
            edits += emit.include_edits(file, headers)
    for one in seen.filled:
        file = code.file(one.table.path)
        tokens = file.view.tokens
        a, b = one.table.type_first, one.table.type_last
        spelled = file.view.source.data[tokens[a].start : tokens[b].end]
        edits += emit.table_edits(file, one, texts.get((file.path, a), spelled), style_of(file.view.source))
    making.findings.append(
        Finding(
            emit.TABLE,
            f"a map of functions becomes a sorted constant table ({_cost(making)})",
            *_place(making),
            edits=_distinct(edits),
            confidence=Confidence.SYNTACTIC,
        )
    )
    _order(making, key, named)
    _hashes(making)
    _sorting(making)


def _distinct(edits: Sequence[Edit]) -> tuple[Edit, ...]:
    """``edits`` without a map type's own edit where a table's statement takes it in."""
    wide = [e for e in edits if e.end > e.start]
    return tuple(
        e
        for e in dict.fromkeys(edits)
        if not any(
            o is not e and o.path == e.path and o.start <= e.start and e.end <= o.end and e.end > e.start for o in wide
        )
    )


def _key_name(making: _Making, key: Key) -> tuple[str, Key]:
    """The name of the struct that a tuple becomes, and the key with names for its fields."""
    if key.kind != "tuple":
        return "", key
    code = making.code
    names: tuple[str, ...] = ()
    for path in sorted({b.path for b in making.seen.bound}):
        file = code.file(path)
        calls = [i for i, t in enumerate(file.view.tokens) if t.text == b"find"]
        names = names or field_names(file, calls, len(key.fields))
    fields = tuple(
        type(f)(f.type, name, f.is_text)
        for f, name in zip(key.fields, names or [f.name for f in key.fields], strict=True)
    )
    return making.names.keys[making.seen.family.name], Key(key.kind, key.spelled, fields, key.struct, key.ordered)


def _order(making: _Making, key: Key, named: Key) -> None:
    """A < for the key where it has none, and the struct that a tuple becomes."""
    code, family = making.code, making.seen.family
    if key.kind == "tuple":
        found = family.maps[0]
        file = code.file(found.path)
        lines = key_struct(style_of(file.view.source), making.names.keys[family.name], named.fields)
        offset = emit.anchor(file, [m for m in family.maps if m.path == found.path])
        edit = emit.inserted(file, offset, lines, emit.ORDER, 1)
        text = "the tuple becomes a struct, ordered field by field: many tuples in a constant are slow to compile"
        making.findings.append(
            Finding(emit.ORDER, text, *_place(making), edits=(edit,), confidence=Confidence.SYNTACTIC)
        )
    elif key.struct is not None and not key.ordered:
        file = code.file(key.struct.path)
        tokens = file.view.tokens
        edit = emit.order_edit(file, key.struct, key, style_of(file.view.source))
        making.findings.append(
            Finding(
                emit.ORDER,
                f"{key.struct.name} is ordered field by field",
                key.struct.path,
                tokens[key.struct.head].start,
                tokens[key.struct.close].end,
                edits=(edit,),
                confidence=Confidence.SYNTACTIC,
            )
        )


def _hashes(making: _Making) -> None:
    """Hash and comparison structs that nothing else uses go."""
    code, family = making.code, making.seen.family
    places = sorted((found.path, last) for found in family.maps for _, last in found.map.arguments[2:])
    done = set()
    for path, index in places:
        name = code.file(path).view.tokens[index].text.decode("latin-1")
        struct = find_struct(code, path, name, index)
        if struct is None or struct in done:
            continue
        done.add(struct)
        file = code.file(struct.path)
        if _is_used(making, struct):
            continue
        edit = emit.removed_struct(file, struct)
        making.findings.append(
            Finding(
                emit.HASH,
                f"{name} is not used any more",
                struct.path,
                edit.start,
                edit.end,
                edits=(edit,),
                confidence=Confidence.SYNTACTIC,
            )
        )


def _is_used(making: _Making, struct: Struct) -> bool:
    """Whether ``struct`` is used outside of its definition and of the family's map types."""
    code, family = making.code, making.seen.family
    path, name = struct.path, struct.name
    word = name.encode("latin-1")
    for user in code.users(path, name):
        for i, token in enumerate(code.file(user).view.tokens):
            if token.text != word or find_struct(code, user, name, i) not in (struct, None):
                continue
            inside = user == path and struct.head <= i <= struct.close
            in_map = any(m.path == user and m.map.first <= i <= m.map.last for m in family.maps)
            if not inside and not in_map:
                return True
    pattern = re.compile(rb"\b" + re.escape(word) + rb"\b")
    return any(pattern.search(code.read(script)) for script in code.generators(path))


def _sorting(making: _Making) -> None:
    """The scripts that print the rows print them in order."""
    done: set[tuple[str, tuple[int, int]]] = set()
    for one in making.seen.filled:
        for printer in one.printers:
            if not printer.edits or (printer.path, printer.at) in done:
                continue
            done.add((printer.path, printer.at))
            name = one.macro.name if one.macro else ""
            making.findings.append(
                Finding(
                    SORTED,
                    f"{posixpath.basename(printer.path)} prints the rows of {name} by key, each key once",
                    printer.path,
                    *printer.at,
                    edits=printer.edits,
                    confidence=Confidence.SYNTACTIC,
                )
            )
