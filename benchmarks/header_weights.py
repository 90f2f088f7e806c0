"""What headers outside of a checkout weigh: writes rules/aiter/headers/weights.json.

    python benchmarks/header_weights.py --torch TORCH/include --ck COMPOSABLE_KERNEL/include > weights.json

Each header is preprocessed alone, `g++ -x c++ -std=c++20 -E`, and the lines of the output are counted (`wc -l`), those
with a # in front as well. Files that the same headers bring form a block, so that what several headers bring together
can be added up without counting anything twice. A header of torch's HIP half is measured as its CUDA twin, which is
what it is made from, with empty files for CUDA's own headers.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import sysconfig
import tempfile
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

HEADERS = """
torch/extension.h torch/all.h torch/torch.h torch/python.h torch/nn/functional.h torch/types.h torch/library.h
torch/csrc/stable/tensor.h ATen/ATen.h ATen/core/Tensor.h ATen/core/DistributionsHelper.h ATen/autocast_mode.h
c10/core/ScalarType.h c10/macros/Export.h c10/util/BFloat16.h c10/util/Half.h c10/util/Optional.h c10/util/irange.h
ATen/hip/HIPContext.h ATen/hip/HIPEvent.h ATen/hip/HIPGeneratorImpl.h ATen/hip/HIPGraphsUtils.cuh
ATen/hip/impl/HIPGuardImplMasqueradingAsCUDA.h ATen/hip/impl/HIPStreamMasqueradingAsCUDA.h c10/hip/HIPFunctions.h
c10/hip/HIPStream.h Python.h pybind11/embed.h pybind11/functional.h pybind11/numpy.h pybind11/pybind11.h pybind11/stl.h
ck_tile/core.hpp ck_tile/host.hpp ck_tile/ops/fmha.hpp hip/hip_bfloat16.h hip/hip_fp16.h hip/hip_runtime.h
hip/hip_runtime_api.h
algorithm any array assert.h atomic bit bitset cassert cctype cfloat chrono cinttypes climits cmath complex
condition_variable cstddef cstdint cstdio cstdlib cstring deque dlfcn.h exception fcntl.h filesystem float.h fstream
functional future initializer_list inttypes.h iomanip iostream istream iterator limits limits.h list map math.h memory
mutex new numeric optional ostream queue random regex set shared_mutex span sstream stdexcept stdint.h stdio.h stdlib.h
streambuf string string.h string_view sys/file.h sys/stat.h thread tuple type_traits unistd.h unordered_map
unordered_set utility variant vector
"""
TWINS = {
    "ATen/hip/HIPContext.h": "ATen/cuda/CUDAContext.h",
    "ATen/hip/HIPEvent.h": "ATen/cuda/CUDAEvent.h",
    "ATen/hip/HIPGeneratorImpl.h": "ATen/cuda/CUDAGeneratorImpl.h",
    "ATen/hip/HIPGraphsUtils.cuh": "ATen/cuda/CUDAGraphsUtils.cuh",
    "ATen/hip/impl/HIPGuardImplMasqueradingAsCUDA.h": "c10/cuda/impl/CUDAGuardImpl.h",
    "ATen/hip/impl/HIPStreamMasqueradingAsCUDA.h": "c10/cuda/CUDAStream.h",
    "c10/hip/HIPFunctions.h": "c10/cuda/CUDAFunctions.h",
    "c10/hip/HIPStream.h": "c10/cuda/CUDAStream.h",
}
LEAST = 10  # lines of a block that is worth a row
MARKER = re.compile(rb'# \d+ "([^"]*)"')
MISSING = re.compile(r"fatal error: (\S+): No such file")


def preprocess(header: str, folders: Sequence[Path], scratch: Path) -> Counter[bytes] | None:
    """File -> lines in the output for ``header``; None, with a word to stderr, when it is not there."""
    unit = scratch / "unit.cpp"
    unit.write_text(f"#include <{TWINS.get(header, header)}>\n")
    empty = scratch / "empty"
    command = ["nice", "g++", "-x", "c++", "-std=c++20", "-E", str(unit), *(f"-I{folder}" for folder in folders)]
    if header in TWINS:
        command.append(f"-I{empty}")
    else:
        command += ["-D__HIP_PLATFORM_AMD__"] * header.startswith(("hip/", "ck"))
    while True:
        done = subprocess.run(command, capture_output=True)
        if not done.returncode:
            break
        missing = MISSING.search(done.stderr.decode(errors="replace"))
        if header not in TWINS or missing is None or not re.search(r"cu|nv", missing[1]):
            print(f"{header} was not measured: {done.stderr.decode(errors='replace')[:200]}", file=sys.stderr)
            return None
        (empty / missing[1]).parent.mkdir(parents=True, exist_ok=True)
        (empty / missing[1]).touch()
    lines: Counter[bytes] = Counter()
    current = b""
    for line in done.stdout.split(b"\n")[:-1]:
        marker = MARKER.match(line)
        current = marker[1] if marker else current
        lines[current] += 1
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch", type=Path, required=True)
    parser.add_argument("--ck", type=Path, required=True)
    parser.add_argument("--note", action="append", default=[], help="where the headers came from")
    options = parser.parse_args()
    folders = [options.ck, options.torch, options.torch / "torch/csrc/api/include", sysconfig.get_paths()["include"]]
    measured = {}
    with tempfile.TemporaryDirectory() as scratch:
        for header in HEADERS.split():
            lines = preprocess(header, folders, Path(scratch))
            if lines is not None:
                measured[header] = lines
    bringing: dict[bytes, list[str]] = defaultdict(list)
    for header, lines in measured.items():
        for file in lines:
            bringing[file].append(header)
    blocks: Counter[tuple[str, ...]] = Counter()
    for file, headers in bringing.items():
        blocks[tuple(headers)] += int(statistics.median(measured[header][file] for header in headers))
    names = sorted(measured)
    place = {name: n for n, name in enumerate(names)}
    rows = sorted(
        [lines, sorted(place[header] for header in headers)] for headers, lines in blocks.items() if lines >= LEAST
    )
    version = subprocess.run(["g++", "--version"], capture_output=True, text=True).stdout.splitlines()[0]
    fields = {
        "how": " ".join((__doc__ or "").split("\n\n")[-1].split()),
        "with": [version, *options.note],
        "totals": {name: sum(measured[name].values()) for name in names},
        "blocks": rows,
    }
    inner = ",\n".join(f"{json.dumps(key)}: {rendered(value)}" for key, value in fields.items())
    print(f"{{\n{inner}\n}}")


def rendered(value: object) -> str:
    """JSON with one entry a line."""
    if isinstance(value, dict):
        return "{\n" + ",\n".join(f"  {json.dumps(k)}: {v}" for k, v in value.items()) + "\n}"
    if isinstance(value, list):
        return "[\n" + ",\n".join(f"  {json.dumps(v)}" for v in value) + "\n]"
    return json.dumps(value)


if __name__ == "__main__":
    main()
