"""Builds one module through aiter's own JIT. Run as a script, in a process of its own, by whatever Python has aiter's
dependencies: it imports nothing of torchless.

    python rebuild_one.py JOB.json ANSWER.json

The job: root (a checkout), module, ctypes (whether all of its ops are called through ctypes). The answer: ok, error
(one line), seconds, library, folder (where ninja ran), torch_exclude, ignored (what went wrong without the JIT minding:
sources that are not there, generators that failed). `jit.core` is imported without `aiter`, whose
__init__ asks for a GPU. One process per module: a second build in one process takes the first one's result.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import logging
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def build(job: dict[str, Any]) -> dict[str, Any]:
    """Build what ``job`` names and say what came of it. Raises whatever the JIT raises."""
    sys.path.insert(0, str(Path(job["root"], "aiter")))
    from jit import core  # type: ignore[import-not-found]

    module = job["module"]
    arguments = dict(core.get_args_of_build(module))
    arguments["md_name"] = module
    if job["ctypes"]:  # what the runtime does for such a module, whatever its entry says
        arguments["torch_exclude"] = True
    if arguments.get("hip_clang_path"):
        os.environ["HIP_CLANG_PATH"] = arguments["hip_clang_path"]
    folder = Path(core.get_user_jit_dir())
    build_folder = Path(getattr(core, "bd_dir", folder / "build"))
    # survives AITER_REBUILD=1, and makes a later build compile more than the one before
    for sidecar in build_folder.glob("compiled_kids*.json"):
        sidecar.unlink()
    library = folder / f"{module}.so"
    if arguments.get("is_standalone") or not arguments.get("is_python_module", True):
        name = module if arguments.get("is_standalone") else f"{module}.so"
        library = Path(getattr(core, "AITER_ROOT_DIR", job["root"]), "op_tests", "cpp", "mha", name)
    library.unlink(missing_ok=True)
    given = {}
    for name, parameter in inspect.signature(core.build_module).parameters.items():
        if name in arguments:
            given[name] = arguments[name]
        elif parameter.default is inspect.Parameter.empty:
            raise RuntimeError(f"build_module wants {name!r}, which no entry of the configuration has")
    ignored = [f"no such source: {source}" for source in arguments["srcs"] if not Path(source).exists()]
    began = time.perf_counter()
    with noted_failures(ignored):
        core.build_module(**given)
    return {
        "ok": True,
        "error": "",
        "seconds": time.perf_counter() - began,
        "library": str(library),
        "folder": str(build_folder / module / "build"),
        "torch_exclude": bool(arguments.get("torch_exclude")),
        "ignored": ignored,
    }


@contextlib.contextmanager
def noted_failures(into: list[str]) -> Iterator[None]:
    """Note the commands that os.system() runs to no good end: the JIT runs generators with it, and looks away."""
    system = os.system

    def noting(command: Any) -> int:
        status = system(command)
        if status:
            into.append(f"exit code {os.waitstatus_to_exitcode(status)}: {str(command)[:200]}")
        return status

    os.system = noting
    try:
        yield
    finally:
        os.system = system


def told(error: BaseException) -> str:
    """An exception and what caused it, in one line: the JIT wraps what its compiler said."""
    causes: list[str] = []
    cause: BaseException | None = error
    while cause is not None and len(causes) < 3:
        causes.append(" ".join(f"{type(cause).__name__}: {cause}".split())[:200])
        cause = cause.__cause__
    return "; from ".join(causes)


def main() -> int:
    """Read the job, build, write the answer; 0 when the JIT raised nothing."""
    logging.basicConfig(level=logging.INFO)
    job = json.loads(Path(sys.argv[1]).read_text())
    try:
        answer = build(job)
    except BaseException as error:  # SystemExit, too: the JIT ends the process in places
        answer = {"ok": False, "error": told(error)}
        logging.exception("the build failed")
    Path(sys.argv[2]).write_text(json.dumps(answer))
    return 0 if answer["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
