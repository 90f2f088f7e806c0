"""A comment suppresses what it names where it stands, and one that suppresses nothing is reported."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchless.model import Edit, Finding
from torchless.suppress import Outcome, Suppressions, apply, read
from torchless.text.source import SourceFile


def outcome(path: str, data: bytes, *marks: str, codes: tuple[str, ...] = ("TL203",), **options) -> Outcome:
    """Findings with ``codes`` at every place of ``marks`` in ``data``, after the suppressions in it."""
    findings = [
        Finding(code, "found", path, at, at + len(mark), edits=(Edit(path, at, at, b"x"),))
        for mark in marks
        for at in places(data, mark.encode())
        for code in codes
    ]
    return apply(findings, {path: read(SourceFile(path, data))}, **options)


def places(data: bytes, mark: bytes) -> list[int]:
    return [i for i in range(len(data)) if data.startswith(mark, i)]


def suppressed(path: str, data: bytes, *marks: str, **options) -> set[bytes]:
    """The marks that were suppressed; everything is either kept or suppressed."""
    result = outcome(path, data, *marks, **options)
    assert len(result.kept) + len(result.suppressed) == sum(len(places(data, m.encode())) for m in marks)
    return {data[s.finding.start : s.finding.end] for s in result.suppressed}


@pytest.mark.parametrize("eol", [b"\n", b"\r\n"])
@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("AA; // torchless: ignore[TL203] why\nBB;", {b"AA"}),
        ("AA;\n// torchless: ignore[TL203] why\nBB;\nCC;", {b"BB"}),
        ("AA;\n  /* torchless: ignore[TL203] why */\n  BB;\nCC;", {b"BB"}),
        ("AA; /* torchless: ignore[TL203] */ BB;\nCC;", {b"AA", b"BB"}),
        ("/* torchless: ignore[TL203] */ AA;\nBB;", {b"AA"}),
        ("// torchless: ignore[TL203] why,\n// at length\nAA;\nBB;", {b"AA"}),
        ("// torchless: ignore[TL301] one\n// torchless: ignore[TL203] two\nAA;", {b"AA"}),
        ("/* torchless: ignore[TL203]\n   why */\nAA;", {b"AA"}),
        ("/*\n * torchless: ignore[TL203] why\n */ AA;\nBB;", {b"AA"}),
        ("// torchless: ignore[TL203]\n\nAA;", set()),
        ("AA; // torchless: ignore[TL301] other\nBB;", set()),
        ("AA; // torchless: ignore[TL301, TL2] prefix\nBB;", {b"AA"}),
        ("AA; // NOLINT // torchless: ignore[TL203] why", {b"AA"}),
        ("AA; // see `torchless: ignore[TL203]`", set()),
        ('f("// torchless: ignore[TL203]"); AA;', set()),
        ('f(R"(\n// torchless: disable[TL203]\n)"); AA;', set()),
        ("#define M(x) \\\n  AA(x); /* torchless: ignore[TL203] why */ \\\n  BB(x)\nCC;", {b"AA"}),
        ("#define M(x) \\\n  /* torchless: ignore[TL203] why */ \\\n  AA(x); \\\n  BB(x)\nCC;", {b"AA"}),
        ("AA;\n// torchless: disable[TL203] why\nBB;\n// torchless: enable[TL203]\nCC;", {b"BB"}),
        ("AA;\n// torchless: disable[TL203]\nBB;\nCC;", {b"BB", b"CC"}),
        ("AA; // torchless: disable[TL203]\nBB; /* torchless: enable[TL2] */ CC;", {b"BB"}),
        ("// torchless: disable[TL2]\nAA;\n// torchless: enable[TL203]\nBB;", {b"AA"}),
        ("// torchless: disable[TL2]\nAA;\n// torchless: enable[TL201]\nBB;", {b"AA", b"BB"}),
        ("// torchless: disable[TL203,TL301]\n// torchless: enable[TL301]\nBB;", {b"BB"}),
        ("AA;\nBB;\n// torchless: file-ignore[TL2] all of it", {b"AA", b"BB"}),
        ("AA;\n// torchless: file-ignore[TL3] all of it", set()),
    ],
)
def test_cpp(text: str, hidden: set[bytes], eol: bytes) -> None:
    data = text.encode().replace(b"\n", eol)
    assert suppressed("a.cu", data, "AA", "BB", "CC") == hidden
    assert suppressed("a.cu", b"\xef\xbb\xbf// caf\xe9" + eol + data, "AA", "BB", "CC") == hidden


@pytest.mark.parametrize("eol", [b"\n", b"\r\n"])
@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("AA()  # torchless: ignore[TL203] why\nBB()", {b"AA"}),
        ("# torchless: ignore[TL203] why\nAA()\nBB()", {b"AA"}),
        ("AA()  # noqa: E501  # torchless: ignore[TL203] why", {b"AA"}),
        ("x = 'é漢'; AA()  # torchless: ignore[TL203] why\nBB()", {b"AA"}),
        ("AA('# torchless: ignore[TL203]')", set()),
        ('"""\n# torchless: disable[TL203]\n"""\nAA()', set()),
        ("f'{AA()} # torchless: ignore[TL203]'", set()),
        ("# torchless: disable[TL203]\nAA(\n    BB,\n)\n# torchless: enable[TL203]\nCC()", {b"AA", b"BB"}),
        ("AA(\n    BB,  # torchless: ignore[TL203] why\n)", {b"BB"}),
        ("def f():\n    # torchless: ignore[TL203] why\n    AA()\n\nBB()", {b"AA"}),
        ("AA()  # torchless: ignore[TL203]\n'''never closed", {b"AA"}),
    ],
)
def test_python(text: str, hidden: set[bytes], eol: bytes) -> None:
    data = text.encode().replace(b"\n", eol)
    assert suppressed("ops.py", data, "AA", "BB", "CC") == hidden
    assert suppressed("ops.py", b"\xef\xbb\xbf" + data, "AA", "BB", "CC") == hidden


