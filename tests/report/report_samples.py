"""Findings that no lint had to make, over two small files, and what a check would give for them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from torchless.model import CheckResult, Edit, Finding, Related, Tier
from torchless.report.checked import Checked, exit_code
from torchless.text.source import SourceFile

SCALE = b"""\
#include "aiter_tensor.h"
#include <torch/extension.h>
#include "scale.h"

void scale(void* out)
{
\tlaunch<<<1, 2>>>(out); // \xe6\xbc\xa2\xe5\xad\x97
}
"""
NORM = b'\xef\xbb\xbf#include "norm.h"\r\n\r\nvoid norm(int rows,\r\n          int columns); // \xe4\r\n'
FILES = {"csrc/kernels/scale.cu": SCALE, "csrc/include/norm.h": NORM}
NAMES = {"TL111": "unused-heavy-include", "TL113": "heavy-include-chain", "TL410": "launch-without-stream"}


def source(path: str) -> SourceFile:
    """The text of one of FILES; others are empty."""
    return SourceFile(path, FILES.get(path, b""))


def finding(code: str, path: str, what: bytes, **more: object) -> Finding:
    """A finding at ``what`` in one of FILES; b"" for one about the whole file."""
    text = source(path)
    start = text.data.index(what)
    placed = {"line": text.line_of(start), "column": text.column_of(start)}
    values: dict[str, object] = {"message": f"about {code}", "tier": Tier.DISPLAY, **placed, **more}
    return Finding(code=code, path=path, start=start, end=start + len(what), **values)  # type: ignore[arg-type]


_INCLUDE = b"#include <torch/extension.h>"
_AT = SCALE.index(_INCLUDE)
UNUSED = finding(
    "TL111",
    "csrc/kernels/scale.cu",
    _INCLUDE,
    message="nothing of torch/extension.h is used",
    tier=Tier.SAFE,
    edits=(Edit("csrc/kernels/scale.cu", _AT, _AT + len(_INCLUDE), b"#include <vector>", "TL111"),),
)
CHAIN = finding(
    "TL113",
    "csrc/kernels/scale.cu",
    b'#include "scale.h"',
    message="scale.h brings torch",
    help="include what is used",
    tier=Tier.UNSAFE,
    edits=(
        Edit("csrc/include/norm.h", 3, 20, b"", "TL113"),
        Edit("csrc/kernels/scale.cu", 0, 0, b"// \xe4\n", "TL113"),
    ),
    related=(
        Related("csrc/include/scale.h", 3, "includes norm.h"),
        Related("csrc/include/norm.h", 1, "includes torch/all.h"),
    ),
)
LAUNCH = finding("TL410", "csrc/kernels/scale.cu", b"launch<<<1, 2>>>(out)", message="no stream: {0} of 100%, a|b <c>")
SPREAD = finding("TL410", "csrc/include/norm.h", b"norm(int rows,\r\n          int columns)", message="two lines")
WHOLE = finding("TL113", "csrc/include/norm.h", b"", message="150,000 lines")
ALL = (WHOLE, SPREAD, UNUSED, CHAIN, LAUNCH)


def result(*findings: Finding, **more: object) -> CheckResult:
    """What check() gives for ``findings``."""
    values: dict[str, object] = {"root": "/checkout", "suppressed": 0, "files": 14, "units": 4, "seconds": 0.25}
    values |= {"findings": findings, "files_failed": (), "notes": (), **more}
    return CheckResult(**values)  # type: ignore[arg-type]


def checked(*findings: Finding, known: tuple[Finding, ...] = (), baseline: str = "", **more: object) -> Checked:
    """What the printers get for ``findings``."""
    res = result(*findings, known=known, **more)
    return Checked(res, NAMES, source, exit_code(res, False), baseline, "torchless migrate csrc")


def hostile(finding: Finding) -> Finding:
    """The same finding in a file, and with a message, that would take a printer in."""
    return replace(
        finding,
        path="csrc/a,b:c%\x1b[31m\udce4\n::error::x.cu",
        message="x ]]> <b> \x00\x1b[2J\r\n::error::no & \"quoted\" 'so'",
    )


def root_with_files(root: Path) -> Path:
    """FILES on disk."""
    for path, data in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    return root
