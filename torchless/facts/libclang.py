"""The part of libclang's C interface that torchless calls, bound with ctypes.

Plain structures by value and no wrapper objects: a visitor that is called for every cursor of a translation unit spends
its time in libclang, not in building Python objects. Names and numbers are those of clang-c/Index.h, libclang 18.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Mapping, Sequence
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_uint, c_void_p
from functools import cache
from pathlib import Path
from typing import Any

MACRO_BIT = 0x80000000
"""Set in a raw location that lies in a macro expansion (argument or body)."""

# CXTranslationUnit_Flags
DETAILED_PREPROCESSING = 0x01
FOR_SERIALIZATION = 0x10
KEEP_GOING = 0x200

# CXChildVisitResult
BREAK, CONTINUE, RECURSE = 0, 1, 2

# CXDiagnosticSeverity
WARNING, ERROR, FATAL = 2, 3, 4


class CursorKind:
    """CXCursorKind, as far as it is asked for."""

    STRUCT, UNION, CLASS, ENUM, FIELD, ENUM_CONSTANT = 2, 3, 4, 5, 6, 7
    FUNCTION, VARIABLE, PARAMETER = 8, 9, 10
    TYPEDEF, METHOD, NAMESPACE, LINKAGE_SPEC = 20, 21, 22, 23
    CONSTRUCTOR, DESTRUCTOR, CONVERSION = 24, 25, 26
    FUNCTION_TEMPLATE, CLASS_TEMPLATE = 30, 31
    USING_DECLARATION, TYPE_ALIAS = 35, 36
    TYPE_REF, TEMPLATE_REF, MEMBER_REF, OVERLOADED_REF, VARIABLE_REF = 43, 45, 47, 49, 50
    DECL_REF_EXPR, MEMBER_REF_EXPR = 101, 102
    COMPOUND_STMT, TRY_STMT = 202, 224
    TRANSLATION_UNIT = 350
    GLOBAL_ATTR = 414
    FIRST_PREPROCESSING, INCLUSION = 500, 503


class TypeKind:
    """CXTypeKind, as far as it is asked for."""

    INVALID, POINTER, LVALUE_REFERENCE, RVALUE_REFERENCE = 0, 101, 103, 104


class Cursor(ctypes.Structure):
    """CXCursor. ``d0`` is the declaration of a declaration cursor, ``d1`` the expression of an expression cursor."""

    _fields_ = (("kind", c_int), ("xdata", c_int), ("d0", c_void_p), ("d1", c_void_p), ("d2", c_void_p))
    kind: int
    xdata: int
    d0: int | None
    d1: int | None
    d2: int | None


class Type(ctypes.Structure):
    """CXType. ``d0`` tells types of one translation unit apart, qualifiers included."""

    _fields_ = (("kind", c_int), ("d0", c_void_p), ("d1", c_void_p))
    kind: int
    d0: int | None


class Location(ctypes.Structure):
    """CXSourceLocation. ``raw`` is clang's own encoding, see MACRO_BIT."""

    _fields_ = (("p0", c_void_p), ("p1", c_void_p), ("raw", c_uint))
    raw: int


class Range(ctypes.Structure):
    """CXSourceRange."""

    _fields_ = (("p0", c_void_p), ("p1", c_void_p), ("begin", c_uint), ("end", c_uint))
    begin: int
    end: int


class Token(ctypes.Structure):
    """CXToken."""

    _fields_ = (("i0", c_uint), ("i1", c_uint), ("i2", c_uint), ("i3", c_uint), ("p", c_void_p))


class String(ctypes.Structure):
    """CXString; read it with text(), which also frees it."""

    _fields_ = (("data", c_void_p), ("flags", c_uint))


class UnsavedFile(ctypes.Structure):
    """CXUnsavedFile: contents that stand in for a file."""

    _fields_ = (("name", c_char_p), ("contents", c_char_p), ("length", ctypes.c_ulong))


Visitor = ctypes.CFUNCTYPE(c_int, Cursor, Cursor, c_void_p)
InclusionVisitor = ctypes.CFUNCTYPE(None, c_void_p, POINTER(Location), c_uint, c_void_p)

