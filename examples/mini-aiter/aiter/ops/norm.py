"""Root mean square norm, in one launch or two."""

from torch import Tensor

from ..jit.core import compile_ops

MD_NAME = "module_norm"


@compile_ops("module_norm")
def rms_norm(out: Tensor, input: Tensor, weight: Tensor, epsilon: float) -> None: ...


@compile_ops("module_norm")
def rms_norm_split(
    out: Tensor, input: Tensor, weight: Tensor, epsilon: float, splits: int = 4
) -> None: ...
