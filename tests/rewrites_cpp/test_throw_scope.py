"""Where the scope that lets checks throw goes."""

from __future__ import annotations

import re

import pytest

from torchless.facts.model import FileFacts, FunctionFact
from torchless.facts.typing import FileView, make_view
from torchless.rewrites.throw_scope import SCOPE, findings
from torchless.text.edits import apply
from torchless.text.source import BOM, SourceFile

TYPE = re.compile(rb"namespace \{\r?\n// Lets checks throw.*?\} // namespace\r?\n", re.S)
OBJECT = f"const {SCOPE} throw_scope;"


def view_of(data: bytes) -> FileView:
    """A view with a fact for each ``void name(...) {`` whose body ends in the next }."""
    functions = []
    for m in re.finditer(rb"void (\w+)\([^)]*\)\s*(\{|;)", data):
        opens, end = (-1, -1) if m[2] == b";" else (m.end() - 1, data.index(b"}", m.end()) + 1)
        functions.append(
            FunctionFact(
                "a.cu", m.start(), max(end, m.end()), f"ns::{m[1].decode()}", m.start(1), opens, end, (), "", "void",
                *(False,) * 4,
            )
        )  # fmt: skip
    return make_view(SourceFile("a.cu", data), [FileFacts("a.cu", (), tuple(functions))])


def scoped(text: str | bytes, *names: str, offered: tuple[str, ...] = ()) -> str:
    """The new text, the type's definition shortened to TYPE; a second run must find nothing."""
    data = text.encode() if isinstance(text, str) else text
    wanted = {f"ns::{name}" for name in names or ("f",)}
    new = apply(data, [e for f in findings(view_of(data), wanted, offered) for e in f.edits])
    assert findings(view_of(new), wanted, offered) == []
    return TYPE.sub(b"TYPE\n", new).decode("latin-1")


def test_the_type_stands_once_behind_the_includes_and_the_object_first_in_each_function() -> None:
    text = (
        '#include "a.h"\n#include <b>\n\nvoid f(int x)\n{\n  one;\n}\n'
        "void g() {\n\n\ttwo;\n}\nvoid other() { three; }\n"
    )
    assert scoped(text, "f", "g") == (
        f'#include "a.h"\n#include <b>\n\nTYPE\n\nvoid f(int x)\n{{\n  {OBJECT}\n  one;\n}}\n'
        f"void g() {{\n\t{OBJECT}\n\n\ttwo;\n}}\nvoid other() {{ three; }}\n"
    )


@pytest.mark.parametrize(
    ("body", "want"),
    [
        ("{ one; }", f"{{ {OBJECT} one; }}"),
        ("{}", f"{{ {OBJECT}}}"),
        ("{\n}", f"{{\n    {OBJECT}\n}}"),
        ("{  // why\n  one;\n}", f"{{  // why\n  {OBJECT}\n  one;\n}}"),
        ("{ /* why */ one;\n}", f"{{ {OBJECT} /* why */ one;\n}}"),
    ],
)
def test_the_object_is_laid_out_as_its_surroundings(body: str, want: str) -> None:
    assert scoped(f"void f() {body}\n", offered=(SCOPE,)) == f"void f() {want}\n"


@pytest.mark.parametrize(
    "text",
    [
        # an #if that the function is not in
        '#include "a.h"\n@#if X\n#include "b.h"\n#endif\nF',
        '#if X\n#include "a.h"\n#else\n#include "b.h"\n#endif\n@F',
        # one that it is in
        '#if X\n#include "a.h"\n@F#endif\n',
        '#if X\nint x;\n#else\n#include "a.h"\n@F#endif\n',
        '@#if X\n#include "a.h"\n#else\nF#endif\n',
        # an include guard
        '#ifndef A\n#define A\n#include "a.h"\n@F#endif\n',
        # includes among the code
        '#include "a.h"\n@F#include "late.inl"\n',
        '#include "a.h"\n@namespace n {\n#include "in.inl"\n}\nF',
        '#include "a.h"\nint x;\n#include "b.h"\n@F',
        # none at all
        "// licence\n@\nF",
        "@F",
    ],
)
def test_the_place_of_the_type(text: str) -> None:
    """It goes where the @ is."""
    body, new = "void f()\n{\n    one;\n}\n", f"void f()\n{{\n    {OBJECT}\n    one;\n}}\n"
    assert scoped(text.replace("@", "").replace("F", body)) == text.replace("@", "\nTYPE\n").replace("F", new)


def test_functions_in_different_arms_share_one_type_before_both() -> None:
    text = '#include "a.h"\n#if X\n#include "x.h"\nvoid f() { one; }\n#else\nvoid g() { two; }\n#endif\n'
    got = scoped(text, "f", "g")
    assert got.startswith('#include "a.h"\n\nTYPE\n#if X\n')
    assert got.count("TYPE") == 1 and got.count(OBJECT) == 2


def test_line_ends_and_bom() -> None:
    text = b'#include "a.h"\r\nvoid f()\r\n{\r\n    one;\r\n}\r\n'
    data = BOM + text
    edits = [e for f in findings(view_of(data), {"ns::f"}, ()) for e in f.edits]
    new = apply(data, edits)
    assert new.startswith(BOM + b'#include "a.h"\r\n\r\nnamespace {\r\n')
    assert new.count(b"\n") == new.count(b"\r\n")
    bare = BOM + b"void f()\r\n{\r\n}\r\n"
    assert apply(bare, [e for f in findings(view_of(bare), {"ns::f"}, ()) for e in f.edits]).startswith(BOM + b"\r\n")


def test_an_include_on_the_last_line_without_its_end() -> None:
    assert "TYPE" in scoped('void f() { one; }\n#include "a.inl"')


def test_only_what_is_asked_for_and_not_there_yet() -> None:
    text = '#include "a.h"\nvoid f();\nvoid f(int) { one; }\nvoid g() { two; }\n'
    assert findings(view_of(text.encode()), set(), ()) == []
    assert findings(view_of(text.encode()), {"f", "other::g"}, ()) == []  # names are qualified
    assert [f.message for f in findings(view_of(text.encode()), {"ns::f"}, {SCOPE})] == ["ns::f lets its checks throw"]
    # a file that was migrated before, with one more function now
    half = scoped(text, "f").replace("TYPE", f"struct {SCOPE} {{ }};")
    again = scoped(half, "f", "g")
    assert again.count(OBJECT) == 2 and again.count("struct") == 1
