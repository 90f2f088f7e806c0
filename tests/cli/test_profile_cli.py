"""`torchless profile` over small checkouts: whose commands, which figures, two versions, failures, builds."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from tests.verify.fake_jit import SOURCES as BUILT
from tests.verify.fake_jit import checkout as jit_checkout
from tests.verify.fake_jit import install_tools
from torchless.report.profile_json import schema

# a hipcc that compiles for real, and as little as possible
HIPCC = '#!/bin/sh\nexec clang++-19 -x hip -nogpuinc -nogpulib -nohipwrapperinc "$@"\n'
FILES = {
    "csrc/kernels/one.cu": '#include "torch/all.h"\n#include "one.h"\nint one() { return ONE + T; }\n',
    "csrc/kernels/two.cu": '#include "one.h"\nint two() { return ONE; }\n',
    "csrc/include/one.h": "#pragma once\n#define ONE 1\n" + "".join(f"int one{n};\n" for n in range(20)),
    "../venv/torch/include/torch/all.h": "#pragma once\n#define T 1\n" + "".join(f"int t{n};\n" for n in range(100)),
    "aiter/jit/core.py": "",
    "aiter/__init__.py": "",
    "csrc/include/aiter_tensor.h": "#pragma once\n",
    "aiter/jit/optCompilerConfig.json": json.dumps(
        {"module_one": {"srcs": [f"f'{{AITER_CSRC_DIR}}/kernels/{name}.cu'" for name in ("one", "two")]}}, indent=1
    ),
}
FOLDER = "aiter/jit/build/module_one/build"


def write(path: Path, text: str, executable: bool = False) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    if executable:
        path.chmod(stat.S_IRWXU)


def commit(root: Path) -> None:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    for command in (["init", "-q"], ["add", "csrc", "aiter/__init__.py"], [*who, "commit", "-qm", "start"]):
        subprocess.run(["git", "-C", str(root), *command], check=True)


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """A checkout that somebody has built: aiter's build file is there."""
    root = tmp_path / "checkout"
    for path, text in FILES.items():
        write(root / path, text)
    write(tmp_path / "bin/hipcc", HIPCC, executable=True)
    rows = [f"build {name}.cuda.o: cuda_compile {root}/csrc/kernels/{name}.cu" for name in ("one", "two")]
    flags = f"-O2 -I{root}/csrc/include -isystem {tmp_path}/venv/torch/include --offload-arch=gfx942"
    rule = f"rule cuda_compile\n  command = {tmp_path}/bin/hipcc $cuda_cflags -c $in -o $out"
    write(root / FOLDER / "build.ninja", f"cuda_cflags = {flags}\n{rule}\n" + "\n".join(rows) + "\n")
    return root


def result(run, root: Path, *arguments: str, code: int = 0):
    ran = run("profile", *arguments, "--output-format", "json", cwd=root)
    assert ran.code == code, ran.err
    report = json.loads(ran.out)
    Draft202012Validator(schema()).validate(report)
    return report


def test_the_schema_is_one():
    Draft202012Validator.check_schema(schema())


@pytest.mark.clang
def test_commands_of_a_build_give_compile_seconds(run, built):
    report = result(run, built, "module_one", "--trials", "2")
    (found,) = report["profiles"]
    assert (found["kind"], found["problems"], report["comparison"]) == ("compile", [], [])
    assert found["how"] == [f"commands from {built}/{FOLDER}/build.ninja"]
    one, two = found["units"]
    assert (one["source"], one["module"]) == ("csrc/kernels/one.cu", "module_one")
    assert [p["name"] for p in one["passes"]] == ["host", "gfx942"]
    host = one["passes"][0]
    assert host["lines"]["through"]["torch"] >= 100 and host["lines"]["by_kind"]["torch"] >= 100
    assert "torch" not in two["passes"][0]["lines"]["through"]
    assert len(host["runs"]) == 2
    assert all(run["cpu"] > 0 and run["front_end"] > 0 and run["code_generation"] > 0 for run in host["runs"])
    chains = {row["path"]: row["chain"] for row in host["lines"]["files"]}
    assert chains["csrc/include/one.h"] == ["csrc/kernels/one.cu:2"]
    text = run("profile", "module_one", "--trials", "0", cwd=built)
    assert (text.code, b"compile seconds" in text.out) == (0, True)
    assert "inclusive: with all that it includes" in text.err
    assert b"inclusive" in text.out and b"from csrc/kernels/one.cu:1" in text.out
    assert run("profile", "module_one", "-q", "--trials", "0", cwd=built).err == ""


