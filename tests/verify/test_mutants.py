"""The generator of faults, and a few of them on the ladder; benchmarks/mutations.py asks for all of them."""

from __future__ import annotations

import importlib.util
import random
import sys
from types import ModuleType

import pytest

from tests.conftest import ROOT
from tests.verify.mutants import BINDING, KERNEL, LAUNCHER, OPERATORS, functions, mutants, rows

TEXT = b"""void run(aiter_tensor_t& out, double high)
{
    AITER_CHECK(out.dim() == 2, "run: no");
    const HipDeviceGuard device_guard(out.device_id);
    const int64_t count = out.size(0) * 2;
    const hipStream_t stream = aiter::getCurrentHIPStream();
    kernel<float><<<dim3(count, 2), 256, 0, stream>>>(static_cast<float*>(out.data_ptr()), high, std::min(count, 8));
}
"""


def texts(operator: str) -> list[bytes]:
    found = mutants(TEXT, functions(TEXT, ["run"], LAUNCHER), seed=1, each=99)
    return [m.text for m in found if m.operator == operator]


@pytest.mark.parametrize(
    ("operator", "old", "new"),
    [
        ("swap two arguments of a launch", b"high, std::min(count, 8)", b"std::min(count, 8), high"),
        ("change the grid", b"dim3(count, 2), 256", b"dim3(dim3(count, 2)).x + 1, 256"),
        ("launch on the null stream", b"0, stream>>>", b"0, nullptr>>>"),
        ("offset a pointer", b"(out.data_ptr()), high", b"(out.data_ptr()) + 1, high"),
        ("drop a guard", b"const HipDeviceGuard device_guard(out.device_id);", b""),
        ("drop a check", b"AITER_CHECK(", b"AITER_CHECK(true || "),
        ("narrow a number", b"const int64_t count", b"const int32_t count"),
        ("exchange arithmetic", b"size(0) * 2", b"size(0) / 2"),
    ],
)
def test_an_operator_changes_what_it_says(operator: str, old: bytes, new: bytes) -> None:
    assert old in TEXT
    assert TEXT.replace(old, new) in texts(operator)


def test_a_binding_row_stays_a_macro() -> None:
    text = b'#define RUN_PYBIND \\\n    m.def("run", &aiter::run, py::arg("out"), \\\n          py::arg("k") = 7);\n'
    found = {m.operator: m.text for m in mutants(text, rows(text, "RUN_PYBIND"), seed=1)}
    assert found["lose a default"] == text.replace(b'py::arg("k") = 7', b'py::arg("k")')
    swapped = text.replace(b'("out")', b'("x")').replace(b'("k")', b'("out")').replace(b'("x")', b'("k")')
    assert found["exchange arguments"] == swapped


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    spec = importlib.util.spec_from_file_location("mutations", ROOT / "benchmarks/mutations.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look for it there
    spec.loader.exec_module(module)
    return module


def test_every_target_has_faults_and_a_seed_gives_the_same(benchmark: ModuleType) -> None:
    first, again, other = ([m for s in benchmark.subjects(seed, 1) for m in s.faults] for seed in (1, 1, 2))
    assert first == again
    assert {m.text for m in first} != {m.text for m in other}
    assert len({m.text for m in first}) >= 40
    targets = {(m.kind, m.target) for m in first}
    assert {name for kind, name in targets if kind == LAUNCHER} == {"scale_rows", "clamp_rows", "histogram", "count"}
    assert {name for kind, name in targets if kind == KERNEL} == {"scale_rows_kernel", "clamp_rows_kernel"}
    assert {name for kind, name in targets if kind == BINDING} == {"scale_rows", "clamp_rows"}
    made = {(m.kind, m.operator) for m in first}
    assert made >= {(kind, name) for kind in (KERNEL, BINDING) for name in OPERATORS[kind] if name != "change a number"}
    assert len({name for kind, name in made if kind == LAUNCHER}) >= 25


@pytest.mark.clang
def test_a_few_faults_are_found_by_the_rung_that_can_see_them(benchmark: ModuleType) -> None:
    every = [(s, m) for s in benchmark.subjects(1, 1) for m in s.faults]
    rng = random.Random(1)
    kernels = [(s, m) for s, m in every if m.kind == KERNEL and m.operator.startswith("exchange")]
    launchers = [(s, m) for s, m in every if m.kind == LAUNCHER and m.operator in ("swap two arguments of a launch",)]
    chosen = [(*rng.choice(kernels), "device"), (*rng.choice(launchers), "trace")]
    for subject, mutant, rung in chosen:
        assert benchmark.climb(subject, mutant, 2)[0] == rung, mutant
