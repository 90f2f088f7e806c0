"""Python that prints the rows of a table: run before and after, it prints the same rows, sorted, each key once."""

from __future__ import annotations

import re
import types
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.dispatch_tables.table_code import blockers, changed, codes, edits_of, offered
from torchless.text.edits import apply

HEADS = '''
HEAD = """#pragma once
#define GENERATE_LOOKUP_TABLE(T) \\\\
   { \\\\"""
ROW = """
       {{{key}, {name}<T>}}, \\\\"""
NAMED = """
       {{"{name}", {name}<T>}}, \\\\"""
END = """
   }
"""
DECLARATION = """
template <typename T>
void {name}(void* out, int n);
"""


def declare(kernels):
    return "".join(DECLARATION.format(name=name) for name in kernels)
'''
BY_ID = (
    HEADS
    + """

def write(path, kernels):
    # the registry of {id: name}
    with open(path / "tune_lookup.h", "w") as f:
        f.write(HEAD)
        for key, name in kernels.items():
            if key < 0:
                continue  # a fallback
            f.write(ROW.format(key=key, name=name))
        f.write(END)
"""
)
BY_NAME = (
    HEADS
    + """

class Writer:
    def __init__(self, path):
        self.path = path

    def write(self, kernels):
        out = [HEAD]
        out.append("")
        for name in kernels:
            out.append(NAMED.format(name=name))
        out.append(END)
        (self.path / "tune_lookup.h").write_text("".join(out))


def write(path, kernels):
    Writer(path).write(kernels)
"""
)
BY_NAME = BY_NAME.replace(
    '        out = [HEAD]\n        out.append("")\n', "        out = []\n        out.append(HEAD)\n"
)
BY_TUPLE = (
    HEADS
    + """

def write(path, kernels):
    with open(path / "tune_lookup.h", "w") as f:
        f.write(HEAD)
        for key, name in kernels.items():
            if isinstance(key, tuple):
                text = '{"' + key[0] + '", ' + ", ".join(str(x) for x in key[1:]) + "}"
                f.write(
                    ROW.format(
                        key=text,  # quoted where it must be
                        name=name,
                    )
                )
        f.write(END)
"""
)
BY_NUMBERS = BY_TUPLE.replace(
    """                text = '{"' + key[0] + '", ' + ", ".join(str(x) for x in key[1:]) + "}"\n""", ""
).replace("key=text,  # quoted where it must be", 'key="{" + (", ").join(map(lambda x: str(x), list(key))) + "}",')
IN_F_STRINGS = '''
def declare(kernels):
    return "".join(f"void {name}(void* out, int n);\\n" for name in kernels)


def write(path, kernels):
    text = """#pragma once
#define GENERATE_LOOKUP_TABLE(T) \\\\
    { \\\\
"""
    for key, name in kernels.items():
        text += f"        {{{key}, {name}}}, \\\\\\n"
    text += "    }\\n"
    (path / "tune_lookup.h").write_text(text)
'''
APART = (
    HEADS
    + """

def open_table(path):
    with open(path / "tune_lookup.h", "w") as f:
        f.write(HEAD)


def add_rows(path, kernels):
    with open(path / "tune_lookup.h", "a") as f:
        for name in kernels:
            element = NAMED.format(name=name)
            f.write(element)


def close_table(path):
    with open(path / "tune_lookup.h", "a") as f:
        f.write(END)


def write(path, kernels):
    names = list(kernels)
    open_table(path)
    add_rows(path, names[: len(names) // 2])
    add_rows(path, names[len(names) // 2 :])
    close_table(path)
"""
)
SHARED = """
def write_header(path, kernels, head, template, end):
    with open(path, "w") as f:
        f.write(head)
        for key, name in kernels.items():
            f.write(template.format(key=key, name=name))
        f.write(end)
"""
SHARING = (
    HEADS
    + """
from writers import write_header

WRITERS = "../../shared/writers"


def write(path, kernels):
    write_header(path / "tune_lookup.h", kernels, HEAD, ROW, END)
"""
)
USES = {
    "number": ("int", "int id", "id"),
    "text": ("std::string", "const std::string& id", "id"),
    "tuple": ("std::tuple<std::string, int, int>", "const std::string& a, int b, int c", "{a, b, c}"),
    "numbers": ("std::tuple<int, int>", "int a, int b", "{a, b}"),
}


def dispatcher(kind: str) -> str:
    key, parameters, query = USES[kind]
    return f"""#include <functional>
#include <unordered_map>
#include "tune_lookup.h"
using Kernel = std::function<void(void*, int)>;
using KernelMap = std::unordered_map<{key}, Kernel>;
Kernel dispatch({parameters})
{{
    static const auto lookup = [] {{ return KernelMap{{GENERATE_LOOKUP_TABLE(float)}}; }}();
    return lookup.find({query})->second;
}}
"""