@pytest.mark.clang
def test_a_database_of_commands(run, built, tmp_path):
    compiler = f"{tmp_path}/bin/hipcc -Icsrc/include -I{tmp_path}/venv/torch/include -DW"
    files = [f"csrc/kernels/{name}.cu" for name in ("one", "two")]
    rows = [{"directory": str(built), "file": f, "command": f"{compiler} -c {f} -o x.o"} for f in files]
    (built / "compile_commands.json").write_text(json.dumps(rows))
    report = result(run, built, "csrc/kernels/two.cu", "--compile-commands", "compile_commands.json", "--trials", "0")
    (found,) = report["profiles"][0]["units"]
    assert (found["source"], found["origin"]) == ("csrc/kernels/two.cu", str(built / "compile_commands.json"))
    assert [p["name"] for p in found["passes"]] == ["host"]  # no architecture is named
    assert found["passes"][0]["runs"] == []


@pytest.mark.clang
def test_over_stand_ins_figures_are_those_of_front_ends(run, built):
    shutil.rmtree(built / "aiter/jit/build")
    (built / "csrc/kernels/one.cu").write_text('#include <torch/all.h>\n#include "one.h"\nint one() { return ONE; }\n')
    ran = run("profile", "csrc/kernels/one.cu", "--headers", "stubs", cwd=built)
    assert ran.code == 0
    text = ran.out.decode()
    assert text.startswith("front-end figures: preprocessing and parsing alone, no code is made; these are not build")
    assert "what torch costs is not in it" in text and "compile seconds" not in text
    assert "of them below torch" in text and "torch brings the lines" in text


@pytest.mark.clang
def test_two_versions_in_turns(run, built):
    commit(built)
    (built / "csrc/kernels/one.cu").write_text('#include "one.h"\nint one() { return ONE; }\n')
    (built / "csrc/include/one.h").write_text("#pragma once\n#define ONE 1\n")
    report = result(run, built, "module_one", "--compare", "HEAD", ".", "--trials", "2")
    assert [each["version"] for each in report["profiles"]] == ["HEAD", ""]
    row = next(r for r in report["comparison"] if (r["source"], r["pass"]) == ("csrc/kernels/one.cu", "host"))
    assert row["lines"][0] > row["lines"][1] + 100
    assert row["torch_share"][0] > 0.5 and row["torch_share"][1] == 0
    assert len(row["seconds"]["before"]) == len(row["seconds"]["after"]) == 2
    assert isinstance(row["seconds"]["outside_the_noise"], bool)
    ran = run("profile", "csrc/kernels/one.cu", "--compare", "HEAD", ".", "--trials", "0", cwd=built)
    assert b"before: HEAD; after: the files as they are" in ran.out and b"below torch " in ran.out
    (built / "verified.json").write_text(json.dumps({"modules": [], "compared_with": "HEAD", "changed": []}))
    named = ("--compare", "HEAD", ".", "--trials", "0", "--verification", "verified.json")
    assert run("profile", "csrc/kernels/one.cu", *named, "-o", "page.html", cwd=built).code == 0
    page = (built / "page.html").read_text()
    assert '<summary class="mono">csrc/kernels/one.cu</summary>' in page and "<h2>Verification</h2>" in page
    assert run("profile", "csrc/kernels/one.cu", *named, "-o", "table.md", cwd=built).code == 0
    table = (built / "table.md").read_text()
    assert "| unit | pass | lines before | after | difference |" in table and "Compared with HEAD" in table


