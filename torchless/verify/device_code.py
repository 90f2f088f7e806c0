"""Device code before and after, kernel by kernel: the same symbols, instructions, registers and local memory?

The device pass is compiled to AMDGPU assembly by a real compiler. What is known to be noise is taken out: comments,
file and line marks, the numbers of labels, a module's own id, section names. Symbols are compared demangled.

An edit may give a kernel another element type: ``c10::Half`` becomes ``__half``, whose conversions are other code. Over
the stub headers the old version is therefore compiled with torch's element types taken for the target's, which makes
its kernels those of the new version. Where that does not compile, the instances are paired by name, and what differs
in them is told apart from all other differences.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import shutil
import subprocess
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from torchless.facts.flags import find_headers, unit_arguments
from torchless.facts.model import TuSpec
from torchless.verify.compilers import Compiler
from torchless.verify.trace.normal import without_hosts
from torchless.verify.tree import Tree

# Element types that a migration replaces, as they are demangled, with the name that both then have.
ELEMENT_TYPES: Mapping[str, str] = {
    "c10::Half": "half",
    "at::Half": "half",
    "__half": "half",
    "_Float16": "half",
    "c10::BFloat16": "bfloat16",
    "at::BFloat16": "bfloat16",
    "hip_bfloat16": "bfloat16",
    "__hip_bfloat16": "bfloat16",
    "__bf16": "bfloat16",
    "c10::Float8_e4m3fn": "fp8",
    "c10::Float8_e4m3fnuz": "fp8",
    "__hip_fp8_e4m3_fnuz": "fp8",
    "__hip_fp8_e4m3": "fp8",
}
_LONGEST_FIRST = sorted(ELEMENT_TYPES, key=len, reverse=True)
_ELEMENT = re.compile(rf"(?<![\w:])(?:{'|'.join(map(re.escape, _LONGEST_FIRST))})(?!\w)")
_FIGURES = {
    "amdhsa_next_free_vgpr": "vector registers",
    "amdhsa_next_free_sgpr": "scalar registers",
    "amdhsa_accum_offset": "accumulator offset",
    "amdhsa_group_segment_fixed_size": "bytes of local memory",
    "amdhsa_private_segment_fixed_size": "bytes of scratch",
    "amdhsa_kernarg_size": "bytes of arguments",
    "amdhsa_wavefront_size32": "wave32",
    "amdhsa_uses_dynamic_stack": "dynamic stack",
}
_LABEL = re.compile(r"\.L([A-Za-z_.$]+)(\d+)(?:_(\d+))?")
_SYMBOL = re.compile(r"_Z\w+(?:\.[\w.]+)?")
_NOISE = re.compile(r"__hip_cuid_\w+|\.(?:static|intern)\.[0-9a-f]{8,}")
_KERNEL = re.compile(rb"__attribute__\s*\(\(\s*(?:global|__global__)\b|__global__")
_ALIAS = "TORCHLESS_TARGET_ELEMENTS"
_TIMEOUT = 900  # seconds for one device pass


@dataclass(frozen=True, slots=True)
class Function:
    """One function of the device code: its name demangled, whether it is a kernel, its code, its figures by name."""

    name: str
    is_kernel: bool
    code: tuple[str, ...]
    figures: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class DeviceCode:
    """The device code of one translation unit by demangled symbol; ``problem`` says why there is none.

    ``aliased``: torch's element types were taken for the target's.
    """

    spec: TuSpec
    functions: Mapping[str, Function] = field(default_factory=dict)
    problem: str = ""
    aliased: bool = False


@dataclass(frozen=True, slots=True)
class Difference:
    """Two versions of a function that are not the same. ``element_type``: they are of different element types."""

    function: str
    what: str
    element_type: bool = False


Keep = Callable[[Tree, TuSpec, Callable[[], DeviceCode]], DeviceCode]
"""Gives the code of a unit in a version from memory, or from the function that makes it."""


def made_anew(tree: Tree, spec: TuSpec, make: Callable[[], DeviceCode]) -> DeviceCode:
    """A Keep that remembers nothing."""
    return make()


def compile_device(
    compiler: Compiler,
    before: Tree,
    after: Tree,
    specs: Sequence[TuSpec],
    headers: str,
    jobs: int,
    keep: Keep = made_anew,
) -> tuple[list[DeviceCode], list[DeviceCode]]:
    """The device code of each of ``specs`` (device passes) in both versions, in their order.

    ``headers`` is as for find_headers(). Over stub headers, the version before takes torch's element types for the
    target's wherever that compiles.
    """
    with before.vfs() as old, after.vfs() as new, ThreadPoolExecutor(max_workers=max(1, jobs)) as pool:

        def compiled(tree: Tree, spec: TuSpec, overlay: Sequence[str]) -> DeviceCode:
            if tree is before and headers == "stubs":
                aliased = replace(spec, defines=(*spec.defines, _ALIAS))
                code = keep(tree, aliased, lambda: _compile(compiler, tree, aliased, headers, overlay))
                if not code.problem:
                    return replace(code, spec=spec, aliased=True)
            return keep(tree, spec, lambda: _compile(compiler, tree, spec, headers, overlay))

        # side by side: one large unit must not keep a core waiting
        pending = [(pool.submit(compiled, before, s, old), pool.submit(compiled, after, s, new)) for s in specs]
        return [one.result() for one, _ in pending], [two.result() for _, two in pending]


def compile_as_they_are(
    compiler: Compiler, tree: Tree, specs: Sequence[TuSpec], headers: str, jobs: int
) -> list[DeviceCode]:
    """The device code of each of ``specs`` in one version, no type taken for another."""
    with tree.vfs() as overlay, ThreadPoolExecutor(max_workers=max(1, jobs)) as pool:
        return list(pool.map(lambda spec: _compile(compiler, tree, spec, headers, overlay), specs))


def to_bytes(code: DeviceCode) -> bytes:
    """``code`` without its spec, for from_bytes()."""
    rows = [[f.name, f.is_kernel, f.code, f.figures] for f in code.functions.values()]
    return zlib.compress(json.dumps([code.problem, rows]).encode(), 1)


def from_bytes(body: bytes, spec: TuSpec) -> DeviceCode:
    """What to_bytes() was given, for ``spec``. Raises ValueError, TypeError or zlib.error for anything else."""
    problem, rows = json.loads(zlib.decompress(body))
    functions = {
        name: Function(name, is_kernel, tuple(code), tuple((key, value) for key, value in figures))
        for name, is_kernel, code, figures in rows
    }
    return DeviceCode(spec, functions, problem)


def _compile(compiler: Compiler, tree: Tree, spec: TuSpec, headers: str, overlay: Sequence[str]) -> DeviceCode:
    # a builtin that the target has no library call for ends the compiler, as a call by its name it does not
    arguments = [*unit_arguments(spec, tree.root, find_headers(headers)), *overlay, "-O3", "-fno-builtin", "-S"]
    command = [compiler.path, *arguments, "-o", "-", *tree.input(spec.source)]
    try:
        if _has_no_kernel(command, tree, spec, headers):
            return DeviceCode(spec)
        done = subprocess.run(command, capture_output=True, timeout=_TIMEOUT, check=False, cwd=tree.root)
    except subprocess.TimeoutExpired:
        return DeviceCode(spec, problem=f"no answer after {_TIMEOUT} s")
    except OSError as error:
        return DeviceCode(spec, problem=f"{compiler.path}: {error.strerror}")
    if done.returncode != 0:
        lines = os.fsdecode(done.stderr).splitlines()
        first = next((line for line in lines if "error" in line), lines[0] if lines else "failed without a word")
        return DeviceCode(spec, problem=first.strip())
    return DeviceCode(spec, read_assembly(done.stdout.decode("utf-8", "replace")))


def _has_no_kernel(command: Sequence[str], tree: Tree, spec: TuSpec, headers: str) -> bool:
    """Whether a source that binds functions, over the stub headers, holds no kernel once it is preprocessed.

    Most do not, and compiling them takes longer than many a launcher. An installed library may have kernels anywhere.
    """
    if headers != "stubs" or b"PYBIND11_MODULE" not in tree.read(spec.source):
        return False
    told = [*command[:-4], "-E", "-P", *command[-3:]]
    done = subprocess.run(told, capture_output=True, timeout=_TIMEOUT, check=False, cwd=tree.root)
    return done.returncode == 0 and _KERNEL.search(done.stdout) is None


def read_assembly(text: str) -> dict[str, Function]:
    """The functions in AMDGPU assembly as clang prints it, by demangled symbol, noise taken out."""
    names = demangled({*_SYMBOL.findall(text)})
    functions: dict[str, Function] = {}
    figures = _figures(text)
    for begin in re.finditer(r"^([\w.$]+):\s*; @\1[ \t]*$", text, re.M):
        symbol = begin.group(1)
        if f".type\t{symbol},@function" not in text:
            continue
        end = re.compile(r"^\.Lfunc_end\d+:", re.M).search(text, begin.end())
        body = text[begin.end() : end.start() if end else len(text)]
        name = names.get(symbol, symbol)
        found = figures.get(symbol)
        functions[name] = Function(name, found is not None, _code(body, names), found or ())
    return functions


def _figures(text: str) -> dict[str, tuple[tuple[str, str], ...]]:
    """The figures of each kernel, from its descriptor."""
    out = {}
    for block in re.finditer(r"^\s*\.amdhsa_kernel (\S+)\n(.*?)^\s*\.end_amdhsa_kernel", text, re.M | re.S):
        rows = re.findall(r"^\s*\.(amdhsa_\w+) (\S+)", block.group(2), re.M)
        out[block.group(1)] = tuple((_FIGURES[key], value) for key, value in rows if key in _FIGURES)
    return out


def _code(body: str, names: Mapping[str, str]) -> tuple[str, ...]:
    """The instructions and labels of a function's body, labels numbered in the order of their use."""
    numbers: dict[str, int] = {}

    def number(found: re.Match[str]) -> str:
        kind, _, within = found.groups()
        key = found.group() if within is None else f"{kind}_{within}"
        return f".L{kind}{numbers.setdefault(key, len(numbers))}"

    out = []
    for line in body.splitlines():
        bare = line.partition(";")[0].strip()
        if not bare or (bare.startswith(".") and not bare.endswith(":")):
            continue
        bare = _SYMBOL.sub(lambda found: names.get(found.group(), found.group()), bare)
        out.append(re.sub(r"\s+", " ", _NOISE.sub("<id>", _LABEL.sub(number, bare))))
    return tuple(out)


