"""Parses self-written units over the stubs alone, and says which snippet of a file an error belongs to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import clang.cindex
import pytest

from torchless.facts import stubs

PASSES = pytest.mark.parametrize("device", [False, True], ids=["host", "device"])
"""Runs a test in the host pass and in the device pass."""

KEEP_GOING = 0x200
MAIN = "unit.cu"
SNIPPETS = Path(__file__).parent / "snippets"


def compiler_flags(*, device: bool, torch: bool = True) -> list[str]:
    """The command line that the stubs are made for, as clang and libclang take it."""
    flags = ["-x", "hip", "--cuda-device-only" if device else "--cuda-host-only", "--offload-arch=gfx942"]
    flags += [
        "-nogpuinc",
        "-nogpulib",
        "-nohipwrapperinc",
        "-ferror-limit=0",
        "-fno-spell-checking",
        "-w",
        "-std=c++20",
    ]
    flags += ["-DENABLE_CK=1", "-D__HIP_PLATFORM_AMD__=1", "-DUSE_ROCM", "-DTORCH_EXTENSION_NAME=module_x"]
    flags += [*stubs.COMPILER_FLAGS, "-resource-dir", str(stubs.resource_dir()), "-include", str(stubs.PRELUDE)]
    for folder in stubs.stub_dirs(torch=torch):
        flags += ["-isystem", str(folder)]
    return flags


@cache
def errors(source: str, *, device: bool, torch: bool = True) -> tuple[tuple[int, str], ...]:
    """Errors of a unit: (line in the unit, message). An error in a header counts at the line that led to it."""
    unit = clang.cindex.Index.create().parse(
        MAIN, args=compiler_flags(device=device, torch=torch), unsaved_files=[(MAIN, source)], options=KEEP_GOING
    )
    found = []
    for diagnostic in unit.diagnostics:
        if diagnostic.severity >= clang.cindex.Diagnostic.Error:
            led_here = [child for child in diagnostic.children if not child.spelling.startswith("in file included")]
            places = [diagnostic.location, *(child.location for child in led_here)]
            lines = [place.line for place in places if place.file is not None and place.file.name == MAIN]
            found.append((lines[0] if lines else 0, diagnostic.spelling))
    return tuple(found)


@cache
def sections(name: str) -> dict[str, tuple[str, ...]]:
    """Lines of ``snippets/<name>.cu`` by section: ``//# title`` starts one, "the headers" is what stands before."""
    found: dict[str, list[str]] = {"the headers": []}
    lines = found["the headers"]
    for line in (SNIPPETS / f"{name}.cu").read_text(encoding="utf-8").splitlines():
        if line.startswith("//# "):
            lines = found[line.removeprefix("//# ")] = []
        else:
            lines.append(line)
    return {title: tuple(lines) for title, lines in found.items()}


@cache
def section_errors(name: str, *, device: bool) -> Mapping[str, Sequence[str]]:
    """Errors of each section, all of them parsed as one unit, each in a namespace of its own."""
    source: list[str] = []
    owner: list[str] = [""]  # lines count from 1
    for number, (title, lines) in enumerate(sections(name).items()):
        block = [*lines] if number == 0 else [f"namespace section_{number} {{", *lines, "}"]
        source += block
        owner += [title] * len(block)
    found: dict[str, list[str]] = {}
    for line, message in errors("\n".join(source) + "\n", device=device):
        found.setdefault(owner[line] or "the headers", []).append(message)
    return found
