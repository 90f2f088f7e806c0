"""`torchless why` over a small module: ways, what they cost, passes that differ, and what cannot be answered."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from tests.lints.conftest import lay_out
from torchless import why as engine
from torchless.report.why import schema
from torchless.verify import compilers

SOURCE = "csrc/kernels/x.cu"
FILES = {
    SOURCE: '#include "a.h"\n#include "b.h"\n#ifndef __HIP_DEVICE_COMPILE__\n#include "host.h"\n#endif\nint x;\n',
    "csrc/include/a.h": "#pragma once\n#include <torch/all.h>\nint a;\n",
    "csrc/include/b.h": '#pragma once\n#include "a.h"\nint b;\n',
    "csrc/include/host.h": "#pragma once\n#include <pybind11/pybind11.h>\n#include <odd/one.h>\n",
}


@pytest.fixture
def module(tmp_path: Path) -> Path:
    lay_out(tmp_path, FILES)
    return tmp_path


def answer(run, cwd: Path, *arguments: str) -> list[str]:
    ran = run("why", "-q", *arguments, cwd=cwd)
    assert (ran.code, ran.err) == (0, "")
    return ran.out.decode().splitlines()


def data(run, cwd: Path, *arguments: str):
    ran = run("why", "--output-format", "json", *arguments, cwd=cwd)
    assert (ran.code, ran.err) == (0, "")
    report = json.loads(ran.out)
    Draft202012Validator(schema()).validate(report)
    return report


def test_the_schema_is_one():
    Draft202012Validator.check_schema(schema())


def test_the_shortest_way_and_what_its_steps_cost(run, module):
    lines = answer(run, module, SOURCE, "torch/all.h")
    assert lines[0] == f"{SOURCE} (module_example)"
    assert lines[1].startswith("host pass, device pass for gfx942: reads 7 files (host pass), 4 files (device pass); ")
    assert lines[2] == "  not counted, for want of a weight: odd/one.h"
    at = next(n for n, line in enumerate(lines) if line.startswith("torch/all.h (torch): "))
    assert "exclusive" in lines[at] and "inclusive" in lines[at]
    assert lines[at + 1 :] == [
        f'  {SOURCE}:1: #include "a.h"',
        "      without it: nothing goes; another directive brings all of it",
        "  csrc/include/a.h:2: #include <torch/all.h>",
        lines[at + 4],
        "  1 further way (--all lists them)",
    ]
    saved = (
        r"      without it: [\d,]+ lines and 1 file less \(host pass\); [\d,]+ lines and 1 file less \(device pass\)"
    )
    assert re.fullmatch(saved, lines[at + 4])


def test_all_ways(run, module):
    lines = answer(run, module, SOURCE, "torch/all.h", "--all")
    steps = [line.strip() for line in lines if ": #include" in line or line == "  or"]
    assert steps == [
        f'{SOURCE}:1: #include "a.h"',
        "csrc/include/a.h:2: #include <torch/all.h>",
        "or",
        f'{SOURCE}:2: #include "b.h"',
        'csrc/include/b.h:2: #include "a.h"',
        "csrc/include/a.h:2: #include <torch/all.h>",
    ]
    assert not any("further" in line for line in lines)


def test_a_limit_says_how_many_it_leaves_out(run, module):
    for number in range(5):
        (module / f"csrc/include/n{number}.h").write_text('#pragma once\n#include "a.h"\n')
    includes = "".join(f'#include "n{number}.h"\n' for number in range(5))
    (module / SOURCE).write_text(includes + FILES[SOURCE])
    lines = answer(run, module, SOURCE, "torch/all.h", "--all", "--limit", "3")
    assert lines.count("  or") == 2
    assert lines[-1] == "  4 further ways"
    reason = data(run, module, SOURCE, "torch/all.h", "--all", "--limit", "3")["passes"][0]["reasons"][0]
    assert (len(reason["ways"]), reason["further_ways"], reason["further_ways_counted"]) == (3, 4, True)


def test_very_many_ways_are_not_counted_to_the_end(run, module, monkeypatch):
    monkeypatch.setattr(engine, "COUNTED", 20)
    monkeypatch.setattr("torchless.report.why.COUNTED", 20)
    for number in range(8):
        onward = "".join(f'#include "n{n}.h"\n' for n in range(number)) or '#include "a.h"\n'
        (module / f"csrc/include/n{number}.h").write_text(f"#pragma once\n{onward}")
    (module / SOURCE).write_text('#include "n7.h"\n')
    assert answer(run, module, SOURCE, "torch/all.h")[-1] == "  at least 19 further ways (--all lists them)"
    reason = data(run, module, SOURCE, "torch/all.h")["passes"][0]["reasons"][0]
    assert (reason["further_ways"], reason["further_ways_counted"]) == (19, False)


def test_every_heavy_header_and_passes_that_differ(run, module):
    lines = answer(run, module, SOURCE)
    heads = [line.split(":")[0] for line in lines if line and not line.startswith(" ")]
    assert heads == [
        f"{SOURCE} (module_example)",
        "host pass",
        "torch/all.h (torch)",
        "pybind11/pybind11.h (pybind11)",
        "device pass for gfx942",
        "torch/all.h (torch)",
    ]


def test_a_header_of_the_checkout_and_one_without_a_weight(run, module):
    lines = answer(run, module, SOURCE, "b.h")
    assert any(line.startswith("csrc/include/b.h: ") for line in lines)
    assert "odd/one.h: its lines are not known" in answer(run, module, SOURCE, "odd/one.h")
    host = data(run, module, SOURCE, "odd/one.h")["passes"][0]
    assert host["reasons"][0]["exclusive_lines"] is None
    assert host["unweighed"] == ["odd/one.h"]


def test_a_step_that_does_not_free_the_header_says_so(run, module):
    (module / "csrc/include/b.h").write_text('#pragma once\n#include "c.h"\n#include "a.h"\n')
    (module / "csrc/include/c.h").write_text("#pragma once\nint c;\n")
    (module / SOURCE).write_text('#include "b.h"\n#include "a.h"\n')
    text = "\n".join(answer(run, module, SOURCE, "torch/all.h", "--all"))
    assert f'{SOURCE}:1: #include "b.h"\n      without it: ' in text
    assert "2 files less; torch/all.h stays, on another way" in text


def test_a_folder_of_headers(run, module):
    (module / SOURCE).write_text("#include <torch/all.h>\n#include <torch/python.h>\n#include <ATen/ATen.h>\n")
    host = data(run, module, SOURCE, "torch/")["passes"][0]
    assert [reason["header"] for reason in host["reasons"]] == ["torch/all.h", "torch/python.h"]


def test_what_no_pass_reads(run, module):
    assert "  reads no torch/python.h" in answer(run, module, SOURCE, "torch/python.h")
    assert answer(run, module, SOURCE, "torch/al.h")[-1].startswith("did you mean torch/all.h")
    assert data(run, module, SOURCE, "torch/al.h")["similar"][0] == "torch/all.h"
    assert data(run, module, SOURCE, "quite_another.h")["similar"] == []
    (module / SOURCE).write_text("int x;\n")
    assert "  reads no heavy header" in answer(run, module, SOURCE)


def test_a_condition_that_is_not_decided(run, module):
    (module / SOURCE).write_text("#include <odd/one.h>\n#ifdef SOMETHING_FROM_THERE\n#include <torch/all.h>\n#endif\n")
    text = "\n".join(answer(run, module, SOURCE, "torch/all.h"))
    assert ", perhaps: only below conditions that are not decided" in text
    assert "#include <torch/all.h>  (below a condition that is not decided)" in text
    assert data(run, module, SOURCE, "torch/all.h")["passes"][0]["reasons"][0]["certain"] is False


def test_an_include_cycle_and_other_troubles_are_shown(run, module):
    (module / "csrc/include/a.h").write_text('#include "b.h"\n#include <torch/all.h>\n')
    (module / "csrc/include/b.h").write_text('#include "a.h"\n')
    lines = answer(run, module, SOURCE, "torch/all.h")
    assert any(line.startswith("  csrc/include/") and "includes itself" in line for line in lines)
    assert data(run, module, SOURCE, "torch/all.h")["passes"][0]["troubles"]


def test_the_words_are_explained_on_stderr(run, module):
    ran = run("why", SOURCE, cwd=module)
    assert "exclusive:" in ran.err and "inclusive:" in ran.err and "without it:" in ran.err
    assert b"exclusive:" not in ran.out
    assert len(run("why", "-v", SOURCE, cwd=module).err) > len(ran.err)


def test_color_adds_nothing_but_color(run, module):
    plain = run("why", SOURCE, cwd=module).out
    colored = run("why", "--color", "always", SOURCE, cwd=module).out
    assert b"\x1b[" in colored
    assert re.sub(rb"\x1b\[[\d;]*m", b"", colored) == plain


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("csrc/none.cu", "csrc/none.cu: No such file"),
        ("csrc", "name one source of the project, such as csrc/"),
        ("csrc/include/b.h", "is a header: name a source that reads it, such as csrc/kernels/x.cu"),
        ("csrc/include/lonely.h", "is a header: no source reads it"),
        ("aiter/ops/__init__.py", "not a C++ source or header"),
    ],
)
def test_files_that_are_no_source(run, module, file, words):
    (module / "csrc/include/lonely.h").write_text("int lonely;\n")
    ran = run("why", file, cwd=module)
    assert (ran.code, ran.out) == (2, b"")
    assert ran.err.count("\n") == 1 and ran.err.startswith("torchless: error: ") and words in ran.err


def test_usage_errors(run, module):
    assert run("why", cwd=module).code == 2
    assert "sm_90" in run("why", SOURCE, "--arch", "sm_90", cwd=module).err
    assert run("why", SOURCE, "--limit", "0", cwd=module).code == 2


@pytest.mark.clang
def test_time_measures_the_header_alone(run, module):
    (module / "csrc/include/big.h").write_text("#include <vector>\n#include <string>\n#include <map>\n")
    (module / "csrc/include/bad.h").write_text("#include <no/such/header.h>\n")
    (module / SOURCE).write_text('#include "big.h"\n#include "bad.h"\n')
    heavy = ("--heavy", "csrc/include/b*=own")
    ran = run("why", SOURCE, "--time", "--output-format", "json", *heavy, cwd=module)
    assert ran.code == 0 and ran.err.startswith("front end: clang version ")
    report = json.loads(ran.out)
    Draft202012Validator(schema()).validate(report)
    big, bad = (reason["front_end"] for reason in report["passes"][0]["reasons"])
    assert big["milliseconds"] > 20 and big["problem"] == ""
    assert bad["milliseconds"] is None and "no/such/header.h" in bad["problem"]
    text = run("why", SOURCE, "--time", *heavy, cwd=module).out.decode()
    assert " ms for this header alone (plain C++, host pass, -fsyntax-only)" in text
    assert "front end: not measured: 'no/such/header.h' file not found" in text


def test_time_without_a_compiler(run, module, monkeypatch):
    monkeypatch.setattr(compilers, "find_compiler", lambda: None)
    ran = run("why", SOURCE, "--time", cwd=module)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, b"", 1)
    assert "--time needs a clang++" in ran.err


def test_a_compiler_that_fails_is_said_for_each_header(run, module, monkeypatch, tmp_path):
    broken = shutil.which("false")
    assert broken
    monkeypatch.setattr(compilers, "find_compiler", lambda: compilers.Compiler(broken, "clang version 19", False))
    report = json.loads(run("why", SOURCE, "--time", "--output-format", "json", cwd=module).out)
    assert all(r["front_end"]["problem"] for r in report["passes"][0]["reasons"])


def test_it_is_quick_to_start(module):
    program = (
        "import sys; from torchless.cli import main; main(sys.argv[1:]); "
        "print(*sorted({'rich', 'jsonschema', 'subprocess', 'clang', 'tempfile'} & set(sys.modules)), file=sys.stderr)"
    )
    command = [sys.executable, "-c", program, "why", "-q", SOURCE]
    done = subprocess.run(command, cwd=module, capture_output=True, text=True, check=True)
    assert done.stderr == "\n"
