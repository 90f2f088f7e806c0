"""TL613: timings and kernel names in the comments of headers that several modules share."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchless.lints.scan import FileScan, scans
from torchless.model import Confidence, Finding, Tier
from torchless.project.modules import modules_of

if TYPE_CHECKING:
    from torchless.lints.context import Context

CODE = "TL613"
# A number with a unit of time, rate or traffic, or a comparison in numbers. Cycles are left out: nearly all of them
# are latencies of instructions, which hold for every user.
_FIGURE = re.compile(
    rb"(?<![\w.])\d[\d.,]{0,20}\s?(?:us|\xc2\xb5s|\xce\xbcs|usec|ms|ns|[GTP]FLOPS?|[GTP]FLOP/s|[GT]i?B/s|tokens?/s)\b"
    rb"|(?<![\w.>])\d[\d.]{0,20}(?:\s?%|x)\s(?:faster|slower|speed-?up|regression|gain|of peak|win|loss)\b"
    rb"|\b(?:faster|slower)\sby\s~?\d[\d.]{0,20}(?:\s?%|x)",
    re.I,
)
_NAME = re.compile(rb"(?<![\w./])[A-Za-z_]\w*kernel\w*(?![\w./])", re.I)
_TEMPLATE_WORDS = (b"my_", b"your_", b"some_", b"foo", b"example_")
Row = tuple[int, int, bytes, bool]
"""(start, end, text, whether it is a figure rather than a name)"""


def findings(context: Context) -> Iterator[Finding]:
    """Figures, and names of kernels that are defined elsewhere, in comments of headers that two modules reach."""
    headers = context.files.intersection(context.project.headers)
    owners = modules_of(context.project)
    kernels: frozenset[bytes] | None = None
    for path, rows in scans(context, headers, COMMENT_FIGURES):
        if not rows:
            continue
        modules = {module.name for source in context.users(path) for module in owners.get(source, ())}
        if len(modules) < 2:
            continue
        for start, end, text, is_figure in rows:
            if not is_figure:
                kernels = _all_kernels(context) if kernels is None else kernels
                if text not in kernels:
                    continue
            spelled = " ".join(text.decode("utf-8", "replace").split())
            what = f"gives a measurement ({spelled})" if is_figure else f"names a kernel of other files ({spelled})"
            yield Finding(
                CODE,
                f"a comment {what} in a header that {len(modules)} modules share",
                path,
                start,
                end,
                Tier.DISPLAY,
                (),
                Confidence.SYNTACTIC,
                help="say here what holds for every user; put the figure or the name beside the kernel it is about",
            )


def _scan(data: bytes) -> tuple[Row, ...]:
    rows: list[Row] = []
    code: list[bytes] = []
    done = 0
    for hidden in _HIDDEN.finditer(data):
        code.append(data[done : hidden.start()])
        done = hidden.end()
        if hidden.lastgroup != "comment":
            continue
        figure = _FIGURE.search(data, *hidden.span())
        if figure is not None:
            rows.append((*figure.span(), figure[0], True))
        rows += [(*name.span(), name[0], False) for name in _NAME.finditer(data, *hidden.span())]
    used = b" ".join((*code, data[done:]))
    return tuple(
        row
        for row in rows
        if row[3] or not (row[2].startswith(_TEMPLATE_WORDS) or re.search(rb"\b%b\b" % row[2], used))
    )


COMMENT_FIGURES = FileScan("comment figures", 1, _scan)


# Comments, and the literals in which nothing is one; an apostrophe within a number opens no literal.
_HIDDEN = re.compile(
    rb"""(?P<comment>//(?:[^\n\\]|\\\r?\n|\\)*|/\*.*?(?:\*/|\Z))
    |R"(?P<delim>[^ ()\\\t\v\f\r\n]{0,16})\(.*?(?:\)(?P=delim)"|\Z)
    |"(?:[^"\\\r\n]|\\\r\n|\\.)*"?
    |(?<![0-9A-Za-z_])'(?:[^'\\\r\n]|\\\r\n|\\.)*'?""",
    re.S | re.X,
)


def _all_kernels(context: Context) -> frozenset[bytes]:
    """The names of all kernels that are defined in the checkout."""
    paths = (*context.project.sources, *context.project.headers)
    return frozenset(name for _, names in scans(context, paths, _KERNELS) for name in names)


def kernels_of(data: bytes) -> tuple[bytes, ...]:
    """The names of the functions that ``data`` declares as __global__, sorted; one in a comment counts as well."""
    found = set()
    at = data.find(_GLOBAL)
    while at >= 0:
        head = _ATTRIBUTE.sub(b" ", data[at + len(_GLOBAL) : at + _HEAD])
        name = _CALLED.match(head)
        if name is not None:
            found.add(name[1])
        at = data.find(_GLOBAL, at + 1)
    return tuple(sorted(found))


_KERNELS = FileScan("kernels", 2, kernels_of)


_GLOBAL = b"__global__"
_HEAD = 600  # bytes in which the name of a kernel follows
_ATTRIBUTE = re.compile(
    rb"\b(?:__launch_bounds__|__attribute__|alignas|__maxnreg__)\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
)
_CALLED = re.compile(rb"[^;{}()=]*?(\w+)\s*\(")