@pytest.mark.clang
def test_results_of_two_days(run, built):
    assert run("profile", "module_one", "--trials", "0", "-o", "before.json", cwd=built).code == 0
    (built / "csrc/kernels/one.cu").write_text('#include "one.h"\nint one() { return ONE; }\n')
    assert run("profile", "module_one", "--trials", "0", "-o", "after.json", cwd=built).code == 0
    report = result(run, built, "--compare", "before.json", "after.json")
    host = report["comparison"][0]
    assert host["lines"][0] > host["lines"][1] + 100 and host["seconds"]["ratio"] is None
    mixed = result(run, built, "csrc/kernels/one.cu", "--compare", "before.json", ".", "--trials", "0")
    assert mixed["comparison"][0]["lines"] == host["lines"]


@pytest.mark.clang
def test_the_first_failure_is_told_and_stops_what_is_queued(run, built):
    (built / "csrc/kernels/one.cu").write_text('#include "one.h"\nint one( {\n')
    ran = run("profile", "module_one", "-j", "1", "--output-format", "json", cwd=built)
    assert ran.code == 2
    assert ran.err.startswith("torchless: error: csrc/kernels/one.cu: host pass: ")
    assert "error: expected" in ran.err and ran.err.count("\n") == 1
    (found,) = json.loads(ran.out)["profiles"]
    assert found["units"] == [] and len(found["problems"]) == 1
    going = result(run, built, "module_one", "-j", "1", "--keep-going", code=2)
    assert [unit["source"] for unit in going["profiles"][0]["units"]] == ["csrc/kernels/two.cu"]


def test_a_compiler_whose_traces_are_not_understood(run, built, tmp_path):
    """P37, end to end: an upgraded compiler may not empty the tables."""
    program = (
        f"#!{sys.executable}\nimport json, sys\nwords = sys.argv[1:]\n"
        "if '-E' in words:\n"
        '    print(\'# 1 "a.cu"\\n# 1 "b.h" 1\\nint b;\\n# 2 "a.cu" 2\\nint a;\')\n'
        "for word in words:\n"
        "    if word.startswith('-ftime-trace='):\n"
        "        events = [dict(ph='X', ts=0, dur=5, name=name) for name in ('Frontend', 'SourceFile')]\n"
        "        json.dump({'traceEvents': events}, open(word.partition('=')[2], 'w'))\n"
    )
    write(tmp_path / "bin/hipcc", program, executable=True)
    ran = run("profile", "csrc/kernels/one.cu", cwd=built)
    assert ran.code == 2
    assert "csrc/kernels/one.cu (host): its trace: 0 Source events although the unit includes headers" in ran.err
    write(tmp_path / "bin/hipcc", program.replace("-ftime-trace=", "-another="), executable=True)
    assert "wrote no trace: it must be a clang that knows -ftime-trace" in run("profile", "module_one", cwd=built).err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "name the modules, sources or folders to profile"),
        (("module_on",), "module_on: neither a module of "),
        (("module_on",), "did you mean module_one?"),
        (("csrc/include/one.h",), "no C++ source in it that is compiled; for a header, name a source that reads it"),
        (("module_one", "--build-file", "none.ninja"), "none.ninja: no such file"),
        (("module_one", "--compile-commands", "none.json"), "none.json: No such file or directory"),
        (("module_one", "--compare", "nowhere", "."), "git"),
        (("--compare", "a.json", "b.json"), "a.json: No such file or directory"),
        (
            ("--compare", "empty.json", "empty.json"),
            "empty.json: no result of `torchless profile --output-format json`",
        ),
        (("module_one", "--compare", ".", "nowhere"), "git"),
        (("module_one", "-o", "nofolder/page.html"), "nofolder/page.html: cannot be written: there is no folder "),
        (("module_one", "-o", "csrc"), "csrc: cannot be written: it is a folder"),
        (("module_one", "--max-jobs", "0"), "0"),
        (("module_one", "--verification", "none.json"), "none.json: No such file or directory"),
        (("module_one", "--verification", "csrc/include/one.h"), "not JSON"),
        (("module_one", "--flags", "guess"), "'guess' is not one of"),
        (("module_one", "--trials", "-1"), "-1"),
    ],
)
def test_bad_input_is_one_line(run, built, arguments, words):
    (built / "empty.json").write_text("{}")
    ran = run("profile", *arguments, cwd=built)
    assert (ran.code, ran.out) == (2, b"")
    assert words in ran.err
    assert ran.err.startswith("torchless: error: ") and ran.err.count("\n") == 1


