"""Old and new look-up side by side, compiled: hits, misses, duplicates and empty tables of every kind of key."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.dispatch_tables.table_code import changed

FUNCTIONS = 12
HEAD = """#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include "kernels.h"
"""
KERNELS = "#pragma once\n" + "".join(f"int f{k}(int n);\n" for k in range(FUNCTIONS))
STRUCT = """
struct Shape
{
    std::string_view arch;
    int cu;
    int M;
    int N;
    int K;
};
struct ShapeHash
{
    size_t operator()(const Shape& s) const { return std::hash<std::string_view>{}(s.arch) ^ s.cu ^ s.M ^ s.N ^ s.K; }
};
struct ShapeEqual
{
    bool operator()(const Shape& a, const Shape& b) const
    {
        return a.cu == b.cu && a.M == b.M && a.N == b.N && a.K == b.K && a.arch == b.arch;
    }
};
"""
TUPLE = """
struct TupleHash
{
    template <typename T>
    size_t operator()(const T& t) const { return std::hash<int>{}(std::get<1>(t)); }
};
"""


@dataclass(frozen=True)
class Kind:
    """A kind of key: the map's type, what it needs, how a key is spelled, and how a query is asked."""

    map: str
    before: str
    fields: str  # one letter a field: i a number, s a text
    query: str
    parameters: str


KINDS = {
    "number": Kind("std::unordered_map<int, Kernel>", "", "i", "a", "int a"),
    "long": Kind("std::map<long long, Kernel>", "", "i", "a", "long long a"),
    "text": Kind("std::unordered_map<std::string, Kernel>", "", "s", "a", "const std::string& a"),
    "view": Kind("std::unordered_map<std::string_view, Kernel>", "", "s", "a", "std::string_view a"),
    "ordered text": Kind("std::map<std::string, Kernel>", "", "s", "a", "const std::string& a"),
    "tuple": Kind(
        "std::unordered_map<std::tuple<int, int, int>, Kernel, TupleHash>",
        TUPLE,
        "iii",
        "{a, b, c}",
        "int a, int b, int c",
    ),
    "tuple with a text": Kind(
        "std::unordered_map<std::tuple<std::string, int, int>, Kernel, TupleHash>",
        TUPLE,
        "sii",
        "{a, b, c}",
        "const std::string& a, int b, int c",
    ),
    "struct": Kind(
        "std::unordered_map<Shape, Kernel, ShapeHash, ShapeEqual>",
        STRUCT,
        "siiii",
        "{a, b, c, d, e}",
        "std::string_view a, int b, int c, int d, int e",
    ),
}
TEXTS = ("", "a", "aa", "ab", "b", "B", "gfx942", "gfx950", "gfx9420", "kernel_256x128", "kernel_256x64", "z~", "\xe9")


def spell(key: Sequence[int | str], braces: bool) -> str:
    parts = ", ".join(f'"{part}"' if isinstance(part, str) else str(part) for part in key)
    return f"{{{parts}}}" if braces else parts


def random_key(kind: Kind, dice: random.Random) -> tuple[int | str, ...]:
    return tuple(dice.choice(TEXTS) if field == "s" else dice.randint(-3, 6) for field in kind.fields)


@dataclass(frozen=True)
class Case:
    """One look-up in a namespace of its own: its rows (key, number of the function) and what is asked."""

    name: str
    kind: Kind
    rows: tuple[tuple[tuple[int | str, ...], int], ...]
    queries: tuple[tuple[int | str, ...], ...]


def cases() -> list[Case]:
    """Tables of several sizes for every kind of key, a third of their keys twice, and empty ones."""
    out = []
    for name, kind in KINDS.items():
        dice = random.Random(name)
        for count in (0, 1, 9, 40):
            rows = [(random_key(kind, dice), dice.randrange(FUNCTIONS)) for _ in range(count)]
            rows += [(key, dice.randrange(FUNCTIONS)) for key, _ in dice.sample(rows, count // 3)]
            queries = (*(key for key, _ in rows), *(random_key(kind, dice) for _ in range(60)))
            out.append(Case(f"{name.replace(' ', '_')}_{count}", kind, tuple(rows), queries))
    return out


def dispatcher(case: Case) -> str:
    """A look-up that falls back on a miss, and that says how many rows there are."""
    braces = len(case.kind.fields) > 1
    text = "".join(f"        {{{spell(key, braces)}, f{k}}},\n" for key, k in case.rows)
    kind = case.kind
    return f"""
namespace {case.name} {{
{kind.before}
using Kernel = std::function<int(int)>;
using KernelMap = {kind.map};

static const KernelMap& table()
{{
    static const KernelMap kernels = {{
{text}    }};
    return kernels;
}}

int NAME({kind.parameters})
{{
    const auto& kernels = table();
    auto it = kernels.find({kind.query});
    if(it != kernels.end())
        return it->second(1) + 1000 * static_cast<int>(kernels.count({kind.query}));
    return kernels.empty() ? -1 : -2 - static_cast<int>(kernels.size());
}}
}} // namespace {case.name}
"""


def driver(asked: Sequence[Case]) -> str:
    """A program that asks old and new, and prints the queries on which they differ."""
    text = "#include <cstdio>\n#include <string>\n#include <string_view>\n"
    text += "".join(f"int f{k}(int n) {{ return n + {k * 10}; }}\n" for k in range(FUNCTIONS))
    calls = ""
    for case in asked:
        text += (
            f"namespace {case.name} {{ int old_one({case.kind.parameters}); int new_one({case.kind.parameters}); }}\n"
        )
        for k, query in enumerate(case.queries):
            given = spell(query, False)
            differs = f"{case.name}::old_one({given}) != {case.name}::new_one({given})"
            calls += f'    if({differs}) std::puts("{case.name} {k}");\n'
    return f'{text}int main()\n{{\n{calls}    std::puts("done");\n}}\n'


@pytest.mark.clang
@pytest.mark.parametrize("compiler", ["clang++-19", "g++"])
def test_old_and_new_give_the_same_answers(tmp_path: Path, compiler: str) -> None:
    asked = cases()
    old = HEAD + "".join(dispatcher(case) for case in asked)
    new = changed({"tune.cu": old, "kernels.h": KERNELS})["tune.cu"].encode("latin-1").decode()
    assert "std::unordered_map<" not in new and "std::map<" not in new and "std::function<" not in new
    assert new.count("template <typename Key, typename Fn>") == 1
    texts = {"kernels.h": KERNELS, "old.cpp": old, "new.cpp": new, "main.cpp": driver(asked)}
    for file, text in texts.items():
        (tmp_path / file).write_text(text)
    for file, name in (("old.cpp", "old_one"), ("new.cpp", "new_one"), ("main.cpp", "none")):
        command = [compiler, "-std=c++20", "-O0", "-w", f"-DNAME={name}", "-c", file, "-o", f"{file}.o"]
        compiled = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert compiled.returncode == 0, f"{file}:\n{compiled.stderr[:3000]}"
    subprocess.run([compiler, "old.cpp.o", "new.cpp.o", "main.cpp.o", "-o", "both"], cwd=tmp_path, check=True)
    said = subprocess.run([tmp_path / "both"], capture_output=True, text=True, check=True).stdout.split("\n")
    assert said == ["done", ""]
