"""What the launch trace's tests share: a source of a few lines becomes a program on the fake runtime."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.conftest import EXAMPLE
from torchless.facts.model import TuSpec
from torchless.verify.trace.build import Program, build
from torchless.verify.trace.model import EntryPoint, Side, TraceOptions, TreeText

HEADERS = str(EXAMPLE / "csrc/include")  # aiter_tensor_t and its kin
MakeProgram = Callable[[str, Sequence[str]], Program]


@pytest.fixture
def make_program(tmp_path: Path) -> MakeProgram:
    """(text of a source, names of its entry points) -> the linked program; the source is torch-free."""

    def make(text: str, entries: Sequence[str]) -> Program:
        (tmp_path / "source.cu").write_text(text, "utf-8")
        points = tuple(EntryPoint(name, "source.cu") for name in entries)
        side = Side("after", TreeText(str(tmp_path)), (TuSpec("source.cu", include_dirs=(HEADERS,)),), points)
        return build(side, TraceOptions())

    return make
