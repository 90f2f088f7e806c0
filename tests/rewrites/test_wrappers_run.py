"""The Python that the examples promise: it imports, its private ops have schemas, and it allocates what C++ did."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from torchless.rules.load import load_rules

torch = pytest.importorskip("torch")
PREFIX = "aiter/ops/"
BY_HAND = "MANUAL_SCHEMA_OPS"  # in the target's guard: ops whose schema torch would refuse
MODULES = {
    f"{rule.code}-{number}": text
    for rule in load_rules().rules
    if rule.code in ("TL280", "TL281", "TL282", "TL283", "TL720", "TL721")
    for number, example in enumerate(rule.examples, 1)
    if not example.keeps
    for path, text in example.after.items()
    if path.startswith(PREFIX) and not any(BY_HAND in other for other in example.after.values())
}


class Calls:
    """Stands in for the dispatcher: keeps what private ops are called with, and says what they answer."""

    def __init__(self) -> None:
        self.made: list[tuple[str, tuple[Any, ...]]] = []
        self.stubs: dict[str, Callable[..., Any]] = {}
        self.answers: dict[str, Any] = {}

    def compile_ops(self, module: str, fc_name: str | None = None, **options: Any) -> Callable[..., Any]:
        def decorate(stub: Callable[..., Any]) -> Callable[..., Any]:
            name = fc_name or stub.__name__
            if options.get("develop"):
                self.stubs[name] = stub

            def call(*arguments: Any) -> Any:
                self.made.append((name, arguments))
                return self.answers.get(name)

            return call

        return decorate


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Iterator[Calls]:
    """A package ``target`` whose ``jit.core`` and ``jit.utils.torch_guard`` are stand-ins."""
    stand_in = Calls()
    for name in ("target", "target.ops", "target.jit", "target.jit.core", "target.jit.utils"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    guard = types.ModuleType("target.jit.utils.torch_guard")
    guard.torch_compile_guard = lambda **options: lambda function: function  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, guard.__name__, guard)
    sys.modules["target.jit.core"].compile_ops = stand_in.compile_ops  # type: ignore[attr-defined]
    yield stand_in


def load(text: str) -> dict[str, Any]:
    """The names of an op file, run as ``target.ops.example``."""
    names: dict[str, Any] = {"__name__": "target.ops.example", "__package__": "target.ops"}
    exec(compile(text, "example.py", "exec", dont_inherit=True), names)
    return names


@pytest.mark.parametrize("name", sorted(MODULES))
def test_private_ops_have_schemas(name: str, calls: Calls) -> None:
    load(MODULES[name])
    assert calls.stubs
    for stub in calls.stubs.values():
        schema = torch.library.infer_schema(stub, mutates_args="unknown")
        assert schema.endswith(("-> ()", "-> bool"))
        assert all(p.default is p.empty for p in __import__("inspect").signature(stub).parameters.values())


def test_outputs_and_scratch_are_what_the_function_allocated(calls: Calls) -> None:
    scale = load(MODULES["TL281-1"])["scale"]
    x = torch.empty((3, 5), dtype=torch.float16, device="meta")
    for wide in (False, True):
        out = scale(x, 7, wide)
        name, (given, same, rows, partial, scratch, flag) = calls.made[-1]
        assert (name, rows, flag, same) == ("scale", 7, wide, x)
        assert given is out
        assert (out.shape, out.dtype, out.device) == (x.shape, x.dtype, x.device)
        assert (partial.shape, partial.dtype) == ((7, 5), torch.float32)
        assert (scratch is not None) == wide
        assert scratch is None or (scratch.shape, scratch.dtype) == ((7,), torch.float32)


def test_an_optional_output_is_filled_in_or_handed_on(calls: Calls) -> None:
    shift = load(MODULES["TL281-2"])["shift"]
    x, own = torch.empty((2, 4)), torch.empty((2, 4))
    assert shift(x, own) is own
    made = shift(x)
    assert made.shape == x.shape
    assert calls.made[-1] == ("shift", (x, made))


def test_what_cpp_refuses_goes_to_torch_before_any_call(calls: Calls) -> None:
    names = load(MODULES["TL281-3"])
    x = torch.tensor([[0.5, 1.0]], dtype=torch.float64)
    assert torch.equal(names["tanh"](x), torch.tanh(x))
    out = torch.empty(1, dtype=torch.float64)
    names["row_sum"](out, x)
    assert torch.equal(out, torch.sum(x, 1))
    assert calls.made == []


def test_what_the_kernel_did_not_do_torch_does(calls: Calls) -> None:
    tanh = load(MODULES["TL281-3"])["tanh"]
    x = torch.tensor([[0.5, 1.0]])
    for did in (False, True):
        calls.answers["tanh"] = did
        result = tanh(x)
        assert calls.made[-1][0] == "tanh"
        assert torch.equal(result, torch.tanh(x)) or did
        assert (result is calls.made[-1][1][0]) == did


def test_a_size_is_asked_for_once_and_decides_whether_there_is_scratch(calls: Calls) -> None:
    sort = load(MODULES["TL281-4"])["sort_tokens"]
    ids = torch.empty((6,), dtype=torch.int32)
    for size in (0, 40):
        calls.answers["sort_tokens_ws_size"] = size
        sort(ids, 8)
        asked, (name, (_, _, buffer)) = calls.made[-2:]
        assert asked == ("sort_tokens_ws_size", (6, 8))
        assert name == "sort_tokens"
        assert (buffer.numel() if buffer is not None else 0) == size


def test_counters_are_zeroed_and_cleared_ones_are_not(calls: Calls) -> None:
    load(MODULES["TL281-4"])["count_tokens"](torch.ones(3, dtype=torch.int32))
    (_, (_, totals, bins)) = calls.made[-1]
    assert int(totals.abs().sum()) == 0
    assert bins.shape == totals.shape


def test_addresses_are_those_of_tensors_that_live(calls: Calls) -> None:
    handles = [torch.zeros(4, dtype=torch.uint8) for _ in range(3)]
    load(MODULES["TL282-1"])["open_handles"](1, handles)
    assert calls.made[-1] == ("open_handles", (1, [t.data_ptr() for t in handles]))


class Generator:
    """Stands in for a generator on the GPU."""

    seed, offset = (1 << 64) - 5, 8

    def initial_seed(self) -> int:
        return self.seed

    def get_offset(self) -> int:
        return self.offset

    def set_offset(self, offset: int) -> None:
        self.offset = offset


def test_the_generator_goes_on_by_what_the_launch_counts(calls: Calls) -> None:
    draw = load(MODULES["TL283-1"])["draw"]
    generator = Generator()
    calls.answers["draw_philox_increment"] = 6
    draw(torch.empty(3, 2), generator)
    assert calls.made[0] == ("draw_philox_increment", (6, 3))
    name, (_, seed, offset, _) = calls.made[1]
    assert (name, seed, offset, generator.offset) == ("draw", -5, 8, 16)
    draw(torch.empty(0, 2), generator)
    assert (len(calls.made), generator.offset) == (2, 16)
