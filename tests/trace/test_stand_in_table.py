"""Every function that the stand-in for torch defines is asked on it and on torch, and they answer alike."""

from __future__ import annotations

from collections.abc import Iterator

import clang.cindex as ci
import pytest

from tests.conftest import ROOT
from torchless.facts import stubs
from torchless.facts.model import TuSpec
from torchless.verify.trace import toolchain
from torchless.verify.trace.build import build
from torchless.verify.trace.inputs import OTHER_DTYPES, TARGET_DTYPES, tensor
from torchless.verify.trace.model import Call, EntryPoint, Record, Side, TensorInput, TraceOptions, TreeText
from torchless.verify.trace.run import describe, run_calls
from torchless.verify.trace.signatures import signatures
from torchless.verify.trace.toolchain import RUNTIME

pytestmark = pytest.mark.clang

FIXTURES = ROOT / "tests/fixtures/trace"
SOURCE = "csrc/torch_table.cu"
SOURCES = (SOURCE, "csrc/tensor_use.cu")
TENSORS = (
    *(tensor(dtype, (4, 6)) for dtype in (*TARGET_DTYPES, *OTHER_DTYPES)),
    tensor("float32", (4, 6), 1),
    tensor("float16", (4, 6), -1),
    TensorInput("float32", (4, 6), (1, 4), 0, 3),
    tensor("float32", (0, 3)),
    tensor("int32", (1, 1)),
)
QUESTIONS = 10
# What nobody can ask about: what torch calls for others, and what a tensor of ours is made with.
OWN = {
    "at::TensorBase::state", "at::TensorBase::checked", "at::(anonymous namespace)::filled_in", "at::::filled_in",
    "c10::Error::Error", "c10::detail::torchCheckFail", "c10::detail::warn",
    "at::TensorBase::TensorBase", "at::TensorBase::operator=", "at::TensorBase::set_requires_grad",
    "at::TensorBase::contiguous", "at::TensorBase::~TensorBase",
}  # fmt: skip
# What torch itself, built for the CPU, has no answer to on a tensor that says it is on a device.
UNANSWERED = {"at::TensorBase::is_pinned"}


def records(torch: str) -> tuple[list[Call], list[Record]]:
    side = Side("before", TreeText(str(FIXTURES)), (TuSpec(SOURCE),), (EntryPoint("table::ask", SOURCE),))
    built = build(side, TraceOptions(torch=torch))
    assert not built.failures
    by = signatures(describe(built), built.names)
    calls = [Call("table::ask", (t, what)) for t in TENSORS for what in range(QUESTIONS)]
    return calls, run_calls(built, calls, by.values(), "gfx942")


def test_the_stand_in_answers_as_torch_does() -> None:
    calls, real = records("real")
    _, ours = records("stand-in")
    wrong = []
    answers = 0
    for call, a, b in zip(calls, real, ours, strict=True):
        if (a.outcome, a.message) != (b.outcome, b.message):
            wrong.append((call.args, f"{a.outcome} {a.message}", f"{b.outcome} {b.message}"))
        theirs, mine = "".join(a.result).splitlines(), "".join(b.result).splitlines()
        answers += len(theirs)
        wrong += [(call.args, x, y) for x, y in zip(theirs, mine, strict=False) if x != y]
    assert not wrong, f"{len(wrong)} of {answers}, first {wrong[:5]}"
    assert answers > 5000
    assert {r.outcome for r in real} <= {"returned", "threw"}


def test_every_function_of_the_stand_in_is_asked() -> None:
    defined = set(functions(parsed(RUNTIME / "torch_shim.cpp"), "torch_shim"))
    asked: set[str] = set()
    for source in SOURCES:
        asked |= set(named(parsed(FIXTURES / source).cursor))
    assert len(defined) > 120
    silent = defined - asked - OWN - UNANSWERED
    assert not silent, sorted(silent)
    assert defined >= UNANSWERED
    assert not (OWN & asked) - {"at::TensorBase::set_requires_grad"} - _ALSO_ASKED


_ALSO_ASKED = {"c10::detail::torchCheckFail", "c10::detail::warn", "at::TensorBase::TensorBase", "c10::Error::Error"}


def parsed(path) -> ci.TranslationUnit:  # type: ignore[no-untyped-def]
    """A source over the stand-in's headers."""
    arguments = [*toolchain.common_arguments("stand-in", "gfx942"), "-resource-dir", str(stubs.resource_dir())]
    unit = ci.Index.create().parse(str(path), args=arguments, options=0x200)
    errors = [d.spelling for d in unit.diagnostics if d.severity >= ci.Diagnostic.Error]
    assert not errors, errors
    return unit


def functions(unit: ci.TranslationUnit, folder: str) -> Iterator[str]:
    """The qualified names of what is defined below the runtime's ``folder`` or in its file of that name."""
    pending = [c for c in unit.cursor.get_children() if c.location.file]
    while pending:
        cursor = pending.pop()
        if not str(cursor.location.file).startswith(str(RUNTIME / folder)) or cursor.spelling == "torchless":
            continue
        if cursor.kind in _FUNCTIONS:
            if cursor.is_definition():
                yield qualified(cursor)
        else:
            pending += cursor.get_children()


def named(cursor: ci.Cursor) -> Iterator[str]:
    """The qualified names of the functions that are called below ``cursor`` in its own file."""
    for child in cursor.get_children():
        if cursor.kind is ci.CursorKind.TRANSLATION_UNIT and str(child.location.file) != cursor.spelling:
            continue
        if child.referenced is not None and child.referenced.kind in _FUNCTIONS:
            yield qualified(child.referenced)
        yield from named(child)


def qualified(cursor: ci.Cursor) -> str:
    parts = [cursor.spelling.partition("<")[0]]
    parent = cursor.semantic_parent
    while parent is not None and parent.kind is not ci.CursorKind.TRANSLATION_UNIT:
        parts.append(parent.spelling)
        parent = parent.semantic_parent
    return "::".join(reversed(parts))


_FUNCTIONS = {
    ci.CursorKind.FUNCTION_DECL,
    ci.CursorKind.CXX_METHOD,
    ci.CursorKind.CONSTRUCTOR,
    ci.CursorKind.DESTRUCTOR,
    ci.CursorKind.CONVERSION_FUNCTION,
    ci.CursorKind.FUNCTION_TEMPLATE,
}
