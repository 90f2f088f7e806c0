"""A workspace from the caller on the fake runtime: it can be captured, allocates nothing, refuses what is too small."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.api.test_given_workspaces import HEADER, checkout, run
from tests.trace.conftest import MakeProgram
from torchless.verify.trace.model import Call, Parameter, Record, Signature, TensorInput
from torchless.verify.trace.run import run_calls

pytestmark = pytest.mark.clang

OUT = TensorInput("float32", (3, 8), (8, 1))
PARAMETERS = (Parameter("out", "tensor"), Parameter("input", "tensor"), Parameter("splits", "int32"))
NAME = "aiter::reduce_rows"


def events(record: Record, kind: str) -> list[dict[str, Any]]:
    return [dict(event) for event in record.events if event["event"] == kind]


def test_capture_works_and_too_small_a_workspace_is_refused(mini_aiter: Path, make_program: MakeProgram) -> None:
    changes = run(checkout(mini_aiter)).changes
    header = changes["csrc/include/reduce.h"].new.decode()
    assert header != HEADER
    text = changes["csrc/kernels/reduce_kernels.cu"].new.decode().replace('#include "reduce.h"', header)
    program = make_program(text.replace("#pragma once", ""), [NAME])
    signature = Signature(NAME, (*PARAMETERS, Parameter("workspace", "tensor")))

    def call(size: int, **more: bool) -> Call:
        return Call(NAME, (OUT, OUT, 5, TensorInput("uint8", (size,), (1,))), **more)

    enough = 2 * 8 * 4  # two blocks of eight floats
    calls = [call(enough), call(enough, capture=True), call(enough - 1)]
    plain, captured, small = run_calls(program, calls, [signature], "gfx942")
    for record in (plain, captured):
        assert record.outcome == "returned", record
        assert len(events(record, "launch")) == 1 and not events(record, "alloc") and not events(record, "free")
    assert small.outcome != "returned" and not events(small, "launch")
    assert "reduce_rows: the workspace is too small" in small.message