def test_p08_python_in_latin1() -> None:
    data = b"# -*- coding: latin-1 -*-\nx = '\xe9'; AA()  # torchless: ignore[TL203] caf\xe9\nBB()\n"
    assert suppressed("ops.py", data, "AA", "BB") == {b"AA"}
    assert suppressed("ops.py", data.replace(b"latin-1", b"nonsense"), "AA", "BB") == set()
    assert suppressed("ops.py", data.replace(b"latin-1", b"utf-8"), "AA", "BB") in ({b"AA"}, set())


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ("AA; // torchless: ignore[TL203] why", []),
        ("b; // torchless: ignore[TL203] why", ["ignore[TL203] suppresses nothing"]),
        ("AA; // torchless: ignore[TL203,TL301]", ["ignore[TL301] suppresses nothing"]),
        ("// torchless: disable[TL4]\nAA;\n// torchless: enable[TL4]", ["disable[TL4] suppresses nothing"]),
        ("AA;\n// torchless: enable[TL203]", ["enable[TL203] enables what nothing disables"]),
        (
            "// torchless: disable[TL2]\nAA;\n// torchless: enable[TL2]\n// torchless: enable[TL203]",
            ["enable[TL203] enables what nothing disables"],
        ),
        ("// torchless: disable[TL2]\nAA;\n// torchless: enable[TL203]", []),
        (
            "// torchless: file-ignore[TL203]\n// torchless: file-ignore[TL1]\nAA;",
            ["file-ignore[TL1] suppresses nothing"],
        ),
        ("AA; // torchless: ignore", ["ignore names no code: write ignore[TL203] with the codes that it is about"]),
        ("AA; // torchless: ignore[]", ["ignore names no code: write ignore[TL203] with the codes that it is about"]),
        ("AA; // torchless: ignore[TL] all", ['"TL" in ignore[...] is not a code or a prefix of one']),
        ("AA; // torchless: ignore[TL203 TL2]", ['"TL203 TL2" in ignore[...] is not a code or a prefix of one']),
        ("AA; // torchless: ignore[E501]", ['"E501" in ignore[...] is not a code or a prefix of one']),
        ("AA; // torchless: skip[TL203]", ['"torchless: skip" is none of ignore, disable, enable, file-ignore']),
        ("AA; // TORCHLESS-TODO(TL412): later, says torchless: ignore[TL203]", []),
        ("AA; // torchless: ignore[TL001,TL203]", ["ignore[TL001] suppresses nothing"]),
    ],
)
def test_what_suppresses_nothing_is_a_finding(text: str, messages: list[str]) -> None:
    data = b"\n" + text.encode()
    stale = outcome("a.cu", data, "AA").stale
    assert [f.message for f in stale] == messages
    for finding in stale:
        assert finding.code == "TL001" and finding.edits == () and not finding.blocks
        comment = data[finding.start : finding.end]
        assert comment.startswith(b"//") and b"\n" not in comment
        assert data.split(b"\n")[finding.line - 1][finding.column - 1 :].startswith(comment)


