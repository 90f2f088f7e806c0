"""What else has to be looked at: siblings in modules, and sources that name what changes in a shared header."""

from __future__ import annotations

import pytest

from torchless.project.model import Module, Project
from torchless.selection import is_header
from torchless.units.entities import Entity
from torchless.units.scope import further_sources, has_torch_text, with_siblings

TEXTS = {
    "shared.h": b"void scale(torch::Tensor&);\nvoid unrelated(int);\n",
    "second.h": b"inline void wrap() { scale(); }\n",
    "known.cu": b"scale(x);\n",
    "names.cu": b"run(scale, 1);\n",
    "through.cu": b"wrap();\n",
    "other.cu": b"unrelated(1); rescale(2); scale_all(3);\n",
    "apart.cu": b"scale(4);\n",
}
CLOSURES = {
    "known.cu": frozenset({"known.cu", "shared.h"}),
    "names.cu": frozenset({"names.cu", "shared.h"}),
    "through.cu": frozenset({"through.cu", "second.h", "shared.h"}),
    "other.cu": frozenset({"other.cu", "shared.h"}),
    "apart.cu": frozenset({"apart.cu"}),
}
SCALE = Entity("shared.h", 0, 27, "function", "ns::scale", defines=False)


def further(*entities: Entity, looked_at: tuple[str, ...] = ("known.cu", "shared.h")) -> set[str]:
    known = frozenset({"known.cu"})
    return set(further_sources(entities, known, looked_at, CLOSURES, TEXTS.__getitem__, is_header))


def test_a_changing_function_of_a_header_pulls_in_who_names_it() -> None:
    assert further(SCALE) == {"names.cu", "through.cu"}


def test_a_file_that_was_looked_at_says_nothing_new() -> None:
    assert further(SCALE, looked_at=("known.cu", "shared.h", "second.h")) == {"names.cu"}


def test_what_stays_in_a_source_pulls_in_nobody() -> None:
    assert further(Entity("known.cu", 0, 5, "function", "scale")) == set()
    assert further(Entity("shared.h", 0, 50, "file", "")) == set()
    assert further() == set()


def project(**modules: str) -> Project:
    return Project("/nowhere", True, modules=tuple(Module(name, tuple(s.split())) for name, s in modules.items()))


def test_a_module_is_looked_at_as_a_whole_and_so_are_those_that_share_a_source() -> None:
    chain = project(m1="a.cu b.cu", m2="b.cu c.cu", m3="c.cu d.cu", m4="x.cu y.cu")
    assert with_siblings(chain, ["a.cu"]) == {"a.cu", "b.cu", "c.cu", "d.cu"}
    assert with_siblings(chain, ["y.cu", "lone.cu"]) == {"x.cu", "y.cu", "lone.cu"}
    assert with_siblings(chain, []) == frozenset()


@pytest.mark.parametrize(
    "text",
    [
        "torch::Tensor x;",
        "using namespace at;",
        "#include <c10/util/Half.h>",
        "TORCH_CHECK(x);",
        "VLLM_DISPATCH_FLOATING_TYPES(t, n, f)",
        "void f(Tensor x);",
        "p = x.data_ptr<float>();",
        'auto s = "// not a comment"; at::Half h;\nat::Half g;',
        "/* torch:: */ c10::Half x;",
    ],
)
def test_torch_text(text: str) -> None:
    assert has_torch_text(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "// torch::Tensor",
        "/* at::Half\n c10:: */ int x;",
        "vector.at(3); flat::x; int torches;",
        "aiter_tensor_t t;",
    ],
)
def test_no_torch_text(text: str) -> None:
    assert not has_torch_text(text.encode())
