"""What a dispatcher costs its compiler, before `torchless migrate --select TL51` and after.

    python benchmarks/dispatch.py [--keys number,text,fields] [--rows 20,500,1300] [--compilers clang++-19,g++]

For each kind of key and number of rows a translation unit is made: a std::unordered_map from that key to std::function,
filled in a function template that is instantiated twice, as dispatchers for two output types are. torchless rewrites
it; both are compiled. Columns: CPU seconds of the front end alone (-fsyntax-only) and of the whole compilation as the
target's modules are built (-O3 -c), the smallest of --repeat runs, and the bytes of the object file. A compilation that
takes more than --limit CPU seconds is given up and shown as a lower bound. "headers" is the front end over the
standard headers that each version includes, and nothing else; "own" is the front end without them.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from torchless.api import MigrateOptions, migrate

HEAD = """#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

struct Tensor
{
    void* data;
};
using Kernel = std::function<Tensor(Tensor&, Tensor&, Tensor&, Tensor&, int)>;
"""
KEY = """
struct Shape
{
    std::string_view gfx;
    int cu_num;
    int M;
    int N;
    int K;
};
struct ShapeHash
{
    size_t operator()(const Shape& s) const noexcept
    {
        return std::hash<std::string_view>{}(s.gfx) ^ std::hash<int>{}(s.M * 31 + s.N) ^ std::hash<int>{}(s.K);
    }
};
struct ShapeEqual
{
    bool operator()(const Shape& a, const Shape& b) const noexcept
    {
        return a.gfx == b.gfx && a.cu_num == b.cu_num && a.M == b.M && a.N == b.N && a.K == b.K;
    }
};
"""
DISPATCH = """
template <typename Out>
Kernel dispatch({parameters})
{{
    static const auto lookup = [] {{
        return KernelMap{{
{rows}        }};
    }}();
    auto it = lookup.find({query});
    if(it != lookup.end())
        return it->second;
    return kernel_0<Out>;
}}
template Kernel dispatch<float>({types});
template Kernel dispatch<short>({types});
"""


@dataclass(frozen=True)
class Kind:
    """A kind of key: the map's arguments, the parameters of a look-up, what it asks for."""

    map: str
    parameters: str
    types: str
    query: str
    before: str = ""


KINDS = {
    "number": Kind("int, Kernel", "int id", "int", "id"),
    "text": Kind("std::string, Kernel", "const std::string& name", "const std::string&", "name"),
    "fields": Kind(
        "Shape, Kernel, ShapeHash, ShapeEqual",
        "std::string_view gfx, int cu_num, int M, int N, int K",
        "std::string_view, int, int, int, int",
        "{gfx, cu_num, M, N, K}",
        KEY,
    ),
}


@dataclass(frozen=True)
class Cost:
    """CPU seconds (``over``: the run was given up at that time), and the bytes of what was written."""

    cpu: float
    size: int = 0
    over: bool = False

    def __str__(self) -> str:
        return f"{'>' if self.over else ''}{self.cpu:.2f}"


def keys(kind: str, rows: int) -> Iterator[str]:
    """That many different keys as they are spelled, in no order."""
    dice = random.Random(rows)
    numbers = dice.sample(range(rows * 3), rows)
    for n in numbers:
        if kind == "number":
            yield str(n)
        elif kind == "text":
            yield f'"gemm_{n % 7}x{n}x128_16x16_1x1_8x8x1_intrawave_v{n % 5}"'
        else:
            yield f'{{"gfx{940 + n % 3}", {(80, 256, 304)[n % 3]}, {n}, {n * 7 % 8192}, {512 * (n % 9)}}}'


def unit(kind: str, rows: int) -> str:
    """The translation unit with a map."""
    k = KINDS[kind]
    declared = "".join(
        f"template <typename Out>\nTensor kernel_{n}(Tensor&, Tensor&, Tensor&, Tensor&, int);\n" for n in range(rows)
    )
    text = "".join(f"            {{{key}, kernel_{n}<Out>}},\n" for n, key in enumerate(keys(kind, rows)))
    dispatch = DISPATCH.format(parameters=k.parameters, types=k.types, query=k.query, rows=text)
    return f"{HEAD}{k.before}using KernelMap = std::unordered_map<{k.map}>;\n\n{declared}{dispatch}"


