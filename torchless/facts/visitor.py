"""Walks a parsed translation unit and notes what the names in the project's files refer to.

The recursion happens inside libclang (clang_visitChildren); Python is called once per cursor and returns at once for
those of no interest. Every fact is placed where its token is really spelled: for a token that came out of a macro that
is its place in the macro argument, or in the macro's body. A fact is kept only when the bytes at that place are the
name that the compiler speaks of, so pasted tokens and expansion points never yield one.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from ctypes import POINTER, byref, c_size_t, c_uint, c_void_p
from dataclasses import dataclass, field

from torchless.facts import libclang
from torchless.facts.canonical import canonical_name, type_class
from torchless.facts.functions import FunctionDraft, finish
from torchless.facts.libclang import CONTINUE, MACRO_BIT, RECURSE, Cursor, CursorKind, Location, Token, Type
from torchless.facts.model import FileFacts, FunctionFact, IncludeFact, NameFact

LAUNCHES = frozenset(
    {
        "__hipPushCallConfiguration",  # what clang calls for <<<...>>>
        "hipConfigureCall",
        "hipLaunchKernel",
        "hipLaunchKernelExC",
        "hipLaunchCooperativeKernel",
        "hipExtLaunchKernel",
        "hipModuleLaunchKernel",
        "hipExtModuleLaunchKernel",
        "hipModuleLaunchCooperativeKernel",
    }
)
"""Functions whose call is a kernel launch."""

_K = CursorKind
_FUNCTIONS = frozenset({_K.FUNCTION, _K.METHOD, _K.CONSTRUCTOR, _K.DESTRUCTOR, _K.CONVERSION, _K.FUNCTION_TEMPLATE})
_CALLABLE = frozenset({_K.FUNCTION, _K.METHOD, _K.CONVERSION, _K.FUNCTION_TEMPLATE})
_TYPES = frozenset({_K.STRUCT, _K.UNION, _K.CLASS, _K.ENUM, _K.TYPEDEF, _K.TYPE_ALIAS, _K.CLASS_TEMPLATE})
_SCOPES = _TYPES | {_K.NAMESPACE, 32}  # 32: class template partial specialisation
_DATA = frozenset({_K.FIELD, _K.VARIABLE, _K.PARAMETER, _K.ENUM_CONSTANT})
_DECLARATIONS = {_K.VARIABLE: "var", _K.PARAMETER: "param", _K.FIELD: "field"}
_REFERENCES = {
    _K.DECL_REF_EXPR: "value",
    _K.MEMBER_REF_EXPR: "member",
    _K.MEMBER_REF: "value",
    _K.VARIABLE_REF: "capture",
    _K.TYPE_REF: "type",
    _K.TEMPLATE_REF: "type",
}
_FRAMEWORK = ("at::", "caffe2::")


@dataclass(slots=True)
class ProjectFile:
    """A file of the project as the parser read it, and the facts gathered for it."""

    path: str
    data: bytes
    names: set[NameFact] = field(default_factory=set)
    functions: list[FunctionDraft] = field(default_factory=list)
    launches: list[int] = field(default_factory=list)  # offsets where a launch is expanded


@dataclass(frozen=True, slots=True)
class _Entity:
    """What a reference refers to, computed once per declaration.

    name: canonical ("" for local ones); spelled: its last component; call: class of what calling it gives; owner: class
    of the type it is a member of; shared: a function of the project whose signature names a classed type.
    """

    kind: int
    name: str
    spelled: bytes
    call: str
    owner: str
    shared: bool


@dataclass(frozen=True, slots=True)
class Harvest:
    """Everything that one walk found. ``includes`` holds all directives that were reached in project files."""

    files: tuple[FileFacts, ...]
    includes: tuple[IncludeFact, ...]


class Walker:
    """One walk over one translation unit.

    ``project_path`` gives the root-relative path for a file name as libclang knows it, "" for foreign files;
    ``shown_path`` gives the name to show for any file. Without ``want_facts`` only includes are noted.
    """

    def __init__(
        self,
        unit: int,
        project_path: Callable[[str], str],
        shown_path: Callable[[str], str],
        want_facts: bool = True,
    ) -> None:
        self._unit = unit
        self._lib = libclang.library()
        self._project_path = project_path
        self._shown_path = shown_path
        self._want_facts = want_facts
        self._files: dict[int, ProjectFile | None] = {}
        self._classes: dict[int, str] = {}
        self._entities: dict[int, _Entity] = {}
        self._scopes: dict[int, tuple[str, ...] | None] = {}
        self._drafts: dict[int, FunctionDraft] = {}
        self._includes: list[IncludeFact] = []
        self._error: BaseException | None = None

    def walk(self) -> Harvest:
        """Visit the whole unit. Raises whatever went wrong inside the visitor."""
        top = self._lib.clang_getTranslationUnitCursor(self._unit)
        callback = libclang.Visitor(self._visit)
        self._lib.clang_visitChildren(top, callback, None)
        if self._error is not None:
            raise self._error
        files: list[FileFacts] = []
        for found in self._files.values():
            if found is None or not (found.names or found.functions):
                continue
            functions: set[FunctionFact] = set()
            for draft in found.functions:
                fact = finish(draft, found.path, found.data, found.launches)
                if fact is not None:
                    functions.add(fact)
            files.append(FileFacts(found.path, tuple(sorted(found.names)), tuple(sorted(functions))))
        files.sort(key=lambda f: f.path)
        return Harvest(tuple(files), tuple(sorted(set(self._includes))))

    def _visit(self, cursor: Cursor, parent: Cursor, _data: object) -> int:
        try:
            return self._note(cursor, parent)
        except BaseException as error:  # must not cross the C frames in between
            self._error = error
            return libclang.BREAK

    def _note(self, cursor: Cursor, parent: Cursor) -> int:
        kind = cursor.kind
        if parent.kind == _K.TRANSLATION_UNIT:
            if kind == _K.INCLUSION:
                self._note_include(cursor)
                return CONTINUE
            if kind >= _K.FIRST_PREPROCESSING or not self._want_facts:
                return CONTINUE
            file, _ = self._expanded(self._lib.clang_getCursorLocation(cursor))
            if file is None:
                return CONTINUE
        if kind in _REFERENCES:
            self._note_reference(cursor, kind)
        elif kind in _DECLARATIONS:
            self._note_declaration(cursor, parent, kind)
        elif kind in _FUNCTIONS:
            self._note_function(cursor)
        elif kind == _K.OVERLOADED_REF:
            self._note_overloads(cursor, parent)
        elif parent.kind in _FUNCTIONS:
            draft = self._drafts.get(parent.d0 or 0)
            if draft is not None:
                if kind == _K.COMPOUND_STMT or kind == _K.TRY_STMT:
                    draft.body = self._extent(cursor)
                elif kind == _K.GLOBAL_ATTR:
                    draft.is_kernel = True
        return RECURSE

    # -- what is noted ------------------------------------------------------------------------------------------

    def _note_reference(self, cursor: Cursor, kind: int) -> None:
        referenced = self._lib.clang_getCursorReferenced(cursor)
        if not referenced.d0 or referenced.kind == _K.OVERLOADED_REF:
            return
        entity = self._entity(referenced)
        word = _REFERENCES[kind]
        name = entity.name if entity.name.startswith(_FRAMEWORK) else ""
        if word == "member":
            self._note_member(cursor, entity)
            return
        value = ""
        if entity.kind not in _CALLABLE:
            source = referenced if kind in (_K.VARIABLE_REF, _K.MEMBER_REF) else cursor
            value = self._class_of_cursor(source)
        if entity.spelled and word == "value" and entity.spelled.decode() in LAUNCHES:
            file, offset = self._expanded(self._lib.clang_getCursorLocation(cursor))
            if file is not None:
                file.launches.append(offset)
        if not (name or value or entity.call or entity.shared):
            return
        if (word == "type" and not name) or entity.kind in _CALLABLE:
            name = entity.name
        location = self._lib.clang_getCursorLocation(cursor)
        self._add(location, entity.spelled, word, name, value)
        if entity.call:
            self._add(location, entity.spelled, "call", entity.name, entity.call)

    def _note_member(self, cursor: Cursor, entity: _Entity) -> None:
        value = self._class_of_cursor(cursor) if entity.kind in _DATA else ""
        if not (entity.owner or value or entity.call or entity.name.startswith(_FRAMEWORK) or entity.shared):
            return
        location = self._lib.clang_getCursorLocation(cursor)
        self._add(location, entity.spelled, "member", entity.name, entity.owner)
        if value:
            self._add(location, entity.spelled, "value", "", value)
        if entity.call:
            self._add(location, entity.spelled, "call", entity.name, entity.call)

    def _note_declaration(self, cursor: Cursor, parent: Cursor, kind: int) -> None:
        value = self._class_of_cursor(cursor)
        location = self._lib.clang_getCursorLocation(cursor)
        if value:
            name = libclang.text(self._lib.clang_getCursorSpelling(cursor))
            if name:
                self._add(location, name.encode(), _DECLARATIONS[kind], "", value)
        if kind == _K.PARAMETER and parent.kind in _FUNCTIONS:
            draft = self._drafts.get(parent.d0 or 0)
            if draft is not None:
                name = libclang.text(self._lib.clang_getCursorSpelling(cursor))
                spelled = libclang.text(self._lib.clang_getTypeSpelling(self._lib.clang_getCursorType(cursor)))
                draft.params.append((name, value, spelled, self._extent(cursor)))

    def _note_function(self, cursor: Cursor) -> None:
        location = self._lib.clang_getCursorLocation(cursor)
        file, offset = self._spelled(location)
        scope = self._scope_of(self._lib.clang_getCursorSemanticParent(cursor))
        if file is None or scope is None or not cursor.d0:
            return
        name = libclang.text(self._lib.clang_getCursorSpelling(cursor)).partition("<")[0]
        result = self._lib.clang_getCursorResultType(cursor)
        draft = FunctionDraft(
            name=name,
            qualified="::".join([*(p for p in scope if p), name]),
            name_start=offset,
            extent=self._extent(cursor),
            returns=self._class_of_type(result),
            returns_spelled=libclang.text(self._lib.clang_getTypeSpelling(result)),
            is_template=cursor.kind == _K.FUNCTION_TEMPLATE,
            linkage=self._linkage(cursor),
        )
        self._drafts[cursor.d0] = draft
        file.functions.append(draft)

    def _note_overloads(self, cursor: Cursor, parent: Cursor) -> None:
        """A name that is not resolved to one declaration: a using-declaration, or a call with dependent arguments."""
        count = self._lib.clang_getNumOverloadedDecls(cursor)
        location = self._lib.clang_getCursorLocation(cursor)
        for i in range(count):
            entity = self._entity(self._lib.clang_getOverloadedDecl(cursor, i))
            if not (entity.name.startswith(_FRAMEWORK) or entity.owner or entity.shared):
                continue
            if parent.kind == _K.MEMBER_REF_EXPR:
                self._add(location, entity.spelled, "member", entity.name, entity.owner)
            elif entity.kind in _TYPES:
                self._add(location, entity.spelled, "type", entity.name, type_class(entity.name))
            else:
                self._add(location, entity.spelled, "value", entity.name, "")
            if entity.call:
                self._add(location, entity.spelled, "call", entity.name, entity.call)

    def _note_include(self, cursor: Cursor) -> None:
        file, offset = self._expanded(self._lib.clang_getCursorLocation(cursor))
        if file is None:
            return
        handle = self._lib.clang_getIncludedFile(cursor)
        resolved = self._shown_path(libclang.text(self._lib.clang_getFileName(handle))) if handle else ""
        spelled = libclang.text(self._lib.clang_getCursorSpelling(cursor))
        self._includes.append(IncludeFact(file.path, offset, spelled, resolved))

    def _add(self, location: Location, spelled: bytes, kind: str, name: str, value: str) -> None:
        file, offset = self._spelled(location)
        if file is None:
            return
        end = offset + len(spelled)
        if file.data[offset:end] != spelled or _is_word(file.data, end) or _is_word(file.data, offset - 1):
            return
        file.names.add(NameFact(offset, kind, name, value))

    # -- places -------------------------------------------------------------------------------------------------

    def _expanded(self, location: Location) -> tuple[ProjectFile | None, int]:
        """Where the token stands in a file; a token of a macro body stands where the macro is expanded."""
        handle, offset = c_void_p(), c_uint()
        self._lib.clang_getFileLocation(location, byref(handle), None, None, byref(offset))
        return self._file(handle.value), offset.value

    def _spelled(self, location: Location) -> tuple[ProjectFile | None, int]:
        """Where the token is spelled in a file, be that a macro body. No file for a pasted token.

        libclang 18 has no public call for it (clang_getSpellingLocation gives the expansion point), but clang_tokenize
        lexes at the spelling location, and a token knows its place. An empty range yields exactly one token.
        """
        if not location.raw & MACRO_BIT:
            return self._expanded(location)
        tokens, count = POINTER(Token)(), c_uint()
        self._lib.clang_tokenize(self._unit, self._lib.clang_getRange(location, location), byref(tokens), byref(count))
        if not count.value:
            return None, 0
        place = self._lib.clang_getTokenLocation(self._unit, tokens[0])
        self._lib.clang_disposeTokens(self._unit, tokens, count.value)
        return self._expanded(place)

    def _extent(self, cursor: Cursor) -> tuple[str, int, int]:
        """(path, start, end) of a cursor in its file, macros counted where they are expanded; ("", 0, 0) for none."""
        extent = self._lib.clang_getCursorExtent(cursor)
        first, start = self._expanded(self._lib.clang_getRangeStart(extent))
        last, end = self._expanded(self._lib.clang_getRangeEnd(extent))
        if first is None or first is not last or start >= end:
            return "", 0, 0
        return first.path, start, end

    def _file(self, handle: int | None) -> ProjectFile | None:
        if not handle:
            return None
        if handle in self._files:
            return self._files[handle]
        path = self._project_path(libclang.text(self._lib.clang_getFileName(handle)))
        found: ProjectFile | None = None
        if path:
            found = next((f for f in self._files.values() if f is not None and f.path == path), None)
            if found is None:
                size = c_size_t()
                start = self._lib.clang_getFileContents(self._unit, handle, byref(size))
                found = ProjectFile(path, ctypes.string_at(start, size.value) if start else b"")
        self._files[handle] = found
        return found

    # -- types and names ----------------------------------------------------------------------------------------

    def _class_of_cursor(self, cursor: Cursor) -> str:
        return self._class_of_type(self._lib.clang_getCursorType(cursor))

    def _class_of_type(self, found: Type) -> str:
        key = found.d0
        if not key:
            return ""
        known = self._classes.get(key)
        if known is None:
            canonical = self._lib.clang_getCanonicalType(found)
            known = type_class(libclang.text(self._lib.clang_getTypeSpelling(canonical)))
            self._classes[key] = known
        return known

    def _entity(self, decl: Cursor) -> _Entity:
        key = decl.d0 or 0
        known = self._entities.get(key)
        if known is None:
            known = self._entities[key] = self._describe(decl)
        return known

    def _describe(self, decl: Cursor) -> _Entity:
        spelled = libclang.text(self._lib.clang_getCursorSpelling(decl))
        parent = self._lib.clang_getCursorSemanticParent(decl)
        scope = self._scope_of(parent)
        name = "" if scope is None else canonical_name("::".join([*scope, spelled]))
        call = ""
        shared = False
        owner = ""
        if parent.kind in _TYPES:
            owner = self._class_of_cursor(parent)
        if decl.kind in _CALLABLE:
            call = self._class_of_type(self._lib.clang_getCursorResultType(decl))
            shared = scope is not None and not name.startswith(_FRAMEWORK) and self._is_shared(decl)
        return _Entity(decl.kind, name, spelled.encode(), call, owner, shared)

    def _is_shared(self, decl: Cursor) -> bool:
        """True for a function of the project with a parameter of a classed type."""
        file, _ = self._expanded(self._lib.clang_getCursorLocation(decl))
        if file is None:
            return False
        signature = self._lib.clang_getCursorType(decl)
        count = self._lib.clang_getNumArgTypes(signature)
        return any(self._class_of_type(self._lib.clang_getArgType(signature, i)) for i in range(max(0, count)))

    def _scope_of(self, parent: Cursor) -> tuple[str, ...] | None:
        """Names of the namespaces and classes from the outside in, "" for anonymous ones; None inside a function."""
        if parent.kind == _K.TRANSLATION_UNIT or not parent.d0:
            return ()
        if parent.kind == _K.LINKAGE_SPEC:
            return self._scope_of(self._lib.clang_getCursorSemanticParent(parent))
        if parent.kind not in _SCOPES:
            return None
        if parent.d0 in self._scopes:
            return self._scopes[parent.d0]
        outer = self._scope_of(self._lib.clang_getCursorSemanticParent(parent))
        scope: tuple[str, ...] | None = None
        if outer is not None:
            spelled = libclang.text(self._lib.clang_getCursorSpelling(parent))
            anonymous = not spelled or spelled.startswith("(")
            inline = parent.kind == _K.NAMESPACE and self._lib.clang_Cursor_isInlineNamespace(parent)
            scope = outer if inline else (*outer, "" if anonymous else spelled)
        self._scopes[parent.d0] = scope
        return scope

    def _linkage(self, cursor: Cursor) -> tuple[str, int, int] | None:
        """The extent of the extern "C" that encloses the function's first declaration, None when there is none.

        For a function declared again without it the extent is that of the first declaration: another place, same C
        linkage.
        """
        outer = self._lib.clang_getCursorLexicalParent(cursor)
        if outer.kind != _K.LINKAGE_SPEC:
            outer = self._lib.clang_getCursorLexicalParent(self._lib.clang_getCanonicalCursor(cursor))
        if outer.kind != _K.LINKAGE_SPEC:
            return None
        extent = self._lib.clang_getCursorExtent(outer)
        file, start = self._expanded(self._lib.clang_getRangeStart(extent))
        if file is not None and _CPP_LINKAGE.match(file.data, start):
            return None
        return self._extent(outer)


_CPP_LINKAGE = re.compile(rb'extern\s*"C\+\+"')


def _is_word(data: bytes, offset: int) -> bool:
    """True when the byte at ``offset`` could be part of an identifier."""
    return 0 <= offset < len(data) and (
        data[offset : offset + 1].isalnum() or data[offset] in b"_$" or data[offset] > 127
    )
