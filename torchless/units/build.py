"""Forms units: which entities, bindings and modules must move together, and why.

Nodes are entities that hold a torch construct ("touched"), and modules. Two nodes are joined when neither can be
changed alone:

* a declaration and its definition;
* a user and what it uses: a helper whose signature has no torch may still take the stream or end the process in
  another way than before, and its callers must be ready for that;
* everything touched in one source file, because a translation unit is free of torch as a whole or not at all;
* types and what lies at file level in a header, with everything touched in that header: who uses them through
  aliases and templates cannot be told by name;
* a module with the functions that it binds and with what is touched in its sources.

What is used but not touched joins nobody, and neither does a name that an edit replaces.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from torchless.facts.typing import FileView
from torchless.model import Edit, Finding
from torchless.project.model import BindingRow, Project
from torchless.text.lexer import Kind, Token, lex
from torchless.units.components import Components
from torchless.units.entities import Entity, EntityIndex

Node = Entity | str  # a module is its name


@dataclass(frozen=True, slots=True)
class Group:
    """A unit before anything is decided about it."""

    name: str
    modules: tuple[str, ...]
    entry_points: tuple[str, ...]
    entities: tuple[Entity, ...]


@dataclass(frozen=True, slots=True)
class Grouping:
    """All groups, and the graph that tells why two things are in one."""

    groups: tuple[Group, ...]
    components: Components[Node]
    owner: Mapping[Entity, str]  # touched entity -> name of its group


@dataclass(frozen=True, slots=True)
class CodeBase:
    """What the unit builder looks at.

    ``closures``: for each source, every project file it reaches, itself included. ``is_foreign(path)``: a header that
    migrating files stop including instead of changing it, so that it ties nothing.
    """

    project: Project
    views: Mapping[str, FileView]
    index: EntityIndex
    closures: Mapping[str, frozenset[str]]
    is_header: Callable[[str], bool]
    is_foreign: Callable[[str], bool]


def group(code: CodeBase, findings: Sequence[Finding]) -> Grouping:
    """Join what must move together. ``findings`` are those that tie an entity to its unit (not include lines)."""
    touched: dict[Entity, list[Finding]] = {}
    for finding in findings:
        entity = code.index.at(finding.path, finding.start)
        if entity is not None:
            touched.setdefault(entity, []).append(finding)
    components: Components[Node] = Components()
    for entity in sorted(touched):
        components.add(entity)
    reach = _reach(code.closures)
    _join_declarations(components, touched, code, reach)
    _join_files(components, touched, code)
    _join_users(components, touched, code, reach)
    bound = _join_modules(components, touched, code)
    return _name_groups(components, touched, bound)


def _reach(closures: Mapping[str, frozenset[str]]) -> dict[str, int]:
    """For each file the set of sources that reach it, as a bit set: two files meet when their sets do."""
    out: dict[str, int] = {}
    for bit, source in enumerate(sorted(closures)):
        for path in closures[source]:
            out[path] = out.get(path, 0) | (1 << bit)
    return out


def _join_declarations(
    components: Components[Node], touched: Mapping[Entity, object], code: CodeBase, reach: Mapping[str, int]
) -> None:
    by_name: dict[str, list[Entity]] = {}
    for entity in touched:
        if entity.kind == "function" and not code.is_foreign(entity.path):
            by_name.setdefault(entity.name, []).append(entity)
    modules_of = _modules_of(code)
    for same in by_name.values():
        same.sort()
        for i, a in enumerate(same):
            for b in same[i + 1 :]:
                if a.path == b.path:
                    components.join(a, b, "declared and defined in one file")
                elif code.is_header(a.path) or code.is_header(b.path):
                    meet = reach.get(a.path, 0) & reach.get(b.path, 0)
                    linked = modules_of.get(a.path, frozenset()) & modules_of.get(b.path, frozenset())
                    if meet or linked:
                        components.join(a, b, f"{a.name} is declared here and defined there")


def _modules_of(code: CodeBase) -> dict[str, frozenset[str]]:
    out: dict[str, set[str]] = {}
    for module in code.project.modules:
        for source in module.sources:
            for path in code.closures.get(source, frozenset()):
                out.setdefault(path, set()).add(module.name)
    return {path: frozenset(names) for path, names in out.items()}


def _join_files(components: Components[Node], touched: Mapping[Entity, object], code: CodeBase) -> None:
    by_path: dict[str, list[Entity]] = {}
    for entity in sorted(touched):
        by_path.setdefault(entity.path, []).append(entity)
    for path, entities in by_path.items():
        at_file_level = [e for e in entities if e.kind in ("file", "type")]
        if not code.is_header(path):
            for entity in entities[1:]:
                components.join(entities[0], entity, f"both in {path}")
        elif at_file_level:
            for entity in entities:
                components.join(at_file_level[0], entity, f"{path} has torch in a type or at file level")


def _join_users(
    components: Components[Node],
    touched: Mapping[Entity, Sequence[Finding]],
    code: CodeBase,
    reach: Mapping[str, int],
) -> None:
    used: dict[bytes, list[Entity]] = {}
    for entity in sorted(touched):
        name = _spoken(entity)
        if name and not code.is_foreign(entity.path):
            used.setdefault(name.encode("latin-1"), []).append(entity)
    gone = _replaced(touched.values())
    for path, view in code.views.items():
        if code.is_foreign(path):
            continue
        for token in view.tokens:
            if token.kind is not Kind.NAME or token.text not in used:
                continue
            if gone(path, token):
                continue  # the name itself is replaced, so the tie is cut
            user = code.index.at(path, token.start)
            if user is None:
                continue
            for target in used[token.text]:
                if target == user or not reach.get(path, 0) & reach.get(target.path, 0):
                    continue
                if target.path != path and not code.is_header(target.path):
                    continue  # another source's own
                if user.kind == "file" and user not in touched:
                    continue
                components.join(user, target, f"{user.name or path} uses {target.name}")


def _spoken(entity: Entity) -> str:
    """The name that a use of ``entity`` spells: of an operator that of its class, "" where none is spelled."""
    if not entity.last_name.startswith("operator"):
        return entity.last_name
    return entity.name.rpartition("::operator")[0].rpartition("::")[2]


def _replaced(findings: Iterable[Sequence[Finding]]) -> Callable[[str, Token], bool]:
    """Tells of a name whether an edit takes it away: covers it and does not write it again."""
    edits: dict[str, list[Edit]] = {}
    for finding in (f for group in findings for f in group):
        for edit in finding.edits:
            if edit.end > edit.start:
                edits.setdefault(edit.path, []).append(edit)
    for found in edits.values():
        found.sort()
    starts = {path: [e.start for e in found] for path, found in edits.items()}

    def gone(path: str, name: Token) -> bool:
        # edits that are made do not overlap, so the last one that starts before the name is the one
        i = bisect_right(starts.get(path, []), name.start) - 1
        if i < 0 or edits[path][i].end < name.end:
            return False
        return name.text not in {t.text for t in lex(edits[path][i].new)}

    return gone


def _join_modules(
    components: Components[Node], touched: Mapping[Entity, object], code: CodeBase
) -> dict[str, list[Entity]]:
    """Join each module with what it binds and what is touched in its sources; return the bound entities."""
    functions: dict[str, list[Entity]] = {}
    by_path: dict[str, list[Entity]] = {}
    for entity in sorted(touched):
        by_path.setdefault(entity.path, []).append(entity)
        if entity.kind == "function":
            functions.setdefault(entity.last_name, []).append(entity)
    bound: dict[str, list[Entity]] = {}
    for module in code.project.modules:
        files: set[str] = set()
        for source in module.sources:
            files |= code.closures.get(source, frozenset({source}))
            for entity in by_path.get(source, ()):
                components.join(module.name, entity, f"{source} is a source of {module.name}")
        for row in rows_of_module(code.project, module.sources):
            for entity in functions.get(row.target.rsplit("::", 1)[-1], ()):
                if entity.path in files:
                    components.join(module.name, entity, f"{module.name} binds {entity.name}")
                    bound.setdefault(module.name, []).append(entity)
    return bound


def rows_of_module(project: Project, sources: Sequence[str]) -> list[BindingRow]:
    """The m.def rows that the binding translation units among ``sources`` register, macros expanded."""
    macros = {m.name: m for m in project.binding_macros}
    rows: list[BindingRow] = []
    for tu in project.binding_tus:
        if tu.path in sources:
            rows.extend(tu.rows)
            for name in tu.macros:
                if name in macros:
                    rows.extend(macros[name].rows)
    return rows


def _name_groups(
    components: Components[Node],
    touched: Mapping[Entity, object],
    bound: Mapping[str, Sequence[Entity]],
) -> Grouping:
    drafts: list[tuple[str, list[Node]]] = []
    taken: set[str] = set()
    for nodes in components.groups():
        entities = sorted(n for n in nodes if isinstance(n, Entity) and n in touched)
        if not entities:
            continue
        modules = sorted(n for n in nodes if isinstance(n, str))
        if modules:
            name = modules[0] if len(modules) == 1 else f"{modules[0]}+{len(modules) - 1}"
        else:
            first = next((e for e in entities if e.defines and e.kind == "function"), entities[0])
            name = f"{first.path}:{first.name}" if first.name else first.path
        base, n = name, 2
        while name in taken:
            name, n = f"{base}#{n}", n + 1
        taken.add(name)
        drafts.append((name, nodes))
    groups: list[Group] = []
    for name, nodes in drafts:
        modules = sorted(n for n in nodes if isinstance(n, str))
        entities = sorted(n for n in nodes if isinstance(n, Entity) and n in touched)
        entry_points = sorted({e.name for m in modules for e in bound.get(m, ())})
        groups.append(Group(name, tuple(modules), tuple(entry_points), tuple(entities)))
    groups.sort(key=lambda g: g.name)
    owner = {e: g.name for g in groups for e in g.entities}
    return Grouping(tuple(groups), components, owner)


def why_joined(grouping: Grouping, a: str, b: str) -> list[str]:
    """The reasons that put ``a`` and ``b`` (modules, functions, files) into one unit; [] when there are none."""

    def nodes(word: str) -> list[Node]:
        return [
            node
            for members in grouping.components.groups()
            for node in members
            if node == word or (isinstance(node, Entity) and word in (node.name, node.last_name, node.path))
        ]

    def label(node: Node) -> str:
        if isinstance(node, str):
            return node
        return f"{node.name} ({node.path})" if node.name else node.path

    chain = grouping.components.why(nodes(a), nodes(b))
    return [f"{label(x)} -- {reason} -- {label(y)}" for x, reason, y in chain]
