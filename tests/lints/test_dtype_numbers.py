from __future__ import annotations

from pathlib import Path

import pytest

from tests.lints.conftest import EXCERPT, Found, findings_in, mend


@pytest.mark.parametrize(
    ("code", "spelled"),
    [
        ("n = rows * x.dtype();", "rows * x.dtype()"),
        ("n = x.dtype() * rows;", "x.dtype() * rows"),
        ("n = y->scalar_type() - 1;", "y->scalar_type() - 1"),
        ("n = 4 / xs[i].tensor().dtype();", "4 / xs[i].tensor().dtype()"),
        ("n = f(a) + x.dtype();", ") + x.dtype()"),
        ("n = x.dtype() % size(a, b) + 2;", "x.dtype() % size(a, b)"),
        ("#define VEC(x) (16 / x.dtype())", "16 / x.dtype()"),
    ],
)
def test_arithmetic(found: Found, code: str, spelled: str) -> None:
    (finding,) = found({EXCERPT: f"{code}\n"}, "TL236")
    assert code[finding.start : finding.end] == spelled and not finding.edits


@pytest.mark.parametrize(
    "code",
    [
        "auto k = find(*x.dtype());",
        "return -x.dtype();",
        "f(a, *p.dtype(), &q.dtype());",
        "std::cout << x.dtype() << 4;",
        'log("dtype " + x.dtype());',
        "n = dtype() * 4;",
        "n = sizeof(x) * x.dtype(4);",
        "// n = sizeof(x.dtype())",
        'text("sizeof(x.dtype())");',
        "n = x.dtype() == y.dtype();",
        "#define A x.dtype()\n* rows",
    ],
)
def test_what_is_no_arithmetic(found: Found, code: str) -> None:
    assert found({EXCERPT: f"{code}\n"}, "TL236") == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("sizeof(x.dtype())", "x.element_size()"),
        ("sizeof ( x -> dtype ( ) )", "x ->element_size()"),
        ("sizeof(a::b(1).xs[2].scalar_type())", "a::b(1).xs[2].element_size()"),
        ("16 / sizeof(x.dtype()) * 2", "16 / x.element_size() * 2"),
    ],
)
def test_sizeof(tmp_path: Path, found: Found, before: str, after: str) -> None:
    mend(tmp_path, found({EXCERPT: f"n = {before};\n"}, "TL236"))
    assert (tmp_path / EXCERPT).read_text() == f"n = {after};\n"


@pytest.mark.corpus
def test_the_real_one(corpus: Path) -> None:
    """The wheel has the vector length that aiter#4590 later mended."""
    (finding,) = findings_in(corpus, ["TL236"])
    assert (finding.path, finding.line) == ("aiter_meta/csrc/kernels/unary_operator.cu", 143)