def rewritten(text: str, folder: Path) -> str:
    """What torchless makes of ``text``; exits when it does not migrate."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "dispatch.cpp").write_text(text)
    options = MigrateOptions(paths=(".",), select=("TL51", "TL52"), cache=False)
    result = migrate(options, folder, lambda stage, done, total: None)
    if set(result.changes) != {"dispatch.cpp"}:
        sys.exit("\n".join(f"{f.code} {f.message}" for u in result.units for f in u.findings))
    return result.changes["dispatch.cpp"].new.decode()


def compiled(command: Sequence[str], folder: Path, limit: float, repeat: int) -> Cost:
    """The smallest cost of some runs of ``command``, which may write ``unit.o``. Exits when it fails."""
    best: Cost | None = None
    seconds = int(limit)
    for _ in range(repeat):
        process = subprocess.Popen(
            command,
            cwd=folder,
            stderr=subprocess.PIPE,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1)),
        )
        message = process.stderr.read() if process.stderr else b""
        _, status, usage = os.wait4(process.pid, 0)
        cpu = usage.ru_utime + usage.ru_stime
        if cpu >= seconds:
            process.returncode = 0
            return Cost(limit, over=True)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit(f"{' '.join(command)}:\n{message.decode()[:2000]}")
        written = folder / "unit.o"
        cost = Cost(cpu, written.stat().st_size if written.exists() else 0)
        best = cost if best is None or cost.cpu < best.cpu else best
        if cost.cpu > 20:
            break  # noise does not matter any more
    assert best is not None
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keys", default="number,text,fields")
    parser.add_argument("--rows", default="20,500,1300")
    parser.add_argument("--compilers", default="clang++-19,g++")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--limit", type=float, default=900, metavar="SECONDS")
    options = parser.parse_args()
    compilers = [c for c in options.compilers.split(",") if shutil.which(c)]
    print("| key | rows | compiler | front end s | headers s | own s | -O3 s | ratio | object bytes |")
    print("|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for kind in options.keys.split(","):
            for rows in (int(n) for n in options.rows.split(",")):
                old = unit(kind, rows)
                texts = {"before": old, "after": rewritten(old, folder / "checkout")}
                for compiler in compilers:
                    costs: dict[str, tuple[Cost, Cost]] = {}
                    headers: dict[str, float] = {}
                    for name, text in texts.items():
                        (folder / "unit.cpp").write_text(text)
                        (folder / "unit.o").unlink(missing_ok=True)
                        start = [compiler, "-std=c++20", "-w"]
                        front = compiled([*start, "-fsyntax-only", "unit.cpp"], folder, options.limit, options.repeat)
                        command = [*start, "-O3", "-c", "unit.cpp", "-o", "unit.o"]
                        costs[name] = front, compiled(command, folder, options.limit, options.repeat)
                        lines = [line for line in text.splitlines(keepends=True) if line.startswith("#include")]
                        (folder / "unit.cpp").write_text("".join(lines))
                        alone = [*start, "-fsyntax-only", "unit.cpp"]
                        headers[name] = compiled(alone, folder, options.limit, options.repeat).cpu
                    (front, whole), (front_after, whole_after) = costs["before"], costs["after"]
                    ratio = f"{'>' if whole.over else ''}{whole.cpu / whole_after.cpu:.0f}"
                    sizes = f"{whole.size or '?'} / {whole_after.size}"
                    of_headers = f"{headers['before']:.2f} / {headers['after']:.2f}"
                    own = f"{front.cpu - headers['before']:.2f} / {front_after.cpu - headers['after']:.2f}"
                    seconds = f"{front} / {front_after} | {of_headers} | {own} | {whole} / {whole_after}"
                    print(f"| {kind} | {rows} | {compiler} | {seconds} | {ratio} | {sizes} |", flush=True)


if __name__ == "__main__":
    main()