_PROTOTYPES: Mapping[str, tuple[Any, tuple[Any, ...]]] = {
    "clang_createIndex": (c_void_p, (c_int, c_int)),
    "clang_disposeIndex": (None, (c_void_p,)),
    "clang_parseTranslationUnit2": (
        c_int,
        (c_void_p, c_char_p, POINTER(c_char_p), c_int, POINTER(UnsavedFile), c_uint, c_uint, POINTER(c_void_p)),
    ),
    "clang_disposeTranslationUnit": (None, (c_void_p,)),
    "clang_saveTranslationUnit": (c_int, (c_void_p, c_char_p, c_uint)),
    "clang_getClangVersion": (String, ()),
    "clang_getCString": (c_char_p, (String,)),
    "clang_disposeString": (None, (String,)),
    "clang_getTranslationUnitCursor": (Cursor, (c_void_p,)),
    "clang_visitChildren": (c_uint, (Cursor, Visitor, c_void_p)),
    "clang_getCursorLocation": (Location, (Cursor,)),
    "clang_getCursorExtent": (Range, (Cursor,)),
    "clang_getCursorSpelling": (String, (Cursor,)),
    "clang_getCursorReferenced": (Cursor, (Cursor,)),
    "clang_getCursorSemanticParent": (Cursor, (Cursor,)),
    "clang_getCursorLexicalParent": (Cursor, (Cursor,)),
    "clang_getCanonicalCursor": (Cursor, (Cursor,)),
    "clang_getCursorType": (Type, (Cursor,)),
    "clang_getCursorResultType": (Type, (Cursor,)),
    "clang_getCanonicalType": (Type, (Type,)),
    "clang_getPointeeType": (Type, (Type,)),
    "clang_getTypeSpelling": (String, (Type,)),
    "clang_getNumArgTypes": (c_int, (Type,)),
    "clang_getArgType": (Type, (Type, c_uint)),
    "clang_getNumOverloadedDecls": (c_uint, (Cursor,)),
    "clang_getOverloadedDecl": (Cursor, (Cursor, c_uint)),
    "clang_Cursor_isInlineNamespace": (c_uint, (Cursor,)),
    "clang_isCursorDefinition": (c_uint, (Cursor,)),
    "clang_getFileLocation": (
        None,
        (Location, POINTER(c_void_p), POINTER(c_uint), POINTER(c_uint), POINTER(c_uint)),
    ),
    "clang_getRangeStart": (Location, (Range,)),
    "clang_getRangeEnd": (Location, (Range,)),
    "clang_getRange": (Range, (Location, Location)),
    "clang_tokenize": (None, (c_void_p, Range, POINTER(POINTER(Token)), POINTER(c_uint))),
    "clang_getTokenLocation": (Location, (c_void_p, Token)),
    "clang_disposeTokens": (None, (c_void_p, POINTER(Token), c_uint)),
    "clang_getFileName": (String, (c_void_p,)),
    "clang_File_tryGetRealPathName": (String, (c_void_p,)),
    "clang_getFileContents": (c_void_p, (c_void_p, c_void_p, POINTER(c_size_t))),
    "clang_getIncludedFile": (c_void_p, (Cursor,)),
    "clang_getInclusions": (None, (c_void_p, InclusionVisitor, c_void_p)),
    "clang_getNumDiagnostics": (c_uint, (c_void_p,)),
    "clang_getDiagnostic": (c_void_p, (c_void_p, c_uint)),
    "clang_disposeDiagnostic": (None, (c_void_p,)),
    "clang_getDiagnosticSeverity": (c_int, (c_void_p,)),
    "clang_getDiagnosticCategory": (c_uint, (c_void_p,)),
    "clang_getDiagnosticSpelling": (String, (c_void_p,)),
    "clang_getDiagnosticLocation": (Location, (c_void_p,)),
}


class LibclangError(Exception):
    """libclang could not be loaded, or could not parse; the message is one line."""


@cache
def library() -> Any:
    """The loaded library with its prototypes set. TORCHLESS_LIBCLANG names another one. Raises LibclangError."""
    path = os.environ.get("TORCHLESS_LIBCLANG") or str(_bundled())
    try:
        lib = ctypes.CDLL(path)
        for name, (result, arguments) in _PROTOTYPES.items():
            function = getattr(lib, name)
            function.restype = result
            function.argtypes = arguments
    except (OSError, AttributeError) as error:
        raise LibclangError(f"cannot load libclang from {path}: {error}") from None
    return lib


def _bundled() -> Path:
    """The library that the libclang wheel installs beside its Python package."""
    try:
        import clang
    except ImportError:
        raise LibclangError("the libclang package is not installed") from None
    name = {"darwin": "libclang.dylib", "win32": "libclang.dll"}.get(sys.platform, "libclang.so")
    for folder in clang.__path__:
        candidate = Path(folder) / "native" / name
        if candidate.exists():
            return candidate
    raise LibclangError("the libclang package holds no native library; install the libclang wheel")


def text(string: String) -> str:
    """The characters of a CXString, which is freed."""
    lib = library()
    raw = lib.clang_getCString(string)
    lib.clang_disposeString(string)
    return raw.decode("utf-8", "replace") if raw is not None else ""


@cache
def version() -> str:
    """What libclang says of itself, e.g. ``clang version 18.1.1``."""
    return text(library().clang_getClangVersion())


def parse_unit(index: int, source: str, arguments: Sequence[str], unsaved: Mapping[str, bytes], options: int) -> int:
    """Parse and return the CXTranslationUnit; the caller disposes of it. Raises LibclangError when there is none.

    ``unsaved`` maps absolute paths to contents that stand in for files, whether these exist or not.
    """
    lib = library()
    argv = (c_char_p * len(arguments))(*[os.fsencode(a) for a in arguments])
    files = (UnsavedFile * len(unsaved))()
    for slot, (path, contents) in zip(files, unsaved.items(), strict=True):
        slot.name, slot.contents, slot.length = os.fsencode(path), contents, len(contents)
    unit = c_void_p()
    code = lib.clang_parseTranslationUnit2(
        index, os.fsencode(source), argv, len(argv), files, len(files), options, byref(unit)
    )
    if code != 0 or not unit.value:
        reasons = {2: "libclang crashed", 3: "invalid arguments", 4: "a precompiled header could not be read"}
        raise LibclangError(reasons.get(code, "no translation unit (is a flag or the precompiled header wrong?)"))
    return unit.value
