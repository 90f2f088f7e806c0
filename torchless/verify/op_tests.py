"""Rung 6: the scripts of op_tests that exercise a module, on a GPU, in the copy in which rung 5 built it."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from torchless.profile.run import Ran, run
from torchless.project.model import Module, Project
from torchless.verify.answer import Answer, Verdict, few
from torchless.verify.rebuild import UNSET, RebuildOptions, Workshop, missing_rocm

FOLDER = "op_tests"
TIMEOUT = 3600.0
_KFD = Path("/dev/kfd")
"""The device file of AMD's compute driver: without it no process sees a GPU."""
# the scripts' own comparison prints a mismatch and goes on
_MISMATCH = re.compile(rb"\[checkAllclose[^\n]*?(?:failed|catastrophic)!")


def scripts_of(project: Project, module: Module) -> tuple[str, ...]:
    """The scripts that name one of the module's ops, root-relative and sorted; names shorter than 4 do not count."""
    names = {name for op in project.ops if op.module == module.name for name in (op.function, op.fc_name)}
    wanted = sorted(name for name in names if len(name) >= 4)
    if not wanted:
        return ()
    pattern = re.compile(rb"\b(?:" + b"|".join(re.escape(name.encode()) for name in wanted) + rb")\b")
    root = Path(project.root)
    found = []
    for path in sorted((root / FOLDER).glob("test_*.py")):
        try:
            if pattern.search(path.read_bytes()):
                found.append(path.relative_to(root).as_posix())
        except OSError:
            continue
    return tuple(found)


def run_tests(project: Project, module: Module, shop: Workshop, options: RebuildOptions) -> Answer:
    """Run the module's scripts in the new version; those that fail also in the old one, whose failures are not ours."""
    why = missing_rocm() or ("" if os.access(_KFD, os.R_OK | os.W_OK) else f"no GPU: {_KFD} cannot be opened")
    scripts = scripts_of(project, module)
    if not why and not scripts:
        why = f"no script in {FOLDER} names an op of the module"
    if why:
        return Answer("tests", Verdict.NOT_RUN, why)
    wrong: list[str] = []
    known: list[str] = []
    for script in scripts:
        new = _complaint(_run(shop.root("after"), script, options))
        if not new:
            continue
        old = _complaint(_run(shop.root("before"), script, options))
        if old == new:
            known.append(f"{script}: {new}")
        else:
            wrong.append(f"{script}: {new}" + (f" (before: {old})" if old else ""))
    return judge_tests(scripts, wrong, known)


def judge_tests(scripts: Sequence[str], wrong: Sequence[str], known: Sequence[str]) -> Answer:
    """What the scripts say; ``known`` are complaints that the old version has as well."""
    told = f"{len(scripts) - len(wrong) - len(known)} of {len(scripts)} scripts pass"
    unseen = tuple(f"the same before: {text}" for text in known)
    if wrong:
        return Answer("tests", Verdict.FAIL, told, few(list(wrong)), few(unseen))
    if len(known) == len(scripts):
        return Answer("tests", Verdict.NOT_RUN, "no script passes in either version", unseen=few(unseen))
    return Answer("tests", Verdict.PASS, told, unseen=few(unseen))


def _run(root: Path, script: str, options: RebuildOptions) -> Ran:
    env = {"PYTHONPATH": str(root), "GPU_ARCHS": ";".join(options.arches)}
    return run([options.python, script], root, env, TIMEOUT, unset=UNSET)


def _complaint(ran: Ran) -> str:
    """What is wrong with a run of a script, "" for nothing. Figures in its output are not compared."""
    if ran.problem:
        lines = [line for line in os.fsdecode(ran.err).splitlines() if line.strip()]
        return (lines[-1] if lines else ran.problem).strip()
    count = len(_MISMATCH.findall(ran.out)) + len(_MISMATCH.findall(ran.err))
    return f"{count} results are not near enough" if count else ""
