"""Header stubs: small declaration-only headers of our own that stand for torch, HIP, pybind11 and CK.

They are to C++ what typeshed is to Python. A parse takes three things from here: `resource_dir()` for the
compiler's `-resource-dir`, `PRELUDE` for `-include` (before every unit, as clang's own HIP wrapper header is),
and `stub_dirs()` as system include directories, after those of the checkout.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

_HERE: Final = Path(__file__).resolve().parent

PRELUDE: Final = _HERE / "prelude.h"
"""Declares the C library for host and device alike. Without it device code may not call `expf` or `printf`."""


COMPILER_FLAGS: Final = ("-Xclang", "-fnative-half-arguments-and-returns")
"""What HIP's own compiler allows without being asked: `__fp16` as a parameter and as a result."""


def resource_dir() -> Path:
    """Directory for `-resource-dir`: its `include/` holds `stddef.h` and the few others that a compiler owns."""
    return _HERE / "resource"


def stub_dirs(*, torch: bool = True, ck: bool = True) -> list[Path]:
    """Include directories of the stubs, in search order; pass each one as `-isystem`, after the checkout's own.

    Without `torch` no header of torch, ATen or c10 is found and `at::` means nothing, which is how a file is shown
    to be free of it. The last directory stands in for headers of the target; a checkout that has its own wins.
    """
    names = ["hip", "pybind11", *(["torch"] if torch else []), *(["ck"] if ck else []), "target"]
    return [_HERE / name for name in names]