NUMBERS = {7: "g7", -1: "fallback", 30: "g30", 2: "g2", 100: "g100"}
NAMES = dict.fromkeys(["b", "B", "ab", "a", "z_9", "z10", "Z"])
SHAPES = {("gfx950", 16, 2): "a", ("gfx942", 256, 1): "b", ("gfx942", 16, 30): "c", ("gfx942", 16, 4): "d"}
PAIRS = {(3, 1): "a", (-2, 5): "b", (10, 0): "c", (3, 0): "d"}
SCRIPTS = {
    "by id": (BY_ID, "number", NUMBERS),
    "by name": (BY_NAME, "text", NAMES),
    "by tuple": (BY_TUPLE, "tuple", {**SHAPES, -1: "fallback"}),
    "by numbers": (BY_NUMBERS, "numbers", {**PAIRS, -1: "fallback"}),
    "in f-strings": (IN_F_STRINGS, "number", NUMBERS),
    "apart": (APART, "text", NAMES),
}


def run(script: str, kernels: Mapping[object, object], folder: Path) -> str:
    """What ``script`` prints for ``kernels``."""
    folder.mkdir()
    module = types.ModuleType("generator")
    exec(compile(script, "gen.py", "exec"), module.__dict__)
    writes: Callable[..., None] = module.__dict__["write"]
    writes(folder, kernels)
    writes(folder, kernels)  # a second time, the same again
    return (folder / "tune_lookup.h").read_text()


def rows(printed: str) -> list[tuple[tuple[int | bytes, ...], str]]:
    """(key, function) of each row in order."""
    out = []
    for key, function in re.findall(r'\{(\{[^{}]*\}|"[^"]*"|-?\d+), ([\w<>]+)\}', printed.replace("\\\n", "\n")):
        parts = [part.strip() for part in key.strip("{}").split(",")]
        out.append((tuple(p[1:-1].encode() if p.startswith('"') else int(p) for p in parts), function))
    return out


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_same_rows_are_printed_in_order(name: str, tmp_path: Path) -> None:
    script, kind, kernels = SCRIPTS[name]
    files = {"csrc/tune.cu": dispatcher(kind), "csrc/gen.py": script}
    new = changed(files, ["csrc/gen.py"])
    assert set(new) == set(files)
    before = rows(run(script, kernels, tmp_path / "before"))
    after = rows(run(new["csrc/gen.py"], kernels, tmp_path / "after"))
    assert len(before) > 3 and before != sorted(before)
    assert after == sorted(before)
    assert set(re.findall(r"#.*", script)) <= set(re.findall(r"#.*", new["csrc/gen.py"]))
    assert not any(o.is_unit for o in offered({**files, **new}, ["csrc/gen.py"]))


def test_of_equal_keys_the_first_row_stays(tmp_path: Path) -> None:
    script = BY_NAME.replace('{{"{name}", {name}<T>}}', '{{"{name[0]}", {name}<T>}}')
    assert blockers(offered({"csrc/tune.cu": dispatcher("text"), "csrc/gen.py": script}, ["csrc/gen.py"])) == {"TL523"}
    script = BY_ID.replace("for key, name in kernels.items():", "for key, name in kernels:")
    new = changed({"csrc/tune.cu": dispatcher("number"), "csrc/gen.py": script}, ["csrc/gen.py"])["csrc/gen.py"]
    twice = [(3, "first"), (1, "one"), (3, "second")]
    assert [f for _, f in rows(run(new, twice, tmp_path / "after"))] == ["one<T>", "first<T>"]  # type: ignore[arg-type]


