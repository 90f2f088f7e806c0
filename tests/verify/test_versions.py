"""What a change of a source may be meant to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchless.verify.tree import Tree
from torchless.verify.versions import may_claim

OLD = b'#include "opt.h"\n#include <torch/all.h>\n\nvoid f(at::Tensor x);\n'


@pytest.mark.parametrize(
    ("new", "claims"),
    [
        (b"#define OPT_IN 1\n" + OLD, False),
        (OLD.replace(b"\n\n", b"\n#ifndef NO\n#define YES\n#endif\n\n", 1), False),
        (OLD, False),
        (OLD.replace(b"#include <torch/all.h>\n", b""), True),
        (OLD.replace(b"at::Tensor", b"aiter_tensor_t"), True),
        (OLD + b"int more;\n", True),
        (b"#define TWO \\\n" + OLD, True),  # who knows what it swallows
        (OLD.replace(b'"opt.h"', b'"other.h"'), True),
    ],
)
def test_only_added_directives_claim_nothing(tmp_path: Path, new: bytes, claims: bool) -> None:
    before, after = Tree(tmp_path, {"a.cu": OLD}), Tree(tmp_path, {"a.cu": new})
    assert may_claim(before, after, "a.cu") is claims


def test_a_new_file_may_claim_anything(tmp_path: Path) -> None:
    assert may_claim(Tree(tmp_path), Tree(tmp_path, {"a.cu": OLD}), "a.cu")
