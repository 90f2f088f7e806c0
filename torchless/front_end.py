"""How long a compiler's front end takes over a header: measured on this machine, with this machine's headers."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from torchless.facts.spec import TuSpec

RUNS = 3
_TIMEOUT = 120  # seconds for one run


@dataclass(frozen=True, slots=True)
class Timing:
    """milliseconds: what the header adds to an empty file, the best of RUNS; 0 with the ``problem`` when it fails."""

    milliseconds: int
    problem: str = ""


def time_headers(compiler: str, spec: TuSpec, root: Path, includes: Sequence[str]) -> tuple[Timing, ...]:
    """Time each of ``includes`` (as spelled, with its quotes or brackets) alone, as plain C++ in the host pass.

    Include folders and defines are those of ``spec``; the headers are the machine's: torch's where this Python has it,
    ROCm's where it is installed, no stand-ins. Nothing is generated, -fsyntax-only: what is measured is preprocessing,
    parsing and the instantiations that parsing needs. Two files are written to a temporary folder.
    """
    with tempfile.TemporaryDirectory(prefix="torchless-") as folder:
        source = Path(folder, "header.cpp")
        command = [compiler, "-x", "c++", "-std=c++20", "-fsyntax-only", "-w", *_arguments(spec, root), str(source)]
        empty = _best(command, source, "")
        if empty.problem:
            return tuple(empty for _ in includes)
        timings = [_best(command, source, f"#include {include}\n") for include in includes]
    return tuple(t if t.problem else Timing(max(t.milliseconds - empty.milliseconds, 0)) for t in timings)


def _arguments(spec: TuSpec, root: Path) -> list[str]:
    arguments = ["-D__HIP_PLATFORM_AMD__=1", "-DUSE_ROCM", f"-DENABLE_CK={int(spec.enable_ck)}"]
    arguments += [f"-D{define}" for define in spec.defines]
    arguments += [f"-I{os.path.normpath(root / folder)}" for folder in (".", *spec.include_dirs)]
    torch = importlib.util.find_spec("torch")
    if torch is not None and torch.submodule_search_locations:
        include = Path(next(iter(torch.submodule_search_locations)), "include")
        arguments += ["-isystem", str(include), "-isystem", str(include / "torch/csrc/api/include")]
    rocm = Path(os.environ.get("ROCM_PATH", "/opt/rocm"), "include")
    return [*arguments, "-isystem", str(rocm)] if rocm.is_dir() else arguments


def _best(command: Sequence[str], source: Path, text: str) -> Timing:
    source.write_text(text)
    best = float("inf")
    for _ in range(RUNS):
        began = time.perf_counter()
        try:
            done = subprocess.run(command, capture_output=True, timeout=_TIMEOUT, check=False)
        except subprocess.TimeoutExpired:
            return Timing(0, f"no answer after {_TIMEOUT} s")
        except OSError as error:
            return Timing(0, f"{command[0]}: {error.strerror}")
        best = min(best, time.perf_counter() - began)
        if done.returncode:
            lines = done.stderr.decode("utf-8", "replace").splitlines()
            problem = next((line.partition("error: ")[2] for line in lines if "error: " in line), "")
            return Timing(0, problem or f"{command[0]} failed with {done.returncode}")
    return Timing(round(best * 1000))
