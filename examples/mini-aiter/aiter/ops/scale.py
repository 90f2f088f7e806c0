"""Scaling and clamping of rows."""

from typing import Optional

from torch import Tensor

from ..jit.core import compile_ops

MD_NAME = "module_scale"


@compile_ops("module_scale")
def scale_rows(
    out: Tensor,
    input: Tensor,
    scales: Tensor,
    row_map: Tensor,
    bias: Optional[Tensor] = None,
) -> None: ...


@compile_ops("module_scale")
def clamp_rows(out: Tensor, input: Tensor, low: float, high: float) -> None: ...
