"""Verification rung 4: what launchers launch, before and after, on a fake HIP runtime. See unit.py."""

from torchless.verify.trace.model import (
    Call,
    Difference,
    EntryPoint,
    EntryResult,
    Finding,
    TraceError,
    TraceOptions,
    TraceResult,
    TreeText,
)
from torchless.verify.trace.unit import trace_unit

__all__ = [
    "Call",
    "Difference",
    "EntryPoint",
    "EntryResult",
    "Finding",
    "TraceError",
    "TraceOptions",
    "TraceResult",
    "TreeText",
    "trace_unit",
]