_BIT_INT = re.compile(r"D([BU])(\d+)_")
_PLACEHOLDER = re.compile(r"TorchlessBitInt([BU])(\d+)_")


def demangled(symbols: Iterable[str]) -> dict[str, str]:
    """Symbol -> demangled name, by the binutils' or LLVM's c++filt; without either, symbols stay as they are.

    Some versions know no bit-precise integers: they are given another type, as long as that is all that is unknown.
    """
    names = _filtered(symbols)
    left = {s: _BIT_INT.sub(_as_vendor_type, s) for s, name in names.items() if name == s and _BIT_INT.search(s)}
    again = _filtered(left.values())
    for symbol, other in left.items():
        if again[other] != other:
            names[symbol] = _PLACEHOLDER.sub(
                lambda m: f"{'unsigned ' if m[1] == 'U' else ''}_BitInt({m[2]})", again[other]
            )
    return names


def _as_vendor_type(found: re.Match[str]) -> str:
    name = f"TorchlessBitInt{found[1]}{found[2]}_"
    return f"u{len(name)}{name}"


def _filtered(symbols: Iterable[str]) -> dict[str, str]:
    listed = sorted(symbols)
    tool = shutil.which("c++filt") or shutil.which("llvm-cxxfilt") or shutil.which("llvm-cxxfilt-19")
    if tool is None or not listed:
        return {symbol: symbol for symbol in listed}
    done = subprocess.run([tool], input="\n".join(listed).encode(), capture_output=True, check=False)
    lines = done.stdout.decode("utf-8", "replace").splitlines()
    return dict(zip(listed, lines, strict=True)) if len(lines) == len(listed) else {s: s for s in listed}


