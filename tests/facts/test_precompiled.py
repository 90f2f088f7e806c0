"""Precompiled headers: they change the time, not the facts, and what is wrong with one is told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from torchless.facts import flags, pch
from torchless.facts.clang import parse
from torchless.facts.model import TuSpec
from torchless.facts.pch import PchRequest, PchSet
from torchless.facts.pool import prepare_pch

TEXT = """
#include <ATen/hip/HIPContext.h>
#include <torch/extension.h>
#include <hip/hip_runtime.h>
#include <map>
#include <memory>
#include <string>
#include <vector>
template <typename T> __global__ void kernel(T* out, int n) { if (threadIdx.x < n) out[threadIdx.x] = T(0); }
at::Tensor run(at::Tensor x, std::optional<torch::Tensor> y) {
  std::vector<int> list; list.push_back(1); auto one = std::make_unique<int>(2); int* two = new int(3); delete two;
  std::map<std::string, std::vector<long>> table; table["a"].push_back(x.size(0));
  TORCH_CHECK(x.scalar_type() == at::kFloat, "want float, got ", x.dtype());
  kernel<float><<<1, 64, 0, at::hip::getCurrentHIPStream()>>>(x.data_ptr<float>(), 1);
  undeclared(x);
  return y.has_value() ? y.value() : torch::empty({1}, x.options());
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("run", &run, py::arg("x"), py::arg("y") = std::nullopt); }
"""


@pytest.mark.parametrize("device", [False, True])
def test_same_facts_with_and_without(tmp_path: Path, pch: PchSet, device: bool) -> None:
    (tmp_path / "a.cu").write_text(TEXT)
    spec = TuSpec("a.cu", device=device)
    plain = parse(spec, root=tmp_path)
    quick = parse(spec, root=tmp_path, pch=pch)
    assert quick.notes == plain.notes == ()
    assert quick.files == plain.files
    assert quick.includes == plain.includes
    assert quick.opened == plain.opened
    assert [d.message for d in plain.diagnostics] == ["use of undeclared identifier 'undeclared'"]
    assert quick.diagnostics == plain.diagnostics
    assert len(plain.files[0].names) > 20


def test_further_defines_do_not_contradict_it(tmp_path: Path, pch: PchSet) -> None:
    (tmp_path / "a.cu").write_text("#if ENABLE_CK && EXTRA\nvoid f();\n#endif\n")
    facts = parse(TuSpec("a.cu", defines=("EXTRA=1",), enable_ck=True), root=tmp_path, pch=pch)
    assert facts.notes == ()
    assert [fn.name for f in facts.files for fn in f.functions] == ["f"]


def test_one_that_cannot_be_read_is_done_without_and_noted(tmp_path: Path, pch: PchSet) -> None:
    (tmp_path / "a.cu").write_text(TEXT)
    broken = tmp_path / "broken.pch"
    broken.write_bytes(b"not a precompiled header")
    bad = PchSet("gfx942", (((False, True), str(broken)),))
    facts = parse(TuSpec("a.cu"), root=tmp_path, pch=bad)
    assert [note.partition(":")[0] for note in facts.notes] == ["parsed without the precompiled header"]
    assert facts.files == parse(TuSpec("a.cu"), root=tmp_path, pch=pch).files


def test_other_architectures_go_without(tmp_path: Path, pch: PchSet) -> None:
    (tmp_path / "a.cu").write_text("void f();\n")
    spec = TuSpec("a.cu", arch="gfx950")
    assert pch.path_for(spec, True) == ""
    assert pch.path_for(replace(spec, arch="gfx942"), True) != ""
    assert parse(spec, root=tmp_path, pch=pch).notes == ()


def test_its_name_covers_what_it_depends_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    request = PchRequest("gfx942", False, True, str(tmp_path))
    others = [replace(request, arch="gfx90a"), replace(request, device=True), replace(request, torch=False)]
    names = [pch.path_of(request), *(pch.path_of(other) for other in others)]
    monkeypatch.setattr(flags, "stubs_digest", lambda: "other stubs")
    names.append(pch.path_of(request))
    monkeypatch.setattr(flags, "toolchain", lambda: "other compiler")
    names.append(pch.path_of(request))
    assert len(set(names)) == len(names)


def test_what_cannot_be_built_is_noted(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    found = prepare_pch("gfx942", blocked)
    assert found.paths == ()
    assert len(found.notes) == 2
    assert all(note.startswith("no precompiled header: ") and "\n" not in note for note in found.notes)


def test_old_ones_are_dropped(tmp_path: Path) -> None:
    for i in range(20):
        (tmp_path / f"{i:02}.pch").write_bytes(b"x")
        (tmp_path / f"{i:02}.h").write_bytes(b"x")
    pch._drop_old(tmp_path)
    assert len(list(tmp_path.glob("*.pch"))) == len(list(tmp_path.glob("*.h"))) == pch._KEPT


def test_it_hides_what_a_unit_forgot_to_include(tmp_path: Path, pch: PchSet) -> None:
    """Which is why the last check of a unit is made without."""
    (tmp_path / "a.cu").write_text("#include <torch/all.h>\nauto s = at::hip::getCurrentHIPStream();\n")
    assert parse(TuSpec("a.cu"), root=tmp_path, pch=pch).diagnostics == ()
    plain = parse(TuSpec("a.cu"), root=tmp_path)
    assert [d.message for d in plain.diagnostics] == ["no member named 'getCurrentHIPStream' in namespace 'at::hip'"]
