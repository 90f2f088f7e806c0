from __future__ import annotations

import pytest

from torchless.facts.typing import FileView
from torchless.model import Finding
from torchless.rewrites.namespaces import remove_using
from torchless.rewrites.signatures import rewrite_signatures


def both(view: FileView) -> list[Finding]:
    signatures = rewrite_signatures(view, {})
    return [*signatures, *remove_using(view, [e for f in signatures for e in f.edits])]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "#include <x>\n\nusing namespace at; // Tensor\nvoid f(Tensor& x);\n",
            "#include <x>\n\nvoid f(aiter_tensor_t& x);\n",
        ),
        ("using at::Tensor;\nvoid f(Tensor& x);\n", "void f(aiter_tensor_t& x);\n"),
        (
            "namespace a {\n  using torch::Tensor;\n  void f(Tensor& x);\n}\n",
            "namespace a {\n  void f(aiter_tensor_t& x);\n}\n",
        ),
        ("namespace th = torch;\nvoid f(th::Tensor& x);\n", "void f(aiter_tensor_t& x);\n"),
        ("void f() { using namespace at; g(); }\n", "void f() {  g(); }\n"),
        ("using namespace at; using namespace std;\nint x;\n", " using namespace std;\nint x;\n"),
        ("using at::Half; /* runs\n on */\nint x;\n", " /* runs\n on */\nint x;\n"),
    ],
)
def test_directives_go_with_their_last_use(rewrites, before: str, after: str) -> None:
    rewrites(both, before, after)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("using namespace at;\nauto k = kHalf;\n", "kHalf"),
        ("using at::Half;\nHalf h;\n", "Half"),
        ("namespace th = torch;\nauto x = th::empty({1});\n", "th"),
    ],
)
def test_a_name_that_stays_keeps_the_directive(keeps, text: str, left: str) -> None:
    found = [f for f in keeps(both, text) if f.code == "TL206"]
    assert [f.blocks for f in found] == [True]
    assert left in found[0].message


@pytest.mark.parametrize(
    "text",
    [
        "using namespace aiter;\nint x;\n",
        "using namespace std;\nint x;\n",
        "using mine::Tensor;\nint x;\n",
        "using Tensor = mine::Tensor;\n",
        "namespace at { class Tensor; }\n",
        "// using namespace at;\n",
    ],
)
def test_must_not_change(keeps, text: str) -> None:
    assert keeps(both, text) == []


def test_what_another_rule_replaces_does_not_count(view) -> None:
    from torchless.model import Edit

    v = view("using namespace at;\nauto k = kHalf;\n")
    at = v.source.data.index(b"kHalf")
    found = remove_using(v, [Edit(v.source.path, at, at + 5, b"AITER_DTYPE_fp16")])
    assert [f.edits[0].new for f in found] == [b""]
