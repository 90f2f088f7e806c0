"""Two versions of a kernel, compiled for AMDGPU by a real clang: what is the same, and what differs how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from torchless.facts.includes import IncludeGraph
from torchless.facts.model import TuSpec
from torchless.verify import device_code
from torchless.verify.answer import Answer, Verdict
from torchless.verify.compilers import Compiler, dependencies, find_compiler
from torchless.verify.device_code import DeviceCode, Function, compare, demangled, paired_name, read_assembly
from torchless.verify.ladder import Versions, device, types
from torchless.verify.remembered_answers import Remembered
from torchless.verify.tree import Tree

SOURCE = "csrc/scale.cu"
KERNEL = b"""#include <hip/hip_runtime.h>
namespace small {
template <typename T>
__global__ void scale(T* out, const T* in, float by, int n)
{
    __shared__ float tile[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x & 63] = by;
    __syncthreads();
    if(i < n) out[i] = in[i] * static_cast<T>(tile[i & 63]);
}
} // namespace small
void launch(float* out, const float* in, int n) { small::scale<float><<<(n + 63) / 64, 64>>>(out, in, 2.0f, n); }
"""
LAUNCH = b"void launch(float* out, const float* in, int n)"


def versions(root: Path, old: bytes, new: bytes, more: Mapping[str, bytes] | None = None) -> Versions:
    """A checkout with ``old`` on disk and ``new`` in memory."""
    (root / "csrc").mkdir(exist_ok=True)
    (root / SOURCE).write_bytes(old)
    specs = tuple(TuSpec(SOURCE, ("csrc",), device=on_device) for on_device in (False, True))
    return Versions(Tree(root), Tree(root, {SOURCE: new, **(more or {})}), specs)


def ask(root: Path, old: bytes, new: bytes) -> Answer:
    return device(versions(root, old, new), find_compiler(), "stubs", 2)


@pytest.mark.clang
@pytest.mark.parametrize(
    ("old", "new"),
    [
        (LAUNCH, b"// A comment, so that every line moves.\n\n" + LAUNCH),
        (b"    int i =", b"    const int i ="),
        (b"2.0f, n);", b"3.0f, n);"),  # the host's business
        (b"(n + 63) / 64", b"(n + 64) / 64"),
    ],
)
def test_edits_outside_of_kernels_leave_them_identical(tmp_path: Path, old: bytes, new: bytes) -> None:
    answer = ask(tmp_path, KERNEL, KERNEL.replace(old, new))
    assert answer.verdict is Verdict.PASS
    assert answer.detail.startswith("1 of 1 kernels identical (clang version ")
    assert (answer.evidence, answer.unseen) == ((), ())


@pytest.mark.clang
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (b"in[i] * ", b"in[i] + ", "lines of"),
        (b"tile[64]", b"tile[128]", "bytes of local memory 256 -> 512"),
        (b"if(i < n)", b"if(i <= n)", "lines of"),
        (b"float by, int n)\n", b"float by, long n)\n", "is gone"),
        (b"small::scale<float><<<", b"small::scale<double><<<", "is gone"),
    ],
)
def test_a_changed_kernel_is_told(tmp_path: Path, old: bytes, new: bytes, said: str) -> None:
    changed = KERNEL.replace(old, new)
    if b"double" in new:
        changed = changed.replace(b"(out, in, 2.0f", b"((double*)out, (const double*)in, 2.0f")
    answer = ask(tmp_path, KERNEL, changed)
    assert answer.verdict is Verdict.FAIL
    assert any(said in text and "small::scale<float>" in text for text in answer.evidence)


@pytest.mark.clang
def test_what_no_longer_compiles_fails_and_what_never_did_is_not_run(tmp_path: Path) -> None:
    broken = KERNEL.replace(b"int i =", b"Int i =")
    assert ask(tmp_path, KERNEL, broken).verdict is Verdict.FAIL
    never = ask(tmp_path, broken, broken)
    assert (never.verdict, never.detail) == (Verdict.NOT_RUN, "no device pass could be compiled")
    assert "error" in never.unseen[0]


def test_without_a_compiler_nothing_is_claimed(tmp_path: Path) -> None:
    answer = device(versions(tmp_path, KERNEL, KERNEL), None, "stubs", 1)
    assert answer.verdict is Verdict.NOT_RUN


@pytest.mark.clang
def test_builtins_without_a_library_call_compile(tmp_path: Path) -> None:
    source = KERNEL.replace(b"in[i] * ", b"tanhf(in[i]) * ")
    assert ask(tmp_path, source, source).verdict is Verdict.PASS


@pytest.mark.clang
def test_a_header_of_the_other_version_is_the_one_that_counts(tmp_path: Path) -> None:
    source = b'#include "by.h"\n' + KERNEL.replace(b"tile[threadIdx.x & 63] = by", b"tile[threadIdx.x & 63] = by * BY")
    (tmp_path / "csrc").mkdir()
    (tmp_path / "csrc/by.h").write_bytes(b"#pragma once\n#define BY 2.0f\n")
    two = versions(tmp_path, source, source, {"csrc/by.h": b"#pragma once\n#define BY 3.0f\n"})
    assert device(two, find_compiler(), "stubs", 1).verdict is Verdict.FAIL
    same = versions(tmp_path, source, source, {"csrc/by.h": b"#pragma once\n#define BY 2.f\n"})
    assert device(same, find_compiler(), "stubs", 1).verdict is Verdict.PASS


@pytest.mark.clang
def test_an_element_type_of_torch_is_paired_with_that_of_hip(tmp_path: Path) -> None:
    head = b"#include <c10/util/Half.h>\n#include <hip/hip_fp16.h>\n"
    old = head + KERNEL.replace(b"float* out, const float* in", b"c10::Half* out, const c10::Half* in")
    old = old.replace(b"scale<float>", b"scale<c10::Half>")
    new = old.replace(b"c10::Half", b"__half")
    answer = ask(tmp_path, old, new)
    assert answer.detail.startswith("1 of 1 kernels identical")
    assert ask(tmp_path, old, new.replace(b"if(i < n)", b"if(i < n && i != 7)")).verdict is Verdict.FAIL


@pytest.mark.clang
def test_where_element_types_cannot_be_taken_for_each_other_no_more_is_claimed(tmp_path: Path) -> None:
    both = b"int tag(c10::Half*) { return 1; }\nint tag(__half*) { return 2; }\n"
    head = b"#include <c10/util/Half.h>\n#include <hip/hip_fp16.h>\n" + both
    old = head + KERNEL.replace(b"float* out, const float* in", b"c10::Half* out, const c10::Half* in")
    old = old.replace(b"scale<float>", b"scale<c10::Half>")
    new = old.replace(both, b"").replace(b"c10::Half", b"__half").replace(b"if(i < n)", b"if(i < n && i != 7)")
    answer = ask(tmp_path, old, new)
    assert answer.verdict is Verdict.PASS
    assert answer.detail.startswith("0 of 1 kernels identical")
    assert "by their element type's own code" in answer.detail
    assert "small::scale<c10::Half>" in answer.evidence[0]


def test_the_same_code_under_other_labels_lines_and_ids_is_the_same() -> None:
    old = _assembly("_Z1fPi", "0", "__hip_cuid_aaaa")
    new = _assembly("_Z1fPi", "7", "__hip_cuid_bbbb").replace("; line 3", "; line 9")
    assert compare(read_assembly(old), read_assembly(new)) == []
    other = new.replace("v_add_u32 v0, v0, 1", "v_add_u32 v0, v0, 2")
    (difference,) = compare(read_assembly(old), read_assembly(other))
    assert difference.function == "f(int*)"
    assert "v_add_u32 v0, v0, 2" in difference.what


def test_a_kernel_that_is_gone_counts_and_a_helper_of_an_element_type_does_not() -> None:
    kernel, helper = Function("k(c10::Half*)", True, ("s_endpgm",)), Function("c10::Half::g()", False, ("s_nop 0",))
    assert [d.what for d in compare({kernel.name: kernel}, {}) if not d.element_type] == ["is gone"]
    assert all(d.element_type for d in compare({helper.name: helper}, {}))


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("void f<c10::Half>(c10::Half*)", "void f<__half>(__half*)"),
        ("void f<c10::BFloat16, 4>(c10::BFloat16 const*)", "void f<hip_bfloat16, 4>(hip_bfloat16 const*)"),
    ],
)
def test_names_that_a_migration_exchanges_are_one(one: str, two: str) -> None:
    assert paired_name(one) == paired_name(two)


def test_a_kernel_is_paired_whatever_its_launcher_takes_and_still_compared() -> None:
    """The lambda in its name, and a generator's state for seed and offset, are no element types: other code fails."""
    old = "void k<run(at::Tensor&)::{lambda(int)#1}>(at::PhiloxCudaState)"
    new = "void k<run(aiter_tensor_t&)::{lambda(int)#1}>(unsigned long, unsigned long)"
    before = {old: Function(old, True, ("s_endpgm",))}
    assert compare(before, {new: Function(new, True, ("s_endpgm",))}) == []
    [difference] = compare(before, {new: Function(new, True, ("s_nop", "s_endpgm"))})
    assert not difference.element_type


