"""Random trees of includes and conditions: our walk against a plain preprocessor of known macros, and against clang."""

from __future__ import annotations

import itertools
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.closure.conftest import checkout_at, write
from torchless.closure.chains import is_certain
from torchless.closure.model import Closure
from torchless.closure.walk import closure_of
from torchless.facts.model import TuSpec

FILES = ("a.cu", "b.h", "c.h", "d.h", "e.h")
OUTSIDE = ("HIP_U", "HIP_V")  # names that headers outside of the checkout may define
NAMES = ("X", "Y", *OUTSIDE)
CONDITIONS = (
    *(f"{directive} {name}" for directive in ("ifdef", "ifndef", "if") for name in NAMES),
    "if X == 1 && !defined(Y)",
    "if defined(HIP_U) || defined X",
    "if X > Y",
    "if defined(HIP_V) && HIP_V == 1 || Y",
    "if 0",
    "if !X",
)


@st.composite
def bodies(draw: st.DrawFn, targets: tuple[str, ...], depth: int = 0) -> str:
    """Lines of a file that includes some of ``targets``."""
    parts = []
    for _ in range(draw(st.integers(0, 4))):
        kind = draw(st.sampled_from(["include", "include", "outside", "define", "undef", "if", "if", "text"]))
        if kind == "include" and targets:
            parts.append(f'#include "{draw(st.sampled_from(targets))}"\n')
        elif kind == "outside":
            parts.append(f"#include <hip/x{draw(st.integers(0, 2))}.h>\n")
        elif kind == "define":
            parts.append(f"#define {draw(st.sampled_from(NAMES))} {draw(st.sampled_from(['0', '1', '2']))}\n")
        elif kind == "undef":
            parts.append(f"#undef {draw(st.sampled_from(NAMES))}\n")
        elif kind == "text":
            parts.append("int x; /* #else */\n")
        elif kind == "if" and depth < 3:
            parts.append(f"#{draw(st.sampled_from(CONDITIONS))}\n{draw(bodies(targets, depth + 1))}")
            for _ in range(draw(st.integers(0, 2))):
                condition = "elif" + draw(st.sampled_from(CONDITIONS)).removeprefix("if")
                parts.append(f"#{condition}\n{draw(bodies(targets, depth + 1))}")
            if draw(st.booleans()):
                parts.append(f"#else\n{draw(bodies(targets, depth + 1))}")
            parts.append("#endif\n")
    return "".join(parts)


@st.composite
def trees(draw: st.DrawFn) -> dict[str, str]:
    """Files that end: a file without a guard includes later files only, or ones with a guard."""
    guards = {name: draw(st.sampled_from(["", "ifndef", "once"])) for name in FILES[1:]}
    files = {}
    for place, name in enumerate(FILES):
        targets = tuple(f for f in FILES[1:] if guards[f] or f > name or place == 0)
        body = draw(bodies(targets))
        guard = guards.get(name, "")
        macro = f"GUARD_{name[0].upper()}"
        files[name] = {
            "": body,
            "once": f"#pragma once\n{body}",
            "ifndef": f"#ifndef {macro}\n#define {macro}\n{body}#endif\n",
        }[guard]
    return files


class Plain:
    """A preprocessor for the trees above that knows every macro."""

    def __init__(self, files: Mapping[str, str], macros: Mapping[str, str]) -> None:
        self.files = files
        self.macros = dict(macros)
        self.once: set[str] = set()
        self.read: set[str] = set()
        self.lines = 0

    def enter(self, name: str) -> Plain:
        self.read.add(name)
        if name not in self.files or name in self.once:
            return self
        active = [True]  # of each open condition
        done = [True]  # whether an arm of it was taken
        for line in self.files[name].splitlines():
            word, _, rest = line.removeprefix("#").partition(" ")
            if not line.startswith("#"):
                continue
            if word in ("if", "ifdef", "ifndef"):
                value = active[-1] and self.holds(word, rest)
                done.append(value or not active[-1])
                active.append(value)
            elif word in ("elif", "elifdef", "elifndef", "else"):
                value = not done[-1] and (word == "else" or self.holds(word[2:], rest))
                active[-1] = value
                done[-1] = done[-1] or value
            elif word == "endif":
                active.pop()
                done.pop()
            elif active[-1] and word == "include":
                self.enter(rest.strip('"<>'))
            elif active[-1] and word == "define":
                macro, _, body = rest.partition(" ")
                self.macros[macro] = body
            elif active[-1] and word == "undef":
                self.macros.pop(rest, None)
            elif active[-1] and word == "pragma":
                self.once.add(name)
        return self

    def holds(self, word: str, text: str) -> bool:
        if word in ("ifdef", "def"):
            return text in self.macros
        if word in ("ifndef", "ndef"):
            return text not in self.macros
        for name in NAMES:
            text = text.replace(f"defined({name})", str(int(name in self.macros)))
            text = text.replace(f"defined {name}", str(int(name in self.macros)))
        for name in NAMES:
            text = text.replace(name, self.macros.get(name, "0"))
        python = text.replace("&&", " and ").replace("||", " or ").replace("!", " not ").replace(" not =", "!=")
        return bool(eval(python))


def closure_over(files: Mapping[str, str], folder: Path, defines: tuple[str, ...] = ()) -> Closure:
    write(folder, files)
    return closure_of(checkout_at(folder), TuSpec("a.cu", (".",), defines, True))


@settings(max_examples=300, deadline=None)
@given(trees())
def test_with_known_macros_the_walk_is_a_preprocessor(files: dict[str, str]) -> None:
    known = {"HIP_U": "1", "HIP_V": "0"}
    plain = Plain(files, known).enter("a.cu")
    with tempfile.TemporaryDirectory() as folder:
        closure = closure_over(files, Path(folder), tuple(f"{name}={value}" for name, value in known.items()))
    assert set(closure.via) == plain.read
    assert all(edge.certain for edge in closure.edges)
    assert not closure.undecided and not closure.troubles


@settings(max_examples=300, deadline=None)
@given(trees())
def test_with_unknown_macros_no_pass_reads_more_and_every_pass_reads_what_is_certain(files: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        closure = closure_over(files, Path(folder))
    sure = {path for path in closure.via if is_certain(closure, path)}
    for values in itertools.product((None, "0", "1"), repeat=len(OUTSIDE)):
        macros = {name: value for name, value in zip(OUTSIDE, values, strict=True) if value is not None}
        read = Plain(files, macros).enter("a.cu").read
        assert sure <= read <= set(closure.via), macros


@pytest.mark.clang
@settings(max_examples=40, deadline=None)
@given(trees())
def test_clang_opens_what_the_walk_says(files: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        closure = closure_over(files, folder, ("HIP_U=1", "HIP_V=0"))
        command = ["clang++-19", "-x", "c++", "-std=c++20", "-w", "-M", "-MG", "-I.", "-DHIP_U=1", "-DHIP_V=0", "a.cu"]
        listed = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout
    opened = {path.removeprefix("./") for path in listed.partition(":")[2].replace("\\\n", " ").split()}
    assert set(closure.via) == opened
