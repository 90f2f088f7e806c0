"""Scripts that print sources which instantiate launchers: where they do, and why these cannot be joined."""

from __future__ import annotations

import re

from torchless.text.source import SourceFile

_INSTANCE = re.compile(
    rb"\btemplate\s+(?!<|class\b|struct\b|__global__)[\w:&*{} .\r\n]+<[^;]{0,400}?>\s*\([^;]{0,2000}?\)\s*;"
)
_CK = re.compile(rb"\bck(?:_tile)?::|\bck/|\bck_tile/")
_APART = b"__HIPCC_RTC__"


def printed_instances(script: SourceFile) -> tuple[int, str] | None:
    """(where ``script`` spells an instantiation that it prints, why its sources stay apart); None where it has none.

    A script that prints units for the device alone has done it already.
    """
    found = _INSTANCE.search(script.data) if _APART not in script.data else None
    if found is None:
        return None
    if _CK.search(script.data):
        return found.start(), "their kernels are those of CK, which starts them from templates of its own"
    return found.start(), (
        "which kernels each of them starts is only known when it is printed, and a unit for the device has to list"
        " them: put what it prints into the checkout, and take the script out of the module's description"
    )
