"""What a device pass emits, by a real compiler's front end: kernels and variables by their symbols.

No code is optimised for it, so it costs what parsing and instantiating cost. ``device_code`` compares the code itself.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from torchless.facts.flags import find_headers, unit_arguments
from torchless.facts.model import TuSpec
from torchless.verify.compilers import Compiler
from torchless.verify.device_code import demangled
from torchless.verify.tree import Tree

_TIMEOUT = 600  # seconds for one pass
_KERNEL = re.compile(r"^define [^\n]*?\bamdgpu_kernel void @(\"?)([\w.$]+)\1\(", re.M)
_VARIABLE = re.compile(r"^@(\"?)([\w.$]+)\1 = (?!private|internal|available_externally)[^\n]*", re.M)


@dataclass(frozen=True)
class Emitted:
    """The demangled names of the kernels and variables that a pass emits; ``problem`` says why they are not known."""

    kernels: frozenset[str] = frozenset()
    variables: frozenset[str] = frozenset()
    problem: str = ""


def emitted(compiler: Compiler, tree: Tree, spec: TuSpec, headers: str, overlay: Sequence[str]) -> Emitted:
    """What the device pass ``spec`` of ``tree`` emits. ``overlay`` are the arguments of Tree.vfs()."""
    arguments = ["-S", "-emit-llvm", "-O0", "-Xclang", "-disable-llvm-passes", "-fno-builtin"]
    text, problem = _run(compiler, tree, spec, headers, [*overlay, *arguments])
    if problem:
        return Emitted(problem=problem)
    kernels = {m[2] for m in _KERNEL.finditer(text)}
    variables = {m[2] for m in _VARIABLE.finditer(text) if "externally_initialized" in m[0]}
    names = demangled(kernels | variables)
    return Emitted(frozenset(names[s] for s in kernels), frozenset(names[s] for s in variables))


def accepted(compiler: Compiler, tree: Tree, spec: TuSpec, headers: str, overlay: Sequence[str]) -> str:
    """Why ``compiler`` does not accept ``spec``, "" when it does."""
    return _run(compiler, tree, spec, headers, [*overlay, "-fsyntax-only"])[1]


def _run(compiler: Compiler, tree: Tree, spec: TuSpec, headers: str, more: Sequence[str]) -> tuple[str, str]:
    arguments = [*unit_arguments(spec, tree.root, find_headers(headers)), *more]
    command = [compiler.path, *arguments, "-o", "-", *tree.input(spec.source)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_TIMEOUT, check=False, cwd=tree.root)
    except subprocess.TimeoutExpired:
        return "", f"no answer after {_TIMEOUT} s"
    except OSError as error:
        return "", f"{compiler.path}: {error.strerror}"
    if done.returncode != 0:
        lines = os.fsdecode(done.stderr).splitlines()
        first = next((line for line in lines if "error" in line), lines[0] if lines else "failed without a word")
        return "", first.strip().replace(f"{tree.root}/", "")
    return done.stdout.decode("utf-8", "replace"), ""


_DEFINED = re.compile(r"^define (weak_odr )?[^\n]*?@(\"?)([\w.$]+)\2\(", re.M)
_STUB = "__device_stub__"


@dataclass(frozen=True)
class HostSymbols:
    """What a host pass defines, demangled: the ``kernels`` that it can register, and what it instantiates besides."""

    kernels: frozenset[str] = frozenset()
    instances: frozenset[str] = frozenset()
    problem: str = ""


def host_symbols(compiler: Compiler, tree: Tree, spec: TuSpec, headers: str, overlay: Sequence[str]) -> HostSymbols:
    """What the host pass ``spec`` of ``tree`` defines for other units: stubs of kernels, explicit instantiations."""
    arguments = ["-S", "-emit-llvm", "-O0", "-Xclang", "-disable-llvm-passes"]
    text, problem = _run(compiler, tree, spec, headers, [*overlay, *arguments])
    if problem:
        return HostSymbols(problem=problem)
    found = [(m[3], bool(m[1])) for m in _DEFINED.finditer(text)]
    names = demangled({symbol for symbol, _ in found})
    stubs = frozenset(names[s].replace(_STUB, "") for s, _ in found if _STUB in s)
    return HostSymbols(stubs, frozenset(names[s] for s, odr in found if odr and _STUB not in s))
