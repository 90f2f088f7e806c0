"""`torchless check --certify`: what graph, compiler and symbols say of a module, and what none of them saw."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time

import pytest

from torchless.verify.compilers import Compiler

CLEAN = "#pragma once\ninline int clean() { return 1; }\n"


@pytest.fixture
def module(mini_aiter):
    """A torch-free module beside those of the example."""
    path = mini_aiter / "aiter" / "jit" / "optCompilerConfig.json"
    modules = json.loads(path.read_text())
    modules["module_clean"] = {**modules["module_norm"], "srcs": ["f'{AITER_CSRC_DIR}/kernels/clean.cu'"]}
    path.write_text(json.dumps(modules))
    (mini_aiter / "csrc/include/clean.h").write_text(CLEAN)
    (mini_aiter / "csrc/kernels/clean.cu").write_text('#include "clean.h"\nint run() { return clean(); }\n')
    return mini_aiter


def witnesses(out: bytes) -> dict[str, dict[str, object]]:
    (certificate,) = json.loads(out)["certificates"]
    return {witness["name"]: witness for witness in certificate["witnesses"]}


def certify(run, module, name="module_clean"):
    return run("check", "--certify", name, "--output-format", "json", cwd=module)


@pytest.mark.clang
def test_a_module_without_torch_gets_its_certificate(run, module):
    done = run("check", "--certify", "module_clean", cwd=module)
    assert done.code == 0
    assert done.out.startswith(b"module_clean: free of torch\n")
    assert b"not run  nothing is built" in done.out


@pytest.mark.clang
def test_a_leak_is_seen_by_both_witnesses(run, module):
    (module / "csrc/include/clean.h").write_text(CLEAN.replace("inline", "#include <c10/util/Half.h>\ninline"))
    done = certify(run, module)
    assert done.code == 1
    found = witnesses(done.out)
    assert found["include graph"]["verdict"] == found["compiler -M"]["verdict"] == "fail"
    assert "csrc/kernels/clean.cu -> csrc/include/clean.h -> c10/util/Half.h" in found["include graph"]["evidence"][0]


@pytest.mark.clang
def test_a_leak_of_the_device_pass_alone_counts(run, module):
    leak = "#ifdef __HIP_DEVICE_COMPILE__\n#include <c10/util/Half.h>\n#endif\ninline"
    (module / "csrc/include/clean.h").write_text(CLEAN.replace("inline", leak))
    done = certify(run, module)
    assert done.code == 1
    assert all(e.startswith("device pass") for e in witnesses(done.out)["include graph"]["evidence"])


def test_without_a_compiler_the_certificate_says_so(run, module, monkeypatch):
    monkeypatch.setattr("torchless.certify.find_compiler", lambda: None)
    done = certify(run, module)
    assert done.code == 0
    assert witnesses(done.out)["compiler -M"]["verdict"] == "not run"


def test_a_compiler_that_prints_something_else_is_no_witness(run, module, monkeypatch):
    silent = module / "clang++"
    silent.write_text("#!/bin/sh\necho 'x.o: y.h'\n")
    silent.chmod(0o755)
    monkeypatch.setattr("torchless.certify.find_compiler", lambda: Compiler(str(silent), "clang version 99.0", False))
    found = witnesses(certify(run, module).out)["compiler -M"]
    assert (found["verdict"], found["detail"]) == ("not run", "clang version 99.0 accepted no source")
    assert "does not name the source itself" in found["unseen"][0]


@pytest.mark.clang
def test_symbols_of_what_was_built_count_when_it_is_newer(run, module):
    library = module / "aiter/jit/module_clean.so"
    source = module / "leak.cpp"
    source.write_text('namespace at { void hidden(); }\nextern "C" void f() { at::hidden(); }\n')
    subprocess.run(["clang++-19", "-shared", "-fPIC", "-nostdlib", "-o", library, source], check=True)
    done = certify(run, module)
    assert done.code == 1
    assert "module_clean.so: at::hidden()" in witnesses(done.out)["symbols"]["evidence"][0]

    os.utime(library, (time.time() - 9999,) * 2)
    stale = certify(run, module)
    assert stale.code == 0
    assert "older than the module's sources" in witnesses(stale.out)["symbols"]["detail"]

    source.write_text('namespace that { void other(); }\nextern "C" void f() { that::other(); }\n')
    subprocess.run(["clang++-19", "-shared", "-fPIC", "-nostdlib", "-o", library, source], check=True)
    assert witnesses(certify(run, module).out)["symbols"]["verdict"] == "pass"

    library.write_bytes(b"not an object")
    broken = witnesses(certify(run, module).out)["symbols"]
    assert broken["verdict"] == "not run" or shutil.which("nm") is None


def test_what_a_generator_prints_is_said_to_be_unseen(run, module):
    path = module / "aiter/jit/optCompilerConfig.json"
    modules = json.loads(path.read_text())
    modules["module_clean"]["blob_gen_cmd"] = "f'{AITER_CSRC_DIR}/generate.py --out {{}}'"
    path.write_text(json.dumps(modules))
    assert "prints" in str(witnesses(certify(run, module).out)["include graph"]["unseen"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--certify", "module_clea"], "no module named module_clea in "),
        (["--certify", "module_clean", "--output-format", "sarif"], "--certify prints text or json, not sarif"),
    ],
)
def test_bad_input_is_one_line(run, module, arguments, said):
    done = run("check", *arguments, cwd=module)
    assert (done.code, done.out) == (2, b"")
    assert said in done.err