def paired_name(name: str) -> str:
    """``name`` with element types that a migration exchanges under one name, and without the launcher's parameters."""
    return _ELEMENT.sub(lambda found: ELEMENT_TYPES[found.group()], without_hosts(name))


def compare(before: Mapping[str, Function], after: Mapping[str, Function]) -> list[Difference]:
    """Everything in which two versions of a translation unit's device code differ, in the order of names.

    Functions that are no kernels count with the kernels that call them: one that is only in one version is a difference
    when it is not an element type's own.
    """
    return [*_missing(before, after), *_changed(before, after)]


def _missing(before: Mapping[str, Function], after: Mapping[str, Function]) -> list[Difference]:
    old, new = {paired_name(n) for n in before}, {paired_name(n) for n in after}
    out = []
    for functions, other, word in ((before, new, "is gone"), (after, old, "is new")):
        for name in sorted(functions):
            if paired_name(name) not in other:
                out.append(Difference(name, word, not functions[name].is_kernel and bool(_ELEMENT.search(name))))
    return out


def _changed(before: Mapping[str, Function], after: Mapping[str, Function]) -> list[Difference]:
    renamed = {paired_name(name): name for name in after}
    out = []
    for name in sorted(before):
        other = after.get(name) or after.get(renamed.get(paired_name(name), ""))
        if other is None:
            continue
        what = _unlike(before[name], other)
        if what:
            out.append(Difference(name, what, without_hosts(other.name) != without_hosts(name)))
    return out


def _unlike(old: Function, new: Function) -> str:
    """How two versions of a function differ, in one line; "" when they do not."""
    figures = [f"{key} {a} -> {b}" for (key, a), (_, b) in zip(old.figures, new.figures, strict=False) if a != b]
    one, two = tuple(map(paired_name, old.code)), tuple(map(paired_name, new.code))
    if one != two:
        diff = list(difflib.unified_diff(one, two, lineterm="", n=0))[2:]
        changed = [line for line in diff if line[0] in "+-"]
        shown = "; ".join(changed[:3])
        figures.insert(0, f"{len(changed)} lines of {max(len(one), len(two))} differ: {shown}")
    return ", ".join(figures)
