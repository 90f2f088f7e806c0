"""Commands out of build.ninja and compile_commands.json: what is kept of them, and files that cannot be read."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess

import pytest

from torchless.profile.commands import CommandsError, as_unit, build_file, from_database, from_ninja, object_source
from torchless.profile.ninja import NinjaError, compile_edges, read_log

# in the shape that aiter's JIT writes
BUILD = """\
ninja_required_version = 1.3
cxx = c++
nvcc = /opt/rocm/bin/hipcc

cflags = -DTORCH_EXTENSION_NAME=module_one -Icsrc/include -fPIC
post_cflags = -D__HIP_PLATFORM_AMD__=1
cuda_cflags = -DWITH_HIP -Icsrc/include '-DNAME="a b"' -O3 --offload-arch=gfx942 --offload-arch=gfx950
cuda_post_cflags = -fno-gpu-rdc
cuda_dlink_post_cflags =\x20
ldflags = -shared -L$$ORIGIN

rule compile
  command = $cxx -MMD -MF $out.d $cflags -c $in -o $out $post_cflags
  depfile = $out.d
  deps = gcc

rule cuda_compile
  command = $nvcc  $cuda_cflags -c $in -o $out $cuda_post_cflags

rule link
  command = $cxx @$out.rsp $ldflags -o $out
  rspfile = $out.rsp
  rspfile_content = $in

build one.cuda.o: cuda_compile {root}/csrc/one.cu
build two.cuda.o: cuda_compile {root}/csrc/with$ blank/two.cu
  cuda_post_cflags = -fno-gpu-rdc -D__HIPCC_RTC__

build module_one.so: link one.cuda.o two.cuda.o

