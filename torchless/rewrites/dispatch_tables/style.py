"""How a C++ file is laid out, as far as new code must fit in, and the text of what tables need."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from torchless.rewrites.dispatch_tables.keys import Field
from torchless.text.source import SourceFile


@dataclass(frozen=True, slots=True)
class Style:
    """Blanks and braces: the step of the indentation, ``if (`` or ``if(``, ``int &x`` or ``int& x``, { on its own."""

    step: str = "    "
    space: str = ""
    left: bool = True
    own_line: bool = True

    def reference(self, type_name: str, mark: str, name: str) -> str:
        """A declarator: ``const T& name``."""
        return f"{type_name}{mark} {name}" if self.left else f"{type_name} {mark}{name}"


def style_of(source: SourceFile) -> Style:
    """The style that most of the file is in; aiter's own where the file does not tell."""
    data = source.data

    def more(a: bytes, b: bytes, otherwise: bool) -> bool:
        first, second = len(re.findall(a, data, re.M)), len(re.findall(b, data, re.M))
        return first > second if first != second else otherwise

    two = more(rb"\{[ \t]*\r?\n {2}[^ \s]", rb"\{[ \t]*\r?\n {4}[^ \s]", False)
    spaced = more(rb"\b(?:if|for|while|switch) \(", rb"\b(?:if|for|while|switch)\(", False)
    left = more(rb"[\w>][&*] \w", rb"[\w>] [&*]\w", True)
    own = more(rb"^[ \t]*\{[ \t]*\r?$", rb"[^ \t\r\n][ \t]*\{[ \t]*\r?$", True)
    return Style("  " if two else "    ", " " if spaced else "", left, own)


def _block(style: Style, head: str, body: Sequence[str], end: str, indent: str) -> list[str]:
    opening = [f"{indent}{head}", f"{indent}{{"] if style.own_line else [f"{indent}{head} {{"]
    return [*opening, *body, f"{indent}{end}"]


def table_template(style: Style, name: str) -> list[str]:
    """The lines of the template that a table is an instance of.

    One text, whatever uses it: translation units of a module that define it all must define it alike.
    """
    one, two = style.step, style.step * 2
    key = style.reference("const Key", "&", "key")
    value = _block(style, "struct value_type", [f"{two}Key first;", f"{two}Fn second;"], "};", one)
    halve = [
        f"{two}{one}const std::size_t half = left / 2;",
        f"{two}{one}const bool below       = it[half].first < key;",
        f"{two}{one}it += below ? half + 1 : 0;",
        f"{two}{one}left = below ? left - half - 1 : half;",
    ]
    find = [
        f"{two}const_iterator it = rows;",
        *_block(style, f"for{style.space}(std::size_t left = length; left > 0;)", halve, "}", two),
        f"{two}return it != end() && !(key < it->first) ? it : end();",
    ]
    ascends = [
        f"{two}for{style.space}(std::size_t i = 1; i < count; ++i)",
        f"{two}{one}if{style.space}(!(first[i - 1].first < first[i].first)) return false;",
        f"{two}return true;",
    ]
    body = [
        *value,
        f"{one}using const_iterator = const value_type{'*' if style.left else ' *'};",
        "",
        f"{one}const_iterator rows;",
        f"{one}std::size_t length;",
        "",
        f"{one}constexpr const_iterator begin() const {{ return rows; }}",
        f"{one}constexpr const_iterator end() const {{ return rows + length; }}",
        f"{one}constexpr std::size_t size() const {{ return length; }}",
        f"{one}constexpr bool empty() const {{ return length == 0; }}",
        f"{one}constexpr std::size_t count({key}) const {{ return find(key) != end(); }}",
        f"{one}constexpr bool contains({key}) const {{ return find(key) != end(); }}",
        f"{one}// As std::lower_bound looks, without what <algorithm> costs to parse.",
        *_block(style, f"constexpr const_iterator find({key}) const", find, "}", one),
        f"{one}// Whether each key is less than the next one: sorted, and none of them twice.",
        *_block(style, "static constexpr bool ascends(const_iterator first, std::size_t count)", ascends, "}", one),
    ]
    head = [
        "// A read-only table in place of a map: constant rows, sorted by key, found by binary search.",
        "template <typename Key, typename Fn>",
    ]
    return [*head, *_block(style, f"struct {name}", body, "};", "")]


def key_struct(style: Style, name: str, fields: Sequence[Field]) -> list[str]:
    """The lines of a struct with ``fields``, and of its order."""
    body = [f"{style.step}{field.type} {field.name};" for field in fields]
    return [*_block(style, f"struct {name}", body, "};", ""), "", *key_order(style, name, fields)]


def key_order(style: Style, name: str, fields: Sequence[Field]) -> list[str]:
    """The lines of the < that compares ``fields`` one after the other."""
    a, b = style.reference(f"const {name}", "&", "a"), style.reference(f"const {name}", "&", "b")
    body = [
        f"{style.step}if{style.space}(a.{field.name} != b.{field.name}) return a.{field.name} < b.{field.name};"
        for field in fields[:-1]
    ]
    body.append(f"{style.step}return a.{fields[-1].name} < b.{fields[-1].name};")
    return _block(style, f"constexpr bool operator<({a}, {b})", body, "}", "")


def camel(stem: str) -> str:
    """``moe_mxfp4_aux`` -> ``MoeMxfp4Aux``."""
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"\W|_", stem))
