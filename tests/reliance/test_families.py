"""Headers outside of the checkout: their families, and the table of torch's narrow ones."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from torchless.closure.heavy import load_heavy
from torchless.reliance import families
from torchless.reliance.families import load_headers
from torchless.reliance.mentions import mentions_of, scan


def mentioned(text: str) -> families.Mentions:
    return mentions_of(scan(text.encode()))


@pytest.mark.parametrize(
    ("spelled", "angled", "family"),
    [
        ("torch/all.h", True, families.TORCH),
        ("c10/util/Half.h", False, families.TORCH),
        ("hip/hip_runtime.h", True, families.HIP),
        ("rocprim/rocprim.hpp", False, families.HIP),
        ("ck_tile/core.hpp", False, families.CK),
        ("pybind11/stl.h", True, families.PYBIND),
        ("vector", True, families.STANDARD),
        ("numa.h", True, families.OTHER),
        ("scale_manifest.h", False, families.UNSEEN),
    ],
)
def test_families(spelled: str, angled: bool, family: str) -> None:
    assert families.family(spelled, angled) == family


def test_uses() -> None:
    text = "at::Tensor f(); TORCH_CHECK(x); PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { py::arg(); } hipStream_t s;"
    found = mentioned(text)
    assert families.torch_uses(found) == ["TORCH_CHECK", "at::Tensor"]
    assert families.pybind_uses(found) == ["PYBIND11_MODULE", "py::arg"]
    assert families.hip_uses(found) == ["hipStream_t"]
    assert families.ck_uses(mentioned("ck_tile::index_t i; using namespace ck;")) == [
        "ck_tile::index_t",
        "using namespace ck",
    ]
    assert not families.torch_uses(mentioned("VLLM_DISPATCH_rmTorch; AITER_TORCH_X; int at; at.size(); C10;"))


def test_narrow_headers_are_used_by_their_names() -> None:
    narrow = load_headers().narrow
    scalar = narrow["c10/core/ScalarType.h"]
    assert scalar.used(mentioned("at::kFloat; at::ScalarType t; at::Tensor x;")) == ["ScalarType", "kFloat"]
    assert narrow["ATen/hip/HIPContext.h"].used(mentioned("at::hip::f();")) == ["at::hip"]
    assert not scalar.used(mentioned("enum { kFloat };"))  # a file that uses nothing of torch
    assert not narrow["ATen/hip/HIPEvent.h"].used(mentioned("at::Tensor x; hipEventCreate(&e);"))


def test_standard_headers_of_torch() -> None:
    given = families.standard_in(["torch/extension.h"])
    assert given("<vector>") and given("<optional>") and not given("<random>")
    assert not families.standard_in(["ATen/hip/HIPContext.h"])("<vector>")
    assert families.standard_in(["vector"])("<vector>") and not families.standard_in(["vector"])("<map>")


def installed_torch() -> Path:
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        pytest.skip("torch is not installed")
    return Path(spec.origin).parent / "include"


def included_by(root: Path, header: str) -> set[str]:
    """Every header that ``header`` of the torch below ``root`` includes, conditions ignored."""
    roots = (root, root / "torch/csrc/api/include")
    seen: set[str] = set()
    pending = [header]
    while pending:
        path = next((r / pending[-1] for r in roots if (r / pending[-1]).is_file()), None)
        pending.pop()
        if path is not None:
            found = re.findall(r"^\s*#\s*include\s*[<\"]([^>\"]+)[>\"]", path.read_text("utf-8", "replace"), re.M)
            pending += [name for name in found if name not in seen]
            seen.update(found)
    return seen


def test_the_table_agrees_with_an_installed_torch() -> None:
    root = installed_torch()
    umbrellas = ("ATen/ATen.h", "torch/all.h", "torch/extension.h", "torch/torch.h", "torch/python.h", "torch/types.h")
    closures = {header: included_by(root, header) for header in umbrellas}
    checked = 0
    for header, row in load_headers().narrow.items():
        if "/hip/" in header:
            continue  # not in a build without a GPU
        assert (root / header).is_file() or (root / "torch/csrc/api/include" / header).is_file(), header
        for umbrella in umbrellas:
            if row.within.match(umbrella):
                assert header in closures[umbrella], (header, umbrella)
                checked += 1
    assert checked > 10
    for standard in ("vector", "optional", "string", "functional", "unordered_map", "mutex", "tuple", "memory"):
        assert all(standard in closures[u] for u in umbrellas), standard


def test_every_narrow_header_is_heavy() -> None:
    heavy = load_heavy()
    assert {heavy.category(header) for header in load_headers().narrow} == {"torch"}
