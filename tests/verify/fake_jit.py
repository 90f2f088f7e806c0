"""A small JIT in the shape of aiter's, a hipcc and a hipconfig for it, and a checkout that they build."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path

CONFIG = "aiter/jit/optCompilerConfig.json"
SOURCES = ("csrc/kernels/one.cu", "csrc/kernels/two.cu")

# What matters of the shape: positional arguments, missing sources and failing generators that stop nobody, a final word
# that is printed in any case, a copy of the result beside the module, a build folder that AITER_REBUILD clears, a
# sidecar that it does not, one build per process.
CORE = """
import json, logging, os, shutil, subprocess, sys, time

logger = logging.getLogger("aiter")
this_dir = os.path.dirname(os.path.abspath(__file__))
AITER_ROOT_DIR = os.path.dirname(os.path.dirname(this_dir))
AITER_CSRC_DIR = AITER_ROOT_DIR + "/csrc"
subprocess.check_output(["hipconfig", "--version"])


def get_user_jit_dir():
    return os.environ.get("AITER_JIT_DIR", this_dir)


bd_dir = get_user_jit_dir() + "/build"


def get_args_of_build(name):
    with open(this_dir + "/optCompilerConfig.json") as file:
        entry = json.load(file)[name]
    found = dict(
        srcs=[], md_name="", flags_extra_cc=[], flags_extra_hip=[], extra_ldflags=None, extra_include=[], verbose=False,
        is_python_module=True, is_standalone=False, torch_exclude=False, hip_clang_path=None, blob_gen_cmd="",
        third_party=[],
    )
    for key, value in entry.items():
        found[key] = [eval(v) for v in value] if isinstance(value, list) else eval(value)
    return found


def build_module(
    md_name, srcs, flags_extra_cc, flags_extra_hip, blob_gen_cmd, extra_include, extra_ldflags, verbose,
    is_python_module, is_standalone, torch_exclude, third_party, hipify=False, flags_extra_hip_per_source=None,
):
    began = time.perf_counter()
    folder = "%s/%s/build" % (bd_dir, md_name)
    try:
        if os.environ.get("AITER_REBUILD") == "1":
            shutil.rmtree(bd_dir + "/" + md_name, ignore_errors=True)
        os.makedirs(folder, exist_ok=True)
        logger.info("start build [%s] under %s", md_name, folder)
        kids = bd_dir + "/compiled_kids_opus.json"
        known = json.load(open(kids)) if os.path.exists(kids) else []
        if blob_gen_cmd:
            os.system(sys.executable + " " + blob_gen_cmd)
        srcs = [source for source in srcs if os.path.exists(source)]
        json.dump(known + [md_name], open(kids, "w"))
        flags = [] if torch_exclude else ["-DTORCH_EXTENSION_NAME=" + md_name]
        flags += ["-DKIDS=%d" % len(known)] + flags_extra_cc + ["--offload-arch=" + os.environ["GPU_ARCHS"]]
        ninja, rows = ["cuda_cflags = " + " ".join(flags), "rule cuda_compile",
                       "  command = hipcc $cuda_cflags -c $in -o $out $cuda_post_cflags"], []
        try:
            objects = []
            for source in srcs:
                object_ = os.path.splitext(os.path.basename(source))[0] + ".cuda.o"
                ninja.append("build %s: cuda_compile %s" % (object_, source))
                start = time.perf_counter()
                subprocess.run(["hipcc", *flags, "-c", source, "-o", object_], cwd=folder, check=True)
                times = ((start - began) * 1000, (time.perf_counter() - began) * 1000)
                rows.append("%d\\t%d\\t0\\t%s\\tabc" % (*times, object_))
                objects.append(object_)
            open(folder + "/build.ninja", "w").write("\\n".join(ninja) + "\\n")
            open(folder + "/.ninja_log", "w").write("# ninja log v5\\n" + "\\n".join(rows) + "\\n")
            subprocess.run(["hipcc", "-shared", *objects, "-o", md_name + ".so"], cwd=folder, check=True)
            if not os.environ.get("FAKE_FORGETS"):
                shutil.copy(folder + "/" + md_name + ".so", get_user_jit_dir())
        except Exception as error:
            raise RuntimeError("[aiter] build [%s] under %s failed" % (md_name, folder)) from error
    finally:
        logger.info("finish build [%s], cost %.1fs", md_name, time.perf_counter() - began)
"""

# Compiles nothing: a source with #error fails as a compiler would, one with SLEEP takes long.
HIPCC = """#!{python}
import os, sys, time
words = sys.argv[1:]
with open({log!r}, "a") as log:
    print(os.getppid(), *words, file=log)
target = words[words.index("-o") + 1]
if "-shared" in words:
    open(target, "wb").write(b"\\x7fELF and the rest")
    sys.exit(0)
source = words[words.index("-c") + 1]
text = open(source).read()
if "#error" in text:
    print(source + ":1:2: error: this does not compile", file=sys.stderr)
    sys.exit(1)
if "SLEEP" in text:
    time.sleep(30)
open(target, "w").write("object")
"""


def checkout(root: Path, core: str = CORE) -> Path:
    """A checkout of one pybind module and one that is called through ctypes."""
    files = {
        "aiter/jit/core.py": core,
        "aiter/__init__.py": "raise RuntimeError('this asks for a GPU')\n",
        "aiter/ops/one.py": (
            "@compile_ops('module_one', develop=True)\ndef one_forward(x: Tensor) -> None: ...\n"
            "@compile_ops('module_plain', ffi_type='ctypes')\ndef plain_forward(x: Tensor) -> None: ...\n"
        ),
        CONFIG: json.dumps(
            {
                "module_one": {"srcs": [f"f'{{AITER_CSRC_DIR}}/{path[5:]}'" for path in SOURCES]},
                "module_plain": {"srcs": ["f'{AITER_CSRC_DIR}/kernels/plain.cu'"]},
            },
            indent=4,
        ),
        SOURCES[0]: '#include "shared.h"\nint one;\n',
        SOURCES[1]: '#include "shared.h"\nint two;\n',
        "csrc/kernels/plain.cu": "int plain;\n",
        "csrc/kernels/shared.h": "#pragma once\n",
        "csrc/include/aiter_tensor.h": "#pragma once\n",
        "3rdparty/lib/include/lib.h": "#pragma once\n",
        "op_tests/test_one.py": "from aiter.ops.one import one_forward\n",
        "op_tests/test_other.py": "import other\n",
        "README.md": "words\n",
    }
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def install_tools(folder: Path) -> tuple[Path, Path]:
    """Put hipcc and hipconfig into ``folder``; gives it, and the log of what hipcc was called with."""
    folder.mkdir()
    log = folder / "log"
    log.write_text("")
    texts = {"hipcc": HIPCC.format(python=sys.executable, log=str(log)), "hipconfig": "#!/bin/sh\necho 7.0.0-stub\n"}
    for name, text in texts.items():
        (folder / name).write_text(text)
        (folder / name).chmod(stat.S_IRWXU)
    return folder, log
