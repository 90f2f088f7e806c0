"""Names for what is declared in files: one template for tables a file, one struct for each key that was a tuple."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, count

from torchless.rewrites.dispatch_tables import emit
from torchless.rewrites.dispatch_tables.codebase import Codebase
from torchless.rewrites.dispatch_tables.families import Family
from torchless.rewrites.dispatch_tables.scan import MapType
from torchless.rewrites.dispatch_tables.style import Style, camel, table_template
from torchless.text.lexer import code_tokens, lex

_NAME = "FlatTable"


@dataclass(frozen=True, slots=True)
class Template:
    """The template for the tables of a file. ``is_new``: it is declared before byte ``offset``, else it is there."""

    name: str
    offset: int
    is_new: bool


@dataclass(frozen=True)
class Names:
    """``templates`` by path; ``keys``: names of key structs by the name of the family."""

    templates: dict[str, Template]
    keys: dict[str, str]


def choose_names(code: Codebase, families: Sequence[Family]) -> Names:
    """Names that clash with nothing that is read together, and are the same whichever families are changed."""
    by_path: dict[str, list[MapType]] = {}
    for family in families:
        for found in family.maps:
            by_path.setdefault(found.path, []).append(found)
    templates: dict[str, Template] = {}
    taken: dict[str, str] = {}
    for path in sorted(by_path, key=lambda p: (p not in code.headers, p)):  # headers are seen by others
        offset = emit.anchor(code.file(path), by_path[path])
        stem = camel(posixpath.splitext(posixpath.basename(path))[0])
        for name in (_NAME, f"{stem}Table", f"{stem}FlatTable"):
            there = _defined(code, path, name)
            claimed = taken.get(name, "")
            if there == "ours":
                templates[path] = Template(name, offset, False)
                break
            if there == "" and (claimed == "" or claimed not in code.seen_with(path)):
                templates[path] = Template(name, offset, True)
                if path in code.headers:
                    taken.setdefault(name, path)
                break
        else:
            templates[path] = Template(f"{stem}RowsByKey", offset, True)
    return Names(templates, _key_names(code, families))


def _defined(code: Codebase, path: str, name: str) -> str:
    """ "ours" where ``path`` reads our own template of that name, "other" where the name is something else, or ""."""
    word = re.compile(rb"\b" + name.encode() + rb"\b")
    found = ""
    for other in sorted(code.seen_with(path) if path in code.headers else code.closures.get(path, {path})):
        data = code.read(other)
        if not word.search(data):
            continue
        texts = [t.text for t in code_tokens(lex(data))]
        ours = [t.text for t in code_tokens(lex("\n".join(table_template(Style(), name)).encode()))]
        for i in range(len(texts) - len(ours) + 1):
            if texts[i] == b"template" and texts[i : i + len(ours)] == ours:
                found = "ours"
                break
        else:
            if name.encode() in texts and found != "ours":
                found = "other"
    return found


def _key_names(code: Codebase, families: Sequence[Family]) -> dict[str, str]:
    out: dict[str, str] = {}
    used: dict[str, list[tuple[str, frozenset[str]]]] = {}
    for family in families:
        if not family.maps:
            continue
        found = family.maps[0]
        base = found.alias.name if found.alias else found.named
        stem = re.sub(r"(?:Map|Table)$", "", base) or camel(posixpath.splitext(posixpath.basename(found.path))[0])
        modules = frozenset(m.name for m in code.modules_of(found.path))
        longer = f"{camel(posixpath.splitext(posixpath.basename(found.path))[0])}{stem}Key"
        candidates = chain((f"{stem}Key", longer), (f"{longer}{number}" for number in count(2)))
        for name in candidates:
            clash = any(p == found.path or modules & m for p, m in used.get(name, []))
            mentioned = any(name.encode() in code.read(p) for p in code.seen_with(found.path))
            if not (clash or mentioned):
                out[family.name] = name
                used.setdefault(name, []).append((found.path, modules))
                break
    return out
