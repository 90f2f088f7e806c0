"""Kernels that many sources have alike: one source has them, every other declares them, nothing is lost or twice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.api.test_fusing import COMBINATIONS, checkout
from torchless.api import MigrateOptions, MigrateResult, migrate
from torchless.backing_out import migrate_verified
from torchless.facts.model import TuSpec
from torchless.model import UnitStatus
from torchless.text.writer import undo, write_files
from torchless.verify.answer import Verdict
from torchless.verify.compilers import find_compiler
from torchless.verify.device_code import compile_as_they_are
from torchless.verify.emitted import emitted, host_symbols
from torchless.verify.tree import Tree

CONFIG = "aiter/jit/optCompilerConfig.json"
NEW = "csrc/clear.device.cu"


def run(root: Path, unsafe: bool = True, select: tuple[str, ...] = ("TL64",)) -> MigrateResult:
    options = MigrateOptions((".",), select=select, jobs=2, cache=False, unsafe=unsafe)
    return migrate(options, root, lambda stage, done, total: None)


@pytest.mark.clang
def test_a_kernel_of_five_sources_is_compiled_once(tmp_path: Path) -> None:
    root = checkout(tmp_path)
    result = run(root)
    (unit,) = result.units
    assert unit.status is UnitStatus.MIGRATED, result.findings
    assert set(result.changes) == {*COMBINATIONS, CONFIG, NEW}
    assert result.changes[NEW].created
    assert result.changes[NEW].new.decode() == (
        '// A licence.\n#include "kernels.h"\n\n'
        "// Kernels that many sources start: they declare them and are compiled without them.\n"
        "template __global__ void n::clear<int>(int*);\n"
    )
    one, change = next((p, c) for p, c in result.changes.items() if p in COMBINATIONS)
    assert change.new.decode() == (root / one).read_text().replace(
        '#include "launch.h"\n', '#include "launch.h"\n\nextern template __global__ void n::clear<int>(int*);\n'
    )
    before = Tree(root)
    after = Tree(root, {path: change.new for path, change in result.changes.items()})
    compiler = find_compiler()
    assert compiler is not None

    def seen(tree: Tree, sources: list[str]) -> list[list[str]]:
        with tree.vfs() as overlay:
            device = [emitted(compiler, tree, TuSpec(s, device=True), "stubs", overlay).kernels for s in sources]
            host = [host_symbols(compiler, tree, TuSpec(s), "stubs", overlay) for s in sources]
        launchers = sorted(name for one in host for name in one.instances)
        return [sorted(n for d in device for n in d), sorted(n for h in host for n in h.kernels), launchers]

    old, new = seen(before, list(COMBINATIONS)), seen(after, [*COMBINATIONS, NEW])
    assert old[0].count("void n::clear<int>(int*)") == 5
    for had, has in zip(old, new, strict=True):
        assert has == sorted(set(had))  # the same, each exactly once
    specs = [TuSpec(path, device=True) for path in COMBINATIONS]
    code = {n: f for c in compile_as_they_are(compiler, before, specs, "stubs", 2) for n, f in c.functions.items()}
    specs.append(TuSpec(NEW, device=True))
    assert code == {
        n: f for c in compile_as_they_are(compiler, after, specs, "stubs", 2) for n, f in c.functions.items()
    }
    write_files(root, result.changes)
    assert f"f'{{AITER_CSRC_DIR}}/{Path(NEW).name}'" in json.loads((root / CONFIG).read_text())["module_run"]["srcs"]
    again = run(root)
    assert again.changes == {} and again.units == () and again.findings == ()
    undo(root)
    assert not (root / NEW).exists()


@pytest.mark.parametrize("case", ["four", "comment"])
def test_four_sources_are_too_few(tmp_path: Path, case: str) -> None:
    root = checkout(tmp_path, count=4 if case == "four" else 5)
    if case == "comment":
        path = root / next(iter(COMBINATIONS))
        path.write_text("// torchless: file-ignore[TL64] it is timed alone\n" + path.read_text())
    result = run(root)
    assert result.changes == {} and result.units == () and result.findings == ()


@pytest.mark.clang
def test_a_kernel_that_a_macro_changes_in_one_source_stays(tmp_path: Path) -> None:
    root = checkout(tmp_path)
    kernels = (root / "csrc/kernels.h").read_text()
    (root / "csrc/kernels.h").write_text("#ifndef ZERO\n#define ZERO 0\n#endif\n" + kernels.replace("= 0;", "= ZERO;"))
    path = root / list(COMBINATIONS)[3]
    path.write_text("#define ZERO 7\n" + path.read_text())
    result = run(root)
    assert result.changes == {}
    (found,) = result.findings
    assert found.code == "TL641" and "void n::clear<int>(int*) is not the same in " in found.message


@pytest.mark.clang
def test_a_source_of_two_modules_keeps_its_kernels(tmp_path: Path) -> None:
    root = checkout(tmp_path)
    config = json.loads((root / CONFIG).read_text())
    config["module_too"] = {"srcs": config["module_run"]["srcs"][:1]}
    (root / CONFIG).write_text(json.dumps(config))
    result = run(root)
    assert result.changes == {}
    assert ["module_too is built of some of its sources as well" in f.message for f in result.findings] == [True]


@pytest.mark.clang
def test_the_rung_for_device_code_follows_a_kernel_to_its_new_source(tmp_path: Path) -> None:
    root = checkout(tmp_path)
    options = MigrateOptions((".",), select=("TL64",), jobs=2, cache=False, unsafe=True)
    result = migrate_verified(options, ("device",), root, lambda stage, done, total: None)
    assert [u.status for u in result.units] == [UnitStatus.MIGRATED]
    ((answer,),) = [module.answers for module in result.verified]
    assert answer.verdict is Verdict.PASS and "1 of them in another unit than before" in answer.detail


@pytest.mark.clang
def test_it_composes_with_one_unit_for_the_host(tmp_path: Path) -> None:
    """Where launchers go to one unit every kernel is compiled once already: the second rewrite finds nothing to do."""
    root = checkout(tmp_path)
    result = run(root, select=("TL6",))
    assert [u.name.partition(" ")[0] for u in result.units if u.edits] == ["TL630"]
    assert NEW not in result.changes


@pytest.mark.clang
@pytest.mark.parametrize("code", ["TL63", "TL64"])
def test_each_goes_with_the_main_job_in_one_run_and_does_nothing_the_second_time(mini_aiter: Path, code: str) -> None:
    config = mini_aiter / CONFIG
    entries = json.loads(config.read_text())
    core = (mini_aiter / "aiter/jit/core.py").read_bytes()
    root = checkout(mini_aiter)
    (root / "aiter/jit/core.py").write_bytes(core)
    config.write_text(json.dumps({**entries, **json.loads(config.read_text())}))
    select = ("TL1", "TL2", "TL3", "TL40", "TL49", "TL5", "TL7", code)
    options = MigrateOptions((".",), select=select, unsafe=True, jobs=2, cache=False)
    result = migrate(options, root, lambda stage, done, total: None)
    statuses = {u.name.partition(" ")[0]: u.status for u in result.units}
    assert statuses["module_scale"] is UnitStatus.MIGRATED
    assert statuses[f"{code}0"] is UnitStatus.MIGRATED
    write_files(root, result.changes)
    assert migrate(options, root, lambda stage, done, total: None).changes == {}