def test_other_names_stay_apart() -> None:
    assert paired_name("f<my::c10::Half>()") != paired_name("f<__half>()")
    assert paired_name("f<__half2>()") == "f<__half2>()"


def test_symbols_are_demangled_all_at_once() -> None:
    assert demangled(["_Z1fPi", "plain"])["_Z1fPi"] in ("f(int*)", "_Z1fPi")
    assert demangled([]) == {}


def test_a_make_rule_is_read_as_make_reads_it() -> None:
    assert dependencies(b"a.o: /x/a.cu b.h \\\n  with\\ blank.h c$$.h\n") == ["/x/a.cu", "b.h", "with blank.h", "c$.h"]


@pytest.mark.clang
def test_types_tells_a_new_error_from_an_old_one(tmp_path: Path) -> None:
    old = KERNEL + b"int broken = nowhere;\n"
    assert types(versions(tmp_path, old, b"\n" + old), "stubs", 1).verdict is Verdict.PASS
    worse = types(versions(tmp_path, old, old + b"int also = elsewhere;\n"), "stubs", 1)
    assert worse.verdict is Verdict.FAIL
    assert "elsewhere" in worse.evidence[0]


def _assembly(symbol: str, number: str, module: str) -> str:
    return f"""\t.text
\t.type\t{symbol},@function
{symbol}: ; @{symbol}
; %bb.0:
\tv_add_u32 v0, v0, 1 ; line 3
\ts_getpc_b64 s[0:1], {module}
.LBB{number}_2:
\ts_cbranch_execz .LBB{number}_2
\ts_endpgm
.Lfunc_end{number}:
\t.amdhsa_kernel {symbol}
\t\t.amdhsa_next_free_vgpr 4
\t.end_amdhsa_kernel
"""