def test_a_function_that_scripts_share_is_edited_once() -> None:
    files = {
        "csrc/a/tune.cu": dispatcher("number"),
        "csrc/a/gen.py": SHARING,
        "csrc/b/tune.cu": dispatcher("number"),
        "csrc/b/gen.py": SHARING,
        "shared/writers/writers.py": SHARED,
    }
    new = changed(files, ["csrc/a/gen.py", "csrc/b/gen.py"])
    assert set(new) == {"csrc/a/tune.cu", "csrc/b/tune.cu", "shared/writers/writers.py"}
    assert "            rows.setdefault(key, template.format(key=key, name=name))\n" in new["shared/writers/writers.py"]
    assert "        for _, row in sorted(rows.items()):\n            f.write(row)\n" in new["shared/writers/writers.py"]
    again = {**files, "shared/writers/writers.py": new["shared/writers/writers.py"]}
    assert set(changed(again, ["csrc/a/gen.py", "csrc/b/gen.py"])) == {"csrc/a/tune.cu", "csrc/b/tune.cu"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "            f.write(ROW.format(key=key, name=name))\n",
            "            f.write(ROW.format(key=str(key), name=name))\n",
        ),
        ("            f.write(ROW", '            f.write("")\n            f.write(ROW'),
        ("        f.write(END)", "        f.write(ROW.format(key=1, name=2))\n        f.write(END)"),
        ("        f.write(HEAD)", "        emit(f, HEAD)"),
        ("        f.write(HEAD)", "        f.write(HEAD)\n        f.write(HEAD)"),
        ("ROW = ", "ROW = prefix + "),
        ("{{{key}, {name}<T>}}", "{{{key}, make({name})}}"),
        ("{{{key}, {name}<T>}}", "{{{key}, {name}<T>, 0}}"),
        ("def write", "def write("),
    ],
)
def test_a_script_whose_order_is_not_seen_blocks(old: str, new: str) -> None:
    assert old in BY_ID
    found = offered({"csrc/tune.cu": dispatcher("number"), "csrc/gen.py": BY_ID.replace(old, new)}, ["csrc/gen.py"])
    assert blockers(found) == {"TL523"}
    assert edits_of(found) == {}


def test_keys_of_another_kind_block() -> None:
    found = offered({"csrc/tune.cu": dispatcher("text"), "csrc/gen.py": BY_ID}, ["csrc/gen.py"])
    assert codes(found) == ["TL523"]


def test_functions_of_another_type_block() -> None:
    script = BY_ID.replace("void {name}(void* out, int n);", "void {name}(void* out, long n);")
    found = offered({"csrc/tune.cu": dispatcher("number"), "csrc/gen.py": script}, ["csrc/gen.py"])
    assert blockers(found) == {"TL524"}
    assert "void(void*,long)" in found[0].findings[0].message.replace(" ", "")


def test_printed_code_that_gives_out_state_blocks() -> None:
    script = (
        BY_ID + '\n\nHEURISTIC = """\nKernel guess(int m) { return [m](void* out, int n) { run(m, out, n); }; }\n"""\n'
    )
    found = offered({"csrc/tune.cu": dispatcher("number"), "csrc/gen.py": script}, ["csrc/gen.py"])
    assert blockers(found) == {"TL520"}


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_line_ends_and_tabs_stay(ends: str) -> None:
    script = BY_ID.replace("    ", "\t").replace("\n", ends)
    files = {"csrc/tune.cu": dispatcher("number"), "csrc/gen.py": script}
    new = apply(script.encode(), edits_of(offered(files, ["csrc/gen.py"]))["csrc/gen.py"]).decode()
    assert (
        f"\t\trows = {{}}{ends}" in new
        and f"\t\tfor _, row in sorted(rows.items()):{ends}\t\t\tf.write(row){ends}" in new
    )
    assert ends == "\n" or "\n" not in new.replace("\r\n", "")
    compile(new, "gen.py", "exec")


def test_a_macro_printed_by_a_helper_stands_in_the_header_that_the_script_writes() -> None:
    script = '''
class Writer:
    def emit(self, out, macro, names):
        out.append(f"\\n#define {macro}() \\\\\\n")
        out.append("    { \\\\\\n")
        for n in names:
            out.append(f'        {{"{n}", &{n}}}, \\\\\\n')
        out.append("    }\\n")

    def write(self, names):
        out = ["""#pragma once
#include "shapes.h"
"""]
        for n in names:
            out.append(f'extern "C" void {n}(void* out, int n);\\n')
        for macro, some in {"GENERATE_WIDE_LOOKUP_TABLE": names}.items():
            self.emit(out, macro, some)
        (self.path / "wide_lookup.h").write_text("".join(out))
'''
    source = """#include <string>
#include <unordered_map>
#include "wide_lookup.h"
const std::unordered_map<std::string, WideFn>& table()
{
    static const std::unordered_map<std::string, WideFn> t = GENERATE_WIDE_LOOKUP_TABLE();
    return t;
}
WideFn find(const std::string& name)
{
    auto it = table().find(name);
    return it != table().end() ? it->second : nullptr;
}
"""
    shapes = "#pragma once\nusing WideFn = void (*)(void*, int);\n"
    files = {"csrc/wide.cu": source, "csrc/gen.py": script, "csrc/shapes.h": shapes}
    (found,) = offered(files, ("csrc/gen.py",), everything=True)
    assert not any(f.blocks for f in found.findings)
    assert dict(found.stand_ins) == {
        "csrc/wide_lookup.h": b'#pragma once\n#include "shapes.h"\n'
        b'#define GENERATE_WIDE_LOOKUP_TABLE() {{"a", nullptr}, {"b", nullptr}}\n'
    }