def test_nested_ways_of_suppressing_are_all_in_use() -> None:
    data = b"// torchless: file-ignore[TL2]\n// torchless: disable[TL20]\n// torchless: ignore[TL203] why\nAA;\n"
    result = outcome("a.cu", data, "AA")
    assert result.stale == ()
    assert result.suppressed[0].directive.verb == "ignore" and result.suppressed[0].directive.reason == "why"


def test_what_this_run_did_not_look_for_is_not_stale() -> None:
    data = b"// torchless: file-ignore[TL3] a\n// torchless: file-ignore[TL203] b\nAA;"
    looked_for = ("TL2", "TL201").__contains__
    assert outcome("a.cu", data, codes=(), looked_for=looked_for).stale == ()
    stale = outcome("a.cu", data, codes=(), looked_for=lambda code: code == "TL3").stale
    assert [f.message for f in stale] == ["file-ignore[TL3] suppresses nothing"]


def test_reasons_are_kept_for_reports() -> None:
    data = (
        b"/* torchless: ignore[TL2] for the caller */ // torchless: ignore[TL1] two // torchless: ignore[TL3] three\r\n"
    )
    reasons = [d.reason for d in read(SourceFile("a.cu", data)).directives]
    assert reasons == ["for the caller", "two", "three"]


def test_other_files_are_not_concerned() -> None:
    finding = Finding("TL203", "found", "b.cu", 0, 1)
    empty = apply([finding], {"a.cu": read(SourceFile("a.cu", b"// torchless: file-ignore[TL2]\n"))})
    assert empty.kept == (finding,) and len(empty.stale) == 1
    assert apply([finding], {}) == Outcome((finding,), (), ())


PIECES = [b"// torchless: ", b"ignore[TL2]", b"disable[TL203]", b"enable[TL2]", b"file-ignore[TL1,TL2]", b"/*", b"*/"]
PIECES += [
    b"\n",
    b"\r\n",
    b"AA;",
    b'"',
    b'R"(',
    b')"',
    b"# torchless: ",
    b"'''",
    b"\\",
    b" ",
    b"\xe9",
    b"torchless:",
    b"x",
]


@given(st.lists(st.sampled_from(PIECES), max_size=20).map(b"".join), st.sampled_from(["a.cu", "a.py"]))
def test_any_text_is_read(data: bytes, path: str) -> None:
    file = read(SourceFile(path, data))
    assert isinstance(file, Suppressions)
    for directive in file.directives:
        assert b"torchless:" in data[directive.start : directive.end]
        assert directive.codes and set(directive.codes) <= {"TL1", "TL2", "TL203"}
    result = outcome(path, data, "AA")
    assert len(result.kept) + len(result.suppressed) == data.count(b"AA")
    assert not result.suppressed or file.directives
    assert result == outcome(path, data, "AA")


def test_long_runs_of_stars_are_quick() -> None:
    data = b"/*" + b"*\n" * 20_000 + b"torchless: ignore[TL2] */" + b"// torchless: ignore[TL2] a\nAA;\n" * 500
    assert len(read(SourceFile("a.cu", data)).directives) == 501
