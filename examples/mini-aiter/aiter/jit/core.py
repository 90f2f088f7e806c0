"""compile_ops: what binds a Python function to an op of a module. This one only records what it was told."""

from __future__ import annotations

import functools
from typing import Any, Callable

OPS: dict[str, dict[str, Any]] = {}


def compile_ops(
    module: str,
    fc_name: str | None = None,
    gen_func: Callable[..., dict[str, Any]] | None = None,
    gen_fake: Callable[..., Any] | None = None,
    ffi_type: str = "pybind",
    develop: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare that the decorated function is the op ``fc_name`` (default: its own name) of ``module``.

    With ``develop=True`` tensors reach C++ as ``aiter_tensor_t``, and the module is told the current stream first.
    """

    def bind(function: Callable[..., Any]) -> Callable[..., Any]:
        name = fc_name or function.__name__
        OPS[name] = {"module": module, "ffi_type": ffi_type, "develop": develop}

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            raise NotImplementedError(f"mini-aiter builds no kernels: {module}.{name}")

        return call

    return bind