@pytest.mark.clang
def test_the_code_of_a_unit_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHLESS_CACHE_DIR", str(tmp_path / "cache"))
    made: list[tuple[str, bool]] = []
    really = device_code._compile

    def counted(compiler: Compiler, tree: Tree, spec: TuSpec, headers: str, overlay: Sequence[str]) -> DeviceCode:
        made.append((spec.source, bool(tree.overlay)))
        return really(compiler, tree, spec, headers, overlay)

    monkeypatch.setattr(device_code, "_compile", counted)
    (tmp_path / "a.cu").write_bytes(KERNEL)
    other = KERNEL.replace(b"in[i] * ", b"in[i] + ")
    specs = (TuSpec("a.cu", device=True),)
    told = []
    for text in (KERNEL, other, other, KERNEL):
        both = Versions(Tree(tmp_path), Tree(tmp_path, {"a.cu": text}), specs)
        keep = Remembered(IncludeGraph(tmp_path, {"a.cu": [()]}), enabled=True).code("compiler")
        told.append(device(both, find_compiler(), "stubs", 1, keep))
    assert [answer.verdict for answer in told] == [Verdict.PASS, Verdict.FAIL, Verdict.FAIL, Verdict.PASS]
    # before (with and without torch's element types), after, and the one other text
    assert made.count(("a.cu", False)) <= 2 and made.count(("a.cu", True)) == 2
    forgetful = Remembered(IncludeGraph(tmp_path, {"a.cu": [()]}), enabled=False).code("compiler")
    both = Versions(Tree(tmp_path), Tree(tmp_path, {"a.cu": KERNEL}), specs)
    assert device(both, find_compiler(), "stubs", 1, forgetful).verdict is Verdict.PASS
    assert made.count(("a.cu", True)) == 3


SHARED = b"""#include <hip/hip_runtime.h>
template <typename T> __global__ void fill(T* out) { out[0] = 1; }
"""
STARTS = SHARED + b"void start(float* out) { fill<float><<<1, 1>>>(out); }\n"
HAS = SHARED + b"template __global__ void fill<float>(float*);\n"
EXTERN = SHARED + b"extern template __global__ void fill<float>(float*);\n" + STARTS.removeprefix(SHARED)
HIDDEN = SHARED + b"#if !defined(__HIP_DEVICE_COMPILE__)\n" + STARTS.removeprefix(SHARED) + b"#endif\n"


@pytest.mark.clang
@pytest.mark.parametrize(
    ("new", "added", "verdict"),
    [
        (EXTERN, HAS, Verdict.PASS),
        (EXTERN, HAS.replace(b"= 1;", b"= 2;"), Verdict.FAIL),  # another kernel under the same name
        (EXTERN, b"", Verdict.FAIL),
        (HIDDEN, HAS, Verdict.FAIL),  # the first source starts it from device code that has it no more
    ],
)
def test_a_kernel_may_move_to_another_source(tmp_path: Path, new: bytes, added: bytes, verdict: Verdict) -> None:
    both = versions(tmp_path, STARTS, new, {"csrc/new.cu": added})
    both = replace(both, added=(TuSpec("csrc/new.cu", ("csrc",), device=True),))
    answer = device(both, find_compiler(), "stubs", 2)
    assert answer.verdict is verdict, answer
    assert ("1 of them in another unit than before" in answer.detail) == (verdict is Verdict.PASS)


def test_bit_precise_integers_are_demangled_by_every_tool() -> None:
    names = demangled(["_Z4fillIDF16bDB8_EvPT_PT0_", "_Z4fillIDU4_EvPT_", "_Z5startPf", "main", "_ZDB8_x"])
    assert names == {
        "_Z4fillIDF16bDB8_EvPT_PT0_": "void fill<std::bfloat16_t, _BitInt(8)>(std::bfloat16_t*, _BitInt(8)*)",
        "_Z4fillIDU4_EvPT_": "void fill<unsigned _BitInt(4)>(unsigned _BitInt(4)*)",
        "_Z5startPf": "start(float*)",
        "main": "main",
        "_ZDB8_x": "_ZDB8_x",
    }