def test_a_build_that_knows_not_the_source(run, built):
    write(built / "csrc/kernels/three.cu", "int three;\n")
    ran = run("profile", "csrc/kernels/three.cu", "--compile-commands", "c.json", cwd=built)
    assert ran.code == 2
    (built / "c.json").write_text("[]")
    ran = run("profile", "csrc/kernels/three.cu", "--compile-commands", "c.json", cwd=built)
    assert "csrc/kernels/three.cu: the build that was named has no command for it" in ran.err


def test_without_any_compiler(run, built, monkeypatch):
    shutil.rmtree(built / "aiter/jit/build")
    monkeypatch.setattr("torchless.profile.select.find_compiler", lambda: None)
    ran = run("profile", "module_one", cwd=built)
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "no clang++ 17 or newer to derive some for" in ran.err


@pytest.fixture
def rocm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with a JIT, and the tools that it wants; its compiler makes nothing."""
    folder, _ = install_tools(tmp_path / "tools")
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    root = jit_checkout(tmp_path / "jit")
    database = [
        {"directory": str(root), "file": path, "command": f"clang++-19 -x c++ -Icsrc/kernels -c {path}"}
        for path in BUILT
    ]
    (root / "c.json").write_text(json.dumps(database))
    return root


@pytest.mark.clang
def test_builds_end_to_end(run, rocm):
    arguments = ("module_one", "--compile-commands", "c.json", "--trials", "0", "--build", "--max-jobs", "2")
    report = result(run, rocm, *arguments)
    (build,) = report["profiles"][0]["builds"]
    assert (build["module"], build["problem"], len(build["trials"])) == ("module_one", "", 3)
    assert [unit["source"] for unit in build["units"]] == list(BUILT)
    assert not (rocm / "aiter/jit/build").exists()
    text = run("profile", *arguments, cwd=rocm).out.decode()
    assert "end-to-end builds through the JIT, wall seconds\n  module_one: " in text
    assert "module_one: units by their seconds (ninja's log of the last build)" in text
    assert "MAX_JOBS=2: " in text and "critical path" in text


@pytest.mark.clang
def test_a_build_that_fails_though_it_says_that_it_finished(run, rocm):
    (rocm / BUILT[1]).write_text('#include "shared.h"\n#ifndef __clang__\n#error no\n#endif\nint two;\n')
    arguments = ("module_one", "--compile-commands", "c.json", "--trials", "0", "--build", "--build-trials", "2")
    ran = run("profile", *arguments, "--output-format", "json", cwd=rocm)
    assert ran.code == 2
    assert "module_one: RuntimeError: [aiter] build [module_one]" in ran.err
    (build,) = json.loads(ran.out)["profiles"][0]["builds"]
    assert build["trials"] == [] and build["problem"].startswith("RuntimeError: ")


def test_a_build_without_rocm(run, built, monkeypatch):
    monkeypatch.setattr("torchless.profiling.missing_rocm", lambda: "no hipcc on this machine: it takes ROCm")
    write(built.parent / "bin/hipcc", "#!/bin/sh\necho '# 1 \"a.cu\"'\n", executable=True)
    ran = run("profile", "module_one", "--trials", "0", "--build", cwd=built)
    assert (ran.code, ran.err) == (2, "torchless: error: --build: no hipcc on this machine: it takes ROCm\n")