default module_one.so
"""


def test_the_statements_that_compile_a_source(tmp_path):
    one, two = compile_edges(BUILD.format(root="/r"), "build.ninja")
    assert (one.source, one.output) == ("/r/csrc/one.cu", "one.cuda.o")
    assert one.command == (
        *("/opt/rocm/bin/hipcc", "-DWITH_HIP", "-Icsrc/include", '-DNAME="a b"', "-O3", "--offload-arch=gfx942"),
        *("--offload-arch=gfx950", "-c", "/r/csrc/one.cu", "-o", "one.cuda.o", "-fno-gpu-rdc"),
    )
    assert two.source == "/r/csrc/with blank/two.cu"
    assert two.command[-2:] == ("-fno-gpu-rdc", "-D__HIPCC_RTC__")


@pytest.mark.skipif(shutil.which("ninja") is None, reason="ninja is not installed")
def test_ninja_reads_it_in_the_same_way(tmp_path):
    (tmp_path / "build.ninja").write_text(BUILD.format(root=tmp_path))
    said = subprocess.run(["ninja", "-t", "compdb"], cwd=tmp_path, capture_output=True, check=True).stdout
    rows = [row for row in json.loads(said) if row["file"].endswith(".cu")]
    expected = [(row["file"], tuple(shlex.split(row["command"]))) for row in rows]
    assert [(e.source, e.command) for e in compile_edges(BUILD.format(root=tmp_path), "b")] == expected


def test_variables_escapes_and_lines_that_go_on():
    text = (
        "flags = -O2 $\n    -DX=$$1\nmore = ${flags} -g\nrule r\n  extra = $more\n  command = cc $extra $own -c $in\n"
        "flags = changed later\nbuild a.o | a.d: r a.cpp | header.h || order\n  own = $more\nbuild all: phony a.o\n"
    )
    (edge,) = compile_edges(text, "b")
    assert edge.command == ("cc", "-O2", "-DX=$1", "-g", "-O2", "-DX=$1", "-g", "-c", "a.cpp")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("  indented = 1\n", "an indented line before any statement"),
        ("what is this\n", "not a statement of a build file"),
        ("include other.ninja\n", "include is not read"),
        ("build a.o cc a.cpp\n", "not a build statement"),
        ("rule r\n  command = cc 'open -c $in\nbuild a.o: r a.cpp\n", "cannot be split into words"),
    ],
)
def test_what_is_not_read_is_an_error(text, words):
    with pytest.raises(NinjaError, match=words) as error:
        compile_edges(text, "b.ninja")
    assert str(error.value).startswith("b.ninja: ")


def test_units_keep_flags_and_lose_what_is_written_and_where(tmp_path):
    folder = tmp_path / "aiter/jit/build/module_one/build"
    folder.mkdir(parents=True)
    (folder / "build.ninja").write_text(BUILD.format(root=tmp_path))
    assert build_file(tmp_path, "module_one") == folder / "build.ninja"
    one, _ = from_ninja(folder / "build.ninja", tmp_path, "module_one")
    assert (one.source, one.module, one.cwd) == ("csrc/one.cu", "module_one", str(folder))
    assert one.command == ("/opt/rocm/bin/hipcc", "-DWITH_HIP", "-Icsrc/include", '-DNAME="a b"', "-O3", "-fno-gpu-rdc")
    assert one.passes == ("host", "gfx942", "gfx950") and one.is_hip
    (folder / "build.ninja").write_text("rule r\n  command = x\n")
    with pytest.raises(CommandsError, match="no statement in it compiles"):
        from_ninja(folder / "build.ninja", tmp_path, "module_one")


def test_what_is_left_out_of_a_command(tmp_path):
    words = shlex.split(
        "ccache clang++ -x hip -O2 --offload-arch gfx90a:xnack-,gfx942 -MMD -MF a.d -MT a.o -c a.cu -o a.o -ftime-trace"
        " -ftime-trace=x.json --save-temps -save-temps=obj --cuda-host-only -v -DX -parallel-jobs=8"
    )
    unit = as_unit(words, "a.cu", str(tmp_path), tmp_path, "", "here")
    assert unit.command == ("clang++", "-x", "hip", "-O2", "-DX", "-parallel-jobs=8")
    assert unit.arches == ("gfx90a", "gfx942")
    plain = as_unit(["g++", "-O2", "-c", "a.cpp"], "a.cpp", str(tmp_path), tmp_path, "", "here")
    assert (plain.passes, plain.is_hip) == (("host",), False)


def test_a_database(tmp_path):
    rows = [
        {"directory": str(tmp_path), "file": "csrc/a.cu", "command": "hipcc -DA='x y' -c csrc/a.cu -o a.o"},
        {"directory": str(tmp_path / "csrc"), "file": "b.cu", "arguments": ["hipcc", "-c", "b.cu"]},
        {"directory": str(tmp_path), "file": "csrc/a.cu", "command": "hipcc -DSECOND -c csrc/a.cu"},
    ]
    path = tmp_path / "compile_commands.json"
    path.write_text(json.dumps(rows))
    a, b = from_database(path, tmp_path, {"csrc/a.cu": "module_a"})
    assert (a.source, a.module, a.command) == ("csrc/a.cu", "module_a", ("hipcc", "-DA=x y"))
    assert (b.source, b.module) == ("csrc/b.cu", "")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not JSON"),
        ("{}", "a list of commands is wanted"),
        ("[1]", "entry 1 has no directory"),
        ('[{"directory": "/", "file": "a.cu"}]', "entry 1 has no directory, file, and command or arguments"),
        ('[{"directory": "/", "file": "a.cu", "command": "cc \'"}]', "entry 1"),
        ('[{"directory": "/", "file": "a.cu", "command": "hipcc -c b.cu"}]', "the command for a.cu does not name it"),
        ('[{"directory": "/", "file": "a.cu", "command": "ccache"}]', "no command to compile a.cu"),
    ],
)
def test_databases_that_cannot_be_used(tmp_path, text, words):
    path = tmp_path / "c.json"
    path.write_text(text)
    with pytest.raises(CommandsError) as error:
        from_database(path, tmp_path, {})
    assert words in str(error.value) and "\n" not in str(error.value)
    with pytest.raises(CommandsError, match="No such file"):
        from_database(tmp_path / "none.json", tmp_path, {})


def test_the_log_of_ninja():
    text = "# ninja log v5\n900\t1500\t0\tb.cuda.o\tff\n0\t700\t0\ta.cuda.o\tff\n1000\t2000\t0\tb.cuda.o\tff\n"
    rows = read_log(text, ".ninja_log")
    assert [(row.output, row.started, row.ended) for row in rows] == [("a.cuda.o", 0.0, 0.7), ("b.cuda.o", 1.0, 2.0)]
    for bad, words in (
        ("", "not a log"),
        ("# ninja log v5\n", "no row in it"),
        ("# ninja log v5\n1\t2\n", "cannot be read"),
        ("# ninja log v5\na\tb\t0\tx\tf\n", "cannot be read"),
    ):
        with pytest.raises(NinjaError, match=words):
            read_log(bad, ".ninja_log")


def test_which_source_an_object_is_of():
    sources = ["/r/csrc/one.cu", "/r/csrc/pybind/two.cpp", "/r/csrc/twice.cu", "/r/other/twice.cu"]
    assert object_source("one.cuda.o", sources) == "/r/csrc/one.cu"
    assert object_source("two.o", sources) == "/r/csrc/pybind/two.cpp"
    assert object_source("twice.cuda.o", sources) == object_source("module.so", sources) == ""
